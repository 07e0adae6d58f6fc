// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// AllRoots fails if the package of the generated code has roots that were not passed,
// and names them. No other property notices a root without a test. AllRoots also names
// missing constructors, except for roots without any constructor.
func AllRoots(tb testing.TB, root *Root, others ...*Root) {
	tb.Helper()
	names, err := root.names()
	if err != nil {
		tb.Fatalf("roots of the generated code: %v", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == root.Schema.Name || slices.ContainsFunc(others, func(r *Root) bool { return r.Schema.Name == name })
	})
	problems := missingConstructors(tb, append([]*Root{root}, others...))
	if len(names) > 0 {
		problems = append(problems, "roots have no test, make a Root of each with NewRoot: "+strings.Join(names, ", "))
	}
	if len(problems) > 0 {
		tb.Fatalf("%s", strings.Join(problems, "; "))
	}
}

// RoundTrip writes random records with random compression, limits and restart flags,
// with the generated code and with package dynamic, and reads each stream with both.
func RoundTrip(tb testing.TB, r *Root, seed uint64) {
	tb.Helper()
	rnd := newRandom(seed, Shape{})
	s := rnd.setting()
	if rnd.chance(30) {
		s.wire = r.Base
	}
	check(tb, seed, s, bothWays(r, rnd, s))
}

// Evolve is like RoundTrip, but in an older schema: random fields at the end are removed, as
// if they had been appended later. It also checks that a newer schema is refused.
func Evolve(tb testing.TB, r *Root, seed uint64) {
	tb.Helper()
	rnd := newRandom(seed, Shape{})
	s := rnd.setting()
	s.wire = rnd.wire(r.Schema)
	check(tb, seed, s, bothWays(r, rnd, s))
	check(tb, seed, s, refusesNewer(r, rnd))
}

func check(tb testing.TB, seed uint64, s setting, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("seed %d, %s: %v", seed, s, err)
	}
}

func bothWays(r *Root, rnd random, s setting) error {
	recs := rnd.records(r.Schema, 1+rnd.IntN(40))
	kept, err := schema.Keep(r.Schema, s.effective(r))
	if err != nil {
		return err
	}
	want := make([]*dynamic.Struct, len(recs))
	for i, rec := range recs {
		want[i] = Cut(r.Schema, kept, rec)
	}
	flush := rnd.IntN(20)
	stream, err := writeGenerated(r, rnd, s, flush, recs)
	if err != nil {
		return fmt.Errorf("generated writer: %w", err)
	}
	if err := readBoth(r, s, stream, want); err != nil {
		return fmt.Errorf("stream of the generated writer: %w", err)
	}
	if stream, err = writeDynamic(r, s, flush, recs); err != nil {
		return fmt.Errorf("dynamic writer: %w", err)
	}
	if err := readBoth(r, s, stream, want); err != nil {
		return fmt.Errorf("stream of the dynamic writer: %w", err)
	}
	return nil
}

// flushes reports whether to flush after record i.
func flushes(i, flush int) bool { return flush > 0 && i%flush == flush-1 }

func writeGenerated(r *Root, rnd random, s setting, flush int, recs []*dynamic.Struct) ([]byte, error) {
	var out bytes.Buffer
	w, err := r.NewWriter(&out, s.generated()...)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(w.Schema(), s.effective(r)) {
		return nil, fmt.Errorf("schema is %v", w.Schema())
	}
	for i, rec := range recs {
		if i == 0 || rec != recs[i-1] || rnd.chance(50) {
			Set(w.Record(), r.Schema, rec)
		}
		if err := w.Write(); err != nil {
			return nil, err
		}
		if flushes(i, flush) {
			if err := w.Flush(); err != nil {
				return nil, err
			}
		}
		if d := Diff(r.Schema, rec, Value(w.Record(), r.Schema, nil)); d != "" {
			return nil, fmt.Errorf("record %d after Write: %s", i+1, d)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if stats := w.Stats(); stats.Records != uint64(len(recs)) || stats.Flushed != stats.Records || stats.Bytes != int64(out.Len()) {
		return nil, fmt.Errorf("the writer has the Stats %+v, but %d records with %d bytes were written", stats, len(recs), out.Len())
	}
	return out.Bytes(), nil
}

func writeDynamic(r *Root, s setting, flush int, recs []*dynamic.Struct) ([]byte, error) {
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, r.Schema, s.dynamic(r)...)
	if err != nil {
		return nil, err
	}
	for i, rec := range recs {
		if err := w.Write(rec); err != nil {
			return nil, err
		}
		if flushes(i, flush) {
			if err := w.Flush(); err != nil {
				return nil, err
			}
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

func readBoth(r *Root, s setting, stream []byte, want []*dynamic.Struct) error {
	have, err := r.ReadDynamic(bytes.NewReader(stream))
	if err := differs(r, want, have, err); err != nil {
		return fmt.Errorf("dynamic reader: %w", err)
	}
	d, err := r.NewReader(bytes.NewReader(stream))
	if err != nil {
		return fmt.Errorf("generated reader: %w", err)
	}
	if !slices.Equal(d.Schema(), s.effective(r)) || !maps.Equal(d.UserData(), s.userData) {
		return fmt.Errorf("the generated reader returned the schema %v and the user data %q instead of %v and %q", d.Schema(), d.UserData(), s.effective(r), s.userData)
	}
	follower := NewFollower(r.Schema, nil)
	for have = nil; d.Next(); {
		value := Value(d.Record(), r.Schema, nil)
		have = append(have, value)
		if d := Diff(r.Schema, value, follower.Next(d.Record())); d != "" {
			return fmt.Errorf("generated reader: record %d, of which only the fields in Modified were read: %s", len(have), d)
		}
	}
	if err := differs(r, want, have, d.Err()); err != nil {
		return fmt.Errorf("generated reader: %w", err)
	}
	if stats := d.Stats(); stats.Records != uint64(len(want)) || stats.Bytes != int64(len(stream)) {
		return fmt.Errorf("generated reader: Stats returns %+v, but %d records with %d bytes were read", stats, len(want), len(stream))
	}
	return nil
}

// differs returns an error if the records that were read differ from the wanted records.
func differs(r *Root, want, have []*dynamic.Struct, err error) error {
	d := DiffAll(r.Schema, want, have)
	switch {
	case err != nil:
		return fmt.Errorf("%w; after %d of %d records, %s", err, len(have), len(want), d)
	case d != "":
		return errors.New(d)
	}
	return nil
}

// refusesNewer adds a field to the wire schema, and returns an error if the generated writer or
// reader accepts the result.
func refusesNewer(r *Root, rnd random) error {
	whole := schema.WireOf(r.Schema)
	if r.Known != nil {
		whole = slices.Clone(r.Known)
	}
	newer := slices.Clone(whole)
	newer[rnd.IntN(len(newer))]++
	if len(whole) < schema.MaxWireEntries && rnd.chance(20) {
		newer = append(whole, 1)
	}
	if _, err := r.NewWriter(io.Discard, stef.WithSchema(newer)); !errors.Is(err, stef.ErrSchema) {
		return fmt.Errorf("a writer in the newer schema %v returns %v, want an error that wraps stef.ErrSchema", newer, err)
	}
	stream := []byte{'S', 'T', 'E', 'F', 2, 0, 0}
	header, err := newer.AppendBinary(nil)
	if err != nil {
		return err
	}
	header = append(append(binary.AppendUvarint(nil, uint64(len(header))), header...), 0)
	stream = append(binary.AppendUvarint(append(stream, 0), uint64(len(header))), header...)
	if _, err := r.NewReader(bytes.NewReader(stream)); !errors.Is(err, stef.ErrSchema) {
		return fmt.Errorf("a reader of the newer schema %v returns %v, want an error that wraps stef.ErrSchema", newer, err)
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Mutate uses Mutators to change the records of two writers that share values of
// dictionary structs. It writes after each round of changes, and compares the
// result with what readers return. Then it replaces each writer by a new writer that
// continues with the record of the replaced writer.
func Mutate(tb testing.TB, r *Root, seed uint64) {
	tb.Helper()
	rnd := newRandom(seed, Shape{})
	pool := NewPool()
	var ends [2]mutatedStream
	for i := range ends {
		end := &ends[i]
		end.setting = rnd.setting()
		if rnd.chance(30) {
			end.setting.wire = rnd.wire(r.Schema)
		}
		var err error
		end.w, err = r.NewWriter(&end.out, end.setting.generated()...)
		check(tb, seed, end.setting, err)
		check(tb, seed, end.setting, r.complete(end.w.Record()))
		end.m = NewMutator(rnd.Uint64(), r, end.w.Record(), pool)
	}
	for range 1 + rnd.IntN(60) {
		end := &ends[rnd.IntN(2)]
		check(tb, seed, end.setting, end.step(r, rnd))
	}
	for i := range ends {
		end := &ends[i]
		check(tb, seed, end.setting, end.w.Close())
		check(tb, seed, end.setting, readBoth(r, end.setting, end.out.Bytes(), end.want))
		check(tb, seed, end.setting, end.resume(r, rnd, pool))
	}
}

type mutatedStream struct {
	setting setting
	out     bytes.Buffer
	w       Writer[any]
	m       *Mutator
	want    []*dynamic.Struct
	twin    reflect.Value // an older copy of the record
	twinned *dynamic.Struct
}

// resume begins a new stream. Its writer continues with the record of the last stream
// and writes some records.
func (e *mutatedStream) resume(r *Root, rnd random, pool *Pool) error {
	next := mutatedStream{setting: e.setting}
	var err error
	if next.w, err = r.NewWriter(&next.out, next.setting.generated()...); err != nil {
		return err
	}
	next.w.ContinueFrom(e.w)
	next.m = NewMutator(rnd.Uint64(), r, next.w.Record(), pool)
	next.m.want = Value(next.w.Record(), r.Schema, nil)
	if d := Diff(r.Schema, e.m.want, next.m.want); d != "" {
		return fmt.Errorf("after ContinueFrom: %s", d)
	}
	for range 1 + rnd.IntN(5) {
		if err := next.step(r, rnd); err != nil {
			return fmt.Errorf("after ContinueFrom: %w", err)
		}
	}
	if err := next.w.Close(); err != nil {
		return err
	}
	if err := readBoth(r, next.setting, next.out.Bytes(), next.want); err != nil {
		return fmt.Errorf("after ContinueFrom: %w", err)
	}
	return nil
}

// step mutates the record and writes it.
func (e *mutatedStream) step(r *Root, rnd random) error {
	want := e.m.Mutate()
	if d := Diff(r.Schema, want, Value(e.w.Record(), r.Schema, nil)); d != "" {
		return fmt.Errorf("record %d before Write: %s", len(e.want)+1, d)
	}
	if err := e.compare(r, rnd, want); err != nil {
		return fmt.Errorf("record %d: %w", len(e.want)+1, err)
	}
	if err := e.w.Write(); err != nil {
		return err
	}
	kept, err := schema.Keep(r.Schema, e.setting.effective(r))
	if err != nil {
		return err
	}
	e.want = append(e.want, Cut(r.Schema, kept, want))
	if rnd.chance(5) {
		return e.w.Flush()
	}
	return nil
}

// compare checks the method Equal with the record, whose value is want, and its twin, an older
// copy. It then copies the record to the twin, changes one field of the twin, and checks Equal
// again.
func (e *mutatedStream) compare(r *Root, rnd random, want *dynamic.Struct) error {
	rec := reflect.ValueOf(e.w.Record())
	if !e.twin.IsValid() {
		e.twin = r.free(rec.Type())
		e.twinned = dynamic.NewStruct(r.Schema)
	}
	if err := e.equal(r, rec, want); err != nil || rnd.chance(50) {
		return err
	}
	call(e.twin, "CopyFrom", rec)
	if d := Diff(r.Schema, want, Value(e.twin.Interface(), r.Schema, nil)); d != "" {
		return fmt.Errorf("after CopyFrom: %s", d)
	}
	e.twinned = rnd.nudgeStruct(r.Schema, want, rnd.IntN(len(r.Schema.Fields)))
	Set(e.twin.Interface(), r.Schema, e.twinned)
	return e.equal(r, rec, want)
}

// equal checks the method Equal with the record and its twin, an older copy.
func (e *mutatedStream) equal(r *Root, rec reflect.Value, want *dynamic.Struct) error {
	equal := dynamic.Equal(want, e.twinned)
	if call(rec, "Equal", e.twin).Bool() != equal || call(e.twin, "Equal", rec).Bool() != equal {
		return fmt.Errorf("method Equal does not return %v: %q", equal, Diff(r.Schema, want, e.twinned))
	}
	return nil
}

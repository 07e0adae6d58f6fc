// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// SelfContained writes frames that restart everything. It decodes each frame alone
// after the headers. It then decodes some frames in random order with one reader, as if
// the other frames were lost.
func SelfContained(tb testing.TB, r *Root, seed uint64) {
	tb.Helper()
	rnd := newRandom(seed, Shape{})
	s := rnd.setting()
	s.restart, s.frame = stef.RestartAll, 1+rnd.IntN(2000)
	check(tb, seed, s, selfContained(r, rnd, s))
}

// chunks stores each Write of a writer: two headers, then frames.
type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

func selfContained(r *Root, rnd random, s setting) error {
	var out chunks
	w, err := r.NewWriter(&out, s.generated()...)
	if err != nil {
		return err
	}
	if err := r.complete(w.Record()); err != nil {
		return err
	}
	m := NewMutator(rnd.Uint64(), r, w.Record(), nil)
	var recs []*dynamic.Struct
	ends := []uint64{0, 0} // number of records up to the end of each chunk
	for range 30 {
		recs = append(recs, m.Mutate())
		if err := w.Write(); err != nil {
			return err
		}
		if rnd.chance(10) {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if n := w.Stats().Flushed; n > ends[len(ends)-1] {
			ends = append(ends, n)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if n := w.Stats().Flushed; n > ends[len(ends)-1] {
		ends = append(ends, n)
	}
	if len(ends) != len(out) {
		return fmt.Errorf("the writer made %d frames in %d writes, want one per write", len(ends)-2, len(out)-2)
	}
	headers := slices.Concat(out[0], out[1])
	shuffled := slices.Clone(headers)
	var want []*dynamic.Struct
	for i := 2; i < len(out); i++ {
		part := recs[ends[i-1]:ends[i]]
		if err := readBoth(r, s, slices.Concat(headers, out[i]), part); err != nil {
			return fmt.Errorf("frame %d alone: %w", i-1, err)
		}
		if j := 2 + rnd.IntN(len(out)-2); j > 2 {
			shuffled = append(shuffled, out[j]...)
			want = append(want, recs[ends[j-1]:ends[j]]...)
		}
	}
	if err := readBoth(r, s, shuffled, want); err != nil {
		return fmt.Errorf("frames in random order: %w", err)
	}
	return nil
}

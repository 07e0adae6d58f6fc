// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/recursive"
	stef "github.com/otelstef/stef/stef-go"
)

// chunks stores each Write of a writer: two headers, then frames.
type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// loops writes the values to the field Loop, each in a frame of its own.
func loops(t *testing.T, values ...*recursive.Loop) []byte {
	t.Helper()
	return slices.Concat(loopChunks(t, values...)...)
}

func loopChunks(t *testing.T, values ...*recursive.Loop) chunks {
	t.Helper()
	var out chunks
	w, err := recursive.NewRecordWriter(&out, stef.WithRestart(stef.RestartCodecs), stef.WithDictBytes(1<<29))
	require.NoError(t, err)
	for _, v := range values {
		w.Record().SetLoop(v)
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return out
}

func readLoops(t *testing.T, stream []byte) (int, *recursive.RecordReader) {
	t.Helper()
	r, err := recursive.NewRecordReader(bytes.NewReader(stream))
	require.NoError(t, err)
	start, n := time.Now(), 0
	for r.Next() {
		n++
	}
	// Reading takes a few ms. It takes minutes or hours if a reader walks an entry again and again.
	require.Less(t, time.Since(start), time.Minute)
	return n, r
}

// TestReferencesToLargeEntries reads an entry with many references to a large entry: a reader must
// not walk the large entry for each reference.
func TestReferencesToLargeEntries(t *testing.T) {
	const count = 500_000
	stream := func(blobs, turns int) chunks {
		part, whole := recursive.NewLoop(), recursive.NewLoop()
		part.Blobs().SetLen(blobs)
		whole.Turns().SetLen(turns)
		for i := range turns {
			whole.Turns().At(i).SetLoop(part)
		}
		return loopChunks(t, part, whole)
	}
	// A writer hashes the large entry for each reference, which is slow. So one stream has the large
	// entry, and another stream has many references to a small entry in its place.
	large, many := stream(count, 1), stream(1, count)
	n, r := readLoops(t, slices.Concat(large[0], large[1], large[2], many[3]))
	require.ErrorIs(t, r.Err(), stef.ErrLimit)
	require.Equal(t, 1, n)
}

// TestReferencesInAbsentFields reads entries with two absent fields. Both refer to the previous
// entry, so the number of paths through these fields doubles with each entry.
func TestReferencesInAbsentFields(t *testing.T) {
	var values []*recursive.Loop
	last := recursive.NewLoop()
	for i := range uint64(40) {
		present, absent := recursive.NewLoop(), recursive.NewLoop()
		for _, v := range []*recursive.Loop{present, absent} {
			v.Turns().SetLen(2)
		}
		for j := range 2 {
			present.Turns().At(j).SetMaybe(last)
		}
		present.SetN(2 * i)
		absent.SetN(2*i + 1)
		values = append(values, present, absent)
		last = absent
	}
	n, r := readLoops(t, loops(t, values...))
	require.NoError(t, r.Err())
	require.Equal(t, len(values), n)
}

// TestEntriesKeepNoSpareCapacity reads entries that are alternately large and small. Each new entry
// begins as a copy of the previous value. If it kept the capacity of a large value, the 30 small
// entries would need much memory.
func TestEntriesKeepNoSpareCapacity(t *testing.T) {
	large := recursive.NewLoop()
	large.Turns().SetLen(20_000)
	values := []*recursive.Loop{large}
	for i := range uint64(30) {
		small := recursive.NewLoop()
		small.SetN(i + 1)
		values = append(values, small, large)
	}
	n, r := readLoops(t, loops(t, values...))
	require.NoError(t, r.Err())
	require.Equal(t, len(values), n)
	require.Less(t, r.Stats().HeldBytes, 32<<20)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// The state of a series counts towards the limit of dictionaries. TestGrowingSeries writes histograms
// that get more buckets after all series have begun. The writer restarts the dictionaries before the
// series exceed the limit. Readers refuse a stream if its writer does not do this.
func TestGrowingSeries(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	const counts, series = 400_000, 43
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, otelstef.CompactMetrics(), stef.WithCompression(stef.Zstd), stef.WithFrameBytes(32<<20))
	require.NoError(t, err)
	for round := range 3 {
		for i := range series {
			w.Record().Attributes().SetLen(1)
			w.Record().Attributes().Value(0).SetInt64(int64(i))
			h := w.Record().Point().Value().SetHistogram()
			h.BucketCounts().SetLen([]int{1, counts, counts}[round])
			require.NoError(t, w.Write())
		}
	}
	require.NoError(t, w.Close())
	restarts := 0
	in, err := dynamic.NewReader(bytes.NewReader(out.Bytes()), compactRoot("Metrics"), dynamic.WithFrameFunc(func(f *dynamic.Frame) {
		if f.Flags&dynamic.RestartDictionaries != 0 {
			restarts++
		}
	}))
	require.NoError(t, err)
	for in.Next() {
	}
	require.NoError(t, in.Err())
	require.Equal(t, 1, restarts)
	n, err := requireSame(t, fastOf("Metrics"), out.Bytes())
	require.NoError(t, err)
	require.EqualValues(t, 3*series, n)

	// This writer writes the same kind of records, but does not restart the dictionaries.
	c := &codes{root: compactRoot("Metrics"), residuals: map[string]*[2]uint64{}}
	rec := dynamic.NewStruct(c.root)
	c.set(rec, c.value("Form", 14*3+1), "Compact", "Form")
	c.set(rec, &dynamic.Array{Elems: []any{0.0, 0.0}}, "Compact", "Floats")
	var hostile bytes.Buffer
	d, err := dynamic.NewWriter(&hostile, c.root, dynamic.WithSchemaHeader(), dynamic.WithCompression(dynamic.Zstd))
	require.NoError(t, err)
	write := func(series, words int) {
		value := c.typ(rec, "Attributes").Multimap.Value.Struct
		c.set(rec, &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: "series", Value: oneofOf(value, "Int64", int64(series))}}}, "Attributes")
		list := &dynamic.Array{Elems: make([]any, words)}
		for i := range list.Elems {
			list.Elems[i] = uint64(0)
		}
		c.set(rec, list, "Compact", "Words")
		require.NoError(t, d.Write(rec))
		c.set(rec, c.value("Form", 0), "Compact", "Form")
	}
	const enough = 84 // the limit is exceeded by this number of series with counts words each
	for i := range enough {
		write(i, 2)
	}
	for i := range enough {
		write(i, counts)
	}
	require.NoError(t, d.Close())
	slow, err := open(bytes.NewReader(hostile.Bytes()), "Metrics")
	require.NoError(t, err)
	read := 0
	for slow.Next() {
		read++
	}
	require.ErrorIs(t, slow.Err(), dynamic.ErrLimit)
	quick, err := otelstef.NewMetricsReader(bytes.NewReader(hostile.Bytes()))
	require.NoError(t, err)
	defer quick.Close()
	for quick.Next() {
		read--
	}
	require.ErrorIs(t, quick.Err(), stef.ErrLimit)
	require.Zero(t, read)
}

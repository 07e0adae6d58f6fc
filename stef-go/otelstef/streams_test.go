// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/steftest"
)

// chunks stores the argument of each Write of a writer: two headers, then frames.
type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// stream is a stream of random records with the borders of its frames.
type stream struct {
	bytes []byte
	recs  []*dynamic.Struct
	// borders has the offsets at which the stream may end. The value is the number of records before
	// the offset.
	borders map[int]int
}

// writeStream writes frames of a few records.
func writeStream(tb testing.TB, root *steftest.Root, seed uint64, frames int, options ...stef.WriterOption) stream {
	tb.Helper()
	const perFrame = 3
	s := stream{borders: map[int]int{}}
	s.recs = steftest.Records(seed, root.Schema, frames*perFrame, steftest.Shape{Depth: 6, Wide: -1})
	var out chunks
	w, err := root.NewWriter(&out, options...)
	require.NoError(tb, err)
	for i, rec := range s.recs {
		steftest.Set(w.Record(), root.Schema, rec)
		require.NoError(tb, w.Write())
		if i%perFrame == perFrame-1 {
			require.NoError(tb, w.Flush())
		}
	}
	require.NoError(tb, w.Close())
	require.Len(tb, out, 2+frames, "one Write for each header and each frame")
	at := len(out[0]) + len(out[1])
	s.borders[at] = 0
	for i, frame := range out[2:] {
		at += len(frame)
		s.borders[at] = (i + 1) * perFrame
	}
	s.bytes = slices.Concat(out...)
	return s
}

// settings has writer options for streams that readers decode in different ways.
var settings = map[string][]stef.WriterOption{
	"none":          nil,
	"none, restart": {stef.WithRestart(stef.RestartAll)},
	"zstd":          {stef.WithCompression(stef.Zstd)},
	"zstd, restart": {stef.WithCompression(stef.Zstd), stef.WithRestart(stef.RestartCompression)},
	"announced":     {stef.WithSchemaHeader(), stef.WithUserData(map[string]string{"key": "value"})},
}

// eachStream runs a test for streams of every root in every setting.
func eachStream(t *testing.T, frames int, f func(t *testing.T, root *steftest.Root, s stream)) {
	eachRoot(t, func(t *testing.T, root *steftest.Root) {
		for name, options := range settings {
			t.Run(name, func(t *testing.T) { f(t, root, writeStream(t, root, 1, frames, options...)) })
		}
	})
}

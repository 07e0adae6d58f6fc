// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

var otelRoots = []string{"metrics", "spans", "logs"}

func otelStream(tb testing.TB, root *schema.Struct, seed uint64, opts ...dynamic.WriterOption) []byte {
	tb.Helper()
	return write(tb, root, newRandom(seed).records(root, 4), false, opts...)
}

// FuzzReader reads any bytes as a stream. An error must be of a known kind. The records before the end
// or the error can be written and read again.
func FuzzReader(f *testing.F) {
	var roots []*schema.Struct
	for i, name := range otelRoots {
		root := otelRoot(f, name)
		roots = append(roots, root)
		f.Add(uint8(i), otelStream(f, root, 1))
		f.Add(uint8(i), otelStream(f, root, 2, dynamic.WithSchemaHeader(), dynamic.WithFrameBytes(400),
			dynamic.WithRestart(dynamic.RestartAll)))
		f.Add(uint8(i), otelStream(f, root, 3, dynamic.WithDictBytes(300)))
		f.Add(uint8(i), otelStream(f, root, 4, dynamic.WithCompression(dynamic.Zstd), dynamic.WithFrameBytes(400)))
	}
	f.Fuzz(func(t *testing.T, which uint8, stream []byte) {
		root := roots[int(which)%len(roots)]
		r, err := dynamic.NewReader(bytes.NewReader(stream), root,
			dynamic.WithMaxRecordBytes(1<<20), dynamic.WithMaxDictBytes(1<<20))
		if err != nil {
			requireTyped(t, err)
			return
		}
		var recs []*dynamic.Struct
		for r.Next() && len(recs) < 1000 {
			recs = append(recs, r.Record())
		}
		if r.Err() != nil {
			requireTyped(t, r.Err())
		}
		requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))
	})
}

// TestOtelRoots writes and reads random records of the OpenTelemetry schema: with all
// fields, and with only the fields of the published schema.
func TestOtelRoots(t *testing.T) {
	for _, name := range otelRoots {
		root := otelRoot(t, name)
		recs := newRandom(7).records(root, 200)
		requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))
		if wire := published[name]; wire != nil {
			kept, err := schema.Keep(root, wire)
			require.NoError(t, err)
			stream := write(t, root, recs, false, dynamic.WithSchema(wire))
			have := read(t, root, stream, dynamic.WithAssumedSchema(wire))
			require.Equal(t, jsonOf(t, root, kept, recs), jsonOf(t, root, kept, have))
		}
	}
}

// TestDamaged flips one bit of a stream, for every bit. Reading the stream succeeds or returns an error
// of a known kind.
func TestDamaged(t *testing.T) {
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, _, stream := someStream(t, opt)
		failures := 0
		for i := range 8 * len(stream) {
			stream[i/8] ^= 1 << (i % 8)
			r, err := dynamic.NewReader(bytes.NewReader(stream), root)
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
			}
			if err != nil {
				failures++
				requireTyped(t, err)
				require.False(t, errors.Is(err, dynamic.ErrClosed))
			}
			stream[i/8] ^= 1 << (i % 8)
		}
		require.Greater(t, failures, len(stream))
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// TestRoundTrip writes random records of random schemas with random options
// and reads them back.
func TestRoundTrip(t *testing.T) {
	seeds := uint64(600)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		roundTrip(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { roundTrip(t, seed) })
}

func roundTrip(t *testing.T, seed uint64) {
	r := newRandom(seed)
	root := r.root()
	recs := r.records(root, 1+r.IntN(40))
	var opts []dynamic.WriterOption
	var kept schema.Kept
	readOpts := []dynamic.ReaderOption{}
	if r.chance(40) {
		wire := r.wire(root)
		var err error
		kept, err = schema.Keep(root, wire)
		require.NoError(t, err)
		opts = append(opts, dynamic.WithSchema(wire))
		if r.chance(50) {
			opts = append(opts, dynamic.WithSchemaHeader())
		} else {
			readOpts = append(readOpts, dynamic.WithAssumedSchema(wire))
		}
	}
	if r.chance(30) {
		opts = append(opts, dynamic.WithCompression(dynamic.Zstd), dynamic.WithZstdLevel(r.IntN(10)),
			dynamic.WithWindowBytes(1<<(10+r.IntN(8))))
	}
	flags := dynamic.FrameFlags(r.IntN(int(dynamic.RestartAll) + 1))
	opts = append(opts, dynamic.WithRestart(flags))
	if r.chance(40) {
		opts = append(opts, dynamic.WithFrameBytes(1+r.IntN(300)))
	}
	if r.chance(40) {
		opts = append(opts, dynamic.WithDictBytes(1+r.IntN(3000)))
	}
	userData := map[string]string{}
	for range r.IntN(4) {
		userData[r.text()] = r.text()
	}
	opts = append(opts, dynamic.WithUserData(userData))

	stream := write(t, root, recs, r.chance(30), opts...)
	src, err := dynamic.NewReader(bytes.NewReader(stream), root, readOpts...)
	require.NoError(t, err)
	require.Equal(t, userData, src.Header().UserData)
	for i, rec := range recs {
		require.True(t, src.Next(), "record %d: %v", i, src.Err())
		want := steftest.Cut(root, kept, rec)
		if !dynamic.Equal(want, src.Record()) {
			require.Equal(t, jsonOf(t, root, nil, []*dynamic.Struct{want}), jsonOf(t, root, nil, []*dynamic.Struct{src.Record()}))
			require.Fail(t, "different records of equal JSON")
		}
		if i > 0 && src.Frame().Index > 1 {
			require.Equal(t, flags, src.Frame().Flags&flags)
		}
	}
	require.False(t, src.Next())
	require.NoError(t, src.Err())
}

// TestSelfContained writes frames with all restart flags. It then decodes some of these
// frames in random order.
func TestSelfContained(t *testing.T) {
	for seed := range uint64(150) {
		r := newRandom(seed)
		root := r.root()
		recs := r.records(root, 30)
		opts := []dynamic.WriterOption{dynamic.WithRestart(dynamic.RestartAll), dynamic.WithFrameBytes(40)}
		switch r.IntN(3) {
		case 0:
			opts = append(opts, dynamic.WithCompression(dynamic.Zstd))
		case 1:
			// Streams without compression do not need RestartCompression.
			opts = append(opts, dynamic.WithRestart(dynamic.RestartDictionaries|dynamic.RestartCodecs))
		}
		stream := write(t, root, recs, false, opts...)
		list := frames(t, root, stream)
		first := int(list[0].Offset)
		shuffled := append([]byte{}, stream[:first]...)
		var want []*dynamic.Struct
		for range 2 * len(list) {
			i := r.IntN(len(list))
			if i == 0 {
				continue
			}
			end := len(stream)
			if i+1 < len(list) {
				end = int(list[i+1].Offset)
			}
			shuffled = append(shuffled, stream[list[i].Offset:end]...)
			at := 0
			for _, f := range list[:i] {
				at += int(f.Records)
			}
			want = append(want, recs[at:at+int(list[i].Records)]...)
		}
		require.Equal(t, jsonOf(t, root, nil, want), jsonOf(t, root, nil, read(t, root, shuffled)), "seed %d", seed)
	}
}

// TestOlderReader reads a stream of an older schema with a newer schema. A reader with
// the older schema refuses a stream of the newer schema.
func TestOlderReader(t *testing.T) {
	older := rootOf(t, `struct Rec root { A uint64  S Sub  V Value } struct Sub { X string }  oneof Value { I int64 }`)
	newer := rootOf(t, `struct Rec root { A uint64  S Sub  V Value  B string  C Sub optional }
		struct Sub { X string  Y uint64 }  oneof Value { I int64  T string }`)
	recs := records(older, fields{"A": 1, "S": fields{"X": "x"}, "V": one{"I", 5}})
	stream := write(t, older, recs, false, dynamic.WithSchemaHeader())
	want := records(newer, fields{"A": 1, "S": fields{"X": "x"}, "V": one{"I", 5}})
	requireRecords(t, newer, want, read(t, newer, stream))

	stream = write(t, newer, want, false, dynamic.WithSchemaHeader())
	_, err := dynamic.NewReader(bytes.NewReader(stream), older)
	require.ErrorIs(t, err, dynamic.ErrSchema)
}

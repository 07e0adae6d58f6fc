// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// region is the data to which the offsets of an event refer: the stream, or the decompressed content of
// one frame.
type region struct{ frame int }

// extent is the position of an element in bits: from start, up to but excluding end.
type extent struct{ start, end int64 }

// traceAll reads a stream to its end or error. For each region it returns the positions of its elements.
// It also returns the details of all events. Both are in the order of the events.
func traceAll(stream []byte, root *schema.Struct, opts ...dynamic.ReaderOption) (map[region][]extent, []any, error) {
	places := map[region][]extent{}
	var details []any
	trace := dynamic.WithTrace(func(e *dynamic.Event) {
		details = append(details, e.Detail)
		if _, ok := e.Detail.(dynamic.TraceFrame); ok {
			return
		}
		at := extent{start: 8*e.Offset + int64(e.Bit)}
		at.end = at.start + int64(e.Bits)
		if e.Bits < 0 {
			at.end = at.start + 8*int64(len(e.Data))
		}
		in := region{}
		if e.Derived {
			in.frame = e.Frame + 1
		} else if !bytes.HasPrefix(stream[e.Offset:], e.Data) {
			panic("Data is not what is at Offset")
		}
		places[in] = append(places[in], at)
	})
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, append(opts, trace)...)
	if err == nil {
		for r.Next() {
		}
		err = r.Err()
	}
	return places, details, err
}

// requireCovered checks that the elements follow each other without gaps and without overlaps. It returns
// the end of the last element.
func requireCovered(t *testing.T, places []extent) int64 {
	t.Helper()
	slices.SortFunc(places, func(a, b extent) int {
		if a.start != b.start {
			return int(a.start - b.start)
		}
		return int(a.end - b.end)
	})
	at := int64(0)
	for _, e := range places {
		require.Equal(t, at, e.start, "bits from %d on", at)
		at = e.end
	}
	return at
}

// TestTraceCovers checks that each bit of a stream is in exactly one event.
func TestTraceCovers(t *testing.T) {
	f := func(stream []byte, root *schema.Struct, opts ...dynamic.ReaderOption) {
		t.Helper()
		payloads := map[region]int{}
		frames := dynamic.WithFrameFunc(func(f *dynamic.Frame) { payloads[region{f.Index + 1}] = f.UncompressedSize })
		places, _, err := traceAll(stream, root, append(opts, frames)...)
		require.NoError(t, err)
		for in, list := range places {
			end := requireCovered(t, list)
			switch {
			case in.frame == 0:
				require.EqualValues(t, 8*len(stream), end)
			case in.frame > 1:
				require.EqualValues(t, 8*payloads[in], end)
			}
		}
	}
	for seed := range uint64(100) {
		r := newRandom(seed)
		root := r.root()
		var opts []dynamic.WriterOption
		if r.chance(30) {
			opts = append(opts, dynamic.WithCompression(dynamic.Zstd))
		}
		if r.chance(30) {
			opts = append(opts, dynamic.WithSchemaHeader(), dynamic.WithUserData(map[string]string{"key": "value", "": ""}))
		}
		if r.chance(30) {
			opts = append(opts, dynamic.WithFrameBytes(50), dynamic.WithRestart(dynamic.FrameFlags(r.IntN(8))))
		}
		f(write(t, root, r.records(root, 20), false, opts...), root)
	}
	for _, v := range teltest.Vectors(t, "edge") {
		if v.ReferenceError != "" || v.Records > 300 {
			continue
		}
		stream, err := os.ReadFile(teltest.Golden(t, "edge", v.File))
		require.NoError(t, err)
		f(stream, otelRoot(t, v.Root), dynamic.WithAssumedSchema(published[v.Root]))
	}
}

// TestTraceOfDamage truncates streams, and flips bits in them. Elements must still have no gaps
// and no overlaps. All bytes of a truncated stream must be in an element.
func TestTraceOfDamage(t *testing.T) {
	f := func(stream []byte, root *schema.Struct, whole bool) {
		t.Helper()
		places, _, err := traceAll(stream, root)
		if err != nil {
			requireTyped(t, err)
		}
		for in, list := range places {
			end := requireCovered(t, list)
			if in.frame == 0 && (whole || errors.Is(err, io.ErrUnexpectedEOF) && end == 8*int64(len(stream))) {
				require.EqualValues(t, 8*len(stream), end)
			}
		}
	}
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, _, stream := someStream(t, opt, dynamic.WithSchemaHeader())
		for n := range stream {
			f(stream[:n], root, true)
		}
		r := newRandom(1)
		for range 150 {
			damaged := bytes.Clone(stream)
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
			f(damaged, root, false)
		}
	})
}

func TestTraceDetails(t *testing.T) {
	root := rootOf(t, `struct Rec root { N uint64 optional  F float64  S string dict(S)  D Sub  O Choice  A []bool  M MM }
		struct Sub dict(Sub) { I int64 }
		oneof Choice { A bool }
		multimap MM { key string value bool }`)
	recs := records(root,
		fields{"N": 7, "F": 1.5, "S": "ab", "D": fields{"I": -3}, "O": one{"A", true}, "A": list{true}, "M": pairs{{"k", true}}},
		fields{"N": nil, "F": 2.5, "S": "c", "D": fields{"I": 1}, "O": one{}, "A": list{}, "M": pairs{{"k", false}}},
		fields{"F": 2.5, "S": "ab", "D": fields{"I": -3}},
	)
	_, details, err := traceAll(write(t, root, recs, false), root)
	require.NoError(t, err)
	start := slices.IndexFunc(details, func(d any) bool { _, ok := d.(dynamic.TraceFrame); return ok })
	details = slices.DeleteFunc(details[start+1:], func(d any) bool { return d == dynamic.TracePadding{} })
	first, second := recs[0].Fields[3].(*dynamic.Struct), recs[1].Fields[3].(*dynamic.Struct)
	want := []any{
		dynamic.TraceStruct{Fields: 7, Optional: 1, Modified: 0x7f, Presence: 1},
		dynamic.TraceNumber{Value: uint64(7), Change: 7, Delta: 7},
		dynamic.TraceFloat{Value: 1.5, New: true, Lead: 2, Trail: 51, Bits: 11},
		dynamic.TraceText{Value: "ab", Dict: "S", Ref: -1, Entry: 0},
		dynamic.TraceStruct{Fields: 1, Modified: 1},
		dynamic.TraceNumber{Value: int64(-3), Change: -3, Delta: -3},
		dynamic.TraceEntry{Ref: 1, Value: first},
		dynamic.TraceChoice{Choice: 1},
		dynamic.TraceBool{Value: true},
		dynamic.TraceLength{Length: 1},
		dynamic.TraceBool{Value: true},
		dynamic.TracePairs{Pairs: 1},
		dynamic.TraceText{Value: "k", Ref: -1, Entry: -1},
		dynamic.TraceBool{Value: true},

		dynamic.TraceStruct{Fields: 7, Optional: 1, Modified: 0x7f},
		dynamic.TraceFloat{Value: 2.5, New: true, Lead: 1, Trail: 50, Bits: 13},
		dynamic.TraceText{Value: "c", Dict: "S", Ref: -1, Entry: -1},
		dynamic.TraceStruct{Fields: 1, Modified: 1},
		dynamic.TraceNumber{Value: int64(1), Change: 7, Delta: 4},
		dynamic.TraceEntry{Ref: 2, Value: second},
		dynamic.TraceChoice{},
		dynamic.TraceLength{},
		dynamic.TraceChanged{Changed: 1},
		dynamic.TraceBool{Value: false},

		dynamic.TraceStruct{Fields: 7, Optional: 1, Modified: 1<<2 | 1<<3},
		dynamic.TraceText{Value: "ab", Dict: "S", Ref: 0, Entry: -1},
		dynamic.TraceRef{Ref: 1, Value: first},
	}
	require.Len(t, details, len(want))
	for i := range want {
		require.True(t, sameDetail(want[i], details[i]), "event %d: %#v, not %#v", i, details[i], want[i])
	}
}

// sameDetail reports whether two details are equal. It compares structs by their contents.
func sameDetail(a, b any) bool {
	switch a := a.(type) {
	case dynamic.TraceEntry:
		b, ok := b.(dynamic.TraceEntry)
		return ok && a.Ref == b.Ref && dynamic.Equal(a.Value, b.Value)
	case dynamic.TraceRef:
		b, ok := b.(dynamic.TraceRef)
		return ok && a.Ref == b.Ref && dynamic.Equal(a.Value, b.Value)
	}
	return a == b
}

func TestTraceOfMissingChoices(t *testing.T) {
	root := rootOf(t, "struct Rec root { A []Choice } oneof Choice { A uint64 B uint64 }")
	stream := plainStream(t, dataFrame(1, bitString("1"), bitString("001 00101"), bitString("01 00 00 00"), []byte{2, 9}, nil))
	_, details, err := traceAll(stream, root)
	require.NoError(t, err)
	require.Contains(t, details, dynamic.TraceChoice{Missing: 2})
	require.Contains(t, details, dynamic.TraceUnread{}, "the number 9")
}

func TestFlagsString(t *testing.T) {
	f := func(want string, flags dynamic.FrameFlags) {
		t.Helper()
		require.Equal(t, want, flags.String())
	}
	f("none", 0)
	f("RestartCompression", dynamic.RestartCompression)
	f("RestartDictionaries|RestartCompression|RestartCodecs", dynamic.RestartAll)
	f("RestartCodecs|0x08", dynamic.RestartCodecs|8)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

func someStream(tb testing.TB, opts ...dynamic.WriterOption) (*schema.Struct, []*dynamic.Struct, []byte) {
	tb.Helper()
	root := rootOf(tb, restarts)
	recs := records(root,
		fields{"M": pairs{{"a", 5}, {"b", 6}}, "S": fields{"P": "pp"}, "SubArr": list{fields{"X": 100}, fields{"X": 101}}},
		fields{"SubArr": list{fields{"X": 102}, fields{"X": 101, "Y": "why"}}},
		fields{"One": one{"B", "a longer text so that there is something to cut"}, "M": pairs{}},
		fields{"One": one{"D", fields{"Y": "item"}}, "S": fields{"P": "qq", "R": pairs{{"k", 1}}}},
		fields{"S": fields{"P": "pp", "R": pairs{}}},
	)
	return root, recs, write(tb, root, recs, true, append(opts, dynamic.WithUserData(map[string]string{"k": "v"}))...)
}

func bothCompressions(t *testing.T, f func(t *testing.T, opt dynamic.WriterOption)) {
	for _, c := range []dynamic.Compression{dynamic.None, dynamic.Zstd} {
		t.Run(c.String(), func(t *testing.T) { f(t, dynamic.WithCompression(c)) })
	}
}

// TestTruncated truncates a stream at every offset. A cut at the start of a frame ends the
// stream without an error. Any other cut is an error. In both cases the records of the
// complete frames are read.
func TestTruncated(t *testing.T) {
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, recs, stream := someStream(t, opt)
		ends := map[int]int{len(stream): len(recs)}
		records := 0
		for _, f := range frames(t, root, stream) {
			ends[int(f.Offset)] = records
			records += int(f.Records)
		}
		require.Len(t, ends, len(recs)+1)

		records = 0
		for n := range len(stream) + 1 {
			r, err := dynamic.NewReader(bytes.NewReader(stream[:n]), root)
			if err == nil {
				for r.Next() {
					require.True(t, dynamic.Equal(recs[r.Records()-1], r.Record()))
				}
				err = r.Err()
			}
			if want, ok := ends[n]; ok {
				require.NoError(t, err, "cut at %d", n)
				require.EqualValues(t, want, r.Records())
				records = want
				continue
			}
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut at %d", n)
			require.ErrorIs(t, err, dynamic.ErrCorrupt)
			requireTyped(t, err)
			if r != nil {
				require.EqualValues(t, records, r.Records(), "cut at %d", n)
			}
		}
	})
}

func TestSlowSources(t *testing.T) {
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, recs, stream := someStream(t, opt)
		for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			r, err := dynamic.NewReader(slow(bytes.NewReader(stream)), root)
			require.NoError(t, err)
			for i := range recs {
				require.True(t, r.Next(), "%v", r.Err())
				require.True(t, dynamic.Equal(recs[i], r.Record()))
			}
			require.False(t, r.Next())
			require.NoError(t, r.Err())
		}
	})
}

// stuck is a source whose Read returns neither bytes nor an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestStuckSource(t *testing.T) {
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, _, stream := someStream(t, opt)
		for n := range stream {
			r, err := dynamic.NewReader(io.MultiReader(bytes.NewReader(stream[:n]), stuck{}), root)
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
			}
			require.ErrorIs(t, err, io.ErrNoProgress, "stuck at %d", n)
		}
	})
}

func TestFailingSource(t *testing.T) {
	failure := errors.New("the source failed")
	bothCompressions(t, func(t *testing.T, opt dynamic.WriterOption) {
		root, _, stream := someStream(t, opt)
		for n := range stream {
			src := io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(failure))
			r, err := dynamic.NewReader(src, root)
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
				require.False(t, r.Next())
				require.Equal(t, err, r.Err())
			}
			require.ErrorIs(t, err, failure, "failing at %d", n)
			require.NotErrorIs(t, err, dynamic.ErrCorrupt)
			var e *dynamic.Error
			require.ErrorAs(t, err, &e)
		}
	})
}

func TestErrorPlace(t *testing.T) {
	root, _, stream := someStream(t)
	list := frames(t, root, stream)
	last := list[3]
	// The last byte of the frame is in the last column that has data.
	stream[int(last.Offset)+2+last.UncompressedSize-1] = 0xff
	r, err := dynamic.NewReader(bytes.NewReader(stream), root)
	require.NoError(t, err)
	for r.Next() {
	}
	var e *dynamic.Error
	require.ErrorAs(t, r.Err(), &e)
	require.Equal(t, last.Offset, e.Offset)
	require.Equal(t, 4, e.Frame)
	require.EqualValues(t, 4, e.Record)
	require.Equal(t, "Rec.S.R.value", e.Column)
	require.ErrorIs(t, e, dynamic.ErrCorrupt)
	require.Contains(t, e.Error(), "frame 4, record 4, column Rec.S.R.value: corrupt stream: number")
}

func TestFrameFacts(t *testing.T) {
	root, _, stream := someStream(t, dynamic.WithRestart(dynamic.RestartCodecs), dynamic.WithSchemaHeader())
	list := frames(t, root, stream)
	require.Len(t, list, 5)
	offset := list[0].Offset
	for i, f := range list {
		require.Equal(t, i+1, f.Index)
		require.Equal(t, offset, f.Offset)
		require.Equal(t, f.UncompressedSize, f.CompressedSize)
		require.EqualValues(t, 1, f.Records)
		require.Equal(t, i > 0, f.Flags == dynamic.RestartCodecs)
		require.Equal(t, "Rec", f.Columns[0].Path)
		require.Equal(t, "Rec.One.C[]", f.Columns[5].Path)
		require.Equal(t, "Rec.M.key", f.Columns[12].Path)
		require.False(t, f.Columns[12].Bits)
		size := 2 + f.SizesSize
		for _, c := range f.Columns {
			size += c.Size
		}
		require.Equal(t, f.UncompressedSize, size)
		offset += int64(2 + size)
	}
	require.EqualValues(t, len(stream), offset)

	r, err := dynamic.NewReader(bytes.NewReader(stream), root)
	require.NoError(t, err)
	require.Equal(t, schema.WireOf(root), r.Header().Wire)
	require.Equal(t, map[string]string{"k": "v"}, r.Header().UserData)
	require.EqualValues(t, 7, r.Header().Frame.Offset)
	require.NotNil(t, r.Kept())
}

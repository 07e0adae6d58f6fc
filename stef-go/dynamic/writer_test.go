// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// TestWrongValues: if a record has values of wrong types, nil values or invalid choices, the Writer refuses
// it and the stream does not change.
func TestWrongValues(t *testing.T) {
	root := rootOf(t, `struct Rec root { N uint64  S Sub  O Choice  A []string  M MM }
		struct Sub { B bool  F float64  I int64  X bytes }
		oneof Choice { A uint64 }
		multimap MM { key string value bool }`)
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root)
	require.NoError(t, err)
	f := func(path string, change func(v *dynamic.Struct)) {
		t.Helper()
		v := dynamic.NewStruct(root)
		require.NoError(t, w.Write(v))
		v.Fields[0] = uint64(100)
		change(v)
		err := w.Write(v)
		require.ErrorIs(t, err, dynamic.ErrSchema)
		require.Contains(t, err.Error(), path)
	}
	field := func(i int, v any) func(*dynamic.Struct) { return func(s *dynamic.Struct) { s.Fields[i] = v } }
	sub := func(i int, v any) func(*dynamic.Struct) {
		return func(s *dynamic.Struct) { s.Fields[1].(*dynamic.Struct).Fields[i] = v }
	}
	f("Rec.N: the value is of type int64, must be uint64", field(0, int64(1)))
	f("Rec.N", field(0, nil))
	f("Rec.S: the value is of type int, must be *Struct", field(1, 1))
	f("Rec.S", field(1, (*dynamic.Struct)(nil)))
	f("Rec.S", field(1, &dynamic.Struct{}))
	f("Rec.S.B", sub(0, "true"))
	f("Rec.S.F", sub(1, 1))
	f("Rec.S.I", sub(2, uint64(1)))
	f("Rec.S.X: the value is of type string, must be []byte", sub(3, "x"))
	f("Rec.O", field(2, (*dynamic.Oneof)(nil)))
	f("Rec.O", field(2, &dynamic.Oneof{Choice: 2}))
	f("Rec.O", field(2, &dynamic.Oneof{Choice: -1}))
	f("Rec.O.A", field(2, &dynamic.Oneof{Choice: 1}))
	f("Rec.A: the value is of type []string, must be *Array", field(3, []string{}))
	f("Rec.A[]: the value is of type int, must be string", field(3, &dynamic.Array{Elems: []any{1}}))
	f("Rec.M", field(4, (*dynamic.Multimap)(nil)))
	f("Rec.M.key", field(4, &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: 1, Value: true}}}))
	f("Rec.M.value", field(4, &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: "k"}}}))
	require.ErrorIs(t, w.Write(nil), dynamic.ErrSchema)
	require.NoError(t, w.Close())
	for _, rec := range read(t, root, out.Bytes()) {
		require.True(t, dynamic.Equal(dynamic.NewStruct(root), rec))
	}
}

func TestRecordIsNotKept(t *testing.T) {
	root := rootOf(t, "struct Rec root { A []uint64 }")
	rec := records(root, fields{"A": list{1}})[0]
	want := dynamic.Clone(rec).(*dynamic.Struct)
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root)
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	rec.Fields[0].(*dynamic.Array).Elems[0] = uint64(2)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	requireRecords(t, root, []*dynamic.Struct{want, rec}, read(t, root, out.Bytes()))
}

// A Writer compares the bits of floats. TestFloatsByBits makes changes that a comparison of numbers does
// not detect, such as from 0 to -0, in a plain field and in a dictionary struct.
func TestFloatsByBits(t *testing.T) {
	root := rootOf(t, "struct Rec root { F float64  D Sub } struct Sub dict(Sub) { A []float64 }")
	var changes []fields
	for _, v := range []float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Float64frombits(0x7ff8000000000009), 0} {
		changes = append(changes, fields{"F": v, "D": fields{"A": list{v}}})
	}
	recs := records(root, changes...)
	requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))
}

// TestDictStructWithOptional makes an optional field of a dictionary struct present and absent several
// times.
func TestDictStructWithOptional(t *testing.T) {
	root := rootOf(t, "struct Rec root { D Sub } struct Sub dict(Sub) { N uint64 optional  T string }")
	recs := records(root,
		fields{"D": fields{"N": 1, "T": "t"}}, fields{"D": fields{"N": nil}}, fields{"D": fields{"N": 1}},
		fields{"D": fields{"N": nil, "T": "u"}}, fields{"D": fields{"T": "t"}},
	)
	stream := write(t, root, recs, false)
	requireRecords(t, root, recs, read(t, root, stream))
	// Three of the five structs are sent in full: a flag bit, two modified bits and a
	// presence bit. Two structs are references: a flag bit and a number of 4 bits.
	require.Equal(t, (3*4+2*5+7)/8, frames(t, root, stream)[0].Columns[1].Size)
}

// TestManyChoices writes a oneof with the maximum number of choices, which needs 9
// bits.
func TestManyChoices(t *testing.T) {
	text := "struct Rec root { O Choice } oneof Choice {"
	for i := range 255 {
		text += fmt.Sprintf(" C%d bool", i)
	}
	root := rootOf(t, text+" }")
	recs := records(root, fields{"O": one{"C0", true}}, fields{"O": one{"C254", true}}, fields{"O": one{"C127", false}})
	stream := write(t, root, recs, false, dynamic.WithSchemaHeader())
	requireRecords(t, root, recs, read(t, root, stream))
	require.Equal(t, 4, frames(t, root, stream)[0].Columns[1].Size)
}

func TestClose(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64 }")
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.Equal(t, dump(unhex(t, plainHead)), dump(out.Bytes()))
	require.NoError(t, w.Write(dynamic.NewStruct(root)))
	require.NoError(t, w.Flush())
	n := out.Len()
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.Equal(t, n, out.Len())
	require.ErrorIs(t, w.Write(dynamic.NewStruct(root)), dynamic.ErrClosed)
	require.ErrorIs(t, w.Flush(), dynamic.ErrClosed)
}

// failingWriter accepts some writes and then fails, with an error or a short write.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return len(p) / 2, w.err
	}
	return len(p), nil
}

func TestFailingWriter(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64 }")
	failure := errors.New("the writer failed")
	f := func(left int, err, want error) {
		t.Helper()
		w, have := dynamic.NewWriter(&failingWriter{left, err}, root)
		if left < 2 {
			require.ErrorIs(t, have, want)
			return
		}
		require.NoError(t, have)
		require.NoError(t, w.Write(dynamic.NewStruct(root)))
		require.ErrorIs(t, w.Flush(), want)
		require.ErrorIs(t, w.Write(dynamic.NewStruct(root)), want)
		require.ErrorIs(t, w.Close(), want)
	}
	for left := range 3 {
		f(left, failure, failure)
		f(left, nil, io.ErrShortWrite)
	}
}

func TestOptions(t *testing.T) {
	root := rootOf(t, "struct Rec root { A uint64 }")
	f := func(want error, opts ...dynamic.WriterOption) {
		t.Helper()
		_, err := dynamic.NewWriter(&bytes.Buffer{}, root, opts...)
		require.ErrorIs(t, err, want)
	}
	f(nil)
	f(dynamic.ErrVersion, dynamic.WithCompression(2))
	f(dynamic.ErrLimit, dynamic.WithZstdLevel(-1))
	f(dynamic.ErrLimit, dynamic.WithZstdLevel(23))
	f(dynamic.ErrLimit, dynamic.WithWindowBytes(2*dynamic.MaxWindowBytes))
	f(dynamic.ErrLimit, dynamic.WithWindowBytes(1000), dynamic.WithCompression(dynamic.Zstd))
	f(dynamic.ErrSchema, dynamic.WithSchema(schema.WireSchema{2}))
	f(dynamic.ErrLimit, dynamic.WithRestart(8))
	f(nil, dynamic.WithFrameBytes(0), dynamic.WithDictBytes(0))
	f(dynamic.ErrLimit, dynamic.WithFrameBytes(-1))
	f(dynamic.ErrLimit, dynamic.WithFrameBytes(64<<20))
	f(dynamic.ErrLimit, dynamic.WithDictBytes(64<<20))

	g := func(want error, opts ...dynamic.ReaderOption) {
		t.Helper()
		_, err := dynamic.NewReader(bytes.NewReader(unhex(t, plainHead)), root, opts...)
		require.ErrorIs(t, err, want)
	}
	g(nil)
	g(dynamic.ErrLimit, dynamic.WithMaxRecordBytes(0))
	g(dynamic.ErrLimit, dynamic.WithMaxDictBytes(-1))
	g(dynamic.ErrSchema, dynamic.WithAssumedSchema(schema.WireSchema{2}))
}

// Two records that have the maximum size and do not compress do not fit in one frame.
func TestLargestFrames(t *testing.T) {
	root := rootOf(t, `struct Rec root { B bytes }`)
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, dynamic.WithFrameBytes(32<<20), dynamic.WithCompression(dynamic.Zstd), dynamic.WithZstdLevel(1))
	require.NoError(t, err)
	content := make([]byte, 32<<20-100)
	_, err = rand.NewChaCha8([32]byte{}).Read(content)
	require.NoError(t, err)
	rec := dynamic.NewStruct(root)
	for i := range 2 {
		// The records differ at their ends.
		rec.Fields[0] = content[i:]
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	r, err := dynamic.NewReader(&out, root)
	require.NoError(t, err)
	for i := range 2 {
		require.True(t, r.Next(), "%v", r.Err())
		require.True(t, bytes.Equal(content[i:], r.Record().Fields[0].([]byte)))
	}
	require.Equal(t, 2, r.Frame().Index)
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

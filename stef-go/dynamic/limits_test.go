// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// bitString converts a text of 0 and 1 to bytes, one bit for each digit. It ignores all other characters.
func bitString(s string) []byte {
	var run []byte
	n := 0
	for _, c := range s {
		if c != '0' && c != '1' {
			continue
		}
		if n%8 == 0 {
			run = append(run, 0)
		}
		if c == '1' {
			run[n/8] |= 0x80 >> (n % 8)
		}
		n++
	}
	return run
}

// dataFrame returns a frame with the data of columns, in order. Callers omit the columns below an empty
// column.
func dataFrame(records uint64, runs ...[]byte) []byte {
	var sizes strings.Builder
	var columns []byte
	for _, run := range runs {
		if len(run) == 0 {
			sizes.WriteString("1")
			continue
		}
		// Write each size as a compact number with 26 payload bits, which are enough for all sizes.
		fmt.Fprintf(&sizes, "000001%026b", len(run))
		columns = append(columns, run...)
	}
	content := binary.AppendUvarint(nil, records)
	table := bitString(sizes.String())
	content = append(binary.AppendUvarint(content, uint64(len(table))), table...)
	content = append(content, columns...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(content))), content...)
}

func plainStream(tb testing.TB, frames ...[]byte) []byte {
	return append(unhex(tb, plainHead), bytes.Join(frames, nil)...)
}

// failure reads a stream that must fail, and returns the number of records before the error, and the
// error.
func failure(t *testing.T, root *schema.Struct, stream []byte, opts ...dynamic.ReaderOption) (records uint64, err error) {
	t.Helper()
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, opts...)
	if err != nil {
		requireTyped(t, err)
		return 0, err
	}
	for r.Next() {
	}
	if r.Err() != nil {
		requireTyped(t, r.Err())
	}
	return r.Records(), r.Err()
}

// TestArrayWithoutData reads an array of 2^48-1 elements that need no bits.
func TestArrayWithoutData(t *testing.T) {
	root := rootOf(t, "struct Rec root { A []Empty } struct Empty {}")
	peak := teltest.WatchHeap(t)
	stream := plainStream(t, dataFrame(1, bitString("1"), bitString("00000001"+strings.Repeat("1", 48)), nil))
	records, err := failure(t, root, stream)
	require.ErrorIs(t, err, dynamic.ErrLimit)
	require.Zero(t, records)
	require.Less(t, peak(), uint64(256<<20))
}

// TestSharedRecordLimit reads a record of some hundred bits. It has n dictionary structs, each of which
// refers twice to the struct before it. If every reference counts, the record has about 2^n parts.
func TestSharedRecordLimit(t *testing.T) {
	root := rootOf(t, "struct Rec root { L []Twice } struct Twice dict(Twice) { A Twice optional B Twice optional }")
	for _, n := range []int{30, 62, 63, 64, 65, 70, 200} {
		length := fmt.Sprintf("0001%012b", n)
		elems := "1 00 00"
		for i := 1; i < n; i++ {
			ref := fmt.Sprintf("0 0001%012b", i)
			elems += "1 11 11" + ref + ref
		}
		stream := plainStream(t, dataFrame(1, bitString("1"), bitString(length), bitString(elems)))
		_, err := failure(t, root, stream)
		require.ErrorIs(t, err, dynamic.ErrLimit, "%d elements", n)
	}
}

// TestRecordLimit reads records, each a little larger than the previous one, until one exceeds the
// limit.
func TestRecordLimit(t *testing.T) {
	root := rootOf(t, "struct Rec root { M MM } multimap MM { key string value string }")
	text := strings.Repeat("x", 1000)
	var changes []fields
	var all pairs
	for i := range 60 {
		all = append(all, [2]any{fmt.Sprint(i), ""})
	}
	for i := range 60 {
		all = append(pairs{}, all...)
		all[i][1] = text
		changes = append(changes, fields{"M": all})
	}
	recs := records(root, changes...)
	stream := write(t, root, recs, false)
	require.Len(t, read(t, root, stream), 60)
	require.Len(t, read(t, root, stream, dynamic.WithMaxRecordBytes(70_000)), 60)
	n, err := failure(t, root, stream, dynamic.WithMaxRecordBytes(35_000))
	require.ErrorIs(t, err, dynamic.ErrLimit)
	require.Greater(t, n, uint64(20))
	require.Less(t, n, uint64(35))
}

// TestPathOfWriteLimit: if a record is too large for a Writer, the error names the innermost value that is
// itself above the limit.
func TestPathOfWriteLimit(t *testing.T) {
	root := rootOf(t, "struct Rec root { A In B bytes L []string M MM } struct In { S string T string } multimap MM { key string value string }")
	f := func(path string, rec fields) {
		t.Helper()
		w, err := dynamic.NewWriter(io.Discard, root)
		require.NoError(t, err)
		require.EqualError(t, w.Write(records(root, rec)[0]), "limit exceeded: "+path+": the record takes more than 33554432 bytes")
	}
	half, whole := strings.Repeat("x", 17<<20), strings.Repeat("x", 33<<20)
	f("Rec.A.S", fields{"A": fields{"S": whole}})
	f("Rec.A", fields{"A": fields{"S": half, "T": half}})
	f("Rec.B", fields{"B": []byte(whole)})
	f("Rec.L", fields{"L": list{half, half}})
	f("Rec.L[]", fields{"L": list{half, whole}})
	f("Rec.M.value", fields{"M": pairs{{"k", whole}}})
	f("Rec.M", fields{"M": pairs{{"k", half}, {half, ""}}})
	f("Rec", fields{"A": fields{"S": half}, "B": []byte(half)})
}

// TestWriteLimit writes records just above and just below the size limit of a Writer.
func TestWriteLimit(t *testing.T) {
	root := rootOf(t, "struct Rec root { S string }")
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(records(root, fields{"S": strings.Repeat("x", 32<<20)})[0]), dynamic.ErrLimit)
	large := records(root, fields{"S": strings.Repeat("x", 31<<20)})
	require.NoError(t, w.Write(large[0]))
	require.NoError(t, w.Close())
	require.True(t, dynamic.Equal(large[0], read(t, root, out.Bytes())[0]))
}

func TestDictLimit(t *testing.T) {
	root := rootOf(t, `struct Rec root { S string dict(S)  D Sub }
		struct Sub dict(Sub) { A []uint64 }`)
	var changes []fields
	for i := range 50 {
		changes = append(changes, fields{"S": fmt.Sprintf("%0100d", i), "D": fields{"A": list{i, 2, 3}}})
	}
	recs := records(root, changes...)
	stream := write(t, root, recs, false)
	require.Len(t, read(t, root, stream), 50)
	n, err := failure(t, root, stream, dynamic.WithMaxDictBytes(5000))
	require.ErrorIs(t, err, dynamic.ErrLimit)
	require.NotZero(t, n)
	require.Less(t, n, uint64(30))

	stream = write(t, root, recs, false, dynamic.WithDictBytes(4000))
	require.Len(t, read(t, root, stream, dynamic.WithMaxDictBytes(5000)), 50)
	for i, f := range frames(t, root, stream) {
		require.Equal(t, i > 0, f.Flags == dynamic.RestartDictionaries)
	}
}

// nested returns a record with n nested arrays. The innermost array is empty.
func nested(root *schema.Struct, n int) *dynamic.Struct {
	var v any = list{}
	for range n - 1 {
		v = list{one{"Array", v}}
	}
	return records(root, fields{"V": one{"Array", v}})[0]
}

const nesting = "struct Rec root { V Value } oneof Value { Array []Value }"

// TestDepth tests how deep values may be nested. Each array counts as two levels. The record
// does not count. The innermost value does not count if it is empty.
func TestDepth(t *testing.T) {
	root := rootOf(t, nesting)
	fits := dynamic.MaxDepth / 2
	f := func(n int) {
		t.Helper()
		recs := []*dynamic.Struct{nested(root, n)}
		requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))
	}
	f(1)
	f(200)
	f(fits)
	inner := nested(root, fits)
	deepest := inner.Fields[0].(*dynamic.Oneof).Value.(*dynamic.Array)
	for len(deepest.Elems) > 0 {
		deepest = deepest.Elems[0].(*dynamic.Oneof).Value.(*dynamic.Array)
	}
	deepest.Elems = []any{&dynamic.Oneof{}}
	requireRecords(t, root, []*dynamic.Struct{inner}, read(t, root, write(t, root, []*dynamic.Struct{inner}, false)))

	w, err := dynamic.NewWriter(&bytes.Buffer{}, root)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(nested(root, fits+1)), dynamic.ErrLimit)

	// Decode records of nested arrays from bits: each level has the choice bits 01 and the length 1,
	// and the innermost level has the length 0.
	g := func(n int, want error) {
		t.Helper()
		choices := strings.Repeat("01", n)
		lengths := strings.Repeat("0101", n-1) + "1"
		_, err := failure(t, root, plainStream(t, dataFrame(1, bitString("1"), bitString(choices), bitString(lengths))))
		require.ErrorIs(t, err, want)
	}
	g(fits, nil)
	g(fits+1, dynamic.ErrLimit)
	g(100_000, dynamic.ErrLimit)
}

// TestMaxDepth: WithMaxDepth sets the limit of depth. A reader of a deeper stream returns
// ErrReaderLimit: a reader with a larger limit may read the stream.
func TestMaxDepth(t *testing.T) {
	root := rootOf(t, nesting)
	read := func(n, limit int) error {
		t.Helper()
		stream := plainStream(t, dataFrame(1, bitString("1"), bitString(strings.Repeat("01", n)), bitString(strings.Repeat("0101", n-1)+"1")))
		r, err := dynamic.NewReader(bytes.NewReader(stream), root, dynamic.WithMaxDepth(limit))
		require.NoError(t, err)
		for r.Next() {
		}
		return r.Err()
	}
	require.NoError(t, read(2, 4))
	err := read(2, 3)
	require.ErrorIs(t, err, dynamic.ErrReaderLimit)
	require.ErrorIs(t, err, dynamic.ErrLimit)
	require.ErrorContains(t, err, ": limit exceeded: values are nested deeper than 3")
	require.NoError(t, read(dynamic.MaxDepth, 2*dynamic.MaxDepth))
	require.ErrorIs(t, read(dynamic.MaxDepth, dynamic.MaxDepth), dynamic.ErrReaderLimit)
	require.NoError(t, read(50_000, 100_000))
	for _, n := range []int{-1, 0, 100_001} {
		_, err := dynamic.NewReader(bytes.NewReader(nil), root, dynamic.WithMaxDepth(n))
		require.ErrorIs(t, err, dynamic.ErrLimit)
		require.NotErrorIs(t, err, dynamic.ErrReaderLimit)
	}
}

func TestPairLimit(t *testing.T) {
	root := rootOf(t, "struct Rec root { M MM } multimap MM { key string value string }")
	var all pairs
	for range dynamic.MaxPairs {
		all = append(all, [2]any{"k", ""})
	}
	recs := records(root, fields{"M": all})
	requireRecords(t, root, recs, read(t, root, write(t, root, recs, false)))

	w, err := dynamic.NewWriter(&bytes.Buffer{}, root)
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(records(root, fields{"M": append(all, all[0])})[0]), dynamic.ErrLimit)

	texts := bytes.Repeat([]byte{0}, 1024)
	_, err = failure(t, root, plainStream(t, dataFrame(1, bitString("1"), binary.AppendUvarint(nil, 1024<<1|1), texts, texts)))
	require.ErrorIs(t, err, dynamic.ErrLimit)
	_, err = failure(t, root, plainStream(t, dataFrame(1, bitString("1"), binary.AppendUvarint(nil, 1023<<1|1), texts[1:], texts[1:])))
	require.NoError(t, err)
}

// TestDictReferencesAreShared reads a record with many references to a long value in a dictionary. The
// reader must not copy the value for each reference.
func TestDictReferencesAreShared(t *testing.T) {
	root := rootOf(t, "struct Rec root { A []bytes dict(D) }")
	const size, count = 1 << 19, 100_000
	value := append(binary.AppendUvarint(nil, 2*size), make([]byte, size)...)
	value = append(value, bytes.Repeat([]byte{1}, count-1)...)
	length := bitString(fmt.Sprintf("00001%019b", count))
	stream := plainStream(t, dataFrame(1, bitString("1"), length, value))
	peak := teltest.WatchHeap(t)
	// The size of the record is estimated as if each reference were a copy of the value.
	_, err := failure(t, root, stream)
	require.ErrorIs(t, err, dynamic.ErrLimit)
	recs := read(t, root, stream, dynamic.WithMaxRecordBytes(math.MaxInt))
	require.Len(t, recs[0].Fields[0].(*dynamic.Array).Elems, count)
	require.Less(t, peak(), uint64(64<<20))
}

// TestRecordCount reads frames that announce more records than their data can have.
func TestRecordCount(t *testing.T) {
	root := rootOf(t, "struct Rec root { A bool }")
	n, err := failure(t, root, plainStream(t, dataFrame(8, bitString("0000 0000"), nil)))
	require.NoError(t, err)
	require.EqualValues(t, 8, n)
	n, err = failure(t, root, plainStream(t, dataFrame(9, bitString("0000 0000"), nil)))
	require.ErrorIs(t, err, dynamic.ErrCorrupt)
	require.Zero(t, n)
	_, err = failure(t, root, plainStream(t, unhex(t, "00 03 00 01 80")))
	require.NoError(t, err, "a frame without records")
}

// TestWriterBoundsDictionaries: a Writer writes no record whose dictionary entries exceed the limit of a
// Reader. If a record exceeds the limit only together with earlier entries, it restarts the dictionaries.
func TestWriterBoundsDictionaries(t *testing.T) {
	root := rootOf(t, "struct Rec root { L []S } struct S dict(S) { I Inner } struct Inner dict(Inner) { T string dict(T) }")
	rec := func(from, n, distinct int) *dynamic.Struct {
		l := &dynamic.Array{}
		for i := range n {
			s := dynamic.NewStruct(root.Fields[0].Type.Elem.Struct)
			s.Fields[0].(*dynamic.Struct).Fields[0] = fmt.Sprintf("%010000d", from+i%distinct)
			l.Elems = append(l.Elems, s)
		}
		rec := dynamic.NewStruct(root)
		rec.Fields[0] = l
		return rec
	}
	const entry = 2*256 + 3*(16+10_000) // each text is a part of three entries
	const most = dynamic.DefaultMaxDictBytes / entry
	for _, flush := range []bool{false, true} {
		var out bytes.Buffer
		w, err := dynamic.NewWriter(&out, root, dynamic.WithDictBytes(32<<20), dynamic.WithFrameBytes(32<<20))
		require.NoError(t, err)
		require.NoError(t, w.Write(rec(0, most/3, most)))
		require.EqualError(t, w.Write(rec(0, most+1, most+1)), "limit exceeded: the dictionary entries of the record take more than 67108864 bytes")
		if flush {
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Write(rec(most, most, most)))
		require.NoError(t, w.Write(rec(7, most+1, 1)))
		require.NoError(t, w.Close())
		r, err := dynamic.NewReader(&out, root)
		require.NoError(t, err)
		for _, n := range []int{most / 3, most, most + 1} {
			require.True(t, r.Next(), r.Err())
			require.Len(t, r.Record().Fields[0].(*dynamic.Array).Elems, n)
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
		require.EqualValues(t, 2, r.Restarts())
	}
}

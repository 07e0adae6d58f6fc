// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/choices"
	"github.com/otelstef/stef/internal/stefgen/testdata/maps"
	"github.com/otelstef/stef/internal/stefgen/testdata/recursive"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/internal/stefgen/testdata/shared"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// testRoot is a root of the test schemas and its reader.
type testRoot struct {
	root *schema.Struct
	open func(io.Reader, ...stef.ReaderOption) (reader, error)
}

type reader interface {
	Next() bool
	Err() error
	Stats() stef.ReaderStats
	BufferedRecords() uint64
	Close()
}

// openAs converts the constructor of a generated reader to a function that returns a reader.
func openAs[R reader](open func(io.Reader, ...stef.ReaderOption) (R, error)) func(io.Reader, ...stef.ReaderOption) (reader, error) {
	return func(src io.Reader, options ...stef.ReaderOption) (reader, error) { return open(src, options...) }
}

func testRootOf[R reader](t testing.TB, fixture, root string, open func(io.Reader, ...stef.ReaderOption) (R, error)) testRoot {
	t.Helper()
	path := filepath.Join(teltest.Root(t), "internal", "stefgen", "testdata", fixture, "schema.stef")
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := idl.Parse(path, src)
	require.NoError(t, err)
	return testRoot{s.Root(root), openAs(open)}
}

// frameText describes a frame. columns has the data of its columns: the keys are paths without the name of
// the root, the values are bytes in hexadecimal.
type frameText struct {
	flags   byte
	records uint64
	columns map[string]string
}

// stream returns a stream of the frames, and their offsets. The stream announces all fields of the
// root.
func (k testRoot) stream(t testing.TB, frames ...frameText) (b []byte, offsets []int64) {
	t.Helper()
	wire, err := schema.WireOf(k.root).AppendBinary(nil)
	require.NoError(t, err)
	header := append(bitio.AppendUvarint(nil, uint64(len(wire))), wire...)
	b = append([]byte("STEF\x02\x00\x00\x00"), bitio.AppendUvarint(nil, uint64(len(header)+1))...)
	b = append(append(b, header...), 0)
	for _, f := range frames {
		offsets = append(offsets, int64(len(b)))
		content := bitio.AppendUvarint(nil, f.records)
		tree := k.tree(t, f.columns)
		content, _ = tree.AppendSizes(content)
		require.NoError(t, tree.Each(func(w column.Writer, _ int) error {
			content = w.AppendTo(content)
			return nil
		}))
		b = append(bitio.AppendUvarint(append(b, f.flags), uint64(len(content))), content...)
	}
	return b, offsets
}

// tree returns the columns of a root with the given data.
func (k testRoot) tree(t testing.TB, columns map[string]string) *column.WriteTree {
	t.Helper()
	tree := new(column.WriteTree)
	used := 0
	var add func(c *schema.Column)
	add = func(c *schema.Column) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.Path(), k.root.Name), ".")
		data, ok := columns[path]
		if ok {
			used++
		}
		raw, err := hex.DecodeString(strings.ReplaceAll(data, " ", ""))
		require.NoError(t, err)
		w := new(codec.Headers)
		w.Buf = raw
		tree.Open(c.Name, w)
		for _, child := range c.Children {
			if child.Shared == nil {
				add(child)
			}
		}
		tree.Close()
	}
	add(schema.Columns(k.root, nil)[0])
	require.Len(t, columns, used, "a column of that name is missing")
	return tree
}

// validFrame returns a frame of valid records. root is the data of the root column, in hexadecimal.
func validFrame(records uint64, root string) frameText {
	return frameText{0, records, map[string]string{"": root}}
}

func TestReadErrors(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	choice := testRootOf(t, "choices", "Record", choices.NewRecordReader)
	pairs := testRootOf(t, "maps", "Record", maps.NewRecordReader)
	// A record of root Plain takes 11 bits in the column of the root.
	before := validFrame(2, "00 00 00")
	f := func(k testRoot, kind error, record uint64, path, text string, f frameText) {
		t.Helper()
		frames := []frameText{f}
		want := 0
		if k.root.Name == "Plain" {
			frames = []frameText{before, f}
			want = 2
		}
		b, offsets := k.stream(t, frames...)
		r, err := k.open(bytes.NewReader(b))
		require.NoError(t, err)
		for range want {
			require.True(t, r.Next())
		}
		last := uint64(want)
		for r.Next() {
			last++
		}
		err = r.Err()
		require.ErrorIs(t, err, kind)
		require.ErrorContains(t, err, text)
		var at *stef.FormatError
		require.ErrorAs(t, err, &at)
		require.Equal(t, stef.FormatError{
			Offset: offsets[len(offsets)-1], Frame: len(frames), Record: record, Column: k.root.Name + path, Err: at.Err,
		}, *at)
		if record > 0 {
			require.Equal(t, record-1, last, "the records before the error were delivered")
		}
		require.Equal(t, last, r.Stats().Records)
		require.False(t, r.Next())
		require.Equal(t, err, r.Err(), "later calls return the same error")
		require.Zero(t, r.BufferedRecords())
	}
	columns := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const corrupt = "corrupt stream: "

	// Errors in a record contain the number of the record and the column.
	end := corrupt + "the column ends before its last value"
	f(plain, stef.ErrCorrupt, 0, "", corrupt+"the frame announces 1 records, which do not fit into 8 bits", frameText{0, 1, columns("", "00")})
	f(plain, stef.ErrCorrupt, 0, "", corrupt+"the frame announces 3 records, which do not fit into 32 bits", frameText{0, 3, columns("", "00 00 00 00")})
	f(plain, stef.ErrCorrupt, 3, ".Count", end, frameText{0, 1, columns("", "00 80")})
	f(plain, stef.ErrCorrupt, 4, ".Count", end, frameText{0, 2, columns("", "00 80 10", "Count", "02")})
	f(plain, stef.ErrCorrupt, 3, ".Text", end, frameText{0, 1, columns("", "02 00", "Text", "06 61")})
	f(plain, stef.ErrCorrupt, 3, ".Count", corrupt+"a number has more than 64 bits",
		frameText{0, 1, columns("", "00 80", "Count", "ff ff ff ff ff ff ff ff ff 02")})
	f(plain, stef.ErrCorrupt, 3, ".Text", corrupt+"a length is negative", frameText{0, 1, columns("", "02 00", "Text", "01")})
	f(plain, stef.ErrCorrupt, 3, ".Word", corrupt+"a reference points to no entry of the dictionary",
		frameText{0, 1, columns("", "04 00", "Word", "01")})
	f(plain, stef.ErrCorrupt, 3, ".Ratio", corrupt+"a float has a window of more than 64 bits",
		frameText{0, 1, columns("", "01 00", "Ratio", "c7 f0 00 00 00 00 00 00 00 00")})
	f(plain, stef.ErrCorrupt, 3, ".Lists.Counts", corrupt+"an array is longer than its data",
		frameText{0, 1, columns("", "80 00", "Lists", "00 20 00", "Lists.Counts", "60", "Lists.Counts[]", "02")})
	f(plain, stef.ErrCorrupt, 3, ".Lists.Counts", corrupt+"the bits are not a valid number code",
		frameText{0, 1, columns("", "80 00", "Lists", "00 20 00", "Lists.Counts", "00")})
	f(choice, stef.ErrCorrupt, 1, ".One", corrupt+"a oneof has a choice that its type does not have",
		frameText{0, 1, columns("", "04 00", "One", "80")})
	f(pairs, stef.ErrCorrupt, 1, ".Ints", corrupt+"a multimap changes a pair that does not exist",
		frameText{0, 1, columns("", "00 04", "Ints", "02")})
	f(pairs, stef.ErrLimit, 1, ".Ints", "limit exceeded: a multimap has more than 1023 pairs",
		frameText{0, 1, columns("", "00 04", "Ints", "81 10")})

	// Data after the last value of a column is reported at the last record.
	unread := corrupt + "a column has data after the last record"
	f(plain, stef.ErrCorrupt, 3, "", unread, frameText{0, 1, columns("", "00 00 00")})
	f(plain, stef.ErrCorrupt, 4, ".Text", unread, frameText{0, 2, columns("", "02 00 00", "Text", "02 61 00")})
	f(plain, stef.ErrCorrupt, 3, ".Count", unread, frameText{0, 1, columns("", "00 80", "Count", "00 00")})
	f(plain, stef.ErrCorrupt, 0, "", unread, frameText{0, 0, columns("", "00")})
}

// TestReadFrameErrors: errors of a frame as a whole have no record number.
func TestReadFrameErrors(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	head, _ := plain.stream(t, validFrame(2, "00 00 00"))
	f := func(column, text, content string) {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(content, " ", ""))
		require.NoError(t, err)
		b = append(append(bytes.Clone(head), 0, byte(len(b))), b...)
		r, err := plain.open(bytes.NewReader(b))
		require.NoError(t, err)
		require.True(t, r.Next())
		require.True(t, r.Next())
		require.False(t, r.Next())
		var at *stef.FormatError
		require.ErrorAs(t, r.Err(), &at)
		require.ErrorIs(t, at, stef.ErrCorrupt)
		require.ErrorContains(t, at, text)
		require.Equal(t, stef.FormatError{Offset: int64(len(head)), Frame: 2, Column: column, Err: at.Err}, *at)
	}
	f("", "the record count is cut off or too long", "80")
	f("", "the record count is cut off or too long", "ff ff ff ff ff ff ff ff ff 02 01 80")
	f("", "the size table is damaged", "01")
	f("", "the size table is damaged", "01 02 80")
	f("Plain", "the size table is damaged", "01 00")
	f("Plain", "the columns do not fit the frame", "01 01 50")
	f("", "bytes follow the last column", "01 01 80 00")
}

// TestReadAssumedSchema: if a stream announces no schema, the error for a damaged first frame names the
// schema that the reader assumes. Errors in later frames, and in streams that announce a schema, do not.
func TestReadAssumedSchema(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	recorded, offsets := plain.stream(t, validFrame(2, "00 00 00"))
	header := recorded[:offsets[0]]
	frame := recorded[offsets[0]:]
	noSchema := []byte("STEF\x02\x00\x00\x00\x02\x00\x00")
	bad := []byte{0, 2, 1, 0}
	f := func(stream []byte, hint bool) {
		t.Helper()
		r, err := plain.open(bytes.NewReader(stream))
		require.NoError(t, err)
		for r.Next() {
		}
		require.ErrorContains(t, r.Err(), "the size table is damaged")
		require.Equal(t, hint, strings.Contains(r.Err().Error(), "if the writer had another schema, generate the reader from the newer schema, with -base and the numbers of the writer (stefc -numbers prints them)"), r.Err())
	}
	f(slices.Concat(noSchema, bad), true)
	f(slices.Concat(noSchema, frame, bad), false)
	f(slices.Concat(header, bad), false)
}

// TestReadOtherRoot: if a header announces fewer fields than the root of the reader has, the stream can be
// older or belong to another root. So an error says that the records may be of another root. If only one
// other root of the package fits, the error names it.
func TestReadOtherRoot(t *testing.T) {
	f := func(want string, wire ...byte) {
		t.Helper()
		b := slices.Concat([]byte("STEF\x02\x00\x00\x00"), []byte{byte(len(wire) + 3), byte(len(wire) + 1), byte(len(wire))}, wire, []byte{0})
		r, err := scalars.NewPlainReader(bytes.NewReader(append(b, 0, 2, 1, 0)))
		require.NoError(t, err)
		require.False(t, r.Next())
		require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
		_, hint, _ := strings.Cut(r.Err().Error(), "; ")
		require.Equal(t, want, hint, r.Err())
	}
	f("or the records are not those of Plain: the schema of the stream also fits Second, so try SecondReader", 1)
	f("if the stream is not damaged, its records are those of another root than Plain (a stream does not name its root), or fields of the schema were inserted, moved or changed after the stream was written: "+
		"compare the schemas with stefc -against OLD.stef", 4)
	f("", 11, 9, 13)
}

func TestReadEmptyFrames(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	empty := frameText{7, 0, nil}
	b, _ := plain.stream(t, empty, validFrame(2, "00 00 00"), empty, empty, validFrame(1, "00 00"), empty)
	r, err := plain.open(bytes.NewReader(b))
	require.NoError(t, err)
	for i, buffered := range []uint64{1, 0, 0} {
		require.True(t, r.Next())
		require.Equal(t, buffered, r.BufferedRecords())
		require.Equal(t, uint64(i+1), r.Stats().Records)
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.Equal(t, 6, r.Stats().Frames)
	require.Equal(t, int64(len(b)), r.Stats().Bytes)
	require.Equal(t, stef.FrameFlags(7), r.Stats().FrameFlags)
}

// TestCountedFrames: a frame counts when the reader begins it, even if reading the frame then fails.
func TestCountedFrames(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	b, _ := plain.stream(t, validFrame(2, "00 00 00"), validFrame(1, "00 00"))
	f := func(b []byte, records uint64, frames int, end error) {
		t.Helper()
		r, err := plain.open(bytes.NewReader(b))
		require.NoError(t, err)
		require.Zero(t, r.Stats().Frames)
		for r.Next() {
		}
		require.ErrorIs(t, r.Err(), end)
		require.Equal(t, records, r.Stats().Records)
		require.Equal(t, frames, r.Stats().Frames)
	}
	f(b, 3, 2, nil)
	f(b[:len(b)-1], 2, 2, io.ErrUnexpectedEOF)
}

// TestReadHugeRecordCount: a record count that needs more bits than the frame has is an error.
func TestReadHugeRecordCount(t *testing.T) {
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	for _, count := range []uint64{9, 1 << 32, 1 << 63, 1<<64 - 1} {
		b, _ := plain.stream(t, validFrame(count, strings.Repeat("00 ", 11)))
		r, err := plain.open(bytes.NewReader(b))
		require.NoError(t, err)
		require.False(t, r.Next())
		require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
		require.ErrorContains(t, r.Err(), "records, which do not fit into 88 bits")
		require.Zero(t, r.Stats().Records)
	}
	b, _ := plain.stream(t, validFrame(8, strings.Repeat("00 ", 11)))
	r, err := plain.open(bytes.NewReader(b))
	require.NoError(t, err)
	for range 8 {
		require.True(t, r.Next())
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestReadLimits(t *testing.T) {
	f := func(k testRoot, limits stef.Limits, record uint64, path, text string, frames ...frameText) {
		t.Helper()
		b, _ := k.stream(t, frames...)
		r, err := k.open(bytes.NewReader(b), stef.WithLimits(limits))
		require.NoError(t, err)
		for range record - 1 {
			require.True(t, r.Next())
		}
		require.False(t, r.Next())
		require.ErrorIs(t, r.Err(), stef.ErrLimit)
		require.ErrorContains(t, r.Err(), text)
		var at *stef.FormatError
		require.ErrorAs(t, r.Err(), &at)
		require.Equal(t, record, at.Record)
		require.Equal(t, k.root.Name+path, at.Column)
		// With the default limits the stream is valid.
		r, err = k.open(bytes.NewReader(b))
		require.NoError(t, err)
		for r.Next() {
		}
		require.NoError(t, r.Err())
	}
	plain := testRootOf(t, "scalars", "Plain", scalars.NewPlainReader)
	words := frameText{0, 2, map[string]string{"": "04 00 80", "Word": "08 61616161 08 62626262"}}
	f(plain, stef.Limits{DictBytes: 39}, 2, ".Word", "the dictionaries need more memory than 39 bytes (Limits.DictBytes of the reader, see stef.WithLimits)", words)
	f(plain, stef.Limits{DictBytes: 39}, 3, ".Word", "the dictionaries need more memory than 39 bytes (Limits.DictBytes of the reader, see stef.WithLimits)",
		frameText{0, 1, map[string]string{"": "04 00", "Word": "08 61616161"}},
		frameText{1, 2, map[string]string{"": "04 00 80", "Word": "08 61616161 08 62626262"}})

	counts := frameText{0, 1, map[string]string{"": "80 00", "Lists": "00 20 00", "Lists.Counts": "70", "Lists.Counts[]": "02 02 02"}}
	f(plain, stef.Limits{RecordBytes: 47}, 1, ".Lists.Counts", "the record needs more memory than 47 bytes (Limits.RecordBytes of the reader, see stef.WithLimits)", counts)

	pairs := testRootOf(t, "maps", "Record", maps.NewRecordReader)
	ints := frameText{0, 1, map[string]string{"": "00 04", "Ints": "07", "Ints.key": "00 00 00", "Ints.value": "00 00 00"}}
	f(pairs, stef.Limits{RecordBytes: 47}, 1, ".Ints", "the record needs more memory than 47 bytes (Limits.RecordBytes of the reader, see stef.WithLimits)", ints)

	// Each level is a Chain in a Chain, with 3 bits: the modified mask and the presence bit.
	deep := testRootOf(t, "recursive", "Record", recursive.NewRecordReader)
	chain := frameText{0, 1, map[string]string{"": "02 00", "Chain": "b6 db 6d b0"}}
	f(deep, stef.Limits{Depth: 5}, 1, ".Chain", "a value is nested deeper than 5 levels: a list or multimap in a struct or oneof counts as two levels (Limits.Depth of the reader, see stef.WithLimits)", chain)
	f(deep, stef.Limits{RecordBytes: 200}, 1, ".Chain", "the record needs more memory than 200 bytes (Limits.RecordBytes of the reader, see stef.WithLimits)", chain)

	dict := testRootOf(t, "shared", "Record", shared.NewRecordReader)
	f(dict, stef.Limits{DictBytes: 2*(256+32) - 1}, 2, ".Inner", "the dictionaries need more memory than 575 bytes (Limits.DictBytes of the reader, see stef.WithLimits)",
		frameText{0, 2, map[string]string{"": "04 00 80", "Inner": "90"}})
}

// TestReadSchemas: if the header announces more fields than the reader has, the reader refuses the stream
// before the first frame.
func TestReadSchemas(t *testing.T) {
	f := func(ok bool, wire schema.WireSchema) {
		t.Helper()
		run, err := wire.AppendBinary(nil)
		require.NoError(t, err)
		b := append([]byte("STEF\x02\x00\x00\x00"), byte(len(run)+2), byte(len(run)))
		b = append(append(b, run...), 0)
		r, err := scalars.NewSecondReader(bytes.NewReader(b))
		if ok {
			require.NoError(t, err)
			require.Equal(t, wire, r.Schema())
			return
		}
		require.ErrorIs(t, err, stef.ErrSchema)
		var at *stef.FormatError
		require.ErrorAs(t, err, &at)
		require.Equal(t, stef.FormatError{Offset: 7, Err: at.Err}, *at)
	}
	f(true, schema.WireSchema{3, 9})
	f(true, schema.WireSchema{1})
	f(true, schema.WireSchema{2, 0})
	f(false, schema.WireSchema{})
	f(false, schema.WireSchema{0})
	f(false, schema.WireSchema{4, 9})
	f(false, schema.WireSchema{3, 10})
	f(false, schema.WireSchema{3})
	f(false, schema.WireSchema{3, 9, 0})

	r, err := scalars.NewSecondReader(strings.NewReader("STEF\x02\x00\x00\x00\x02\x00\x00"))
	require.NoError(t, err)
	require.Equal(t, scalars.SecondBaseSchema(), r.Schema())
}

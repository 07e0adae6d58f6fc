// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/annotate"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

const readings = `package example
	struct Reading root {
		Site  string dict(Site)
		Level float64
		Note  string optional
		Place Place
		Tags  Tags
		Marks []Mark
	}
	struct Place dict(Place) { Floor int64  Use Use }
	enum Use { Unknown = 0  Storage = 1 }
	multimap Tags { key string value Value }
	oneof Value { Text bytes  List []Value }
	struct Mark { On bool }`

func rootOf(tb testing.TB, text string) *schema.Struct {
	tb.Helper()
	s, err := idl.Parse("test.stef", []byte(text))
	require.NoError(tb, err)
	return s.Roots()[0]
}

func list(elems ...any) *dynamic.Array { return &dynamic.Array{Elems: elems} }

func stream(tb testing.TB, opts ...dynamic.WriterOption) []byte {
	tb.Helper()
	root := rootOf(tb, readings)
	var out bytes.Buffer
	opts = append(opts, dynamic.WithSchemaHeader(), dynamic.WithUserData(map[string]string{"origin": "lab"}))
	w, err := dynamic.NewWriter(&out, root, opts...)
	require.NoError(tb, err)
	rec := dynamic.NewStruct(root)
	rec.Fields[0] = "north"
	rec.Fields[1] = 20.5
	rec.Fields[2], rec.Present[2] = "ok", true
	rec.Fields[3].(*dynamic.Struct).Fields[0] = int64(-3)
	rec.Fields[3].(*dynamic.Struct).Fields[1] = uint64(1)
	text := func(s string) any { return &dynamic.Oneof{Choice: 1, Value: []byte(s)} }
	pairs := rec.Fields[4].(*dynamic.Multimap)
	pairs.Pairs = []dynamic.Pair{
		{Key: "a", Value: text("\x01\x02")},
		{Key: "b", Value: &dynamic.Oneof{Choice: 2, Value: list(text(""), &dynamic.Oneof{})}},
	}
	rec.Fields[5] = list(dynamic.NewStruct(root.Fields[5].Type.Elem.Struct))
	require.NoError(tb, w.Write(rec))

	rec = dynamic.Clone(rec).(*dynamic.Struct)
	rec.Fields[1] = 20.75
	rec.Present[2] = false
	rec.Fields[3] = dynamic.NewStruct(root.Fields[3].Type.Struct)
	rec.Fields[4].(*dynamic.Multimap).Pairs[0].Value = text("\x03")
	rec.Fields[5] = list()
	require.NoError(tb, w.Write(rec))

	require.NoError(tb, w.Flush())
	rec = dynamic.Clone(rec).(*dynamic.Struct)
	rec.Fields[0] = "south"
	rec.Fields[3] = rec.Fields[3].(*dynamic.Struct)
	require.NoError(tb, w.Write(rec))
	rec = dynamic.Clone(rec).(*dynamic.Struct)
	rec.Fields[0] = "north"
	rec.Fields[3].(*dynamic.Struct).Fields[0] = int64(-3)
	rec.Fields[3].(*dynamic.Struct).Fields[1] = uint64(1)
	require.NoError(tb, w.Write(rec))
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func annotated(tb testing.TB, b []byte, opts ...annotate.Option) (string, error) {
	tb.Helper()
	var out strings.Builder
	err := annotate.Stream(&out, bytes.NewReader(b), rootOf(tb, readings), opts...)
	return out.String(), err
}

var spaces = regexp.MustCompile(` +`)

// TestLines checks the annotated lines of a stream that has most kinds of elements. The test vectors of
// the specification show larger streams.
func TestLines(t *testing.T) {
	text, err := annotated(t, stream(t))
	require.NoError(t, err)
	text = spaces.ReplaceAllString(text, " ")
	for _, want := range []string{
		"\n 0: 53 54 45 46 # signature \"STEF\"\n",
		"\n 7: 00 # flags none\n",
		"\n 11: 06 # 6 fields: Reading\n 12: 02 # 2 fields: Place\n",
		"\n 16: 06 6f 72 69 67 69 6e # key \"origin\"\n 23: 03 6c 61 62 # value \"lab\"\n",
		" # records 2\n",
		" 001 00110 # 6 bytes: Reading.Level\n",
		" 111111 1 # r1: modified Site Level Note Place Tags Marks; present Note\n",
		" 111110 0 # r2: modified Level Note Place Tags Marks; present nothing\n",
		" # r1: \"north\", becomes Site[0]\n",
		" 11 00001 001111 1000000001101001 # r1: 20.5 (new window: lead 1, trail 47, 16 bits)\n",
		" 1 11 # r1: in full, modified Floor Use\n # r1: becomes Place[1] = {\"floor\":\"-3\",\"use\":\"1\"}\n",
		" 05 # r1: -3 (dod -3, delta -3)\n",
		" 02 # r1: 1 Storage (dod 1, delta 1)\n",
		" 05 # r1: in full, 2 pairs\n",
		" 02 # r2: values only, of [0]\n",
		" 01 # r1[0]: Text\n", " 10 # r1[1]: List\n", " 01 # r1[1][0]: Text\n", " 00 # r1[1][1]: none\n", " 01 # r2[0]: Text\n",
		" 04 01 02 # r1[0]: hex 0102\n", " 00 # r1[1][0]: no bytes\n",
		" 01 10 # r1[1]: 2 elements\n",
		"\n\n# frame 2\n",
		" # r3: \"south\", becomes Site[1]\n",
		" 01 # r4: Site[0] = \"north\"\n",
		" 0 01 01 # r4: Place[1] = {\"floor\":\"-3\",\"use\":\"1\"}\n",
		"\n# Reading.Tags.value: oneof Value in bits, 2 bytes\n",
		"\n# Reading.Site: string dict(Site) in bytes, 7 bytes\n",
		" 00 # padding\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "not read")
	require.NotContains(t, text, "+")

	noted, err := annotated(t, stream(t), annotate.WithColumnNotes(func(path string) string {
		if path == "Reading.Site" {
			return "where it was read"
		}
		return ""
	}))
	require.NoError(t, err)
	noted = spaces.ReplaceAllString(noted, " ")
	heading := "\n# Reading.Site: string dict(Site) in bytes, 7 bytes\n"
	require.Contains(t, noted, heading+"# where it was read\n")
	require.Equal(t, text, strings.ReplaceAll(noted, "# where it was read\n", ""))
}

var line = regexp.MustCompile(`^ *(\+?)([0-9]+)(?:\.([0-7]))?: ([0-9a-f ]+?)(?: +# .*)?$`)

// restored returns the stream that the annotated lines in text describe. It checks that the elements are
// in order, without gaps or duplicates.
func restored(tb testing.TB, text string) []byte {
	tb.Helper()
	var b []byte
	bits := 0
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			require.True(tb, strings.HasPrefix(strings.TrimSpace(l), "#") || l == "\n", "line %q", l)
			continue
		}
		if m[1] != "" {
			continue // offsets with a plus sign: these bytes are in a compressed payload, not in the stream itself
		}
		require.Equal(tb, m[2], fmt.Sprint(bits/8), "line %q", l)
		code := strings.ReplaceAll(m[4], " ", "")
		if m[3] == "" {
			run, err := hex.DecodeString(code)
			require.NoError(tb, err, "line %q", l)
			b = append(b, run...)
			bits += 8 * len(run)
			continue
		}
		require.Equal(tb, m[3], fmt.Sprint(bits%8), "line %q", l)
		for _, bit := range code {
			if bits%8 == 0 {
				b = append(b, 0)
			}
			b[bits/8] |= byte(bit-'0') << (7 - bits%8)
			bits++
		}
	}
	return b
}

func TestWhole(t *testing.T) {
	f := func(b []byte) string {
		t.Helper()
		text, err := annotated(t, b)
		require.NoError(t, err)
		require.Equal(t, b, restored(t, text))
		return text
	}
	f(stream(t))
	f(stream(t, dynamic.WithRestart(dynamic.RestartAll)))
	text := f(stream(t, dynamic.WithCompression(dynamic.Zstd)))
	require.Equal(t, 3, strings.Count(text, "# decompressed payload"))
	require.Equal(t, 3, strings.Count(text, "# compressed content"))
	require.Equal(t, 3, strings.Count(text, "\n     +0: "))
}

func TestDamaged(t *testing.T) {
	for _, opt := range []dynamic.WriterOption{
		dynamic.WithCompression(dynamic.None), dynamic.WithCompression(dynamic.Zstd),
	} {
		whole := stream(t, opt)
		last := ""
		for n := range whole {
			text, err := annotated(t, whole[:n])
			require.Equal(t, whole[:n], append([]byte{}, restored(t, text)...), "cut off at %d", n)
			if err == nil {
				require.NotContains(t, text, "# error")
				continue
			}
			requireTyped(t, err)
			require.Contains(t, text, "# error: "+err.Error()+"\n")
			last = text
		}
		require.Contains(t, last, "not read, ")
		for n := range whole {
			damaged := bytes.Clone(whole)
			damaged[n] ^= 0x14
			text, err := annotated(t, damaged)
			if err != nil {
				requireTyped(t, err)
			}
			got := restored(t, text)
			require.Equal(t, damaged[:len(got)], append([]byte{}, got...))
		}
	}
}

func requireTyped(tb testing.TB, err error) {
	tb.Helper()
	var e *dynamic.Error
	require.ErrorAs(tb, err, &e)
}

type failAfter struct{ left int }

var errFull = errors.New("full")

func (w *failAfter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return 0, errFull
	}
	w.left -= len(b)
	return len(b), nil
}

func TestFailingWriter(t *testing.T) {
	b := stream(t)
	text, err := annotated(t, b)
	require.NoError(t, err)
	for _, n := range []int{0, 5000, len(text) - 1} {
		err := annotate.Stream(&failAfter{n}, bytes.NewReader(b), rootOf(t, readings))
		require.ErrorIs(t, err, errFull)
	}
	require.NoError(t, annotate.Stream(&failAfter{len(text)}, bytes.NewReader(b), rootOf(t, readings)))
}

func TestUnusable(t *testing.T) {
	require.ErrorIs(t, annotate.Stream(io.Discard, bytes.NewReader(nil), nil), dynamic.ErrSchema)
	require.ErrorIs(t, annotate.Stream(io.Discard, bytes.NewReader(nil), rootOf(t, readings)), dynamic.ErrCorrupt)
	var out strings.Builder
	err := annotate.Stream(&out, bytes.NewReader(stream(t)), rootOf(t, "package p struct R root { A Sub } struct Sub { A bool }"))
	require.ErrorIs(t, err, dynamic.ErrSchema)
	require.Contains(t, out.String(), "# 6 fields: R\n")
	require.Contains(t, out.String(), "# 2 fields: Sub\n")
	require.Contains(t, out.String(), "# 1 field: no struct that is known\n")
}

func TestOptions(t *testing.T) {
	_, err := annotated(t, stream(t), annotate.WithReaderOptions(dynamic.WithMaxDictBytes(300)))
	require.ErrorIs(t, err, dynamic.ErrLimit)

	root := rootOf(t, "package p struct R root { A bool B bool }")
	var b, out bytes.Buffer
	w, err := dynamic.NewWriter(&b, root, dynamic.WithSchema(schema.WireSchema{1}))
	require.NoError(t, err)
	require.NoError(t, w.Write(dynamic.NewStruct(root)))
	require.NoError(t, w.Close())
	require.NoError(t, annotate.Stream(&out, bytes.NewReader(b.Bytes()), root, annotate.WithAssumedSchema(schema.WireSchema{1})))
	require.Contains(t, spaces.ReplaceAllString(out.String(), " "), " 0 # r1: nothing modified\n")
	require.ErrorIs(t, annotate.Stream(io.Discard, bytes.NewReader(b.Bytes()), root), dynamic.ErrCorrupt)
}

// TestMaxFrames: WithMaxFrames ends the text after n frames. Damage in later frames is not an
// error.
func TestMaxFrames(t *testing.T) {
	for _, more := range [][]annotate.Option{nil, {annotate.WithRecords()}} {
		b := stream(t)
		whole, err := annotated(t, b, more...)
		require.NoError(t, err)
		frames := strings.Count(whole, "\n# frame ")
		require.Equal(t, 2, frames)
		for n := 1; n <= frames; n++ {
			want, _, _ := strings.Cut(whole, fmt.Sprintf("\n# frame %d\n", n+1))
			options := append([]annotate.Option{annotate.WithMaxFrames(n)}, more...)
			text, err := annotated(t, b, options...)
			require.NoError(t, err)
			require.Equal(t, want, text)
			if n < frames { // truncation damages the last frame, which is not printed
				text, err = annotated(t, b[:len(b)-1], options...)
				require.NoError(t, err)
				require.Equal(t, want, text)
			}
		}
		_, err = annotated(t, b[:len(b)-1], append([]annotate.Option{annotate.WithMaxFrames(frames)}, more...)...)
		require.ErrorIs(t, err, dynamic.ErrCorrupt)
	}
}

// TestFrameText limits the text that is printed for a large frame.
func TestFrameText(t *testing.T) {
	root := rootOf(t, "package p struct R root { N uint64 }")
	var b bytes.Buffer
	w, err := dynamic.NewWriter(&b, root)
	require.NoError(t, err)
	rec := dynamic.NewStruct(root)
	for i := range 1000 {
		rec.Fields[0] = uint64(i + 1)
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	f := func(limit int, shown, hidden int) {
		t.Helper()
		var out strings.Builder
		require.NoError(t, annotate.Stream(&out, &b, root, annotate.WithFrameTextBytes(limit)))
		require.Equal(t, shown, strings.Count(out.String(), "# r"))
		require.Equal(t, hidden, strings.Count(out.String(), "values are not shown"))
	}
	whole := b.Bytes()
	f(1<<20, 2001, 0) // two lines for each record, and one line with the number of records
	b = *bytes.NewBuffer(whole)
	f(7000, 103, 2)
}

func TestNil(t *testing.T) {
	root := rootOf(t, readings)
	require.EqualError(t, annotate.Stream(nil, new(bytes.Buffer), root), "stef: the destination is nil")
	require.EqualError(t, annotate.Stream(io.Discard, new(bytes.Buffer), root, nil), "stef: an option is nil")
	require.ErrorContains(t, annotate.Stream(io.Discard, nil, root), "the source is nil")
	require.ErrorContains(t, annotate.Stream(io.Discard, new(bytes.Buffer), nil), "the root must be a struct")
}

// TestRecords prints a stream in the compact form. The records of a frame follow its columns, until the
// text reaches the limit.
func TestRecords(t *testing.T) {
	root := otelstef.LogsCompactRoot()
	var stream bytes.Buffer
	w, err := otelstef.NewLogsWriter(&stream, otelstef.CompactLogs())
	require.NoError(t, err)
	for i := range uint64(3) {
		w.Record().Record().SetTime(1000 + i)
		w.Record().Record().SetObservedTime(2000 + i)
		require.NoError(t, w.Write())
		if i == 1 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	f := func(stream []byte, options ...annotate.Option) (string, error) {
		var out strings.Builder
		err := annotate.Stream(&out, bytes.NewReader(stream), root, options...)
		return out.String(), err
	}
	bare, err := f(stream.Bytes())
	require.NoError(t, err)
	require.NotContains(t, bare, "records\n")
	out, err := f(stream.Bytes(), annotate.WithRecords())
	require.NoError(t, err)
	first := `# plain records
# r1: {"record":{"time":1000,"observed_time":2000}}
# r2: {"record":{"time":1001,"observed_time":2001}}

# frame 2
`
	require.Contains(t, out, first)
	require.True(t, strings.HasSuffix(out, "# plain records\n"+`# r3: {"record":{"time":1002,"observed_time":2002}}`+"\n"), out)

	out, err = f(stream.Bytes(), annotate.WithRecords(), annotate.WithFrameTextBytes(1))
	require.NoError(t, err)
	require.Contains(t, out, "# plain records\n# 2 records are not shown\n")

	// Package dynamic accepts record 2, but its value of CompactForm is invalid in the compact form.
	var bad bytes.Buffer
	d, err := dynamic.NewWriter(&bad, root, dynamic.WithSchemaHeader())
	require.NoError(t, err)
	rec := dynamic.NewStruct(root)
	require.NoError(t, d.Write(rec))
	record := rec.Fields[3].(*dynamic.Struct)
	record.Fields[14] = uint64(4)
	require.NoError(t, d.Write(rec))
	require.NoError(t, d.Close())
	_, err = f(bad.Bytes())
	require.NoError(t, err)
	out, err = f(bad.Bytes(), annotate.WithRecords())
	require.ErrorIs(t, err, dynamic.ErrCorrupt)
	require.Contains(t, out, "# plain records\n# r1: {}\n\n# error: stef: offset 23, frame 1, record 2: corrupt stream: the CompactForm 4 is not defined\n")
}

// The limit of the text of a frame also applies to the bytes of a single element, such as a long value
// or damaged bytes that were not read.
func TestTextOfLongElements(t *testing.T) {
	const size = 1 << 23
	root := rootOf(t, "package p struct R root { A string B bool }")
	var valid bytes.Buffer
	w, err := dynamic.NewWriter(&valid, root)
	require.NoError(t, err)
	rec := dynamic.NewStruct(root)
	rec.Fields[0] = strings.Repeat("x", size)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	// unread returns a stream with a frame of one record, which does not use all bytes of column A or
	// of column B.
	unread := func(sizes ...byte) []byte {
		payload := slices.Concat([]byte{1, byte(len(sizes))}, sizes, make([]byte, 1+size))
		b := append([]byte("STEF\x02\x00\x00\x00\x02\x00\x00\x00"), binary.AppendUvarint(nil, uint64(len(payload)))...)
		return append(b, payload...)
	}
	for name, stream := range map[string][]byte{
		"value": valid.Bytes(),
		"bytes": unread(0b0101_0000, 0b01_001000, 0, 0, 0b0000_1_000), // sizes 1, 1<<23, 0
		"bits":  unread(0b0101_1_000, 0b001_00100, 0, 0, 0),           // sizes 1, 0, 1<<23
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := annotate.Stream(&out, bytes.NewReader(stream), root, annotate.WithFrameTextBytes(1<<20))
			runtime.ReadMemStats(&after)
			require.Equal(t, name == "value", err == nil, err)
			if err != nil {
				require.ErrorContains(t, err, "were not read")
			}
			require.True(t, strings.Contains(out.String(), "shown\n"))
			require.Less(t, out.Len(), 2<<20)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*size))
		})
	}
}

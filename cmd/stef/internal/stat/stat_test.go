// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/stat"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
)

var update = flag.Bool("update", false, "write the golden files")

// sample returns a stream of metrics. Names repeat, and every third record ends a frame.
func sample(t testing.TB, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, options...)
	require.NoError(t, err)
	for i := range 12 {
		rec := w.Record()
		rec.EditMetric().SetName(fmt.Sprintf("requests.%d", i%4))
		rec.EditResource().Attributes().SetLen(1)
		rec.EditResource().Attributes().SetString(0, "service.name", "shop")
		rec.Attributes().SetLen(2)
		rec.Attributes().SetString(0, "route", "/goods/"+strings.Repeat("x", i/6))
		rec.Attributes().SetString(1, "s", "") // too short for a dictionary
		rec.Point().SetTimestamp(1_700_000_000_000_000_000 + uint64(i)*1e9)
		rec.Point().Value().SetInt64(int64(i))
		require.NoError(t, w.Write())
		if i%3 == 2 {
			require.NoError(t, w.Flush())
		}
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func measure(t *testing.T, data []byte) *stat.Report {
	t.Helper()
	root, src, err := stream.Recognise(iotest.HalfReader(bytes.NewReader(data)))
	require.NoError(t, err)
	r, err := stat.Measure(src, root)
	require.NoError(t, err)
	requireSums(t, r, int64(len(data)))
	return r
}

// requireSums checks that every byte of the stream is counted exactly once.
func requireSums(t *testing.T, r *stat.Report, size int64) {
	t.Helper()
	require.Equal(t, size, r.Size)
	require.Equal(t, size, r.FixedHeader+r.VarHeader+r.Heads+r.Packed)
	var plain, packed int64
	var records uint64
	for _, f := range r.Frames {
		plain += int64(f.Plain)
		packed += int64(f.Packed)
		records += f.Records
	}
	require.Equal(t, plain, r.Plain())
	require.Equal(t, packed, r.Packed)
	require.Equal(t, records, r.Records)
	if r.Header.Compression == dynamic.None {
		require.Equal(t, r.Plain(), r.Packed)
	}
	for _, c := range r.Columns {
		require.Equal(t, c.Plain > 0, c.Alone > 0, c.Path)
	}
}

func print(t *testing.T, r *stat.Report, o stat.Options) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, r.Print(&text, o))
	return text.String()
}

func TestPrint(t *testing.T) {
	f := func(name string, o stat.Options, options ...stef.WriterOption) {
		t.Helper()
		got := print(t, measure(t, sample(t, options...)), o)
		path := filepath.Join("testdata", name+".txt")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o777))
			require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got)
	}
	f("plain", stat.Options{}, stef.WithSchemaHeader())
	f("published", stat.Options{All: true}, otelstef.PublishedMetrics())
	f("frames", stat.Options{Frames: true}, stef.WithRestart(stef.RestartAll), stef.WithUserData(map[string]string{"k": "v\n"}))
}

// Sizes under zstd depend on its version, so they are not compared.
func TestZstd(t *testing.T) {
	plain := measure(t, sample(t))
	for _, restart := range []stef.FrameFlags{0, stef.RestartCompression, stef.RestartAll} {
		r := measure(t, sample(t, stef.WithCompression(stef.Zstd), stef.WithRestart(restart)))
		require.Equal(t, dynamic.Zstd, r.Header.Compression)
		require.NotEqual(t, r.Plain(), r.Packed)
		if restart == 0 {
			require.Equal(t, plain.Columns, r.Columns)
			require.Equal(t, plain.Dicts, r.Dicts)
			require.Equal(t, 1, r.Restarts(dynamic.RestartCompression))
		} else {
			require.Equal(t, 4, r.Restarts(dynamic.RestartCompression))
		}
		require.Contains(t, print(t, r, stat.Options{}), "compression  zstd\n")
	}
}

// TestChecksums: a stream may have checksums in some of its frames.
func TestChecksums(t *testing.T) {
	check := func(want string, r *stat.Report, all any) {
		t.Helper()
		require.Contains(t, print(t, r, stat.Options{}), "\nchecksums    "+want+"\n")
		require.Contains(t, print(t, r, stat.Options{JSON: true}), fmt.Sprintf("\"checksums\": %v,", all))
	}
	f := func(want string, data []byte, all any) {
		t.Helper()
		check(want, measure(t, data), all)
	}
	restart := stef.WithRestart(stef.RestartAll)
	without := sample(t, stef.WithCompression(stef.Zstd), restart)
	with := sample(t, stef.WithCompression(stef.Zstd), restart, stef.WithChecksums())
	f("none", sample(t), false)
	f("none", without, false)
	f("all frames", with, true)
	// Without a whole frame that has records, it is unknown whether frames have checksums.
	first := measure(t, with).Frames[0].Offset
	root, _, err := stream.Recognise(bytes.NewReader(with))
	require.NoError(t, err)
	cut, err := stat.Measure(bytes.NewReader(with[:first+9]), root)
	require.NoError(t, err)
	check("unknown (no whole frame with records)", cut, "null")
	f("unknown (no frame with records)", with[:first], "null")
	// The stream has the first three frames of one stream and the last frame of the other stream.
	last := func(data []byte) int64 { return measure(t, data).Frames[3].Offset }
	f("3 of 4 frames", slices.Concat(with[:last(with)], without[last(without):]), false)
}

func TestDictionaries(t *testing.T) {
	dicts := func(options ...stef.WriterOption) map[string]stat.Dict {
		found := map[string]stat.Dict{}
		for _, d := range measure(t, sample(t, options...)).Dicts {
			if d.Entries+int(d.Refs) > 0 {
				found[d.Name] = *d
			}
		}
		return found
	}
	once := dicts()
	require.Len(t, once, 5)
	f := func(d stat.Dict, entries, most int, bytes, refs int64) {
		t.Helper()
		require.Equal(t, []int64{int64(entries), int64(most), bytes, refs}, []int64{int64(d.Entries), int64(d.Most), d.Bytes, d.Refs})
	}
	f(once["MetricName"], 4, 4, 4*int64(len("requests.0")), 0)
	f(once["Metric"], 4, 4, 0, 8)
	f(once["Resource"], 1, 1, 0, 0)
	// The entries are service.name of the resource and route of a record; "s" is too short.
	f(once["AttributeKey"], 2, 2, int64(len("service.name")+len("route")), 0)
	f(once["AnyValueString"], 3, 3, int64(len("shop")+len("/goods/")+len("/goods/x")), 0)
	require.True(t, once["Metric"].Struct)
	require.False(t, once["MetricName"].Struct)

	// The stream has four frames, and each frame restarts the dictionaries.
	again := dicts(stef.WithRestart(stef.RestartAll))
	f(again["MetricName"], 12, 3, 12*int64(len("requests.0")), 0)
	f(again["Metric"], 12, 3, 0, 0)
	f(again["Resource"], 4, 1, 0, 0)
}

// Structs with a dictionary are found in optional fields, arrays, oneofs and multimaps,
// and in types that contain themselves. All places share the dictionary of a name.
func TestStructDictionaries(t *testing.T) {
	const text = `package a
struct Rec root { At Place optional Stops []Place Choice Choice Tags Tags Tree Tree }
struct Place dict(Place) { Site string City City }
struct City dict(City) { Name string }
oneof Choice { Number int64 Place Place }
multimap Tags { key string value Place }
struct Tree { Left Tree optional At City }
`
	roots, err := stream.Load("a.stef", []byte(text))
	require.NoError(t, err)
	root := roots[0]
	field := func(s *dynamic.Struct, i int) *dynamic.Struct { return s.Fields[i].(*dynamic.Struct) }
	place := func(site, city string) *dynamic.Struct {
		s := dynamic.NewStruct(root.Struct.Fields[0].Type.Struct)
		s.Fields[0] = site
		field(s, 1).Fields[0] = city
		return s
	}
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, root.Struct)
	require.NoError(t, err)
	write := func(change func(rec *dynamic.Struct)) {
		rec := dynamic.NewStruct(root.Struct)
		change(rec)
		require.NoError(t, w.Write(rec))
	}
	// The dictionary of Place gets the entries a and b, and 5 references. The dictionary of
	// City gets the entries x, z and y.
	write(func(rec *dynamic.Struct) { rec.Fields[0], rec.Present[0] = place("a", "x"), true })
	write(func(rec *dynamic.Struct) { rec.Fields[0], rec.Present[0] = place("b", "z"), true })
	write(func(rec *dynamic.Struct) {
		rec.Fields[0], rec.Present[0] = place("a", "x"), true
		rec.Fields[1] = &dynamic.Array{Elems: []any{place("a", "x"), place("b", "z")}}
	})
	write(func(rec *dynamic.Struct) {
		rec.Fields[0], rec.Present[0] = place("a", "x"), true
		rec.Fields[2] = &dynamic.Oneof{Choice: 2, Value: place("b", "z")}
		rec.Fields[3] = &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: "k", Value: place("a", "x")}}}
		tree := field(rec, 4)
		left := dynamic.NewStruct(root.Struct.Fields[4].Type.Struct)
		field(left, 1).Fields[0] = "y"
		tree.Fields[0], tree.Present[0] = left, true
	})
	require.NoError(t, w.Close())
	r, err := stat.Measure(&buf, root)
	require.NoError(t, err)
	require.Len(t, r.Dicts, 2)
	require.Equal(t, stat.Dict{Name: "Place", Struct: true, Entries: 2, Most: 2, Refs: 5}, counts(r.Dicts[0]))
	require.Equal(t, stat.Dict{Name: "City", Struct: true, Entries: 3, Most: 3}, counts(r.Dicts[1]))
	require.NotContains(t, print(t, r, stat.Options{}), "without entries")
}

// TestUnsentStructs: a struct that is not sent does not become an entry of its dictionary, even if
// its parent is sent for the first time. The parent is the value of a oneof, an element of an
// array, a value of a multimap, or an optional field that becomes present again.
func TestUnsentStructs(t *testing.T) {
	const text = `package a
struct Rec root { N int64 Choice Choice List []Holder Tags Tags Maybe Holder optional }
oneof Choice { Number int64 Holder Holder }
struct Holder { N int64 Place Place }
struct Place dict(Place) { Site string }
multimap Tags { key string value Holder }
`
	roots, err := stream.Load("a.stef", []byte(text))
	require.NoError(t, err)
	root := roots[0]
	holder := func(n int64, site string) *dynamic.Struct {
		h := dynamic.NewStruct(root.Struct.Fields[4].Type.Struct)
		h.Fields[0] = n
		h.Fields[1].(*dynamic.Struct).Fields[0] = site
		return h
	}
	f := func(entries int, refs int64, changes ...func(rec *dynamic.Struct)) {
		t.Helper()
		var buf bytes.Buffer
		w, err := dynamic.NewWriter(&buf, root.Struct)
		require.NoError(t, err)
		for i, change := range changes {
			rec := dynamic.NewStruct(root.Struct)
			rec.Fields[0] = int64(i)
			change(rec)
			require.NoError(t, w.Write(rec))
		}
		require.NoError(t, w.Close())
		r, err := stat.Measure(&buf, root)
		require.NoError(t, err)
		require.Equal(t, stat.Dict{Name: "Place", Struct: true, Entries: entries, Most: entries, Refs: refs}, counts(r.Dicts[0]))
	}
	none := func(*dynamic.Struct) {}
	choice := func(n int64, site string) func(rec *dynamic.Struct) {
		return func(rec *dynamic.Struct) { rec.Fields[1] = &dynamic.Oneof{Choice: 2, Value: holder(n, site)} }
	}
	list := func(sites ...string) func(rec *dynamic.Struct) {
		return func(rec *dynamic.Struct) {
			a := &dynamic.Array{}
			for i, site := range sites {
				a.Elems = append(a.Elems, holder(int64(i), site))
			}
			rec.Fields[2] = a
		}
	}
	pair := func(n int64, site string) func(rec *dynamic.Struct) {
		return func(rec *dynamic.Struct) {
			rec.Fields[3] = &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: "k", Value: holder(n, site)}}}
		}
	}
	maybe := func(n int64, site string) func(rec *dynamic.Struct) {
		return func(rec *dynamic.Struct) { rec.Fields[4], rec.Present[4] = holder(n, site), true }
	}
	f(0, 0, choice(1, ""), none, choice(2, ""))
	f(0, 0, list(""), list("", ""), none, list("", "", ""))
	f(0, 0, pair(1, ""), none, pair(2, ""))
	f(0, 0, maybe(1, ""), none, maybe(2, ""))
	// Here the place is sent once, and is not part of the value that is sent again later.
	f(1, 0, choice(1, "a"), none, choice(2, ""))
	f(1, 0, list("", "a"), none, list("", ""))
	f(1, 0, pair(1, "a"), none, pair(2, ""))
	f(1, 0, maybe(1, "a"), none, maybe(2, ""))
	f(1, 1, maybe(1, "a"), none, maybe(2, "a"))
}

// TestOneWithout: if exactly one column or dictionary is not listed, the line with the number of
// unlisted columns or dictionaries is in the singular.
func TestOneWithout(t *testing.T) {
	roots, err := stream.Load("a.stef", []byte("package a\nstruct Rec root { A uint64 B string dict(D) }\n"))
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, roots[0].Struct)
	require.NoError(t, err)
	rec := dynamic.NewStruct(roots[0].Struct)
	rec.Fields[0] = uint64(1)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	r, err := stat.Measure(&buf, roots[0])
	require.NoError(t, err)
	text := print(t, r, stat.Options{})
	require.Contains(t, text, "\n(1 column without bytes)\n")
	require.Contains(t, text, "\n(1 dictionary without entries)\n")
}

// TestPrimitives measures records of equal and of different values of all primitive types,
// beside a struct with a dictionary.
func TestPrimitives(t *testing.T) {
	const text = `package a
struct Rec root {
  B bytes O bytes optional D bytes dict(D) L []bytes M Map C Choice S Shared
  Bool bool Int int64 Uint uint64 Float float64 String string
}
oneof Choice { B bytes S Shared }
multimap Map { key bytes value bytes }
struct Shared dict(Shared) { B bytes S string }
`
	roots, err := stream.Load("a.stef", []byte(text))
	require.NoError(t, err)
	root := roots[0]
	var buf bytes.Buffer
	w, err := dynamic.NewWriter(&buf, root.Struct)
	require.NoError(t, err)
	for _, b := range []string{"x", "x", "y", "", "x"} {
		rec := dynamic.NewStruct(root.Struct)
		rec.Fields[0], rec.Fields[1], rec.Present[1], rec.Fields[2] = []byte(b), []byte(b), b != "", []byte(b)
		rec.Fields[3] = &dynamic.Array{Elems: []any{[]byte(b), []byte("z")}}
		rec.Fields[4] = &dynamic.Multimap{Pairs: []dynamic.Pair{{Key: []byte(b), Value: []byte(b)}}}
		rec.Fields[5] = &dynamic.Oneof{Choice: 1, Value: []byte(b)}
		rec.Fields[6].(*dynamic.Struct).Fields[0] = []byte(b)
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	r, err := stat.Measure(&buf, root)
	require.NoError(t, err)
	require.EqualValues(t, 5, r.Records)
	require.NotEmpty(t, print(t, r, stat.Options{}))
}

// counts returns the exported fields of a dictionary.
func counts(d *stat.Dict) stat.Dict {
	return stat.Dict{Name: d.Name, Struct: d.Struct, Entries: d.Entries, Most: d.Most, Bytes: d.Bytes, Refs: d.Refs}
}

// The sums are also correct for streams of the reference implementation: of metrics and of spans,
// compressed or not.
func TestReferenceStreams(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		if v.ReferenceError != "" {
			continue
		}
		root, err := stream.ParseRoot(v.Root)
		require.NoError(t, err)
		data := v.Stream(t)
		r, err := stat.Measure(bytes.NewReader(data), root)
		require.NoError(t, err, v.File)
		requireSums(t, r, int64(len(data)))
		require.Equal(t, v.Records, r.Records)
		require.Len(t, r.Frames, v.DataFrames)
		require.Equal(t, v.Compression, r.Header.Compression.String())
		require.NotEmpty(t, print(t, r, stat.Options{All: true, Frames: true}))
	}
}

// The report of a cut stream covers its whole frames.
func TestDamaged(t *testing.T) {
	data := sample(t, stef.WithCompression(stef.Zstd))
	root := stream.Roots()[0]
	var border *stat.Report // the report at the last border between frames
	borders := 0
	for n := range data {
		r, err := stat.Measure(bytes.NewReader(data[:n]), root)
		if err != nil {
			require.ErrorIs(t, err, dynamic.ErrCorrupt)
			require.Nil(t, border) // only the headers
			continue
		}
		if r.Whole.Damage == nil {
			requireSums(t, r, int64(n))
			require.Len(t, r.Frames, borders)
			border = r
			borders++
			continue
		}
		requireSums(t, r, border.Size)
		require.Equal(t, int64(n)-border.Size, r.Whole.Lost)
		require.True(t, r.Whole.Cut)
		require.ErrorIs(t, r.Whole.Damage, dynamic.ErrCorrupt)
		whole := *r
		whole.Whole = border.Whole
		require.Equal(t, print(t, border, stat.Options{All: true}), print(t, &whole, stat.Options{All: true}))
		require.Contains(t, print(t, r, stat.Options{}), "damaged      the ")
	}
	require.Equal(t, 4, borders) // after the headers, and after each frame except the last
	failure := errors.New("the disk is gone")
	_, err := stat.Measure(io.MultiReader(bytes.NewReader(data[:40]), iotest.ErrReader(failure)), root)
	require.ErrorIs(t, err, failure)
}

// limited is an io.Writer that accepts a number of bytes and then fails.
type limited int

var errFull = errors.New("no room left")

func (l *limited) Write(b []byte) (int, error) {
	if *l -= limited(len(b)); *l < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestPrintFails(t *testing.T) {
	r := measure(t, sample(t))
	text := print(t, r, stat.Options{})
	for n := range len(text) {
		room := limited(n)
		require.ErrorIs(t, r.Print(&room, stat.Options{}), errFull)
	}
}

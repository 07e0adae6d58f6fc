// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// plainHead has the headers of a stream without compression, schema and user data.
// The streams in this file were decoded by hand when the format was documented.
const plainHead = "53 54 45 46 02 00 00 | 00 02 00 00 |"

const primitives = `
struct Rec root {
  Name string dict(Names)  Tag string  U uint64  I int64  F float64  B bool
  Opt uint64 optional  Raw bytes dict(Raws)  OptF float64 optional
}`

// check requires that writing the records produces stream, and that reading stream
// returns the records.
func check(t *testing.T, text, stream string, flushEach bool, opts []dynamic.WriterOption, changes ...fields) {
	t.Helper()
	root := rootOf(t, text)
	recs := records(root, changes...)
	require.Equal(t, dump(unhex(t, stream)), dump(write(t, root, recs, flushEach, opts...)))
	requireRecords(t, root, recs, read(t, root, unhex(t, stream)))
}

func TestBytesPrimitives(t *testing.T) {
	check(t, primitives, `
		53 54 45 46 02 00 00
		00 09  02 01 09  01  01 6b 02 76 76
		00 2d  04  07 26 26 77 52 75 52 57
		7f b5 59 4b 00 20 | 04 61 62 02 63 01 | 04 78 79 | 14 00 00 | 01 | c4 57 ff c2 67 ff c0 |
		80 | 0e | 04 7a 7a 02 71 | c4 4f fa`, false,
		[]dynamic.WriterOption{dynamic.WithSchemaHeader(), dynamic.WithUserData(map[string]string{"k": "vv"})},
		fields{"Name": "ab", "Tag": "xy", "U": 10, "I": -1, "F": 1.5, "B": true, "Opt": 7, "Raw": "zz"},
		fields{"Name": "c", "U": 20, "F": 2.5, "Opt": nil, "OptF": 0.25},
		fields{"Name": "ab", "U": 30, "B": false, "Raw": "q"},
		fields{},
	)
}

func TestBytesFloats(t *testing.T) {
	text := "struct Rec root { F float64 }"
	f := func(column string, values ...float64) {
		t.Helper()
		root := rootOf(t, text)
		var changes []fields
		for _, v := range values {
			changes = append(changes, fields{"F": v})
		}
		recs := records(root, changes...)
		stream := write(t, root, recs, false)
		want := unhex(t, column)
		require.GreaterOrEqual(t, len(stream), len(want))
		require.Equal(t, dump(want), dump(stream[len(stream)-len(want):]))
		requireRecords(t, root, recs, read(t, root, stream))
	}
	f("c4 4f fe", 1)
	f("90 02 48 7e d5 11 0b 46 00", math.Pi)
	f("c2 57 ff", math.Inf(1))
	f("9f fe 00 00 00 00 00 00 40", math.Float64frombits(0x7ff8000000000001))
	f("c2 74 02 fd c2 67 51 13 1a b5 b3 3b 73 33 33 33 33 33", 15.5, 14.0625, 3.25, 8.625, 13.1)

	// No record changes F, so the frame has no data for F.
	check(t, primitives, plainHead+"00 06 01 02 6f f8 00 00", false, nil, fields{"F": 0})
}

const multimaps = `
struct Rec root { M MM  MS MSt }
multimap MM { key string dict(K) value uint64 }
multimap MSt { key string value St }
struct St { X uint64 Y uint64 }`

func TestBytesMultimap(t *testing.T) {
	check(t, multimaps, plainHead+`
		00 13 01 03 55 29 78 | 40 | 07 | 04 6b 31 04 6b 32 04 6b 33 | 02 00 00
		00 07 01 02 55 ac | 40 | 04 | 20
		00 0f 01 03 55 25 78 | 40 | 07 | 01 03 04 6b 34 | 47 4c 47
		00 09 01 03 55 55 80 | 40 | 03 | 01 | 1e
		00 0b 01 03 55 66 80 | 40 | 05 | 01 03 | 04 26
		00 06 01 02 55 e0 | 40 | 01
		00 0c 01 03 5a ba ac | 80 | 05 | 02 61 00 | 40 | 02
		00 09 01 03 5a d6 a0 | 80 | 02 | 80 | 04`, true, nil,
		fields{"M": pairs{{"k1", 1}, {"k2", 2}, {"k3", 3}}},
		fields{"M": pairs{{"k1", 1}, {"k2", 20}, {"k3", 3}}},
		fields{"M": pairs{{"k1", 1}, {"k2", 20}, {"k4", 3}}},
		fields{"M": pairs{{"k1", 1}}},
		fields{"M": pairs{{"k1", 1}, {"k2", 20}}},
		fields{"M": pairs{}},
		fields{"MS": pairs{{"a", fields{"X": 1}}, {"", fields{}}}},
		fields{"MS": pairs{{"a", fields{"X": 1, "Y": 2}}, {"", fields{}}}},
	)
}

// TestBytesMultimapValues tests in which cases a writer sends only the changed values of a multimap,
// without keys.
func TestBytesMultimapValues(t *testing.T) {
	root := rootOf(t, "struct Rec root { M MM } multimap MM { key uint64 value uint64 }")
	f := func(count int, header string) {
		t.Helper()
		var before, after pairs
		for i := range count {
			before = append(before, [2]any{i, 0})
			after = append(after, [2]any{i, i / (count - 1)})
		}
		recs := records(root, fields{"M": before}, fields{"M": after})
		stream := write(t, root, recs, true)
		list := frames(t, root, stream)
		require.Len(t, list, 2)
		last := list[1]
		// The payload has the record count (1 byte), the size of the size table (1 byte),
		// the size table and the columns. Column 1 has the header of the multimap.
		runs := stream[len(stream)-last.UncompressedSize+2+last.SizesSize:][last.Columns[0].Size:][:last.Columns[1].Size]
		require.Equal(t, header, dump(runs))
		requireRecords(t, root, recs, read(t, root, stream))
	}
	f(61, "80 80 80 80 80 80 80 80 20")
	f(62, "80 80 80 80 80 80 80 80 40")
	f(63, "7f")
}

func frames(t *testing.T, root *schema.Struct, stream []byte) []*dynamic.Frame {
	t.Helper()
	var list []*dynamic.Frame
	read(t, root, stream, dynamic.WithFrameFunc(func(f *dynamic.Frame) { list = append(list, f) }))
	return list
}

func TestBytesDictionaryArray(t *testing.T) {
	check(t, "struct Rec root { A []string dict(X)  B string dict(X)  K uint64 }", plainHead+`
		00 19 03 04 65 2c 24 80 | 69 00 | 26 | 04 61 62 04 63 64 01 02 65 02 65 00 | 03 02 65 01`, false, nil,
		fields{"A": list{"ab", "cd", "ab", "e", "e", ""}, "B": "cd"},
		fields{"B": "e"},
		fields{"B": "ab"},
	)
}

func TestBytesStructDictionary(t *testing.T) {
	check(t, `struct Rec root { D DS  P uint64 }
		struct DS dict(DS) { N uint64  L LS }
		struct LS dict(LS) { S string dict(SD) }`, plainHead+`
		00 13 04 04 56 65 26 50 | 56 | f4 a0 | 02 00 | c0 | 0a 68 65 6c 6c 6f | 06`, false, nil,
		fields{"D": fields{"N": 1, "L": fields{"S": "hello"}}},
		fields{"D": fields{"N": 2}},
		fields{"D": fields{"N": 1}},
		fields{"P": 3},
	)
}

const restarts = `
struct Rec root { One OneVal  Arr []uint64  M MM  S Sub  SubArr []Item  SS MS }
oneof OneVal { A int64  B string  C []int64  D Item }
struct Item { X uint64  Y string optional }
multimap MM { key string value uint64 }
struct Sub dict(Sub) { P string dict(P)  Q uint64  R MM }
multimap MS { key string value string }`

// TestBytesRestart reads and writes frames that restart codecs. In such frames the reference
// implementation sends all fields of structs. The Writer of this package sends only fields that changed,
// or all fields if the frame is self-contained. If a frame restarts only the dictionaries, both write
// the same bytes.
func TestBytesRestart(t *testing.T) {
	const first = plainHead + `
		00 1b 01 07 5d 49 19 5f 55 24 c0 | 70 | 05 | 02 61 02 62 | 0a 07 | 90 | 04 70 70 | 60 | 48 | c8 01 c5 01 |`
	root := rootOf(t, restarts)
	recs := records(root,
		fields{"M": pairs{{"a", 5}, {"b", 6}}, "S": fields{"P": "pp"}, "SubArr": list{fields{"X": 100}, fields{"X": 101}}},
		fields{"SubArr": list{fields{"X": 102}, fields{"X": 101}}},
	)
	f := func(flags dynamic.FrameFlags, reference, own string) {
		t.Helper()
		requireRecords(t, root, recs, read(t, root, unhex(t, first+reference)))
		have := write(t, root, recs, true, dynamic.WithRestart(flags))
		require.Equal(t, dump(unhex(t, first+own)), dump(have))
		requireRecords(t, root, recs, read(t, root, have))
	}
	f(dynamic.RestartCodecs,
		"04 13 01 07 55 f5 ae bd 55 ab 80 | fc | 00 | 80 | 00 | 28 | 60 | c0 | cc 01 | 01",
		"04 0a 01 03 5f 55 6c | 40 | 60 | 40 | cc 01")
	f(dynamic.RestartCodecs|dynamic.RestartDictionaries,
		"05 19 01 08 55 f5 ae ae ab aa b5 70 | fc | 00 | 80 | 00 | f0 | 04 70 70 | 00 | 01 | 60 | c0 | cc 01 | 01",
		"05 23 01 0a 55 f5 a9 23 2b aa ea a4 95 c0 | fc | 00 | 80 | 05 02 61 02 62 0a 07 | f0 | 04 70 70 | 00 | 01 | 60 | d8 | cc 01 cd 01 | 01")
	const same = "01 09 01 03 5f 55 5c 40 | 60 | 40 | 00"
	f(dynamic.RestartDictionaries, same, same)
}

func TestBytesZstd(t *testing.T) {
	f := func(flags dynamic.FrameFlags, stream string) {
		t.Helper()
		root := rootOf(t, primitives)
		recs := records(root, fields{"Tag": "hello0"}, fields{"Tag": "hello1", "U": 1})
		requireRecords(t, root, recs, read(t, root, unhex(t, stream)))
		have := write(t, root, recs, true, dynamic.WithCompression(dynamic.Zstd), dynamic.WithRestart(flags))
		require.Equal(t, dump(unhex(t, stream)), dump(have))
	}
	f(0, `53 54 45 46 02 00 01
		00 02 0b  28 b5 2f fd 04 68  10 00 00  00 00
		00 0e 11  70 00 00  01 03 69 3f f0 01 00 0c 68 65 6c 6c 6f 30
		00 0f 12  78 00 00  01 03 69 3a fe 03 00 0c 68 65 6c 6c 6f 31 02`)
	f(dynamic.RestartCompression, `53 54 45 46 02 00 01
		00 02 0b  28 b5 2f fd 04 68  10 00 00  00 00
		00 0e 11  70 00 00  01 03 69 3f f0 01 00 0c 68 65 6c 6c 6f 30
		02 0f 18  28 b5 2f fd 04 68  78 00 00  01 03 69 3a fe 03 00 0c 68 65 6c 6c 6f 31 02`)
}

func TestBytesOneof(t *testing.T) {
	check(t, restarts, plainHead+`
		00 21 09 07 27 76 65 25 55 6f 80 | 00 10 41 04 10 41 04 | 28 b7 20 | 0a 09 | 02 78 | 67 | 02 00 03 04 00 |
		54 | 02 | 02 71`, false, nil,
		fields{},
		fields{"One": one{"A", 5}},
		fields{"One": one{"B", "x"}},
		fields{"One": one{"A", 5}},
		fields{"One": one{"C", list{1, 2}}},
		fields{"One": one{"C", list{1, 2, 3}}},
		fields{"One": one{"D", fields{"X": 1}}},
		fields{"One": one{"D", fields{"X": 1, "Y": "q"}}},
		fields{"One": one{}},
	)
}

func TestBytesArrayOfStructs(t *testing.T) {
	check(t, restarts, plainHead+`
		00 14 05 04 24 f7 76 68 | 41 04 10 40 | 56 56 60 | e5 12 20 | 14 00 | 02 79`, false, nil,
		fields{"SubArr": list{fields{"X": 10, "Y": "y"}}},
		fields{"SubArr": list{fields{"X": 10, "Y": "y"}, fields{"X": 20}}},
		fields{"SubArr": list{fields{"X": 10, "Y": "y"}}},
		fields{"SubArr": list{fields{"X": 10, "Y": "y"}, fields{}}},
		fields{"SubArr": list{fields{"X": 10}, fields{}}},
	)
}

func TestBytesRecursive(t *testing.T) {
	check(t, `struct Record root { Value JsonValue }
		oneof JsonValue { Object JsonObject  Array []JsonValue  String string  Number float64  Bool bool }
		multimap JsonObject { key string value JsonValue }`, plainHead+`
		00 11 01 04 56 56 5b a8 | 80 | 2a 2a | 03 | 02 61 | 65 | c4 4f fe | 80`, false, nil,
		fields{"Value": one{"Object", pairs{{"a", one{"Array", list{one{"Number", 1}, one{"Array", list{one{"Bool", true}}}}}}}}},
	)
}

func TestBytesMetrics(t *testing.T) {
	root := otelRoot(t, "metrics")
	recs := records(root,
		fields{
			"Resource":   fields{"Attributes": pairs{{"host", one{"String", "h1"}}}},
			"Scope":      fields{"Name": "sc"},
			"Metric":     fields{"Name": "cpu", "Unit": "1"},
			"Attributes": pairs{{"core", one{"Int64", 1}}},
			"Point":      fields{"Timestamp": 1000, "Value": one{"Float64", 0.5}},
		},
		fields{"Attributes": pairs{{"core", one{"Int64", 2}}}, "Point": fields{"Value": one{"Float64", 0.75}}},
	)
	stream := unhex(t, `53 54 45 46 02 00 00
		00 12  10 0f 06 01 08 07 03 05 04 05 05 09 02 03 02 05 02  00
		00 3e  02  10  6b 12 5b eb 52 55 7f ea fe c4 ab b7 ad 96 4b e0
		fb 00 | 82 80 | 06 63 70 75 | 02 31 | a0 | 03 | 08 68 6f 73 74 | 10 | 04 68 31 | 84 | 04 73 63 |
		03 02 | 08 63 6f 72 65 | 33 | 02 00 | 64 | d0 0f | 48 | c4 47 ff 60 10`)
	requireRecords(t, root, recs, read(t, root, stream))
	have := write(t, root, recs, false, dynamic.WithSchema(published["metrics"]), dynamic.WithSchemaHeader())
	require.Equal(t, dump(stream), dump(have))
}

func TestBytesOlderSchema(t *testing.T) {
	f := func(kept int, stream string, change fields) {
		t.Helper()
		root := rootOf(t, primitives)
		wire := schema.WireSchema{kept}
		recs := records(root, fields{"Name": "ab", "U": 3, "F": 1, "OptF": 5, "Raw": "rr"})
		have := write(t, root, recs, false, dynamic.WithSchema(wire), dynamic.WithSchemaHeader())
		require.Equal(t, dump(unhex(t, stream)), dump(have))
		requireRecords(t, root, records(root, change), read(t, root, have))
	}
	f(3, "53 54 45 46 02 00 00 | 00 04 02 01 03 00 | 00 09 01 02 57 a8 | a0 | 04 61 62 | 06",
		fields{"Name": "ab", "U": 3})
	f(7, "53 54 45 46 02 00 00 | 00 04 02 01 07 00 | 00 0d 01 03 57 ad f0 | 2a | 04 61 62 | 06 | c4 4f fe",
		fields{"Name": "ab", "U": 3, "F": 1})
}

func TestBytesLimits(t *testing.T) {
	a, b := "aaaaaaaa", "bbbbbbbb"
	check(t, primitives, plainHead+`
		00 1a 02 03 73 2f f0 | 00 80 10 | 10 61 61 61 61 61 61 61 61 10 62 62 62 62 62 62 62 62
		01 16 03 03 25 2c ff | 00 80 10 00 00 | 10 61 61 61 61 61 61 61 61 04 63 63`, false,
		[]dynamic.WriterOption{dynamic.WithDictBytes(48)},
		fields{"Name": a}, fields{"Name": b}, fields{"Name": a}, fields{"Name": "cc"}, fields{"Name": "cc"},
	)

	root := rootOf(t, primitives)
	var changes []fields
	for i := range 9 {
		changes = append(changes, fields{"U": i * i})
	}
	var counts []uint64
	for _, f := range frames(t, root, write(t, root, records(root, changes...), false, dynamic.WithFrameBytes(8))) {
		counts = append(counts, f.Records)
	}
	require.Equal(t, []uint64{4, 4, 1}, counts)
}

func TestBytesWidths(t *testing.T) {
	check(t, `struct Rec root { E Empty  O NoFields  O1 One  O3 Three  O7 Seven  ES []Empty }
		struct Empty {}
		oneof NoFields {}
		oneof One { A bool }
		oneof Three { A bool B bool C bool }
		oneof Seven { A bool B bool C bool D bool E bool F bool G bool }`, `
		53 54 45 46 02 00 00 | 00 09 07 06 06 00 00 01 03 07 00 |
		00 10 01 06 5d 55 75 5f d5 60 f0 40 80 60 80 70 80 70`, false,
		[]dynamic.WriterOption{dynamic.WithSchemaHeader()},
		fields{"O1": one{"A", true}, "O3": one{"C", true}, "O7": one{"G", true}, "ES": list{fields{}, fields{}, fields{}}},
	)
}

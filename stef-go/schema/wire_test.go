// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

func TestWireOf(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		b, err := schema.WireOf(parse(t, "package a "+src).Roots()[0]).AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(b))
	}
	// Oneofs are counted, even if they are empty. A repeated type is counted once.
	f(`struct R root { A Empty B NoFields C One D Three E Seven F []Empty }
		struct Empty {}  oneof NoFields {}  oneof One { A bool }
		oneof Three { A bool B bool C bool }
		oneof Seven { A bool B bool C bool D bool E bool F bool G bool }`,
		"06060000010307")
	// Arrays, multimaps and enums have no entry in a wire schema, but the structs in them have.
	f(`struct R root { A []S1 B M C E }
		multimap M { key S2 value []S3 } struct S1 { X E } struct S2 { X E Y E } struct S3 { X E Y E Z E }
		enum E { A = 1 }`,
		"0403010203")
	// Depth first: the fields of a struct come before its next sibling.
	f(`struct R root { A A D D }
		struct A { B B C C } struct B {} struct C { X bool } struct D { A bool B bool C bool B1 B }`,
		"050202000104")
	// Recursion through multimaps that contain each other.
	f(`struct R root { M M S S O O }
		multimap M { key N value S } multimap N { key bool value M }
		struct S { M M R []R } oneof O { M M }`,
		"03030201")
	f("struct R root { S S Next R optional } struct S { R []R }", "020201")
}

// TestWireOfNestedMultimaps uses deeply nested multimaps. It would take too long if each use of a multimap
// visited the types in it again.
func TestWireOfNestedMultimaps(t *testing.T) {
	const depth = 200
	inner := &schema.Struct{Name: "Inner"}
	of := schema.Type{Kind: schema.KindStruct, Struct: inner}
	for i := range depth {
		m := &schema.Multimap{Name: fmt.Sprint("M", i), Key: of, Value: of}
		of = schema.Type{Kind: schema.KindMultimap, Multimap: m}
	}
	root := &schema.Struct{Name: "Root", Fields: []*schema.Field{{Name: "M", Type: of}}}
	require.Equal(t, schema.WireSchema{1, 0}, schema.WireOf(root))
}

func TestAppendBinary(t *testing.T) {
	f := func(w schema.WireSchema, want string) {
		t.Helper()
		b, err := w.AppendBinary([]byte{0xee})
		require.NoError(t, err)
		require.Equal(t, "ee"+want, hex.EncodeToString(b))
		got, rest, err := schema.ParseWire(append(b[1:], 1, 2))
		require.NoError(t, err)
		require.Equal(t, []byte{1, 2}, rest)
		require.Equal(t, w, got)
	}
	f(publishedMetrics, "0f060108070305040505090203020502")
	f(publishedSpans, "0904010307050e040602")
	f(schema.WireSchema{}, "00")
	f(schema.WireSchema{0, 127, 128, 300}, "04007f8001ac02")
	f(schema.WireSchema{math.MaxInt32}, "01ffffffff07")
	f(make(schema.WireSchema, schema.MaxWireEntries), "8008"+strings.Repeat("00", schema.MaxWireEntries))

	e := func(w schema.WireSchema, want string) {
		t.Helper()
		_, err := w.AppendBinary(nil)
		requireWireError(t, err, want)
	}
	e(schema.WireSchema{1, -1}, "wire schema: entry 1: -1 is not a possible number of fields")
	e(make(schema.WireSchema, 1025), "wire schema: it has 1025 entries, the limit is 1024")
}

func TestParseWire(t *testing.T) {
	f := func(text string, want schema.WireSchema, rest int) {
		t.Helper()
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		got, after, err := schema.ParseWire(b)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Len(t, after, rest)
	}
	f("020304", schema.WireSchema{3, 4}, 0)
	f("020304ffff", schema.WireSchema{3, 4}, 2)
	f("8200830084808080808080808000", schema.WireSchema{3, 4}, 0) // not the shortest form

	e := func(text, want string) {
		t.Helper()
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		w, rest, err := schema.ParseWire(b)
		require.Nil(t, w)
		require.Nil(t, rest)
		requireWireError(t, err, want)
	}
	e("", "wire schema: number of entries is cut off")
	e("80", "wire schema: number of entries is cut off")
	e("ffffffffffffffffff02", "wire schema: number of entries overflows 64 bits")
	e("8108", "wire schema: it has 1025 entries, the limit is 1024")
	e("ffffffffffffffffff01", "wire schema: it has 18446744073709551615 entries, the limit is 1024")
	e("030102", "wire schema: it announces 3 entries, but only 2 bytes follow")
	e("020180", "wire schema: entry 1: is cut off")
	e("0201ffffffffffffffffff02", "wire schema: entry 1: overflows 64 bits")
	e("018080808008", "wire schema: entry 0: 2147483648 is not a possible number of fields")
}

func TestKeep(t *testing.T) {
	const src = `package a
		struct Rec root { A bool O1 bool optional O2 bool optional PS PS optional }
		struct PS { X bool Y bool }`
	root := parse(t, src).Root("Rec")
	f := func(w schema.WireSchema, kept map[string]int) {
		t.Helper()
		k, err := schema.Keep(root, w)
		require.NoError(t, err)
		got := map[string]int{}
		for s, n := range k {
			got[s.Name] = n
		}
		require.Equal(t, kept, got)
		require.Equal(t, w, k.Wire(root))
	}
	f(schema.WireSchema{4, 2}, map[string]int{"Rec": 4, "PS": 2})
	f(schema.WireSchema{4, 0}, map[string]int{"Rec": 4, "PS": 0})
	f(schema.WireSchema{2}, map[string]int{"Rec": 2})

	e := func(w schema.WireSchema, want string) {
		t.Helper()
		_, err := schema.Keep(root, w)
		requireWireError(t, err, want)
	}
	e(schema.WireSchema{}, "wire schema: entry 0 (Rec): is missing")
	e(schema.WireSchema{0}, "wire schema: entry 0 (Rec): the root has no fields")
	e(schema.WireSchema{4}, "wire schema: entry 1 (PS): is missing")
	e(schema.WireSchema{5, 2}, "wire schema: entry 0 (Rec): has 5 fields, this schema has 4")
	e(schema.WireSchema{4, 3}, "wire schema: entry 1 (PS): has 3 fields, this schema has 2")
	e(schema.WireSchema{4, -1}, "wire schema: entry 1 (PS): has -1 fields, this schema has 2")
	// A wire schema must not list a struct if all fields that refer to it are dropped.
	e(schema.WireSchema{2, 2}, "wire schema: entry 1: is one too many: with the numbers 2, root Rec has only 1 structs and oneofs")
}

func requireWireError(t *testing.T, err error, want string) {
	t.Helper()
	var wireErr *schema.WireError
	require.ErrorAs(t, err, &wireErr)
	require.EqualError(t, err, want)
}

// FuzzParseWire checks that ParseWire returns a WireError, or a wire schema that is equal
// after it is written and parsed again. If the wire schema fits a root, Wire returns an equal wire
// schema for the result of Keep.
func FuzzParseWire(f *testing.F) {
	roots := []*schema.Struct{otel(f, "Metrics"), otel(f, "Spans"), otel(f, "Logs")}
	for _, w := range []schema.WireSchema{publishedMetrics, publishedSpans, schema.WireOf(roots[2]), {1, 1}} {
		b, err := w.AppendBinary(nil)
		require.NoError(f, err)
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte{0x82, 0x00, 0x83, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, rest, err := schema.ParseWire(b)
		if err != nil {
			requireWireError(t, err, err.Error())
			return
		}
		written, err := w.AppendBinary(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(written), len(b)-len(rest), "the form written is the shortest")
		again, after, err := schema.ParseWire(written)
		require.NoError(t, err)
		require.Empty(t, after)
		require.Equal(t, w, again)
		for _, root := range roots {
			kept, err := schema.Keep(root, w)
			relation := schema.Compare(root, w)
			if err != nil {
				require.Contains(t, []schema.Compat{schema.Newer, schema.Incompatible}, relation)
				continue
			}
			require.Equal(t, w, kept.Wire(root))
			require.Contains(t, []schema.Compat{schema.Exact, schema.Older}, relation)
			require.Len(t, schema.Columns(root, kept), schema.CountColumns(root, kept, schema.MaxColumns))
		}
	})
}

func TestWireTexts(t *testing.T) {
	for text, want := range map[string]map[string]schema.WireSchema{
		"Order=6,3":                    {"Order": {6, 3}},
		"Order=[6 3]":                  {"Order": {6, 3}},
		"Order=6,3\nSale=4\n":          {"Order": {6, 3}, "Sale": {4}},
		" Order=[6 3] Sale=[4]\tX=1,2": {"Order": {6, 3}, "Sale": {4}, "X": {1, 2}},
	} {
		got, err := schema.ParseWireTexts(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                 "must be of the form Root=N,N",
		"Order":            "must be of the form Root=N,N",
		"6,3 Order=1":      "must be of the form Root=N,N",
		"Order=6 3":        `"6 3" is not a number of fields`,
		"Order=6,3 Sale=x": `"x" is not a number of fields`,
		"Order=1 Order=2":  "root Order is set twice",
	} {
		_, err := schema.ParseWireTexts(text)
		require.EqualError(t, err, want, text)
	}
}

func TestWireText(t *testing.T) {
	for _, w := range []schema.WireSchema{{1}, {6, 3}, {0, 1000, 7}} {
		back, err := schema.ParseWireText(w.Text())
		require.NoError(t, err)
		require.Equal(t, w, back)
		back, err = schema.ParseWireText(fmt.Sprint(w))
		require.NoError(t, err)
		require.Equal(t, w, back)
	}
	require.Equal(t, "6,3", schema.WireSchema{6, 3}.Text())
	for _, bad := range []string{"", "6,", "-1", "x", "6 ,3", "4294967296", "[]", "[6,3]", "[6 3", "6 3]", "[6  3]"} {
		_, err := schema.ParseWireText(bad)
		require.ErrorContains(t, err, "is not a number of fields", bad)
	}
}

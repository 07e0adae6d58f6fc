// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

const otelSchema = "../../stef-spec/otel.stef"

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	src, err := os.ReadFile(path)
	require.NoError(tb, err)
	return src
}

func mustParse(tb testing.TB, src string) *schema.Schema {
	tb.Helper()
	s, err := idl.Parse("test.stef", []byte(src))
	require.NoError(tb, err)
	return s
}

func TestOtelSchema(t *testing.T) {
	src := readFile(t, otelSchema)
	s, warnings, err := idl.ParseWithWarnings("otel.stef", src)
	require.NoError(t, err)
	require.Empty(t, warnings)
	var roots []string
	for _, root := range s.Roots() {
		roots = append(roots, root.Name)
	}
	require.Equal(t, []string{"Metrics", "Spans", "Logs"}, roots)
	require.Equal(t, string(src), string(schema.Print(s)), "the file is in canonical layout")
}

func TestTypes(t *testing.T) {
	s := mustParse(t, `package a.b.c
		struct R root {
			A bool  B int64  C uint64 optional  D float64  E string dict(W)  F bytes
			G S  H O  I M  J N  K []string dict(W)  L []S optional
		}
		struct S dict(S) { X bool }
		oneof O { X bool  Y S2 }
		struct S2 {}
		multimap M { key []int64  value O }
		enum N { One = 1  Two = 0x2 }`)
	require.Equal(t, "a.b.c", s.Package)
	root := s.Root("R")
	f := func(name, text string, kind schema.Kind, optional bool) {
		t.Helper()
		field := root.Fields[strings.Index("ABCDEFGHIJKL", name)]
		require.Equal(t, name, field.Name)
		require.Equal(t, text, field.Type.String())
		require.Equal(t, kind, field.Type.Kind)
		require.Equal(t, optional, field.Optional)
	}
	f("A", "bool", schema.KindBool, false)
	f("B", "int64", schema.KindInt64, false)
	f("C", "uint64", schema.KindUint64, true)
	f("D", "float64", schema.KindFloat64, false)
	f("E", "string dict(W)", schema.KindString, false)
	f("F", "bytes", schema.KindBytes, false)
	f("G", "S", schema.KindStruct, false)
	f("H", "O", schema.KindOneof, false)
	f("I", "M", schema.KindMultimap, false)
	f("J", "N", schema.KindEnum, false)
	f("K", "[]string dict(W)", schema.KindArray, false)
	f("L", "[]S", schema.KindArray, true)

	require.Equal(t, []string{"R", "S", "O", "S2"}, structNames(s))
	require.Same(t, s.Structs[1], root.Fields[6].Type.Struct)
	require.Same(t, s.Structs[2], root.Fields[7].Type.Struct)
	require.Same(t, s.Multimaps[0], root.Fields[8].Type.Multimap)
	require.Same(t, s.Enums[0], root.Fields[9].Type.Enum)
	require.Same(t, s.Structs[1], root.Fields[11].Type.Elem.Struct)
	require.Equal(t, "S", s.Structs[1].Dict)
	require.True(t, s.Structs[2].Oneof)
	require.Equal(t, schema.Pos{Line: 2, Column: 10}, root.Pos)
	require.Equal(t, schema.Pos{Line: 3, Column: 12}, root.Fields[1].Pos)
}

func structNames(s *schema.Schema) []string {
	var names []string
	for _, st := range s.Structs {
		names = append(names, st.Name)
	}
	return names
}

func TestNumbers(t *testing.T) {
	f := func(text string, want uint64) {
		t.Helper()
		s := mustParse(t, "package a enum E { X = "+text+" }")
		require.Equal(t, want, s.Enums[0].Values[0].Value)
	}
	f("0", 0)
	f("10", 10)
	f("017", 15)
	f("0o17", 15)
	f("0O17", 15)
	f("0b101", 5)
	f("0B101", 5)
	f("0x10", 16)
	f("0xb1", 0xb1)
	f("0xFF", 255)
	f("0Xfedcba", 0xfedcba)
	f("1_000", 1000)
	f("0x_1", 1)
	f("18446744073709551615", 1<<64-1)
}

func TestDocs(t *testing.T) {
	s := mustParse(t, string(readFile(t, "testdata/comments.stef")))
	require.Equal(t, "No space after the slashes.\n\n  Indented.\nLast line.", s.Doc)
	root := s.Root("R")
	require.Equal(t, "Directly above R,\nin two lines.", root.Doc)
	require.Equal(t, "Of A.", root.Fields[0].Doc)
	require.Empty(t, root.Fields[1].Doc, "a comment behind field A does not belong to field B")
	require.Equal(t, "Of C, with an empty line above.", root.Fields[2].Doc)
	require.Equal(t, "Above E.", s.Enums[0].Doc)
	require.Empty(t, s.Enums[0].Values[0].Doc)
	require.Empty(t, s.Multimaps[0].Doc, "a comment behind enum E does not belong to multimap M")
}

func TestPrint(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		require.Equal(t, want, string(schema.Print(mustParse(t, src))))
	}
	f("package a.b\n// Doc of R.\nstruct R root{A bool optional// beside\n//Doc of B.\nB []string dict(D)}",
		"package a.b\n\n// Doc of R.\nstruct R root {\n  A bool optional\n  // Doc of B.\n  B []string dict(D)\n}\n")
	f("package a enum E{A=0x10} multimap M{key E value bytes dict(D)dict(E)} struct S dict(S){} oneof O{A S}",
		"package a\n\nenum E {\n  A = 16\n}\n\nmultimap M {\n  key E\n  value bytes dict(E)\n}\n\n"+
			"struct S dict(S) {\n}\n\noneof O {\n  A S\n}\n")
}

func TestSourceTooLarge(t *testing.T) {
	src := []byte("package a struct R root { A bool }" + strings.Repeat(" ", idl.MaxSourceBytes))
	_, err := idl.Parse("big.stef", src[:idl.MaxSourceBytes])
	require.NoError(t, err)
	_, err = idl.Parse("big.stef", src)
	require.EqualError(t, err, "big.stef: the file has 1048610 bytes, the limit is 1048576")
}

// TestLongLineOfErrors parses a long line with many errors. It would take minutes if the parser scanned
// the whole line for each error.
func TestLongLineOfErrors(t *testing.T) {
	for _, wrong := range []string{"-", ",", "\"", "=`", "/ ", "/*"} {
		src := "package a\nstruct R root { A bool " + strings.Repeat(wrong, 1<<18)
		_, err := idl.Parse("a.stef", []byte(src))
		require.ErrorContains(t, err, "a.stef:2:")
	}
}

// TestLargeWrongSchema parses large schemas with errors. It takes minutes if the package scans all
// definitions for each error, or for each struct of a root that is too large.
func TestLargeWrongSchema(t *testing.T) {
	f := func(want, begin string, part func(i int) string) {
		t.Helper()
		src := []byte("package a\n" + begin)
		for i := 1; len(src) < idl.MaxSourceBytes-100; i++ {
			src = append(src, part(i)...)
		}
		_, err := idl.Parse("a.stef", src)
		require.ErrorContains(t, err, want)
	}
	f(`a.stef:3:16: unknown type "byte": write "bytes" in place of "[]byte"`, "", func(i int) string { return fmt.Sprintf("enum E%d {}\nstruct S%d {B []byte}\n", i, i) })
	f(`a.stef:3:1: enum value "V1" has no number: write "V1 = 0"`, "enum E {\n", func(i int) string { return fmt.Sprintf("V%d\n", i) })
	f("structs and oneofs, the limit is 1024", "struct R root {F S1}\n", func(i int) string {
		const last = 20_000
		if i > last {
			return "//\n"
		}
		return fmt.Sprintf("struct S%d dict(S%d) {F S%d optional}\n", i, i, min(i+1, last))
	})
}

func TestErrorIsOneLineEach(t *testing.T) {
	_, err := idl.Parse("dir/a.stef", []byte("package a\nstruct R root {\n  A strin\n\tÄ: int\n  B Int64\n}"))
	require.EqualError(t, err, "dir/a.stef:4:3: unexpected ':': a field is written \"Name Type\", an enum value \"Name = 1\"")
	_, err = idl.Parse("dir/a.stef", []byte("package a\nstruct R root {\n  A strin\n\tÄ int\n}"))
	require.EqualError(t, err, "dir/a.stef:3:5: unknown type \"strin\", did you mean \"string\"?\n"+
		"dir/a.stef:4:4: unknown type \"int\", did you mean \"int64\"?")
}

// requireSame compares two schemas without their positions in the text, which it clears.
func requireSame(tb testing.TB, want, got *schema.Schema) {
	tb.Helper()
	text := string(schema.Print(want))
	require.Equal(tb, text, string(schema.Print(got)))
	clearPositions(want)
	clearPositions(got)
	require.True(tb, reflect.DeepEqual(want, got), "the schemas differ in a part that Print does not print:\n%s", text)
}

func clearPositions(s *schema.Schema) {
	for _, st := range s.Structs {
		st.Pos = schema.Pos{}
		for _, f := range st.Fields {
			f.Pos = schema.Pos{}
		}
	}
	for _, m := range s.Multimaps {
		m.Pos = schema.Pos{}
	}
	for _, e := range s.Enums {
		e.Pos = schema.Pos{}
		for i := range e.Values {
			e.Values[i].Pos = schema.Pos{}
		}
	}
}

// TestForeignSyntax: errors about the syntax of other languages say what to write
// instead.
func TestForeignSyntax(t *testing.T) {
	f := func(want, src string) {
		t.Helper()
		_, err := idl.Parse("a.stef", []byte(src))
		require.EqualError(t, err, want)
	}
	f(`a.stef:1:11: unexpected '-': a package name has letters, digits and _, and dots between its parts`,
		"package my-app\nstruct R root { A bool }")
	f(`a.stef:2:17: unexpected '-': numbers have no sign`, "package a\nenum Long { A = -1 }\nstruct R root { E Long }")
	f(`a.stef:2:18: unexpected ':': a field is written "Name Type", an enum value "Name = 1"`, "package a\nstruct R root { A: bool }")
	f(`a.stef:2:19: unknown type "map": define a type with "multimap Name { key string value string }" and use its name`,
		"package a\nstruct R root { A map[string]string }")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/idl"
)

func TestGenerateRefuses(t *testing.T) {
	f := func(want string, lines ...string) {
		t.Helper()
		src := "package a.b\n" + strings.Join(lines, "\n") + "\n"
		s, err := idl.Parse("a.stef", []byte(src))
		require.NoError(t, err)
		files, err := Generate(s, Options{Source: "a.stef"})
		if want == "" {
			require.NoError(t, err)
			require.NotEmpty(t, files)
			return
		}
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, new(*Error))
	}
	f("", "struct R root { A uint64 }")
	f("schema a.b has no root struct", "struct R { A uint64 }")

	// Names of methods of all records.
	f("2:17: field R.Reset has the name of a method of all records: rename it", "struct R root { Reset uint64 }")
	f("field R.copyFrom has", "struct R root { copyFrom uint64 }")
	f("field R.Equal has", "struct R root { Equal uint64 }")
	f("field R.Modified has", "struct R root { Modified uint64 }")
	f("field R.MarshalJSON has", "struct R root { MarshalJSON uint64 }")
	f("field R.UnmarshalJSON has", "struct R root { UnmarshalJSON uint64 }")
	f("", "struct R root { Type uint64 }")
	f("", "struct R root { SetType uint64 }")
	f("R.SetType twice", "struct R root { Type uint64 SetType uint64 }")
	f("3:11: choice O.Type has the name of a method of all oneofs: rename it", "struct R root { O O }", "oneof O { Type uint64 }")
	f("choice O.setType has", "struct R root { O O }", "oneof O { setType uint64 }")

	// Names without an upper-case form.
	f("2:17: R.名 begins with a letter that has no upper case", "struct R root { 名 uint64 }")
	f("", "struct R root { F名 uint64 é bool }")

	// Two fields have the same name in Go.
	f("2:26: fields R.a and A have the same name in Go", "struct R root { A uint64 a uint64 }")
	f("2:33: the schema generates R.HasA twice in r.stef.go, for field R.HasA and field R.A: rename one of them", "struct R root { A bool optional HasA uint64 }")
	f("3:11: choice O.None has the name that stands for no choice in all oneofs: rename it, or remove it", "struct R root { O O }", "oneof O { None uint64 }")
	f("choice O.none has", "struct R root { O O E E }", "oneof O { none uint64 }", "enum E { A = 0 }")
	f("", "struct R root { None uint64 }")
	f("R.HasA twice", "struct R root { A uint64 optional HasA uint64 }")
	f("R.SetA twice", "struct R root { A uint64 SetA uint64 }")
	f("R.UnsetA twice", "struct R root { A uint64 optional UnsetA uint64 }")
	f("R.EditA twice", "struct R root { A D EditA uint64 }", "struct D dict(D) { A uint64 }")
	f("2:21: the schema generates R.Unshare twice in r.stef.go, for field R.Unshare", "struct R root { A D Unshare uint64 }", "struct D dict(D) { A uint64 }")
	f("", "struct R root { Unshare uint64 }")
	f("2:35: the schema generates R.Err twice in r.stef.go, for field R.Error and field R.Err: rename one of them", "struct R root { A bool Err string Error string }")
	f("2:35: the schema generates R.Str twice in r.stef.go, for field R.String and field R.Str: rename one of them", "struct R root { A bool Str string String string }")
	f("R.AddA twice", "struct R root { A S optional AddA uint64 }", "struct S { A uint64 }")
	f("R.aSent twice in r.stef.go, for field R.ASent and field R.A: rename one of them", "struct R root { A D ASent uint64 }", "struct D dict(D) { A uint64 }")
	f("3:10: the schema generates ESame twice in e.stef.go, for value E.Same and value E.same: rename one of them", "struct R root { E E }", "enum E { Same = 1 same = 2 }")
	f("4:11: the schema generates M.SetKey twice in m.stef.go, for choice O.Key and for multimap M itself: rename the choice", "struct R root { M M }", "multimap M { key string value O }", "oneof O { Key string }")

	// Two fields have the same name in JSON.
	f(`2:32: fields R.UserID and user_id have the same name in JSON, "user_id": rename one of them`, "struct R root { user_id uint64 UserID uint64 }")
	f(`fields R.Ab and AB have the same name in JSON, "ab"`, "struct R root { AB uint64 Ab uint64 }")
	f(`fields R.userId and UserID have the same name in JSON, "user_id"`, "struct R root { UserID uint64 A bool userId uint64 }")
	f(`3:26: choices O.HttpUrl and HTTPUrl have the same name in JSON, "http_url"`, "struct R root { O O }", "oneof O { HTTPUrl string HttpUrl string }")
	f("", "struct R root { UserID uint64 User_ID uint64 S S }", "struct S { UserID uint64 }")

	// Two types would have the same file, or the same name in Go.
	f("struct RWriter and a type of the root R would be generated into the same file, r_writer.stef.go: rename struct RWriter", "struct R root { A RWriter }", "struct RWriter { A uint64 }")
	f("NewR twice in r.stef.go and new_r.stef.go, for struct NewR and struct R: rename one of them", "struct R root { A NewR }", "struct NewR { A uint64 }")
	f("OType twice in o.stef.go and o_type.stef.go, for enum OType and oneof O: rename one of them", "struct R root { O O T OType }", "oneof O { A uint64 }", "enum OType { A = 1 }")
	f("OType twice in o.stef.go and o_type.stef.go, for enum OType and oneof O: rename one of them", "struct R root { O O T OType U Type }", "oneof O { A uint64 }", "enum OType { A = 1 }", "enum Type { A = 1 }")
	f("struct AB and struct Ab would be generated into the same file, ab.stef.go: rename one of them", "struct R root { A AB B Ab }", "struct AB { A uint64 }", "struct Ab { A uint64 }")
	f("would be generated into the same file, http_server.stef.go: rename one of them", "struct R root { A HTTPServer B HttpServer }",
		"struct HTTPServer { A uint64 }", "struct HttpServer { A uint64 }")
	f("RFieldA twice in r.stef.go and r_field.stef.go, for value RField.A and field R.A: rename one of them", "struct R root { A RField }", "enum RField { A = 1 }")

	f("4:8: struct SchemaText would be generated into schema_text.stef.go, the file with the text of the schema: rename struct SchemaText", "struct R root { A SchemaText }", "", "struct SchemaText { A uint64 }")
	f("3:8: the schema generates RBaseSchema twice in r_writer.stef.go and r_base_writer.stef.go, for struct RBase and struct R: rename one of them", "struct R root { A RBase }", "struct RBase root { A uint64 }")

	// Two dictionaries of a root have the same name in Go.
	f("2:38: dictionaries D and d have the same name in Go: rename one of them", "struct R root { A string dict(d) B M C []string dict(D) }", "multimap M { key uint64 value uint64 }")
	f("3:10: dictionaries D and d have the same name in Go", "struct R root { A string dict(d) B M }", "multimap M { key uint64 value string dict(D) }")
	f("", "struct R root { A string dict(d) B S }", "struct S { A bytes dict(D) }")
	f("", "struct R root { A string dict(d) }", "struct S root { A string dict(D) }")

	// Types that are not exported.
	f("3:8: point does not begin with an upper-case letter, as types do in generated code: write \"Point\"", "struct R root { A point }", "struct point { A uint64 }")
	f("3:7: string_ does not begin", "struct R root { A string_ }", "oneof string_ { A uint64 }")
	f("3:10: map does not begin", "struct R root { A map }", "multimap map { key string value string }")
	f("3:6: len does not begin", "struct R root { A len }", "enum len { A = 1 }")

	// Choices, keys, values and elements cannot be dictionary structs.
	f("2:42: oneof O: a choice cannot be the dictionary struct D", "struct R root { O O } oneof O { A uint64 B D }", "struct D dict(D) { A uint64 }")
	f("3:10: multimap M: keys and values cannot be dictionary structs", "struct R root { M M }", "multimap M { key D value string }", "struct D dict(D) { A uint64 }")
	f("3:10: multimap M: keys and values cannot be dictionary structs", "struct R root { M M }", "multimap M { key string value D }", "struct D dict(D) { A uint64 }")
	f("2:17: arrays of the dictionary struct D cannot be generated", "struct R root { A []D }", "struct D dict(D) { A uint64 }")
	f("multimap M: keys and values cannot be dictionary structs", "struct R root { M M }", "multimap M { key string value []D }", "struct D dict(D) { A uint64 }")
	f("3:8: struct D contains itself by way of an optional dictionary struct", "struct R root { D D }", "struct D dict(D) { D D optional }")
	f("struct D contains itself by way", "struct R root { D D }", "struct D dict(D) { E E optional }", "struct E dict(E) { S S }", "struct S { D D optional }")
	f("", "struct R root { D D }", "struct D dict(D) { A []S }", "struct S { D D }")
	f("", "struct R root { D D }", "struct D dict(D) { O O }", "oneof O { S S }", "struct S { D D }")
}

// TestGenerateComments: characters that Go does not allow in comments are omitted.
func TestGenerateComments(t *testing.T) {
	s, err := idl.Parse("a.stef", []byte("package a\n// The \ufefforder\x00.\nstruct R root { A uint64 }\n"))
	require.NoError(t, err)
	files, err := Generate(s, Options{Header: "Copy\ufeffright"})
	require.NoError(t, err)
	require.Contains(t, string(files[0].Content), "\n// The order.\n")
	require.Contains(t, string(files[0].Content), "// Copyright\n")
}

func TestGenerateRefusesPackageNames(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		s, err := idl.Parse("a.stef", []byte("package a.b\nstruct R root { A uint64 }\n"))
		require.NoError(t, err)
		files, err := Generate(s, Options{Package: name})
		if want == "" {
			require.NoError(t, err)
			require.Contains(t, string(files[0].Content), "\npackage "+name+"\n")
			return
		}
		require.EqualError(t, err, want)
	}
	f("c", "")
	f("c_2", "")
	f("func", `package "func" is a keyword of Go: pass another name with -package`)
	f("a-b", `"a-b" is not a Go package name: pass one with -package`)
	f("a.b", `"a.b" is not a Go package name: pass one with -package`)
	f("main", "programs cannot import a package main: pass another name with -package")
}

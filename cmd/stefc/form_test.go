// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunRefusesForms: mistakes in a form are reported with their position in its file.
func TestRunRefusesForms(t *testing.T) {
	const base = `package com.example.shop
struct Order root { ID uint64 Items []Item Color Color Labels Labels O O }
struct Item { Name string dict(Names) }
struct Dict dict(Dict) { X bool }
oneof O { X bool D Deep }
struct Deep { D Dict }
multimap Labels { key string value string }
enum Color { Red = 1 }
`
	stefc(t, base)
	f := func(want, form string) {
		t.Helper()
		require.NoError(t, os.WriteFile("form.stef", []byte(form), 0o644))
		code, stderr := again("-out", "gen", "-form", "form.stef", "shop.stef")
		require.NoError(t, os.RemoveAll("gen"))
		if want == "" {
			require.Equal(t, 0, code, stderr)
			require.Empty(t, stderr)
			return
		}
		require.Equal(t, exitSchema, code, stderr)
		require.Contains(t, stderr, "form.stef:"+want+"\n")
		require.NotRegexp(t, "(?m)^shop.stef", stderr)
	}
	const head = "package com.example.shop\n"
	const packed = head + "struct Order root { Packed uint64 More More }\nstruct More { M uint64 E New }\nenum New { Z = 0 }\n"
	f("", packed)
	f("", packed+"oneof O { Z More }\nstruct Dict { Y bool }\n")
	f("", head+"struct Order { Shade Color Tags Labels }\nenum Color { Red = 1 }\nmultimap Labels { key string value string }\n")
	f("2:8: N is no root in shop.stef: a form adds fields to the roots of the schema and has no roots of its own\n"+
		"   2 | struct N root { X int64 }\n     |        ^", head+"struct N root { X int64 }\n")
	f("2:8: Item is no root in shop.stef: a form adds fields to the roots of the schema and has no roots of its own\n"+
		"   2 | struct Item root { X int64 }\n     |        ^~~~", head+"struct Item root { X int64 }\n")
	f("5:8: no root of shop.stef uses Itm, even with the fields of the form\n"+
		"   5 | struct Itm { X int64 }\n     |        ^~~", packed+"struct Itm { X int64 }\n")
	f("2:6: no root of shop.stef uses Hue, even with the fields of the form\n"+
		"   2 | enum Hue { Red = 1 }\n     |      ^~~", head+"enum Hue { Red = 1 }\n")
	f("1:9: the package is com.example.shop in shop.stef: a form must have the same package\n"+
		"   1 | package com.example.other\n     |         ^~~~~~~~~~~~~~~~~", "package com.example.other\nstruct Order root { X bool }\n")
	f("2:10: Labels is a different multimap in shop.stef: repeat it without a change, or choose another name\n"+
		"   2 | multimap Labels { key string value bytes }\n     |          ^~~~~~", head+"multimap Labels { key string value bytes }\n")
	f("2:10: More is not in shop.stef: a form cannot add multimaps\n"+
		"   2 | multimap More { key string value bytes }\n     |          ^~~~", head+"multimap More { key string value bytes }\nstruct Order root { M More }\n")
	f("2:6: Color has other values in shop.stef: repeat it without a change, or choose another name\n"+
		"   2 | enum Color { Red = 2 }\n     |      ^~~~~", head+"enum Color { Red = 2 }\n")
	f("3:3: Order.ID is already in shop.stef: a form must have only the fields that it adds\n"+
		"   3 |   ID uint64\n     |   ^~", head+"struct Order root {\n  ID uint64\n}\n")
	f("2:7: Item is of another kind in shop.stef: use the same kind to add to it, or choose another name\n"+
		"   2 | oneof Item { X int64 }\n     |       ^~~~", head+"oneof Item { X int64 }\n")
	f("2:8: Color is of another kind in shop.stef: use the same kind to add to it, or choose another name\n"+
		"   2 | struct Color { X int64 }\n     |        ^~~~~", head+"struct Color { X int64 }\n")
	f("2:6: Item is of another kind in shop.stef: choose another name\n"+
		"   2 | enum Item { X = 1 }\n     |      ^~~~", head+"enum Item { X = 1 }\n")
	f("2:8: Item has no dictionary in shop.stef, and a form cannot change that\n"+
		"   2 | struct Item dict(Item) { X int64 }\n     |        ^~~~", head+"struct Item dict(Item) { X int64 }\n")
	// Only the generator detects these mistakes.
	f("2:21: field Order.Reset has the name of a method of all records: rename it\n"+
		"   2 | struct Order root { Reset uint64 }\n     |                     ^~~~~", head+"struct Order root { Reset uint64 }\n")
	f("3:8: more does not begin with an upper-case letter, as types do in generated code: write \"More\"\n"+
		"   3 | struct more { A bool }\n     |        ^~~~", head+"struct Order root { A more }\nstruct more { A bool }\n")
	f("2:21: the schema generates Order.SetID twice in order.stef.go, for field Order.SetID and field Order.ID: rename one of them\n"+
		"   2 | struct Order root { SetID uint64 }\n     |                     ^~~~~", head+"struct Order root { SetID uint64 }\n")
}

// TestRunRefusesWhole: the schema and the form are valid, but not the schema with the fields of the form.
func TestRunRefusesWhole(t *testing.T) {
	f := func(want, base, form string) {
		t.Helper()
		const head = "package com.example.shop\n"
		stefc(t, head+base)
		require.NoError(t, os.WriteFile("form.stef", []byte(head+form), 0o644))
		code, stderr := again("-out", "gen", "-form", "form.stef", "shop.stef")
		require.Equal(t, exitSchema, code, stderr)
		require.Equal(t, "shop.stef with form.stef:"+want+"\n", stderr)
		require.NoDirExists(t, "gen")
	}
	fields := func(letter string, n int) (list string) {
		for i := range n {
			list += fmt.Sprintf(" %s%d bool", letter, i)
		}
		return list
	}
	f("3:8: struct \"Order\" has 65 fields, the limit is 64: move some to a struct of their own\n   3 | struct Order root {\n     |        ^~~~~",
		"struct Order root {"+fields("A", 40)+" }\n", "struct Order root {"+fields("B", 25)+" }\n")
	f("8:7: oneof \"O\" has 256 choices, the limit is 255\n   8 | oneof O {\n     |       ^",
		"struct Order root { O O }\noneof O {"+fields("A", 200)+" }\n", "struct Order root { P O }\noneof O {"+fields("B", 56)+" }\n")
	f("5:16: dictionary \"D\" cannot hold values of type bytes: it holds values of type string, see line 4\n   5 |   B bytes dict(D)\n     |                ^",
		"struct Order root { A string dict(D) }\n", "struct Order root { B bytes dict(D) }\n")
	f("16:3: struct \"Item\" contains itself without end (Item.New, New.Item): make a field optional, or use an array\n  16 |   Item Item\n     |   ^~~~",
		"struct Order root { A Item }\nstruct Item { A bool New New }\nstruct New { B bool }\n", "struct Order root { B bool }\nstruct Item { C bool }\nstruct New { Item Item }\n")
}

// TestRunAgainstFormOfNewRoot: -form has a root that the older schema lacks. The older
// schema has no streams of this root, so stefc reports no change.
func TestRunAgainstFormOfNewRoot(t *testing.T) {
	stefc(t, shop)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	require.NoError(t, os.WriteFile("form.stef", []byte("package com.example.shop\nstruct Return root { Packed uint64 }\n"), 0o644))
	code, stderr := compileText(t, "shop.stef", shop+"struct Return root { ID uint64 }\n", "-form", "form.stef", "-against", "old.stef")
	require.Equal(t, 0, code, stderr)
	require.Empty(t, stderr)
}

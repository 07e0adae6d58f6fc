// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compileText writes a schema to a file and runs the program on it.
func compileText(t *testing.T, name, schema string, args ...string) (code int, stderr string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(schema), 0o644))
	return again(append(args, name)...)
}

// TestRunAgainst compares with an older schema, whatever code is in the folder.
func TestRunAgainst(t *testing.T) {
	dir, code, stderr := stefc(t, shop, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	f := func(want, schema string, args ...string) {
		t.Helper()
		require.NoError(t, os.RemoveAll("new"))
		code, stderr := compileText(t, "shop.stef", schema, append(args, "-against", "old.stef", "-out", "new")...)
		require.Equal(t, want, stderr)
		if want == "" {
			require.Equal(t, 0, code)
			require.Equal(t, shopFiles, list(t, "new"))
			return
		}
		require.Equal(t, exitSchema, code)
		require.NotContains(t, list(t, dir), "new", "nothing may be written")
	}
	const (
		wrong  = "shop.stef: the new code reads streams of old.stef wrongly or not at all:\n"
		advice = "     | Append to structs and oneofs instead, and rename what is not used any more, such as to Unused1.\n"
	)
	appended := strings.Replace(shop, "Color Color\n", "Color Color Note string\n", 1)
	f("", shop)
	f("", appended)
	f("", appended, "-base", "Order=3,1")
	f(wrong+"     | Order.ID: was of type uint64 and is of type int64\n"+advice, strings.Replace(shop, "ID uint64", "ID int64", 1))
	const other = "shop.stef: warning: the root Order is now named Purchase. Files stay readable, but gRPC sends the name, and a server\n" +
		"     | refuses clients with another name. A server can handle both names: see Rename a root in the README of stefc.\n"
	code, stderr = compileText(t, "shop.stef", strings.Replace(shop, "struct Order root", "struct Purchase root", 1), "-against", "old.stef", "-out", "renamed")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, other, stderr)
	code, stderr = again("-against", "old.stef", "-out", "gen", "-replace", "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, other, stderr, "once, not for the code in the folder, too")
	f(wrong+"     | Order: had 3 fields and has 2, without ID; fields cannot be removed, but may get other names\n"+advice, strings.Replace(shop, "ID uint64", "", 1))
	f("shop.stef: the new code reads streams of old.stef with other names of enum values:\n"+
		"     | Color.Red: was 1 and is 2: old streams have a value without a name\n"+
		"     | Keep the enum of each field and the number of each value, and give new values new numbers. Rename an enum and its values in two steps.\n", strings.Replace(shop, "Red = 1", "Red = 2", 1))
	var fields strings.Builder
	want := wrong
	for i := range 12 {
		fields.WriteString("F" + string(rune('A'+i)) + " bool\n")
		if i < 10 {
			want += "     | Order.F" + string(rune('A'+i)) + ": was of type bool and is of type string\n"
		}
	}
	wide := "package a\nstruct Order root {\n" + fields.String() + "}\n"
	require.NoError(t, os.WriteFile("old.stef", []byte(wide), 0o644))
	f(want+"     | and 2 more\n"+advice, strings.ReplaceAll(wide, "bool", "string"))
}

// TestRunComparesBeforeBase: a moved field also makes -base invalid, but the comparison is
// reported first, because it names the fields.
func TestRunComparesBeforeBase(t *testing.T) {
	const two = "package a\nstruct Flow root { Hops []Hop Source Exporter }\nstruct Hop { A bool B bool }\nstruct Exporter { A bool }\n"
	_, code, stderr := stefc(t, two, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	for now, want := range map[string]string{
		strings.Replace(two, "Hops []Hop", "Count uint64 Hops []Hop", 1): "Flow.Hops: was field 1 and is field 2; new fields go to the end",
		strings.Replace(two, "B bool ", "", 1):                           "Hop: had 2 fields and has 1, without B; fields cannot be removed, but may get other names",
		strings.Replace(two, "Hops []Hop", "Hops uint64", 1):             "Flow.Hops: was of type array of struct Hop and is of type uint64",
	} {
		code, stderr = compileText(t, "shop.stef", now, "-base", "Flow=2,2,1", "-against", "old.stef", "-out", "gen")
		require.Equal(t, exitSchema, code)
		require.True(t, strings.HasPrefix(stderr[strings.Index(stderr, "shop.stef: the new"):],
			"shop.stef: the new code reads streams of old.stef wrongly or not at all:\n     | "+want+"\n"), stderr)
		require.NotContains(t, stderr, "-base")
		// Without -against, the comparison with the code in the folder reports the change before the
		// error of -base.
		code, stderr = compileText(t, "shop.stef", now, "-base", "Flow=2,2,1", "-out", "gen")
		require.Equal(t, exitUsage, code)
		warned, refused := strings.Index(stderr, want), strings.Index(stderr, "stefc: -base of Flow: ")
		require.True(t, warned >= 0 && warned < refused, stderr)
	}
}

// TestRunAgainstTwice: a second run reports the same change, and does not change the code.
func TestRunAgainstTwice(t *testing.T) {
	_, code, stderr := stefc(t, shop, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	before := list(t, "gen")
	for range 2 {
		code, stderr = compileText(t, "shop.stef", strings.Replace(shop, "Items []Item", "", 1), "-out", "gen", "-against", "old.stef")
		require.Equal(t, exitSchema, code)
		require.Contains(t, stderr, "Order: had 3 fields and has 2, without Items; fields cannot be removed, but may get other names\n")
		require.Equal(t, before, list(t, "gen"))
	}
}

func TestRunAgainstErrors(t *testing.T) {
	stefc(t, shop)
	f := func(code int, want, old string) {
		t.Helper()
		require.NoError(t, os.WriteFile("old.stef", []byte(old), 0o644))
		got, stderr := again("-against", "old.stef", "shop.stef")
		require.Equal(t, code, got)
		require.Contains(t, stderr, want)
		require.ElementsMatch(t, []string{"old.stef", "shop.stef"}, list(t, "."), "nothing may be written")
	}
	f(exitSchema, "old.stef:1:1: a schema file starts with its package", "")
	f(exitSchema, `old.stef:2:19: unknown type "strin", did you mean "string"?`, "package a\nstruct R root { A strin }\n")
	f(exitSchema, "stefc: old.stef is a STEF stream, not a schema; stef cat prints its records\n", "STEF\x02\x00\x00")
	f(exitSchema, "stefc: -against: old.stef has no root struct, so there is nothing to compare\n", "package a\nstruct R { A bool }\n")
	code, stderr := again("-against", "absent.stef", "shop.stef")
	require.Equal(t, exitIO, code)
	require.Contains(t, stderr, "stefc: open absent.stef: ")
}

// TestRunAgainstForm: -form adds the fields of a form behind the fields of the schema. If the new
// version of the schema has one more field, the fields of the form get other numbers. So -against
// refuses the new version.
func TestRunAgainstForm(t *testing.T) {
	stefc(t, shop)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	const form = "package com.example.shop\nstruct Order root { Packed uint64 Labels Labels }\nmultimap Labels { key string value string }\n"
	require.NoError(t, os.WriteFile("form.stef", []byte(form), 0o644))
	labels := "multimap Labels { key string value string }\n"
	code, stderr := compileText(t, "shop.stef", shop+labels, "-form", "form.stef", "-against", "old.stef")
	require.Equal(t, 0, code, stderr)
	appended := strings.Replace(shop, "Color Color\n", "Color Color Note string\n", 1) + labels
	code, stderr = compileText(t, "shop.stef", appended, "-form", "form.stef", "-against", "old.stef")
	require.Equal(t, exitSchema, code, stderr)
	require.Contains(t, stderr, "     | Order.Packed: was field 4 and is field 5; new fields go to the end\n")
}

// TestRunRefusesFolderOfOtherSchema: without -replace, stefc does not remove the code of a
// schema that has no root in common with the new schema.
func TestRunRefusesFolderOfOtherSchema(t *testing.T) {
	_, code, stderr := stefc(t, shop, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	const fleet = "package com.example.fleet\nstruct Car root { ID uint64 }\nstruct Trip root { Car Car }\n"
	const refusal = "stefc: gen has the code of root Order, which fleet.stef does not define, so the files of this code would be removed: " +
		"use another -out for each schema; to remove the files, or if you renamed the root, pass -replace\n"
	code, stderr = compileText(t, "fleet.stef", strings.Replace(fleet, "ID", "car_id", 1), "-out", "gen")
	require.Equal(t, exitSchema, code)
	require.Equal(t, refusal, stderr, "without warnings, such as those about names")
	code, stderr = compileText(t, "fleet.stef", fleet, "-out", "gen")
	require.Equal(t, exitSchema, code)
	require.Equal(t, refusal, stderr)
	require.Equal(t, shopFiles, list(t, "gen"))

	code, stderr = again("-out", "gen", "-replace", "fleet.stef")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, list(t, "gen"), "car.stef.go")
	require.NotContains(t, list(t, "gen"), "order.stef.go")
	code, stderr = again("-out", "gen", "shop.stef")
	require.Equal(t, exitSchema, code)
	require.Contains(t, stderr, "stefc: gen has the code of roots Car, Trip, which shop.stef does not define, so")

	// One root in common is enough: the other root is removed with a warning.
	code, stderr = compileText(t, "fleet.stef", "package com.example.fleet\nstruct Car root { ID uint64 }\n", "-out", "gen")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "     | Trip: is no root any more\n")
}

// TestRunRenamesRoot: a root with a new name needs -replace. It is still compared with the old
// root.
func TestRunRenamesRoot(t *testing.T) {
	_, code, stderr := stefc(t, shop, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	renamed := strings.ReplaceAll(shop, "Order", "Sale")
	code, stderr = compileText(t, "shop.stef", renamed, "-out", "gen", "-replace")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "shop.stef: warning: the root Order is now named Sale. Files stay readable, but gRPC sends the name, and a server\n"+
		"     | refuses clients with another name. A server can handle both names: see Rename a root in the README of stefc.\n", stderr)
	code, stderr = compileText(t, "shop.stef", strings.Replace(shop, "ID uint64", "", 1), "-out", "gen", "-replace")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stderr, "Sale: had 3 fields and has 2")
}

// TestRunReportsOtherEnums: a field with another enum is reported, because its values have
// other names, even if the enums themselves do not change.
func TestRunReportsOtherEnums(t *testing.T) {
	const old = "package a\nstruct A root { X E Y F L []F }\nenum E { P = 1 }\nenum F { Q = 1 }\n"
	const changed = "package a\nstruct A root { X F Y E L []E }\nenum E { P = 1 }\nenum F { Q = 1 }\n"
	const want = "the new code reads streams of %s with other names of enum values:\n" +
		"     | A.X: was of type enum E and is of type enum F, where 1 is Q and not P: old streams are read with the wrong names\n" +
		"     | A.Y: was of type enum F and is of type enum E, where 1 is P and not Q: old streams are read with the wrong names\n" +
		"     | A.L: was of type enum F and is of type enum E, where 1 is P and not Q: old streams are read with the wrong names\n" +
		"     | Keep the enum of each field and the number of each value, and give new values new numbers. Rename an enum and its values in two steps."
	_, code, stderr := stefc(t, old, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	code, stderr = compileText(t, "shop.stef", changed, "-against", "old.stef", "-out", "gen")
	require.Equal(t, exitSchema, code)
	require.Equal(t, "shop.stef: "+fmt.Sprintf(want, "old.stef")+"\n", stderr)
	code, stderr = compileText(t, "shop.stef", changed, "-out", "gen")
	require.Equal(t, 0, code)
	require.Equal(t, "shop.stef: warning: "+fmt.Sprintf(want, "the code in gen")+" If there are no such streams, ignore this.\n", stderr)
}

// TestRunReportsChangesBelowFewerFields: if a root has fewer fields, changes in other structs
// are reported, too. The run replaces the code in the folder, so a later run could not report
// them.
func TestRunReportsChangesBelowFewerFields(t *testing.T) {
	const old = "package a\nstruct Event root { Trace string Path []Point }\nstruct Point { Z float64 }\n"
	_, code, stderr := stefc(t, old, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code, stderr)
	code, stderr = compileText(t, "shop.stef", strings.NewReplacer("Trace string ", "", "float64", "int64").Replace(old), "-out", "gen")
	require.Equal(t, 0, code)
	require.Equal(t, "shop.stef: warning: the new code reads streams of the code in gen wrongly or not at all:\n"+
		"     | Event: had 2 fields and has 1, without Trace; fields cannot be removed, but may get other names\n"+
		"     | Point.Z: was of type float64 and is of type int64\n"+
		"     | Append to structs and oneofs instead, and rename what is not used any more, such as to Unused1. If there are no such streams, ignore this.\n", stderr)
}

// TestRunAgainstRoots: several roots with other names get advice of their own.
func TestRunAgainstRoots(t *testing.T) {
	const old = "package a\nstruct A root { X bool }\nstruct B root { X bool }\n"
	stefc(t, old)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	code, stderr := compileText(t, "shop.stef", strings.NewReplacer("A root", "C root", "B root", "D root").Replace(old), "-against", "old.stef")
	require.Equal(t, exitSchema, code)
	require.Equal(t, "shop.stef: the new code reads streams of old.stef wrongly or not at all:\n"+
		"     | A: is no root any more\n"+
		"     | B: is no root any more\n"+
		"     | Keep each root. If roots got other names, rename one at a time, in a step that neither adds nor removes a root.\n", stderr)
}

// TestRunAgainstRenamedBesideNew: a root is renamed and another root is added. The root that has
// all fields of the old root is the renamed root.
func TestRunAgainstRenamedBesideNew(t *testing.T) {
	const old = "package a\nstruct Event root { At uint64 By By }\nstruct By dict(By) { Name string }\n"
	stefc(t, old)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	const warning = "shop.stef: warning: the root Event is now named GameEvent. Files stay readable, but gRPC sends the name, and a server\n" +
		"     | refuses clients with another name. A server can handle both names: see Rename a root in the README of stefc.\n"
	const refused = "shop.stef: the new code reads streams of old.stef wrongly or not at all:\n" +
		"     | Event: is no root any more\n" +
		"     | Keep each root. If roots got other names, rename one at a time, in a step that neither adds nor removes a root.\n"
	f := func(want, now string) {
		t.Helper()
		code, stderr := compileText(t, "shop.stef", now, "-against", "old.stef", "-check", "-out", "none")
		require.Equal(t, want, stderr)
		require.Equal(t, want != warning, code == exitSchema)
	}
	renamed := strings.Replace(old, "struct Event", "struct GameEvent", 1)
	f(warning, renamed)
	f(warning, renamed+"struct Ping root { At uint64 }\n")
	f(warning, strings.Replace(renamed, "By By }", "By By Note string }", 1)+"struct Ping root { At uint64 By string }\nstruct Pong root { By By At uint64 }\n")
	// It is unknown which root was renamed if two new roots have all fields of the old root, or if
	// none has them.
	f(refused, renamed+"struct Ping root { At uint64 By By }\n")
	f(refused, strings.Replace(renamed, "At uint64 ", "At int64 ", 1)+"struct Ping root { At uint64 }\n")
	f(refused, strings.Replace(renamed, "At uint64 ", "Time uint64 ", 1)+"struct Ping root { At uint64 }\n")
}

// TestRunAgainstRenamedBesideRemoved: a root is renamed and another root is removed. The advice
// names steps that work.
func TestRunAgainstRenamedBesideRemoved(t *testing.T) {
	const event, purchase = "struct Event root { At uint64 }\n", "struct Purchase root { Price int64 }\n"
	stefc(t, "package a\n"+event+purchase)
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	renamed := strings.Replace(event, "Event", "Happening", 1)
	code, stderr := compileText(t, "shop.stef", "package a\n"+renamed, "-against", "old.stef")
	require.Equal(t, exitSchema, code)
	require.Contains(t, stderr, "     | Keep each root. If roots got other names, rename one at a time, in a step that neither adds nor removes a root.\n")
	code, stderr = compileText(t, "shop.stef", "package a\n"+renamed+purchase, "-against", "old.stef")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "the root Event is now named Happening")
}

// TestRunWarnsOfNewEnums: a new field of an enum type reads as 0 from older records, although no
// writer wrote this value. stefc warns only once, even if it compares with the code in the folder
// and with -against. It does not warn about the first version of a schema.
func TestRunWarnsOfNewEnums(t *testing.T) {
	const old = "package a\nstruct A root { X bool M Mode By By }\nstruct By { Name string }\nenum Mode { Fast = 0 Slow = 1 }\nenum Other { Unspecified = 0 Z = 1 }\n"
	_, code, stderr := stefc(t, old, "-out", "gen", "shop.stef")
	require.Equal(t, 0, code)
	require.NotContains(t, stderr, "older streams")
	require.NoError(t, os.Rename("shop.stef", "old.stef"))
	f := func(want, fields string, args ...string) {
		t.Helper()
		now := strings.Replace(old, "By By }", "By By\n"+fields+"}", 1)
		now += "struct New { M Mode }\n"
		code, stderr := compileText(t, "shop.stef", now, append(args, "-out", "gen", "-check", "-ignore", "no root uses")...)
		require.Equal(t, 0, code, stderr)
		require.Equal(t, want, stderr)
	}
	const warning = "shop.stef:3:3: warning: field Pace is new, and records of older streams read as Fast, as if a writer had set it: " +
		"make the field optional, or name the value 0 Unspecified, before you write streams with the new code\n   3 |   Pace Mode\n     |   ^~~~\n"
	f(warning, "  Pace Mode\n")
	f(warning, "  Pace Mode\n", "-against", "old.stef")
	f("", "  Pace Mode\n", "-ignore", "older streams")
	f("", "  Pace Mode optional\n  O Other\n  L []Mode\n  New New\n")

	// The root and other structs have new names in the same step.
	renamed := strings.NewReplacer("struct A root", "struct Z root", "By By", "By By\n  Pace Mode\n", "struct By", "struct Who", "Name string", "Name string\n  Gait Mode\n").Replace(old)
	renamed = strings.Replace(renamed, "By By", "By Who", 1)
	for _, args := range [][]string{nil, {"-against", "old.stef"}} {
		_, stderr := compileText(t, "shop.stef", renamed, append(args, "-out", "gen", "-check")...)
		require.Contains(t, stderr, "the root A is now named Z")
		require.Contains(t, stderr, "field Pace is new")
		require.Contains(t, stderr, "field Gait is new")
	}
	// A multimap can contain itself.
	const nested = "package a\nstruct A root { M M }\nmultimap M { key string value M }\n"
	require.NoError(t, os.WriteFile("old.stef", []byte(nested), 0o644))
	code, stderr = compileText(t, "shop.stef", nested, "-against", "old.stef", "-out", "none", "-check", "-ignore", "reference implementation")
	require.Equal(t, 0, code, stderr)
	require.Empty(t, stderr)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

func TestCompare(t *testing.T) {
	// The wire schema is 3 2 3 1: the field counts of R, A, B and C.
	root := parse(t, `package a
		struct R root { A A X bool B B }
		struct A { X bool Y bool }
		struct B { X bool Y bool C C }
		struct C { X bool }`).Root("R")
	require.Equal(t, schema.WireSchema{3, 2, 3, 1}, schema.WireOf(root))
	f := func(want schema.Compat, other ...int) {
		t.Helper()
		require.Equal(t, want.String(), schema.Compare(root, other).String())
	}
	f(schema.Exact, 3, 2, 3, 1)
	f(schema.Older, 3, 2, 3, 0)
	f(schema.Older, 3, 1, 2)
	f(schema.Older, 2, 2)
	f(schema.Older, 1, 0)
	// A struct has more fields than in the root.
	f(schema.Newer, 4, 2, 3, 1)
	f(schema.Newer, 3, 3, 3, 1)
	f(schema.Newer, 3, 2, 3, 2)
	// A has a new field, whose type is unknown and has 9 fields.
	f(schema.Newer, 3, 3, 9, 3, 1)
	// A has a new field of type C. Therefore the entry of C precedes the entry of B.
	f(schema.Newer, 3, 3, 1, 3)
	// There are no entries, or the root has no fields.
	f(schema.Incompatible)
	f(schema.Incompatible, 0)
	f(schema.Incompatible, 0, 2, 3, 1)
	// The sum and the number of entries are equal, but A has fewer fields, and B or the root has more.
	f(schema.Incompatible, 3, 1, 4, 1)
	f(schema.Incompatible, 4, 1, 3, 1)
	// B is missing or has fewer fields: every entry that could belong to B is too small.
	f(schema.Incompatible, 3, 3, 3)
	f(schema.Incompatible, 3, 9, 2, 2)
	// There is one entry too many, although no struct has more fields.
	f(schema.Incompatible, 3, 2, 3, 1, 5)
	// The schema lists a struct to which only dropped fields refer, or has a negative count.
	f(schema.Incompatible, 2, 2, 3, 1)
	f(schema.Incompatible, 3, -1, 3, 1)

	require.NoError(t, schema.Extends(root, schema.WireSchema{3, 2, 3, 1}))
	require.NoError(t, schema.Extends(root, schema.WireSchema{4, 2, 3, 1}))
	for want, other := range map[string]schema.WireSchema{
		"wire schema: entry 1 (A): has 1 fields, this schema has 2":                                 {4, 1, 3, 1},
		"wire schema: entry 2 (B): has 1 fields, this schema has 3":                                 {4, 2, 1},
		"wire schema: entry 3 (C): is missing":                                                      {4, 2, 3},
		"wire schema: entry 4: is left over":                                                        {3, 2, 3, 1, 5},
		"wire schema: it has 3 entries, this schema has 4":                                          {3, 3, 3},
		"wire schema: entry 2: this entry and those after it do not have all fields of this schema": {3, 3, 2, 1},
	} {
		var e *schema.WireError
		require.ErrorAs(t, schema.Extends(root, other), &e)
		require.EqualError(t, e, want)
	}
}

// TestCompareBothWays compares real schemas with schemas that lack some of their fields. If one end finds
// that its peer is older, the other end must find that its peer is newer.
func TestCompareBothWays(t *testing.T) {
	f := func(name string, wire schema.WireSchema) {
		t.Helper()
		ours := otel(t, name)
		kept, err := schema.Keep(ours, wire)
		require.NoError(t, err)
		published := cut(ours, kept)
		require.Equal(t, wire, schema.WireOf(published))
		require.Equal(t, schema.Older, schema.Compare(ours, wire))
		require.Equal(t, schema.Newer, schema.Compare(published, schema.WireOf(ours)))
	}
	f("Metrics", publishedMetrics)
	f("Spans", publishedSpans)
}

// cut returns a copy of root that has only the kept fields.
func cut(root *schema.Struct, kept schema.Kept) *schema.Struct {
	copied := map[*schema.Struct]*schema.Struct{}
	multimaps := map[*schema.Multimap]*schema.Multimap{}
	var copyStruct func(*schema.Struct) *schema.Struct
	var copyType func(schema.Type) schema.Type
	copyStruct = func(s *schema.Struct) *schema.Struct {
		if c := copied[s]; c != nil {
			return c
		}
		c := *s
		copied[s] = &c
		c.Fields = nil
		for _, f := range s.Fields[:kept.Of(s)] {
			field := *f
			field.Type = copyType(f.Type)
			c.Fields = append(c.Fields, &field)
		}
		return &c
	}
	copyType = func(t schema.Type) schema.Type {
		switch t.Kind {
		case schema.KindStruct, schema.KindOneof:
			t.Struct = copyStruct(t.Struct)
		case schema.KindArray:
			elem := copyType(*t.Elem)
			t.Elem = &elem
		case schema.KindMultimap:
			m := multimaps[t.Multimap]
			if m == nil {
				m = &schema.Multimap{Name: t.Name}
				multimaps[t.Multimap] = m
				m.Key, m.Value = copyType(t.Multimap.Key), copyType(t.Multimap.Value)
			}
			t.Multimap = m
		}
		return t
	}
	return copyStruct(root)
}

func TestCompatibleSchemas(t *testing.T) {
	const old = `package a
		struct R root { A bool B S optional C []O D M E E }
		struct S dict(S) { X string dict(W) Y string }
		oneof O { X bool Y R }
		multimap M { key string value []S }
		enum E { Zero = 0 }`
	f := func(before, after string, want ...string) {
		t.Helper()
		changed := strings.Replace(old, before, after, 1)
		require.True(t, before == after || changed != old)
		err := schema.CompatibleSchemas(parse(t, old), parse(t, changed))
		if len(want) == 0 {
			require.NoError(t, err)
			return
		}
		var change *schema.ChangeError
		require.True(t, errors.As(err, &change))
		require.EqualError(t, err, strings.Join(want, "\n"))
	}
	f("", "")
	f("E E }", "E E F uint64 G S2 } struct S2 { X []S2 }")
	f("Y R }", "Y R Z string }")
	f("Zero = 0", "One = 1 Two = 2")
	f("struct S dict(S) { X ", "struct Unused { X bool } struct S dict(S) { Renamed ")
	f("struct R root", "struct Other root { X bool } struct R root")
	// A definition gets a new name in all places that use it.
	all := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(old) }
	f(old, all("B S", "B T", "struct S dict(S)", "struct T dict(T)", "[]S", "[]T"))
	f(old, all("D M", "D N", "multimap M", "multimap N"))
	f(old, all("dict(W)", "dict(V)"))
	f(old, all("struct R", "struct Q", "Y R", "Y Q"))
	f("E E }", "E uint64 }")

	f("A bool ", "", "R: had 5 fields and has 4, without A; fields cannot be removed, but may get other names")
	f("A bool ", "New bool A bool ",
		"R.A: was field 1 and is field 2; new fields go to the end",
		"R.B: was field 2 and is field 3; new fields go to the end",
		"R.C: was field 3 and is field 4; new fields go to the end",
		"R.D: was field 4 and is field 5; new fields go to the end",
		"R.E: was field 5 and is field 6; new fields go to the end")
	f("X string dict(W) Y string }", "Y string dict(W) X string }",
		"S.X: was field 1 and is field 2; new fields go to the end",
		"S.X: was of type string dict(W) and is of type string",
		"S.Y: was field 2 and is field 1; new fields go to the end",
		"S.Y: was of type string and is of type string dict(W)")
	f("A bool", "A int64", "R.A: was of type bool and is of type int64")
	f("A bool", "A bool optional", "R.A: was not optional and is optional")
	f("B S optional", "B S", "R.B: was optional and is not optional")
	f("C []O", "C O", "R.C: was of type array of oneof O and is of type oneof O")
	f("dict(W)", "", "S.X: was of type string dict(W) and is of type string")
	f("dict(S)", "", "S: the dictionary was S and is none")
	f("oneof O", "struct O", "R.C: was of type array of oneof O and is of type array of struct O")
	f("key string", "key bytes", "M.key: was of type string and is of type bytes")
	f("value []S", "value []O", "M.value: was of type array of struct S and is of type array of oneof O")
	f("enum E { Zero = 0 }", "struct E { X bool }", "R.E: was of type enum E and is of type struct E")
	f("Y R }", "}", "O: had 2 choices and has 1, without Y; choices cannot be removed, but may get other names")
	f("Y R }", "Z bool Y R }", "O.Y: was choice 2 and is choice 3; new choices go to the end")
	f("struct R root", "struct Z root { X bool } struct Y root { X bool } struct R", "R: is no root any more")
	// One type is split into two, or two types are merged into one. The wire schema has one number for
	// each type, so it gets more or fewer numbers.
	f("[]S }", "[]T } struct T dict(T) { X string dict(W) Y string }",
		"M.value: was of type struct S and is of type struct T")
	const two = `package a
		struct R root { A S B T C string dict(C) D string dict(D) }
		struct S { X bool }
		struct T { X bool }`
	one := strings.NewReplacer("B T", "B S", "dict(D)", "dict(C)").Replace(two)
	require.EqualError(t, schema.CompatibleSchemas(parse(t, two), parse(t, one)),
		"R.B: was of type struct T and is of type struct S\n"+
			"R.D: was of type string dict(D) and is of type string dict(C)")
	// A field gets the type or dictionary of another field. This is not a rename, even
	// if nothing else uses the old type or dictionary.
	swap := func(pairs ...string) error {
		const other = `package a
			struct R root { B S G T H string dict(D) I string dict(E) M M N N }
			struct S { X uint64 Y bool }
			struct T { X float64 }
			multimap M { key string value string }
			multimap N { key string value bytes }`
		return schema.CompatibleSchemas(parse(t, other), parse(t, strings.NewReplacer(pairs...).Replace(other)))
	}
	require.EqualError(t, swap("B S", "B T", "struct S { X uint64 Y bool }", ""), "R.B: was of type struct S and is of type struct T")
	require.EqualError(t, swap("B S", "B T"), "R.B: was of type struct S and is of type struct T")
	require.EqualError(t, swap("dict(D)", "dict(E)"), "R.H: was of type string dict(D) and is of type string dict(E)")
	require.EqualError(t, swap("M M", "M N"), "R.M: was of type multimap M and is of type multimap N")
	// S is renamed to T and T to U. Both renames are recognized, even together with another change.
	require.NoError(t, swap("S", "T", "T", "U"))
	require.EqualError(t, swap("S", "T", "T", "U", "X float64", "X bool"), "T.X: was of type float64 and is of type bool")
}

// TestChangesOfFewerFields: other changes are reported, too, if a field is removed.
func TestChangesOfFewerFields(t *testing.T) {
	const old = `package a
		struct R root { A bool B S C []O D M }
		struct S { X int64 Y bool }
		oneof O { P bool Q bool }
		multimap M { key string value int64 }`
	f := func(want string, pairs ...string) {
		t.Helper()
		err := schema.CompatibleSchemas(parse(t, old), parse(t, strings.NewReplacer(pairs...).Replace(old)))
		require.EqualError(t, err, want)
	}
	const rest = "; fields cannot be removed, but may get other names"
	f("R: had 4 fields and has 3, without A"+rest+"\nS.X: was of type int64 and is of type uint64", "A bool ", "", "X int64", "X uint64")
	f("R: had 4 fields and has 2, without A, C"+rest+"\nM.value: was of type int64 and is of type bool", "A bool ", "", "C []O ", "", "value int64", "value bool")
	// The last field is gone, and another field has a new name.
	f("R: had 4 fields and has 3, without D"+rest+"\nS.X: was of type int64 and is of type bool", "B S", "New S", " D M", "", "X int64", "X bool")
	// A field is removed, and the order of the other fields changes.
	f("R: had 4 fields and has 3, without A"+rest+"\nR.B: was field 2 and is field 2; new fields go to the end\n"+
		"R.C: was field 3 and is field 1; new fields go to the end", "A bool B S C []O", "C []O B S")
	// A field is removed and another field is added, so the number of fields stays the same.
	f("R: had 4 fields and has 4, without A"+rest+"\nR.B: was field 2 and is field 1; new fields go to the end\nS.Y: was of type bool and is of type int64\n"+
		"R.C: was field 3 and is field 2; new fields go to the end\nR.D: was field 4 and is field 3; new fields go to the end",
		"A bool ", "", "D M }", "D M Z bool }", "Y bool", "Y int64")
	// If a field moves, changes in its type are reported, too.
	f("R.A: was field 1 and is field 2; new fields go to the end\nR.B: was field 2 and is field 1; new fields go to the end\n"+
		"S.Y: was of type bool and is of type string", "A bool B S", "B S A bool", "Y bool", "Y string")
}

// TestChangesOfEnums changes enums that fields, elements, keys, values and choices use, and checks which
// of these changes are reported.
func TestChangesOfEnums(t *testing.T) {
	const old = `package a
		struct R root { A E B F C []E M M O O }
		oneof O { X E Y F }
		multimap M { key E value F }
		enum E { P = 1 Q = 2 }
		enum F { S = 1 T = 3 }
		enum Unused { U = 1 }`
	f := func(want string, pairs ...string) {
		t.Helper()
		now := parse(t, strings.NewReplacer(pairs...).Replace(old))
		require.NoError(t, schema.CompatibleSchemas(parse(t, old), now), "an enum is a uint64")
		var lines []string
		for _, c := range schema.Changes(parse(t, old), now) {
			require.Equal(t, schema.EnumChange, c.Kind)
			lines = append(lines, c.Error())
		}
		require.Equal(t, want, strings.Join(lines, "\n"))
	}
	const wrong, none = ": old streams are read with the wrong names", ": old streams have a value without a name"
	const toF = ": was of type enum E and is of type enum F, where 1 is S and not P" + wrong
	f("")
	f("R.A"+toF, "A E", "A F")
	f("R.C"+toF, "[]E", "[]F")
	f("M.key"+toF, "key E", "key F")
	f("M.value: was of type enum F and is of type enum E, where 1 is P and not S"+wrong, "value F", "value E")
	f("O.X"+toF, "X E", "X F")
	// All uses of E change to F, which existed before.
	f("R.A"+toF+"\nR.C"+toF+"\nM.key"+toF+"\nO.X"+toF, "A E", "A F", "[]E", "[]F", "key E", "key F", "X E", "X F", "enum E { P = 1 Q = 2 }", "")
	// An enum is added, and E stays in use.
	f("", "A E", "A G", "enum F", "enum G { P = 1 Q = 2 More = 3 } enum F")
	f("R.A: was of type enum E and is of type enum G, where 1 is Q and not P"+wrong, "A E", "A G", "enum F", "enum G { P = 2 Q = 1 } enum F")
	f("R.A: was of type enum E and is of type enum G, where 2 is not Q"+none, "A E", "A G", "enum F", "enum G { P = 1 Q = 3 } enum F")
	// Enums have new names. In a chain of new names, E becomes F, and F becomes G.
	all := func(now string) []string {
		return []string{"A E", "A " + now, "[]E", "[]" + now, "key E", "key " + now, "X E", "X " + now, "enum E", "enum " + now}
	}
	f("", all("G")...)
	f("", append(all("F"), "B F", "B G", "value F", "value G", "Y F", "Y G", "enum F", "enum G")...)
	f("", "P = 1", "New = 1")
	f("E.P: was 1 and is 3"+none, "P = 1", "P = 3")
	f("", "A E", "A uint64")
	f("", "U = 1", "U = 2")
	// B moves to the place of A and gets another enum. Both changes are reported.
	changes := schema.Changes(parse(t, old), parse(t, strings.NewReplacer("A E B F", "B E").Replace(old)))
	require.Len(t, changes, 2)
	require.Equal(t, schema.LayoutChange, changes[0].Kind)
	require.EqualError(t, changes[1], "R.B: was of type enum F and is of type enum E, where 1 is P and not S"+wrong)
}

func TestChangesOfRoots(t *testing.T) {
	changes := schema.Changes(parse(t, "package a struct A root { X bool } struct B root { X bool }"),
		parse(t, "package a struct C root { X bool } struct D root { X bool }"))
	require.Len(t, changes, 2)
	for _, c := range changes {
		require.Equal(t, schema.RootChange, c.Kind)
	}
}

func TestRenamedRoot(t *testing.T) {
	const old = "package a struct A root { X bool } struct B root { X bool Y string }"
	f := func(was, is, now string) {
		t.Helper()
		w, i := schema.RenamedRoot(parse(t, old), parse(t, now))
		require.Equal(t, []string{was, is}, []string{w, i})
	}
	f("", "", old)
	f("", "", old+"struct C root { X bool }")
	f("", "", "package a struct A root { X bool }")
	f("A", "C", "package a struct C root { Z int64 } struct B root { X bool Y string }")
	f("B", "C", "package a struct A root { X bool } struct C root { X bool Y string Z bool } struct D root { X bool }")
	f("", "", "package a struct A root { X bool } struct C root { X bool Y string } struct D root { X bool Y string }")
	f("", "", "package a struct C root { X bool } struct D root { X bool Y string }")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/choices"
	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// features is the set of features that occurred in values. Most keys consist of the location in the schema and
// a feature: a choice, a length, or whether a field is present. The keys of edge cases, such as "-0", have
// no location.
type features map[string]bool

func (s features) see(format string, args ...any) { s[fmt.Sprintf(format, args...)] = true }

// record adds the features of v, which is a value of type t, to s. where is the location of v in the schema.
func (s features) record(t *schema.Type, where string, v any) {
	switch v := v.(type) {
	case *dynamic.Struct:
		for i, f := range t.Struct.Fields {
			at := t.Struct.Name + "." + f.Name
			if f.Optional {
				s.see("%s present %v", at, v.Present[i])
			}
			if v.Present[i] {
				s.record(&f.Type, at, v.Fields[i])
			}
		}
	case *dynamic.Oneof:
		s.see("%s choice %d", t.Struct.Name, v.Choice)
		if v.Choice > 0 {
			f := t.Struct.Fields[v.Choice-1]
			s.record(&f.Type, t.Struct.Name+"."+f.Name, v.Value)
		}
	case *dynamic.Multimap:
		s.see("%s %s", t.Multimap.Name, lengthClass(len(v.Pairs)))
		keys := map[any]bool{}
		for _, p := range v.Pairs {
			s.record(&t.Multimap.Key, t.Multimap.Name+".key", p.Key)
			s.record(&t.Multimap.Value, t.Multimap.Name+".value", p.Value)
			if key, ok := p.Key.(string); ok {
				s["duplicate keys"] = s["duplicate keys"] || keys[key]
				keys[key] = true
			}
		}
	case *dynamic.Array:
		s.see("%s %s", where, lengthClass(min(len(v.Elems), 2)))
		for _, e := range v.Elems {
			s.record(t.Elem, where+"[]", e)
		}
	default:
		s.see("%s initial %v", where, dynamic.Equal(v, dynamic.NewValue(t)))
		s.edges(v)
	}
}

func (s features) edges(v any) {
	switch v := v.(type) {
	case uint64:
		s["above 2^63"] = s["above 2^63"] || v > 1<<63
	case int64:
		s["below 0"] = s["below 0"] || v < 0
	case float64:
		s["NaN with payload"] = s["NaN with payload"] || math.Float64bits(v) == 0x7ff8000000000002
		s["-0"] = s["-0"] || v == 0 && math.Signbit(v)
		s["infinity"] = s["infinity"] || math.IsInf(v, 0)
	case string:
		s["not UTF-8"] = s["not UTF-8"] || v == "\xff\xfe"
		s["long text"] = s["long text"] || len(v) > 128
	}
}

func lengthClass(n int) string {
	switch {
	case n == 0:
		return "empty"
	case n == 1:
		return "one"
	case n <= 62:
		return "some"
	}
	return "wide"
}

// expect adds the features that random values of type t should have to s.
func (s features) expect(t *schema.Type, where string, seen map[any]bool) {
	switch t.Kind {
	case schema.KindStruct, schema.KindOneof:
		if seen[t.Struct] {
			return
		}
		seen[t.Struct] = true
		if t.Struct.Oneof {
			for i := range len(t.Struct.Fields) + 1 {
				s.see("%s choice %d", t.Struct.Name, i)
			}
		}
		for _, f := range t.Struct.Fields {
			at := t.Struct.Name + "." + f.Name
			if f.Optional {
				s.see("%s present true", at)
				s.see("%s present false", at)
			}
			s.expect(&f.Type, at, seen)
		}
	case schema.KindMultimap:
		if seen[t.Multimap] {
			return
		}
		seen[t.Multimap] = true
		for _, class := range []string{"empty", "one", "some"} {
			s.see("%s %s", t.Multimap.Name, class)
		}
		s.expect(&t.Multimap.Key, t.Multimap.Name+".key", seen)
		s.expect(&t.Multimap.Value, t.Multimap.Name+".value", seen)
	case schema.KindArray:
		for _, class := range []string{"empty", "one", "some"} {
			s.see("%s %s", where, class)
		}
		s.expect(t.Elem, where+"[]", seen)
	default:
		s.see("%s initial true", where)
		s.see("%s initial false", where)
	}
}

// requireAll requires that have contains every feature that expect lists for values of root.
func requireAll(t *testing.T, root *schema.Struct, have features) {
	t.Helper()
	want := features{}
	want.expect(&schema.Type{Kind: schema.KindStruct, Struct: root}, root.Name, map[any]bool{})
	for what := range want {
		require.True(t, have[what], "never seen: %s", what)
	}
}

func TestRecordsReachEverything(t *testing.T) {
	otel := load(t, "stef-spec", "otel.stef")
	f := func(root *schema.Struct, edges ...string) {
		t.Helper()
		have := features{}
		typ := &schema.Type{Kind: schema.KindStruct, Struct: root}
		for seed := range uint64(100) {
			for _, rec := range steftest.Records(seed, root, 50, steftest.Shape{}) {
				have.record(typ, root.Name, rec)
			}
		}
		requireAll(t, root, have)
		for _, edge := range edges {
			require.True(t, have[edge], "never seen: %s", edge)
		}
	}
	edges := []string{"duplicate keys", "above 2^63", "below 0", "NaN with payload", "-0", "infinity", "not UTF-8", "long text"}
	f(otel.Root("Metrics"), append(edges, "Attributes wide")...)
	f(otel.Root("Spans"), append(edges, "Attributes wide")...)
	f(otel.Root("Logs"), append(edges, "Attributes wide")...)
	f(fixture(t, "optionals").Root("Record"))
	f(fixture(t, "choices").Root("Record"))
	f(fixture(t, "scalars").Root("Plain"))
}

// TestMutatorsReachEverything checks that mutated records have every feature that values of
// their schema can have.
func TestMutatorsReachEverything(t *testing.T) {
	f := func(root *steftest.Root, rec func() any) {
		t.Helper()
		have := features{}
		typ := &schema.Type{Kind: schema.KindStruct, Struct: root.Schema}
		for seed := range uint64(150) {
			m := steftest.NewMutator(seed, root, rec(), nil)
			for range 40 {
				have.record(typ, root.Schema.Name, m.Mutate())
			}
		}
		requireAll(t, root.Schema, have)
	}
	f(metricsRoot(t), func() any { return otelstef.NewMetrics() })
	f(optionalsRoot(t), func() any { return optionals.NewRecord() })
	f(choicesRoot(t), func() any { return choices.NewRecord() })
	f(scalarsRoot(t), func() any { return scalars.NewPlain() })
}

func TestRecordsFollowFromTheSeed(t *testing.T) {
	root := metricsRoot(t)
	a := steftest.Records(3, root.Schema, 30, steftest.Shape{})
	require.Len(t, a, 30)
	require.Empty(t, steftest.DiffAll(root.Schema, a, steftest.Records(3, root.Schema, 30, steftest.Shape{})))
	require.NotEmpty(t, steftest.DiffAll(root.Schema, a, steftest.Records(4, root.Schema, 30, steftest.Shape{})))
	require.Empty(t, steftest.Records(3, root.Schema, 0, steftest.Shape{}))
}

func TestShape(t *testing.T) {
	root := metricsRoot(t).Schema
	deepest := map[int]int{}
	for _, most := range []int{2, 4, 12} {
		for seed := range uint64(20) {
			for _, rec := range steftest.Records(seed, root, 30, steftest.Shape{Depth: most, Wide: -1}) {
				deepest[most] = max(deepest[most], depthOf(rec))
			}
		}
	}
	require.Less(t, deepest[2], deepest[12])
	require.Less(t, deepest[4], deepest[12])
	require.LessOrEqual(t, deepest[12], 14)
}

// depthOf returns how deep the composite values in v are nested.
func depthOf(v any) int {
	deepest := 0
	see := func(part any) { deepest = max(deepest, depthOf(part)) }
	switch v := v.(type) {
	case *dynamic.Struct:
		for i, f := range v.Fields {
			if v.Present[i] {
				see(f)
			}
		}
	case *dynamic.Oneof:
		see(v.Value)
	case *dynamic.Multimap:
		for _, p := range v.Pairs {
			see(p.Value)
		}
	case *dynamic.Array:
		for _, e := range v.Elems {
			see(e)
		}
	default:
		return 0
	}
	return deepest + 1
}

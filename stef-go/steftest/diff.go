// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Diff describes the first difference of two records of root, or returns "" if they
// are equal. Floats are compared by their bits.
func Diff(root *schema.Struct, want, have *dynamic.Struct) string {
	return diff(&schema.Type{Kind: schema.KindStruct, Struct: root}, root.Name, want, have)
}

func diff(t *schema.Type, path string, want, have any) string {
	if dynamic.Equal(want, have) {
		return ""
	}
	switch want := want.(type) {
	case *dynamic.Struct:
		return diffStructs(t.Struct, path, want, have.(*dynamic.Struct))
	case *dynamic.Oneof:
		have := have.(*dynamic.Oneof)
		if want.Choice != have.Choice {
			return fmt.Sprintf("%s: want choice %d, have %d", path, want.Choice, have.Choice)
		}
		f := t.Struct.Fields[want.Choice-1]
		return diff(&f.Type, path+"."+f.Name, want.Value, have.Value)
	case *dynamic.Multimap:
		return diffPairs(t.Multimap, path, want.Pairs, have.(*dynamic.Multimap).Pairs)
	case *dynamic.Array:
		have := have.(*dynamic.Array)
		if len(want.Elems) != len(have.Elems) {
			return fmt.Sprintf("%s: want %d elements, have %d", path, len(want.Elems), len(have.Elems))
		}
		for i := range want.Elems {
			if d := diff(t.Elem, fmt.Sprintf("%s[%d]", path, i), want.Elems[i], have.Elems[i]); d != "" {
				return d
			}
		}
	case float64:
		have := have.(float64)
		return fmt.Sprintf("%s: want %g (%#x), have %g (%#x)", path, want, math.Float64bits(want), have, math.Float64bits(have))
	}
	return fmt.Sprintf("%s: want %#v, have %#v", path, want, have)
}

func diffStructs(s *schema.Struct, path string, want, have *dynamic.Struct) string {
	for i, f := range s.Fields {
		at := path + "." + f.Name
		if want.Present[i] != have.Present[i] {
			return fmt.Sprintf("%s: want present %v, have %v", at, want.Present[i], have.Present[i])
		}
		if want.Present[i] {
			if d := diff(&f.Type, at, want.Fields[i], have.Fields[i]); d != "" {
				return d
			}
		}
	}
	return path + ": differs"
}

func diffPairs(m *schema.Multimap, path string, want, have []dynamic.Pair) string {
	if len(want) != len(have) {
		return fmt.Sprintf("%s: want %d pairs, have %d", path, len(want), len(have))
	}
	for i := range want {
		if d := diff(&m.Key, fmt.Sprintf("%s[%d].key", path, i), want[i].Key, have[i].Key); d != "" {
			return d
		}
		if d := diff(&m.Value, fmt.Sprintf("%s[%d].value", path, i), want[i].Value, have[i].Value); d != "" {
			return d
		}
	}
	return path + ": differs"
}

// DiffAll is like Diff, but for two sequences of records. It names the record, counted from 1.
func DiffAll(root *schema.Struct, want, have []*dynamic.Struct) string {
	for i := range min(len(want), len(have)) {
		if d := Diff(root, want[i], have[i]); d != "" {
			return fmt.Sprintf("record %d: %s", i+1, d)
		}
	}
	if len(want) != len(have) {
		return fmt.Sprintf("want %d records, have %d", len(want), len(have))
	}
	return ""
}

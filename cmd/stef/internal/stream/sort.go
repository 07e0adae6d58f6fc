// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"slices"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// SortKeys returns a copy of a record whose multimaps have their pairs in the order of
// the keys, at any depth. Writers in mode sorted reorder attributes, so records from before and
// after such a writer are equal only if their keys are sorted. Pairs of equal keys, and of
// keys that are not text, keep their order.
func SortKeys(rec *dynamic.Struct) *dynamic.Struct {
	sorted := *rec
	sorted.Fields = make([]any, len(rec.Fields))
	for i, v := range rec.Fields {
		sorted.Fields[i] = sortKeys(v)
	}
	return &sorted
}

func sortKeys(v any) any {
	switch v := v.(type) {
	case *dynamic.Struct:
		return SortKeys(v)
	case *dynamic.Oneof:
		sorted := *v
		sorted.Value = sortKeys(v.Value)
		return &sorted
	case *dynamic.Array:
		sorted := *v
		sorted.Elems = make([]any, len(v.Elems))
		for i, e := range v.Elems {
			sorted.Elems[i] = sortKeys(e)
		}
		return &sorted
	case *dynamic.Multimap:
		sorted := *v
		sorted.Pairs = make([]dynamic.Pair, len(v.Pairs))
		for i, p := range v.Pairs {
			sorted.Pairs[i] = dynamic.Pair{Key: p.Key, Value: sortKeys(p.Value)}
		}
		slices.SortStableFunc(sorted.Pairs, func(a, b dynamic.Pair) int {
			x, _ := a.Key.(string)
			y, _ := b.Key.(string)
			return cmp.Compare(x, y)
		})
		return &sorted
	}
	return v
}

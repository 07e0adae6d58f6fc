// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// This file defines the order of values for sorted streams. Structs are compared by field, text
// by bytes, arrays by length and then by element, multimaps by keys, then by length, then by
// values, oneofs by choice and then by value.
//
// Different floats for which cmp.Compare returns 0 (0 and -0, two NaNs) are ordered by
// their bits, so that only identical values compare as equal.

func CompareValues(a, b *otelstef.AnyValue) int {
	if c := cmp.Compare(a.Type(), b.Type()); c != 0 {
		return c
	}
	switch a.Type() {
	case otelstef.AnyValueTypeString:
		return cmp.Compare(a.Str(), b.Str())
	case otelstef.AnyValueTypeBool:
		return bools(a.Bool(), b.Bool())
	case otelstef.AnyValueTypeInt64:
		return cmp.Compare(a.Int64(), b.Int64())
	case otelstef.AnyValueTypeFloat64:
		return CompareFloats(a.Float64(), b.Float64())
	case otelstef.AnyValueTypeArray:
		x, y := a.Array(), b.Array()
		if c := cmp.Compare(x.Len(), y.Len()); c != 0 {
			return c
		}
		for i := range x.Len() {
			if c := CompareValues(x.At(i), y.At(i)); c != 0 {
				return c
			}
		}
	case otelstef.AnyValueTypeKVList:
		return CompareLists(a.KVList(), b.KVList())
	case otelstef.AnyValueTypeBytes:
		return bytes.Compare(a.Bytes(), b.Bytes())
	}
	return 0
}

// list is the common interface of multimaps of values.
type list interface {
	Len() int
	Key(i int) string
	Value(i int) *otelstef.AnyValue
}

func CompareLists(a, b list) int {
	n := min(a.Len(), b.Len())
	for i := range n {
		if c := cmp.Compare(a.Key(i), b.Key(i)); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(a.Len(), b.Len()); c != 0 {
		return c
	}
	for i := range n {
		if c := CompareValues(a.Value(i), b.Value(i)); c != 0 {
			return c
		}
	}
	return 0
}

func bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func CompareFloats(a, b float64) int {
	if c := cmp.Compare(a, b); c != 0 {
		return c
	}
	return cmp.Compare(math.Float64bits(a), math.Float64bits(b))
}

// compareDescriptors compares two metrics by the fields that come before their histogram bounds in the sort order.
func compareDescriptors(a, b *otelstef.Metric) int {
	if c := cmp.Compare(a.Name(), b.Name()); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Description(), b.Description()); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.Unit(), b.Unit()), cmp.Compare(a.Type(), b.Type())); c != 0 {
		return c
	}
	return CompareLists(a.Metadata(), b.Metadata())
}

// CompareMetrics compares two metrics as if their bounds were x and y.
func CompareMetrics(a, b *otelstef.Metric, x, y []float64) int {
	if a != b {
		if c := compareDescriptors(a, b); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	for i := range x {
		if c := CompareFloats(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Or(
		cmp.Compare(a.AggregationTemporality(), b.AggregationTemporality()),
		bools(a.Monotonic(), b.Monotonic()),
	)
}

func CompareResources(a, b *otelstef.Resource) int {
	if c := cmp.Or(
		cmp.Compare(a.SchemaURL(), b.SchemaURL()),
		CompareLists(a.Attributes(), b.Attributes()),
		cmp.Compare(a.DroppedAttributesCount(), b.DroppedAttributesCount()),
		cmp.Compare(a.EntityRefs().Len(), b.EntityRefs().Len()),
	); c != 0 {
		return c
	}
	for i := range a.EntityRefs().Len() {
		if c := compareEntityRefs(a.EntityRefs().At(i), b.EntityRefs().At(i)); c != 0 {
			return c
		}
	}
	return 0
}

func compareEntityRefs(a, b *otelstef.EntityRef) int {
	return cmp.Or(
		cmp.Compare(a.SchemaURL(), b.SchemaURL()),
		cmp.Compare(a.Type(), b.Type()),
		compareTexts(a.IDKeys().Values(), b.IDKeys().Values()),
		compareTexts(a.DescriptionKeys().Values(), b.DescriptionKeys().Values()),
	)
}

func compareTexts(a, b []string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b))
}

func CompareScopes(a, b *otelstef.Scope) int {
	return cmp.Or(
		cmp.Compare(a.Name(), b.Name()),
		cmp.Compare(a.Version(), b.Version()),
		cmp.Compare(a.SchemaURL(), b.SchemaURL()),
		CompareLists(a.Attributes(), b.Attributes()),
		cmp.Compare(a.DroppedAttributesCount(), b.DroppedAttributesCount()),
	)
}

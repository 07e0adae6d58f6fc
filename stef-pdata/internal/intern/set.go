// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/order"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// attrSet is the attributes of a point, in their original order and by key. If the
// keys ascend, both are the same slice.
type attrSet struct {
	arrival, byKey []attr
	shape          uint32 // sets of one shape have the same keys in byKey
	// before is the set that preceded this one the last time that this one was written, or 0.
	// It has the same shape. differs has a bit for each value in which the two sets differ.
	before  uint32
	differs uint64
}

// attr is one attribute. Two attributes of a pool with the same typ, num and deep
// have the same value.
type attr struct {
	key  string
	text string             // value of a String
	num  uint64             // value of a Bool, Int64 or Float64; number of a String
	deep *otelstef.AnyValue // value of an Array, KVList or Bytes
	typ  otelstef.AnyValueType

	keyNumber uint32 // of the key
}

// ascending reports whether the keys ascend.
func (s *attrSet) ascending() bool { return len(s.arrival) == 0 || &s.arrival[0] == &s.byKey[0] }

// sort sets byKey.
func (s *attrSet) sort() {
	byName := func(a, b attr) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(s.arrival, byName) {
		s.byKey = slices.Clone(s.arrival)
		slices.SortStableFunc(s.byKey, byName)
	}
}

// isDeep reports whether attr.deep holds values of a type.
func isDeep(t otelstef.AnyValueType) bool {
	return t == otelstef.AnyValueTypeArray || t == otelstef.AnyValueTypeKVList || t == otelstef.AnyValueTypeBytes
}

func (a *attr) holds(v pcommon.Value) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return a.typ == otelstef.AnyValueTypeString && a.text == v.Str()
	case pcommon.ValueTypeInt:
		return a.typ == otelstef.AnyValueTypeInt64 && a.num == uint64(v.Int())
	case pcommon.ValueTypeDouble:
		return a.typ == otelstef.AnyValueTypeFloat64 && a.num == math.Float64bits(v.Double())
	case pcommon.ValueTypeBool:
		return a.typ == otelstef.AnyValueTypeBool && (a.num != 0) == v.Bool()
	case pcommon.ValueTypeEmpty:
		return a.typ == otelstef.AnyValueTypeNone
	}
	return a.deep != nil && values.SameValue(a.deep, v)
}

// compareSets is CompareLists for sets.
func compareSets(a, b *attrSet) int {
	n := min(len(a.byKey), len(b.byKey))
	if a.shape != b.shape {
		for i := range n {
			if c := cmp.Compare(a.byKey[i].key, b.byKey[i].key); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(len(a.byKey), len(b.byKey)); c != 0 {
			return c
		}
	}
	for i := range n {
		x, y := &a.byKey[i], &b.byKey[i]
		if x.num == y.num && x.typ == y.typ && x.deep == y.deep {
			continue // the same value
		}
		if c := compareAttrs(x, y); c != 0 {
			return c
		}
	}
	return 0
}

func compareAttrs(a, b *attr) int {
	if c := cmp.Compare(a.typ, b.typ); c != 0 {
		return c
	}
	switch a.typ {
	case otelstef.AnyValueTypeNone:
		return 0
	case otelstef.AnyValueTypeString:
		return cmp.Compare(a.text, b.text)
	case otelstef.AnyValueTypeBool:
		return cmp.Compare(a.num, b.num)
	case otelstef.AnyValueTypeInt64:
		return cmp.Compare(int64(a.num), int64(b.num))
	case otelstef.AnyValueTypeFloat64:
		return order.CompareFloats(math.Float64frombits(a.num), math.Float64frombits(b.num))
	}
	return order.CompareValues(a.deep, b.deep)
}

// writeSet sets dst to the attributes of a set.
func (p *Sets) writeSet(dst *otelstef.Attributes, set []attr) {
	dst.SetLen(len(set))
	for i := range set {
		a := &set[i]
		dst.SetKeyRef(i, a.key, p.keys.of(a.keyNumber, a.key))
		p.write(dst.Value(i), a)
	}
}

// write sets dst to the value of an attribute.
func (p *Sets) write(dst *otelstef.AnyValue, a *attr) {
	switch a.typ {
	case otelstef.AnyValueTypeNone:
		dst.SetType(a.typ)
	case otelstef.AnyValueTypeString:
		dst.SetStringRef(a.text, p.values.of(uint32(a.num), a.text))
	case otelstef.AnyValueTypeInt64:
		dst.SetInt64(int64(a.num))
	case otelstef.AnyValueTypeFloat64:
		dst.SetFloat64(math.Float64frombits(a.num))
	case otelstef.AnyValueTypeBool:
		dst.SetBool(a.num != 0)
	default:
		dst.CopyFrom(a.deep)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"cmp"
	"math"

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
func compareSets(a, b []attr) int {
	n := min(len(a), len(b))
	for i := range n {
		if c := cmp.Compare(a[i].key, b[i].key); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	for i := range n {
		if c := compareAttrs(&a[i], &b[i]); c != 0 {
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

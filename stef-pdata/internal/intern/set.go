// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/order"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// attrSet contains the attributes of a point.
type attrSet struct {
	arrival []attr // the attributes in their original order
	layout  uint32 // the number of the layout of arrival
	// In the record, a set can replace another set with the same keys. before is the last set that
	// this set has replaced in this way, or 0 if there is none. differs has a bit for each value in
	// which the two sets differ.
	before  uint32
	differs uint64
	bytes   int // counted as for mapping.MaxItemBytes
}

// layout is a list of keys.
type layout struct {
	sorted uint32   // the number of the layout that has the same keys in ascending order
	byKey  []uint16 // the index of each key, in ascending order of the keys
}

type attr struct {
	key  string
	text string             // value of a String
	num  uint64             // value of a Bool, Int64 or Float64; number of a String
	deep *otelstef.AnyValue // value of an Array, KVList or Bytes
	typ  otelstef.AnyValueType

	keyNumber uint32 // number of the key
}

// layout returns the number of the layout of pairs. It adds the layout if it is new.
func (p *Sets) layout(pairs []attr) uint32 {
	p.scratch = p.scratch[:0]
	for i := range pairs {
		p.scratch = binary.LittleEndian.AppendUint32(p.scratch, pairs[i].keyNumber)
	}
	number, fresh := p.keyLists.Number(unsafe.String(unsafe.SliceData(p.scratch), len(p.scratch))) // Number copies the text
	if !fresh {
		return number
	}
	l := layout{sorted: number, byKey: make([]uint16, len(pairs))}
	for i := range l.byKey {
		l.byKey[i] = uint16(i)
	}
	byName := func(a, b uint16) int { return cmp.Compare(pairs[a].key, pairs[b].key) }
	ascending := slices.IsSortedFunc(l.byKey, byName)
	if !ascending {
		slices.SortStableFunc(l.byKey, byName)
	}
	p.layouts = append(p.layouts, l)
	if !ascending {
		sorted := make([]attr, 0, len(pairs))
		for _, i := range l.byKey {
			sorted = append(sorted, pairs[i])
		}
		p.layouts[number].sorted = p.layout(sorted)
	}
	return number
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

// compare is like order.CompareLists, but for sets.
func (p *Sets) compare(a, b *attrSet) int {
	x, y := &p.layouts[a.layout], &p.layouts[b.layout]
	n := min(len(x.byKey), len(y.byKey))
	if x.sorted != y.sorted {
		for i := range n {
			if c := cmp.Compare(a.arrival[x.byKey[i]].key, b.arrival[y.byKey[i]].key); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(len(x.byKey), len(y.byKey)); c != 0 {
			return c
		}
	}
	for i := range n {
		v, w := &a.arrival[x.byKey[i]], &b.arrival[y.byKey[i]]
		if v.sameValue(w) {
			continue
		}
		if c := compareAttrs(v, w); c != 0 {
			return c
		}
	}
	return 0
}

// sameValue reports whether two attributes of a pool have the same value.
func (a *attr) sameValue(b *attr) bool { return a.num == b.num && a.typ == b.typ && a.deep == b.deep }

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

func (p *Sets) writeSet(dst *otelstef.Attributes, set *attrSet) {
	dst.SetLen(len(set.arrival))
	for i, place := range p.layouts[set.layout].byKey {
		a := &set.arrival[place]
		dst.SetKeyRef(i, a.key, p.keys.of(a.keyNumber, a.key))
		p.write(dst.Value(i), a)
	}
}

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

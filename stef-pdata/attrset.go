// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// setPool holds the attribute sets of points seen.
type setPool struct {
	lineup
	entries []attrSet // by id
	pairs   int       // in all entries
}

// attrSet is the attributes of a point, as they came and by key. In sets whose
// keys ascend both are the same slice.
type attrSet struct {
	arrival, byKey []attr
}

// attr is one attribute.
type attr struct {
	key  string
	text string             // of String
	num  uint64             // of Bool, Int64 and Float64
	deep *otelstef.AnyValue // Array, KVList and Bytes
	typ  otelstef.AnyValueType
}

func (p *setPool) reset() {
	p.lineup.reset()
	clear(p.entries)
	p.entries, p.pairs = p.entries[:0], 0
}

// find returns the id of a set, which it adds if it is new. likely is an id to
// try first, or 0.
func (p *setPool) find(c *copier, m pcommon.Map, likely uint32) (uint32, error) {
	if likely != 0 && sameSet(p.entries[likely].arrival, m) {
		p.came(likely)
		return likely, nil
	}
	if id := p.guess(); id != 0 && id != likely && sameSet(p.entries[id].arrival, m) {
		p.came(id)
		return id, nil
	}
	var h hash
	h.attributes(m)
	for id := p.byHash[uint64(h)]; id != 0; id = p.chain[id] {
		if sameSet(p.entries[id].arrival, m) {
			p.came(id)
			return id, nil
		}
	}
	set, err := makeSet(c, m)
	if err != nil {
		return 0, err
	}
	p.pairs += len(set.arrival)
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], set)
	p.came(id)
	return id, nil
}

func makeSet(c *copier, m pcommon.Map) (attrSet, error) {
	n := m.Len()
	c.begin()
	if err := c.pairs(n); err != nil {
		return attrSet{}, inField("attributes", err)
	}
	pairs := make([]attr, 0, n)
	for k, v := range m.All() {
		c.left -= len(k)
		a, err := c.pair(v)
		if err != nil {
			return attrSet{}, inField(fmt.Sprintf("attributes[%q]", shorten(k)), err)
		}
		a.key = k
		pairs = append(pairs, a)
	}
	if err := c.take(0); err != nil {
		return attrSet{}, inField("attributes", err)
	}
	byName := func(a, b attr) int { return cmp.Compare(a.key, b.key) }
	if slices.IsSortedFunc(pairs, byName) {
		return attrSet{pairs, pairs}, nil
	}
	byKey := slices.Clone(pairs)
	slices.SortStableFunc(byKey, byName)
	return attrSet{pairs, byKey}, nil
}

// pair returns an attribute without its key.
func (c *copier) pair(v pcommon.Value) (attr, error) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return attr{}, nil
	case pcommon.ValueTypeStr:
		c.left -= len(v.Str())
		return attr{typ: otelstef.AnyValueTypeString, text: v.Str()}, nil
	case pcommon.ValueTypeInt:
		return attr{typ: otelstef.AnyValueTypeInt64, num: uint64(v.Int())}, nil
	case pcommon.ValueTypeDouble:
		return attr{typ: otelstef.AnyValueTypeFloat64, num: math.Float64bits(v.Double())}, nil
	case pcommon.ValueTypeBool:
		a := attr{typ: otelstef.AnyValueTypeBool}
		if v.Bool() {
			a.num = 1
		}
		return a, nil
	}
	deep := otelstef.NewAnyValue()
	err := c.value(deep, v, 0)
	return attr{typ: deep.Type(), deep: deep}, err
}

func sameSet(set []attr, m pcommon.Map) bool {
	if len(set) != m.Len() {
		return false
	}
	i := 0
	for k, v := range m.All() {
		a := &set[i]
		if a.key != k || !a.holds(v) {
			return false
		}
		i++
	}
	return true
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
	return a.deep != nil && sameValue(a.deep, v)
}

// compareSets is compareLists for sets.
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
		return compareFloats(math.Float64frombits(a.num), math.Float64frombits(b.num))
	}
	return compareValues(a.deep, b.deep)
}

// writeSet gives dst the attributes of a set.
func writeSet(dst *otelstef.Attributes, set []attr) {
	dst.SetLen(len(set))
	for i := range set {
		a := &set[i]
		switch a.typ {
		case otelstef.AnyValueTypeString:
			dst.SetString(i, a.key, a.text)
		case otelstef.AnyValueTypeInt64:
			dst.SetInt64(i, a.key, int64(a.num))
		case otelstef.AnyValueTypeFloat64:
			dst.SetFloat64(i, a.key, math.Float64frombits(a.num))
		case otelstef.AnyValueTypeBool:
			dst.SetBool(i, a.key, a.num != 0)
		case otelstef.AnyValueTypeNone:
			dst.SetKey(i, a.key)
			dst.Value(i).SetType(a.typ)
		default:
			dst.SetKey(i, a.key)
			dst.Value(i).CopyFrom(a.deep)
		}
	}
}

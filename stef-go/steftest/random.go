// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Shape sets the size of random values. With the zero Shape, a thousand records of a
// large schema take about a second.
type Shape struct {
	// Depth is the maximum number of levels of structs, oneofs, multimaps and arrays
	// in a record. 0 means 10.
	Depth int
	// Wide is how many of a thousand multimaps and arrays have 61 to 1023 pairs or
	// elements. A multimap can send the changed values of at most 62 pairs without
	// keys, and has at most 1023 pairs. If Wide is 0, it means 2; a negative value
	// means none.
	Wide int
}

func (s Shape) orDefault() Shape {
	if s.Depth == 0 {
		s.Depth = 10
	}
	if s.Wide == 0 {
		s.Wide = 2
	}
	return s
}

// maxPairs is the maximum number of pairs in a multimap.
const maxPairs = 1023

// random makes values. The seed determines all of them.
type random struct {
	*rand.Rand
	shape Shape
}

func newRandom(seed uint64, shape Shape) random {
	return random{rand.New(rand.NewPCG(seed, 0)), shape.orDefault()}
}

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

// Records returns n records of root. Each record is a random change of an earlier record, usually
// of the previous record, or equal to it. The same seed produces the same records.
func Records(seed uint64, root *schema.Struct, n int, shape Shape) []*dynamic.Struct {
	return newRandom(seed, shape).records(root, n)
}

func (r random) records(root *schema.Struct, n int) []*dynamic.Struct {
	recs := make([]*dynamic.Struct, 0, n)
	last := dynamic.NewStruct(root)
	for len(recs) < n {
		rec := last
		if len(recs) > 0 && r.chance(10) {
			rec = recs[r.IntN(len(recs))]
		}
		if r.chance(90) {
			rec = r.structure(root, rec, r.shape.Depth)
		}
		recs = append(recs, rec)
		last = rec
	}
	return recs
}

// fresh returns a randomly changed copy of the initial value of type t.
func (r random) fresh(t *schema.Type, depth int) any { return r.change(t, dynamic.NewValue(t), depth) }

// change returns a randomly changed copy of v, a value of type t. At depth 0 it adds
// no further nesting.
func (r random) change(t *schema.Type, v any, depth int) any {
	switch t.Kind {
	case schema.KindStruct:
		return r.structure(t.Struct, v.(*dynamic.Struct), depth)
	case schema.KindOneof:
		return r.oneof(t.Struct, v.(*dynamic.Oneof), depth)
	case schema.KindMultimap:
		return r.multimap(t.Multimap, v.(*dynamic.Multimap), depth)
	case schema.KindArray:
		return r.array(t.Elem, v.(*dynamic.Array), depth)
	}
	return r.primitive(t)
}

func (r random) structure(s *schema.Struct, v *dynamic.Struct, depth int) *dynamic.Struct {
	c := &dynamic.Struct{Fields: append([]any{}, v.Fields...), Present: append([]bool{}, v.Present...)}
	same := 40 // the percentage of fields that do not change
	if len(s.Fields) > 6 {
		same = 60
	}
	for i, f := range s.Fields {
		if r.chance(same) {
			continue
		}
		if f.Optional {
			c.Present[i] = r.chance(60) && depth > 0
			if !c.Present[i] {
				continue
			}
			if c.Fields[i] == nil || f.Type.Kind.Composite() && !v.Present[i] {
				c.Fields[i] = dynamic.NewValue(&f.Type)
			}
		}
		c.Fields[i] = r.change(&f.Type, c.Fields[i], depth-1)
	}
	return c
}

func (r random) oneof(s *schema.Struct, v *dynamic.Oneof, depth int) *dynamic.Oneof {
	if depth < 0 {
		return new(dynamic.Oneof)
	}
	c := &dynamic.Oneof{Choice: v.Choice, Value: v.Value}
	if r.chance(40) || v.Choice == 0 {
		c.Choice, c.Value = r.IntN(len(s.Fields)+1), nil
		if c.Choice > 0 && c.Choice != v.Choice {
			c.Value = dynamic.NewValue(&s.Fields[c.Choice-1].Type)
		} else if c.Choice > 0 {
			c.Value = v.Value
		}
	}
	if c.Choice > 0 {
		c.Value = r.change(&s.Fields[c.Choice-1].Type, c.Value, depth-1)
	}
	return c
}

// size returns a random length, often n. It returns 0 if depth is negative, so that nesting
// ends.
func (r random) size(n, depth int) int {
	switch {
	case depth < 0:
		return 0
	case r.IntN(1000) < r.shape.Wide:
		return []int{61, 62, 63, 64, 65, 100, maxPairs - 1, maxPairs}[r.IntN(8)]
	case r.chance(60):
		return n
	}
	return r.IntN(5)
}

func (r random) multimap(m *schema.Multimap, v *dynamic.Multimap, depth int) *dynamic.Multimap {
	c := &dynamic.Multimap{Pairs: append([]dynamic.Pair{}, v.Pairs...)}
	n := r.size(len(c.Pairs), depth)
	c.Pairs = c.Pairs[:min(n, len(c.Pairs))]
	wide := 1 + n/10 // wide values change little, to save time
	for i := range c.Pairs {
		if r.IntN(20*wide) == 0 {
			c.Pairs[i].Key = r.change(&m.Key, c.Pairs[i].Key, depth-1)
		}
		if r.IntN(3*wide) == 0 {
			c.Pairs[i].Value = r.change(&m.Value, c.Pairs[i].Value, depth-1)
		}
	}
	for len(c.Pairs) < n {
		p := dynamic.Pair{Key: r.fresh(&m.Key, depth-1), Value: dynamic.NewValue(&m.Value)}
		if r.IntN(wide) == 0 {
			p.Value = r.change(&m.Value, p.Value, depth-1)
		}
		c.Pairs = append(c.Pairs, p)
	}
	return c
}

func (r random) array(t *schema.Type, v *dynamic.Array, depth int) *dynamic.Array {
	c := &dynamic.Array{Elems: append([]any{}, v.Elems...)}
	n := r.size(len(c.Elems), depth)
	c.Elems = c.Elems[:min(n, len(c.Elems))]
	wide := 1 + n/10
	for i := range c.Elems {
		if r.IntN(3*wide) == 0 {
			c.Elems[i] = r.change(t, c.Elems[i], depth-1)
		}
	}
	for len(c.Elems) < n {
		elem := dynamic.NewValue(t)
		if r.IntN(wide) == 0 {
			elem = r.change(t, elem, depth-1)
		}
		c.Elems = append(c.Elems, elem)
	}
	return c
}

func (r random) primitive(t *schema.Type) any {
	if r.chance(5) {
		return dynamic.NewValue(t)
	}
	switch t.Kind {
	case schema.KindBool:
		return r.chance(50)
	case schema.KindInt64:
		return int64(r.number())
	case schema.KindUint64:
		return r.number()
	case schema.KindEnum:
		// Most values are named, but every number is legal.
		if n := len(t.Enum.Values); n > 0 && r.chance(80) {
			return t.Enum.Values[r.IntN(n)].Value
		}
		return r.number()
	case schema.KindFloat64:
		return r.float()
	case schema.KindString:
		return r.text()
	case schema.KindBytes:
		return []byte(r.text())
	}
	panic(fmt.Sprintf("steftest: %s is not a primitive type", t))
}

func (r random) number() uint64 {
	switch r.IntN(5) {
	case 0:
		return r.Uint64()
	case 1:
		return []uint64{math.MaxUint64, 1 << 63, 1<<63 - 1, 1 << 32}[r.IntN(4)] - r.Uint64N(2)
	case 2:
		return 1_700_000_000_000_000_000 + r.Uint64N(1e12)
	}
	return r.Uint64N(100)
}

var specialFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.NaN(), math.Float64frombits(0x7ff8000000000002), math.Float64frombits(0x7ff0000000000001), math.Float64frombits(0xffffffffffffffff),
}

func (r random) float() float64 {
	switch r.IntN(3) {
	case 0:
		return specialFloats[r.IntN(len(specialFloats))]
	case 1:
		return float64(r.IntN(1000)) / 8
	}
	return math.Float64frombits(r.Uint64())
}

var specialTexts = []string{"", "a", "b", "ab", "cd", "\x00", "\x00\x00", "\xff\xfe", "\xff", "ü", "service.name", "\"\\\n"}

func (r random) text() string {
	switch n := r.IntN(10); {
	case n < 5:
		return specialTexts[r.IntN(len(specialTexts))]
	case n < 9:
		// These are enough words to make dictionaries grow, and few enough that words repeat.
		return fmt.Sprintf("word %d", r.IntN(300))
	}
	b := make([]byte, r.IntN(200))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// wire removes fields of root at random and returns the resulting wire schema.
func (r random) wire(root *schema.Struct) schema.WireSchema {
	kept := schema.Kept{}
	var visit func(t *schema.Type)
	walked := map[*schema.Multimap]bool{}
	visit = func(t *schema.Type) {
		switch t.Kind {
		case schema.KindArray:
			visit(t.Elem)
		case schema.KindMultimap:
			if !walked[t.Multimap] {
				walked[t.Multimap] = true
				visit(&t.Multimap.Key)
				visit(&t.Multimap.Value)
			}
		case schema.KindStruct, schema.KindOneof:
			if _, ok := kept[t.Struct]; ok {
				return
			}
			n := len(t.Struct.Fields)
			if r.chance(40) {
				n = r.IntN(n + 1)
			}
			if t.Struct == root {
				n = max(n, 1)
			}
			kept[t.Struct] = n
			for _, f := range t.Struct.Fields[:n] {
				visit(&f.Type)
			}
		}
	}
	visit(&schema.Type{Kind: schema.KindStruct, Struct: root})
	return kept.Wire(root)
}

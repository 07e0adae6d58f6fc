// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// random creates random schemas, values and options. They depend only on the seed.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 0))} }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

// root creates a schema. A type can refer to earlier types in any position. It can refer to itself and to
// later types only in optional fields, oneofs, arrays and multimaps, because the nesting of values can
// end there.
func (r random) root() *schema.Struct {
	var types []schema.Type
	for i := range 1 + r.IntN(6) {
		name := fmt.Sprintf("T%d", i)
		switch r.IntN(4) {
		case 0:
			types = append(types, schema.Type{Kind: schema.KindOneof, Name: name, Struct: &schema.Struct{Name: name, Oneof: true}})
		case 1:
			types = append(types, schema.Type{Kind: schema.KindMultimap, Name: name, Multimap: &schema.Multimap{Name: name}})
		default:
			s := &schema.Struct{Name: name}
			if r.chance(40) {
				s.Dict = name
			}
			types = append(types, schema.Type{Kind: schema.KindStruct, Name: name, Struct: s})
		}
	}
	for i := range types {
		switch types[i].Kind {
		case schema.KindMultimap:
			// Most keys are primitive, because a large key makes all values large.
			types[i].Multimap.Key = r.primitive()
			if r.chance(20) {
				types[i].Multimap.Key = r.typ(types[:i], types[:i+1])
			}
			types[i].Multimap.Value = r.typ(types, types)
		case schema.KindOneof:
			r.fields(types[i].Struct, types, types, r.IntN(8))
		default:
			r.fields(types[i].Struct, types[:i], types, r.IntN(7))
		}
	}
	root := &schema.Struct{Name: "Root", Root: true}
	r.fields(root, types, types, 1+r.IntN(8))
	return root
}

func (r random) fields(s *schema.Struct, before, all []schema.Type, count int) {
	for i := range count {
		f := &schema.Field{Name: fmt.Sprintf("F%d", i), Optional: !s.Oneof && r.chance(25)}
		from := before
		if f.Optional {
			from = all
		}
		f.Type = r.typ(from, all)
		s.Fields = append(s.Fields, f)
	}
}

func (r random) typ(before, all []schema.Type) schema.Type {
	switch {
	case r.chance(20):
		elem := r.primitive()
		if r.chance(60) {
			elem = all[r.IntN(len(all))]
		}
		return schema.Type{Kind: schema.KindArray, Elem: &elem}
	case r.chance(50) && len(before) > 0:
		return before[r.IntN(len(before))]
	}
	return r.primitive()
}

func (r random) primitive() schema.Type {
	kinds := []schema.Kind{schema.KindBool, schema.KindInt64, schema.KindUint64, schema.KindFloat64,
		schema.KindString, schema.KindBytes, schema.KindEnum}
	t := schema.Type{Kind: kinds[r.IntN(len(kinds))]}
	switch {
	case t.Kind == schema.KindEnum:
		t.Enum = &schema.Enum{Name: "E"}
	case t.Kind == schema.KindString && r.chance(60):
		t.Dict = fmt.Sprintf("S%d", r.IntN(3))
	case t.Kind == schema.KindBytes && r.chance(60):
		t.Dict = fmt.Sprintf("B%d", r.IntN(2))
	}
	return t
}

// wire returns a wire schema that has only a random part of the fields of root.
func (r random) wire(root *schema.Struct) schema.WireSchema {
	kept := schema.Kept{}
	var w schema.WireSchema
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
			if r.chance(50) {
				n = r.IntN(n + 1)
			}
			if t.Struct == root {
				n = max(n, 1)
			}
			kept[t.Struct] = n
			w = append(w, n)
			for _, f := range t.Struct.Fields[:n] {
				visit(&f.Type)
			}
		}
	}
	visit(wholeType(root))
	return w
}

// change returns a copy of v, a value of type t, with one difference. Beyond a certain depth it adds no
// nested values.
func (r random) change(t *schema.Type, v any, depth int) any {
	switch t.Kind {
	case schema.KindBool:
		return r.chance(50)
	case schema.KindInt64:
		return int64(r.number())
	case schema.KindUint64, schema.KindEnum:
		return r.number()
	case schema.KindFloat64:
		return r.float()
	case schema.KindString:
		return r.text()
	case schema.KindBytes:
		return []byte(r.text())
	case schema.KindStruct:
		return r.changeStruct(t.Struct, v.(*dynamic.Struct), depth)
	case schema.KindOneof:
		return r.changeOneof(t.Struct, v.(*dynamic.Oneof), depth)
	case schema.KindMultimap:
		return r.changeMultimap(t.Multimap, v.(*dynamic.Multimap), depth)
	default:
		return r.changeArray(t.Elem, v.(*dynamic.Array), depth)
	}
}

func (r random) changeStruct(s *schema.Struct, v *dynamic.Struct, depth int) *dynamic.Struct {
	c := &dynamic.Struct{Fields: append([]any{}, v.Fields...), Present: append([]bool{}, v.Present...)}
	for i, f := range s.Fields {
		if r.chance(60) {
			continue
		}
		if f.Optional {
			c.Present[i] = r.chance(60) && depth > 0
			if !c.Present[i] {
				continue
			}
		}
		if c.Fields[i] == nil {
			c.Fields[i] = dynamic.NewValue(&f.Type)
		}
		c.Fields[i] = r.change(&f.Type, c.Fields[i], depth-1)
	}
	return c
}

func (r random) changeOneof(s *schema.Struct, v *dynamic.Oneof, depth int) *dynamic.Oneof {
	c := &dynamic.Oneof{Choice: v.Choice, Value: v.Value}
	if r.chance(40) || v.Choice == 0 {
		c.Choice = r.IntN(len(s.Fields) + 1)
		if depth < 0 {
			c.Choice = 0
		}
		if c.Value = nil; c.Choice > 0 {
			c.Value = dynamic.NewValue(&s.Fields[c.Choice-1].Type)
		}
	}
	if c.Choice > 0 {
		c.Value = r.change(&s.Fields[c.Choice-1].Type, c.Value, depth-1)
	}
	return c
}

// length returns a random length close to n. If depth is too large for further nested values, it
// returns 0.
func (r random) length(n, depth int) int {
	switch {
	case depth < 0:
		return 0
	case r.chance(3):
		return 60 + r.IntN(6)
	case r.chance(60):
		return n
	}
	return r.IntN(5)
}

func (r random) changeMultimap(m *schema.Multimap, v *dynamic.Multimap, depth int) *dynamic.Multimap {
	c := &dynamic.Multimap{Pairs: append([]dynamic.Pair{}, v.Pairs...)}
	n := r.length(len(c.Pairs), depth)
	c.Pairs = c.Pairs[:min(n, len(c.Pairs))]
	for i := range c.Pairs {
		if r.chance(5) {
			c.Pairs[i].Key = r.change(&m.Key, c.Pairs[i].Key, depth-1)
		}
		if r.chance(30) {
			c.Pairs[i].Value = r.change(&m.Value, c.Pairs[i].Value, depth-1)
		}
	}
	for len(c.Pairs) < n {
		key := r.change(&m.Key, dynamic.NewValue(&m.Key), depth-1)
		value := dynamic.NewValue(&m.Value)
		if n < 10 || r.chance(10) {
			value = r.change(&m.Value, value, depth-1)
		}
		c.Pairs = append(c.Pairs, dynamic.Pair{Key: key, Value: value})
	}
	return c
}

func (r random) changeArray(t *schema.Type, v *dynamic.Array, depth int) *dynamic.Array {
	c := &dynamic.Array{Elems: append([]any{}, v.Elems...)}
	n := r.length(len(c.Elems), depth)
	c.Elems = c.Elems[:min(n, len(c.Elems))]
	for i := range c.Elems {
		if r.chance(30) {
			c.Elems[i] = r.change(t, c.Elems[i], depth-1)
		}
	}
	for len(c.Elems) < n {
		elem := dynamic.NewValue(t)
		if n < 10 || r.chance(10) {
			elem = r.change(t, elem, depth-1)
		}
		c.Elems = append(c.Elems, elem)
	}
	return c
}

func (r random) number() uint64 {
	switch r.IntN(4) {
	case 0:
		return r.Uint64()
	case 1:
		return math.MaxUint64 - r.Uint64N(3)
	}
	return r.Uint64N(100)
}

func (r random) float() float64 {
	specials := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, 0.1, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.Float64frombits(0x7ff8000000000002)}
	switch r.IntN(3) {
	case 0:
		return specials[r.IntN(len(specials))]
	case 1:
		return float64(r.IntN(1000)) / 8
	}
	return math.Float64frombits(r.Uint64())
}

func (r random) text() string {
	words := []string{"", "a", "b", "ab", "cd", "\x00", "\xff\xfe", "ü", "service.name", "\"\\n"}
	if r.chance(80) {
		return words[r.IntN(len(words))]
	}
	b := make([]byte, r.IntN(200))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// records creates count records. Some of them are equal to the previous or to an earlier record.
func (r random) records(root *schema.Struct, count int) []*dynamic.Struct {
	t := wholeType(root)
	recs := []*dynamic.Struct{dynamic.NewStruct(root)}
	for len(recs) < count {
		rec := recs[len(recs)-1]
		if r.chance(10) {
			rec = recs[r.IntN(len(recs))]
		}
		if r.chance(90) {
			rec = r.change(t, rec, 5).(*dynamic.Struct)
		}
		recs = append(recs, rec)
	}
	return recs
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"reflect"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

func (m *Mutator) oneof(s *schema.Struct, v reflect.Value, old *dynamic.Oneof, depth int) *dynamic.Oneof {
	choice := old.Choice
	if choice == 0 || m.chance(40) {
		choice = m.IntN(len(s.Fields) + 1)
	}
	if m.chance(15) {
		// Change the choice and change it back.
		call(v, "SetType", m.IntN(len(s.Fields)+1))
		call(v, "SetType", old.Choice)
		if now := call(v, "Type").Uint(); now != uint64(old.Choice) {
			panic("steftest: SetType does not set the type")
		}
		return m.settle(s, v, old, depth)
	}
	if choice == 0 {
		call(v, "SetType", 0)
		return new(dynamic.Oneof)
	}
	f := &s.Fields[choice-1].Type
	value := old.Value
	if choice != old.Choice {
		value = dynamic.NewValue(f)
	}
	name := "Set" + exported(s.Fields[choice-1].Name)
	switch {
	case m.chance(10):
		call(v, "SetType", choice)
	case f.Kind.Composite():
		value = m.change(f, call(v, name), value, depth-1)
	default:
		value = m.setPrimitive(f, value)
		call(v, name, value)
	}
	return &dynamic.Oneof{Choice: choice, Value: value}
}

// settle sets the value of a oneof whose choice was changed and changed back. The other choices
// may have discarded or reset the old value, so settle sets it again or sets a new one.
func (m *Mutator) settle(s *schema.Struct, v reflect.Value, old *dynamic.Oneof, depth int) *dynamic.Oneof {
	if old.Choice == 0 {
		return new(dynamic.Oneof)
	}
	f := s.Fields[old.Choice-1]
	value := old.Value
	if m.chance(50) {
		value = m.random.fresh(&f.Type, depth-1)
	}
	if f.Type.Kind.Composite() {
		set(&f.Type, call(v, exported(f.Name)), value)
	} else {
		call(v, "Set"+exported(f.Name), value)
	}
	return &dynamic.Oneof{Choice: old.Choice, Value: value}
}

// resize returns a new length for an array or multimap that has n elements or pairs.
func (m *Mutator) resize(n, most int) int {
	switch m.IntN(40) {
	case 0:
		return []int{61, 62, 63, 64, 65, 100, most}[m.IntN(7)]
	case 1, 2, 3, 4, 5:
		return 0
	case 6, 7, 8, 9, 10:
		return max(n-1, 0)
	case 11, 12, 13, 14, 15:
		return min(n+1, most)
	}
	return m.IntN(6)
}

func (m *Mutator) multimap(t *schema.Multimap, v reflect.Value, old *dynamic.Multimap, depth int) *dynamic.Multimap {
	c := &dynamic.Multimap{Pairs: append([]dynamic.Pair{}, old.Pairs...)}
	setLen := func(n int) {
		call(v, "SetLen", n)
		c.Pairs = c.Pairs[:min(n, len(c.Pairs))]
		for len(c.Pairs) < n {
			c.Pairs = append(c.Pairs, dynamic.Pair{Key: dynamic.NewValue(&t.Key), Value: dynamic.NewValue(&t.Value)})
		}
	}
	switch n := m.IntN(10); {
	case n < 3:
		setLen(m.resize(len(c.Pairs), maxPairs))
	case n < 4:
		// Shrink and grow again. The new pairs have initial keys and values.
		before := len(c.Pairs)
		setLen(m.IntN(before + 1))
		setLen(before)
	}
	for range 1 + m.IntN(3) {
		if len(c.Pairs) == 0 {
			return c
		}
		m.pair(t, v, m.IntN(len(c.Pairs)), c, depth)
	}
	return c
}

func (m *Mutator) pair(t *schema.Multimap, v reflect.Value, i int, c *dynamic.Multimap, depth int) {
	p := &c.Pairs[i]
	key := p.Key
	switch {
	case t.Key.Kind.Composite():
		if m.chance(20) {
			p.Key = m.change(&t.Key, call(v, "Key", i), p.Key, depth-1)
		}
	case m.chance(30):
		key = m.setPrimitive(&t.Key, p.Key)
	}
	if has(v, "Set") && m.chance(50) {
		p.Key, p.Value = key, m.setPrimitive(&t.Value, p.Value)
		call(v, "Set", i, p.Key, p.Value)
		return
	}
	if t.Value.Kind == schema.KindOneof && len(t.Value.Struct.Fields) > 0 && m.chance(50) {
		choice := m.IntN(len(t.Value.Struct.Fields))
		f := t.Value.Struct.Fields[choice]
		if name := "Set" + exported(f.Name); !f.Type.Kind.Composite() && has(v, name) {
			x := m.random.primitive(&f.Type)
			call(v, name, i, key, x)
			p.Key, p.Value = key, &dynamic.Oneof{Choice: choice + 1, Value: x}
			return
		}
	}
	if !t.Key.Kind.Composite() {
		call(v, "SetKey", i, key)
		p.Key = key
	}
	if t.Value.Kind.Composite() {
		p.Value = m.change(&t.Value, call(v, "Value", i), p.Value, depth-1)
		return
	}
	p.Value = m.setPrimitive(&t.Value, p.Value)
	call(v, "SetValue", i, p.Value)
}

// setLen makes an array n long, in the record and in c.
func setLen(elem *schema.Type, v reflect.Value, c *dynamic.Array, n int) {
	call(v, "SetLen", n)
	c.Elems = c.Elems[:min(n, len(c.Elems))]
	for len(c.Elems) < n {
		c.Elems = append(c.Elems, dynamic.NewValue(elem))
	}
}

// array changes an array of composite values.
func (m *Mutator) array(elem *schema.Type, v reflect.Value, old *dynamic.Array, depth int) *dynamic.Array {
	c := &dynamic.Array{Elems: append([]any{}, old.Elems...)}
	setLen := func(n int) { setLen(elem, v, c, n) }
	switch n := m.IntN(10); {
	case n < 3:
		setLen(m.resize(len(c.Elems), 200))
	case n < 4:
		before := len(c.Elems)
		setLen(m.IntN(before + 1))
		setLen(before)
	case n < 6:
		part := call(v, "Append")
		c.Elems = append(c.Elems, m.change(elem, part, dynamic.NewValue(elem), depth-1))
		return c
	}
	for range 1 + m.IntN(2) {
		if len(c.Elems) == 0 {
			return c
		}
		i := m.IntN(len(c.Elems))
		c.Elems[i] = m.change(elem, call(v, "At", i), c.Elems[i], depth-1)
	}
	return c
}

// scalars changes an array of primitive values.
func (m *Mutator) scalars(elem *schema.Type, v reflect.Value, old *dynamic.Array) *dynamic.Array {
	c := &dynamic.Array{Elems: append([]any{}, old.Elems...)}
	setLen := func(n int) { setLen(elem, v, c, n) }
	switch n := m.IntN(10); {
	case n < 2:
		setLen(m.resize(len(c.Elems), 200))
	case n < 3:
		before := len(c.Elems)
		setLen(m.IntN(before + 1))
		setLen(before)
	case n < 5:
		x := m.random.primitive(elem)
		call(v, "Append", x)
		c.Elems = append(c.Elems, x)
	case n < 7 && has(v, "SetValues"):
		c.Elems = c.Elems[:m.IntN(len(c.Elems)+1)]
		if m.chance(50) {
			c.Elems = append(c.Elems, m.random.primitive(elem))
		}
		call(v, "SetValues", valuesOf(v, c.Elems))
	case len(c.Elems) > 0:
		i := m.IntN(len(c.Elems))
		c.Elems[i] = m.setPrimitive(elem, c.Elems[i])
		call(v, "Set", i, c.Elems[i])
	}
	return c
}

// valuesOf returns elems as a slice of the type that SetValues of v accepts.
func valuesOf(v reflect.Value, elems []any) reflect.Value {
	values := reflect.MakeSlice(call(v, "Values").Type(), len(elems), len(elems))
	for i, e := range elems {
		values.Index(i).Set(reflect.ValueOf(e).Convert(values.Type().Elem()))
	}
	return values
}

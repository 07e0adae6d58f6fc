// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"reflect"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Value returns the contents of rec, the pointer to a generated record of root. It calls
// only getters. Fields that are not kept have their initial value, and a oneof whose
// choice is not kept has no choice, as in a record of a stream without these fields. A
// nil kept keeps all fields and choices. The value shares nothing with the record.
func Value(rec any, root *schema.Struct, kept schema.Kept) *dynamic.Struct {
	return getter{kept}.structure(root, reflect.ValueOf(rec))
}

type getter struct{ kept schema.Kept }

// value returns the value of type t from v, the result of a getter: the value itself
// for primitive types, otherwise a pointer.
func (g getter) value(t *schema.Type, v reflect.Value) any {
	switch t.Kind {
	case schema.KindStruct:
		return g.structure(t.Struct, v)
	case schema.KindOneof:
		return g.oneof(t.Struct, v)
	case schema.KindMultimap:
		return g.multimap(t.Multimap, v)
	case schema.KindArray:
		return g.array(t.Elem, v)
	}
	return primitive(t, v)
}

func primitive(t *schema.Type, v reflect.Value) any {
	switch t.Kind {
	case schema.KindBool:
		return v.Bool()
	case schema.KindInt64:
		return v.Int()
	case schema.KindUint64, schema.KindEnum:
		return v.Uint()
	case schema.KindFloat64:
		return v.Float()
	case schema.KindString:
		return v.String()
	case schema.KindBytes:
		return append([]byte{}, v.Bytes()...)
	}
	panic(fmt.Sprintf("steftest: %s is not a primitive type", t))
}

func (g getter) structure(s *schema.Struct, v reflect.Value) *dynamic.Struct {
	c := dynamic.NewStruct(s)
	for i, f := range s.Fields[:g.kept.Of(s)] {
		name := exported(f.Name)
		if f.Optional {
			if c.Present[i] = call(v, "Has"+name).Bool(); !c.Present[i] {
				continue
			}
		}
		c.Fields[i] = g.value(&f.Type, call(v, name))
	}
	return c
}

func (g getter) oneof(s *schema.Struct, v reflect.Value) *dynamic.Oneof {
	choice := int(call(v, "Type").Uint())
	if choice == 0 || choice > g.kept.Of(s) {
		return new(dynamic.Oneof)
	}
	f := s.Fields[choice-1]
	return &dynamic.Oneof{Choice: choice, Value: g.value(&f.Type, call(v, exported(f.Name)))}
}

func (g getter) multimap(m *schema.Multimap, v reflect.Value) *dynamic.Multimap {
	c := &dynamic.Multimap{Pairs: make([]dynamic.Pair, length(v))}
	for i := range c.Pairs {
		c.Pairs[i] = dynamic.Pair{Key: g.value(&m.Key, call(v, "Key", i)), Value: g.value(&m.Value, call(v, "Value", i))}
	}
	return c
}

func (g getter) array(elem *schema.Type, v reflect.Value) *dynamic.Array {
	c := &dynamic.Array{Elems: make([]any, length(v))}
	if has(v, "Values") {
		values := call(v, "Values")
		for i := range c.Elems {
			c.Elems[i] = primitive(elem, values.Index(i))
		}
		return c
	}
	for i := range c.Elems {
		c.Elems[i] = g.value(elem, call(v, "At", i))
	}
	return c
}

// Cut returns the part of v, a record of root, that a stream with the kept fields
// carries. It equals Value of a record that was read from that stream.
func Cut(root *schema.Struct, kept schema.Kept, v *dynamic.Struct) *dynamic.Struct {
	return cut(&schema.Type{Kind: schema.KindStruct, Name: root.Name, Struct: root}, kept, v).(*dynamic.Struct)
}

func cut(t *schema.Type, kept schema.Kept, v any) any {
	switch v := v.(type) {
	case *dynamic.Struct:
		c := dynamic.NewStruct(t.Struct)
		for i, f := range t.Struct.Fields[:kept.Of(t.Struct)] {
			if c.Present[i] = v.Present[i]; c.Present[i] {
				c.Fields[i] = cut(&f.Type, kept, v.Fields[i])
			}
		}
		return c
	case *dynamic.Oneof:
		if v.Choice == 0 || v.Choice > kept.Of(t.Struct) {
			return new(dynamic.Oneof)
		}
		return &dynamic.Oneof{Choice: v.Choice, Value: cut(&t.Struct.Fields[v.Choice-1].Type, kept, v.Value)}
	case *dynamic.Multimap:
		c := &dynamic.Multimap{Pairs: make([]dynamic.Pair, len(v.Pairs))}
		for i, p := range v.Pairs {
			c.Pairs[i] = dynamic.Pair{Key: cut(&t.Multimap.Key, kept, p.Key), Value: cut(&t.Multimap.Value, kept, p.Value)}
		}
		return c
	case *dynamic.Array:
		c := &dynamic.Array{Elems: make([]any, len(v.Elems))}
		for i, e := range v.Elems {
			c.Elems[i] = cut(t.Elem, kept, e)
		}
		return c
	}
	return v
}

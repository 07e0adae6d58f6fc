// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// view is a struct with its type. Its methods access fields by their names in the
// schema; recognise has checked that the fields exist and have these types.
type view struct {
	typ *schema.Struct
	val *dynamic.Struct
}

// indexOf returns the position of a field or choice of s, or -1 if s does not have it.
func indexOf(s *schema.Struct, name string) int {
	return slices.IndexFunc(s.Fields, func(f *schema.Field) bool { return f.Name == name })
}

func (v view) value(name string) any { return v.val.Fields[indexOf(v.typ, name)] }

func (v view) flag(name string) bool     { return v.value(name).(bool) }
func (v view) number(name string) uint64 { return v.value(name).(uint64) }
func (v view) raw(name string) []byte    { return v.value(name).([]byte) }
func (v view) text(name string) string   { return v.value(name).(string) }

// bits returns the bits of a double.
func (v view) bits(name string) uint64 { return math.Float64bits(v.value(name).(float64)) }

func (v view) elems(name string) []any { return v.value(name).(*dynamic.Array).Elems }

// numbers returns the elements of an array of uint64.
func (v view) numbers(name string) []uint64 {
	var list []uint64
	for _, e := range v.elems(name) {
		list = append(list, e.(uint64))
	}
	return list
}

// doubles returns the bits of the elements of an array of float64.
func (v view) doubles(name string) []uint64 {
	var list []uint64
	for _, e := range v.elems(name) {
		list = append(list, math.Float64bits(e.(float64)))
	}
	return list
}

// pairs returns the pairs of a multimap.
func (v view) pairs(name string) []dynamic.Pair { return v.value(name).(*dynamic.Multimap).Pairs }

// sub returns a field that is a struct.
func (v view) sub(name string) view {
	return view{v.typ.Fields[indexOf(v.typ, name)].Type.Struct, v.value(name).(*dynamic.Struct)}
}

// choice returns the name and the value of the choice of a oneof of type typ. The name of
// None is "".
func choice(typ *schema.Struct, v any) (name string, value any) {
	o := v.(*dynamic.Oneof)
	if o.Choice == 0 {
		return "", nil
	}
	return typ.Fields[o.Choice-1].Name, o.Value
}

// chosen returns a oneof of type typ. The name of None is "".
func chosen(typ *schema.Struct, name string, value any) *dynamic.Oneof {
	return &dynamic.Oneof{Choice: indexOf(typ, name) + 1, Value: value}
}

// with returns a copy of the struct with new values for some fields. The copy has the
// fields of typ, the struct of the full schema, and none of the compact form.
func (v view) with(typ *schema.Struct, fields map[string]any) *dynamic.Struct {
	n := len(typ.Fields)
	s := &dynamic.Struct{Fields: append([]any{}, v.val.Fields[:n]...), Present: append([]bool{}, v.val.Present[:n]...)}
	for name, value := range fields {
		s.Fields[indexOf(typ, name)] = value
	}
	return s
}

// fieldType returns the type of a field of s.
func fieldType(s *schema.Struct, name string) *schema.Type { return &s.Fields[indexOf(s, name)].Type }

// structOf returns the type of a field of s that is a struct or oneof.
func structOf(s *schema.Struct, name string) *schema.Struct { return fieldType(s, name).Struct }

// elemOf returns the type of the elements of a field of s that is an array of structs or
// oneofs.
func elemOf(s *schema.Struct, name string) *schema.Struct { return fieldType(s, name).Elem.Struct }

// valueOf returns the oneof of the values in a multimap field of s.
func valueOf(s *schema.Struct, name string) *schema.Struct {
	return fieldType(s, name).Multimap.Value.Struct
}

// array returns numbers as an array.
func array(numbers []uint64) *dynamic.Array {
	a := &dynamic.Array{}
	for _, n := range numbers {
		a.Elems = append(a.Elems, n)
	}
	return a
}

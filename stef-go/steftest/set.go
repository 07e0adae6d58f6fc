// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"reflect"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Set sets rec, the pointer to a generated record of root, to v. It calls the setter of every
// field, even if the value does not change, and edits the values of dictionary structs in
// place.
func Set(rec any, root *schema.Struct, v *dynamic.Struct) {
	setStruct(root, reflect.ValueOf(rec), v)
}

// set makes the composite value that v points to equal to x.
func set(t *schema.Type, v reflect.Value, x any) {
	switch x := x.(type) {
	case *dynamic.Struct:
		setStruct(t.Struct, v, x)
	case *dynamic.Oneof:
		setOneof(t.Struct, v, x)
	case *dynamic.Multimap:
		setMultimap(t.Multimap, v, x)
	case *dynamic.Array:
		setArray(t.Elem, v, x)
	}
}

func setStruct(s *schema.Struct, v reflect.Value, x *dynamic.Struct) {
	for i, f := range s.Fields {
		name := exported(f.Name)
		switch {
		case f.Optional && !x.Present[i]:
			call(v, "Unset"+name)
		case !f.Type.Kind.Composite():
			call(v, "Set"+name, x.Fields[i])
		case shared(&f.Type):
			set(&f.Type, call(v, "Edit"+name), x.Fields[i])
		case f.Optional:
			set(&f.Type, call(v, "Add"+name), x.Fields[i])
		default:
			set(&f.Type, call(v, name), x.Fields[i])
		}
	}
}

func setOneof(s *schema.Struct, v reflect.Value, x *dynamic.Oneof) {
	if x.Choice == 0 {
		call(v, "SetType", 0)
		return
	}
	f := s.Fields[x.Choice-1]
	if f.Type.Kind.Composite() {
		set(&f.Type, call(v, "Set"+exported(f.Name)), x.Value)
		return
	}
	call(v, "Set"+exported(f.Name), x.Value)
}

func setMultimap(m *schema.Multimap, v reflect.Value, x *dynamic.Multimap) {
	call(v, "SetLen", len(x.Pairs))
	for i, p := range x.Pairs {
		setPart(&m.Key, v, "Key", i, p.Key)
		setPart(&m.Value, v, "Value", i, p.Value)
	}
}

// setPart sets the key or the value of pair i.
func setPart(t *schema.Type, v reflect.Value, name string, i int, x any) {
	if t.Kind.Composite() {
		set(t, call(v, name, i), x)
		return
	}
	call(v, "Set"+name, i, x)
}

func setArray(elem *schema.Type, v reflect.Value, x *dynamic.Array) {
	call(v, "SetLen", len(x.Elems))
	for i, e := range x.Elems {
		if elem.Kind.Composite() {
			set(elem, call(v, "At", i), e)
			continue
		}
		call(v, "Set", i, e)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"reflect"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// A Follower tracks the value of a reader's record through all calls of Next. It reads
// only the fields that Modified reports, so its value is correct only if the result of
// Modified is correct. A Follower is also much faster than Value.
type Follower struct {
	root *schema.Struct
	get  getter
	held *dynamic.Struct
}

// NewFollower returns a Follower for all records of a stream, beginning with the first.
func NewFollower(root *schema.Struct, kept schema.Kept) *Follower {
	return &Follower{root, getter{kept}, dynamic.NewStruct(root)}
}

// Next returns the value of rec, the pointer to the reader's record. Call it after
// every Next of the reader. Values share their unchanged parts and must not be
// modified.
func (f *Follower) Next(rec any) *dynamic.Struct {
	f.held = f.structure(f.root, reflect.ValueOf(rec), f.held)
	return f.held
}

// value returns the value of a changed field; held is the previous value.
func (f *Follower) value(t *schema.Type, v reflect.Value, held any) any {
	switch t.Kind {
	case schema.KindStruct:
		if shared(t) {
			break // a shared value does not mark its changed fields
		}
		return f.structure(t.Struct, v, held.(*dynamic.Struct))
	case schema.KindOneof:
		return f.oneof(t.Struct, v, held.(*dynamic.Oneof))
	case schema.KindArray:
		if t.Elem.Kind == schema.KindStruct {
			return f.array(t.Elem, v, held.(*dynamic.Array))
		}
	}
	return f.get.value(t, v)
}

func (f *Follower) structure(s *schema.Struct, v reflect.Value, held *dynamic.Struct) *dynamic.Struct {
	modified := call(v, "Modified").Uint()
	c := &dynamic.Struct{Fields: append([]any{}, held.Fields...), Present: append([]bool{}, held.Present...)}
	for i, field := range s.Fields[:f.get.kept.Of(s)] {
		name := exported(field.Name)
		if field.Optional {
			if c.Present[i] = call(v, "Has"+name).Bool(); !c.Present[i] {
				continue
			}
			if !held.Present[i] {
				c.Fields[i] = dynamic.NewValue(&field.Type)
			}
		}
		if modified&(1<<i) != 0 {
			c.Fields[i] = f.value(&field.Type, call(v, name), c.Fields[i])
		}
	}
	return c
}

func (f *Follower) oneof(s *schema.Struct, v reflect.Value, held *dynamic.Oneof) *dynamic.Oneof {
	choice := int(call(v, "Type").Uint())
	if choice == 0 || choice > f.get.kept.Of(s) {
		return new(dynamic.Oneof)
	}
	field := s.Fields[choice-1]
	value := held.Value
	if choice != held.Choice {
		value = dynamic.NewValue(&field.Type)
	}
	return &dynamic.Oneof{Choice: choice, Value: f.value(&field.Type, call(v, exported(field.Name)), value)}
}

// array reads an array of structs. It decodes new elements relative to the initial value.
func (f *Follower) array(elem *schema.Type, v reflect.Value, held *dynamic.Array) *dynamic.Array {
	c := &dynamic.Array{Elems: make([]any, length(v))}
	for i := range c.Elems {
		if i < len(held.Elems) {
			c.Elems[i] = held.Elems[i]
		} else {
			c.Elems[i] = dynamic.NewValue(elem)
		}
		c.Elems[i] = f.structure(elem.Struct, call(v, "At", i), c.Elems[i].(*dynamic.Struct))
	}
	return c
}

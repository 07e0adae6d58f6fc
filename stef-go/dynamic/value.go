// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/schema"
)

// Struct is the value of a struct; a record is a Struct. This table has the Go type of the values
// of each type in the schema:
//
//	bool                bool
//	int64               int64
//	uint64, every enum  uint64
//	float64             float64
//	string              string
//	bytes               []byte
//	struct              *Struct
//	oneof               *Oneof
//	multimap            *Multimap
//	array               *Array
type Struct struct {
	// Fields has one value per field of the schema, even if the stream does not have
	// the field. The value of an absent optional field has no meaning and may be
	// nil.
	Fields []any
	// Present says for each field whether it is present. It is always true for
	// fields that are not optional.
	Present []bool

	sizes
}

// Oneof is the value of a oneof.
type Oneof struct {
	// Choice is the number of the field, counted from 1. 0 is none.
	Choice int
	// Value is the value of the chosen field, nil if Choice is 0.
	Value any

	sizes
}

// Multimap is the value of a multimap: pairs in their order. Keys may repeat.
type Multimap struct {
	Pairs []Pair

	sizes
}

// Pair is one pair of a Multimap.
type Pair struct {
	Key, Value any
}

// Array is the value of an array.
type Array struct {
	Elems []any

	sizes
}

// NewStruct returns the initial value of s: numbers are 0, texts and lists are empty, optional fields are
// absent, oneofs are none. The result can be modified. If s contains itself, it must do so through an
// optional field, a oneof, an array or a multimap; NewReader and NewWriter check this.
func NewStruct(s *schema.Struct) *Struct {
	v := &Struct{Fields: make([]any, len(s.Fields)), Present: make([]bool, len(s.Fields))}
	for i, f := range s.Fields {
		if f.Optional && f.Type.Kind.Composite() {
			continue
		}
		v.Fields[i] = NewValue(&f.Type)
		v.Present[i] = !f.Optional
	}
	v.measure(s)
	return v
}

// NewValue is like NewStruct, but for any type.
func NewValue(t *schema.Type) any {
	switch t.Kind {
	case schema.KindBool:
		return false
	case schema.KindInt64:
		return int64(0)
	case schema.KindUint64, schema.KindEnum:
		return uint64(0)
	case schema.KindFloat64:
		return float64(0)
	case schema.KindString:
		return ""
	case schema.KindBytes:
		return []byte{}
	case schema.KindStruct:
		return NewStruct(t.Struct)
	case schema.KindOneof:
		v := &Oneof{}
		v.measure()
		return v
	case schema.KindMultimap:
		v := &Multimap{}
		v.measure()
		return v
	case schema.KindArray:
		v := &Array{}
		v.measure()
		return v
	}
	return nil
}

// goType returns the Go type of the values of a kind, for messages.
func goType(k schema.Kind) string {
	switch k {
	case schema.KindEnum:
		return "uint64"
	case schema.KindBytes:
		return "[]byte"
	case schema.KindStruct:
		return "*Struct"
	case schema.KindOneof:
		return "*Oneof"
	case schema.KindMultimap:
		return "*Multimap"
	case schema.KindArray:
		return "*Array"
	}
	return k.String()
}

// Clone returns a copy of v that shares nothing with it.
func Clone(v any) any {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...)
	case *Struct:
		c := &Struct{Fields: make([]any, len(v.Fields)), Present: append([]bool{}, v.Present...), sizes: v.sizes}
		for i, f := range v.Fields {
			c.Fields[i] = Clone(f)
		}
		return c
	case *Oneof:
		return &Oneof{Choice: v.Choice, Value: Clone(v.Value), sizes: v.sizes}
	case *Multimap:
		c := &Multimap{Pairs: make([]Pair, len(v.Pairs)), sizes: v.sizes}
		for i, p := range v.Pairs {
			c.Pairs[i] = Pair{Clone(p.Key), Clone(p.Value)}
		}
		return c
	case *Array:
		c := &Array{Elems: make([]any, len(v.Elems)), sizes: v.sizes}
		for i, e := range v.Elems {
			c.Elems[i] = Clone(e)
		}
		return c
	}
	return v
}

// Equal reports whether a and b are the same value. Floats are compared by their
// bits, so a NaN equals itself and -0 is not +0. The values of absent fields are
// ignored.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case *Struct:
		b, ok := b.(*Struct)
		return ok && (a == b || equalStructs(a, b))
	case *Oneof:
		b, ok := b.(*Oneof)
		return ok && a.Choice == b.Choice && Equal(a.Value, b.Value)
	case *Multimap:
		b, ok := b.(*Multimap)
		return ok && (a == b || slices.EqualFunc(a.Pairs, b.Pairs, equalPairs))
	case *Array:
		b, ok := b.(*Array)
		return ok && (a == b || slices.EqualFunc(a.Elems, b.Elems, Equal))
	}
	return a == b
}

func equalStructs(a, b *Struct) bool {
	if len(a.Fields) != len(b.Fields) || !slices.Equal(a.Present, b.Present) {
		return false
	}
	for i := range a.Present {
		if a.Present[i] && !Equal(a.Fields[i], b.Fields[i]) {
			return false
		}
	}
	return true
}

func equalPairs(a, b Pair) bool { return Equal(a.Key, b.Key) && Equal(a.Value, b.Value) }

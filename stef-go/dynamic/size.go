// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import "github.com/otelstef/stef/stef-go/schema"

// sizes are the sizes of a composite value. They are stored with the value, so that its size is known
// without a walk over its parts. The method measure of the value updates them.
type sizes struct {
	// size is an estimate of the memory in this package, including parts that are
	// shared with other values. The limit on a record applies to it.
	size int
	// entry is how much the value adds to the size of a dictionary entry that contains it.
	entry int
}

// The parts of sizes.size.
const (
	nodeBytes   = 32 // a composite value without its content
	slotBytes   = 16 // a value inside another value
	numberBytes = 8
	headBytes   = 16 // a string or bytes value without its content
)

// The parts of sizes.entry, which are the same in all writers and readers. If a comment says "and
// content", the size of the content is added.
//
// spec: #dict-accounting
const (
	entryStruct = 256 // an entry of a struct dictionary, and content
	entryText   = 16  // a string or bytes value, and content
	entryNumber = 8   // a field of any other primitive type, a choice, a float64 element of an array
	entryPart   = 64  // a pair of a multimap, a composite element of an array, and content
	entryItem   = 16  // an element of any other type except bytes, without content
	entryBytes  = 24  // a bytes element of an array, and content
)

func (v *Struct) measure(s *schema.Struct) {
	v.size = nodeBytes + len(v.Fields)*(slotBytes+1)
	v.entry = 0
	for i, f := range s.Fields {
		v.size += sizeOf(v.Fields[i])
		switch kind := f.Type.Kind; {
		case kind == schema.KindString || kind == schema.KindBytes || kind.Composite():
			if v.Present[i] {
				v.entry += entryOf(v.Fields[i])
			}
		default:
			v.entry += entryNumber
		}
	}
}

func (v *Oneof) measure() {
	v.size = nodeBytes + sizeOf(v.Value)
	v.entry = entryNumber + entryOf(v.Value)
}

func (v *Multimap) measure() {
	v.size = nodeBytes + 2*slotBytes*len(v.Pairs)
	v.entry = entryPart * len(v.Pairs)
	for _, p := range v.Pairs {
		v.size += sizeOf(p.Key) + sizeOf(p.Value)
		v.entry += entryOf(p.Key) + entryOf(p.Value)
	}
}

func (v *Array) measure() {
	v.size = nodeBytes + slotBytes*len(v.Elems)
	v.entry = 0
	for _, e := range v.Elems {
		v.size += sizeOf(e)
		switch e := e.(type) {
		case *Struct, *Oneof, *Multimap, *Array:
			v.entry += entryPart + entryOf(e)
		case []byte:
			v.entry += entryBytes + len(e)
		case float64:
			v.entry += entryNumber
		default:
			v.entry += entryItem
		}
	}
}

// sizeOf returns how much v adds to the size of the value that contains it. It reads the
// stored sizes of nested values.
func sizeOf(v any) int {
	switch v := v.(type) {
	case nil, bool:
		return 0
	case string:
		return headBytes + len(v)
	case []byte:
		return headBytes + len(v)
	case *Struct:
		return v.size
	case *Oneof:
		return v.size
	case *Multimap:
		return v.size
	case *Array:
		return v.size
	}
	return numberBytes
}

// entryOf returns how much v adds to the size of a dictionary entry. The value that contains v
// counts the fixed size of the field or pair separately. v is not a primitive element of an
// array.
func entryOf(v any) int {
	switch v := v.(type) {
	case string, []byte:
		return entryOfText(v)
	case *Struct:
		return v.entry
	case *Oneof:
		return v.entry
	case *Multimap:
		return v.entry
	case *Array:
		return v.entry
	}
	return 0
}

// entryOfText returns the size of a string or bytes value that is an entry of a dictionary
// or a part of an entry.
func entryOfText(v any) int {
	if b, ok := v.([]byte); ok {
		return entryText + len(b)
	}
	s, _ := v.(string)
	return entryText + len(s)
}

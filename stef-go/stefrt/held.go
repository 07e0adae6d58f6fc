// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

// sizeOf returns the memory of a record and of everything that it refers to. This includes
// elements beyond the lengths of its slices, because records keep these to reuse them.
// A text counts with the whole piece of memory that contains it (see codec.StringDecoder). sizeOf
// also returns how many references it followed.
//
// A stream runs this walk at most once for each MiB that it decodes. A hostile stream
// can make the walk visit half a million objects. So the walk uses no reflection, and a
// map only for pieces of texts.
func sizeOf(record any) (bytes, references int) {
	v := reflect.ValueOf(record)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return 0, 0
	}
	elem := shapeOf(v.Type().Elem())
	w := sizeWalk{size: int(elem.size), references: 1}
	at := v.UnsafePointer()
	w.seen.add(at, elem.index)
	w.walk(elem, at)
	return w.size, w.references
}

// shape describes a type: its size, and where its values refer to other memory.
type shape struct {
	kind  reflect.Kind
	size  uintptr
	index uint64  // index of the type, because a struct and its first field have the same address
	elem  *shape  // element of a pointer, slice or array
	count uintptr // number of elements of an array
	parts []part  // fields of a struct that refer to something
	plain bool    // values refer to nothing that the walk counts
	back  bool    // pointers of the type do not own what they refer to
}

type part struct {
	*shape
	offset uintptr
}

var shapes struct {
	sync.Mutex
	of map[reflect.Type]*shape
}

func shapeOf(t reflect.Type) *shape {
	shapes.Lock()
	defer shapes.Unlock()
	if shapes.of == nil {
		shapes.of = map[reflect.Type]*shape{}
	}
	return makeShape(t)
}

// makeShape returns the shape of a type. The caller holds the mutex. A type can contain itself only
// behind a pointer or a slice. While makeShape builds the shape of such a type, the value of plain
// is not yet known. It is not needed: pointers and slices are never plain.
func makeShape(t reflect.Type) *shape {
	if s := shapes.of[t]; s != nil {
		return s
	}
	s := &shape{kind: t.Kind(), size: t.Size(), index: uint64(len(shapes.of))}
	shapes.of[t] = s
	switch s.kind {
	case reflect.Pointer, reflect.Slice:
		s.elem = makeShape(t.Elem())
		s.back = t.Elem() == reflect.TypeFor[Node]() || strings.HasPrefix(t.Elem().Name(), "Elem[") || shared(t.Elem())
	case reflect.Array:
		s.elem, s.count = makeShape(t.Elem()), uintptr(t.Len())
		s.plain = s.elem.plain
	case reflect.Struct:
		for f := range t.Fields() {
			if field := makeShape(f.Type); !field.plain {
				s.parts = append(s.parts, part{field, f.Offset})
			}
		}
		s.plain = len(s.parts) == 0
	case reflect.String:
	default:
		s.plain = true
	}
	return s
}

// shared reports whether values of a type can be shared. A shared value is an entry of a dictionary,
// which owns its memory.
func shared(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	slot, ok := t.FieldByName("slot")
	return ok && slot.Type == reflect.TypeFor[Slot]()
}

// ownedSize returns the memory of the objects that a value owns, without the texts. It
// includes elements beyond the lengths of slices. The objects must form a tree.
func (s *shape) ownedSize(at unsafe.Pointer) (n int) {
	switch s.kind {
	case reflect.Pointer:
		if to := *(*unsafe.Pointer)(at); to != nil && !s.back {
			n = int(s.elem.size) + s.elem.ownedSize(to)
		}
	case reflect.Struct:
		for i := range s.parts {
			n += s.parts[i].ownedSize(unsafe.Add(at, s.parts[i].offset))
		}
	case reflect.Array:
		n = s.elem.ownedSizes(at, s.count)
	case reflect.Slice:
		header := *(*[]struct{})(at)
		to, length := unsafe.Pointer(unsafe.SliceData(header)), uintptr(cap(header))
		n = int(length*s.elem.size) + s.elem.ownedSizes(to, length)
	}
	return n
}

// ownedSizes returns the sum of ownedSize over length values that are adjacent in memory.
// at is the address of the first value.
func (s *shape) ownedSizes(at unsafe.Pointer, length uintptr) (n int) {
	if s.plain {
		return 0
	}
	for i := range length {
		n += s.ownedSize(unsafe.Add(at, i*s.size))
	}
	return n
}

type sizeWalk struct {
	size       int
	references int
	seen       objectSet
	pieces     map[uintptr]bool
}

// pieceBytes is the size of the pieces that texts share.
const pieceBytes = 16 << 10

// walk adds the memory that the value at an address refers to.
func (w *sizeWalk) walk(s *shape, at unsafe.Pointer) {
	switch s.kind {
	case reflect.Pointer:
		to := *(*unsafe.Pointer)(at)
		if to == nil {
			return
		}
		w.references++
		if w.seen.add(to, s.elem.index) {
			w.size += int(s.elem.size)
			w.walk(s.elem, to)
		}
	case reflect.Struct:
		for i := range s.parts {
			w.walk(s.parts[i].shape, unsafe.Add(at, s.parts[i].offset))
		}
	case reflect.Array:
		w.elements(s.elem, at, s.count)
	case reflect.Slice:
		// The header of a slice is the same for all types of elements.
		header := *(*[]struct{})(at)
		to := unsafe.Pointer(unsafe.SliceData(header))
		if to == nil {
			return
		}
		w.references++
		if !w.seen.add(to, s.index) {
			return
		}
		w.size += cap(header) * int(s.elem.size)
		w.elements(s.elem, to, uintptr(cap(header)))
	case reflect.String:
		w.text(*(*string)(at))
	}
}

func (w *sizeWalk) elements(s *shape, at unsafe.Pointer, n uintptr) {
	if s.plain {
		return
	}
	for i := range n {
		w.walk(s, unsafe.Add(at, i*s.size))
	}
}

// longText replaces the index of the type in the key of an object (see objectSet) if the object is a long
// text. Such a text is not in a piece of memory that other texts share.
const longText = 1<<16 - 1

func (w *sizeWalk) text(s string) {
	if s == "" {
		return
	}
	w.references++
	at := unsafe.Pointer(unsafe.StringData(s))
	if len(s) > pieceBytes/4 {
		if w.seen.add(at, longText) {
			w.size += len(s)
		}
		return
	}
	if w.pieces == nil {
		w.pieces = map[uintptr]bool{}
	}
	if piece := uintptr(at) / pieceBytes; !w.pieces[piece] {
		w.pieces[piece] = true
		w.size += pieceBytes
	}
}

// objectSet is a set of objects in a hash table with open addressing. A key has the address of
// the object, of 48 bits, and the index of its type. Keys are unique for the first 65,535 types.
type objectSet struct {
	slots []uint64
	count int
}

// add adds an object and reports whether it is new.
func (o *objectSet) add(at unsafe.Pointer, index uint64) bool {
	if 4*o.count >= 3*len(o.slots) {
		o.grow()
	}
	if !o.put(uint64(uintptr(at))<<16 | index&longText) {
		return false
	}
	o.count++
	return true
}

func (o *objectSet) put(key uint64) bool {
	mask := uint64(len(o.slots) - 1)
	for i := key * codec.GoldenRatio >> 20; ; i++ {
		switch o.slots[i&mask] {
		case 0:
			o.slots[i&mask] = key
			return true
		case key:
			return false
		}
	}
}

func (o *objectSet) grow() {
	old := o.slots
	o.slots = make([]uint64, max(64, 2*len(old)))
	for _, key := range old {
		if key != 0 {
			o.put(key)
		}
	}
}

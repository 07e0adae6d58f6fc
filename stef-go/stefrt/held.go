// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"reflect"
	"unsafe"
)

// sizeOf returns the memory of a record: of everything that it refers to, elements
// beyond the lengths of its slices included, because records keep these to reuse them.
// It counts a text with the rest of its piece (see codec.StringDecoder).
//
// The walk uses reflection. A stream walks once for each MiB that it decodes, at most.
func sizeOf(record any) int {
	v := reflect.ValueOf(record)
	if v.Kind() != reflect.Pointer {
		return 0
	}
	w := sizeWalk{seen: map[object]bool{}, pieces: map[uintptr]bool{}}
	w.walk(v)
	return w.size
}

// object identifies what a walk has seen: a struct and its first field have the same
// address.
type object struct {
	at  unsafe.Pointer
	typ reflect.Type
}

type sizeWalk struct {
	size   int
	seen   map[object]bool
	pieces map[uintptr]bool
}

// pieceBytes is the size of the pieces that texts share.
const pieceBytes = 16 << 10

func (w *sizeWalk) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if at := (object{v.UnsafePointer(), v.Type()}); at.at != nil && !w.seen[at] {
			w.seen[at] = true
			w.size += int(v.Type().Elem().Size())
			w.walk(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Array:
		if plain(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Slice:
		w.slice(v)
	case reflect.String:
		w.text(v)
	}
}

func (w *sizeWalk) slice(v reflect.Value) {
	at := object{v.UnsafePointer(), v.Type()}
	if at.at == nil || w.seen[at] {
		return
	}
	w.seen[at] = true
	w.size += v.Cap() * int(v.Type().Elem().Size())
	if plain(v.Type().Elem()) {
		return
	}
	v = v.Slice(0, v.Cap())
	for i := range v.Len() {
		w.walk(v.Index(i))
	}
}

func (w *sizeWalk) text(v reflect.Value) {
	n := v.Len()
	if n == 0 {
		return
	}
	at := object{unsafe.Pointer(unsafe.StringData(v.String())), v.Type()}
	if n > pieceBytes/4 {
		if !w.seen[at] {
			w.seen[at] = true
			w.size += n
		}
	} else if piece := uintptr(at.at) / pieceBytes; !w.pieces[piece] {
		w.pieces[piece] = true
		w.size += pieceBytes
	}
}

// plain reports whether values of a type refer to nothing.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Array, reflect.Slice, reflect.String,
		reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return true
}

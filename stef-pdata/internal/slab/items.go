// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package slab

import (
	"reflect"
	"unsafe"
)

// slice is a slice of pdata whose elements are pointers.
type slice[E any] interface {
	AppendEmpty() E
	At(i int) E
	EnsureCapacity(n int)
	Len() int
}

// Items allocates the elements of slices of type S. The zero value is ready for use.
type Items[S slice[E], E any] struct {
	elements, pointers chunk
	asked, ready       bool
}

// Renew begins new chunks, like Values.Renew.
func (p *Items[S, E]) Renew() {
	p.elements.renew()
	p.pointers.renew()
}

// Reserve reserves capacity for n elements in s, which is empty.
func (p *Items[S, E]) Reserve(s S, n int) {
	if !p.usable() {
		s.EnsureCapacity(n)
		return
	}
	l := *(**list)(unsafe.Pointer(&s))
	*l = list{p.pointers.run(n), 0, n}
}

// Append appends an empty element to s and returns it.
func (p *Items[S, E]) Append(s S) E {
	if !p.usable() {
		return s.AppendEmpty()
	}
	l := *(**list)(unsafe.Pointer(&s))
	if l.len == l.cap {
		p.grow(l)
	}
	*(*unsafe.Pointer)(unsafe.Add(l.data, uintptr(l.len)*unsafe.Sizeof(l.data))) = p.elements.one()
	l.len++
	return s.At(l.len - 1)
}

// grow doubles the capacity of l.
func (p *Items[S, E]) grow(l *list) {
	n := max(2*l.cap, firstObjects)
	old, data := unsafe.Slice((*unsafe.Pointer)(l.data), l.len), p.pointers.run(n)
	copy(unsafe.Slice((*unsafe.Pointer)(data), n), old)
	l.data, l.cap = data, n
}

func (p *Items[S, E]) usable() bool {
	if !p.asked {
		p.asked = true
		if t := elementOf(reflect.TypeFor[S]()); t != nil {
			p.elements, p.pointers, p.ready = chunkOf(t), chunkOf(reflect.PointerTo(t)), true
		}
	}
	return p.ready
}

// structs is a slice of pdata whose elements are structs.
type structs interface{ EnsureCapacity(n int) }

// Structs allocates the elements of slices of type S. The zero value is ready for use.
type Structs[S structs] struct {
	elements     chunk
	asked, ready bool
}

// Renew begins a new chunk, like Values.Renew.
func (p *Structs[S]) Renew() { p.elements.renew() }

// Reserve reserves capacity for n elements in s, which is empty.
func (p *Structs[S]) Reserve(s S, n int) {
	if !p.asked {
		p.asked = true
		if t := inside(reflect.TypeFor[S]()); t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			p.elements, p.ready = chunkOf(t.Elem()), true
		}
	}
	if !p.ready || n > mostStructs {
		s.EnsureCapacity(n)
		return
	}
	l := *(**list)(unsafe.Pointer(&s))
	*l = list{p.elements.run(n), 0, n}
}

// mostStructs is the maximum length of a slice that is allocated in a chunk. Longer slices
// would waste the ends of chunks.
const mostStructs = 4

// elementOf returns the type of the elements of a slice of pdata, or nil if t does
// not wrap a slice of pointers to structs.
func elementOf(t reflect.Type) reflect.Type {
	s := inside(t)
	if s == nil || s.Kind() != reflect.Slice || s.Elem().Kind() != reflect.Pointer || s.Elem().Elem().Kind() != reflect.Struct {
		return nil
	}
	return s.Elem().Elem()
}

// numbers is a slice of pdata whose elements are numbers.
type numbers[T any] interface{ FromRaw(src []T) }

// Numbers allocates the content of slices of type S. The zero value is ready for use.
type Numbers[S numbers[T], T uint64 | float64] struct {
	free         []T
	asked, ready bool
}

// Set sets dst, which is empty, to src.
func (p *Numbers[S, T]) Set(dst S, src []T) {
	if !p.asked {
		p.asked = true
		t := inside(reflect.TypeFor[S]())
		p.ready = t != nil && t == reflect.TypeFor[[]T]()
	}
	if !p.ready || len(src) > chunkBytes/8/4 {
		dst.FromRaw(src)
		return
	}
	if len(p.free) < len(src) {
		p.free = make([]T, chunkBytes/8)
	}
	n := copy(p.free, src)
	**(**[]T)(unsafe.Pointer(&dst)) = p.free[:n:n]
	p.free = p.free[n:]
}

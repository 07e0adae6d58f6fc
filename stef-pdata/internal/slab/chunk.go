// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package slab

import (
	"reflect"
	"unsafe"
)

const (
	// chunkBytes is the size of the largest chunk. It leaves room for the word that the runtime
	// adds to objects of this size with pointers: the runtime would round 4 KiB plus a word up
	// to 4864 bytes.
	chunkBytes = 4<<10 - 8
	// firstObjects is the number of objects in the first chunk. Each further chunk has twice
	// as many objects, so that a short stream wastes little memory.
	firstObjects = 4
)

// chunk allocates objects of one type.
type chunk struct {
	slice reflect.Type // []T
	size  uintptr      // size of T
	base  unsafe.Pointer
	at, n int // number of used objects in base, and number of all its objects
	more  int // number of used objects in the earlier chunks since renew
}

func chunkOf(t reflect.Type) chunk { return chunk{slice: reflect.SliceOf(t), size: t.Size()} }

// renew makes the next object begin a new chunk. If few objects were used since the last renew,
// the new chunk has only about this number of objects.
func (c *chunk) renew() {
	c.count()
	c.n = min(c.n, c.more/2)
	c.base, c.at, c.more = nil, c.n, 0
}

// count adds the number of used objects of the current chunk to more. Call it before the chunk
// is replaced.
func (c *chunk) count() {
	if c.base != nil {
		c.more += c.at
	}
}

// one returns a zeroed object.
func (c *chunk) one() unsafe.Pointer {
	if c.at == c.n {
		c.grow()
	}
	p := unsafe.Add(c.base, uintptr(c.at)*c.size)
	c.at++
	return p
}

// run returns n consecutive zeroed objects. If n is 0, it returns nil, because a pointer to the
// end of a chunk would be outside the chunk.
func (c *chunk) run(n int) unsafe.Pointer {
	if n == 0 {
		return nil
	}
	if n > c.n-c.at {
		if 4*n > int(chunkBytes/c.size) {
			return reflect.MakeSlice(c.slice, n, n).UnsafePointer()
		}
		c.n = max(c.n, (n+1)/2) // grow doubles c.n
		c.grow()
	}
	p := unsafe.Add(c.base, uintptr(c.at)*c.size)
	c.at += n
	return p
}

func (c *chunk) grow() {
	c.count()
	c.n = max(min(2*c.n, int(chunkBytes/c.size)), firstObjects)
	c.base, c.at = reflect.MakeSlice(c.slice, c.n, c.n).UnsafePointer(), 0
}

// list is the layout of a slice.
type list struct {
	data     unsafe.Pointer
	len, cap int
}

// dynamic is the layout of a value of type any that holds a pointer.
type dynamic struct {
	typ  uintptr
	data unsafe.Pointer
}

// wrapper is the layout of the types of pdata: a pointer to the object and the state
// of the batch.
type wrapper struct{ orig, state unsafe.Pointer }

// inside returns the type of the object that a type of pdata wraps, or nil if t is not laid
// out as a wrapper.
func inside(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct || t.Size() != unsafe.Sizeof(wrapper{}) || t.NumField() != 2 ||
		t.Field(0).Type.Kind() != reflect.Pointer || t.Field(1).Type.Kind() != reflect.Pointer {
		return nil
	}
	return t.Field(0).Type.Elem()
}

// sample returns the object in a value of pdata.
func sample(v any) reflect.Value { return reflect.ValueOf(v).Field(0).Elem() }

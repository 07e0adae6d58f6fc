// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math/bits"
	"sync"
	"unsafe"
)

// table is a hash table with open addressing. Callers look up elements in its slots and
// compare them. A slot is only a pointer, because there are many series: an entry of a
// Go map has at least three words.
type table[T any] struct {
	slots []*T // a power of two, at most three quarters used
	used  int
}

const (
	firstSlots = 16
	// keptSlots is the size of the largest table whose slots reset reuses. reset releases the
	// slots of a larger table, because clearing them takes time.
	keptSlots = 2048
)

// add adds an element that is not in the table. hashOf returns the hash of any element.
func (t *table[T]) add(v *T, hash uint64, hashOf func(*T) uint64) {
	if t.used++; 4*t.used > 3*len(t.slots) {
		old := t.slots
		size := max(firstSlots, 2*len(old))
		if len(old) > 0 && size < keptSlots {
			size *= 2 // small tables grow faster, so that elements move less often
		}
		t.slots = make([]*T, size)
		for _, o := range old {
			if o != nil {
				t.insert(o, hashOf(o))
			}
		}
	}
	t.insert(v, hash)
}

func (t *table[T]) insert(v *T, hash uint64) {
	mask := uint64(len(t.slots) - 1)
	for t.slots[hash&mask] != nil {
		hash++
	}
	t.slots[hash&mask] = v
}

func (t *table[T]) reset() {
	if len(t.slots) > keptSlots {
		t.slots = nil
	} else if t.used > 0 {
		clear(t.slots)
	}
	t.used = 0
}

func (t *table[T]) bytes() int { return len(t.slots) * int(unsafe.Sizeof((*T)(nil))) }

// chunks allocates elements in chunks of firstChunk to lastChunk elements. A chunk is larger
// only if one call of take needs more elements.
type chunks[T any] struct {
	all  [][]T
	held int        // elements of all chunks
	free *chunkPool // for chunks of T only
}

const (
	firstChunk = 8
	lastChunk  = 256
)

// chunkPool has the free chunks of streams that have ended, for new streams. The index is the
// number of bits of the capacity of a chunk. The elements are zero.
type chunkPool [10]sync.Pool // of pointers to the first element

// take returns n adjacent elements, which are zero.
func (c *chunks[T]) take(n int) []T {
	before := 0
	if len(c.all) > 0 {
		last := &c.all[len(c.all)-1]
		if at := len(*last); n <= cap(*last)-at {
			*last = (*last)[:at+n]
			return (*last)[at : at+n : at+n]
		}
		before = cap(*last)
	}
	size := max(n, min(max(firstChunk, 2*before), lastChunk))
	chunk := c.pooled(size)
	if chunk == nil {
		chunk = make([]T, size)
	}
	c.all = append(c.all, chunk[:n])
	c.held += size
	return chunk[:n:n]
}

// class returns the pool for chunks of a size, or nil if chunks of this size are not pooled.
func (p *chunkPool) class(size int) *sync.Pool {
	if size < firstChunk || size > lastChunk || size&(size-1) != 0 {
		return nil
	}
	return &p[bits.Len(uint(size))]
}

// pooled returns a chunk of the pool, or nil if the pool has none of this size.
func (c *chunks[T]) pooled(size int) []T {
	if class := c.free.class(size); class != nil {
		if first, ok := class.Get().(*T); ok {
			return unsafe.Slice(first, size)
		}
	}
	return nil
}

func (c *chunks[T]) reset() {
	for _, chunk := range c.all {
		if class := c.free.class(cap(chunk)); class != nil {
			clear(chunk)
			class.Put(unsafe.SliceData(chunk))
		}
	}
	clear(c.all)
	c.all, c.held = c.all[:0], 0
}

func (c *chunks[T]) bytes() int {
	var element T
	return c.held * int(unsafe.Sizeof(element))
}

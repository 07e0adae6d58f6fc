// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import "unsafe"

// table is a hash table with open addressing. Callers look up elements in its slots
// themselves, and compare them. A slot is only a pointer: series are many, and an entry
// of a map of Go takes three words and more.
type table[T any] struct {
	slots []*T // a power of two, at most three quarters used
	used  int
}

const (
	firstSlots = 16
	// keptSlots is the maximum number of slots that are kept when all elements are
	// discarded: clearing them takes time.
	keptSlots = 2048
)

// add adds an element that is not in the table. hashOf returns the hash of any element.
func (t *table[T]) add(v *T, hash uint64, hashOf func(*T) uint64) {
	if t.used++; 4*t.used > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]*T, max(firstSlots, 2*len(old)))
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

// reset discards all elements.
func (t *table[T]) reset() {
	if len(t.slots) > keptSlots {
		t.slots = nil
	} else if t.used > 0 {
		clear(t.slots)
	}
	t.used = 0
}

// bytes returns the memory of the slots.
func (t *table[T]) bytes() int { return len(t.slots) * int(unsafe.Sizeof((*T)(nil))) }

// chunks allocates elements. Chunks have at least firstChunk elements and at most lastChunk,
// or as many as are needed in a row.
type chunks[T any] struct {
	all  [][]T
	used int // chunks that have elements in use
	held int // elements of all chunks
}

const (
	firstChunk = 8
	lastChunk  = 256
	// keptChunks is the maximum number of chunks that are kept when all elements are
	// discarded.
	keptChunks = 8
)

// take returns n elements in a row, which are zero.
func (c *chunks[T]) take(n int) []T {
	if c.used > 0 {
		last := &c.all[c.used-1]
		if at := len(*last); n <= cap(*last)-at {
			*last = (*last)[:at+n]
			return (*last)[at : at+n : at+n]
		}
	}
	if c.used < len(c.all) && n <= cap(c.all[c.used]) {
		c.used++
		return c.take(n)
	}
	c.drop(c.used) // chunks that are too small
	before := 0
	if c.used > 0 {
		before = cap(c.all[c.used-1])
	}
	c.all = append(c.all, make([]T, 0, max(n, min(max(firstChunk, 2*before), lastChunk))))
	c.held += cap(c.all[c.used])
	c.used++
	return c.take(n)
}

// drop releases the memory of all chunks from one on.
func (c *chunks[T]) drop(from int) {
	for i := from; i < len(c.all); i++ {
		c.held -= cap(c.all[i])
	}
	clear(c.all[from:])
	c.all = c.all[:from]
}

// reset discards all elements.
func (c *chunks[T]) reset() {
	kept := 0
	for i := range c.all[:c.used] {
		clear(c.all[i])
		c.all[i] = c.all[i][:0]
	}
	for kept < len(c.all) && kept < keptChunks && cap(c.all[kept]) <= lastChunk {
		kept++
	}
	c.drop(kept)
	c.used = 0
}

// bytes returns the memory of all chunks.
func (c *chunks[T]) bytes() int {
	var element T
	return c.held * int(unsafe.Sizeof(element))
}

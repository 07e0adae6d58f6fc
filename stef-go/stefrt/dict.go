// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"hash/maphash"
	"math"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// Slot is where a shared value remembers its reference in a dictionary. Values
// of dictionary structs have one. A value can be in the dictionaries of many
// streams; it remembers the last.
type Slot struct {
	dict  *dictCore
	epoch uint32
	ref   uint64
}

type dictCore struct {
	epoch uint32
	count uint64 // references run from 1 to count
	usage *codec.Usage
}

// StructDict is the writing side of a struct dictionary.
//
// spec: #struct-dict
type StructDict[T any] struct {
	dictCore
	byHash map[uint64]dictEntry[T]
}

type dictEntry[T any] struct {
	value *T
	ref   uint64
}

func (d *StructDict[T]) init(usage *codec.Usage) { d.usage = usage }

// Restart empties the dictionary.
func (d *StructDict[T]) Restart() {
	d.epoch++
	d.count = 0
	clear(d.byHash)
}

// Release empties the dictionary and gives its memory back.
func (d *StructDict[T]) Release() {
	d.Restart()
	d.byHash = nil
}

// Known returns the reference that a value remembers, if it is in this
// dictionary as it is now.
func (d *StructDict[T]) Known(s *Slot) (ref uint64, ok bool) {
	return s.ref, s.dict == &d.dictCore && s.epoch == d.epoch
}

// Find returns the entry that equals v and its reference, or nil. The hash is
// for Insert then.
func (d *StructDict[T]) Find(v *T, hash func(*T, *Hash), equal func(a, b *T) bool) (entry *T, ref, sum uint64) {
	var h Hash
	hash(v, &h)
	// Entries of equal hash follow at the next numbers.
	for sum = h.sum; ; sum++ {
		e := d.byHash[sum]
		if e.value == nil || equal(e.value, v) {
			return e.value, e.ref, sum
		}
	}
}

// Insert makes v the next entry, at the hash that Find returned.
func (d *StructDict[T]) Insert(hash uint64, v *T, size int) (ref uint64) {
	if d.byHash == nil {
		d.byHash = make(map[uint64]dictEntry[T])
	}
	d.count++
	d.byHash[hash] = dictEntry[T]{v, d.count}
	d.usage.Dict += size + StructOverhead
	return d.count
}

// Remember makes a slot remember a reference.
func (d *StructDict[T]) Remember(s *Slot, ref uint64) {
	*s = Slot{dict: &d.dictCore, epoch: d.epoch, ref: ref}
}

// StructOverhead is what an entry of a struct dictionary counts on top of what
// it holds.
//
// spec: #limits
const StructOverhead = 256

// StructTable is the reading side of a struct dictionary.
//
// spec: #struct-dict
type StructTable[T any] struct {
	entries []*T
	limit   *codec.DictLimit
}

func (t *StructTable[T]) init(limit *codec.DictLimit) { t.limit = limit }

// Restart empties the table. Values that it gave away stay as they are.
func (t *StructTable[T]) Restart() {
	clear(t.entries)
	t.entries = t.entries[:0]
}

// Entry returns the entry that d refers to next, or nil and a latched fault.
func (t *StructTable[T]) Entry(d *codec.BitsIn) *T {
	ref := d.ReadCompact()
	if ref-1 >= uint64(len(t.entries)) {
		d.Fail(bitio.FaultRef)
		return nil
	}
	return t.entries[ref-1]
}

// Append makes v the next entry.
func (t *StructTable[T]) Append(d *codec.BitsIn, v *T, size int) {
	if !t.limit.Take(size + StructOverhead) {
		d.Fail(bitio.FaultDictSize)
		return
	}
	t.entries = append(t.entries, v)
}

// Hash gathers the hash of a value, seeded anew in every process so that
// nobody can make values that collide. It decides nothing but speed: equal
// hashes are always compared.
type Hash struct{ sum uint64 }

var hashSeed = maphash.MakeSeed()

// Uint64 adds an integer.
func (h *Hash) Uint64(v uint64) {
	h.sum = (h.sum ^ v) * codec.GoldenRatio
	h.sum ^= h.sum >> 29
}

// Float64 adds the bits of a float.
func (h *Hash) Float64(v float64) { h.Uint64(math.Float64bits(v)) }

// Bool adds a truth value.
func (h *Hash) Bool(v bool) {
	if v {
		h.Uint64(1)
		return
	}
	h.Uint64(0)
}

// String adds text.
func (h *Hash) String(v string) { h.Uint64(maphash.String(hashSeed, v)) }

// Bytes adds bytes.
func (h *Hash) Bytes(v []byte) { h.Uint64(maphash.Bytes(hashSeed, v)) }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// Slot stores the reference of a shared value in a dictionary. Each value of a dictionary
// struct has a slot. A value can be in the dictionaries of many streams; the slot
// stores only the last reference.
type Slot struct {
	dict  *dictCore
	epoch uint32
	size  uint32 // see Size
	ref   uint64
}

// Size returns the size of the value as a dictionary entry, or 0 if it is not known. Entries
// contain other entries. Without this size, the size of an entry would be computed again for
// each reference to it, although a reference takes only a few bits of a stream.
func (s *Slot) Size() int { return int(s.size) }

// KeepSize stores the size of a value that cannot change any more.
func (s *Slot) KeepSize(size int) {
	if uint64(size) <= math.MaxUint32 {
		s.size = uint32(size)
	}
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

// Release empties the dictionary and releases its memory.
func (d *StructDict[T]) Release() {
	d.Restart()
	d.byHash = nil
}

// Known returns the reference in the slot of a value, if it is valid in this
// dictionary now.
func (d *StructDict[T]) Known(s *Slot) (ref uint64, ok bool) {
	return s.ref, s.dict == &d.dictCore && s.epoch == d.epoch
}

// Find returns the entry that equals v and its reference. If there is none, entry is
// nil, and sum is the hash to pass to Insert.
func (d *StructDict[T]) Find(v *T, hash func(*T, *codec.Hash), equal func(a, b *T) bool) (entry *T, ref, sum uint64) {
	var h codec.Hash
	hash(v, &h)
	// If another value has the same hash, the entry of v is under the next key that is not in use.
	for sum = uint64(h); ; sum++ {
		e := d.byHash[sum]
		if e.value == nil || equal(e.value, v) {
			return e.value, e.ref, sum
		}
	}
}

// Insert makes v the next entry, under the hash that Find returned.
func (d *StructDict[T]) Insert(hash uint64, v *T, size int) (ref uint64) {
	if d.byHash == nil {
		d.byHash = make(map[uint64]dictEntry[T])
	}
	d.count++
	d.byHash[hash] = dictEntry[T]{v, d.count}
	d.usage.Dict += size + StructOverhead
	return d.count
}

// Remember stores a reference in a slot.
func (d *StructDict[T]) Remember(s *Slot, ref uint64) {
	s.dict, s.epoch, s.ref = &d.dictCore, d.epoch, ref
}

// StructOverhead is added to the size of the contents of an entry of a struct dictionary.
//
// spec: #dict-accounting
const StructOverhead = 256

// StructTable is the reading side of a struct dictionary.
//
// spec: #struct-dict
type StructTable[T any] struct {
	entries []tableEntry[T]
	limit   *codec.DictLimit
	shape   *shape // of T
}

type tableEntry[T any] struct {
	value *T
	size  int
}

// restartedEntries is the capacity of the largest table that keeps its memory when the
// dictionaries restart.
const restartedEntries = 1 << 12

func (t *StructTable[T]) init(limit *codec.DictLimit) { t.limit = limit }

// Restart empties the table. Values that Entry returned do not change.
func (t *StructTable[T]) Restart() {
	clear(t.entries)
	t.entries = t.entries[:0]
	if cap(t.entries) > restartedEntries {
		t.entries = nil
	}
}

// Spare returns the memory that the table has for further entries.
func (t *StructTable[T]) Spare() int {
	return (cap(t.entries) - len(t.entries)) * int(unsafe.Sizeof(tableEntry[T]{}))
}

// Entry reads a reference from d and returns its entry. For an invalid reference it fails the
// stream and returns nil.
func (t *StructTable[T]) Entry(d *codec.BitsIn) *T {
	ref := d.ReadCompact()
	if ref-1 >= uint64(len(t.entries)) {
		d.Fail(bitio.FaultRef)
		return nil
	}
	e := &t.entries[ref-1]
	t.limit.Work += int64(e.size) // users of the record may compare the contents of the entry
	return e.value
}

// Append makes v the next entry. size is its size by the rule of the specification, which
// counts only the contents. owned is the result of Owned. The entry uses more memory than size:
// its lists are separate objects, and absent fields keep their contents. Append adds this memory
// to the memory that the reader counts, and half of size as an estimate for texts.
func (t *StructTable[T]) Append(d *codec.BitsIn, v *T, size, owned int) {
	if !t.limit.Take(size + StructOverhead) {
		d.Fail(bitio.FaultDictSize)
		return
	}
	extra := max(0, owned-size-StructOverhead) + size/2
	t.limit.Extra += extra
	t.limit.Added += int64(extra)
	if t.limit.Extra/maxExtra > t.limit.Max {
		d.Fail(bitio.FaultDictSize)
		return
	}
	t.entries = append(t.entries, tableEntry[T]{v, size})
}

// maxExtra limits the additional memory of all entries, see Append: at most maxExtra times the
// limit of their sizes. Only entries with large absent fields need that much: a size does not
// include these fields, but a reader must keep them.
const maxExtra = 16

// Owned returns the memory of an entry without its texts and without other entries.
func (t *StructTable[T]) Owned(v *T) int {
	if t.shape == nil {
		t.shape = shapeOf(reflect.TypeFor[T]())
	}
	return int(t.shape.size) + t.shape.ownedSize(unsafe.Pointer(v))
}

// Spacious reports whether a new entry uses far more memory than its contents need. The entry
// began as a copy of the previous value, and keeps the memory of list elements that only the
// previous value had. The caller then replaces the entry by a copy of its contents. Without this
// copy, a short stream with alternately large and small values could fill the memory, although
// the sizes of the small values are within the limit.
func (t *StructTable[T]) Spacious(size, owned int) bool {
	if owned <= spacious*(size+StructOverhead) {
		return false
	}
	t.limit.Added += int64(owned) // this memory was allocated, although the entry does not keep it
	return true
}

// spacious is the maximum ratio between the memory and the size of an entry that is not copied.
const spacious = 4

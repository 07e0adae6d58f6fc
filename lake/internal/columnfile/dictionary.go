// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"encoding/binary"
	"hash/maphash"
)

// dictionary contains the distinct values of a column in the order in which they were found.
// Its hash table contains only indexes, so it needs less memory than a map of texts.
type dictionary struct {
	table  []uint32 // 1 + the index of a value, or 0; the length is a power of two
	values []byte   // the concatenated values
	ends   []int    // the end of each value in values
	bytes  int      // size of the values when encoded
	last   uint64   // the last fixed value of 4 or 8 bytes; index is its index
	index  uint32
}

var seed = maphash.MakeSeed()

func (d *dictionary) reset() {
	clear(d.table)
	d.values, d.ends, d.bytes, d.last, d.index = d.values[:0], d.ends[:0], 0, 0, 0
}

func (d *dictionary) value(i uint32) []byte {
	from := 0
	if i > 0 {
		from = d.ends[i-1]
	}
	return d.values[from:d.ends[i]]
}

// text returns the index of a text. If the text is new, it is added.
func (d *dictionary) text(value string) uint32 {
	if len(d.ends)*2 >= len(d.table) {
		d.grow()
	}
	mask := uint64(len(d.table) - 1)
	for slot := maphash.String(seed, value) & mask; ; slot = (slot + 1) & mask {
		i := d.table[slot]
		if i == 0 {
			d.table[slot] = d.insert(value) + 1
			return d.table[slot] - 1
		}
		if string(d.value(i-1)) == value {
			return i - 1
		}
	}
}

func (d *dictionary) insert(value string) uint32 {
	d.values = append(d.values, value...)
	d.ends = append(d.ends, len(d.values))
	d.bytes += len(value) + 4
	return uint32(len(d.ends) - 1)
}

func (d *dictionary) grow() {
	d.table = make([]uint32, max(2*len(d.table), 64))
	mask := uint64(len(d.table) - 1)
	for i := range uint32(len(d.ends)) {
		slot := maphash.Bytes(seed, d.value(i)) & mask
		for d.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		d.table[slot] = i + 1
	}
}

// fixed returns the index of a value of fixed size. It caches the index of the last value of
// 4 or 8 bytes, because such values often repeat.
func (d *dictionary) fixed(value []byte) uint32 {
	var w uint64
	switch len(value) {
	case 4:
		w = uint64(binary.LittleEndian.Uint32(value))
	case 8:
		w = binary.LittleEndian.Uint64(value)
	default:
		return d.text(string(value))
	}
	if w != d.last || len(d.ends) == 0 {
		d.last, d.index = w, d.text(string(value))
	}
	return d.index
}

func (d *dictionary) each(f func(value []byte)) {
	for i := range uint32(len(d.ends)) {
		f(d.value(i))
	}
}

// encoded returns the content of the dictionary page. Each text has its length before it.
func (d *dictionary) encoded(fixed bool) []byte {
	if fixed {
		return d.values
	}
	page := make([]byte, 0, d.bytes)
	d.each(func(value []byte) {
		page = binary.LittleEndian.AppendUint32(page, uint32(len(value)))
		page = append(page, value...)
	})
	return page
}

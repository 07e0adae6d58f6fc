// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"hash/maphash"
	"math/bits"
)

// index finds numbers by pairs of integers. Only writers have one.
type index struct {
	slots []uint32 // numbers, plus one
	keys  []uint64 // hashes, by number
	seed  uint64
}

func (x *index) hash(a, b uint64) uint64 {
	if x.seed == 0 {
		x.seed = maphash.String(maphash.MakeSeed(), "") | 1
	}
	high, low := bits.Mul64(a^x.seed, 0x9e3779b97f4a7c15)
	h := high ^ low ^ b*0xd6e8feb86659fd93
	high, low = bits.Mul64(h, x.seed)
	return high ^ low
}

// find returns the number of a pair of which fits says so.
func (x *index) find(a, b uint64, fits func(n uint32) bool) (uint32, bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	h := x.hash(a, b)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; x.slots[i] > 0; i = (i + 1) & mask {
		if n := x.slots[i] - 1; x.keys[n] == h && fits(n) {
			return n, true
		}
	}
	return 0, false
}

// add gives a pair the next number.
func (x *index) add(a, b uint64, n uint32) {
	h := x.hash(a, b)
	x.keys = append(x.keys, h)
	if 2*len(x.keys) > len(x.slots) {
		x.slots = make([]uint32, max(64, 2*len(x.slots)))
		for n, h := range x.keys {
			x.put(h, uint32(n))
		}
		return
	}
	x.put(h, n)
}

func (x *index) put(h uint64, n uint32) {
	mask := uint64(len(x.slots) - 1)
	i := h & mask
	for x.slots[i] > 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = n + 1
}

func (x *index) reset() {
	clear(x.slots)
	x.keys = x.keys[:0]
}

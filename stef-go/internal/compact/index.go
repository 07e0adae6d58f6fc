// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"hash/maphash"
	"math/bits"
)

// index finds numbers by a hash. Only writers have one. A collision costs only time:
// callers compare what they find.
type index struct {
	slots []slot
	used  int
	seed  uint64
}

// slot is a hash and a number plus one, or 0.
type slot struct{ hash, number uint32 }

// hash mixes two integers with a seed of this process, so that an attacker cannot
// construct values that collide.
func (x *index) hash(a, b uint64) uint32 {
	if x.seed == 0 {
		x.seed = maphash.String(maphash.MakeSeed(), "") | 1
	}
	high, low := bits.Mul64(a^x.seed, 0x9e3779b97f4a7c15^b<<1)
	return uint32((high ^ low) * 0xd6e8feb86659fd93 >> 32)
}

// add adds a number.
func (x *index) add(hash, number uint32) {
	if x.used++; 2*x.used > len(x.slots) {
		old := x.slots
		x.slots = make([]slot, max(64, 4*len(old)))
		for _, s := range old {
			if s.number > 0 {
				x.put(s)
			}
		}
	}
	x.put(slot{hash, number + 1})
}

func (x *index) put(s slot) {
	mask := len(x.slots) - 1
	i := int(s.hash) & mask
	for x.slots[i].number > 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

func (x *index) reset() {
	clear(x.slots)
	x.used = 0
}

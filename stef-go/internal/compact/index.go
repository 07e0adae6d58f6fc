// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "github.com/otelstef/stef/stef-go/codec"

func hashOf(a, b uint64) uint32 { return uint32(codec.HashPair(a, b)) }

// index finds traces by a hash. Only writers have an index. A collision costs only time:
// callers compare the traces that they find.
type index struct {
	slots []slot
	used  int
}

// slot is a hash and a number plus one. The number is 0 in a free slot.
type slot struct{ hash, number uint32 }

// ensure makes room for one more trace.
func (x *index) ensure() {
	if 2*x.used < len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, max(64, 4*len(old)))
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s.number > 0 {
			i := s.hash & mask
			for x.slots[i].number > 0 {
				i = (i + 1) & mask
			}
			x.slots[i] = s
		}
	}
}

func (x *index) reset() {
	clear(x.slots)
	x.used = 0
}

// placeIndex finds ids by the hash of the trace number and the id.
type placeIndex struct {
	slots []placeSlot
	used  int
}

// placeSlot is an id of a trace. An empty slot has the position 0, where no id is.
type placeSlot struct {
	trace uint32
	place
}

func (x *placeIndex) reset() {
	if x.used > 0 {
		clear(x.slots)
		x.used = 0
	}
}

func (s *ids) index(number uint32, p place) {
	x := &s.byID
	if x.used++; 2*x.used > len(x.slots) {
		old := x.slots
		x.slots = make([]placeSlot, max(256, 4*len(old)))
		for _, slot := range old {
			if slot.position > 0 {
				s.insert(slot)
			}
		}
	}
	s.insert(placeSlot{number, p})
}

func (s *ids) insert(slot placeSlot) {
	x := &s.byID
	mask := uint32(len(x.slots) - 1)
	i := hashOf(s.element(slot.position).id, uint64(slot.trace)) & mask
	for x.slots[i].position > 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = slot
}

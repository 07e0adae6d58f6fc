// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"sync"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

const (
	maxTraces = 1 << 15
	maxIDs    = 1 << 17
	// scanned is the maximum number of ids of a trace in which writers search linearly.
	// The ids of a longer trace are in an index.
	scanned = 64
)

// Codes of traces that do not represent a difference between trace numbers.
const (
	traceSame = iota
	traceNew
	traceNext
)

type trace struct {
	high, low   uint64
	start       uint64 // start time of the last span of the trace
	ids         uint32
	block       uint32 // position of its last block
	first, size uint32 // of the last block: the order of its first id, and its capacity in ids
	// backBlock is the position of the block before the last block, and backFirst is the
	// order of its first id. They are copies of the first element of the last block,
	// which is seldom in the cache.
	backBlock, backFirst uint32
	next                 uint32 // number of the trace that last followed this trace, plus one
	// A Bloom filter of the ids of the trace, in writers. If it lacks a bit of an id, the trace
	// does not have the id; this saves the search for most ids of new spans.
	seen32 uint32
	seen64 uint64
}

// bitsOf returns the bits of an id in the filter of its trace: one bit of each of the two words of
// the filter.
func bitsOf(id uint64) (bit32 uint32, bit64 uint64) {
	hash := id * codec.GoldenRatio
	return 1 << (hash >> 53 & 31), 1 << (hash >> 58)
}

// lacks returns true only if the trace does not have an id. If it returns false, the trace may have
// the id.
func (t *trace) lacks(id uint64) bool {
	bit32, bit64 := bitsOf(id)
	return t.seen32&bit32 == 0 || t.seen64&bit64 == 0
}

// spanID is an id that was sent: the id of a span, or of a parent whose span may
// follow.
//
// The ids of a trace are in blocks of increasing size. The first element of a block is not an id,
// but refers to the previous block: see the method before.
type spanID struct {
	id, start uint64
}

// before decodes the first element of a block. It returns the position of the previous
// block, and the order of the first id in the previous block.
func (s *spanID) before() (block, first uint32) { return uint32(s.id), uint32(s.start) }

const (
	slabTraces = 1 << 8
	slabIDs    = 1 << 12
	firstBlock = 4
	lastBlock  = 1 << 10
)

// place is the position of an id, and its order within the trace.
type place struct{ position, order uint32 }

// ids are the traces and ids that were sent. Writer and reader keep the same ids.
//
// The ids of a trace are close together in memory, because spans of the same trace
// follow and refer to each other. A hash table of all ids would cause a cache miss for
// each id.
type ids struct {
	traces []*[slabTraces]trace
	known  uint32 // number of traces
	last   uint32 // number of the last trace, plus one
	count  int
	slabs  []*[slabIDs]spanID
	used   uint32 // number of used elements in slabs

	byTrace index      // only in writers
	byID    placeIndex // only in writers, for long traces
}

func (s *ids) forget() {
	s.known, s.last, s.count, s.used = 0, 0, 0, 0
	s.byTrace.reset()
	s.byID.reset()
}

// Slabs of streams that ended are pooled for new streams. Slabs are not cleared, because every
// element is set before it is used.
var (
	freeTraces = sync.Pool{New: func() any { return new([slabTraces]trace) }}
	freeIDs    = sync.Pool{New: func() any { return new([slabIDs]spanID) }}
)

// release discards all ids and their memory.
func (s *ids) release() {
	for _, slab := range s.traces {
		freeTraces.Put(slab)
	}
	for _, slab := range s.slabs {
		freeIDs.Put(slab)
	}
	*s = ids{}
}

// held returns the memory of all ids.
func (s *ids) held() int {
	return len(s.slabs)*int(unsafe.Sizeof([slabIDs]spanID{})) + len(s.traces)*int(unsafe.Sizeof([slabTraces]trace{})) +
		len(s.byTrace.slots)*int(unsafe.Sizeof(slot{})) + len(s.byID.slots)*int(unsafe.Sizeof(placeSlot{}))
}

// ensure makes room for the ids of a record: it discards all ids if there are too many.
func (s *ids) ensure() {
	if s.known >= maxTraces || s.count >= maxIDs-1 {
		s.forget()
	}
}

func (s *ids) trace(number uint32) *trace {
	return &s.traces[number/slabTraces][number%slabTraces]
}

func (s *ids) newTrace(high, low uint64) {
	if int(s.known/slabTraces) == len(s.traces) {
		s.traces = append(s.traces, freeTraces.Get().(*[slabTraces]trace))
	}
	*s.trace(s.known) = trace{high: high, low: low}
	s.known++
}

func (s *ids) element(position uint32) *spanID {
	return &s.slabs[position/slabIDs][position%slabIDs]
}

// find returns where an id of the trace t is. number is the number of t.
func (s *ids) find(t *trace, number uint32, id uint64) (place, bool) {
	if t.lacks(id) {
		return place{}, false
	}
	end := t.ids
	if end > scanned {
		return s.findIndexed(number, id)
	}
	for block, first := t.block, t.first; ; {
		slab := s.slabs[block/slabIDs]
		at := block % slabIDs
		list := slab[at+1 : at+1+end-first]
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].id == id {
				return place{block + 1 + uint32(i), first + uint32(i)}, true
			}
		}
		if first == 0 {
			return place{}, false
		}
		end = first
		block, first = slab[at].before()
	}
}

func (s *ids) findIndexed(number uint32, id uint64) (place, bool) {
	x := &s.byID
	mask := uint32(len(x.slots) - 1)
	for i := hashOf(id, uint64(number)) & mask; x.slots[i].position > 0; i = (i + 1) & mask {
		if slot := &x.slots[i]; slot.trace == number && s.element(slot.position).id == id {
			return slot.place, true
		}
	}
	return place{}, false
}

// at returns the id at a distance, which counts back from the last id of the trace.
func (s *ids) at(t *trace, d uint64) (p place, ok bool) {
	if d-1 >= uint64(t.ids) {
		return place{}, false
	}
	order := t.ids - uint32(d)
	if order >= t.first {
		return place{t.block + 1 + order - t.first, order}, true
	}
	if order >= t.backFirst {
		return place{t.backBlock + 1 + order - t.backFirst, order}, true
	}
	return s.before(t.backBlock, order), true
}

// before returns the place of the id with this order, which is in a block before the
// given block.
func (s *ids) before(block, order uint32) place {
	for {
		var first uint32
		if block, first = s.element(block).before(); order >= first {
			return place{block + 1 + order - first, order}
		}
	}
}

// back returns the id at a distance, or nil. The method at explains the distance.
func (s *ids) back(t *trace, d uint64) *spanID {
	if d-1 >= uint64(t.ids) {
		return nil
	}
	order := t.ids - uint32(d)
	if order >= t.first {
		return s.element(t.block + 1 + order - t.first)
	}
	if order >= t.backFirst {
		return s.element(t.backBlock + 1 + order - t.backFirst)
	}
	return s.element(s.before(t.backBlock, order).position)
}

// take adds an id to a trace in a reader. Readers find ids by their distance only.
func (s *ids) take(t *trace, id, start uint64) {
	if t.ids == t.first+t.size {
		s.grow(t)
	}
	*s.element(t.block + 1 + t.ids - t.first) = spanID{id, start}
	t.ids++
	s.count++
}

// add adds an id to a trace in a writer, and returns its position.
func (s *ids) add(t *trace, id uint64) (position uint32) {
	if t.ids == t.first+t.size {
		s.grow(t)
	}
	position = t.block + 1 + t.ids - t.first
	*s.element(position) = spanID{id: id}
	bit32, bit64 := bitsOf(id)
	t.seen32, t.seen64 = t.seen32|bit32, t.seen64|bit64
	t.ids++
	s.count++
	return position
}

// grow adds a block to a trace whose last block is full.
func (s *ids) grow(t *trace) {
	elements := uint32(firstBlock)
	if t.ids > 0 {
		elements = min(2*(t.size+1), lastBlock)
	}
	if s.used/slabIDs != (s.used+elements-1)/slabIDs {
		s.used = (s.used + slabIDs) / slabIDs * slabIDs
	}
	if int(s.used/slabIDs) == len(s.slabs) {
		s.slabs = append(s.slabs, freeIDs.Get().(*[slabIDs]spanID))
	}
	*s.element(s.used) = spanID{uint64(t.block), uint64(t.first)}
	t.backBlock, t.backFirst = t.block, t.first
	t.block, t.first, t.size = s.used, t.ids, elements-1
	s.used += elements
}

// put adds an id to the trace t in a writer. The trace must not have this id yet. number is the
// number of the trace. If the trace is then too long for a linear search (see scanned), put also
// ensures that the index contains all ids of the trace.
func (s *ids) put(t *trace, number uint32, id uint64) (position uint32) {
	position = s.add(t, id)
	switch {
	case t.ids == scanned+1:
		for d := t.ids; d > 0; d-- {
			p, _ := s.at(t, uint64(d))
			s.index(number, p)
		}
	case t.ids > scanned:
		s.index(number, place{position, t.ids - 1})
	}
	return position
}

// enter makes a trace the last trace, and stores it as the next trace of the previous trace.
func (s *ids) enter(number uint32) *trace {
	if s.last > 0 {
		s.trace(s.last - 1).next = number + 1
	}
	s.last = number + 1
	return s.trace(number)
}

// putTrace makes the trace with this id the last trace, and returns its code.
func (s *ids) putTrace(high, low uint64) (code uint64, t *trace) {
	next := uint32(0)
	if s.last > 0 {
		t := s.trace(s.last - 1)
		if t.low == low && t.high == high {
			return traceSame, t
		}
		if next = t.next; next > 0 {
			if x := s.trace(next - 1); x.low == low && x.high == high {
				s.last = next
				return traceNext, x
			}
		}
	}
	n, ok := s.traceOf(high, low)
	if !ok {
		s.newTrace(high, low)
		return traceNew, s.enter(n)
	}
	code = uint64(n) - uint64(s.last-1)
	if int64(code) > 0 {
		code += traceNext
	}
	return code, s.enter(n)
}

// traceOf returns the number of a trace. If the trace is new, it assigns a number and ok is
// false.
func (s *ids) traceOf(high, low uint64) (number uint32, ok bool) {
	x := &s.byTrace
	x.ensure()
	hash := hashOf(low, high)
	mask := uint32(len(x.slots) - 1)
	i := hash & mask
	for ; x.slots[i].number > 0; i = (i + 1) & mask {
		if x.slots[i].hash == hash {
			n := x.slots[i].number - 1
			if t := s.trace(n); t.low == low && t.high == high {
				return n, true
			}
		}
	}
	number = s.known
	x.slots[i] = slot{hash, number + 1}
	x.used++
	return number, false
}

// takeTrace is the inverse of putTrace. It returns nil if the code is invalid.
func (s *ids) takeTrace(code, high, low uint64) *trace {
	var n uint64
	switch {
	case code == traceNew:
		n = uint64(s.known)
		s.newTrace(high, low)
	case s.last == 0:
		return nil
	case code == traceSame:
		return s.trace(s.last - 1)
	case code == traceNext:
		n = uint64(s.trace(s.last-1).next) - 1
	default:
		if int64(code) > 0 {
			code -= traceNext
		}
		n = uint64(s.last-1) + code
	}
	if n >= uint64(s.known) {
		return nil
	}
	return s.enter(uint32(n))
}

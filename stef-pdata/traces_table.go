// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"encoding/binary"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// traceTable numbers the traces of a chunk. It is small enough to stay in the
// cache, and so small that crafted ids, all in one place of it, do no harm.
type traceTable struct {
	known []traceInfo
	slots [2 * chunkSpans]uint16 // numbers, counted from 1
	order []uint16
	last  uint32
}

// traceInfo is what the order needs to know of a trace.
type traceInfo struct {
	id    pcommon.TraceID
	start uint64 // when it begins
	spans int
	at    int // where its spans go
}

func (t *traceTable) reset() {
	t.known = t.known[:0]
	clear(t.slots[:])
}

// find returns the number of a trace that has a span of the start.
func (t *traceTable) find(id pcommon.TraceID, start uint64) uint32 {
	if len(t.known) == 0 || t.known[t.last].id != id {
		t.last = t.search(id)
	}
	info := &t.known[t.last]
	info.start = min(info.start, start)
	info.spans++
	return t.last
}

func (t *traceTable) search(id pcommon.TraceID) uint32 {
	// Ids are random, or half of them is.
	x := binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])
	for slot := x * 0x9e3779b97f4a7c15 >> 32; ; slot++ {
		at := &t.slots[slot%uint64(len(t.slots))]
		if *at == 0 {
			t.known = append(t.known, traceInfo{id: id, start: 1<<64 - 1})
			*at = uint16(len(t.known))
			return uint32(len(t.known) - 1)
		}
		if t.known[*at-1].id == id {
			return uint32(*at - 1)
		}
	}
}

// sort returns the traces in the order in which they begin. Those that begin at
// the same time keep the order in which they came.
func (t *traceTable) sort() []uint16 {
	t.order = t.order[:0]
	for i := range t.known {
		t.order = append(t.order, uint16(i))
	}
	slices.SortFunc(t.order, func(a, b uint16) int {
		if c := cmp.Compare(t.known[a].start, t.known[b].start); c != 0 {
			return c
		}
		return int(a) - int(b)
	})
	return t.order
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/codec"
)

// traceTable numbers the traces of a chunk. It is small enough to stay in the
// cache, and so small that crafted ids, all in one place of it, do no harm.
type traceTable struct {
	known []traceInfo
	slots [2 * chunkSpans]uint16 // numbers, counted from 1
	last  uint32
}

// traceInfo is what the order needs to know of a trace.
type traceInfo struct {
	id    pcommon.TraceID
	spans uint32
	at    uint32 // where its next span goes
}

const noPlace = ^uint32(0)

func (t *traceTable) reset() {
	t.known = t.known[:0]
	clear(t.slots[:])
}

// find returns the number of a trace that has one more span.
func (t *traceTable) find(id pcommon.TraceID) uint32 {
	if len(t.known) == 0 || t.known[t.last].id != id {
		t.last = t.search(id)
	}
	t.known[t.last].spans++
	return t.last
}

func (t *traceTable) search(id pcommon.TraceID) uint32 {
	// Ids are random, or half of them is.
	x := binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])
	for slot := x * codec.GoldenRatio >> 32; ; slot++ {
		at := &t.slots[slot%uint64(len(t.slots))]
		if *at == 0 {
			t.known = append(t.known, traceInfo{id: id, at: noPlace})
			*at = uint16(len(t.known))
			return uint32(len(t.known) - 1)
		}
		if t.known[*at-1].id == id {
			return uint32(*at - 1)
		}
	}
}

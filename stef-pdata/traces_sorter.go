// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// spanSorter collects the spans of a batch, to be written by resource, scope,
// trace and start time. Traces are in the order in which they begin, so that
// both times and ids run along.
type spanSorter struct {
	groups []spanGroup
	items  []spanItem
	spare  []spanItem

	traces  map[pcommon.TraceID]uint32 // index of starts
	starts  []uint64                   // when each trace begins
	byStart []uint32                   // traces in that order
	ranks   []uint32                   // of traces
	last    pcommon.TraceID
	lastID  uint32
}

// spanGroup is the spans of a scope.
type spanGroup struct {
	resource, scope uint32
	spans           ptrace.SpanSlice
	at              place
}

// spanItem is a span and, once all are collected, its place in the order.
type spanItem struct {
	key         uint64 // before that the start time
	trace       uint32
	group, span uint32
}

func (s *spanSorter) reset() {
	clear(s.groups)
	s.groups, s.items, s.starts = s.groups[:0], s.items[:0], s.starts[:0]
	clear(s.traces)
}

// collect adds the spans of a scope.
func (s *spanSorter) collect(spans ptrace.SpanSlice, g spanGroup) {
	g.spans = spans
	group := uint32(len(s.groups))
	s.groups = append(s.groups, g)
	n := spans.Len()
	s.items = slices.Grow(s.items, n)
	for i := range n {
		span := spans.At(i)
		start := uint64(span.StartTimestamp())
		s.items = append(s.items, spanItem{
			key: start, trace: s.trace(span.TraceID(), start), group: group, span: uint32(i),
		})
	}
}

// trace returns the index of a trace, which has a span of the start.
func (s *spanSorter) trace(id pcommon.TraceID, start uint64) uint32 {
	if len(s.starts) == 0 || id != s.last {
		index, ok := s.traces[id]
		if !ok {
			if s.traces == nil {
				s.traces = map[pcommon.TraceID]uint32{}
			}
			index = uint32(len(s.starts))
			s.traces[id] = index
			s.starts = append(s.starts, start)
		}
		s.last, s.lastID = id, index
	}
	s.starts[s.lastID] = min(s.starts[s.lastID], start)
	return s.lastID
}

// sort returns the spans in order.
func (s *spanSorter) sort(resources, scopes *ranking) []spanItem {
	s.rankTraces()
	traceBits := bits.Len(uint(len(s.starts)))
	scopeBits := bits.Len32(scopes.top)
	// What the other ranks leave holds the time from the beginning of the
	// trace. Longer times come last in their order of arrival.
	timeBits := max(64-bits.Len32(resources.top)-scopeBits-traceBits, 0)
	longest := uint64(1)<<timeBits - 1
	for i := range s.items {
		x := &s.items[i]
		g := &s.groups[x.group]
		time := min(x.key-s.starts[x.trace], longest)
		key := uint64(resources.ranks[g.resource])<<scopeBits | uint64(scopes.ranks[g.scope])
		x.key = (key<<traceBits|uint64(s.ranks[x.trace]))<<timeBits | time
	}
	slices.SortStableFunc(s.items, func(a, b spanItem) int { return cmp.Compare(a.key, b.key) })
	return s.items
}

// rankTraces ranks the traces by their beginning. Those that begin at the same
// time keep the order in which they came.
func (s *spanSorter) rankTraces() {
	s.byStart = s.byStart[:0]
	for i := range s.starts {
		s.byStart = append(s.byStart, uint32(i))
	}
	slices.SortStableFunc(s.byStart, func(a, b uint32) int { return cmp.Compare(s.starts[a], s.starts[b]) })
	s.ranks = slices.Grow(s.ranks[:0], len(s.starts))[:len(s.starts)]
	for rank, trace := range s.byStart {
		s.ranks[trace] = uint32(rank)
	}
}

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
// both times and ids run along. Where traces have few spans in a scope there are
// no ids to save by keeping traces together, and the name comes before the trace,
// so that spans follow each other that have the same attributes.
//
// A large batch is sorted in chunks of containers that came together, since to
// look all over the memory of a large batch takes more time than all the rest.
type spanSorter struct {
	lists  []spanList
	homes  []spanHome
	chunks int                  // the highest number of one
	homed  map[[2]uint32]uint32 // by resource and scope
	items  []spanItem
	keys   []sortKey
	spare  []sortKey

	traces map[pcommon.TraceID]uint32
	known  []traceInfo
	order  []uint32 // scratch
	names  names
}

// sparse is how many spans a trace has to have in a scope, on average, to be
// kept together; of 1 to 5 it gave the smallest streams.
const sparse = 3

// chunkSpans is how many spans a chunk has before the next container begins
// another one. Whole batches in one chunk gave streams 1 % smaller at most.
const chunkSpans = 256

// spanList is the spans of one container.
type spanList struct {
	spans       ptrace.SpanSlice
	home, chunk uint32
	at          place
}

// spanHome is a scope of a resource.
type spanHome struct {
	resource, scope uint32
	spans, traces   int
	chunk, inChunk  int
	rank            uint32
}

// traceInfo is what the order needs to know of a trace.
type traceInfo struct {
	start uint64 // when it begins
	homes uint64 // a bit for each of the first 64 homes that has a span of it
	rank  uint32
}

// spanItem is a span.
type spanItem struct {
	start             uint64
	list, span, trace uint32
}

func (s *spanSorter) reset() {
	clear(s.lists)
	clear(s.homed)
	clear(s.traces)
	s.chunks = 0
	s.lists, s.homes, s.items, s.known = s.lists[:0], s.homes[:0], s.items[:0], s.known[:0]
}

// collect adds the spans of a container.
func (s *spanSorter) collect(spans ptrace.SpanSlice, resource, scope uint32, at place) {
	h := s.home(resource, scope)
	list, home, bit := uint32(len(s.lists)), &s.homes[h], uint64(1)<<(h&63)
	n := spans.Len()
	home.spans += n
	if home.inChunk >= chunkSpans {
		home.chunk, home.inChunk = home.chunk+1, 0
	}
	home.inChunk += n
	s.chunks = max(s.chunks, home.chunk)
	s.lists = append(s.lists, spanList{spans, h, uint32(home.chunk), at})
	s.items = slices.Grow(s.items, n)
	var last pcommon.TraceID
	var trace uint32
	for i := range n {
		span := spans.At(i)
		start := uint64(span.StartTimestamp())
		if id := span.TraceID(); i == 0 || id != last {
			last, trace = id, s.trace(id, start)
		}
		info := &s.known[trace]
		info.start = min(info.start, start)
		if info.homes&bit == 0 {
			info.homes |= bit
			home.traces++
		}
		s.items = append(s.items, spanItem{start, list, uint32(i), trace})
	}
}

// home returns the index of a home.
func (s *spanSorter) home(resource, scope uint32) uint32 {
	key := [2]uint32{resource, scope}
	h, ok := s.homed[key]
	if !ok {
		if s.homed == nil {
			s.homed, s.traces = map[[2]uint32]uint32{}, map[pcommon.TraceID]uint32{}
		}
		h = uint32(len(s.homes))
		s.homed[key] = h
		s.homes = append(s.homes, spanHome{resource: resource, scope: scope})
	}
	return h
}

// trace returns the index of a trace.
func (s *spanSorter) trace(id pcommon.TraceID, start uint64) uint32 {
	trace, ok := s.traces[id]
	if !ok {
		trace = uint32(len(s.known))
		s.traces[id] = trace
		s.known = append(s.known, traceInfo{start: start})
	}
	return trace
}

// sort returns the items in order.
func (s *spanSorter) sort(resources, scopes *ranking) []sortKey {
	s.rankHomes(resources, scopes)
	s.rankTraces()
	homeBits := bits.Len(uint(len(s.homes)))
	chunkBits := bits.Len(uint(s.chunks))
	traceBits := bits.Len(uint(len(s.known)))
	nameBits := bits.Len(maxNames)
	s.keys = slices.Grow(s.keys[:0], len(s.items))
	for i := range s.items {
		x := &s.items[i]
		list, trace := &s.lists[x.list], &s.known[x.trace]
		home := &s.homes[list.home]
		key, used := uint64(home.rank)<<chunkBits|uint64(list.chunk), homeBits+chunkBits
		if home.spans < sparse*home.traces {
			key = key<<nameBits | uint64(s.names.id(list.spans.At(int(x.span)).Name()))
			used += nameBits
		}
		key = key<<traceBits | uint64(trace.rank)
		used += traceBits
		// What is left holds the time from the beginning of the trace.
		// Longer times come last, in their order of arrival.
		left := max(64-used, 0)
		key = key<<left | min(x.start-trace.start, uint64(1)<<left-1)
		s.keys = append(s.keys, sortKey{key, uint32(i)})
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, 64)
	return s.keys
}

func (s *spanSorter) rankHomes(resources, scopes *ranking) {
	s.scratch(len(s.homes))
	slices.SortFunc(s.order, func(a, b uint32) int {
		x, y := &s.homes[a], &s.homes[b]
		return cmp.Or(
			cmp.Compare(resources.ranks[x.resource], resources.ranks[y.resource]),
			cmp.Compare(scopes.ranks[x.scope], scopes.ranks[y.scope]),
			cmp.Compare(a, b),
		)
	})
	for rank, home := range s.order {
		s.homes[home].rank = uint32(rank)
	}
}

// rankTraces ranks the traces by their beginning. Those that begin at the same
// time keep the order in which they came.
func (s *spanSorter) rankTraces() {
	s.scratch(len(s.known))
	slices.SortFunc(s.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.known[a].start, s.known[b].start), cmp.Compare(a, b))
	})
	for rank, trace := range s.order {
		s.known[trace].rank = uint32(rank)
	}
}

// scratch fills order with the numbers below n.
func (s *spanSorter) scratch(n int) {
	s.order = s.order[:0]
	for i := range n {
		s.order = append(s.order, uint32(i))
	}
}

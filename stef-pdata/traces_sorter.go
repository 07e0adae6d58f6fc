// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// spanSorter holds the spans of a batch by resource and scope. Within these they
// are written in chunks, each in the order of trace and start time. Traces are in
// the order in which they begin, so that both times and ids run along. Where
// traces have few spans in a chunk there are no ids to save by keeping traces
// together, and the name comes before the trace, so that spans follow each other
// that have the same attributes.
//
// Chunks, because in the memory of a large batch everything is far apart: a chunk
// is read in the order in which it lies there, and written while it is in the
// cache.
type spanSorter struct {
	homes []spanHome
	homed map[[2]uint32]uint32 // by resource and scope
	order []uint32             // homes, as they are written
	chunk spanChunk
}

// spanSorters have the memory of encoders that do not sort at the moment, for those
// that do: it is several times what else an encoder has. Nothing that they hold has a
// part in the order.
var spanSorters = sync.Pool{New: func() any { return &spanSorter{homed: map[[2]uint32]uint32{}} }}

// spanHome is a scope of a resource.
type spanHome struct {
	resource, scope uint32
	lists           []spanList
}

// spanList is the spans of one container.
type spanList struct {
	ptrace.SpanSlice
	at mapping.Place
}

// add adds the spans of a container.
func (s *spanSorter) add(resource, scope uint32, list spanList) {
	key := [2]uint32{resource, scope}
	h, ok := s.homed[key]
	if !ok {
		h = uint32(len(s.homes))
		s.homed[key] = h
		s.homes = slices.Grow(s.homes, 1)[:h+1]
		home := &s.homes[h]
		home.resource, home.scope = resource, scope
	}
	home := &s.homes[h]
	home.lists = append(home.lists, list)
}

// reset forgets all spans.
func (s *spanSorter) reset() {
	for i := range s.homes {
		clear(s.homes[i].lists)
		s.homes[i].lists = s.homes[i].lists[:0]
	}
	s.homes = s.homes[:0]
	clear(s.homed)
	s.chunk.forget()
}

// sort puts the homes in order.
func (s *spanSorter) sort(resources, scopes *ranking) {
	s.order = s.order[:0]
	for i := range s.homes {
		s.order = append(s.order, uint32(i))
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		x, y := &s.homes[a], &s.homes[b]
		return cmp.Or(
			cmp.Compare(resources.ranks[x.resource], resources.ranks[y.resource]),
			cmp.Compare(scopes.ranks[x.scope], scopes.ranks[y.scope]),
			cmp.Compare(a, b),
		)
	})
}

const (
	// chunkSpans is how many spans a chunk has at most: no more than the cache
	// of a core holds. Four times as many took 15 % longer and gave 1 % less.
	chunkSpans = 1 << 9
	// sparse is how many spans a trace has to have in a chunk, on average, to be
	// kept together. Of 1 to 5 it gave the smallest streams.
	sparse = 3
)

// spanChunk is spans to be sorted.
type spanChunk struct {
	items  []spanItem
	keys   []sortKey
	spare  []sortKey
	traces traceTable
	names  *names // of the stream
	pairs  pairStore
	most   int // pairs that there were at once
}

// spanItem is a span.
type spanItem struct {
	ptrace.Span
	start       uint64
	list, index uint32 // where it is in its home
	trace, name uint32
	attributes  sortedPairs
}

// add adds a span.
func (c *spanChunk) add(keys *keySorter, span ptrace.Span, list, index int) {
	n := len(c.items)
	c.items = slices.Grow(c.items, 1)[:n+1]
	x := &c.items[n]
	x.Span, x.start, x.list, x.index = span, uint64(span.StartTimestamp()), uint32(list), uint32(index)
	x.trace, x.name = c.traces.find(span.TraceID()), c.names.id(span.Name())
	if attributes := span.Attributes(); attributes.Len() > 0 {
		keys.find(&x.attributes, attributes, &c.pairs)
	}
}

// reset begins the next chunk.
func (c *spanChunk) reset() {
	clear(c.items)
	c.most = max(c.most, len(c.pairs.values))
	c.items = c.items[:0]
	c.pairs.reset()
	c.traces.reset()
}

// forget drops what is left of all chunks.
func (c *spanChunk) forget() {
	clear(c.pairs.values[:c.most])
	c.most, c.names = 0, nil
}

// sort returns the items in order.
func (c *spanChunk) sort() []sortKey {
	n := len(c.items)
	if n == 0 {
		return nil
	}
	c.keys, c.spare = slices.Grow(c.keys[:0], n)[:n], slices.Grow(c.spare[:0], n)[:n]
	first, last := c.items[0].start, uint64(0)
	for i := range c.items {
		start := c.items[i].start
		first, last = min(first, start), max(last, start)
		c.keys[i] = sortKey{start, uint32(i)}
	}
	for i := range c.keys {
		c.keys[i].key -= first
	}
	c.keys, c.spare = sortKeys(c.keys, c.spare, bits.Len64(last-first))
	// Traces are in the order of their first spans.
	traces := c.traces.known
	at := uint32(0)
	for i := range c.keys {
		trace := &traces[c.items[c.keys[i].entry].trace]
		if trace.at == noPlace {
			trace.at = at
			at += trace.spans
		}
		c.spare[trace.at] = c.keys[i]
		trace.at++
	}
	c.keys, c.spare = c.spare, c.keys
	if n < sparse*len(traces) {
		c.sortByName()
	}
	return c.keys
}

// sortByName puts the items in the order of their names. Those of one name stay
// in theirs.
func (c *spanChunk) sortByName() {
	for i := range c.keys {
		c.keys[i].key = uint64(c.items[c.keys[i].entry].name)
	}
	c.keys, c.spare = sortKeys(c.keys, c.spare, bits.Len(maxNames))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// spanSorter holds the spans of a batch by resource and scope. The spans of each resource and scope
// are written in chunks, and each chunk is sorted by trace and start time. Traces are in the order
// in which they begin, so that equal trace ids are adjacent and times mostly increase. If traces
// have few spans in a chunk, keeping traces together saves no ids. The name is then compared before
// the trace, so that spans with the same attributes are adjacent.
//
// Spans are sorted in chunks because the data of a large batch is scattered in
// memory. A chunk is read in its memory order and written while it is in the cache.
type spanSorter struct {
	groups     []spanGroup
	groupIndex map[[2]uint32]uint32 // key: resource and scope
	order      []uint32             // groups in the order of writing
	chunk      spanChunk
}

// spanSorters pools the sorters, because a sorter takes several times as much memory as
// all other parts of an encoder. An encoder needs a sorter only while it sorts. The content of a
// pooled sorter does not affect the order.
var spanSorters = sync.Pool{New: func() any { return &spanSorter{groupIndex: map[[2]uint32]uint32{}} }}

// spanGroup has the spans of a resource and scope, from one or more ScopeSpans of the batch.
type spanGroup struct {
	resource, scope uint32
	lists           []spanList
}

// spanList has the spans of one ScopeSpans of the batch.
type spanList struct {
	ptrace.SpanSlice
	at mapping.Place
}

func (s *spanSorter) add(resource, scope uint32, list spanList) {
	key := [2]uint32{resource, scope}
	h, ok := s.groupIndex[key]
	if !ok {
		h = uint32(len(s.groups))
		s.groupIndex[key] = h
		s.groups = slices.Grow(s.groups, 1)[:h+1]
		group := &s.groups[h]
		group.resource, group.scope = resource, scope
	}
	group := &s.groups[h]
	group.lists = append(group.lists, list)
}

func (s *spanSorter) reset() {
	for i := range s.groups {
		clear(s.groups[i].lists)
		s.groups[i].lists = s.groups[i].lists[:0]
	}
	s.groups = s.groups[:0]
	clear(s.groupIndex)
	s.chunk.forget()
}

// sort puts the groups in order.
func (s *spanSorter) sort(resources, scopes *order.Ranking) {
	s.order = s.order[:0]
	for i := range s.groups {
		s.order = append(s.order, uint32(i))
	}
	slices.SortFunc(s.order, func(a, b uint32) int {
		x, y := &s.groups[a], &s.groups[b]
		return cmp.Or(
			cmp.Compare(resources.Ranks[x.resource], resources.Ranks[y.resource]),
			cmp.Compare(scopes.Ranks[x.scope], scopes.Ranks[y.scope]),
			cmp.Compare(a, b),
		)
	})
}

const (
	// Traces are kept together only in chunks with at least this average number of spans
	// for each trace. Of the values 1 to 5, the value 3 produced the smallest streams.
	sparse = 3
)

// spanChunk holds spans to be sorted.
type spanChunk struct {
	items  []spanItem
	keys   []order.Key
	spare  []order.Key
	traces order.TraceTable
	names  *intern.Names // names of the stream
	pairs  intern.PairStore
	most   int // maximum number of pairs stored so far
}

type spanItem struct {
	ptrace.Span
	start       uint64
	list, index uint32 // place of the span in its group
	trace, name uint32
	attributes  intern.SortedPairs
}

func (c *spanChunk) add(keys *intern.KeySorter, span ptrace.Span, list, index int) {
	n := len(c.items)
	c.items = slices.Grow(c.items, 1)[:n+1]
	x := &c.items[n]
	x.Span, x.start, x.list, x.index = span, uint64(span.StartTimestamp()), uint32(list), uint32(index)
	x.trace, x.name = c.traces.Find(span.TraceID()), c.names.ID(span.Name())
	if attributes := span.Attributes(); attributes.Len() > 0 {
		keys.Find(&x.attributes, attributes, &c.pairs, x.name)
	}
}

// reset begins the next chunk.
func (c *spanChunk) reset() {
	clear(c.items)
	c.most = max(c.most, len(c.pairs.Values))
	c.items = c.items[:0]
	c.pairs.Reset()
	c.traces.Reset()
}

// forget drops the references to the batch that remain after reset.
func (c *spanChunk) forget() {
	clear(c.pairs.Values[:c.most])
	c.most, c.names = 0, nil
}

// sort returns the sorted items.
func (c *spanChunk) sort() []order.Key {
	n := len(c.items)
	if n == 0 {
		return nil
	}
	c.keys, c.spare = slices.Grow(c.keys[:0], n)[:n], slices.Grow(c.spare[:0], n)[:n]
	first, last := c.items[0].start, uint64(0)
	for i := range c.items {
		start := c.items[i].start
		first, last = min(first, start), max(last, start)
		c.keys[i] = order.Key{Key: start, Item: uint32(i)}
	}
	for i := range c.keys {
		c.keys[i].Key -= first
	}
	c.keys, c.spare = order.Sort(c.keys, c.spare, bits.Len64(last-first))
	// Traces are in the order of their first spans.
	traces := c.traces.Known
	at := uint32(0)
	for i := range c.keys {
		trace := &traces[c.items[c.keys[i].Item].trace]
		if trace.At == order.NoPlace {
			trace.At = at
			at += trace.Spans
		}
		c.spare[trace.At] = c.keys[i]
		trace.At++
	}
	c.keys, c.spare = c.spare, c.keys
	if n < sparse*len(traces) {
		c.sortByName()
	}
	return c.keys
}

// sortByName sorts the items by the numbers of their names. Items of equal name keep their order.
func (c *spanChunk) sortByName() {
	for i := range c.keys {
		c.keys[i].Key = uint64(c.items[c.keys[i].Item].name)
	}
	c.keys, c.spare = order.Sort(c.keys, c.spare, bits.Len(intern.MaxNames))
}

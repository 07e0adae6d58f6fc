// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math/bits"
	"strings"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

const (
	// maxSeries is the maximum number of series; one more discards all of them.
	maxSeries = 1 << 16
	// maxSeriesPairs bounds the pairs of attributes of all series, maxSeriesWords their
	// integers and doubles of histograms and summaries.
	maxSeriesPairs = 1 << 19
	maxSeriesWords = 1 << 21
)

// container identifies a metric, a resource and a scope: by their references in the
// writer, by their addresses in the reader.
type container struct{ metric, resource, scope uint64 }

// seriesIndex finds the state of a series by metric, resource, scope and attributes.
//
// spec: #compact-series
type seriesIndex struct {
	known      map[seriesKey]*series
	containers map[container]*seriesContainer
	sets       map[codec.Hash]*pairSet
	pairs      int
	words      int
	last       *series                  // series of the last record
	own        bool                     // clone text, because callers may reuse it
	homes      map[uint64]*compact.Home // key: resource
	none       series                   // used if the attributes cannot identify a series

	// Series and pairs are allocated in chunks, in the order of the records: the next
	// records mostly use them in the same order.
	seriesChunks chunks[series]
	pairChunks   chunks[pairCopy]

	texts int // bytes of text that was cloned
	slots int // capacity of the maps, which never shrink
}

// chunks allocates elements. Chunks have at least firstChunk elements and at most lastChunk,
// or as many as are needed in a row.
type chunks[T any] struct {
	all  [][]T
	used int // chunks that have elements in use
	held int // elements of all chunks
}

const (
	firstChunk = 8
	lastChunk  = 256
	// keptChunks is the maximum number of chunks that are kept when all elements are
	// discarded.
	keptChunks = 8
)

// take returns n elements in a row, which are zero.
func (c *chunks[T]) take(n int) []T {
	if c.used > 0 {
		last := &c.all[c.used-1]
		if at := len(*last); n <= cap(*last)-at {
			*last = (*last)[:at+n]
			return (*last)[at : at+n : at+n]
		}
	}
	if c.used < len(c.all) && n <= cap(c.all[c.used]) {
		c.used++
		return c.take(n)
	}
	c.drop(c.used) // chunks that are too small
	before := 0
	if c.used > 0 {
		before = cap(c.all[c.used-1])
	}
	c.all = append(c.all, make([]T, 0, max(n, min(max(firstChunk, 2*before), lastChunk))))
	c.held += cap(c.all[c.used])
	c.used++
	return c.take(n)
}

// drop releases the memory of all chunks from one on.
func (c *chunks[T]) drop(from int) {
	for i := from; i < len(c.all); i++ {
		c.held -= cap(c.all[i])
	}
	clear(c.all[from:])
	c.all = c.all[:from]
}

// reset discards all elements.
func (c *chunks[T]) reset() {
	kept := 0
	for i := range c.all[:c.used] {
		clear(c.all[i])
		c.all[i] = c.all[i][:0]
	}
	for kept < len(c.all) && kept < keptChunks && cap(c.all[kept]) <= lastChunk {
		kept++
	}
	c.drop(kept)
	c.used = 0
}

// bytes returns the memory of all chunks.
func (c *chunks[T]) bytes() int {
	var element T
	return c.held * int(unsafe.Sizeof(element))
}

type seriesKey struct {
	*seriesContainer
	set *pairSet
}

// seriesContainer is the container of series.
type seriesContainer struct {
	container
	home *compact.Home
}

type series struct {
	compact.Series
	seriesKey
	next *series // series of the record that followed last time
	// differs has the bits of all pairs that differ between the set of this series and
	// that of next, and maybe further ones. FullBit is set if that is not known.
	differs uint64
}

// pairSet holds attributes whose values are not arrays, maps or bytes.
type pairSet struct {
	pairs []pairCopy
	next  *pairSet // next set with the same hash
}

type pairCopy struct {
	key, text string
	num       uint64
	typ       AnyValueType
}

// forget discards all series.
func (x *seriesIndex) forget() {
	x.held() // which updates slots
	clear(x.known)
	clear(x.containers)
	clear(x.sets)
	clear(x.homes)
	x.pairs, x.words, x.last = 0, 0, nil
	x.seriesChunks.reset()
	x.pairChunks.reset()
	x.texts = 0
}

// held returns the memory of the index.
func (x *seriesIndex) held() int {
	x.slots = max(x.slots, len(x.known)+len(x.sets)+len(x.containers))
	return x.seriesChunks.bytes() + x.pairChunks.bytes() + x.texts + slotBytes*x.slots + wordBytes*x.words
}

// slotBytes is the memory of an entry of a map: between 24 and 64 bytes, because maps
// double when they are full. For sets and containers it includes what they point to.
const slotBytes = 48

// wordBytes is the memory of an integer or double of a histogram, with a share of the
// slices.
const wordBytes = 16

// find returns the series of a record. moved says that its container may differ from
// that of the last record. changed are the marks of the attributes, which say what
// differs from those of the last record.
func (x *seriesIndex) find(c *container, moved bool, attributes *Attributes, changed uint64) *series {
	last := x.last
	if last == nil {
		return x.findSlow(c, attributes, changed)
	}
	if changed == 0 && !moved {
		return last
	}
	if next := last.next; next != nil &&
		(next.seriesContainer == last.seriesContainer && !moved || next.container == *c) &&
		next.follows(last, attributes, changed) {
		x.last = next
		return next
	}
	return x.findSlow(c, attributes, changed)
}

// follows reports whether the series s, which is last.next, has these attributes.
func (s *series) follows(last *series, attributes *Attributes, changed uint64) bool {
	if changed == 0 {
		return s.set == last.set
	}
	if changed&stefrt.FullBit != 0 || changed != last.differs && last.differs&^changed != 0 {
		if !s.set.holds(attributes) {
			return false
		}
		last.differs = changed
		return true
	}
	pairs, values := s.set.pairs, attributes.pairs
	for ; changed != 0; changed &= changed - 1 {
		i := uint(bits.TrailingZeros64(changed))
		if i >= uint(len(pairs)) || i >= uint(len(values)) {
			break
		}
		if !pairs[i].holds(&values[i].value) {
			return false
		}
	}
	return true
}

func (x *seriesIndex) findSlow(c *container, attributes *Attributes, changed uint64) *series {
	last := x.last
	s := x.seek(c, attributes, changed != 0)
	if s == nil {
		x.none = series{Series: compact.Series{Home: new(compact.Home)}}
		x.last = nil
		return &x.none
	}
	if last != nil && x.last != nil {
		last.next, last.differs = s, stefrt.FullBit
	}
	x.last = s
	return s
}

// seek finds a series, or adds it. It returns nil if the attributes cannot identify a
// series.
func (x *seriesIndex) seek(c *container, attributes *Attributes, changed bool) *series {
	var set *pairSet
	if !changed && x.last != nil {
		set = x.last.set
	} else if set = x.setOf(attributes); set == nil {
		return nil
	}
	key := seriesKey{x.containers[*c], set}
	if s := x.known[key]; s != nil {
		return s
	}
	if len(x.known) >= maxSeries || x.pairs > maxSeriesPairs || x.words > maxSeriesWords {
		x.forget()
		key = seriesKey{nil, x.setOf(attributes)}
	}
	if x.known == nil {
		x.known = map[seriesKey]*series{}
		x.containers = map[container]*seriesContainer{}
		x.homes = map[uint64]*compact.Home{}
	}
	if key.seriesContainer == nil {
		key.seriesContainer = x.newContainer(c)
	}
	s := &x.seriesChunks.take(1)[0]
	s.seriesKey, s.Home = key, key.home
	x.known[key] = s
	return s
}

func (x *seriesIndex) newContainer(c *container) *seriesContainer {
	home := x.homes[c.resource]
	if home == nil {
		home = new(compact.Home)
		x.homes[c.resource] = home
	}
	box := &seriesContainer{*c, home}
	x.containers[*c] = box
	return box
}

// grow counts the words by which a series grew, unless it is discarded at once.
func (x *seriesIndex) grow(s *series, words int) {
	if words != 0 && s != &x.none {
		x.words += words
	}
}

// setOf returns the set of attributes.
func (x *seriesIndex) setOf(attributes *Attributes) *pairSet {
	var sum codec.Hash
	sum.Uint64(uint64(len(attributes.pairs)))
	for _, p := range attributes.pairs {
		sum.String(p.key)
		switch v := &p.value; v.typ {
		case AnyValueTypeString:
			sum.String(v.str)
		case AnyValueTypeBool, AnyValueTypeInt64, AnyValueTypeFloat64:
			sum.Uint64(v.num)
		case AnyValueTypeNone:
		default:
			return nil
		}
	}
	for set := x.sets[sum]; set != nil; set = set.next {
		if set.holds(attributes) {
			return set
		}
	}
	set := &pairSet{pairs: x.pairChunks.take(len(attributes.pairs)), next: x.sets[sum]}
	for i, p := range attributes.pairs {
		c := &set.pairs[i]
		c.key, c.typ = p.key, p.value.typ
		if x.own {
			c.key = x.clone(c.key)
		}
		if c.typ == AnyValueTypeString {
			if c.text = p.value.str; x.own {
				c.text = x.clone(c.text)
			}
		} else {
			c.num = p.value.num
		}
	}
	if x.sets == nil {
		x.sets = map[codec.Hash]*pairSet{}
	}
	x.sets[sum] = set
	x.pairs += 1 + len(set.pairs)
	return set
}

func (x *seriesIndex) clone(text string) string {
	x.texts += (len(text) + 15) &^ 15
	return strings.Clone(text)
}

// holds reports whether the set is equal to attributes.
func (s *pairSet) holds(attributes *Attributes) bool {
	if len(s.pairs) != len(attributes.pairs) {
		return false
	}
	for i, p := range attributes.pairs {
		q := &s.pairs[i]
		if p.key != q.key || !q.holds(&p.value) {
			return false
		}
	}
	return true
}

// holds reports whether the pair has this value.
func (q *pairCopy) holds(v *AnyValue) bool {
	if v.typ != q.typ {
		return false
	}
	if v.typ == AnyValueTypeString {
		// Texts of dictionaries are mostly the same string.
		return len(v.str) == len(q.text) && (unsafe.StringData(v.str) == unsafe.StringData(q.text) || v.str == q.text)
	}
	return v.typ == AnyValueTypeNone || v.num == q.num
}

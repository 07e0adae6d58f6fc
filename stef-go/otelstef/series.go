// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math/bits"
	"unsafe"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

const (
	// maxSeries is the maximum number of series. One more series discards all earlier series.
	maxSeries = 1 << 16
	// maxSeriesPairs bounds the number of sets of attributes plus the number of their
	// pairs. maxSeriesWords bounds the integers and doubles of histograms and summaries.
	maxSeriesPairs = 1 << 19
	maxSeriesWords = 1 << 21
	// writtenWords is the number of integers and doubles of histograms and summaries above which a
	// writer restarts the dictionaries. It is larger than maxSeriesWords, because the bound
	// maxSeriesWords is checked only when a series begins, and series can grow later. readWords is
	// the maximum number that a reader accepts.
	writtenWords = 1 << 24
	readWords    = 1 << 25
)

// container identifies a metric, a resource and a scope: by their references in the
// writer, by their addresses in the reader.
type container struct{ metric, resource, scope uint64 }

// seriesIndex finds the state of a series by metric, resource, scope and attributes.
//
// spec: #compact-series
type seriesIndex struct {
	known      table[series]
	containers table[seriesContainer]
	sets       table[pairSet]
	pairs      int
	words      int
	last       *series // series of the last record
	own        bool    // in writers: clone text, because callers may reuse its memory
	keyEpoch   uint64  // epoch of the references to keys, or 0
	homes      table[seriesHome]
	none       series // used if the attributes cannot identify a series

	// Series, sets and pairs are allocated in chunks, in the order of the records: the
	// next records usually use them in the same order.
	seriesChunks    chunks[series]
	containerChunks chunks[seriesContainer]
	homeChunks      chunks[seriesHome]
	setChunks       chunks[pairSet]
	pairChunks      chunks[pairCopy]

	exemplars exemplarTotals

	work int // bytes that were hashed since the reader last counted them

	chunk textChunk // of cloned texts
	texts int       // bytes of text that was cloned
}

type seriesKey struct {
	*seriesContainer
	set *pairSet
}

// seriesContainer is a container with its hash, and with the state of its resource.
type seriesContainer struct {
	container
	hash uint64 // of the container
	home *compact.Home
}

// seriesHome is the state that all series of a resource share.
type seriesHome struct {
	compact.Home
	resource uint64
}

func (h *seriesHome) hash() uint64 { return codec.HashPair(h.resource, 0) }

func (c *container) sum() uint64 {
	var sum codec.Hash
	sum.Pair(c.metric, c.resource)
	sum.Uint64(c.scope)
	return uint64(sum)
}

// hash combines the hash of the container, which the table of containers (metric, resource and
// scope) also uses, with the hash of the set.
func (k *seriesKey) hash() uint64 { return codec.HashPair(k.seriesContainer.hash, k.set.hash) }

type series struct {
	compact.Series
	seriesKey
	next  *series // series of the record after the last record of this series
	other *series // the previous value of next
	// differs has a bit for each pair that differs between the set of this series and
	// the set of next. Further bits may be set. FullBit means that the differences are
	// not known.
	differs uint64
	// exemplars is nil until the series has an exemplar.
	exemplars *seriesExemplars
}

// release returns to the pools the memory that only this series uses.
func (s *series) release() {
	s.Series.Release()
	if s.exemplars != nil {
		s.exemplars.release()
	}
}

// pairSet holds attributes whose values are not arrays, maps or bytes.
type pairSet struct {
	pairs []pairCopy
	hash  uint64
}

// pairCopy is a pair of attributes. In writers it also has the references of texts in the
// dictionaries of the stream, so that equal texts are usually found without reading them.
type pairCopy struct {
	key, text string
	num       uint64 // in writers also the reference of a text, or 0
	typ       AnyValueType
	keyNumber uint32 // in writers the number in keyRef plus 1, or 0 if the epoch of keyRef is not keyEpoch
}

var (
	freeSeries     chunkPool
	freeContainers chunkPool
	freeHomes      chunkPool
	freeSets       chunkPool
	freePairs      chunkPool
)

func (x *seriesIndex) begin() {
	x.seriesChunks.free, x.containerChunks.free = &freeSeries, &freeContainers
	x.homeChunks.free = &freeHomes
	x.setChunks.free, x.pairChunks.free = &freeSets, &freePairs
}

func (x *seriesIndex) forget() {
	for _, chunk := range x.seriesChunks.all {
		for i := range chunk {
			chunk[i].release()
		}
	}
	x.known.reset()
	x.containers.reset()
	x.sets.reset()
	x.homes.reset()
	x.pairs, x.words, x.last = 0, 0, nil
	x.seriesChunks.reset()
	x.containerChunks.reset()
	x.homeChunks.reset()
	x.setChunks.reset()
	x.pairChunks.reset()
	x.chunk, x.texts, x.exemplars, x.keyEpoch = textChunk{}, 0, exemplarTotals{}, 0
}

// held returns the memory of the index.
func (x *seriesIndex) held() int {
	return x.seriesChunks.bytes() + x.containerChunks.bytes() + x.setChunks.bytes() + x.pairChunks.bytes() +
		x.homeChunks.bytes() + x.known.bytes() + x.containers.bytes() + x.sets.bytes() + x.homes.bytes() +
		x.texts + wordBytes*x.words + x.exemplars.held
}

// Hashing a pair without its texts takes about as much time as hashing pairBytes bytes of text.
const pairBytes = 16

// wordBytes is the memory of an integer or double of a histogram, with its share of the
// overhead of slices.
const wordBytes = 16

// find returns the series of a record. moved says that the container of the record (its metric,
// resource and scope) may differ from the container of the last record. changed are the marks of
// the attributes that changed since the last record.
func (x *seriesIndex) find(c *container, moved bool, attributes *Attributes, changed uint64) *series {
	last := x.last
	if last == nil {
		return x.findSlow(c, attributes, changed)
	}
	if changed == 0 && !moved {
		return last
	}
	next := last.next
	if next == nil || (next.seriesContainer != last.seriesContainer || moved) && next.container != *c {
		return x.findSlow(c, attributes, changed)
	}
	if changed == 0 {
		if next.set != last.set {
			return x.findSlow(c, attributes, changed)
		}
		x.last = next
		return next
	}
	return x.findNext(c, next, attributes, changed)
}

// precedes reports whether next, which is s.next, has these attributes. s is the series of the last
// record. It can return false although next has these attributes. Only readers use it, for a record with the
// container of next. It calls no functions, so that all values stay in registers. In readers, equal
// texts usually have the same address.
func (s *series) precedes(next *series, attributes *Attributes, changed uint64) bool {
	if (changed&stefrt.FullBit)|s.differs&^changed != 0 {
		return false
	}
	pairs, values := next.set.pairs, attributes.pairs
	for marks := changed; marks != 0; marks &= marks - 1 {
		i := uint(bits.TrailingZeros64(marks))
		if i >= uint(len(pairs)) || i >= uint(len(values)) {
			break
		}
		p, v := &pairs[i], &values[i].value
		if v.typ != p.typ {
			return false
		}
		if v.typ == AnyValueTypeString {
			if len(v.str) != len(p.text) || unsafe.StringData(v.str) != unsafe.StringData(p.text) {
				return false
			}
		} else if v.num != p.num && v.typ != AnyValueTypeNone {
			return false
		}
	}
	return true
}

// findNext implements find for a record with the same metric, resource and scope as next.
func (x *seriesIndex) findNext(c *container, next *series, attributes *Attributes, changed uint64) *series {
	last := x.last
	same := true
	if (changed&stefrt.FullBit)|last.differs&^changed != 0 {
		same = x.follows(next, last, attributes, changed)
	} else {
		pairs, values := next.set.pairs, attributes.pairs
		for marks := changed; marks != 0 && same; marks &= marks - 1 {
			i := uint(bits.TrailingZeros64(marks))
			if i >= uint(len(pairs)) || i >= uint(len(values)) {
				break
			}
			same = pairs[i].holds(&values[i].value)
		}
	}
	if !same {
		return x.findSlow(c, attributes, changed)
	}
	x.last = next
	return next
}

// follows reports whether the series s has these attributes. If so, it sets last.differs,
// which says what to compare next time. s is last.next, or the caller makes it last.next
// afterwards.
func (x *seriesIndex) follows(s, last *series, attributes *Attributes, changed uint64) bool {
	if !x.holds(s.set, attributes) {
		return false
	}
	last.differs = changed
	return true
}

// findSlow implements find for a record whose series is not last.next.
func (x *seriesIndex) findSlow(c *container, attributes *Attributes, changed uint64) *series {
	last := x.last
	if last != nil && last.other != nil && last.other.container == *c && x.follows(last.other, last, attributes, changed) {
		last.next, last.other = last.other, last.next
		x.last = last.next
		return x.last
	}
	s := x.findOrAdd(c, attributes, changed != 0)
	if s == nil {
		x.none = series{Series: compact.Series{Home: new(compact.Home)}}
		x.last = nil
		return &x.none
	}
	if last != nil && x.last != nil {
		last.next, last.other, last.differs = s, last.next, stefrt.FullBit
	}
	x.last = s
	return s
}

// findOrAdd finds a series, or adds it. It returns nil if the attributes cannot identify a series.
func (x *seriesIndex) findOrAdd(c *container, attributes *Attributes, changed bool) *series {
	var set *pairSet
	if !changed && x.last != nil {
		set = x.last.set
	} else if set = x.setOf(attributes); set == nil {
		return nil
	}
	box, at := x.containerOf(c)
	if box != nil {
		if s := x.seriesOf(seriesKey{box, set}); s != nil {
			return s
		}
	}
	if x.known.used >= maxSeries || x.pairs > maxSeriesPairs || x.words > maxSeriesWords {
		x.forget()
		box = nil
		set = x.setOf(attributes)
	}
	if box == nil {
		box = x.newContainer(c, at)
	}
	s := &x.seriesChunks.take(1)[0]
	s.seriesKey, s.Home = seriesKey{box, set}, box.home
	x.known.add(s, s.hash(), func(s *series) uint64 { return s.hash() })
	return s
}

// seriesOf returns the series with this key, or nil if there is none.
func (x *seriesIndex) seriesOf(key seriesKey) *series {
	slots := x.known.slots
	for i := key.hash(); len(slots) > 0; i++ {
		s := slots[i&uint64(len(slots)-1)]
		if s == nil || s.seriesKey == key {
			return s
		}
	}
	return nil
}

// containerOf returns the known container that equals c, or nil if there is none. hash is the
// hash of c.
func (x *seriesIndex) containerOf(c *container) (box *seriesContainer, hash uint64) {
	hash = c.sum()
	slots := x.containers.slots
	for i := hash; len(slots) > 0; i++ {
		box = slots[i&uint64(len(slots)-1)]
		if box == nil || box.container == *c {
			return box, hash
		}
	}
	return nil, hash
}

func (x *seriesIndex) newContainer(c *container, hash uint64) *seriesContainer {
	box := &x.containerChunks.take(1)[0]
	box.container, box.hash, box.home = *c, hash, x.homeOf(c.resource)
	x.containers.add(box, hash, func(b *seriesContainer) uint64 { return b.hash })
	return box
}

// homeOf returns the state of a resource. It adds the state if there is none.
func (x *seriesIndex) homeOf(resource uint64) *compact.Home {
	home := seriesHome{resource: resource}
	slots := x.homes.slots
	for i := home.hash(); len(slots) > 0; i++ {
		h := slots[i&uint64(len(slots)-1)]
		if h == nil {
			break
		}
		if h.resource == resource {
			return &h.Home
		}
	}
	added := &x.homeChunks.take(1)[0]
	*added = home
	x.homes.add(added, home.hash(), (*seriesHome).hash)
	return &added.Home
}

// grow adds words, the result of Put or Take of compact.Points for s, to the total of all series. It ignores the words of x.none, which is not kept.
func (x *seriesIndex) grow(s *series, words int) {
	if words != 0 && s != &x.none {
		x.words += words
	}
}

// setOf finds or adds the set of attributes. It returns nil if a value is an array, map or bytes.
func (x *seriesIndex) setOf(attributes *Attributes) *pairSet {
	var sum codec.Hash
	sum.Uint64(uint64(len(attributes.pairs)))
	x.work += pairBytes * len(attributes.pairs)
	for _, p := range attributes.pairs {
		sum.String(p.key)
		x.work += len(p.key)
		switch v := &p.value; v.typ {
		case AnyValueTypeString:
			sum.String(v.str)
			x.work += len(v.str)
		case AnyValueTypeBool, AnyValueTypeInt64, AnyValueTypeFloat64:
			sum.Uint64(v.num)
		case AnyValueTypeNone:
		default:
			return nil
		}
	}
	slots := x.sets.slots
	for i := uint64(sum); len(slots) > 0; i++ {
		set := slots[i&uint64(len(slots)-1)]
		if set == nil {
			break
		}
		if set.hash == uint64(sum) && x.holds(set, attributes) {
			return set
		}
	}
	return x.newSet(attributes, uint64(sum))
}

func (x *seriesIndex) newSet(attributes *Attributes, hash uint64) *pairSet {
	set := &x.setChunks.take(1)[0]
	set.pairs, set.hash = x.pairChunks.take(len(attributes.pairs)), hash
	for i, p := range attributes.pairs {
		c := &set.pairs[i]
		c.key, c.typ = p.key, p.value.typ
		if x.own {
			c.key, c.keyNumber = x.clone(c.key), x.keyNumber(p.keyRef)
		}
		if c.typ == AnyValueTypeString {
			if c.text = p.value.str; x.own {
				c.text, c.num = x.clone(c.text), p.value.num
			}
		} else {
			c.num = p.value.num
		}
	}
	x.sets.add(set, hash, func(s *pairSet) uint64 { return s.hash })
	x.pairs += 1 + len(set.pairs)
	return set
}

func (x *seriesIndex) clone(text string) string {
	x.texts += (len(text) + 15) &^ 15
	return x.chunk.text([]byte(text))
}

// keyNumber returns pairCopy.keyNumber for a reference to a key.
func (x *seriesIndex) keyNumber(ref stef.TextRef) uint32 {
	epoch, number := ref.Split()
	if x.keyEpoch == 0 {
		x.keyEpoch = epoch
	}
	if epoch == 0 || epoch != x.keyEpoch {
		return 0
	}
	return number + 1
}

// holds reports whether a set is equal to attributes.
func (x *seriesIndex) holds(s *pairSet, attributes *Attributes) bool {
	if len(s.pairs) != len(attributes.pairs) {
		return false
	}
	for i, p := range attributes.pairs {
		q := &s.pairs[i]
		epoch, number := p.keyRef.Split()
		sameKey := epoch == x.keyEpoch && number+1 == q.keyNumber
		if !sameKey && !sameText(p.key, q.key) || !q.holds(&p.value) {
			return false
		}
	}
	return true
}

// sameText reports whether a == b. It calls no function if both are the same string, as
// equal texts of dictionaries usually are.
func sameText(a, b string) bool {
	return len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || a == b)
}

func (q *pairCopy) holds(v *AnyValue) bool {
	if v.typ != q.typ {
		return false
	}
	if v.num == q.num && v.num != 0 {
		return true
	}
	if v.typ == AnyValueTypeString {
		return sameText(v.str, q.text)
	}
	return v.typ == AnyValueTypeNone || v.num == q.num
}

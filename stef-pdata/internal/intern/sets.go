// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"math"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Sets caches the attribute sets of points.
type Sets struct {
	index
	order.Ranking
	entries []attrSet // indexed by id
	texts   codec.TextIndex
	shared  []string // indexed by number in texts
	// keys and values contain the references to the texts in the dictionaries of the stream,
	// indexed like shared. A reference is looked up again if it is 0 or from before a
	// restart.
	keys, values dictRefs
	keyLists     codec.TextIndex // lists of the numbers of keys
	layouts      []layout        // indexed by number in keyLists
	scratch      []byte
	pairs        []attr // attributes of the map that is looked up
	free         []attr // space for the attributes of further sets
	made         int    // length of free when it was allocated

	// lastSets holds the set that was last used in each context. Different contexts may
	// share a slot. Such collisions cost only time.
	lastSets []uint32
	last     uint32

	// mostlyNew is set if most sets are new, see RankByValue. batches and lookups are the numbers
	// of batches and of lookups since the last Reset.
	mostlyNew        bool
	batches, lookups int
}

// mostlyNew is set only after this many batches and sets. With fewer, it is not clear whether
// series repeat.
const (
	minNewBatches = 4
	minNewSets    = 1 << 12
)

// dictRefs are references to texts in a dictionary, which may be nil.
type dictRefs struct {
	dict *stef.TextDict
	refs []stef.TextRef
}

// of returns the reference to a text with a number, or 0 if the text is not in the dictionary.
func (d *dictRefs) of(number uint32, text string) stef.TextRef {
	ref := &d.refs[number]
	if !d.dict.Holds(*ref) {
		*ref = d.dict.Ref(text)
	}
	return *ref
}

// Init sets the dictionaries of the stream, which may be nil.
func (p *Sets) Init(keys, values *stef.TextDict) { p.keys.dict, p.values.dict = keys, values }

// RankByValue ranks all ids by value. If most sets of the batches so far were new, it ranks
// them by arrival instead: the next sets will be new, too, so their order relative to earlier
// sets does not matter. Sorting by value would take as long as writing the points.
func (p *Sets) RankByValue() {
	if p.batches++; p.batches > minNewBatches && p.Size() > minNewSets && 4*p.Size() > 3*p.lookups {
		p.mostlyNew = true
	}
	if p.mostlyNew {
		p.RankByID(p.Size())
		return
	}
	p.Rank(p.Size(), func(a, b uint32) int { return p.compare(&p.entries[a], &p.entries[b]) })
}

// Reset empties the pool.
func (p *Sets) Reset() {
	p.index.reset()
	p.Ranking.Reset()
	clear(p.entries)
	p.texts.Reset()
	p.keyLists.Reset()
	clear(p.layouts)
	p.layouts = p.layouts[:0]
	clear(p.shared)
	if len(p.lastSets) > initialLastSets {
		p.lastSets = nil
	}
	clear(p.lastSets)
	p.entries, p.shared, p.last = p.entries[:0], p.shared[:0], 0
	p.keys.refs, p.values.refs = p.keys.refs[:0], p.values.refs[:0]
	clear(p.pairs[:cap(p.pairs)])
	p.free, p.made = nil, 0
	p.mostlyNew, p.batches, p.lookups = false, 0, 0
}

const (
	initialLastSets = 1 << 13
	maxLastSets     = 1 << 16
)

// Find returns the id of a set, and adds the set if it is new. It first tries a prediction: the set
// that last followed the previous set in this context. If m differs from the predicted set, Find
// tries a second prediction. For this, it looks for the last map that differed from the same
// predicted set, and whose first differing attribute was the same. It predicts the set of that map.
func (p *Sets) Find(c *values.Copier, m pcommon.Map, context uint32) (uint32, error) {
	p.lookups++
	if len(p.lastSets) <= min(16*len(p.entries), maxLastSets) {
		p.lastSets = make([]uint32, max(initialLastSets, 2*len(p.lastSets)))
	}
	expected := p.slot(p.last, context)
	if *expected != 0 {
		i, k, v := p.differ(*expected, m)
		if i < 0 {
			p.last = *expected
			return p.last, nil
		}
		var h hash
		h.String(k)
		h.value(v)
		expected = p.slot(*expected, uint32(i)<<20^uint32(h.Hash))
		if id := *expected; id != 0 {
			if i, _, _ := p.differ(id, m); i < 0 {
				*p.slot(p.last, context) = id
				p.last = id
				return id, nil
			}
		}
	}
	like := *p.slot(p.last, context)
	if like == 0 {
		like = p.last
	}
	id, err := p.search(c, m, like)
	if err != nil {
		return 0, err
	}
	*expected = id
	*p.slot(p.last, context) = id
	p.last = id
	return id, nil
}

// slot returns the slot for the set that is predicted from an earlier set. way is the
// context of the prediction or, after a difference, the index and hash of the first
// attribute that differs.
func (p *Sets) slot(set, way uint32) *uint32 {
	return &p.lastSets[codec.HashPair(uint64(set), uint64(way))&uint64(len(p.lastSets)-1)]
}

// search returns the id of a set, and adds the set if it is new. like is a set that may have
// most of the attributes, or 0 if no such set is known.
func (p *Sets) search(c *values.Copier, m pcommon.Map, like uint32) (uint32, error) {
	texts := p.texts.Len()
	sameKeys, err := p.collect(c, m, like)
	if err != nil {
		p.holdTexts(texts)
		return 0, located(m, err)
	}
	h := p.hashPairs(m)
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		if i, _, _ := p.differ(id, m); i < 0 {
			return id, nil
		}
	}
	set, err := p.make(c, m)
	if err != nil {
		p.holdTexts(texts)
		return 0, located(m, err)
	}
	if sameKeys {
		set.layout = p.entries[like].layout
	} else {
		set.layout = p.layout(set.arrival)
	}
	set.bytes = c.Spent()
	p.HeldBytes += set.bytes
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], set)
	return id, nil
}

// located adds the place in m to the error of an item that begins with these attributes.
func located(m pcommon.Map, err error) error {
	return mapping.InField("attributes", values.Locate(m, mapping.MaxItemBytes, err))
}

// holdTexts adds the sizes of the texts with the numbers from, from+1, … to HeldBytes. They are the
// texts of a rejected set, which stay in the pool.
func (p *Sets) holdTexts(from int) {
	for _, text := range p.shared[from:] {
		p.HeldBytes += mapping.ValueBytes + len(text)
	}
}

// collect sets pairs to the attributes of m. It omits arrays, maps and bytes: the method make adds
// them. It reports whether m has the same keys in the same order as the set like. It compares each
// text with the text at the same place in like, and looks it up only if the two texts differ.
func (p *Sets) collect(c *values.Copier, m pcommon.Map, like uint32) (sameKeys bool, err error) {
	n := m.Len()
	c.Begin()
	if err := c.TakePairs(n); err != nil {
		return false, err
	}
	var known []attr
	if like != 0 {
		known = p.entries[like].arrival
	}
	sameKeys = like != 0 && len(known) == n
	p.pairs = slices.Grow(p.pairs[:0], n)
	for k, v := range m.All() {
		i := len(p.pairs)
		p.pairs = append(p.pairs, attr{})
		a := &p.pairs[i]
		if i < len(known) && known[i].deep == nil && known[i].holds(v) {
			*a = known[i]
		} else {
			p.value(a, v)
		}
		if i < len(known) && known[i].key == k {
			a.key, a.keyNumber = known[i].key, known[i].keyNumber
		} else {
			a.key, a.keyNumber = p.share(k)
			sameKeys = false
		}
		c.Left -= len(k) + len(a.text)
	}
	return sameKeys, c.Take(0)
}

// hashPairs returns the hash of m, whose attributes collect has collected.
func (p *Sets) hashPairs(m pcommon.Map) (h hash) {
	h.Uint64(uint64(len(p.pairs)))
	i := 0
	for _, v := range m.All() {
		a := &p.pairs[i]
		h.Pair(uint64(a.keyNumber)<<8|uint64(a.typ), a.num)
		if isDeep(a.typ) {
			h.value(v)
		}
		i++
	}
	return h
}

// make returns the set of the attributes of m, which collect has collected.
func (p *Sets) make(c *values.Copier, m pcommon.Map) (set attrSet, err error) {
	n := len(p.pairs)
	if n > len(p.free) {
		p.made = min(max(2*p.made, firstPairs), mostPairs)
		p.free = make([]attr, max(n, p.made))
	}
	set.arrival = p.free[:n:n]
	copy(set.arrival, p.pairs)
	i := 0
	for k, v := range m.All() {
		a := &set.arrival[i]
		if isDeep(a.typ) {
			a.deep = otelstef.NewAnyValue()
			if err := c.Value(a.deep, v, 0); err != nil {
				clear(set.arrival) // the next set reuses its memory
				return attrSet{}, mapping.InPair(k, err)
			}
		}
		i++
	}
	p.free = p.free[n:]
	return set, nil
}

// Attributes of sets are allocated many at a time: firstPairs at first, then twice as many
// each time, up to mostPairs.
const (
	firstPairs = 32
	mostPairs  = 1 << 10
)

// share returns a string that all equal strings of the pool share, and its number.
func (p *Sets) share(s string) (shared string, number uint32) {
	number, fresh := p.texts.Number(s)
	if fresh {
		p.shared = append(p.shared, s)
		p.keys.refs, p.values.refs = append(p.keys.refs, 0), append(p.values.refs, 0)
	}
	return p.shared[number], number
}

// value sets a to v, a value of pdata. It does not set the field deep.
func (p *Sets) value(a *attr, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeStr:
		text, number := p.share(v.Str())
		a.typ, a.text, a.num = otelstef.AnyValueTypeString, text, uint64(number)
	case pcommon.ValueTypeInt:
		a.typ, a.num = otelstef.AnyValueTypeInt64, uint64(v.Int())
	case pcommon.ValueTypeDouble:
		a.typ, a.num = otelstef.AnyValueTypeFloat64, math.Float64bits(v.Double())
	case pcommon.ValueTypeBool:
		a.typ = otelstef.AnyValueTypeBool
		if v.Bool() {
			a.num = 1
		}
	case pcommon.ValueTypeSlice:
		a.typ = otelstef.AnyValueTypeArray
	case pcommon.ValueTypeMap:
		a.typ = otelstef.AnyValueTypeKVList
	case pcommon.ValueTypeBytes:
		a.typ = otelstef.AnyValueTypeBytes
	}
}

// differ compares m with a set. It returns the first attribute of m that differs and its
// index i. i is -1 if m equals the set. If m is only the beginning of the set, i is the
// length of m.
func (p *Sets) differ(id uint32, m pcommon.Map) (i int, k string, v pcommon.Value) {
	set := p.entries[id].arrival
	for k, v := range m.All() {
		if i == len(set) || len(set[i].key) != len(k) {
			return i, k, v
		}
		if n := len(k); n >= 8 && n <= codec.ShortText { // nearly all keys fit two words
			if key := set[i].key; codec.Word64(key) != codec.Word64(k) || codec.Word64(key[n-8:]) != codec.Word64(k[n-8:]) {
				return i, k, v
			}
		} else if set[i].key != k {
			return i, k, v
		}
		// Most attributes are text that is not empty. The code compares such text without
		// a call and without checking the type of v.
		if a := &set[i]; a.typ == otelstef.AnyValueTypeString && a.text != "" {
			if a.text != v.Str() {
				return i, k, v
			}
		} else if !a.holds(v) {
			return i, k, v
		}
		i++
	}
	if i < len(set) {
		return i, "", empty
	}
	return -1, "", empty
}

var empty = pcommon.NewValueEmpty()

// Bytes returns the size of a set, counted as for mapping.MaxItemBytes.
func (p *Sets) Bytes(id uint32) int { return p.entries[id].bytes }

// Change changes the attributes in dst from those of the set with the id from to those of the set
// with the id to. If from is 0, dst may have any attributes before.
func (p *Sets) Change(dst *otelstef.Attributes, from, to uint32) {
	set := &p.entries[to]
	if from == 0 {
		p.writeSet(dst, set)
		return
	}
	l := &p.layouts[set.layout]
	if set.before == from {
		for differs := set.differs; differs != 0; differs &= differs - 1 {
			i := bits.TrailingZeros64(differs)
			p.write(dst.Value(i), &set.arrival[l.byKey[i]])
		}
		return
	}
	held := &p.entries[from]
	h := &p.layouts[held.layout]
	if h.sorted != l.sorted {
		p.writeSet(dst, set)
		return
	}
	differs := uint64(0)
	for i := range l.byKey {
		if a, b := &set.arrival[l.byKey[i]], &held.arrival[h.byKey[i]]; !a.sameValue(b) {
			p.write(dst.Value(i), a)
			differs |= 1 << (i % 64)
		}
	}
	if len(l.byKey) <= 64 {
		set.before, set.differs = from, differs
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

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
	// keys and values are the references to the texts in the dictionaries of the stream,
	// indexed as shared. They are looked up when they are 0 or from before a restart.
	keys, values dictRefs
	shapes       codec.TextIndex // lists of the numbers of keys
	scratch      []byte

	// recall holds the set that was last used in each context. Different contexts may
	// share a slot; such collisions only cost time.
	recall []uint32
	last   uint32
}

// dictRefs are references to texts in a dictionary, which may be nil.
type dictRefs struct {
	dict *stef.TextDict
	refs []stef.TextRef
}

// of returns the reference to a text with a number, or 0.
func (d *dictRefs) of(number uint32, text string) stef.TextRef {
	ref := &d.refs[number]
	if !d.dict.Holds(*ref) {
		*ref = d.dict.Ref(text)
	}
	return *ref
}

// Init sets the dictionaries of the stream, which may be nil.
func (p *Sets) Init(keys, values *stef.TextDict) { p.keys.dict, p.values.dict = keys, values }

// RankByValue ranks all ids.
func (p *Sets) RankByValue() {
	p.Rank(p.Size(), func(a, b uint32) int { return compareSets(p.entries[a].byKey, p.entries[b].byKey) })
}

// Reset empties the pool.
func (p *Sets) Reset() {
	p.index.reset()
	p.Ranking.Reset()
	clear(p.entries)
	p.texts.Reset()
	p.shapes.Reset()
	clear(p.shared)
	if len(p.recall) > firstRecall {
		p.recall = nil
	}
	clear(p.recall)
	p.entries, p.shared, p.last = p.entries[:0], p.shared[:0], 0
	p.keys.refs, p.values.refs = p.keys.refs[:0], p.values.refs[:0]
}

const (
	firstRecall = 1 << 13
	maxRecall   = 1 << 16
)

// Find returns the id of a set, and adds the set if it is new. It first compares with
// the set that followed the same set in the same context last time. If one attribute
// differs, it compares with the set that this difference led to last time.
func (p *Sets) Find(c *values.Copier, m pcommon.Map, context uint32) (uint32, error) {
	if len(p.recall) <= min(16*len(p.entries), maxRecall) {
		p.recall = make([]uint32, max(firstRecall, 2*len(p.recall)))
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
	id, err := p.search(c, m)
	if err != nil {
		return 0, err
	}
	*expected = id
	*p.slot(p.last, context) = id
	p.last = id
	return id, nil
}

// slot returns the slot for the set that follows another one. way is the context, or the
// place and the hash of the attribute that differs.
func (p *Sets) slot(set, way uint32) *uint32 {
	return &p.recall[codec.HashPair(uint64(set), uint64(way))&uint64(len(p.recall)-1)]
}

func (p *Sets) search(c *values.Copier, m pcommon.Map) (uint32, error) {
	var h hash
	h.attributes(m)
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		if i, _, _ := p.differ(id, m); i < 0 {
			return id, nil
		}
	}
	set, err := p.make(c, m)
	if err != nil {
		return 0, err
	}
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], set)
	return id, nil
}

func (p *Sets) make(c *values.Copier, m pcommon.Map) (attrSet, error) {
	n := m.Len()
	c.Begin()
	if err := c.TakePairs(n); err != nil {
		return attrSet{}, mapping.InField("attributes", err)
	}
	pairs := make([]attr, 0, n)
	for k, v := range m.All() {
		c.Left -= len(k)
		a, err := p.attr(c, v)
		if err != nil {
			return attrSet{}, mapping.InField("attributes", mapping.InPair(k, err))
		}
		a.key, a.keyNumber = p.share(k)
		pairs = append(pairs, a)
	}
	if err := c.Take(0); err != nil {
		return attrSet{}, mapping.InField("attributes", err)
	}
	p.HeldBytes += mapping.MaxItemBytes - c.Left
	set := attrSet{arrival: pairs, byKey: pairs}
	byName := func(a, b attr) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(pairs, byName) {
		set.byKey = slices.Clone(pairs)
		slices.SortStableFunc(set.byKey, byName)
	}
	set.shape = p.shape(set.byKey)
	return set, nil
}

// share returns a string that all equal strings of the pool share, and its number.
func (p *Sets) share(s string) (shared string, number uint32) {
	number, fresh := p.texts.Number(s)
	if fresh {
		p.shared = append(p.shared, s)
		p.keys.refs, p.values.refs = append(p.keys.refs, 0), append(p.values.refs, 0)
	}
	return p.shared[number], number
}

func (p *Sets) shape(set []attr) uint32 {
	p.scratch = p.scratch[:0]
	for i := range set {
		p.scratch = binary.LittleEndian.AppendUint32(p.scratch, set[i].keyNumber)
	}
	number, _ := p.shapes.Number(unsafe.String(unsafe.SliceData(p.scratch), len(p.scratch))) // Number copies the text
	return number
}

// attr returns an attribute without its key.
func (p *Sets) attr(c *values.Copier, v pcommon.Value) (attr, error) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return attr{}, nil
	case pcommon.ValueTypeStr:
		text, number := p.share(v.Str())
		c.Left -= len(text)
		return attr{typ: otelstef.AnyValueTypeString, text: text, num: uint64(number)}, nil
	case pcommon.ValueTypeInt:
		return attr{typ: otelstef.AnyValueTypeInt64, num: uint64(v.Int())}, nil
	case pcommon.ValueTypeDouble:
		return attr{typ: otelstef.AnyValueTypeFloat64, num: math.Float64bits(v.Double())}, nil
	case pcommon.ValueTypeBool:
		a := attr{typ: otelstef.AnyValueTypeBool}
		if v.Bool() {
			a.num = 1
		}
		return a, nil
	}
	deep := otelstef.NewAnyValue()
	err := c.Value(deep, v, 0)
	return attr{typ: deep.Type(), deep: deep}, err
}

// differ returns the index of the first attribute of m that differs from a set, or
// -1. If m is equal but shorter, i is the length of m.
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
		// Most attributes are text that is not empty, so those are compared without a
		// call and without checking the type.
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

// Change changes dst from the attributes of one set to those of another.
func (p *Sets) Change(dst *otelstef.Attributes, from, to uint32) {
	set := &p.entries[to]
	if from == 0 || p.entries[from].shape != set.shape {
		p.writeSet(dst, set.byKey)
		return
	}
	held := p.entries[from].byKey
	for i := range set.byKey {
		if a, b := &set.byKey[i], &held[i]; a.num != b.num || a.typ != b.typ || a.deep != b.deep {
			p.write(dst.Value(i), a)
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"cmp"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// KeySorter sorts attributes by key. Some producers send the attributes in a different
// order each time, but there are few different keys and few different sets of keys.
// Therefore each key has a number, and each set stores, for each of these numbers, the place of the
// key in the order of keys.
type KeySorter struct {
	PairCache
	sets  [256]*KeySet
	last  [orderSlots][2]*KeySet // by context: the set that was found last, and the different set before it
	pairs []Pair                 // current pairs, in their original order
}

// KeySet is a set of keys.
type KeySet struct {
	Keys  []stef.Text // in order
	place []uint8     // for each key number: the place of the key, counted from 1
	Bytes int         // total length of the keys
	order keyOrder
}

const (
	MaxKeys    = 1 << 12 // maximum number of keys that get a number
	MaxSetKeys = 64
	// All keys are dropped when their texts exceed maxKeyBytes bytes. Each set also refers to
	// the texts of its keys, so a set whose keys exceed maxSetBytes bytes is not stored.
	maxKeyBytes = 1 << 20
	maxSetBytes = MaxSetKeys << 8
)

// SortedPairs describes the attributes of a span, event or link in a PairStore.
type SortedPairs struct {
	Set   *KeySet // nil if a key occurs twice or the set is too large
	Kinds Kinds   // types of the values
	From  uint32  // index of the first attribute in the store
	Bytes int     // total length of the values that are text
}

// Kinds is a set of types of values, with a bit for each type.
type Kinds uint8

// Kinds of values.
const (
	Text Kinds = 1 << otelstef.AnyValueTypeString
	// Scalars are the types of values that fit into a Pair.
	Scalars = Text | 1<<otelstef.AnyValueTypeNone | 1<<otelstef.AnyValueTypeBool |
		1<<otelstef.AnyValueTypeInt64 | 1<<otelstef.AnyValueTypeFloat64
)

// PairStore holds attributes from the time they are found until they are written.
type PairStore struct {
	// Values are in the order of keys. The Ref of a value other than text is its bits.
	Values []stef.Text
	Types  []otelstef.AnyValueType // types of the values
	Places []uint8                 // for each attribute in its original order: its index in the order of keys
}

// Reset empties the store.
func (p *PairStore) Reset() {
	p.Values, p.Types, p.Places = p.Values[:0], p.Types[:0], p.Places[:0]
}

// extend adds n attributes and returns their places in the three lists.
func (p *PairStore) extend(n int) (values []stef.Text, types []otelstef.AnyValueType, places []uint8) {
	from := len(p.Values)
	n += from
	// Grow roughly doubles the capacity here. append would add only about a quarter to large slices.
	if n > min(cap(p.Values), cap(p.Types), cap(p.Places)) {
		p.Values, p.Types, p.Places = slices.Grow(p.Values, n), slices.Grow(p.Types, n), slices.Grow(p.Places, n)
	}
	p.Values, p.Types, p.Places = p.Values[:n], p.Types[:n], p.Places[:n]
	return p.Values[from:], p.Types[from:], p.Places[from:]
}

// cut removes all attributes except the first n.
func (p *PairStore) cut(n int) {
	clear(p.Values[n:]) // the removed values hold texts of the batch
	p.Values, p.Types, p.Places = p.Values[:n], p.Types[:n], p.Places[:n]
}

// Find adds the pairs of m, which is not empty, to the store. It reads all data of m that the
// writer needs, in the order in which the data probably is in memory. context is a hint, such
// as the number of a span name: maps with the same context are likely to have the same keys.
// The hint affects only the speed, not the result.
func (s *KeySorter) Find(found *SortedPairs, m pcommon.Map, store *PairStore, context uint32) {
	last := &s.last[context%orderSlots]
	if last[0] != nil && s.findInOrder(found, last[0], m, store) {
		return
	}
	if last[1] == nil || !s.findInOrder(found, last[1], m, store) {
		s.findAny(found, m, store, &last[0])
	}
	if found.Set != last[0] {
		last[0], last[1] = found.Set, last[0]
	}
}

// findAny does the same as Find, but does not guess the order of the keys. likely points to the set
// that m probably has, or to nil. findAny reads likely only after Collect, because Collect
// sometimes drops all numbers of keys and all sets. A set that was read before Collect could
// contain dropped numbers, which now belong to other keys.
func (s *KeySorter) findAny(found *SortedPairs, m pcommon.Map, store *PairStore, likely **KeySet) {
	n := m.Len()
	if n > MaxSetKeys {
		found.Set = nil
		return
	}
	pairs := s.Collect(m)
	from := len(store.Values)
	sorted, types, places := store.extend(n)
	set := *likely
	if set == nil || !set.fits(pairs, places) {
		set = s.setOf(pairs, places)
	}
	if found.Set = set; set == nil {
		store.cut(from)
		return
	}
	if set.order.epoch != s.PairCache.keys.Epoch() { // otherwise the references in the set are valid
		for i := range pairs {
			set.Keys[places[i]].Ref = pairs[i].Key.Ref
		}
	}
	kinds, size := Kinds(0), 0
	places = places[:len(pairs)] // no index check in the loop
	for i := range pairs {
		p := &pairs[i]
		place := places[i]
		v := &sorted[place]
		*v = p.Value
		types[place] = p.Type
		kinds |= 1 << (p.Type & 7)
		if p.Type != otelstef.AnyValueTypeString {
			v.Ref = stef.TextRef(p.Bits)
		}
		size += len(p.Value.Text)
	}
	found.From, found.Bytes, found.Kinds = uint32(from), size, kinds
	s.learnOrder(set, pairs, places)
}

// Collect returns the pairs of m.
func (s *KeySorter) Collect(m pcommon.Map) []Pair {
	if s.pairs == nil {
		s.pairs = make([]Pair, MaxSetKeys)
	}
	if s.Keys() > MaxKeys || s.KeyBytes() > maxKeyBytes {
		s.forget()
	}
	i, pairs := 0, (*[MaxSetKeys]Pair)(s.pairs)
	for k, v := range m.All() {
		p := &pairs[i%MaxSetKeys]
		p.Key.Text, p.Value.Text, p.Type = k, v.Str(), otelstef.AnyValueTypeString
		if p.Value.Text == "" {
			p.scalar(v)
		}
		i++
	}
	s.Resolve(s.pairs[:i])
	return s.pairs[:i]
}

// scalar sets the type of a value, and its bits if it is a scalar.
func (p *Pair) scalar(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		p.Type, p.Bits = otelstef.AnyValueTypeNone, 0
	case pcommon.ValueTypeStr:
	case pcommon.ValueTypeInt:
		p.Type, p.Bits = otelstef.AnyValueTypeInt64, uint64(v.Int())
	case pcommon.ValueTypeDouble:
		p.Type, p.Bits = otelstef.AnyValueTypeFloat64, math.Float64bits(v.Double())
	case pcommon.ValueTypeBool:
		p.Type, p.Bits = otelstef.AnyValueTypeBool, 0
		if v.Bool() {
			p.Bits = 1
		}
	default: // all other types are not scalars
		p.Type, p.Bits = otelstef.AnyValueTypeKVList, 0
	}
}

// setOf returns the set of the keys of pairs, and sets places to the place of each key in the set.
// It returns nil if a key occurs twice or the keys are too long.
func (s *KeySorter) setOf(pairs []Pair, places []uint8) *KeySet {
	sum := uint64(0)
	for i := range pairs {
		sum += uint64(pairs[i].Number) + 1
	}
	slot := &s.sets[sum*codec.GoldenRatio>>56]
	if *slot == nil || !(*slot).fits(pairs, places) {
		set := makeSet(pairs)
		if set == nil {
			return nil
		}
		*slot = set
		set.fits(pairs, places)
	}
	return *slot
}

// maxIdleKeys is the maximum number of keys that are kept for the next stream. If there are
// more keys, all keys are dropped.
const maxIdleKeys = 1 << 8

// Reset prepares for the next stream. It keeps the keys, unless there are too many: keys save
// work and do not change the result.
func (s *KeySorter) Reset() {
	if s.Keys() > maxIdleKeys {
		s.forget()
	}
}

func (s *KeySorter) forget() {
	s.Forget()
	clear(s.sets[:])
	clear(s.last[:])
}

// fits reports whether pairs have all keys of the set, each once. If so, it sets places to the
// place of each key.
func (s *KeySet) fits(pairs []Pair, places []uint8) bool {
	if len(pairs) != len(s.Keys) {
		return false
	}
	place, places := s.place, places[:len(pairs)]
	seen, absent := uint64(0), uint8(0)
	for i := range pairs {
		n := pairs[i].Number
		if uint(n) >= uint(len(place)) {
			return false
		}
		at := place[n] - 1 // more than the place of any key if the set does not have the key
		places[i] = at
		absent |= at
		seen |= uint64(1) << (at % MaxSetKeys)
	}
	return absent < MaxSetKeys && seen == 1<<len(pairs)-1
}

func makeSet(pairs []Pair) *KeySet {
	set := &KeySet{order: keyOrder{score: initialScore, next: firstPause}}
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Key.Text, b.Key.Text) })
	for i := range pairs {
		p := &pairs[i]
		if missing := int(p.Number) + 1 - len(set.place); missing > 0 {
			set.place = append(set.place, make([]uint8, missing)...)
		}
		if set.place[p.Number] != 0 {
			return nil // a key that occurs twice
		}
		set.place[p.Number] = uint8(i) + 1
		set.Keys = append(set.Keys, p.Key)
		set.Bytes += len(p.Key.Text)
	}
	if set.Bytes > maxSetBytes {
		return nil
	}
	return set
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
)

// keySorter finds where attributes go in the order of their keys. Some producers send
// them in another order each time. The keys are few even so, and so are the sets of
// them: each key has a number, and each set knows where a number goes.
type keySorter struct {
	intern.PairCache
	sets  [256]*keySet
	pairs []intern.Pair // at hand, as they came
}

// keySet is a set of keys.
type keySet struct {
	keys  []stef.Text // in order
	place []uint8     // by number: where the key goes, counted from 1
	bytes int         // of the keys
}

const (
	maxKeys    = 1 << 12 // that have numbers
	maxSetKeys = 64
)

// sortedPairs are the attributes of a span, event or link.
type sortedPairs struct {
	set   *keySet // nil if the keys are no set, or too large a one
	texts bool    // all values are text that is not empty
	from  uint32  // where they are in the store
	bytes int     // of values that are text
}

// pairStore holds attributes between the time they are found and written.
type pairStore struct {
	values []stef.Text // in the order of keys; "" may be no text
	places []uint8     // in the order in which they came
}

func (p *pairStore) reset() { p.values, p.places = p.values[:0], p.places[:0] }

// find puts the pairs of m, which is not empty, into the store. It reads all that
// writing will need of m, in the order in which it most likely lies in memory.
func (s *keySorter) find(found *sortedPairs, m pcommon.Map, store *pairStore) {
	n := m.Len()
	if n > maxSetKeys {
		found.set = nil
		return
	}
	pairs := s.collect(m)
	if found.set = s.setOf(pairs); found.set == nil {
		return
	}
	from := len(store.values)
	found.from, found.texts, found.bytes = uint32(from), true, 0
	if from+n > cap(store.values) { // twice as many: slices.Grow would add a quarter
		store.values, store.places = slices.Grow(store.values, from+n), slices.Grow(store.places, from+n)
	}
	store.values, store.places = store.values[:from+n], slices.Grow(store.places, n)[:from+n]
	sorted, places := store.values[from:], store.places[from:]
	for i := range pairs {
		p := &pairs[i]
		place := found.set.place[p.Number] - 1
		places[i] = place
		sorted[place] = p.Value
		if p.Value.Text == "" {
			found.texts = false
		}
		found.bytes += len(p.Value.Text)
		if key := &found.set.keys[place]; key.Ref != p.Key.Ref {
			key.Ref = p.Key.Ref
		}
	}
}

// collect returns the pairs of m.
func (s *keySorter) collect(m pcommon.Map) []intern.Pair {
	if s.pairs == nil {
		s.pairs = make([]intern.Pair, maxSetKeys)
	}
	if s.Keys() > maxKeys {
		s.forget()
	}
	i := 0
	for k, v := range m.All() {
		p := &s.pairs[i]
		p.Key.Text, p.Value.Text = k, v.Str()
		i++
	}
	s.Resolve(s.pairs[:i])
	return s.pairs[:i]
}

// setOf returns the set of the keys of pairs, or nil if one is there twice.
func (s *keySorter) setOf(pairs []intern.Pair) *keySet {
	sum := uint64(0)
	for i := range pairs {
		sum += uint64(pairs[i].Number+1) * codec.GoldenRatio
	}
	slot := &s.sets[sum>>56]
	if *slot == nil || !(*slot).fits(pairs) {
		if set := makeSet(pairs); set == nil {
			return nil
		} else {
			*slot = set
		}
	}
	return *slot
}

// forget drops all keys.
func (s *keySorter) forget() {
	s.Forget()
	clear(s.sets[:])
}

// hintOf tells texts apart, for a cache.
func hintOf(text string) uint8 {
	n := len(text)
	if n == 0 {
		return 0
	}
	return uint8(n*31) ^ text[n-1] ^ text[n/2]<<3 ^ text[n/4]<<5
}

// fits says whether the keys of pairs are all of the set, each once.
func (s *keySet) fits(pairs []intern.Pair) bool {
	if len(pairs) != len(s.keys) {
		return false
	}
	seen := uint64(0)
	for i := range pairs {
		n := pairs[i].Number
		if uint(n) >= uint(len(s.place)) {
			return false
		}
		seen |= uint64(1) << (s.place[n] - 1) // 0 if there is no place
	}
	return seen == 1<<len(pairs)-1
}

func makeSet(pairs []intern.Pair) *keySet {
	set := &keySet{}
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b intern.Pair) int { return cmp.Compare(a.Key.Text, b.Key.Text) })
	for i := range pairs {
		p := &pairs[i]
		if missing := int(p.Number) + 1 - len(set.place); missing > 0 {
			set.place = append(set.place, make([]uint8, missing)...)
		}
		if set.place[p.Number] != 0 {
			return nil // a key that is there twice
		}
		set.place[p.Number] = uint8(i) + 1
		set.keys = append(set.keys, p.Key)
		set.bytes += len(p.Key.Text)
	}
	return set
}

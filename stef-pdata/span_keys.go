// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/codec"
)

// keySorter finds where attributes go in the order of their keys. Some producers send
// them in another order each time. The keys are few even so, and so are the sets of
// them: each key has a number, and each set knows where a number goes.
type keySorter struct {
	numbers codec.TextIndex
	sets    [256]*keySet

	keys   []codec.Text // at hand, as they came
	values []string
	// touched keeps what is read only for the cache.
	touched byte
}

// keySet is a set of keys.
type keySet struct {
	keys  []codec.Text // in order
	place []uint8      // by number: where the key goes, counted from 1
	bytes int          // of the keys
	known codec.Ref    // one of the references, if all are known
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
}

// pairStore holds attributes between the time they are found and written.
type pairStore struct {
	values []string // in the order of keys; "" may be no text
	places []uint8  // in the order in which they came
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
	found.texts = s.collect(m)
	keys, values := s.keys[:n], s.values[:n]
	if found.set = s.setOf(keys); found.set == nil {
		return
	}
	from := len(store.values)
	found.from = uint32(from)
	store.values = slices.Grow(store.values, n)[:from+n]
	store.places = slices.Grow(store.places, n)[:from+n]
	sorted, places := store.values[from:], store.places[from:]
	for i := range keys {
		place := found.set.place[keys[i].Ref] - 1
		places[i] = place
		sorted[place] = values[i]
	}
}

// collect takes the pairs of m. It says whether all values are text that is not
// empty.
func (s *keySorter) collect(m pcommon.Map) bool {
	if s.keys == nil {
		s.keys, s.values = make([]codec.Text, maxSetKeys), make([]string, maxSetKeys)
	}
	i, texts := 0, true
	for k, v := range m.All() {
		text := v.Str()
		s.keys[i].Text, s.values[i] = k, text
		if text == "" {
			texts = false
		} else {
			s.touched += text[0]
		}
		i++
	}
	return texts
}

// setOf returns the set of keys, which get their numbers thereby, or nil if one is
// there twice.
func (s *keySorter) setOf(keys []codec.Text) *keySet {
	if s.numbers.Len() > maxKeys {
		s.forget()
	}
	s.numbers.Resolve(keys)
	sum := uint64(0)
	for i := range keys {
		sum += uint64(keys[i].Ref+1) * 0x9e3779b97f4a7c15
	}
	slot := &s.sets[sum>>56]
	if *slot == nil || !(*slot).fits(keys) {
		if set := makeSet(keys); set == nil {
			return nil
		} else {
			*slot = set
		}
	}
	return *slot
}

// forget drops all keys.
func (s *keySorter) forget() {
	s.numbers.Release()
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

// fits says whether keys are all of the set, each once.
func (s *keySet) fits(keys []codec.Text) bool {
	if len(keys) != len(s.keys) {
		return false
	}
	seen := uint64(0)
	for i := range keys {
		n := keys[i].Ref
		if uint(n) >= uint(len(s.place)) {
			return false
		}
		seen |= uint64(1) << (s.place[n] - 1) // 0 if there is no place
	}
	return seen == 1<<len(keys)-1
}

// refer gives the keys the references that the dictionary has.
func (s *keySet) refer(dict *codec.StringDict) {
	if dict.Holds(s.known) {
		return
	}
	dict.Resolve(s.keys)
	s.known = 0
	for _, k := range s.keys {
		if k.Ref == 0 && len(k.Text) >= codec.MinEntry {
			s.known = 0
			return
		}
		s.known = max(s.known, k.Ref)
	}
}

func makeSet(keys []codec.Text) *keySet {
	set := &keySet{keys: slices.Clone(keys)}
	most := codec.Ref(0)
	for _, k := range keys {
		set.bytes += len(k.Text)
		most = max(most, k.Ref)
	}
	slices.SortFunc(set.keys, func(a, b codec.Text) int { return cmp.Compare(a.Text, b.Text) })
	set.place = make([]uint8, most+1)
	for place := range set.keys {
		k := &set.keys[place]
		if set.place[k.Ref] != 0 {
			return nil // a key that is there twice
		}
		set.place[k.Ref] = uint8(place) + 1
		k.Ref = 0 // which is not that of a dictionary
	}
	return set
}

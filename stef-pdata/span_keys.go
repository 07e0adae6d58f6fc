// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// keySorter finds where attributes go in the order of their keys. Mostly the keys
// of spans of one name come in one order, so that is tried first. But some
// producers send them in another order each time. The keys are few even so, and
// so are the sets of them: each key has a number, and each set knows where a
// number goes.
type keySorter struct {
	orders  [256]keyOrder
	cache   [256]numberedKey // of what numbers holds
	numbers map[string]uint16
	sets    [256]*keySet
	now     []uint16 // the numbers of the keys at hand

	// touched keeps what is read only for the cache.
	touched byte
}

// keyOrder is a set of keys in the order in which they came.
type keyOrder struct {
	set    *keySet
	keys   []string
	places []uint8
	misses uint8
}

type numberedKey struct {
	key    string
	number uint16
}

// keySet is a set of keys.
type keySet struct {
	keys  []string // in order
	place []uint8  // by number: where the key goes, counted from 1
}

const (
	maxKeys    = 1 << 12 // that have numbers
	maxSetKeys = 64
	// maxMisses is how often an order does not come before another takes its
	// place.
	maxMisses = 4
)

// find appends the place of each pair of m to places and returns the set of the
// keys. It returns nil if they are no set, or too large a one. Attributes of the
// same hint probably have the same keys.
//
// Besides it reads all that writing will need of m, in the order in which it
// most likely lies in memory.
func (s *keySorter) find(m pcommon.Map, hint uint8, places []uint8) (*keySet, []uint8) {
	o := &s.orders[hint]
	if len(o.keys) == m.Len() && s.came(o, m) {
		return o.set, append(places, o.places...)
	}
	set := s.search(m)
	if set == nil {
		return nil, places
	}
	n := len(places)
	for _, number := range s.now {
		places = append(places, set.place[number]-1)
	}
	if o.misses++; o.misses > maxMisses || o.set == nil {
		o.set, o.misses = set, 0
		o.places = append(o.places[:0], places[n:]...)
		o.keys = o.keys[:0]
		for _, place := range o.places {
			o.keys = append(o.keys, set.keys[place])
		}
	}
	return set, places
}

// came says whether the keys came in the order.
func (s *keySorter) came(o *keyOrder, m pcommon.Map) bool {
	i := 0
	for k, v := range m.All() {
		if o.keys[i] != k {
			return false
		}
		s.touch(v)
		i++
	}
	return true
}

func (s *keySorter) touch(v pcommon.Value) {
	if text := v.Str(); text != "" {
		s.touched += text[0]
	}
}

// search returns the set of the keys of m, whose numbers are in now after that.
func (s *keySorter) search(m pcommon.Map) *keySet {
	if len(s.numbers) > maxKeys {
		*s = keySorter{now: s.now}
	}
	sum := uint64(0)
	s.now = s.now[:0]
	for k, v := range m.All() {
		n := s.number(k)
		s.now = append(s.now, n)
		sum += uint64(n) * 0x9e3779b97f4a7c15
		s.touch(v)
	}
	slot := &s.sets[sum>>56]
	if *slot == nil || !(*slot).fits(s.now) {
		set := s.makeSet(m)
		if set == nil {
			return nil
		}
		*slot = set
	}
	return *slot
}

// number returns the number of a key.
func (s *keySorter) number(key string) uint16 {
	slot := &s.cache[hintOf(key)]
	if slot.key == key && slot.number != 0 {
		return slot.number
	}
	n, ok := s.numbers[key]
	if !ok {
		if s.numbers == nil {
			s.numbers = map[string]uint16{}
		}
		n = uint16(len(s.numbers)) + 1
		s.numbers[key] = n
	}
	*slot = numberedKey{key, n}
	return n
}

// hintOf tells texts apart, for a cache.
func hintOf(text string) uint8 {
	n := len(text)
	if n == 0 {
		return 0
	}
	return uint8(n*31) ^ text[n-1] ^ text[n/2]<<3 ^ text[n/4]<<5
}

// fits says whether the numbers are all of the set, each once.
func (s *keySet) fits(numbers []uint16) bool {
	if len(numbers) != len(s.keys) {
		return false
	}
	seen := uint64(0)
	for _, n := range numbers {
		if int(n) >= len(s.place) {
			return false
		}
		seen |= uint64(1) << (s.place[n] - 1) // 0 if there is no place
	}
	return seen == 1<<len(s.keys)-1
}

func (s *keySorter) makeSet(m pcommon.Map) *keySet {
	if m.Len() > maxSetKeys {
		return nil
	}
	keys := make([]string, 0, m.Len())
	for k := range m.All() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	set := &keySet{keys, make([]uint8, slices.Max(s.now)+1)}
	i := 0
	for k := range m.All() {
		place, _ := slices.BinarySearch(keys, k)
		if at := &set.place[s.now[i]]; *at == 0 {
			*at = uint8(place) + 1
		} else {
			return nil // a key that is there twice
		}
		i++
	}
	return set
}

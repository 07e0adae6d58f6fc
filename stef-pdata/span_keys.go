// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// keySorter puts attributes in the order of their keys. Some producers send the
// attributes of each span in another order, but the keys are few, and so are the
// sets of them: each key has a number, and each set knows where a number goes.
type keySorter struct {
	cache   [256]numberedKey // of what numbers holds
	numbers map[string]uint16
	sets    [256]*keySet
	now     []uint16 // the numbers of the attributes at hand
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
)

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
	return uint8(n*31) ^ text[n-1] ^ text[n/2]<<3
}

// find returns the set of the keys of m, whose numbers are in now after that,
// or nil if they are no set, or too large a one.
func (s *keySorter) find(m pcommon.Map) *keySet {
	if len(s.numbers) > maxKeys {
		*s = keySorter{now: s.now}
	}
	sum := uint64(0)
	s.now = s.now[:0]
	for k := range m.All() {
		n := s.number(k)
		s.now = append(s.now, n)
		sum += uint64(n) * 0x9e3779b97f4a7c15
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
		seen |= uint64(1) << (s.place[n] - 1) // nothing if there is no place
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

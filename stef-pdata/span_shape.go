// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// shape is a list of keys that attributes came with. Spans of one name mostly
// have attributes of one shape, so where each pair goes in the order of keys is
// found once, and a key that is the same string as in the record before costs no
// look at its text.
type shape struct {
	keys []string
	at   []uint16 // where each pair goes, nil if all stay where they are
	next *shape   // of the same hash
}

// shapes holds the shapes seen.
type shapes struct {
	byKey  bool // pairs go in the order of keys
	likely [256]*shape
	byHash map[hash]*shape
	n      int
}

// maxShapes is how many shapes are kept before all are dropped.
const maxShapes = 1 << 12

// find returns the shape of m. The hint tells where it was found last time.
func (p *shapes) find(m pcommon.Map, hint uint8) *shape {
	if s := p.likely[hint]; s != nil && s.fits(m) {
		return s
	}
	var h hash
	for k := range m.All() {
		h.text(k)
	}
	s := p.byHash[h]
	for s != nil && !s.fits(m) {
		s = s.next
	}
	if s == nil {
		s = p.add(h, m)
	}
	p.likely[hint] = s
	return s
}

func (s *shape) fits(m pcommon.Map) bool {
	if len(s.keys) != m.Len() {
		return false
	}
	i := 0
	for k := range m.All() {
		if s.keys[i] != k {
			return false
		}
		i++
	}
	return true
}

func (p *shapes) add(h hash, m pcommon.Map) *shape {
	if p.n++; p.n > maxShapes || p.byHash == nil {
		p.byHash, p.n = map[hash]*shape{}, 1
		clear(p.likely[:])
	}
	s := &shape{keys: make([]string, 0, m.Len()), next: p.byHash[h]}
	for k := range m.All() {
		s.keys = append(s.keys, k)
	}
	if p.byKey && !slices.IsSorted(s.keys) {
		s.at = places(s.keys)
	}
	p.byHash[h] = s
	return s
}

// places returns where each key goes in their order. Equal keys stay in theirs.
func places(keys []string) []uint16 {
	order := make([]uint16, len(keys))
	for i := range order {
		order[i] = uint16(i)
	}
	slices.SortStableFunc(order, func(a, b uint16) int { return cmp.Compare(keys[a], keys[b]) })
	at := make([]uint16, len(keys))
	for to, from := range order {
		at[from] = uint16(to)
	}
	return at
}

// hintOf returns the hint for attributes of a span or event of the name.
func hintOf(name string, attributes int) uint8 {
	n := len(name)
	if n == 0 {
		return uint8(attributes)
	}
	return uint8(n*31+attributes*7) ^ name[n-1] ^ name[n/2]<<3
}

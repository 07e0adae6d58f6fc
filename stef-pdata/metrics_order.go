// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"
)

// rank ranks all ids by value.
func (e *MetricsEncoder) rank() {
	e.metrics.rank(e.metrics.size(), func(a, b uint32) int {
		return compareMetrics(e.metrics.entries[a].value, e.metrics.entries[b].value)
	})
	e.resources.rank(e.resources.size(), func(a, b uint32) int {
		return compareResources(e.resources.entries[a].value, e.resources.entries[b].value)
	})
	e.scopes.rank(e.scopes.size(), func(a, b uint32) int {
		return compareScopes(e.scopes.entries[a].value, e.scopes.entries[b].value)
	})
	sets := &e.sorter.sets
	sets.rank(sets.size(), func(a, b uint32) int {
		return compareSets(sets.entries[a].byKey, sets.entries[b].byKey)
	})
}

// sort fills keys with the entries in order: by metric, attributes, start time,
// resource, scope and time. Where hardly any series has several points, time
// comes first of all.
//
// Ranks follow values, so the order is that of the batch before, and columns
// repeat from frame to frame.
func (e *MetricsEncoder) sort() {
	e.rank()
	s := &e.sorter
	scopeBits := bits.Len32(e.scopes.top)
	pairBits := scopeBits + bits.Len32(e.resources.top)
	setBits := pairBits + bits.Len32(s.sets.top)
	s.keys = slices.Grow(s.keys[:0], len(s.entries))[:len(s.entries)]
	for i := range s.entries {
		x := &s.entries[i]
		s.keys[i] = sortKey{uint64(e.scopes.ranks[x.scope]) |
			uint64(e.resources.ranks[x.resource])<<scopeBits |
			uint64(s.sets.ranks[x.set])<<pairBits |
			uint64(e.metrics.ranks[x.metric])<<setBits, uint32(i)}
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, setBits+bits.Len32(e.metrics.top))
	if series := s.sortRuns(pairBits); 4*len(s.keys) < 5*series {
		s.sortByTime()
	}
}

// sortRuns sorts the points of equal metric and attributes, which the lower bits
// of a key do not tell apart, by start time, then by what is left of the key
// and by time. It returns the number of different keys.
func (s *sorter) sortRuns(lower int) (series int) {
	order := func(a, b sortKey) int {
		x, y := &s.entries[a.entry], &s.entries[b.entry]
		if c := cmp.Compare(x.start, y.start); c != 0 {
			return c
		}
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		if c := cmp.Compare(x.time, y.time); c != 0 {
			return c
		}
		return cmp.Compare(a.entry, b.entry)
	}
	for from := 0; from < len(s.keys); {
		ordered := true
		series++
		to := from + 1
		for ; to < len(s.keys) && s.keys[to].key>>lower == s.keys[from].key>>lower; to++ {
			if s.keys[to].key != s.keys[to-1].key {
				series++
			}
			ordered = ordered && order(s.keys[to-1], s.keys[to]) <= 0
		}
		if !ordered {
			slices.SortFunc(s.keys[from:to], order)
		}
		from = to
	}
	return series
}

// sortByTime puts keys in the order of time; those of the same time stay in
// theirs. A batch mostly has few times.
func (s *sorter) sortByTime() {
	var times [fewTimes]uint64
	n, at := 0, 0
	for i := range s.keys {
		time := s.entries[s.keys[i].entry].time
		if n == 0 || times[at] != time {
			at = slices.Index(times[:n], time)
			if at < 0 && n == fewTimes {
				s.sortByManyTimes()
				return
			}
			if at < 0 {
				at = n
				times[at] = time
				n++
			}
		}
		s.keys[i].key = uint64(at)
	}
	var order [fewTimes]sortKey
	for i := range n {
		order[i] = sortKey{times[i], uint32(i)}
	}
	slices.SortFunc(order[:n], func(a, b sortKey) int { return cmp.Compare(a.key, b.key) })
	var ranks [fewTimes]uint64
	for rank, x := range order[:n] {
		ranks[x.entry] = uint64(rank)
	}
	for i := range s.keys {
		s.keys[i].key = ranks[s.keys[i].key]
	}
	s.keys, s.spare = sortDigit(s.keys, s.spare)
}

// fewTimes is how many times have numbers of their own.
const fewTimes = 32

func (s *sorter) sortByManyTimes() {
	first, last := ^uint64(0), uint64(0)
	for i := range s.entries {
		first, last = min(first, s.entries[i].time), max(last, s.entries[i].time)
	}
	for i := range s.keys {
		s.keys[i].key = s.entries[s.keys[i].entry].time - first
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, bits.Len64(last-first))
}

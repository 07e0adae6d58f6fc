// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/otelstef/stef/stef-pdata/internal/order"
)

func (e *MetricsEncoder) rank() {
	e.metrics.RankByValue()
	e.resources.RankByValue()
	e.scopes.RankByValue()
	e.sorter.sets.RankByValue()
}

// sort fills keys with the sorted entries: by metric, attributes, start time,
// resource, scope and time. If hardly any series has several points, entries of equal
// time are put together. If this order splits too many containers, the entries of each container
// are put together afterwards.
//
// Ranks follow values, so the order is the same as in the previous batch, and columns
// repeat from frame to frame.
func (e *MetricsEncoder) sort() {
	e.rank()
	s := &e.sorter
	scopeBits := bits.Len32(e.scopes.Top)
	pairBits := scopeBits + bits.Len32(e.resources.Top)
	setBits := pairBits + bits.Len32(s.sets.Top)
	s.keys = slices.Grow(s.keys[:0], len(s.entries))[:len(s.entries)]
	for i := range s.entries {
		x := &s.entries[i]
		s.keys[i] = order.Key{Key: uint64(e.scopes.Ranks[x.scope]) |
			uint64(e.resources.Ranks[x.resource])<<scopeBits |
			uint64(s.sets.Ranks[x.set])<<pairBits |
			uint64(e.metrics.Ranks[x.metric])<<setBits, Item: uint32(i)}
	}
	s.keys, s.spare = order.Sort(s.keys, s.spare, setBits+bits.Len32(e.metrics.Top))
	if series := s.sortRuns(pairBits); 4*len(s.keys) < 5*series {
		s.sortByTime()
	}
	e.joinContainers(scopeBits, pairBits)
}

// Sorting can separate the points of a container, so that readers begin the container several
// times. One such additional container is allowed for each pointsPerSplit points of a batch. The
// limit is needed because a container may take more bytes of OTLP than a point. With this limit,
// OTLP that is decoded from the sorted stream of a recording is at most 1 % larger than the
// original. If containers were always kept together, the streams of the recordings would be up to 1
// % larger.
const pointsPerSplit = 8

// joinContainers sorts keys by resource and scope if readers would otherwise begin many more
// containers (resources, scopes and metrics) than the batch has. Keys of the same resource and
// scope keep their order.
func (e *MetricsEncoder) joinContainers(scopeBits, pairBits int) {
	s := &e.sorter
	begun, most := s.containers(), len(s.keys)/pointsPerSplit
	if begun <= 1+most {
		return
	}
	split := append(s.together[:0], s.keys...)
	for i := range s.keys {
		x := &s.entries[s.keys[i].Item]
		s.keys[i].Key = uint64(e.scopes.Ranks[x.scope]) | uint64(e.resources.Ranks[x.resource])<<scopeBits
	}
	s.keys, s.spare = order.Sort(s.keys, s.spare, pairBits)
	if begun <= s.containers()+most {
		copy(s.keys, split)
	}
	s.together = split[:0]
}

// containers returns how often readers begin a container (a resource, scope or metric).
func (s *sorter) containers() int {
	n := 0
	var now ids
	for _, k := range s.keys {
		if x := &s.entries[k.Item]; x.resource != now.resource || x.scope != now.scope {
			now = x.ids
			n++
		}
	}
	return n
}

// sortRuns sorts points of equal metric and attributes: by start time, then by the lower bits
// of the key, then by time. The keys of these points differ only in the lower bits. It returns
// the number of different keys in s.keys.
func (s *sorter) sortRuns(lower int) (series int) {
	order := func(a, b order.Key) int {
		x, y := &s.entries[a.Item], &s.entries[b.Item]
		if c := cmp.Compare(x.start, y.start); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		if c := cmp.Compare(x.time, y.time); c != 0 {
			return c
		}
		return cmp.Compare(a.Item, b.Item)
	}
	for from := 0; from < len(s.keys); {
		ordered := true
		series++
		to := from + 1
		for ; to < len(s.keys) && s.keys[to].Key>>lower == s.keys[from].Key>>lower; to++ {
			if s.keys[to].Key != s.keys[to-1].Key {
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

// sortByTime groups keys by time. Within a group, keys keep their order. The groups are:
//
//   - sorted by time, if there are few times or if times alternate from key to key;
//   - otherwise in the order of their first keys. Most keys of a time are adjacent already,
//     because each series has its own times.
//
// If there are more than order.FewTimes times and most keys of a time are adjacent, all keys
// stay where they are.
func (s *sorter) sortByTime() {
	var times [order.FewTimes]uint64
	n, at, runs := 0, 0, 0
	for i := range s.keys {
		time := s.entries[s.keys[i].Item].time
		if n == 0 || times[at] != time {
			runs++
			at = slices.Index(times[:n], time)
			if at < 0 && n == order.FewTimes {
				s.sortByManyTimes()
				return
			}
			if at < 0 {
				at = n
				times[at] = time
				n++
			}
		}
		s.keys[i].Key = uint64(at)
	}
	if n <= 1 {
		return
	}
	if n <= fewTimes || runs > alternate*n {
		var byTime [order.FewTimes]order.Key
		for i := range n {
			byTime[i] = order.Key{Key: times[i], Item: uint32(i)}
		}
		slices.SortFunc(byTime[:n], func(a, b order.Key) int { return cmp.Compare(a.Key, b.Key) })
		var ranks [order.FewTimes]uint64
		for rank, x := range byTime[:n] {
			ranks[x.Item] = uint64(rank)
		}
		for i := range s.keys {
			s.keys[i].Key = ranks[s.keys[i].Key]
		}
	}
	s.keys, s.spare = order.SortDigit(s.keys, s.spare)
}

const (
	// fewTimes is the largest number of distinct times for which groups sorted by time are better
	// on average than groups in the order of their first key. It was measured with TestSortedTimes
	// and the recordings.
	fewTimes = 8
	// A run is a sequence of keys with the same time. The times alternate if each time has on
	// average more than this number of runs.
	alternate = 2
)

// sortByManyTimes implements sortByTime for more than order.FewTimes times.
func (s *sorter) sortByManyTimes() {
	if s.timesAdjacent() {
		return
	}
	first, last := ^uint64(0), uint64(0)
	for i := range s.entries {
		first, last = min(first, s.entries[i].time), max(last, s.entries[i].time)
	}
	runs := 0
	for i := range s.keys {
		s.keys[i].Key = s.entries[s.keys[i].Item].time - first
		if i == 0 || s.keys[i].Key != s.keys[i-1].Key {
			runs++
		}
	}
	together := append(s.together[:0], s.keys...)
	s.keys, s.spare = order.Sort(s.keys, s.spare, bits.Len64(last-first))
	n := 0
	for i := range s.keys {
		if i == 0 || s.keys[i].Key != s.keys[i-1].Key {
			n++
		}
	}
	s.together = together[:0]
	if runs <= alternate*n {
		copy(s.keys, together)
	}
}

// timesAdjacent reports whether the average number of runs of a time is at most the constant
// alternate. It can return false although this is true, because the count of order.Distinct can be
// too small.
func (s *sorter) timesAdjacent() bool {
	s.times.Reset(len(s.keys))
	runs, n := 0, 0
	last := uint64(0)
	for i := range s.keys {
		time := s.entries[s.keys[i].Item].time
		if i == 0 || time != last {
			runs++
			n += s.times.Add(time)
		}
		last = time
	}
	return runs <= alternate*n
}

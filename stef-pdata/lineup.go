// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"slices"
	"sort"
)

// index finds ids by hash. Ids count from 1; 0 is none.
type index struct {
	byHash map[uint64]uint32
	chain  []uint32 // by id: the next id of the same hash
	held   int      // bytes of all that has an id, as items count them
}

// What pools may hold before they are emptied, so that an encoder needs no
// more memory however long it lives.
const (
	maxContainers = 1 << 14
	maxSets       = 1 << 16
	maxHeldBytes  = 16 << 20
)

// full says whether it is time to empty the pool, which may have so many ids.
func (x *index) full(most int) bool { return x.size() > most || x.held > maxHeldBytes }

func (x *index) reset() {
	clear(x.byHash)
	x.chain, x.held = x.chain[:0], 0
}

// add makes room for the next id, which it returns.
func (x *index) add(h hash) uint32 {
	if len(x.chain) == 0 {
		x.chain = append(x.chain, 0)
		if x.byHash == nil {
			x.byHash = map[uint64]uint32{}
		}
	}
	id := uint32(len(x.chain))
	x.chain = append(x.chain, x.byHash[uint64(h)])
	x.byHash[uint64(h)] = id
	return id
}

// size returns how many ids there are.
func (x *index) size() int { return max(len(x.chain)-1, 0) }

// lineup is what pools of containers have in common: an index, the order of the
// ids by value, and what to expect next.
type lineup struct {
	index
	follow []uint32 // by id: the id that came after it last time
	last   uint32
	ranking
}

func (l *lineup) reset() {
	l.index.reset()
	l.follow, l.last = l.follow[:0], 0
	l.ranking.reset()
}

// guess returns the id that is likely to come, or 0.
func (l *lineup) guess() uint32 {
	if int(l.last) < len(l.follow) {
		return l.follow[l.last]
	}
	return 0
}

// came notes what came after the last one.
func (l *lineup) came(id uint32) {
	if id != l.last {
		l.follow[l.last] = id
		l.last = id
	}
}

// add makes room for the next id, which it returns.
func (l *lineup) add(h hash) uint32 {
	id := l.index.add(h)
	for len(l.follow) <= int(id) {
		l.follow = append(l.follow, 0)
	}
	return id
}

// ranking is the order of ids by value. Ids of equal value have equal ranks.
type ranking struct {
	order []uint32 // ids by value
	ranks []uint32 // by id
	top   uint32   // the greatest rank
	fresh []uint32
	spare []uint32
}

func (r *ranking) reset() { r.order, r.ranks, r.top = r.order[:0], r.ranks[:0], 0 }

// rank ranks the ids up to n, of which it may know some.
func (r *ranking) rank(n int, compare func(a, b uint32) int) {
	if len(r.order) == n {
		return
	}
	r.fresh = r.fresh[:0]
	for id := len(r.order) + 1; id <= n; id++ {
		r.fresh = append(r.fresh, uint32(id))
	}
	slices.SortFunc(r.fresh, compare)
	old := r.order
	merged := r.spare[:0]
	ranks := append(r.ranks[:len(r.ranks):len(r.ranks)], make([]uint32, n+1-len(r.ranks))...)
	rank := uint32(0)
	// place gives an id the next rank, or that of the one before it.
	place := func(id uint32, tie bool) {
		if !tie || len(merged) == 0 {
			rank++
		}
		merged = append(merged, id)
		ranks[id] = rank
	}
	done := 0 // ids of old that are placed
	keep := func(to int) {
		for ; done < to; done++ {
			id := old[done]
			place(id, done > 0 && r.ranks[id] == r.ranks[old[done-1]])
		}
	}
	for i, id := range r.fresh {
		at := done + sort.Search(len(old)-done, func(k int) bool { return compare(old[done+k], id) >= 0 })
		tie := i > 0 && compare(r.fresh[i-1], id) == 0
		if at < len(old) && compare(old[at], id) == 0 {
			at++
			tie = true
		}
		keep(at)
		place(id, tie)
	}
	keep(len(old))
	r.order, r.spare, r.ranks, r.top = merged, old, ranks, rank
}

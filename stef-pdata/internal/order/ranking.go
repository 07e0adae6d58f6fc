// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"slices"
	"sort"
)

// Ranking is the order of ids by value. Ids of equal value have equal ranks.
type Ranking struct {
	order []uint32 // all ids, sorted by value
	Ranks []uint32 // indexed by id
	Top   uint32   // the greatest rank
	fresh []uint32
	spare []uint32
}

func (r *Ranking) Reset() { r.order, r.Ranks, r.Top = r.order[:0], r.Ranks[:0], 0 }

// RankByID ranks the ids up to n by their number, which is their order of arrival. Do not call Rank
// before the next Reset.
func (r *Ranking) RankByID(n int) {
	if len(r.order) > 0 { // the ranks are by value
		r.order, r.Ranks = r.order[:0], r.Ranks[:0]
	}
	for id := len(r.Ranks); id <= n; id++ {
		r.Ranks = append(r.Ranks, uint32(id))
	}
	r.Top = uint32(n)
}

// Rank ranks the ids up to n by value. It sorts only the new ids and merges them into the
// existing order.
func (r *Ranking) Rank(n int, compare func(a, b uint32) int) {
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
	ranks := append(r.Ranks[:len(r.Ranks):len(r.Ranks)], make([]uint32, n+1-len(r.Ranks))...)
	rank := uint32(0)
	// place assigns the next rank to an id. On a tie, it assigns the rank of the previous id.
	place := func(id uint32, tie bool) {
		if !tie || len(merged) == 0 {
			rank++
		}
		merged = append(merged, id)
		ranks[id] = rank
	}
	done := 0 // number of ids of old that are placed
	keep := func(to int) {
		for ; done < to; done++ {
			id := old[done]
			place(id, done > 0 && r.Ranks[id] == r.Ranks[old[done-1]])
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
	r.order, r.spare, r.Ranks, r.Top = merged, old, ranks, rank
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ranks of ids have the order of their values. The order in which ids are added, and how many
// are added between two calls of Rank, do not matter.
func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var ranks Ranking
		values := []int{-1} // by id
		for range 1 + r.IntN(5) {
			for range r.IntN(30) {
				values = append(values, r.IntN(20))
			}
			ranks.Rank(len(values)-1, func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
			require.Len(t, ranks.order, len(values)-1)
			for i := 1; i < len(values); i++ {
				require.NotZero(t, ranks.Ranks[i])
				require.LessOrEqual(t, ranks.Ranks[i], ranks.Top)
				for j := 1; j < len(values); j++ {
					require.Equal(t, cmp.Compare(values[i], values[j]), cmp.Compare(ranks.Ranks[i], ranks.Ranks[j]))
				}
			}
		}
	}
}

func TestSortKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var spare []Key
	for range 200 {
		width := r.IntN(65)
		keys := make([]Key, r.IntN(2000))
		for i := range keys {
			key := r.Uint64()
			if r.IntN(2) == 0 {
				key %= 1 << r.IntN(64)
			}
			keys[i] = Key{key & (uint64(1)<<width - 1), uint32(i)}
		}
		want := slices.Clone(keys)
		slices.SortStableFunc(want, func(a, b Key) int { return cmp.Compare(a.Key, b.Key) })
		keys, spare = Sort(keys, spare, width)
		require.Equal(t, want, keys)
	}
}

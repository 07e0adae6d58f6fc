// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// TestTimesAdjacent: timesAdjacent returns true only if sortByManyTimes would sort the keys by time
// and then restore their order. If all times are different, or if the times alternate, its result
// is exact.
func TestTimesAdjacent(t *testing.T) {
	var s sorter
	fill := func(n int, time func(i int) uint64) (adjacent, want bool) {
		s.entries, s.keys = s.entries[:0], s.keys[:0]
		runs, times := 0, map[uint64]bool{}
		for i := range n {
			s.entries = append(s.entries, entry{time: time(i)})
			s.keys = append(s.keys, order.Key{Item: uint32(i)})
			times[time(i)] = true
			if i == 0 || time(i) != time(i-1) {
				runs++
			}
		}
		return s.timesAdjacent(), runs <= alternate*len(times)
	}
	for n := range 300 {
		adjacent, want := fill(n, func(i int) uint64 { return 1_700_000_000e9 + uint64(i)*1e3 })
		require.True(t, want)
		require.True(t, adjacent, "%d different times", n)
		adjacent, want = fill(n, func(i int) uint64 { return uint64(i % 40) })
		require.Equal(t, want, adjacent, "%d points with 40 times", n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	yes := 0
	for range 3000 {
		n, times := 1+r.IntN(400), 1+r.Uint64N(400)
		values := make([]uint64, n)
		for i := range values {
			values[i] = r.Uint64N(times) << r.IntN(40)
		}
		adjacent, want := fill(n, func(i int) uint64 { return values[i] })
		if adjacent {
			yes++
			require.True(t, want)
		}
	}
	require.Greater(t, yes, 100)
}

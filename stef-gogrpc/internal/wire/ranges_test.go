// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxID = math.MaxUint64

func TestRanges(t *testing.T) {
	f := func(wants Ranges, ranges ...IDRange) {
		t.Helper()
		var added Ranges
		for _, r := range ranges {
			added.Add(r)
		}
		require.Equal(t, wants, added)
		if set := Normalize(append([]IDRange(nil), ranges...)); len(wants) > 0 {
			require.Equal(t, wants, set)
		} else {
			require.Empty(t, set)
		}
	}
	f(nil)
	f(nil, IDRange{2, 1}, IDRange{maxID, 0})
	f(Ranges{{1, 3}}, IDRange{1, 1}, IDRange{3, 3}, IDRange{2, 2})
	f(Ranges{{1, 2}, {4, 5}}, IDRange{4, 5}, IDRange{1, 2})
	f(Ranges{{1, 9}}, IDRange{3, 4}, IDRange{6, 7}, IDRange{1, 9})
	f(Ranges{{1, 9}}, IDRange{1, 9}, IDRange{3, 4}, IDRange{6, 7})
	f(Ranges{{0, maxID}}, IDRange{0, 5}, IDRange{7, maxID}, IDRange{6, 6})
	f(Ranges{{5, maxID}}, IDRange{7, maxID}, IDRange{maxID, maxID}, IDRange{5, 6})
	f(Ranges{{1, 1}, {maxID, maxID}}, IDRange{maxID, maxID}, IDRange{1, 1})
}

// TestRangesAreSets compares Ranges with simple sets of ids, which are arrays of bools.
func TestRangesAreSets(t *testing.T) {
	const ids = 40
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var sets [2]Ranges
		var plain [2][ids]bool
		for i := range sets {
			for range rnd.IntN(8) {
				from := rnd.Uint64N(ids)
				r := IDRange{from, min(ids-1, from+rnd.Uint64N(6))}
				sets[i].Add(r)
				for id := r.From; id <= r.To; id++ {
					plain[i][id] = true
				}
			}
		}
		diff := sets[0].Without(sets[1])
		above := rnd.Uint64N(ids)
		at := sets[0].Above(above)
		for id := range uint64(ids) {
			require.Equal(t, plain[0][id], has(sets[0], id))
			require.Equal(t, plain[0][id] && !plain[1][id], has(diff, id))
			if id > above {
				require.Equal(t, has(sets[0], id), has(sets[0][at:], id))
			}
		}
		for _, set := range append(sets[:], diff) {
			for i := 1; i < len(set); i++ {
				require.False(t, touches(set[i-1], set[i]), "%v", set)
			}
		}
	}
}

func has(s Ranges, id uint64) bool {
	for _, r := range s {
		if r.From <= id && id <= r.To {
			return true
		}
	}
	return false
}

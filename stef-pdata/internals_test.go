// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// The memory of a large batch is given back when batches are small again.
func TestMemoryOfLargeBatches(t *testing.T) {
	w, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	e := NewMetricsEncoder(w)
	batch := func(n int) pmetric.Metrics {
		md := pmetric.NewMetrics()
		points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
		for range n {
			points.AppendEmpty().SetIntValue(1)
		}
		return md
	}
	require.NoError(t, e.Encode(batch(1<<16)))
	require.NoError(t, e.Encode(batch(1<<16-100)))
	require.GreaterOrEqual(t, cap(e.sorter.entries), 1<<16)
	require.NoError(t, e.Encode(batch(1000)))
	require.Zero(t, cap(e.sorter.entries))
	require.NoError(t, e.Encode(batch(1000)))
	require.Less(t, cap(e.sorter.entries), 1<<12)
}

// A few large values fill the pools as well as many small ones.
func TestPoolsAreBoundedByBytes(t *testing.T) {
	w, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	e := NewMetricsEncoder(w)
	large := strings.Repeat("x", MaxItemBytes/4)
	for i := range 40 {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("r", large+strconv.Itoa(i))
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(large + strconv.Itoa(i))
		p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
		p.Attributes().PutStr("p", large+strconv.Itoa(i))
		p.ExplicitBounds().FromRaw(make([]float64, 100_000+i))
		require.NoError(t, e.Encode(md))
		for _, held := range []int{e.resources.held, e.scopes.held, e.metrics.held, e.sorter.sets.held} {
			require.LessOrEqual(t, held, maxHeldBytes+MaxItemBytes)
		}
		require.NotZero(t, e.sorter.sets.held)
		require.NotZero(t, e.resources.held)
	}
}

// Ranks follow values, whenever and in whatever order ids come.
func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var ranks ranking
		values := []int{-1} // by id
		for range 1 + r.IntN(5) {
			for range r.IntN(30) {
				values = append(values, r.IntN(20))
			}
			ranks.rank(len(values)-1, func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
			require.Len(t, ranks.order, len(values)-1)
			for i := 1; i < len(values); i++ {
				require.NotZero(t, ranks.ranks[i])
				require.LessOrEqual(t, ranks.ranks[i], ranks.top)
				for j := 1; j < len(values); j++ {
					require.Equal(t, cmp.Compare(values[i], values[j]), cmp.Compare(ranks.ranks[i], ranks.ranks[j]))
				}
			}
		}
	}
}

func TestSortKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var spare []sortKey
	for range 200 {
		width := r.IntN(65)
		keys := make([]sortKey, r.IntN(2000))
		for i := range keys {
			key := r.Uint64()
			if r.IntN(2) == 0 {
				key %= 1 << r.IntN(64)
			}
			keys[i] = sortKey{key & (uint64(1)<<width - 1), uint32(i)}
		}
		want := slices.Clone(keys)
		slices.SortStableFunc(want, func(a, b sortKey) int { return cmp.Compare(a.key, b.key) })
		keys, spare = sortKeys(keys, spare, width)
		require.Equal(t, want, keys)
	}
}

// Pools do not grow with the life of an encoder, and emptying them changes
// nothing that is written.
func TestPoolsAreBounded(t *testing.T) {
	for _, mode := range []Mode{Sorted, Ordered} {
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		e := NewMetricsEncoder(w, WithMode(mode))
		n := 0
		for range 2*maxContainers/1000 + 2 {
			md := pmetric.NewMetrics()
			for range 1000 {
				n++
				m := md.ResourceMetrics().AppendEmpty()
				m.Resource().Attributes().PutInt("n", int64(n))
				points := m.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
				for i := range 5 {
					p := points.AppendEmpty()
					p.Attributes().PutInt("n", int64(n*10+i))
					p.SetIntValue(int64(n))
				}
			}
			require.NoError(t, e.Encode(md))
			require.LessOrEqual(t, e.resources.size(), maxContainers+1000)
			require.LessOrEqual(t, e.sorter.sets.size(), maxSets+5000)
		}
		require.NoError(t, w.Close())
		r, err := otelstef.NewMetricsReader(&out)
		require.NoError(t, err)
		seen := map[string]bool{}
		for r.Next() {
			rec := r.Record()
			seen[fmt.Sprint(rec.Resource().Attributes().Value(0).Int64(), rec.Attributes().Value(0).Int64(), rec.Point().Value().Int64())] = true
		}
		require.NoError(t, r.Err())
		require.Len(t, seen, 5*n)
	}
}

// Sets are told apart by any byte of a key, however long it is.
func TestSetsDifferInKeys(t *testing.T) {
	for n := range 40 {
		var p setPool
		var c copier
		key := strings.Repeat("k", n)
		m := pcommon.NewMap()
		m.PutStr(key, "v")
		id, err := p.find(&c, m, 0)
		require.NoError(t, err)
		i, _, _ := p.differ(id, m)
		require.Equal(t, -1, i)
		others := []string{key + "k"}
		for at := range n {
			others = append(others, key[:at]+"x"+key[at+1:])
		}
		for _, other := range others {
			m := pcommon.NewMap()
			m.PutStr(other, "v")
			i, k, _ := p.differ(id, m)
			require.Zero(t, i)
			require.Equal(t, other, k)
		}
	}
}

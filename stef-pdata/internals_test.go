// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
)

// The encoder releases the memory for a large batch when batches are small again.
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

// The pools of an encoder hold resources, scopes, metrics and sets of attributes. The number of
// their entries is bounded, and so are their bytes: a few large values can fill a pool.
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
		for _, held := range []int{e.resources.HeldBytes, e.scopes.HeldBytes, e.metrics.HeldBytes, e.sorter.sets.HeldBytes} {
			require.LessOrEqual(t, held, intern.MaxHeldBytes+MaxItemBytes)
		}
		require.NotZero(t, e.sorter.sets.HeldBytes)
		require.NotZero(t, e.resources.HeldBytes)
	}
}

// The pools of an encoder, which hold resources and sets of attributes, are bounded. When a full
// pool is emptied, all points are still written correctly.
func TestPoolsAreBounded(t *testing.T) {
	for _, mode := range []Mode{Sorted, Ordered} {
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		e := NewMetricsEncoder(w, WithMode(mode))
		n := 0
		for range 2*intern.MaxContainers/1000 + 2 {
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
			require.LessOrEqual(t, e.resources.Size(), intern.MaxContainers+1000)
			require.LessOrEqual(t, e.sorter.sets.Size(), intern.MaxSets+5000)
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/lake"
)

// TestManyElements: a writer refuses an item with more elements of lists and maps than a reader
// accepts, wherever they are.
func TestManyElements(t *testing.T) {
	const most = 40
	t.Cleanup(lake.SetMaxItemElements(most))
	fill := func(m pcommon.Map, n int) {
		for i := range n {
			m.PutInt(string(rune('a'+i)), 1)
		}
	}
	metric := func(f func(rm pmetric.ResourceMetrics, m pmetric.Metric, n int)) func(int) lake.Batch {
		return func(n int) lake.Batch {
			md := pmetric.NewMetrics()
			rm := md.ResourceMetrics().AppendEmpty()
			f(rm, rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty(), n)
			return lake.Batch{Signal: lake.Metrics, Metrics: md}
		}
	}
	span := func(f func(s ptrace.Span, n int)) func(int) lake.Batch {
		return func(n int) lake.Batch {
			td := ptrace.NewTraces()
			f(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty(), n)
			return lake.Batch{Signal: lake.Traces, Traces: td}
		}
	}
	for name, c := range map[string]struct {
		each int // how often an element is counted
		of   func(int) lake.Batch
	}{
		"buckets": {1, metric(func(_ pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Negative().BucketCounts().FromRaw(make([]uint64, n))
		})},
		"bounds": {1, metric(func(_ pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			m.SetEmptyHistogram().DataPoints().AppendEmpty().ExplicitBounds().FromRaw(make([]float64, n))
		})},
		"quantiles": {1, metric(func(_ pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			p := m.SetEmptySummary().DataPoints().AppendEmpty()
			for range n {
				p.QuantileValues().AppendEmpty()
			}
		})},
		"exemplars": {1, metric(func(_ pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			p := m.SetEmptyGauge().DataPoints().AppendEmpty()
			for range n {
				p.Exemplars().AppendEmpty()
			}
		})},
		"metadata": {2, metric(func(_ pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			m.SetEmptyGauge().DataPoints().AppendEmpty()
			fill(m.Metadata(), n)
		})},
		"resource": {2, metric(func(rm pmetric.ResourceMetrics, m pmetric.Metric, n int) {
			m.SetEmptyGauge().DataPoints().AppendEmpty()
			fill(rm.Resource().Attributes(), n)
		})},
		"attributes": {1, span(func(s ptrace.Span, n int) { fill(s.Attributes(), n) })},
		"events": {2, span(func(s ptrace.Span, n int) {
			for range n {
				fill(s.Events().AppendEmpty().Attributes(), 1)
			}
		})},
		"links": {1, span(func(s ptrace.Span, n int) {
			for range n {
				s.Links().AppendEmpty()
			}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range []lake.Format{lake.Parquet, lake.Arrow} {
				fits, over := c.of(most/c.each), c.of(most/c.each+1)
				w, err := lake.NewWriter(io.Discard, f, fits.Signal, lake.WriterOptions{})
				require.NoError(t, err)
				require.NoError(t, w.Write(fits))
				require.NoError(t, w.Write(fits))
				require.ErrorIs(t, w.Write(over), lake.ErrLimit)
				require.ErrorIs(t, w.Close(), lake.ErrLimit)
			}
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/lake"
)

// TestManyElements: a writer leaves out an item with more elements of lists and maps than a reader
// accepts, wherever they are, and writes the other items.
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
			return lake.Batch{Signal: lake.Metrics, Metrics: md, Traces: ptrace.NewTraces()}
		}
	}
	span := func(f func(s ptrace.Span, n int)) func(int) lake.Batch {
		return func(n int) lake.Batch {
			td := ptrace.NewTraces()
			f(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty(), n)
			return lake.Batch{Signal: lake.Traces, Traces: td, Metrics: pmetric.NewMetrics()}
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
				var out, want bytes.Buffer
				w, err := lake.NewWriter(&out, f, fits.Signal, lake.WriterOptions{})
				require.NoError(t, err)
				require.NoError(t, w.Write(fits))
				require.NoError(t, w.Write(fits))
				refused(t, w.Write(over), 3)
				both := lake.Batch{Signal: fits.Signal, Metrics: pmetric.NewMetrics(), Traces: ptrace.NewTraces()}
				for _, b := range []lake.Batch{over, fits, over} {
					appendTo(both, b)
				}
				var items *lake.ItemErrors
				require.ErrorAs(t, w.Write(both), &items)
				require.EqualValues(t, 2, items.Items)
				require.ErrorContains(t, items, "item 4 has ")
				require.ErrorContains(t, items, "(and 1 more items)")
				require.NoError(t, w.Close())
				require.EqualValues(t, 3, w.Items())

				w, err = lake.NewWriter(&want, f, fits.Signal, lake.WriterOptions{})
				require.NoError(t, err)
				for range 3 {
					require.NoError(t, w.Write(fits))
				}
				require.NoError(t, w.Close())
				require.Equal(t, want.Bytes(), out.Bytes(), "nothing of the items that were left out")

				b, err := lake.NewBuilder(f, fits.Signal, nil)
				require.NoError(t, err)
				_, err = b.RecordBatches(both)
				refused(t, err, 1)
				b.Release()
			}
		})
	}
}

// refused checks the error of an item that was left out.
func refused(t *testing.T, err error, item int) {
	t.Helper()
	var items *lake.ItemErrors
	require.ErrorAs(t, err, &items)
	require.ErrorIs(t, err, lake.ErrLimit)
	require.ErrorContains(t, err, fmt.Sprintf("item %d has ", item))
}

// appendTo appends a copy of the items of b.
func appendTo(to, b lake.Batch) {
	for i := range b.Metrics.ResourceMetrics().Len() {
		b.Metrics.ResourceMetrics().At(i).CopyTo(to.Metrics.ResourceMetrics().AppendEmpty())
	}
	for i := range b.Traces.ResourceSpans().Len() {
		b.Traces.ResourceSpans().At(i).CopyTo(to.Traces.ResourceSpans().AppendEmpty())
	}
}

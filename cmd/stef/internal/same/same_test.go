// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package same_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/cmd/stef/internal/same"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
)

// recorded returns the first batches of a recording.
func recorded(t *testing.T, signal otlpfile.Signal, n int) []otlpfile.Batch {
	t.Helper()
	file := map[otlpfile.Signal]func() []byte{
		otlpfile.Metrics: fixtures.Metrics, otlpfile.Traces: fixtures.Traces, otlpfile.Logs: fixtures.Logs,
	}[signal]()
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	var batches []otlpfile.Batch
	for _, p := range parts[:min(n, len(parts))] {
		var b otlpfile.Batch
		switch signal {
		case otlpfile.Metrics:
			md, e := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(p)
			b, err = otlpfile.MetricsBatch(md), e
		case otlpfile.Traces:
			td, e := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(p)
			b, err = otlpfile.TracesBatch(td), e
		case otlpfile.Logs:
			ld, e := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(p)
			b, err = otlpfile.LogsBatch(ld), e
		}
		require.NoError(t, err)
		batches = append(batches, b)
	}
	return batches
}

func setOf(t *testing.T, sorted bool, batches ...otlpfile.Batch) *same.Set {
	t.Helper()
	s := &same.Set{SortAttributes: sorted}
	items := 0
	for _, b := range batches {
		require.NoError(t, s.Add(b))
		items += b.Items()
	}
	require.EqualValues(t, items, s.Len())
	return s
}

// differ counts the items that only a and only b has, and checks that the order
// is only ever the same where the items are.
func differ(t *testing.T, a, b *same.Set) (int, int) {
	t.Helper()
	onlyA, onlyB := same.Items(a, b)
	if onlyA+onlyB > 0 {
		require.False(t, same.Order(a, b))
	}
	return onlyA, onlyB
}

func TestRecordings(t *testing.T) {
	for _, signal := range []otlpfile.Signal{otlpfile.Metrics, otlpfile.Traces, otlpfile.Logs} {
		t.Run(signal.String(), func(t *testing.T) {
			batches := recorded(t, signal, 30)
			all := setOf(t, false, batches...)
			f := func(wantA, wantB int, wantOrder bool, other ...otlpfile.Batch) {
				t.Helper()
				b := setOf(t, false, other...)
				onlyA, onlyB := differ(t, all, b)
				require.Equal(t, wantA, onlyA)
				require.Equal(t, wantB, onlyB)
				require.Equal(t, wantOrder, same.Order(all, b))
			}
			f(0, 0, true, batches...)
			first := batches[0]
			for i := 1; first.Items() == 0; i++ {
				first = batches[i]
			}
			n := first.Items()
			f(0, n, false, append(batches, first)...)
			f(0, 0, true, append(batches, otlpfile.Batch{Signal: signal, Metrics: pmetric.NewMetrics(), Traces: ptrace.NewTraces(), Logs: plog.NewLogs()})...)
			f(int(all.Len()), 0, false)
			turned := append(batches[len(batches)/2:len(batches):len(batches)], batches[:len(batches)/2]...)
			f(0, 0, false, turned...)
		})
	}
}

func TestEmpty(t *testing.T) {
	require.True(t, same.Order(&same.Set{}, &same.Set{}))
	require.False(t, same.Order(&same.Set{}, setOf(t, false, recorded(t, otlpfile.Logs, 1)...)))
	require.Error(t, (&same.Set{}).Add(otlpfile.Batch{}))
}

// A change anywhere in an item or above it makes another item.
func TestChanges(t *testing.T) {
	change := func(signal otlpfile.Signal, items int, edit func([]otlpfile.Batch)) {
		t.Helper()
		before := setOf(t, true, recorded(t, signal, 40)...)
		batches := recorded(t, signal, 40)
		edit(batches)
		onlyA, onlyB := differ(t, before, setOf(t, true, batches...))
		require.Equal(t, onlyA, onlyB)
		if items > 0 {
			require.Equal(t, items, onlyA)
		} else {
			require.Positive(t, onlyA)
		}
	}
	metric := func(batches []otlpfile.Batch, typ pmetric.MetricType) pmetric.Metric {
		for _, b := range batches {
			for _, rm := range b.Metrics.ResourceMetrics().All() {
				for _, sm := range rm.ScopeMetrics().All() {
					for _, m := range sm.Metrics().All() {
						if m.Type() == typ {
							return m
						}
					}
				}
			}
		}
		require.Fail(t, "no such metric", "%v", typ)
		return pmetric.NewMetric()
	}
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) {
		b[0].Metrics.ResourceMetrics().At(0).Resource().Attributes().PutStr("x", "y")
	})
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) { b[0].Metrics.ResourceMetrics().At(0).SetSchemaUrl("x") })
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) {
		b[0].Metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).Scope().SetVersion("x")
	})
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) { metric(b, pmetric.MetricTypeSum).SetUnit("x") })
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) { metric(b, pmetric.MetricTypeSum).Metadata().PutBool("x", true) })
	change(otlpfile.Metrics, 0, func(b []otlpfile.Batch) {
		sum := metric(b, pmetric.MetricTypeSum).Sum()
		sum.SetIsMonotonic(!sum.IsMonotonic())
	})
	change(otlpfile.Metrics, 1, func(b []otlpfile.Batch) {
		metric(b, pmetric.MetricTypeHistogram).Histogram().DataPoints().At(0).RemoveMin()
	})
	change(otlpfile.Metrics, 1, func(b []otlpfile.Batch) {
		metric(b, pmetric.MetricTypeGauge).Gauge().DataPoints().At(0).SetFlags(1)
	})
	change(otlpfile.Traces, 1, func(b []otlpfile.Batch) {
		b[0].Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetDroppedLinksCount(1)
	})
	change(otlpfile.Traces, 0, func(b []otlpfile.Batch) { b[0].Traces.ResourceSpans().At(0).ScopeSpans().At(0).SetSchemaUrl("x") })
	change(otlpfile.Logs, 1, func(b []otlpfile.Batch) {
		b[0].Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().SetInt(1)
	})
	change(otlpfile.Logs, 0, func(b []otlpfile.Batch) { b[0].Logs.ResourceLogs().At(0).Resource().SetDroppedAttributesCount(7) })
}

// Exponential histograms and summaries count as well.
func TestAllTypes(t *testing.T) {
	build := func(exp, summary uint64) otlpfile.Batch {
		md := pmetric.NewMetrics()
		ms := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
		ms.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty().SetCount(exp)
		ms.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty().SetCount(summary)
		ms.AppendEmpty() // no type, no points
		return otlpfile.MetricsBatch(md)
	}
	f := func(want int, exp, summary uint64) {
		t.Helper()
		onlyA, onlyB := differ(t, setOf(t, false, build(1, 1)), setOf(t, false, build(exp, summary)))
		require.Equal(t, want, onlyA)
		require.Equal(t, want, onlyB)
	}
	f(0, 1, 1)
	f(1, 2, 1)
	f(1, 1, 2)
	f(2, 2, 2)
}

// Sorted attributes are the same, but for those of equal keys.
func TestSortAttributes(t *testing.T) {
	fill := func(m pcommon.Map, pairs []string) {
		var b xpdata.MapBuilder
		for i := 0; i < len(pairs); i += 2 {
			b.AppendEmpty(pairs[i]).SetStr(pairs[i+1])
		}
		b.UnsafeIntoMap(m)
	}
	build := func(pairs ...string) []otlpfile.Batch {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		fill(rm.Resource().Attributes(), pairs)
		sm := rm.ScopeMetrics().AppendEmpty()
		fill(sm.Scope().Attributes(), pairs)
		p := sm.Metrics().AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
		fill(p.Attributes(), pairs)
		fill(p.Exemplars().AppendEmpty().FilteredAttributes(), pairs)
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		fill(s.Attributes(), pairs)
		fill(s.Events().AppendEmpty().Attributes(), pairs)
		fill(s.Links().AppendEmpty().Attributes(), pairs)
		ld := plog.NewLogs()
		fill(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Attributes(), pairs)
		return []otlpfile.Batch{otlpfile.MetricsBatch(md), otlpfile.TracesBatch(td), otlpfile.LogsBatch(ld)}
	}
	f := func(a, b []otlpfile.Batch, plain, sorted bool) {
		t.Helper()
		for i := range a {
			require.Equal(t, plain, same.Order(setOf(t, false, a[i]), setOf(t, false, b[i])))
			require.Equal(t, sorted, same.Order(setOf(t, true, a[i]), setOf(t, true, b[i])))
		}
	}
	f(build("a", "1", "b", "2"), build("a", "1", "b", "2"), true, true)
	f(build("a", "1", "b", "2"), build("b", "2", "a", "1"), false, true)
	f(build("b", "0", "a", "1", "a", "2"), build("a", "1", "b", "0", "a", "2"), false, true)
	f(build("a", "1", "a", "2"), build("a", "2", "a", "1"), false, false)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func recordedMetrics(t *testing.T) (mds []pmetric.Metrics) {
	parts, err := fixtures.Parts(fixtures.Metrics())
	require.NoError(t, err)
	for _, p := range parts {
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(p)
		require.NoError(t, err)
		mds = append(mds, md)
	}
	return mds
}

func recordedTraces(t *testing.T) (tds []ptrace.Traces) {
	parts, err := fixtures.Parts(fixtures.Traces())
	require.NoError(t, err)
	for _, p := range parts {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(p)
		require.NoError(t, err)
		tds = append(tds, td)
	}
	return tds
}

func recordedLogs(t *testing.T) (lds []plog.Logs) {
	parts, err := fixtures.Parts(fixtures.Logs())
	require.NoError(t, err)
	for _, p := range parts {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(p)
		require.NoError(t, err)
		lds = append(lds, ld)
	}
	return lds
}

// single puts every point into a metric, scope and resource of its own, and adds
// empty containers between them.
func single(mds []pmetric.Metrics) pmetric.Metrics {
	out := pmetric.NewMetrics()
	for _, md := range mds {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					for i := range otlpfile.Points(m) {
						rmOut := out.ResourceMetrics().AppendEmpty()
						rm.Resource().CopyTo(rmOut.Resource())
						rmOut.SetSchemaUrl(rm.SchemaUrl())
						rmOut.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetName("empty")
						smOut := rmOut.ScopeMetrics().AppendEmpty()
						sm.Scope().CopyTo(smOut.Scope())
						smOut.SetSchemaUrl(sm.SchemaUrl())
						mOut := smOut.Metrics().AppendEmpty()
						m.CopyTo(mOut)
						keep(mOut, i)
						out.ResourceMetrics().AppendEmpty().SetSchemaUrl("empty")
					}
				}
			}
		}
	}
	return out
}

func keep(m pmetric.Metric, index int) {
	i := -1
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		m.Gauge().DataPoints().RemoveIf(func(pmetric.NumberDataPoint) bool { i++; return i != index })
	case pmetric.MetricTypeSum:
		m.Sum().DataPoints().RemoveIf(func(pmetric.NumberDataPoint) bool { i++; return i != index })
	case pmetric.MetricTypeHistogram:
		m.Histogram().DataPoints().RemoveIf(func(pmetric.HistogramDataPoint) bool { i++; return i != index })
	case pmetric.MetricTypeExponentialHistogram:
		m.ExponentialHistogram().DataPoints().RemoveIf(func(pmetric.ExponentialHistogramDataPoint) bool { i++; return i != index })
	case pmetric.MetricTypeSummary:
		m.Summary().DataPoints().RemoveIf(func(pmetric.SummaryDataPoint) bool { i++; return i != index })
	}
}

// The comparison of Items ignores grouping and order. The ordered comparison
// ignores only grouping.
func TestGrouping(t *testing.T) {
	mds := recordedMetrics(t)[:40]
	apart := single(mds)
	require.Empty(t, canon.Diff(canon.Metrics(mds...), canon.Metrics(apart)))
	whole := canon.Options{}.MergeMetrics(mds...)
	require.Less(t, whole.ResourceMetrics().Len(), apart.ResourceMetrics().Len()/10)
	require.Empty(t, canon.DiffOrderedMetrics(whole, apart))

	// Resources in another order contain the same items.
	apart.ResourceMetrics().Sort(func(a, b pmetric.ResourceMetrics) bool { return rank(a) < rank(b) })
	require.Empty(t, canon.Diff(canon.Metrics(mds...), canon.Metrics(apart)))
	require.Contains(t, canon.DiffOrderedMetrics(whole, apart), "differs")
}

// rank defines an order that differs from the order of the recording.
func rank(rm pmetric.ResourceMetrics) string {
	return canon.Metrics(wrap(rm)).Text()
}

func wrap(rm pmetric.ResourceMetrics) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm.CopyTo(md.ResourceMetrics().AppendEmpty())
	return md
}

func TestGroupingOfTraces(t *testing.T) {
	tds := recordedTraces(t)[:30]
	apart := ptrace.NewTraces()
	for _, td := range tds {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					rsOut := apart.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(rsOut.Resource())
					rsOut.SetSchemaUrl(rs.SchemaUrl())
					rsOut.ScopeSpans().AppendEmpty()
					ssOut := rsOut.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(ssOut.Scope())
					ssOut.SetSchemaUrl(ss.SchemaUrl())
					s.CopyTo(ssOut.Spans().AppendEmpty())
				}
			}
		}
	}
	whole := canon.Options{}.MergeTraces(tds...)
	require.Less(t, whole.ResourceSpans().Len(), apart.ResourceSpans().Len()/10)
	require.Empty(t, canon.DiffOrderedTraces(whole, apart))
	apart.ResourceSpans().Sort(func(a, b ptrace.ResourceSpans) bool {
		return a.ScopeSpans().At(1).Spans().At(0).SpanID().String() < b.ScopeSpans().At(1).Spans().At(0).SpanID().String()
	})
	require.Empty(t, canon.Diff(canon.Traces(tds...), canon.Traces(apart)))
	require.NotEmpty(t, canon.DiffOrderedTraces(whole, apart))
}

func TestGroupingOfLogs(t *testing.T) {
	lds := recordedLogs(t)
	apart := plog.NewLogs()
	for _, ld := range lds {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					rlOut := apart.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(rlOut.Resource())
					rlOut.SetSchemaUrl(rl.SchemaUrl())
					slOut := rlOut.ScopeLogs().AppendEmpty()
					sl.Scope().CopyTo(slOut.Scope())
					slOut.SetSchemaUrl(sl.SchemaUrl())
					r.CopyTo(slOut.LogRecords().AppendEmpty())
				}
			}
		}
	}
	whole := canon.Options{}.MergeLogs(lds...)
	require.Less(t, whole.ResourceLogs().Len(), apart.ResourceLogs().Len()/10)
	require.Empty(t, canon.DiffOrderedLogs(whole, apart))
	apart.ResourceLogs().Sort(func(a, b plog.ResourceLogs) bool {
		return a.ScopeLogs().At(0).LogRecords().At(0).SpanID().String() < b.ScopeLogs().At(0).LogRecords().At(0).SpanID().String()
	})
	require.Empty(t, canon.Diff(canon.Logs(lds...), canon.Logs(apart)))
	require.NotEmpty(t, canon.DiffOrderedLogs(whole, apart))
}

// The order of attributes matters unless sorting is requested; attributes with
// equal keys stay separate.
func TestSortAttributes(t *testing.T) {
	build := func(pairs ...string) plog.Logs {
		ld := plog.NewLogs()
		var b xpdata.MapBuilder
		for i := 0; i < len(pairs); i += 2 {
			b.AppendEmpty(pairs[i]).SetStr(pairs[i+1])
		}
		b.UnsafeIntoMap(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Attributes())
		return ld
	}
	sorting := canon.Options{SortAttributes: true}
	f := func(a, b plog.Logs, same, sameSorted bool) {
		t.Helper()
		require.Equal(t, same, canon.Diff(canon.Logs(a), canon.Logs(b)) == "")
		require.Equal(t, same, canon.DiffOrderedLogs(a, b) == "")
		require.Equal(t, sameSorted, canon.Diff(sorting.Logs(a), sorting.Logs(b)) == "")
		require.Equal(t, sameSorted, sorting.DiffOrderedLogs(a, b) == "")
	}
	f(build("a", "1", "b", "2"), build("a", "1", "b", "2"), true, true)
	f(build("a", "1", "b", "2"), build("b", "2", "a", "1"), false, true)
	f(build("b", "0", "a", "1", "a", "2"), build("a", "1", "b", "0", "a", "2"), false, true)
	f(build("a", "1", "a", "2"), build("a", "2", "a", "1"), false, false)
	f(build("a", "1", "a", "1"), build("a", "1"), false, false)

	// All attributes of all signals can be sorted.
	for _, md := range recordedMetrics(t)[:20] {
		got := pmetric.NewMetrics()
		md.CopyTo(got)
		shuffleMetrics(got)
		require.Empty(t, canon.Diff(sorting.Metrics(md), sorting.Metrics(got)))
		require.Empty(t, sorting.DiffOrderedMetrics(md, got))
	}
	for _, td := range recordedTraces(t)[:20] {
		got := ptrace.NewTraces()
		td.CopyTo(got)
		for _, rs := range got.ResourceSpans().All() {
			shuffle(rs.Resource().Attributes())
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					shuffle(s.Attributes())
					for _, e := range s.Events().All() {
						shuffle(e.Attributes())
					}
					for _, l := range s.Links().All() {
						shuffle(l.Attributes())
					}
				}
			}
		}
		require.Empty(t, canon.Diff(sorting.Traces(td), sorting.Traces(got)))
		require.Empty(t, sorting.DiffOrderedTraces(td, got))
	}
}

func shuffleMetrics(md pmetric.Metrics) {
	for _, rm := range md.ResourceMetrics().All() {
		shuffle(rm.Resource().Attributes())
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					for _, p := range m.Gauge().DataPoints().All() {
						shuffle(p.Attributes())
					}
				case pmetric.MetricTypeSum:
					for _, p := range m.Sum().DataPoints().All() {
						shuffle(p.Attributes())
					}
				case pmetric.MetricTypeHistogram:
					for _, p := range m.Histogram().DataPoints().All() {
						shuffle(p.Attributes())
					}
				case pmetric.MetricTypeExponentialHistogram:
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						shuffle(p.Attributes())
						for _, e := range p.Exemplars().All() {
							shuffle(e.FilteredAttributes())
						}
					}
				case pmetric.MetricTypeSummary:
					for _, p := range m.Summary().DataPoints().All() {
						shuffle(p.Attributes())
					}
				}
			}
		}
	}
}

var random = rand.New(rand.NewPCG(1, 2))

func shuffle(m pcommon.Map) {
	type pair struct {
		key   string
		value pcommon.Value
	}
	var pairs []pair
	for k, v := range m.All() {
		pairs = append(pairs, pair{k, v})
	}
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	var b xpdata.MapBuilder
	for _, p := range pairs {
		p.value.CopyTo(b.AppendEmpty(p.key))
	}
	b.UnsafeIntoMap(m)
}

// The text of a diff names the item, its counterpart and the differing lines.
func TestDiffText(t *testing.T) {
	f := func(name string, want, got *canon.Items) {
		t.Helper()
		golden(t, name, canon.Diff(want, got))
	}
	lds := recordedLogs(t)
	few := plog.NewLogs()
	lds[0].CopyTo(few)
	changed := plog.NewLogs()
	few.CopyTo(changed)
	records := changed.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	records.At(records.Len() / 2).Body().SetStr("changed")
	f("changed.txt", canon.Logs(few), canon.Logs(changed))
	f("missing.txt", canon.Logs(few), canon.Logs())
	f("extra.txt", canon.Logs(), canon.Logs(few))
	golden(t, "ordered.txt", canon.DiffOrderedLogs(few, changed))
}

func TestItems(t *testing.T) {
	mds := recordedMetrics(t)[:3]
	n := mds[0].DataPointCount() + mds[1].DataPointCount() + mds[2].DataPointCount()
	items := canon.Metrics(mds...)
	require.Equal(t, n, items.Len())
	require.Zero(t, canon.Metrics().Len())
	// Items are multisets: a set with an item twice differs from a set with this item once.
	require.NotEmpty(t, canon.Diff(canon.Metrics(mds[0], mds[0]), canon.Metrics(mds[0])))
}

// NaNs with different bits, zeros with different signs, and numbers of different
// types are not equal.
func TestNumbers(t *testing.T) {
	gauge := func(set func(pmetric.NumberDataPoint)) pmetric.Metrics {
		md := pmetric.NewMetrics()
		set(md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty())
		return md
	}
	double := func(v float64) pmetric.Metrics {
		return gauge(func(p pmetric.NumberDataPoint) { p.SetDoubleValue(v) })
	}
	f := func(a, b pmetric.Metrics, same bool) {
		t.Helper()
		require.Equal(t, same, canon.Diff(canon.Metrics(a), canon.Metrics(b)) == "")
		require.Equal(t, same, canon.DiffOrderedMetrics(a, b) == "")
	}
	quiet, other := math.Float64frombits(0x7ff8000000000001), math.Float64frombits(0x7ff8000000000002)
	f(double(quiet), double(quiet), true)
	f(double(quiet), double(other), false)
	f(double(0), double(math.Copysign(0, -1)), false)
	f(double(1), gauge(func(p pmetric.NumberDataPoint) { p.SetIntValue(1) }), false)
	f(double(0), gauge(func(pmetric.NumberDataPoint) {}), false)
}

// Entity references are part of a resource.
func TestEntities(t *testing.T) {
	build := func(kind string) ptrace.Traces {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		if kind != "" {
			entity.ResourceEntityRefs(rs.Resource()).AppendEmpty().SetType(kind)
		}
		return td
	}
	require.Empty(t, canon.Diff(canon.Traces(build("service")), canon.Traces(build("service"))))
	require.NotEmpty(t, canon.Diff(canon.Traces(build("service")), canon.Traces(build("host"))))
	require.NotEmpty(t, canon.Diff(canon.Traces(build("service")), canon.Traces(build(""))))
	require.NotEmpty(t, canon.DiffOrderedTraces(build("service"), build("")))
}

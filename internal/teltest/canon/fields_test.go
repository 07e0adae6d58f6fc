// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/teltest/canon"
)

// A change of any field makes both the items and the messages differ.

func TestMetricFields(t *testing.T) {
	f := func(change func(pmetric.ResourceMetrics)) {
		t.Helper()
		want, got := everyMetric(), everyMetric()
		require.Empty(t, canon.Diff(canon.Metrics(want), canon.Metrics(got)))
		require.Empty(t, canon.DiffOrderedMetrics(want, got))
		change(got.ResourceMetrics().At(0))
		require.NotEmpty(t, canon.Diff(canon.Metrics(want), canon.Metrics(got)))
		require.NotEmpty(t, canon.DiffOrderedMetrics(want, got))
	}
	f(func(rm pmetric.ResourceMetrics) { rm.SetSchemaUrl("x") })
	f(func(rm pmetric.ResourceMetrics) { rm.Resource().SetDroppedAttributesCount(1) })
	f(func(rm pmetric.ResourceMetrics) { rm.Resource().Attributes().PutStr("r", "x") })

	scope := func(change func(pmetric.ScopeMetrics)) {
		t.Helper()
		f(func(rm pmetric.ResourceMetrics) { change(rm.ScopeMetrics().At(0)) })
	}
	scope(func(sm pmetric.ScopeMetrics) { sm.SetSchemaUrl("x") })
	scope(func(sm pmetric.ScopeMetrics) { sm.Scope().SetName("x") })
	scope(func(sm pmetric.ScopeMetrics) { sm.Scope().SetVersion("x") })
	scope(func(sm pmetric.ScopeMetrics) { sm.Scope().Attributes().PutStr("s", "x") })
	scope(func(sm pmetric.ScopeMetrics) { sm.Scope().SetDroppedAttributesCount(1) })

	metric := func(i int, change func(pmetric.Metric)) {
		t.Helper()
		scope(func(sm pmetric.ScopeMetrics) { change(sm.Metrics().At(i)) })
	}
	metric(0, func(m pmetric.Metric) { m.SetName("x") })
	metric(0, func(m pmetric.Metric) { m.SetDescription("x") })
	metric(0, func(m pmetric.Metric) { m.SetUnit("x") })
	metric(0, func(m pmetric.Metric) { m.Metadata().PutStr("m", "x") })
	metric(1, func(m pmetric.Metric) { m.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityDelta) })
	metric(1, func(m pmetric.Metric) { m.Sum().SetIsMonotonic(true) })
	metric(2, func(m pmetric.Metric) {
		m.Histogram().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	})
	metric(3, func(m pmetric.Metric) {
		m.ExponentialHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	})
	temporality := func(v pmetric.AggregationTemporality) *canon.Items {
		md := everyMetric()
		md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(1).Sum().SetAggregationTemporality(v)
		return canon.Metrics(md)
	}
	require.NotEmpty(t, canon.Diff(temporality(9), temporality(-1)), "numbers without a name")

	number := func(change func(pmetric.NumberDataPoint)) {
		t.Helper()
		metric(0, func(m pmetric.Metric) { change(m.Gauge().DataPoints().At(0)) })
		metric(1, func(m pmetric.Metric) { change(m.Sum().DataPoints().At(0)) })
	}
	number(func(p pmetric.NumberDataPoint) { p.SetTimestamp(9) })
	number(func(p pmetric.NumberDataPoint) { p.SetStartTimestamp(9) })
	number(func(p pmetric.NumberDataPoint) { p.SetFlags(p.Flags().WithNoRecordedValue(true)) })
	number(func(p pmetric.NumberDataPoint) { p.Attributes().PutInt("a", 9) })
	number(func(p pmetric.NumberDataPoint) { p.SetIntValue(9) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().AppendEmpty() })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).SetTimestamp(9) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).SetIntValue(9) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).SetDoubleValue(9) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).SetTraceID([16]byte{9}) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).SetSpanID([8]byte{9}) })
	number(func(p pmetric.NumberDataPoint) { p.Exemplars().At(0).FilteredAttributes().PutStr("f", "x") })

	histogram := func(change func(pmetric.HistogramDataPoint)) {
		t.Helper()
		metric(2, func(m pmetric.Metric) { change(m.Histogram().DataPoints().At(0)) })
	}
	histogram(func(p pmetric.HistogramDataPoint) { p.SetTimestamp(9) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetStartTimestamp(9) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetFlags(p.Flags().WithNoRecordedValue(true)) })
	histogram(func(p pmetric.HistogramDataPoint) { p.Attributes().PutInt("a", 9) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetCount(9) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetSum(0) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetMin(0) })
	histogram(func(p pmetric.HistogramDataPoint) { p.SetMax(0) })
	histogram(func(p pmetric.HistogramDataPoint) { p.BucketCounts().Append(0) })
	histogram(func(p pmetric.HistogramDataPoint) { p.ExplicitBounds().Append(0) })
	histogram(func(p pmetric.HistogramDataPoint) { p.Exemplars().AppendEmpty() })

	exponential := func(change func(pmetric.ExponentialHistogramDataPoint)) {
		t.Helper()
		metric(3, func(m pmetric.Metric) { change(m.ExponentialHistogram().DataPoints().At(0)) })
	}
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetTimestamp(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetStartTimestamp(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetFlags(p.Flags().WithNoRecordedValue(true)) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Attributes().PutInt("a", 9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetCount(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetSum(0) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetMin(0) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetMax(0) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetScale(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetZeroCount(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.SetZeroThreshold(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Positive().SetOffset(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Positive().BucketCounts().Append(0) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Negative().SetOffset(9) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Negative().BucketCounts().Append(0) })
	exponential(func(p pmetric.ExponentialHistogramDataPoint) { p.Exemplars().AppendEmpty() })

	summary := func(change func(pmetric.SummaryDataPoint)) {
		t.Helper()
		metric(4, func(m pmetric.Metric) { change(m.Summary().DataPoints().At(0)) })
	}
	summary(func(p pmetric.SummaryDataPoint) { p.SetTimestamp(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.SetStartTimestamp(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.SetFlags(p.Flags().WithNoRecordedValue(true)) })
	summary(func(p pmetric.SummaryDataPoint) { p.Attributes().PutInt("a", 9) })
	summary(func(p pmetric.SummaryDataPoint) { p.SetCount(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.SetSum(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.QuantileValues().At(0).SetQuantile(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.QuantileValues().At(0).SetValue(9) })
	summary(func(p pmetric.SummaryDataPoint) { p.QuantileValues().AppendEmpty() })
}

// everyMetric has one metric of each type, with one point each.
func everyMetric() pmetric.Metrics {
	md := pmetric.NewMetrics()
	sm := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty()
	number := func(p pmetric.NumberDataPoint) {
		p.SetIntValue(1)
		p.Exemplars().AppendEmpty().SetIntValue(2)
	}
	number(sm.Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty())
	number(sm.Metrics().AppendEmpty().SetEmptySum().DataPoints().AppendEmpty())
	sm.Metrics().AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	sm.Metrics().AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	sm.Metrics().AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty().QuantileValues().AppendEmpty()
	return md
}

func TestSpanFields(t *testing.T) {
	build := func() ptrace.Traces {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.Events().AppendEmpty()
		s.Links().AppendEmpty()
		return td
	}
	f := func(change func(ptrace.Span)) {
		t.Helper()
		want, got := build(), build()
		require.Empty(t, canon.Diff(canon.Traces(want), canon.Traces(got)))
		change(got.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0))
		require.NotEmpty(t, canon.Diff(canon.Traces(want), canon.Traces(got)))
		require.NotEmpty(t, canon.DiffOrderedTraces(want, got))
	}
	f(func(s ptrace.Span) { s.SetTraceID([16]byte{9}) })
	f(func(s ptrace.Span) { s.SetSpanID([8]byte{9}) })
	f(func(s ptrace.Span) { s.SetParentSpanID([8]byte{9}) })
	f(func(s ptrace.Span) { s.TraceState().FromRaw("x=y") })
	f(func(s ptrace.Span) { s.SetFlags(9) })
	f(func(s ptrace.Span) { s.SetName("x") })
	f(func(s ptrace.Span) { s.SetKind(ptrace.SpanKind(99)) })
	f(func(s ptrace.Span) { s.SetStartTimestamp(9) })
	f(func(s ptrace.Span) { s.SetEndTimestamp(9) })
	f(func(s ptrace.Span) { s.Attributes().PutEmptyBytes("a").Append(9) })
	f(func(s ptrace.Span) { s.SetDroppedAttributesCount(9) })
	f(func(s ptrace.Span) { s.SetDroppedEventsCount(9) })
	f(func(s ptrace.Span) { s.SetDroppedLinksCount(9) })
	f(func(s ptrace.Span) { s.Events().AppendEmpty() })
	f(func(s ptrace.Span) { s.Events().At(0).SetName("x") })
	f(func(s ptrace.Span) { s.Events().At(0).SetTimestamp(9) })
	f(func(s ptrace.Span) { s.Events().At(0).SetDroppedAttributesCount(9) })
	f(func(s ptrace.Span) { s.Events().At(0).Attributes().PutBool("a", false) })
	f(func(s ptrace.Span) { s.Links().AppendEmpty() })
	f(func(s ptrace.Span) { s.Links().At(0).SetTraceID([16]byte{9}) })
	f(func(s ptrace.Span) { s.Links().At(0).SetSpanID([8]byte{9}) })
	f(func(s ptrace.Span) { s.Links().At(0).TraceState().FromRaw("x=y") })
	f(func(s ptrace.Span) { s.Links().At(0).SetFlags(9) })
	f(func(s ptrace.Span) { s.Links().At(0).SetDroppedAttributesCount(9) })
	f(func(s ptrace.Span) { s.Links().At(0).Attributes().PutDouble("a", 0) })
	f(func(s ptrace.Span) { s.Status().SetCode(ptrace.StatusCode(99)) })
	f(func(s ptrace.Span) { s.Status().SetMessage("x") })
}

func TestRecordFields(t *testing.T) {
	build := func() plog.Logs {
		ld := plog.NewLogs()
		ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		return ld
	}
	f := func(change func(plog.LogRecord)) {
		t.Helper()
		want, got := build(), build()
		require.Empty(t, canon.Diff(canon.Logs(want), canon.Logs(got)))
		change(got.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0))
		require.NotEmpty(t, canon.Diff(canon.Logs(want), canon.Logs(got)))
		require.NotEmpty(t, canon.DiffOrderedLogs(want, got))
	}
	f(func(r plog.LogRecord) { r.SetTimestamp(9) })
	f(func(r plog.LogRecord) { r.SetObservedTimestamp(9) })
	f(func(r plog.LogRecord) { r.SetSeverityNumber(99) })
	f(func(r plog.LogRecord) { r.SetSeverityText("x") })
	f(func(r plog.LogRecord) { r.SetEventName("x") })
	f(func(r plog.LogRecord) { r.SetDroppedAttributesCount(9) })
	f(func(r plog.LogRecord) { r.SetFlags(9) })
	f(func(r plog.LogRecord) { r.SetTraceID([16]byte{9}) })
	f(func(r plog.LogRecord) { r.SetSpanID([8]byte{9}) })
	f(func(r plog.LogRecord) { r.Attributes().PutEmpty("a") })
	f(func(r plog.LogRecord) { r.Body().SetStr("") })
	f(func(r plog.LogRecord) { r.Body().SetEmptyBytes() })
	f(func(r plog.LogRecord) { r.Body().SetEmptySlice() })
	f(func(r plog.LogRecord) { r.Body().SetEmptyMap() })
	f(func(r plog.LogRecord) { r.Body().SetEmptySlice().AppendEmpty().SetInt(0) })
	f(func(r plog.LogRecord) { r.Body().SetEmptyMap().PutEmptyMap("k").PutDouble("d", 0) })
}

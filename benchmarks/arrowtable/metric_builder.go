// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Metrics returns metrics as a record batch, to be released by the caller.
func (b *Builder) Metrics(md pmetric.Metrics) (arrow.RecordBatch, error) {
	b.begin()
	for _, rm := range md.ResourceMetrics().All() {
		b.resource(rm.Resource(), rm.SchemaUrl(), rm.ScopeMetrics().Len())
		for _, sm := range rm.ScopeMetrics().All() {
			b.scope(sm.Scope(), sm.SchemaUrl(), sm.Metrics().Len())
			for _, m := range sm.Metrics().All() {
				b.metric(m)
			}
		}
	}
	return b.batch()
}

func (b *Builder) metric(m pmetric.Metric) {
	var temporality pmetric.AggregationTemporality
	monotonic, points := false, 0
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		points = b.numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		temporality, monotonic = m.Sum().AggregationTemporality(), m.Sum().IsMonotonic()
		points = b.numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		temporality = m.Histogram().AggregationTemporality()
		points = b.histograms(m.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		temporality = m.ExponentialHistogram().AggregationTemporality()
		points = b.exponentials(m.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		points = b.summaries(m.Summary().DataPoints())
	}
	t := b.next(items)
	t.attributes(containerTexts, m.Metadata())
	t.word(metricName, m.Name())
	t.word(metricDescription, m.Description())
	t.word(metricUnit, m.Unit())
	t.u8(metricType, uint8(m.Type()))
	t.u8(metricTemporality, uint8(temporality))
	t.flag(metricMonotonic, monotonic)
	t.children(metricPoints, points)
}

// dataPoint has the methods that points of all types share.
type dataPoint interface {
	Attributes() pcommon.Map
	StartTimestamp() pcommon.Timestamp
	Timestamp() pcommon.Timestamp
	Flags() pmetric.DataPointFlags
}

func (b *Builder) point(p dataPoint, kind uint8, exemplars pmetric.ExemplarSlice) {
	t := b.next(points)
	t.attributes(itemTexts, p.Attributes())
	t.time(pointStart, p.StartTimestamp())
	t.time(pointTime, p.Timestamp())
	t.u32(pointFlags, uint32(p.Flags()))
	t.u8(pointKind, kind)
	t.few(pointExemplars, exemplars.Len())
	b.exemplars(exemplars)
}

func (b *Builder) numbers(points pmetric.NumberDataPointSlice) int {
	for _, p := range points.All() {
		b.point(p, uint8(p.ValueType()), p.Exemplars())
		switch p.ValueType() {
		case pmetric.NumberDataPointValueTypeInt:
			b.next(ints).i64(value, p.IntValue())
		case pmetric.NumberDataPointValueTypeDouble:
			b.next(doubles).f64(value, p.DoubleValue())
		}
	}
	return points.Len()
}

func (b *Builder) histograms(points pmetric.HistogramDataPointSlice) int {
	for _, p := range points.All() {
		t := b.next(histograms)
		t.u64(histogramCount, p.Count())
		t.optional(histogramSum, p.HasSum(), p.Sum())
		t.optional(histogramMin, p.HasMin(), p.Min())
		t.optional(histogramMax, p.HasMax(), p.Max())
		t.children(histogramBuckets, b.counts(p.BucketCounts()))
		t.children(histogramBounds, p.ExplicitBounds().Len())
		for _, v := range p.ExplicitBounds().All() {
			b.next(bounds).f64(value, v)
		}
		b.point(p, 0, p.Exemplars())
	}
	return points.Len()
}

func (b *Builder) counts(values pcommon.UInt64Slice) int {
	for _, v := range values.All() {
		b.next(counts).u64(value, v)
	}
	return values.Len()
}

func (b *Builder) exponentials(points pmetric.ExponentialHistogramDataPointSlice) int {
	for _, p := range points.All() {
		t := b.next(exponentials)
		t.u64(exponentialCount, p.Count())
		t.optional(exponentialSum, p.HasSum(), p.Sum())
		t.optional(exponentialMin, p.HasMin(), p.Min())
		t.optional(exponentialMax, p.HasMax(), p.Max())
		t.i32(exponentialScale, p.Scale())
		t.u64(exponentialZeroCount, p.ZeroCount())
		t.f64(exponentialZeroThreshold, p.ZeroThreshold())
		t.i32(exponentialPositiveOffset, p.Positive().Offset())
		t.children(exponentialPositive, b.counts(p.Positive().BucketCounts()))
		t.i32(exponentialNegativeOffset, p.Negative().Offset())
		t.children(exponentialNegative, b.counts(p.Negative().BucketCounts()))
		b.point(p, 0, p.Exemplars())
	}
	return points.Len()
}

func (b *Builder) summaries(points pmetric.SummaryDataPointSlice) int {
	none := pmetric.NewExemplarSlice()
	for _, p := range points.All() {
		t := b.next(summaries)
		t.u64(summaryCount, p.Count())
		t.f64(summarySum, p.Sum())
		t.children(summaryQuantiles, p.QuantileValues().Len())
		for _, v := range p.QuantileValues().All() {
			q := b.next(quantiles)
			q.f64(quantileQuantile, v.Quantile())
			q.f64(quantileValue, v.Value())
		}
		b.point(p, 0, none)
	}
	return points.Len()
}

func (b *Builder) exemplars(values pmetric.ExemplarSlice) {
	for _, e := range values.All() {
		t := b.next(exemplars)
		t.attributes(childTexts, e.FilteredAttributes())
		t.time(exemplarTime, e.Timestamp())
		t.u8(exemplarKind, uint8(e.ValueType()))
		t.traceID(exemplarTraceID, e.TraceID())
		t.spanID(exemplarSpanID, e.SpanID())
		switch e.ValueType() {
		case pmetric.ExemplarValueTypeInt:
			b.next(ints).i64(value, e.IntValue())
		case pmetric.ExemplarValueTypeDouble:
			b.next(doubles).f64(value, e.DoubleValue())
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
)

// Metrics builds pdata metrics. One of number, histogram, exponential and summary holds
// the points of the current metric.
type Metrics struct {
	Builder
	Features  features.Set
	Resources slab.Items[pmetric.ResourceMetricsSlice, pmetric.ResourceMetrics]
	Scopes    slab.Items[pmetric.ScopeMetricsSlice, pmetric.ScopeMetrics]

	typ         otelstef.MetricType
	number      pmetric.NumberDataPointSlice
	histogram   pmetric.HistogramDataPointSlice
	exponential pmetric.ExponentialHistogramDataPointSlice
	summary     pmetric.SummaryDataPointSlice

	metrics       slab.Items[pmetric.MetricSlice, pmetric.Metric]
	numbers       slab.Items[pmetric.NumberDataPointSlice, pmetric.NumberDataPoint]
	histograms    slab.Items[pmetric.HistogramDataPointSlice, pmetric.HistogramDataPoint]
	exponentials  slab.Items[pmetric.ExponentialHistogramDataPointSlice, pmetric.ExponentialHistogramDataPoint]
	summaries     slab.Items[pmetric.SummaryDataPointSlice, pmetric.SummaryDataPoint]
	quantiles     slab.Items[pmetric.SummaryDataPointValueAtQuantileSlice, pmetric.SummaryDataPointValueAtQuantile]
	exemplarSlabs slab.Structs[pmetric.ExemplarSlice]
	counts        slab.Numbers[pcommon.UInt64Slice, uint64]
	bounds        slab.Numbers[pcommon.Float64Slice, float64]
}

// EndBatch drops the references of the builder to the batch. If renew is set, later batches
// share no memory with this batch.
func (b *Metrics) EndBatch(renew bool) {
	b.Values.EndBatch()
	b.Reset()
	if renew {
		b.renew()
	}
}

func (b *Metrics) renew() {
	b.Values.Renew()
	b.Resources.Renew()
	b.Scopes.Renew()
	b.metrics.Renew()
	b.numbers.Renew()
	b.histograms.Renew()
	b.exponentials.Renew()
	b.summaries.Renew()
	b.quantiles.Renew()
	b.exemplarSlabs.Renew()
}

// Reset forgets the current metric.
func (b *Metrics) Reset() {
	b.typ = 0
	b.number, b.histogram = pmetric.NumberDataPointSlice{}, pmetric.HistogramDataPointSlice{}
	b.exponential, b.summary = pmetric.ExponentialHistogramDataPointSlice{}, pmetric.SummaryDataPointSlice{}
}

// Metric appends a metric without points to metrics, and reserves space for n points.
func (b *Metrics) Metric(metrics pmetric.MetricSlice, src *otelstef.Metric, n int) {
	dst := b.metrics.Append(metrics)
	dst.SetName(b.Text(src.Name()))
	dst.SetDescription(b.Text(src.Description()))
	dst.SetUnit(b.Text(src.Unit()))
	b.attributes(dst.Metadata(), src.Metadata())
	b.Spent += builtContainerBytes
	temporality := pmetric.AggregationTemporality(src.AggregationTemporality())
	b.typ = src.Type()
	switch b.typ {
	case otelstef.MetricTypeGauge:
		b.number = b.SetGauge(dst).DataPoints()
		b.numbers.Reserve(b.number, n)
	case otelstef.MetricTypeSum:
		sum := b.SetSum(dst)
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(src.Monotonic())
		b.number = sum.DataPoints()
		b.numbers.Reserve(b.number, n)
	case otelstef.MetricTypeHistogram:
		histogram := b.SetHistogram(dst)
		histogram.SetAggregationTemporality(temporality)
		b.histogram = histogram.DataPoints()
		b.histograms.Reserve(b.histogram, n)
	case otelstef.MetricTypeExpHistogram:
		histogram := dst.SetEmptyExponentialHistogram()
		histogram.SetAggregationTemporality(temporality)
		b.exponential = histogram.DataPoints()
		b.exponentials.Reserve(b.exponential, n)
	case otelstef.MetricTypeSummary:
		b.summary = dst.SetEmptySummary().DataPoints()
		b.summaries.Reserve(b.summary, n)
	}
}

// PointCount returns the number of points of the metric.
func (b *Metrics) PointCount() int {
	switch b.typ {
	case otelstef.MetricTypeHistogram:
		return b.histogram.Len()
	case otelstef.MetricTypeExpHistogram:
		return b.exponential.Len()
	case otelstef.MetricTypeSummary:
		return b.summary.Len()
	}
	return b.number.Len()
}

// DropLastPoint removes the last point of the metric.
func (b *Metrics) DropLastPoint() {
	switch b.typ {
	case otelstef.MetricTypeHistogram:
		DropLast(b.histogram.Len(), b.histogram.RemoveIf)
	case otelstef.MetricTypeExpHistogram:
		DropLast(b.exponential.Len(), b.exponential.RemoveIf)
	case otelstef.MetricTypeSummary:
		DropLast(b.summary.Len(), b.summary.RemoveIf)
	default:
		DropLast(b.number.Len(), b.number.RemoveIf)
	}
}

// builtPointBytes is the size of a pdata point without the values it refers to. Points are the
// smallest items.
const builtPointBytes = 192

// Point appends the point of a record, which is already checked.
func (b *Metrics) Point(rec *otelstef.Metrics) {
	b.Spent += builtPointBytes
	switch b.typ {
	case otelstef.MetricTypeGauge, otelstef.MetricTypeSum:
		b.numberPoint(b.numbers.Append(b.number), rec)
	case otelstef.MetricTypeHistogram:
		b.histogramPoint(b.histograms.Append(b.histogram), rec)
	case otelstef.MetricTypeExpHistogram:
		b.exponentialPoint(b.exponentials.Append(b.exponential), rec)
	case otelstef.MetricTypeSummary:
		b.summaryPoint(b.summaries.Append(b.summary), rec)
	}
}

func (b *Metrics) numberPoint(dst pmetric.NumberDataPoint, rec *otelstef.Metrics) {
	b.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	v := p.Value()
	switch v.Type() {
	case otelstef.PointValueTypeInt64:
		b.SetPointInt(dst, v.Int64())
	case otelstef.PointValueTypeFloat64:
		b.SetPointDouble(dst, v.Float64())
	}
	if flags := b.flags(p); flags != 0 {
		dst.SetFlags(flags)
	}
	if p.Exemplars().Len() > 0 {
		b.exemplars(dst.Exemplars(), p)
	}
}

// flags returns the flags of a point. If the schema has no flags, a missing value
// means "no recorded value".
//
// spec: #otlp-metrics
func (b *Metrics) flags(p *otelstef.Point) pmetric.DataPointFlags {
	if !b.Features.Flags && p.Value().Type() == otelstef.PointValueTypeNone {
		return pmetric.DefaultDataPointFlags.WithNoRecordedValue(true)
	}
	return pmetric.DataPointFlags(p.Flags())
}

func (b *Metrics) histogramPoint(dst pmetric.HistogramDataPoint, rec *otelstef.Metrics) {
	b.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(b.flags(p))
	if bounds := rec.Metric().HistogramBounds().Values(); len(bounds) > 0 {
		b.Spent += 8 * len(bounds)
		b.bounds.Set(dst.ExplicitBounds(), bounds)
	}
	if h := p.Value().Histogram(); h != nil {
		dst.SetCount(uint64(h.Count()))
		if h.HasSum() {
			dst.SetSum(h.Sum())
		}
		if h.HasMin() {
			dst.SetMin(h.Min())
		}
		if h.HasMax() {
			dst.SetMax(h.Max())
		}
		b.Spent += 8 * h.BucketCounts().Len()
		b.counts.Set(dst.BucketCounts(), h.BucketCounts().Values())
	}
	b.exemplars(dst.Exemplars(), p)
}

func (b *Metrics) exponentialPoint(dst pmetric.ExponentialHistogramDataPoint, rec *otelstef.Metrics) {
	b.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(b.flags(p))
	if h := p.Value().ExpHistogram(); h != nil {
		dst.SetCount(h.Count())
		if h.HasSum() {
			dst.SetSum(h.Sum())
		}
		if h.HasMin() {
			dst.SetMin(h.Min())
		}
		if h.HasMax() {
			dst.SetMax(h.Max())
		}
		dst.SetScale(int32(h.Scale()))
		dst.SetZeroCount(h.ZeroCount())
		dst.SetZeroThreshold(h.ZeroThreshold())
		b.buckets(dst.Positive(), h.PositiveBuckets())
		b.buckets(dst.Negative(), h.NegativeBuckets())
	}
	b.exemplars(dst.Exemplars(), p)
}

func (b *Metrics) buckets(dst pmetric.ExponentialHistogramDataPointBuckets, src *otelstef.ExpHistogramBuckets) {
	dst.SetOffset(int32(src.Offset()))
	b.Spent += 8 * src.BucketCounts().Len()
	b.counts.Set(dst.BucketCounts(), src.BucketCounts().Values())
}

func (b *Metrics) summaryPoint(dst pmetric.SummaryDataPoint, rec *otelstef.Metrics) {
	b.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(b.flags(p))
	s := p.Value().Summary()
	if s == nil {
		return
	}
	dst.SetCount(s.Count())
	dst.SetSum(s.Sum())
	n := s.QuantileValues().Len()
	b.Spent += builtValueBytes * n
	quantiles := dst.QuantileValues()
	b.quantiles.Reserve(quantiles, n)
	for i := range n {
		from, to := s.QuantileValues().At(i), b.quantiles.Append(quantiles)
		to.SetQuantile(from.Quantile())
		to.SetValue(from.Value())
	}
}

func (b *Metrics) exemplars(dst pmetric.ExemplarSlice, p *otelstef.Point) {
	list := p.Exemplars()
	n := list.Len()
	if n == 0 {
		return
	}
	b.Spent += 2 * builtValueBytes * n
	b.exemplarSlabs.Reserve(dst, n)
	for i := range n {
		from, to := list.At(i), dst.AppendEmpty()
		to.SetTimestamp(pcommon.Timestamp(from.Timestamp()))
		switch from.Value().Type() {
		case otelstef.ExemplarValueTypeInt64:
			b.SetExemplarInt(to, from.Value().Int64())
		case otelstef.ExemplarValueTypeFloat64:
			b.SetExemplarDouble(to, from.Value().Float64())
		}
		trace := traceID(from.TraceID())
		span := spanID(from.SpanID())
		to.SetTraceID(trace)
		to.SetSpanID(span)
		b.attributes(to.FilteredAttributes(), from.FilteredAttributes())
	}
}

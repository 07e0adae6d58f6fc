// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// builtPointBytes is what a point of pdata takes, without what it refers to.
const builtPointBytes = 192

// point appends the point of a record, which is checked.
func (d *MetricsDecoder) point(rec *otelstef.Metrics) {
	d.spent += builtPointBytes
	switch d.points.typ {
	case otelstef.MetricTypeGauge, otelstef.MetricTypeSum:
		d.numberPoint(d.points.number.AppendEmpty(), rec)
	case otelstef.MetricTypeHistogram:
		d.histogramPoint(d.points.histogram.AppendEmpty(), rec)
	case otelstef.MetricTypeExpHistogram:
		d.exponentialPoint(d.points.exponential.AppendEmpty(), rec)
	case otelstef.MetricTypeSummary:
		d.summaryPoint(d.points.summary.AppendEmpty(), rec)
	}
}

func (d *MetricsDecoder) numberPoint(dst pmetric.NumberDataPoint, rec *otelstef.Metrics) {
	d.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	v := p.Value()
	switch v.Type() {
	case otelstef.PointValueTypeInt64:
		dst.SetIntValue(v.Int64())
	case otelstef.PointValueTypeFloat64:
		dst.SetDoubleValue(v.Float64())
	}
	if flags := d.flags(p); flags != 0 {
		dst.SetFlags(flags)
	}
	if p.Exemplars().Len() > 0 {
		d.exemplars(dst.Exemplars(), p)
	}
}

// flags returns the flags of a point. Where the schema has none, a missing
// value stands for "no recorded value".
//
// spec: #otlp-metrics
func (d *MetricsDecoder) flags(p *otelstef.Point) pmetric.DataPointFlags {
	if !d.kept.Flags && p.Value().Type() == otelstef.PointValueTypeNone {
		return pmetric.DefaultDataPointFlags.WithNoRecordedValue(true)
	}
	return pmetric.DataPointFlags(p.Flags())
}

func (d *MetricsDecoder) histogramPoint(dst pmetric.HistogramDataPoint, rec *otelstef.Metrics) {
	d.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(d.flags(p))
	if bounds := rec.Metric().HistogramBounds().Values(); len(bounds) > 0 {
		d.spent += 8 * len(bounds)
		dst.ExplicitBounds().FromRaw(bounds)
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
		d.spent += 8 * h.BucketCounts().Len()
		dst.BucketCounts().FromRaw(h.BucketCounts().Values())
	}
	d.exemplars(dst.Exemplars(), p)
}

func (d *MetricsDecoder) exponentialPoint(dst pmetric.ExponentialHistogramDataPoint, rec *otelstef.Metrics) {
	d.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(d.flags(p))
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
		d.buckets(dst.Positive(), h.PositiveBuckets())
		d.buckets(dst.Negative(), h.NegativeBuckets())
	}
	d.exemplars(dst.Exemplars(), p)
}

func (b *builder) buckets(dst pmetric.ExponentialHistogramDataPointBuckets, src *otelstef.ExpHistogramBuckets) {
	dst.SetOffset(int32(src.Offset()))
	b.spent += 8 * src.BucketCounts().Len()
	dst.BucketCounts().FromRaw(src.BucketCounts().Values())
}

func (d *MetricsDecoder) summaryPoint(dst pmetric.SummaryDataPoint, rec *otelstef.Metrics) {
	d.attributes(dst.Attributes(), rec.Attributes())
	p := rec.Point()
	dst.SetStartTimestamp(pcommon.Timestamp(p.StartTimestamp()))
	dst.SetTimestamp(pcommon.Timestamp(p.Timestamp()))
	dst.SetFlags(d.flags(p))
	s := p.Value().Summary()
	if s == nil {
		return
	}
	dst.SetCount(s.Count())
	dst.SetSum(s.Sum())
	n := s.QuantileValues().Len()
	d.spent += builtValueBytes * n
	quantiles := dst.QuantileValues()
	quantiles.EnsureCapacity(n)
	for i := range n {
		from, to := s.QuantileValues().At(i), quantiles.AppendEmpty()
		to.SetQuantile(from.Quantile())
		to.SetValue(from.Value())
	}
}

func (b *builder) exemplars(dst pmetric.ExemplarSlice, p *otelstef.Point) {
	list := p.Exemplars()
	n := list.Len()
	if n == 0 {
		return
	}
	b.spent += 2 * builtValueBytes * n
	dst.EnsureCapacity(n)
	for i := range n {
		from, to := list.At(i), dst.AppendEmpty()
		to.SetTimestamp(pcommon.Timestamp(from.Timestamp()))
		switch from.Value().Type() {
		case otelstef.ExemplarValueTypeInt64:
			to.SetIntValue(from.Value().Int64())
		case otelstef.ExemplarValueTypeFloat64:
			to.SetDoubleValue(from.Value().Float64())
		}
		trace := traceID(from.TraceID())
		span := spanID(from.SpanID())
		to.SetTraceID(trace)
		to.SetSpanID(span)
		b.attributes(to.FilteredAttributes(), from.FilteredAttributes())
	}
}

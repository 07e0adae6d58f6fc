// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Metrics converts a record batch to metrics.
func Metrics(batch arrow.RecordBatch) (pmetric.Metrics, error) {
	md := pmetric.NewMetrics()
	r, err := newReader(batch)
	if err != nil {
		return md, err
	}
	for range r[resources].rows {
		rm := md.ResourceMetrics().AppendEmpty()
		scopes, err := r.resource(rm.Resource(), rm.SetSchemaUrl)
		if err != nil {
			return md, err
		}
		for range scopes {
			sm := rm.ScopeMetrics().AppendEmpty()
			items, err := r.scope(sm.Scope(), sm.SetSchemaUrl)
			if err != nil {
				return md, err
			}
			sm.Metrics().EnsureCapacity(items)
			for range items {
				if err := r.metric(sm.Metrics().AppendEmpty()); err != nil {
					return md, err
				}
			}
		}
	}
	return md, nil
}

func (r reader) metric(m pmetric.Metric) error {
	c, err := r.next(items)
	if err != nil {
		return err
	}
	m.SetName(c.word(metricName))
	m.SetDescription(c.word(metricDescription))
	m.SetUnit(c.word(metricUnit))
	if err := r.attributes(c, containerTexts, m.Metadata()); err != nil {
		return err
	}
	temporality := pmetric.AggregationTemporality(c.u8(metricTemporality))
	n := c.children(metricPoints)
	switch kind := pmetric.MetricType(c.u8(metricType)); kind {
	case pmetric.MetricTypeEmpty:
		return nil
	case pmetric.MetricTypeGauge:
		return r.numbers(n, m.SetEmptyGauge().DataPoints())
	case pmetric.MetricTypeSum:
		sum := m.SetEmptySum()
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(c.flag(metricMonotonic))
		return r.numbers(n, sum.DataPoints())
	case pmetric.MetricTypeHistogram:
		m.SetEmptyHistogram().SetAggregationTemporality(temporality)
		return r.histograms(n, m.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
		return r.exponentials(n, m.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		return r.summaries(n, m.SetEmptySummary().DataPoints())
	default:
		return fmt.Errorf("arrowtable: metric of type %d", kind)
	}
}

// settable has the setters that points of all types share.
type settable interface {
	SetStartTimestamp(pcommon.Timestamp)
	SetTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
	Attributes() pcommon.Map
}

// point reads the fields that points of all types share.
func (r reader) point(p settable, to pmetric.ExemplarSlice) (kind uint8, err error) {
	c, err := r.next(points)
	if err != nil {
		return 0, err
	}
	p.SetStartTimestamp(c.time(pointStart))
	p.SetTimestamp(c.time(pointTime))
	p.SetFlags(pmetric.DataPointFlags(c.u32(pointFlags)))
	kind = c.u8(pointKind)
	if err := r.attributes(c, itemTexts, p.Attributes()); err != nil {
		return kind, err
	}
	return kind, r.exemplars(c.few(pointExemplars), to)
}

// number reads a value of a kind. Points and exemplars have the same kinds.
func (r reader) number(kind uint8, whole func(int64), double func(float64)) error {
	switch pmetric.NumberDataPointValueType(kind) {
	case pmetric.NumberDataPointValueTypeInt:
		c, err := r.next(ints)
		if err != nil {
			return err
		}
		whole(c.i64(value))
	case pmetric.NumberDataPointValueTypeDouble:
		c, err := r.next(doubles)
		if err != nil {
			return err
		}
		double(c.f64(value))
	}
	return nil
}

func (r reader) numbers(n int, to pmetric.NumberDataPointSlice) error {
	to.EnsureCapacity(n)
	for range n {
		p := to.AppendEmpty()
		kind, err := r.point(p, p.Exemplars())
		if err != nil {
			return err
		}
		if err := r.number(kind, p.SetIntValue, p.SetDoubleValue); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) histograms(n int, to pmetric.HistogramDataPointSlice) error {
	to.EnsureCapacity(n)
	for range n {
		p := to.AppendEmpty()
		c, err := r.next(histograms)
		if err != nil {
			return err
		}
		p.SetCount(c.u64(histogramCount))
		c.optional(histogramSum, p.SetSum)
		c.optional(histogramMin, p.SetMin)
		c.optional(histogramMax, p.SetMax)
		if err := r.counts(c.children(histogramBuckets), p.BucketCounts()); err != nil {
			return err
		}
		p.ExplicitBounds().EnsureCapacity(c.children(histogramBounds))
		for range c.children(histogramBounds) {
			b, err := r.next(bounds)
			if err != nil {
				return err
			}
			p.ExplicitBounds().Append(b.f64(value))
		}
		if _, err := r.point(p, p.Exemplars()); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) counts(n int, to pcommon.UInt64Slice) error {
	to.EnsureCapacity(n)
	for range n {
		c, err := r.next(counts)
		if err != nil {
			return err
		}
		to.Append(c.u64(value))
	}
	return nil
}

func (r reader) exponentials(n int, to pmetric.ExponentialHistogramDataPointSlice) error {
	to.EnsureCapacity(n)
	for range n {
		p := to.AppendEmpty()
		c, err := r.next(exponentials)
		if err != nil {
			return err
		}
		p.SetCount(c.u64(exponentialCount))
		c.optional(exponentialSum, p.SetSum)
		c.optional(exponentialMin, p.SetMin)
		c.optional(exponentialMax, p.SetMax)
		p.SetScale(c.i32(exponentialScale))
		p.SetZeroCount(c.u64(exponentialZeroCount))
		p.SetZeroThreshold(c.f64(exponentialZeroThreshold))
		p.Positive().SetOffset(c.i32(exponentialPositiveOffset))
		p.Negative().SetOffset(c.i32(exponentialNegativeOffset))
		if err := r.counts(c.children(exponentialPositive), p.Positive().BucketCounts()); err != nil {
			return err
		}
		if err := r.counts(c.children(exponentialNegative), p.Negative().BucketCounts()); err != nil {
			return err
		}
		if _, err := r.point(p, p.Exemplars()); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) summaries(n int, to pmetric.SummaryDataPointSlice) error {
	none := pmetric.NewExemplarSlice()
	for range n {
		p := to.AppendEmpty()
		c, err := r.next(summaries)
		if err != nil {
			return err
		}
		p.SetCount(c.u64(summaryCount))
		p.SetSum(c.f64(summarySum))
		for range c.children(summaryQuantiles) {
			v, err := r.next(quantiles)
			if err != nil {
				return err
			}
			q := p.QuantileValues().AppendEmpty()
			q.SetQuantile(v.f64(quantileQuantile))
			q.SetValue(v.f64(quantileValue))
		}
		if _, err := r.point(p, none); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) exemplars(n int, to pmetric.ExemplarSlice) error {
	for range n {
		e := to.AppendEmpty()
		c, err := r.next(exemplars)
		if err != nil {
			return err
		}
		e.SetTimestamp(c.time(exemplarTime))
		e.SetTraceID(c.traceID(exemplarTraceID))
		e.SetSpanID(c.spanID(exemplarSpanID))
		if err := r.number(c.u8(exemplarKind), e.SetIntValue, e.SetDoubleValue); err != nil {
			return err
		}
		if err := r.attributes(c, childTexts, e.FilteredAttributes()); err != nil {
			return err
		}
	}
	return nil
}

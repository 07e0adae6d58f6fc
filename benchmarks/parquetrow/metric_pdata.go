// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Metrics converts rows to metrics. A container begins where its number
// changes.
func Metrics(rows []Point) (pmetric.Metrics, error) {
	md := pmetric.NewMetrics()
	var rm pmetric.ResourceMetrics
	var sm pmetric.ScopeMetrics
	var m pmetric.Metric
	for i := range rows {
		row := &rows[i]
		resource := i == 0 || row.Resource.ID != rows[i-1].Resource.ID
		scope := resource || row.Scope.ID != rows[i-1].Scope.ID
		metric := scope || row.Metric.ID != rows[i-1].Metric.ID
		if resource {
			rm = md.ResourceMetrics().AppendEmpty()
			rm.SetSchemaUrl(row.Resource.SchemaURL)
			if err := row.Resource.to(rm.Resource()); err != nil {
				return md, err
			}
		}
		if scope {
			sm = rm.ScopeMetrics().AppendEmpty()
			sm.SetSchemaUrl(row.Scope.SchemaURL)
			if err := row.Scope.to(sm.Scope()); err != nil {
				return md, err
			}
		}
		if metric {
			m = sm.Metrics().AppendEmpty()
			if err := row.Metric.to(m); err != nil {
				return md, err
			}
		}
		if err := row.to(m); err != nil {
			return md, err
		}
	}
	return md, nil
}

func (r *Metric) to(m pmetric.Metric) error {
	m.SetName(r.Name)
	m.SetDescription(r.Description)
	m.SetUnit(r.Unit)
	temporality := pmetric.AggregationTemporality(r.Temporality)
	switch pmetric.MetricType(r.Type) {
	case pmetric.MetricTypeGauge:
		m.SetEmptyGauge()
	case pmetric.MetricTypeSum:
		m.SetEmptySum().SetAggregationTemporality(temporality)
		m.Sum().SetIsMonotonic(r.Monotonic)
	case pmetric.MetricTypeHistogram:
		m.SetEmptyHistogram().SetAggregationTemporality(temporality)
	case pmetric.MetricTypeExponentialHistogram:
		m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
	case pmetric.MetricTypeSummary:
		m.SetEmptySummary()
	default:
		return fmt.Errorf("parquetrow: metric of type %d", r.Type)
	}
	return r.Metadata.to(m.Metadata())
}

// to appends the point of the row to its metric.
func (r *Point) to(m pmetric.Metric) error {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return r.number(m.Gauge().DataPoints().AppendEmpty())
	case pmetric.MetricTypeSum:
		return r.number(m.Sum().DataPoints().AppendEmpty())
	case pmetric.MetricTypeHistogram:
		return r.histogram(m.Histogram().DataPoints().AppendEmpty())
	case pmetric.MetricTypeExponentialHistogram:
		return r.exponential(m.ExponentialHistogram().DataPoints().AppendEmpty())
	default:
		return r.summary(m.Summary().DataPoints().AppendEmpty())
	}
}

// dataPoint has the methods that points of all types share.
type dataPoint interface {
	SetStartTimestamp(pcommon.Timestamp)
	SetTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
	Attributes() pcommon.Map
}

func (r *Point) frame(p dataPoint) error {
	p.SetStartTimestamp(pcommon.Timestamp(r.Start))
	p.SetTimestamp(pcommon.Timestamp(r.Time))
	p.SetFlags(pmetric.DataPointFlags(r.Flags))
	return r.Attributes.to(p.Attributes())
}

func (r *Point) number(p pmetric.NumberDataPoint) error {
	switch pmetric.NumberDataPointValueType(r.Kind) {
	case pmetric.NumberDataPointValueTypeInt:
		p.SetIntValue(r.Int)
	case pmetric.NumberDataPointValueTypeDouble:
		p.SetDoubleValue(deref(r.Double))
	}
	if err := r.frame(p); err != nil {
		return err
	}
	return toExemplars(r.Exemplars, p.Exemplars())
}

func (r *Point) histogram(p pmetric.HistogramDataPoint) error {
	p.SetCount(r.Count)
	set(r.Sum, p.SetSum)
	set(r.Min, p.SetMin)
	set(r.Max, p.SetMax)
	p.BucketCounts().FromRaw(r.BucketCounts)
	p.ExplicitBounds().FromRaw(r.Bounds)
	if err := r.frame(p); err != nil {
		return err
	}
	return toExemplars(r.Exemplars, p.Exemplars())
}

func set(v *float64, to func(float64)) {
	if v != nil {
		to(*v)
	}
}

func (r *Point) exponential(p pmetric.ExponentialHistogramDataPoint) error {
	p.SetCount(r.Count)
	set(r.Sum, p.SetSum)
	set(r.Min, p.SetMin)
	set(r.Max, p.SetMax)
	p.SetScale(r.Scale)
	p.SetZeroCount(r.ZeroCount)
	p.SetZeroThreshold(r.ZeroThreshold)
	p.Positive().SetOffset(r.Positive.Offset)
	p.Positive().BucketCounts().FromRaw(r.Positive.Counts)
	p.Negative().SetOffset(r.Negative.Offset)
	p.Negative().BucketCounts().FromRaw(r.Negative.Counts)
	if err := r.frame(p); err != nil {
		return err
	}
	return toExemplars(r.Exemplars, p.Exemplars())
}

func (r *Point) summary(p pmetric.SummaryDataPoint) error {
	p.SetCount(r.Count)
	set(r.Sum, p.SetSum)
	for _, q := range r.Quantiles {
		to := p.QuantileValues().AppendEmpty()
		to.SetQuantile(q.Quantile)
		to.SetValue(q.Value)
	}
	return r.frame(p)
}

func toExemplars(rows []Exemplar, to pmetric.ExemplarSlice) error {
	for i := range rows {
		e := to.AppendEmpty()
		e.SetTimestamp(pcommon.Timestamp(rows[i].Time))
		switch pmetric.ExemplarValueType(rows[i].Kind) {
		case pmetric.ExemplarValueTypeInt:
			e.SetIntValue(rows[i].Int)
		case pmetric.ExemplarValueTypeDouble:
			e.SetDoubleValue(deref(rows[i].Double))
		}
		e.SetTraceID(rows[i].TraceID)
		e.SetSpanID(rows[i].SpanID)
		if err := rows[i].Attributes.to(e.FilteredAttributes()); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelstef/stef/stef-go/otelstef"
)

type number interface{ int64 | float64 }

func sums[N number](e *Metrics, key metricKey, t metricdata.Temporality, monotonic bool, points []metricdata.DataPoint[N]) error {
	key.typ, key.monotonic = otelstef.MetricTypeSum, monotonic
	if !e.temporality(&key, t, len(points)) {
		return nil
	}
	return numbers(e, key, points)
}

func numbers[N number](e *Metrics, key metricKey, points []metricdata.DataPoint[N]) error {
	m := e.descriptors.find(key, nil)
	for _, x := range e.sorted(len(points), func(i int) *attribute.Set { return &points[i].Attributes }) {
		p := &points[x.index]
		err := e.write(&key, m, x.set, func() error {
			e.times(p.StartTime, p.Time)
			switch v := any(p.Value).(type) {
			case int64:
				e.dst.Value().SetInt64(v)
			case float64:
				e.dst.Value().SetFloat64(v)
			}
			return exemplars(e, p.Exemplars)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func histograms[N number](e *Metrics, key metricKey, t metricdata.Temporality, points []metricdata.HistogramDataPoint[N]) error {
	key.typ = otelstef.MetricTypeHistogram
	if !e.temporality(&key, t, len(points)) {
		return nil
	}
	for _, x := range e.sorted(len(points), func(i int) *attribute.Set { return &points[i].Attributes }) {
		p := &points[x.index]
		err := e.write(&key, e.descriptors.find(key, p.Bounds), x.set, func() error {
			e.times(p.StartTime, p.Time)
			h := e.dst.Value().SetHistogram()
			h.SetCount(int64(p.Count))
			h.SetSum(float64(p.Sum))
			least, ok := p.Min.Value()
			h.SetOptionalMin(float64(least), ok)
			most, ok := p.Max.Value()
			h.SetOptionalMax(float64(most), ok)
			if err := e.take(bucketBytes * len(p.BucketCounts)); err != nil {
				return err
			}
			h.BucketCounts().SetValues(p.BucketCounts)
			return exemplars(e, p.Exemplars)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func exponentials[N number](e *Metrics, key metricKey, t metricdata.Temporality, points []metricdata.ExponentialHistogramDataPoint[N]) error {
	key.typ = otelstef.MetricTypeExpHistogram
	if !e.temporality(&key, t, len(points)) {
		return nil
	}
	m := e.descriptors.find(key, nil)
	for _, x := range e.sorted(len(points), func(i int) *attribute.Set { return &points[i].Attributes }) {
		p := &points[x.index]
		err := e.write(&key, m, x.set, func() error {
			e.times(p.StartTime, p.Time)
			h := e.dst.Value().SetExpHistogram()
			h.SetCount(p.Count)
			h.SetSum(float64(p.Sum))
			least, ok := p.Min.Value()
			h.SetOptionalMin(float64(least), ok)
			most, ok := p.Max.Value()
			h.SetOptionalMax(float64(most), ok)
			h.SetScale(int64(p.Scale))
			h.SetZeroCount(p.ZeroCount)
			h.SetZeroThreshold(p.ZeroThreshold)
			if err := e.take(bucketBytes * (len(p.PositiveBucket.Counts) + len(p.NegativeBucket.Counts))); err != nil {
				return err
			}
			buckets(h.PositiveBuckets(), p.PositiveBucket)
			buckets(h.NegativeBuckets(), p.NegativeBucket)
			return exemplars(e, p.Exemplars)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func buckets(dst *otelstef.ExpHistogramBuckets, src metricdata.ExponentialBucket) {
	dst.SetOffset(int64(src.Offset))
	dst.BucketCounts().SetValues(src.Counts)
}

func summaries(e *Metrics, key metricKey, points []metricdata.SummaryDataPoint) error {
	m := e.descriptors.find(key, nil)
	for _, x := range e.sorted(len(points), func(i int) *attribute.Set { return &points[i].Attributes }) {
		p := &points[x.index]
		err := e.write(&key, m, x.set, func() error {
			e.times(p.StartTime, p.Time)
			s := e.dst.Value().SetSummary()
			s.SetCount(p.Count)
			s.SetSum(p.Sum)
			if err := e.take(valueBytes * len(p.QuantileValues)); err != nil {
				return err
			}
			s.QuantileValues().SetLen(len(p.QuantileValues))
			for i, q := range p.QuantileValues {
				s.QuantileValues().At(i).SetQuantile(q.Quantile)
				s.QuantileValues().At(i).SetValue(q.Value)
			}
			e.dst.Exemplars().SetLen(0)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func exemplars[N number](e *Metrics, src []metricdata.Exemplar[N]) error {
	list := e.dst.Exemplars()
	if len(src)|list.Len() == 0 {
		return nil
	}
	if err := e.take(partBytes * len(src)); err != nil {
		return err
	}
	list.SetLen(len(src))
	for i := range src {
		from, to := &src[i], list.At(i)
		to.SetTimestamp(unixNano(from.Time))
		switch v := any(from.Value).(type) {
		case int64:
			to.Value().SetInt64(v)
		case float64:
			to.Value().SetFloat64(v)
		}
		to.SetTraceID(e.exemplarID(from.TraceID, 16))
		to.SetSpanID(e.exemplarID(from.SpanID, 8))
		if err := e.attributes(to.FilteredAttributes(), from.FilteredAttributes); err != nil {
			return fmt.Errorf("exemplar %d: %w", i, err)
		}
	}
	return nil
}

var unset [16]byte

// exemplarID encodes an id of n bytes for an exemplar. Ids of other lengths, which the
// SDK does not create, count as unset.
//
// spec: #otlp-common
func (e *Metrics) exemplarID(id []byte, n int) []byte {
	if len(id) == n && string(id) != string(unset[:n]) {
		return id
	}
	if e.fullIDs {
		return unset[:n]
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Metrics returns metrics of all kinds. Each metric has at most the given number of points, and
// at least one, because STEF has no records for metrics without points.
func (r *Random) Metrics(most int) *metricdata.ResourceMetrics {
	rm := &metricdata.ResourceMetrics{Resource: pick(r, r.resources[1:])}
	for range r.IntN(4) {
		sm := metricdata.ScopeMetrics{Scope: pick(r, r.scopes)}
		for range r.IntN(6) {
			sm.Metrics = append(sm.Metrics, metricdata.Metrics{
				Name: r.text(), Description: r.text(), Unit: r.text(), Data: r.data(most),
			})
		}
		rm.ScopeMetrics = append(rm.ScopeMetrics, sm)
	}
	return rm
}

func (r *Random) data(most int) metricdata.Aggregation {
	temporality := pick(r, []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality})
	switch r.IntN(9) {
	case 0:
		return metricdata.Gauge[int64]{DataPoints: numbers(r, most, r.integer)}
	case 1:
		return metricdata.Gauge[float64]{DataPoints: numbers(r, most, r.float)}
	case 2:
		return metricdata.Sum[int64]{DataPoints: numbers(r, most, r.integer), Temporality: temporality, IsMonotonic: r.one(2)}
	case 3:
		return metricdata.Sum[float64]{DataPoints: numbers(r, most, r.float), Temporality: temporality, IsMonotonic: r.one(2)}
	case 4:
		return metricdata.Histogram[int64]{DataPoints: histograms(r, most, r.integer), Temporality: temporality}
	case 5:
		return metricdata.Histogram[float64]{DataPoints: histograms(r, most, r.float), Temporality: temporality}
	case 6:
		return metricdata.ExponentialHistogram[int64]{DataPoints: exponentials(r, most, r.integer), Temporality: temporality}
	case 7:
		return metricdata.ExponentialHistogram[float64]{DataPoints: exponentials(r, most, r.float), Temporality: temporality}
	}
	points := make([]metricdata.SummaryDataPoint, 1+r.IntN(most))
	for i := range points {
		points[i] = metricdata.SummaryDataPoint{
			Attributes: r.set(), StartTime: r.time(), Time: r.time(), Count: r.Uint64(), Sum: r.float(),
			QuantileValues: list(r, func() metricdata.QuantileValue {
				return metricdata.QuantileValue{Quantile: r.Float64(), Value: r.float()}
			}),
		}
	}
	return metricdata.Summary{DataPoints: points}
}

func (r *Random) set() attribute.Set { return attribute.NewSet(r.attributes(3)...) }

type number interface{ int64 | float64 }

func numbers[N number](r *Random, most int, value func() N) []metricdata.DataPoint[N] {
	points := make([]metricdata.DataPoint[N], 1+r.IntN(most))
	for i := range points {
		points[i] = metricdata.DataPoint[N]{
			Attributes: r.set(), StartTime: r.time(), Time: r.time(), Value: value(), Exemplars: exemplars(r, value),
		}
	}
	return points
}

func exemplars[N number](r *Random, value func() N) []metricdata.Exemplar[N] {
	if r.one(2) {
		return nil
	}
	return list(r, func() metricdata.Exemplar[N] {
		x := metricdata.Exemplar[N]{FilteredAttributes: r.attributes(3), Time: r.time(), Value: value()}
		if r.one(2) {
			id, span := r.traceID(), r.spanID()
			x.TraceID, x.SpanID = id[:], span[:]
		}
		return x
	})
}

func extrema[N number](r *Random, value func() N) metricdata.Extrema[N] {
	if r.one(2) {
		return metricdata.Extrema[N]{}
	}
	return metricdata.NewExtrema(value())
}

func (r *Random) uint() uint64 { return pick(r, []uint64{0, 1, 100, math.MaxUint64, r.Uint64()}) }

func histograms[N number](r *Random, most int, value func() N) []metricdata.HistogramDataPoint[N] {
	points := make([]metricdata.HistogramDataPoint[N], 1+r.IntN(most))
	bounds := list(r, r.float)
	for i := range points {
		if r.one(4) {
			bounds = list(r, r.float)
		}
		points[i] = metricdata.HistogramDataPoint[N]{
			Attributes: r.set(), StartTime: r.time(), Time: r.time(), Count: r.uint(), Sum: value(),
			Bounds: bounds, BucketCounts: list(r, r.uint), Min: extrema(r, value), Max: extrema(r, value),
			Exemplars: exemplars(r, value),
		}
	}
	return points
}

func exponentials[N number](r *Random, most int, value func() N) []metricdata.ExponentialHistogramDataPoint[N] {
	points := make([]metricdata.ExponentialHistogramDataPoint[N], 1+r.IntN(most))
	bucket := func() metricdata.ExponentialBucket {
		return metricdata.ExponentialBucket{Offset: int32(r.IntN(100) - 50), Counts: list(r, r.uint)}
	}
	for i := range points {
		points[i] = metricdata.ExponentialHistogramDataPoint[N]{
			Attributes: r.set(), StartTime: r.time(), Time: r.time(), Count: r.uint(), Sum: value(),
			Scale: int32(r.IntN(30) - 10), ZeroCount: r.uint(), ZeroThreshold: r.Float64(),
			PositiveBucket: bucket(), NegativeBucket: bucket(),
			Min: extrema(r, value), Max: extrema(r, value), Exemplars: exemplars(r, value),
		}
	}
	return points
}

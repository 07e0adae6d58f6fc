// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"fmt"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Metrics returns the data points of all mds together.
func (o Options) Metrics(mds ...pmetric.Metrics) *Items {
	return newItems(func(yield func([]byte) bool) { o.eachPoint(mds, yield) })
}

// eachPoint yields the text of each data point. The lines of a container are written
// once, and stay in the buffer for all its data points.
func (o Options) eachPoint(mds []pmetric.Metrics, yield func([]byte) bool) {
	t := text{Options: o}
	for _, md := range mds {
		for _, rm := range md.ResourceMetrics().All() {
			t.buf = t.buf[:0]
			t.resource(rm.Resource(), rm.SchemaUrl())
			inResource := len(t.buf)
			for _, sm := range rm.ScopeMetrics().All() {
				t.buf = t.buf[:inResource]
				t.scope(sm.Scope(), sm.SchemaUrl())
				inScope := len(t.buf)
				for _, m := range sm.Metrics().All() {
					t.buf = t.buf[:inScope]
					t.descriptor(m)
					if !t.points(m, yield) {
						return
					}
				}
			}
		}
	}
}

func (t *text) descriptor(m pmetric.Metric) {
	t.quoted("metric.name", m.Name())
	t.quoted("metric.description", m.Description())
	t.quoted("metric.unit", m.Unit())
	t.attributes("metric.metadata", m.Metadata())
	switch m.Type() {
	case pmetric.MetricTypeSum:
		t.line("metric.type", "%s %s monotonic %t", m.Type(), temporality(m.Sum().AggregationTemporality()), m.Sum().IsMonotonic())
	case pmetric.MetricTypeHistogram:
		t.line("metric.type", "%s %s", m.Type(), temporality(m.Histogram().AggregationTemporality()))
	case pmetric.MetricTypeExponentialHistogram:
		t.line("metric.type", "%s %s", m.Type(), temporality(m.ExponentialHistogram().AggregationTemporality()))
	default:
		t.line("metric.type", "%s", m.Type())
	}
}

// temporality names a temporality. It writes values without a name in pdata as
// numbers, so that such values differ from each other.
func temporality(v pmetric.AggregationTemporality) string {
	if name := v.String(); name != "" {
		return name
	}
	return strconv.Itoa(int(v))
}

// points yields the points of a metric after the lines of its descriptor.
func (t *text) points(m pmetric.Metric, yield func([]byte) bool) bool {
	inMetric := len(t.buf)
	emit := func() bool {
		ok := yield(t.buf)
		t.buf = t.buf[:inMetric]
		return ok
	}
	ok := true
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		ok = t.numbers(m.Gauge().DataPoints(), emit)
	case pmetric.MetricTypeSum:
		ok = t.numbers(m.Sum().DataPoints(), emit)
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			t.histogram(p)
			if ok = emit(); !ok {
				break
			}
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			t.exponential(p)
			if ok = emit(); !ok {
				break
			}
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			t.summary(p)
			if ok = emit(); !ok {
				break
			}
		}
	}
	return ok
}

func (t *text) numbers(ps pmetric.NumberDataPointSlice, emit func() bool) bool {
	for _, p := range ps.All() {
		t.times(uint64(p.StartTimestamp()), uint64(p.Timestamp()), p.Flags())
		t.attributes("point", p.Attributes())
		switch p.ValueType() {
		case pmetric.NumberDataPointValueTypeInt:
			t.line("point.value", "%d", p.IntValue())
		case pmetric.NumberDataPointValueTypeDouble:
			t.line("point.value", "%s", floatText(p.DoubleValue()))
		default:
			t.line("point.value", "empty")
		}
		t.exemplars(p.Exemplars())
		if !emit() {
			return false
		}
	}
	return true
}

func (t *text) histogram(p pmetric.HistogramDataPoint) {
	t.times(uint64(p.StartTimestamp()), uint64(p.Timestamp()), p.Flags())
	t.attributes("point", p.Attributes())
	t.integer("point.count", p.Count())
	t.line("point.sum", "%s", optional(p.HasSum(), p.Sum()))
	t.line("point.min", "%s", optional(p.HasMin(), p.Min()))
	t.line("point.max", "%s", optional(p.HasMax(), p.Max()))
	t.counts("point.bucket_counts", p.BucketCounts())
	t.floats("point.explicit_bounds", p.ExplicitBounds())
	t.exemplars(p.Exemplars())
}

func (t *text) exponential(p pmetric.ExponentialHistogramDataPoint) {
	t.times(uint64(p.StartTimestamp()), uint64(p.Timestamp()), p.Flags())
	t.attributes("point", p.Attributes())
	t.integer("point.count", p.Count())
	t.line("point.sum", "%s", optional(p.HasSum(), p.Sum()))
	t.line("point.min", "%s", optional(p.HasMin(), p.Min()))
	t.line("point.max", "%s", optional(p.HasMax(), p.Max()))
	t.line("point.scale", "%d", p.Scale())
	t.line("point.zero", "%d below %s", p.ZeroCount(), floatText(p.ZeroThreshold()))
	t.line("point.positive", "from %d: %d", p.Positive().Offset(), p.Positive().BucketCounts().AsRaw())
	t.line("point.negative", "from %d: %d", p.Negative().Offset(), p.Negative().BucketCounts().AsRaw())
	t.exemplars(p.Exemplars())
}

func (t *text) summary(p pmetric.SummaryDataPoint) {
	t.times(uint64(p.StartTimestamp()), uint64(p.Timestamp()), p.Flags())
	t.attributes("point", p.Attributes())
	t.integer("point.count", p.Count())
	t.line("point.sum", "%s", floatText(p.Sum()))
	for i, q := range p.QuantileValues().All() {
		t.line(fmt.Sprintf("point.quantile[%d]", i), "%s = %s", floatText(q.Quantile()), floatText(q.Value()))
	}
}

func (t *text) times(start, time uint64, flags pmetric.DataPointFlags) {
	t.integer("point.start_time", start)
	t.integer("point.time", time)
	t.line("point.flags", "%#x", uint32(flags))
}

func (t *text) exemplars(es pmetric.ExemplarSlice) {
	for i, e := range es.All() {
		path := fmt.Sprintf("exemplar[%d]", i)
		value := "empty"
		switch e.ValueType() {
		case pmetric.ExemplarValueTypeInt:
			value = fmt.Sprint(e.IntValue())
		case pmetric.ExemplarValueTypeDouble:
			value = floatText(e.DoubleValue())
		}
		t.line(path, "%s at %d trace %q span %q", value, uint64(e.Timestamp()), e.TraceID(), e.SpanID())
		t.attributes(path, e.FilteredAttributes())
	}
}

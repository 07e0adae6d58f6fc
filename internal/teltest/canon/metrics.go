// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"fmt"
	"iter"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/otlpfile"
)

var metrics = tree[pmetric.Metrics, pmetric.ResourceMetrics, pmetric.ScopeMetrics, pmetric.Metric]{
	resources: func(b pmetric.Metrics) iter.Seq2[int, pmetric.ResourceMetrics] { return b.ResourceMetrics().All() },
	scopes:    func(r pmetric.ResourceMetrics) iter.Seq2[int, pmetric.ScopeMetrics] { return r.ScopeMetrics().All() },
	items: func(s pmetric.ScopeMetrics) iter.Seq2[int, pmetric.Metric] {
		return func(yield func(int, pmetric.Metric) bool) {
			for i, m := range s.Metrics().All() {
				if otlpfile.Points(m) > 0 && !yield(i, m) {
					return
				}
			}
		}
	},
	write: func(t *text, m pmetric.Metric, yield func([]byte) bool) bool {
		t.descriptor(m)
		return t.points(m, yield)
	},
	addResource: func(b pmetric.Metrics) pmetric.ResourceMetrics { return b.ResourceMetrics().AppendEmpty() },
	addScope:    func(r pmetric.ResourceMetrics) pmetric.ScopeMetrics { return r.ScopeMetrics().AppendEmpty() },
	addItem: func(o Options, s pmetric.ScopeMetrics, m pmetric.Metric) {
		c := s.Metrics().AppendEmpty()
		m.CopyTo(c)
		o.sortMetric(c)
	},
}

// Metrics returns the data points of all mds together.
func (o Options) Metrics(mds ...pmetric.Metrics) *Items { return itemsOf(&metrics, o, mds) }

// MergeMetrics joins all mds, in order. It merges adjacent resources, scopes and
// metrics of equal content, and drops containers without points.
func (o Options) MergeMetrics(mds ...pmetric.Metrics) pmetric.Metrics {
	out := metrics.merge(o, pmetric.NewMetrics(), mds)
	for _, rm := range out.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			var last container
			var to pmetric.Metric
			sm.Metrics().RemoveIf(func(m pmetric.Metric) bool {
				if last.same(o.content(func(t *text) { t.descriptor(m) })) {
					appendPoints(m, to)
					return true
				}
				to = m
				return false
			})
		}
	}
	return out
}

// appendPoints moves the points of a metric to another metric of the same type.
func appendPoints(from, to pmetric.Metric) {
	switch from.Type() {
	case pmetric.MetricTypeGauge:
		from.Gauge().DataPoints().MoveAndAppendTo(to.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		from.Sum().DataPoints().MoveAndAppendTo(to.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		from.Histogram().DataPoints().MoveAndAppendTo(to.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		from.ExponentialHistogram().DataPoints().MoveAndAppendTo(to.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		from.Summary().DataPoints().MoveAndAppendTo(to.Summary().DataPoints())
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
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return eachOf(m.Gauge().DataPoints().All(), t.number, emit)
	case pmetric.MetricTypeSum:
		return eachOf(m.Sum().DataPoints().All(), t.number, emit)
	case pmetric.MetricTypeHistogram:
		return eachOf(m.Histogram().DataPoints().All(), t.histogram, emit)
	case pmetric.MetricTypeExponentialHistogram:
		return eachOf(m.ExponentialHistogram().DataPoints().All(), t.exponential, emit)
	case pmetric.MetricTypeSummary:
		return eachOf(m.Summary().DataPoints().All(), t.summary, emit)
	}
	return true
}

func eachOf[P any](points iter.Seq2[int, P], write func(P), emit func() bool) bool {
	for _, p := range points {
		write(p)
		if !emit() {
			return false
		}
	}
	return true
}

func (t *text) number(p pmetric.NumberDataPoint) {
	t.point(p)
	switch p.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		t.line("point.value", "%d", p.IntValue())
	case pmetric.NumberDataPointValueTypeDouble:
		t.line("point.value", "%s", floatText(p.DoubleValue()))
	default:
		t.line("point.value", "empty")
	}
	t.exemplars(p.Exemplars())
}

func (t *text) histogram(p pmetric.HistogramDataPoint) {
	t.point(p)
	t.integer("point.count", p.Count())
	t.line("point.sum", "%s", optional(p.HasSum(), p.Sum()))
	t.line("point.min", "%s", optional(p.HasMin(), p.Min()))
	t.line("point.max", "%s", optional(p.HasMax(), p.Max()))
	list(t, "point.bucket_counts", p.BucketCounts().All(), appendCount)
	list(t, "point.explicit_bounds", p.ExplicitBounds().All(), appendFloat)
	t.exemplars(p.Exemplars())
}

func (t *text) exponential(p pmetric.ExponentialHistogramDataPoint) {
	t.point(p)
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
	t.point(p)
	t.integer("point.count", p.Count())
	t.line("point.sum", "%s", floatText(p.Sum()))
	for i, q := range p.QuantileValues().All() {
		t.line(fmt.Sprintf("point.quantile[%d]", i), "%s = %s", floatText(q.Quantile()), floatText(q.Value()))
	}
}

// point writes the fields that all types of points have.
func (t *text) point(p interface {
	StartTimestamp() pcommon.Timestamp
	Timestamp() pcommon.Timestamp
	Flags() pmetric.DataPointFlags
	Attributes() pcommon.Map
}) {
	t.integer("point.start_time", uint64(p.StartTimestamp()))
	t.integer("point.time", uint64(p.Timestamp()))
	t.line("point.flags", "%#x", uint32(p.Flags()))
	t.attributes("point", p.Attributes())
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// ErrUnknown means that a metric has an aggregation or a temporality that this package
// does not know.
var ErrUnknown = errors.New("unknown kind of metric")

// Metrics writes metrics to a stream, one record for each point.
type Metrics struct {
	containers
	copier
	descriptors descriptors
	sets        sets
	w           *otelstef.MetricsWriter
	rec         *otelstef.Metrics
	dst         *otelstef.Point
	fullIDs     bool // true for the published schema, where ids of exemplars are never empty
	order       []pointKey
	omitted     omitted
}

// NewMetrics returns an encoder that writes to w. Nothing else may write to w.
func NewMetrics(w *otelstef.MetricsWriter) *Metrics {
	e := &Metrics{w: w, rec: w.Record(), fullIDs: w.Fields().Point&otelstef.PointFieldFlags == 0}
	e.dst = e.rec.Point()
	e.containers.init()
	e.descriptors.init()
	e.sets.init()
	return e
}

// Encode writes the points of rm. An *OmittedError reports omitted points. After any other
// error, neither the encoder nor the writer can continue.
func (e *Metrics) Encode(rm *metricdata.ResourceMetrics) error {
	e.omitted = omitted{}
	resource := e.enterResource(rm.Resource)
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		scope := e.enterScope(sm.Scope)
		if err := cmp.Or(resource.err, scope.err); err != nil {
			e.omitted.add(Points(sm.Metrics), err)
			continue
		}
		e.rec.SetResource(resource.value)
		e.rec.SetScope(scope.value)
		for j := range sm.Metrics {
			if err := e.metric(&sm.Metrics[j]); err != nil {
				return err
			}
		}
	}
	return e.omitted.err()
}

func (e *Metrics) metric(m *metricdata.Metrics) error {
	key := metricKey{name: m.Name, description: m.Description, unit: m.Unit}
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		key.typ = otelstef.MetricTypeGauge
		return numbers(e, key, data.DataPoints)
	case metricdata.Gauge[float64]:
		key.typ = otelstef.MetricTypeGauge
		return numbers(e, key, data.DataPoints)
	case metricdata.Sum[int64]:
		return sums(e, key, data.Temporality, data.IsMonotonic, data.DataPoints)
	case metricdata.Sum[float64]:
		return sums(e, key, data.Temporality, data.IsMonotonic, data.DataPoints)
	case metricdata.Histogram[int64]:
		return histograms(e, key, data.Temporality, data.DataPoints)
	case metricdata.Histogram[float64]:
		return histograms(e, key, data.Temporality, data.DataPoints)
	case metricdata.ExponentialHistogram[int64]:
		return exponentials(e, key, data.Temporality, data.DataPoints)
	case metricdata.ExponentialHistogram[float64]:
		return exponentials(e, key, data.Temporality, data.DataPoints)
	case metricdata.Summary:
		key.typ = otelstef.MetricTypeSummary
		return summaries(e, key, data.DataPoints)
	}
	e.omitted.add(1, fmt.Errorf("%w: metric %q has the aggregation %T", ErrUnknown, truncate(m.Name), m.Data))
	return nil
}

// temporality sets the temporality of a metric with n points. It reports false if the
// temporality is unknown.
func (e *Metrics) temporality(key *metricKey, t metricdata.Temporality, n int) bool {
	switch t {
	case metricdata.DeltaTemporality:
		key.temporality = otelstef.AggregationTemporalityDelta
	case metricdata.CumulativeTemporality:
		key.temporality = otelstef.AggregationTemporalityCumulative
	default:
		e.omitted.add(n, fmt.Errorf("%w: metric %q has the temporality %v", ErrUnknown, truncate(key.name), t))
		return false
	}
	return true
}

type pointKey struct {
	set   *setEntry
	index int
}

// sorted returns the points of a metric in the order in which their attributes first
// appeared in the stream. The SDK delivers points in any order; the same order in each
// batch saves bytes and time.
func (e *Metrics) sorted(n int, at func(i int) *attribute.Set) []pointKey {
	e.order = slices.Grow(e.order[:0], n)[:n]
	inOrder := true
	for i := range e.order {
		e.order[i] = pointKey{e.sets.find(at(i)), i}
		inOrder = inOrder && (i == 0 || e.order[i-1].set.order <= e.order[i].set.order)
	}
	if !inOrder {
		slices.SortFunc(e.order, func(a, b pointKey) int {
			return cmp.Or(cmp.Compare(a.set.order, b.set.order), cmp.Compare(a.index, b.index))
		})
	}
	return e.order
}

func (e *Metrics) write(key *metricKey, m *variant, set *setEntry, fill func() error) error {
	err := m.err
	if err == nil {
		e.rec.SetMetric(m.value)
		e.begin()
		err = e.attributes(e.rec.Attributes(), set.pairs)
	}
	if err == nil {
		err = fill()
	}
	if err == nil {
		err = e.w.Write()
	}
	if err != nil && errors.Is(err, stef.ErrLimit) {
		e.omitted.add(1, fmt.Errorf("metric %q: %w", truncate(key.name), err))
		return nil
	}
	return err
}

func (e *Metrics) times(start, now time.Time) {
	e.dst.SetStartTimestamp(unixNano(start))
	e.dst.SetTimestamp(unixNano(now))
}

// Points returns the number of points of metrics. A metric of an unknown kind counts as 1.
func Points(metrics []metricdata.Metrics) int {
	n := 0
	for i := range metrics {
		n += pointsOf(metrics[i].Data)
	}
	return n
}

func pointsOf(data metricdata.Aggregation) int {
	switch x := data.(type) {
	case metricdata.Gauge[int64]:
		return len(x.DataPoints)
	case metricdata.Gauge[float64]:
		return len(x.DataPoints)
	case metricdata.Sum[int64]:
		return len(x.DataPoints)
	case metricdata.Sum[float64]:
		return len(x.DataPoints)
	case metricdata.Histogram[int64]:
		return len(x.DataPoints)
	case metricdata.Histogram[float64]:
		return len(x.DataPoints)
	case metricdata.ExponentialHistogram[int64]:
		return len(x.DataPoints)
	case metricdata.ExponentialHistogram[float64]:
		return len(x.DataPoints)
	case metricdata.Summary:
		return len(x.DataPoints)
	}
	return 1
}

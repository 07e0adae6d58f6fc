// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Batches returns the content of the set in batches of n metrics, spans or log
// records each, in order; the last batch may be smaller. If a batch ends within a container, the
// next batch has this container, too.
func (s *Set) Batches(n int) []otlpfile.Batch { return cut(s.Signal, s.Parts, n, false) }

// ItemBatches is like Batches, but counts data points of metrics, as the batch
// processor of the Collector does.
func (s *Set) ItemBatches(n int) []otlpfile.Batch { return cut(s.Signal, s.Parts, n, true) }

func cut(signal otlpfile.Signal, parts []otlpfile.Batch, n int, points bool) []otlpfile.Batch {
	c := &cutter{signal: signal, most: n, points: points}
	for _, part := range parts {
		switch signal {
		case otlpfile.Metrics:
			for _, rm := range part.Metrics.ResourceMetrics().All() {
				c.metrics(rm)
			}
		case otlpfile.Traces:
			for _, rs := range part.Traces.ResourceSpans().All() {
				c.spans(rs)
			}
		case otlpfile.Logs:
			for _, rl := range part.Logs.ResourceLogs().All() {
				c.logs(rl)
			}
		}
	}
	return c.batches
}

// Head returns the beginning of the set: about n metrics, spans or log records
// in the same parts. The last part may be cut.
func (s *Set) Head(n int) *Set {
	head := &Set{Ref: s.Ref}
	for _, part := range s.Parts {
		if units := Units(part); units > n {
			part = (&Set{Ref: s.Ref, Parts: []otlpfile.Batch{part}}).Batches(max(1, n))[0]
		}
		head.Parts = append(head.Parts, part)
		head.Items += part.Items()
		if n -= Units(part); n <= 0 {
			break
		}
	}
	return head
}

// HeadItems returns the first n data points, spans or log records of the set, in the
// same parts. The last part may be cut.
func (s *Set) HeadItems(n int) *Set {
	head := &Set{Ref: s.Ref}
	for _, part := range s.Parts {
		if n <= 0 {
			break
		}
		if part.Items() > n {
			part = cut(s.Signal, []otlpfile.Batch{part}, n, true)[0]
		}
		n -= part.Items()
		head.Parts = append(head.Parts, part)
		head.Items += part.Items()
	}
	return head
}

type cutter struct {
	signal  otlpfile.Signal
	most    int
	points  bool // count data points, not metrics
	batches []otlpfile.Batch
	count   int // number of items in the last batch
}

// next reserves space for one more item and reports whether this item begins a
// batch.
func (c *cutter) next() (fresh bool) {
	if len(c.batches) == 0 || c.count == c.most {
		c.batches = append(c.batches, New(c.signal))
		c.count = 0
		fresh = true
	}
	c.count++
	return fresh
}

func (c *cutter) last() otlpfile.Batch { return c.batches[len(c.batches)-1] }

func (c *cutter) metrics(rm pmetric.ResourceMetrics) {
	var resource pmetric.ResourceMetrics
	var scope pmetric.ScopeMetrics
	var add func(i int)
	inResource := false
	for _, sm := range rm.ScopeMetrics().All() {
		inScope := false
		for _, m := range sm.Metrics().All() {
			inMetric := false
			points, open := pointsOf(m)
			for i := range max(points, 1) {
				if (i == 0 || c.points) && c.next() {
					inResource, inScope, inMetric = false, false, false
				}
				if !inResource {
					resource = c.last().Metrics.ResourceMetrics().AppendEmpty()
					rm.Resource().CopyTo(resource.Resource())
					resource.SetSchemaUrl(rm.SchemaUrl())
				}
				if !inScope {
					scope = resource.ScopeMetrics().AppendEmpty()
					sm.Scope().CopyTo(scope.Scope())
					scope.SetSchemaUrl(sm.SchemaUrl())
				}
				inResource, inScope = true, true
				if !c.points {
					m.CopyTo(scope.Metrics().AppendEmpty())
					break
				}
				if !inMetric {
					to := scope.Metrics().AppendEmpty()
					to.SetName(m.Name())
					to.SetDescription(m.Description())
					to.SetUnit(m.Unit())
					m.Metadata().CopyTo(to.Metadata())
					add = open(to)
				}
				inMetric = true
				if i < points {
					add(i)
				}
			}
		}
	}
}

// pointsOf returns the number of points of m, and the function open. open sets the type of another
// metric to that of m, and returns the function add. add copies the i-th point of m to that metric.
func pointsOf(m pmetric.Metric) (points int, open func(to pmetric.Metric) (add func(i int))) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		from := m.Gauge().DataPoints()
		return from.Len(), func(to pmetric.Metric) func(i int) {
			into := to.SetEmptyGauge().DataPoints()
			return func(i int) { from.At(i).CopyTo(into.AppendEmpty()) }
		}
	case pmetric.MetricTypeSum:
		from := m.Sum().DataPoints()
		return from.Len(), func(to pmetric.Metric) func(i int) {
			sum := to.SetEmptySum()
			sum.SetIsMonotonic(m.Sum().IsMonotonic())
			sum.SetAggregationTemporality(m.Sum().AggregationTemporality())
			return func(i int) { from.At(i).CopyTo(sum.DataPoints().AppendEmpty()) }
		}
	case pmetric.MetricTypeHistogram:
		from := m.Histogram().DataPoints()
		return from.Len(), func(to pmetric.Metric) func(i int) {
			histogram := to.SetEmptyHistogram()
			histogram.SetAggregationTemporality(m.Histogram().AggregationTemporality())
			return func(i int) { from.At(i).CopyTo(histogram.DataPoints().AppendEmpty()) }
		}
	case pmetric.MetricTypeExponentialHistogram:
		from := m.ExponentialHistogram().DataPoints()
		return from.Len(), func(to pmetric.Metric) func(i int) {
			histogram := to.SetEmptyExponentialHistogram()
			histogram.SetAggregationTemporality(m.ExponentialHistogram().AggregationTemporality())
			return func(i int) { from.At(i).CopyTo(histogram.DataPoints().AppendEmpty()) }
		}
	case pmetric.MetricTypeSummary:
		from := m.Summary().DataPoints()
		return from.Len(), func(to pmetric.Metric) func(i int) {
			into := to.SetEmptySummary().DataPoints()
			return func(i int) { from.At(i).CopyTo(into.AppendEmpty()) }
		}
	}
	return 0, func(pmetric.Metric) func(int) { return nil }
}

func (c *cutter) spans(rs ptrace.ResourceSpans) {
	var resource ptrace.ResourceSpans
	var scope ptrace.ScopeSpans
	inResource := false
	for _, ss := range rs.ScopeSpans().All() {
		inScope := false
		for _, span := range ss.Spans().All() {
			if c.next() {
				inResource, inScope = false, false
			}
			if !inResource {
				resource = c.last().Traces.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(resource.Resource())
				resource.SetSchemaUrl(rs.SchemaUrl())
			}
			if !inScope {
				scope = resource.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(ss.SchemaUrl())
			}
			inResource, inScope = true, true
			span.CopyTo(scope.Spans().AppendEmpty())
		}
	}
}

func (c *cutter) logs(rl plog.ResourceLogs) {
	var resource plog.ResourceLogs
	var scope plog.ScopeLogs
	inResource := false
	for _, sl := range rl.ScopeLogs().All() {
		inScope := false
		for _, record := range sl.LogRecords().All() {
			if c.next() {
				inResource, inScope = false, false
			}
			if !inResource {
				resource = c.last().Logs.ResourceLogs().AppendEmpty()
				rl.Resource().CopyTo(resource.Resource())
				resource.SetSchemaUrl(rl.SchemaUrl())
			}
			if !inScope {
				scope = resource.ScopeLogs().AppendEmpty()
				sl.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(sl.SchemaUrl())
			}
			inResource, inScope = true, true
			record.CopyTo(scope.LogRecords().AppendEmpty())
		}
	}
}

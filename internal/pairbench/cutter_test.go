// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairbench

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
)

// cutter makes batches of equal size of parts of any size, as a batch processor
// does: containers stay as they came, and those that are cut are in both batches.
type cutter struct {
	signal  otlpfile.Signal
	most    int
	batches []otlpfile.Batch
	items   int // in the last batch
}

// add takes a part, an OTLP message.
func (c *cutter) add(part []byte) error {
	switch c.signal {
	case otlpfile.Metrics:
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
		if err != nil {
			return err
		}
		for _, rm := range md.ResourceMetrics().All() {
			c.metrics(rm)
		}
	case otlpfile.Traces:
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		if err != nil {
			return err
		}
		for _, rs := range td.ResourceSpans().All() {
			c.spans(rs)
		}
	default:
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
		if err != nil {
			return err
		}
		for _, rl := range ld.ResourceLogs().All() {
			c.logs(rl)
		}
	}
	return nil
}

// take says that one more item comes, and whether it begins a batch.
func (c *cutter) take() (fresh bool) {
	if len(c.batches) == 0 || c.items == c.most {
		c.batches = append(c.batches, empty(c.signal))
		c.items = 0
		fresh = true
	}
	c.items++
	return fresh
}

func (c *cutter) last() otlpfile.Batch { return c.batches[len(c.batches)-1] }

// empty returns a batch without anything.
func empty(signal otlpfile.Signal) otlpfile.Batch {
	switch signal {
	case otlpfile.Metrics:
		return otlpfile.MetricsBatch(pmetric.NewMetrics())
	case otlpfile.Traces:
		return otlpfile.TracesBatch(ptrace.NewTraces())
	default:
		return otlpfile.LogsBatch(plog.NewLogs())
	}
}

func (c *cutter) metrics(rm pmetric.ResourceMetrics) {
	var resource pmetric.ResourceMetrics
	var scope pmetric.ScopeMetrics
	var add func(i int)
	inResource := false
	for _, sm := range rm.ScopeMetrics().All() {
		inScope := false
		for _, m := range sm.Metrics().All() {
			inMetric := false
			points, begin := pointsOf(m)
			for i := range points {
				if c.take() {
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
				if !inMetric {
					to := scope.Metrics().AppendEmpty()
					to.SetName(m.Name())
					to.SetDescription(m.Description())
					to.SetUnit(m.Unit())
					m.Metadata().CopyTo(to.Metadata())
					add = begin(to)
				}
				inResource, inScope, inMetric = true, true, true
				add(i)
			}
		}
	}
}

// pointsOf counts the points of a metric. begin makes another metric one of its
// type, and add adds a point to that.
func pointsOf(m pmetric.Metric) (points int, begin func(to pmetric.Metric) (add func(i int))) {
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
	return 0, nil
}

func (c *cutter) spans(rs ptrace.ResourceSpans) {
	var resource ptrace.ResourceSpans
	var scope ptrace.ScopeSpans
	inResource := false
	for _, ss := range rs.ScopeSpans().All() {
		inScope := false
		for _, span := range ss.Spans().All() {
			if c.take() {
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
			if c.take() {
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

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

// Head returns the beginning of the set: its first parts, up to about n metrics, spans or log
// records. The last part may be cut.
func (s *Set) Head(n int) *Set { return s.head(n, Units, false) }

// HeadItems is like Head, but counts data points of metrics.
func (s *Set) HeadItems(n int) *Set { return s.head(n, otlpfile.Batch.Items, true) }

func (s *Set) head(n int, size func(otlpfile.Batch) int, points bool) *Set {
	head := &Set{Ref: s.Ref}
	for _, part := range s.Parts {
		if size(part) > n {
			part = cut(s.Signal, []otlpfile.Batch{part}, max(1, n), points)[0]
		}
		head.Parts = append(head.Parts, part)
		head.Items += part.Items()
		if n -= size(part); n <= 0 {
			break
		}
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

// take reserves space in the last batch for at most wanted items. It returns the number of reserved
// items, and whether they begin a new batch.
func (c *cutter) take(wanted int) (n int, fresh bool) {
	if len(c.batches) == 0 || c.count == c.most {
		c.batches = append(c.batches, New(c.signal))
		c.count = 0
		fresh = true
	}
	n = min(wanted, c.most-c.count)
	c.count += n
	return n, fresh
}

func (c *cutter) last() otlpfile.Batch { return c.batches[len(c.batches)-1] }

func (c *cutter) metrics(rm pmetric.ResourceMetrics) {
	var resource pmetric.ResourceMetrics
	var scope pmetric.ScopeMetrics
	inResource := false
	for _, sm := range rm.ScopeMetrics().All() {
		inScope := false
		for _, m := range sm.Metrics().All() {
			all := 1
			if c.points {
				all = max(1, otlpfile.Points(m))
			}
			shell := m // without points, if the metric is cut
			for from := 0; from < all; {
				n, fresh := c.take(all - from)
				if fresh {
					inResource, inScope = false, false
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
				to := scope.Metrics().AppendEmpty()
				if n < all && from == 0 {
					shell = withoutPoints(m)
				}
				shell.CopyTo(to)
				if n < all {
					copyPoints(to, m, from, from+n)
				}
				from += n
			}
		}
	}
}

// copyPoints appends the points of a metric from index begin up to, but not including, index end, to
// another metric of the same type.
func copyPoints(to, from pmetric.Metric, begin, end int) {
	for i := begin; i < end; i++ {
		switch from.Type() {
		case pmetric.MetricTypeGauge:
			from.Gauge().DataPoints().At(i).CopyTo(to.Gauge().DataPoints().AppendEmpty())
		case pmetric.MetricTypeSum:
			from.Sum().DataPoints().At(i).CopyTo(to.Sum().DataPoints().AppendEmpty())
		case pmetric.MetricTypeHistogram:
			from.Histogram().DataPoints().At(i).CopyTo(to.Histogram().DataPoints().AppendEmpty())
		case pmetric.MetricTypeExponentialHistogram:
			from.ExponentialHistogram().DataPoints().At(i).CopyTo(to.ExponentialHistogram().DataPoints().AppendEmpty())
		case pmetric.MetricTypeSummary:
			from.Summary().DataPoints().At(i).CopyTo(to.Summary().DataPoints().AppendEmpty())
		}
	}
}

// withoutPoints returns a copy of a metric without its points.
func withoutPoints(m pmetric.Metric) pmetric.Metric {
	c := pmetric.NewMetric()
	m.CopyTo(c)
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		c.Gauge().DataPoints().RemoveIf(every)
	case pmetric.MetricTypeSum:
		c.Sum().DataPoints().RemoveIf(every)
	case pmetric.MetricTypeHistogram:
		c.Histogram().DataPoints().RemoveIf(every)
	case pmetric.MetricTypeExponentialHistogram:
		c.ExponentialHistogram().DataPoints().RemoveIf(every)
	case pmetric.MetricTypeSummary:
		c.Summary().DataPoints().RemoveIf(every)
	}
	return c
}

func every[P any](P) bool { return true }

func (c *cutter) spans(rs ptrace.ResourceSpans) {
	var resource ptrace.ResourceSpans
	var scope ptrace.ScopeSpans
	inResource := false
	for _, ss := range rs.ScopeSpans().All() {
		inScope := false
		for _, span := range ss.Spans().All() {
			if _, fresh := c.take(1); fresh {
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
			if _, fresh := c.take(1); fresh {
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

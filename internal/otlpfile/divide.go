// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// part returns a copy of the items of b whose index i is in from <= i < to, and of their
// containers. A container without items is in the same part as the next item after it. The last
// part also has the containers after the last item.
func (b Batch) part(from, to int) Batch {
	c := cut{from: from, to: to}
	if to == b.Items() {
		c.to++
	}
	switch b.Signal {
	case Metrics:
		md := pmetric.NewMetrics()
		b.Metrics.CopyTo(md)
		c.metrics(md)
		return MetricsBatch(md)
	case Traces:
		td := ptrace.NewTraces()
		b.Traces.CopyTo(td)
		each(&c, td.ResourceSpans(), func(rs ptrace.ResourceSpans) (had, left int) {
			return each(&c, rs.ScopeSpans(), func(ss ptrace.ScopeSpans) (had, left int) { return items(&c, ss.Spans()) })
		})
		return TracesBatch(td)
	}
	ld := plog.NewLogs()
	b.Logs.CopyTo(ld)
	each(&c, ld.ResourceLogs(), func(rl plog.ResourceLogs) (had, left int) {
		return each(&c, rl.ScopeLogs(), func(sl plog.ScopeLogs) (had, left int) { return items(&c, sl.LogRecords()) })
	})
	return LogsBatch(ld)
}

// cut removes all items of a batch except those whose index i is in from <= i < to.
type cut struct {
	from, to int
	next     int // index of the next item
}

func (c *cut) inside(item int) bool { return item >= c.from && item < c.to }

// slice is implemented by the slice types of pdata.
type slice[T any] interface {
	Len() int
	RemoveIf(func(T) bool)
}

// items removes items from a list. It returns how many items there were, and how many are left.
func items[T any](c *cut, list slice[T]) (had, left int) {
	had = list.Len()
	list.RemoveIf(func(T) bool {
		c.next++
		return !c.inside(c.next - 1)
	})
	return had, list.Len()
}

// each calls remove for each container of a list, to remove elements of the container. Then it removes
// empty containers: those that have lost their elements, and those that were empty before and belong to
// another part. Both functions return how many elements there were, and how many are left.
func each[T any](c *cut, list slice[T], remove func(T) (had, left int)) (had, left int) {
	had = list.Len()
	list.RemoveIf(func(container T) bool {
		first := c.next
		had, left := remove(container)
		return left == 0 && (had > 0 || !c.inside(first))
	})
	return had, list.Len()
}

func (c *cut) metrics(md pmetric.Metrics) {
	each(c, md.ResourceMetrics(), func(rm pmetric.ResourceMetrics) (had, left int) {
		return each(c, rm.ScopeMetrics(), func(sm pmetric.ScopeMetrics) (had, left int) {
			return each(c, sm.Metrics(), c.points)
		})
	})
}

// points removes points of a metric. It returns how many there were, and how many are left.
func (c *cut) points(m pmetric.Metric) (had, left int) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return items(c, m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		return items(c, m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		return items(c, m.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		return items(c, m.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		return items(c, m.Summary().DataPoints())
	}
	return 0, 0
}

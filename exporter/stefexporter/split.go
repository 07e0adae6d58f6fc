// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

type splitter[B any] struct {
	// split passes the key of each group of items that must stay together to the function
	// where. It returns one part of the batch for each result of this function. The parts are
	// copies, unless there is only one part.
	split func(batch B, where func(key uint64) int) map[int]B
	// rest wraps an error so that the Collector retries only the given part of a batch.
	rest func(error, B) error
}

func serviceKey(r pcommon.Resource) uint64 {
	if v, ok := r.Attributes().Get("service.name"); ok {
		return keyOfText(v.AsString())
	}
	return keyOfText("")
}

// splitResources splits a batch of n resources by resource. It returns the batch itself, whole, if
// all resources belong to one part.
func splitResources[B any](n int, key func(i int) uint64, where func(uint64) int, whole B, empty func() B, move func(to B, i int)) map[int]B {
	places := make([]int, n)
	single := true
	for i := range n {
		places[i] = where(key(i))
		single = single && places[i] == places[0]
	}
	if n == 0 {
		return nil
	}
	if single {
		return map[int]B{places[0]: whole}
	}
	parts := map[int]B{}
	for i, place := range places {
		part, ok := parts[place]
		if !ok {
			part = empty()
			parts[place] = part
		}
		move(part, i)
	}
	return parts
}

func tracesSplitter(key RoutingKey) splitter[ptrace.Traces] {
	s := splitter[ptrace.Traces]{
		rest:  func(err error, b ptrace.Traces) error { return consumererror.NewTraces(err, b) },
		split: splitTraces,
	}
	if key == RoutingService {
		s.split = func(b ptrace.Traces, where func(uint64) int) map[int]ptrace.Traces {
			list := b.ResourceSpans()
			return splitResources(list.Len(), func(i int) uint64 { return serviceKey(list.At(i).Resource()) }, where, b, ptrace.NewTraces,
				func(to ptrace.Traces, i int) { list.At(i).CopyTo(to.ResourceSpans().AppendEmpty()) })
		}
	}
	return s
}

// splitTraces splits by trace id.
func splitTraces(b ptrace.Traces, where func(uint64) int) map[int]ptrace.Traces {
	type cursor struct {
		traces   ptrace.Traces
		resource int // index of the resource in the batch
		scope    int
		spans    ptrace.SpanSlice
	}
	parts := map[int]*cursor{}
	single := -1
	for i, rs := range b.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				place := where(keyOfTrace(span.TraceID()))
				c := parts[place]
				if c == nil {
					c = &cursor{traces: ptrace.NewTraces(), resource: -1}
					parts[place], single = c, place
				}
				if c.resource != i {
					to := c.traces.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(to.Resource())
					to.SetSchemaUrl(rs.SchemaUrl())
					c.resource, c.scope = i, -1
				}
				if c.scope != j {
					to := c.traces.ResourceSpans().At(c.traces.ResourceSpans().Len() - 1).ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(to.Scope())
					to.SetSchemaUrl(ss.SchemaUrl())
					c.scope, c.spans = j, to.Spans()
				}
				span.CopyTo(c.spans.AppendEmpty())
			}
		}
	}
	if len(parts) == 1 {
		return map[int]ptrace.Traces{single: b}
	}
	result := make(map[int]ptrace.Traces, len(parts))
	for place, c := range parts {
		result[place] = c.traces
	}
	return result
}

func metricsSplitter(RoutingKey) splitter[pmetric.Metrics] {
	return splitter[pmetric.Metrics]{
		rest: func(err error, b pmetric.Metrics) error { return consumererror.NewMetrics(err, b) },
		split: func(b pmetric.Metrics, where func(uint64) int) map[int]pmetric.Metrics {
			list := b.ResourceMetrics()
			return splitResources(list.Len(), func(i int) uint64 { return serviceKey(list.At(i).Resource()) }, where, b, pmetric.NewMetrics,
				func(to pmetric.Metrics, i int) { list.At(i).CopyTo(to.ResourceMetrics().AppendEmpty()) })
		},
	}
}

func logsSplitter(RoutingKey) splitter[plog.Logs] {
	return splitter[plog.Logs]{
		rest: func(err error, b plog.Logs) error { return consumererror.NewLogs(err, b) },
		split: func(b plog.Logs, where func(uint64) int) map[int]plog.Logs {
			list := b.ResourceLogs()
			return splitResources(list.Len(), func(i int) uint64 { return serviceKey(list.At(i).Resource()) }, where, b, plog.NewLogs,
				func(to plog.Logs, i int) { list.At(i).CopyTo(to.ResourceLogs().AppendEmpty()) })
		},
	}
}

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
// records each, in order; the last one may be smaller. Containers that are cut
// are in both batches.
func (s *Set) Batches(n int) []otlpfile.Batch {
	c := &cutter{signal: s.Signal, most: n}
	for _, part := range s.Parts {
		switch s.Signal {
		case otlpfile.Metrics:
			c.metrics(part.Metrics)
		case otlpfile.Traces:
			c.traces(part.Traces)
		case otlpfile.Logs:
			c.logs(part.Logs)
		}
	}
	return c.batches
}

// Head returns the beginning of the set: about n metrics, spans or log records in
// the same parts, of which the last one may be cut.
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

// cutter fills batches.
type cutter struct {
	signal  otlpfile.Signal
	most    int
	batches []otlpfile.Batch
	units   int // in the last batch
}

// take says that one more unit comes, and whether it begins a batch.
func (c *cutter) take() (fresh bool) {
	if len(c.batches) == 0 || c.units == c.most {
		c.batches = append(c.batches, New(c.signal))
		c.units = 0
		fresh = true
	}
	c.units++
	return fresh
}

func (c *cutter) last() otlpfile.Batch { return c.batches[len(c.batches)-1] }

func (c *cutter) metrics(md pmetric.Metrics) {
	for _, rm := range md.ResourceMetrics().All() {
		var to pmetric.ResourceMetrics
		begun := false
		for _, sm := range rm.ScopeMetrics().All() {
			var into pmetric.ScopeMetrics
			scoped := false
			for _, m := range sm.Metrics().All() {
				fresh := c.take()
				if fresh || !begun {
					to = c.last().Metrics.ResourceMetrics().AppendEmpty()
					rm.Resource().CopyTo(to.Resource())
					to.SetSchemaUrl(rm.SchemaUrl())
				}
				if fresh || !scoped {
					into = to.ScopeMetrics().AppendEmpty()
					sm.Scope().CopyTo(into.Scope())
					into.SetSchemaUrl(sm.SchemaUrl())
				}
				begun, scoped = true, true
				m.CopyTo(into.Metrics().AppendEmpty())
			}
		}
	}
}

func (c *cutter) traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		var to ptrace.ResourceSpans
		begun := false
		for _, ss := range rs.ScopeSpans().All() {
			var into ptrace.ScopeSpans
			scoped := false
			for _, span := range ss.Spans().All() {
				fresh := c.take()
				if fresh || !begun {
					to = c.last().Traces.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(to.Resource())
					to.SetSchemaUrl(rs.SchemaUrl())
				}
				if fresh || !scoped {
					into = to.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(into.Scope())
					into.SetSchemaUrl(ss.SchemaUrl())
				}
				begun, scoped = true, true
				span.CopyTo(into.Spans().AppendEmpty())
			}
		}
	}
}

func (c *cutter) logs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		var to plog.ResourceLogs
		begun := false
		for _, sl := range rl.ScopeLogs().All() {
			var into plog.ScopeLogs
			scoped := false
			for _, lr := range sl.LogRecords().All() {
				fresh := c.take()
				if fresh || !begun {
					to = c.last().Logs.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(to.Resource())
					to.SetSchemaUrl(rl.SchemaUrl())
				}
				if fresh || !scoped {
					into = to.ScopeLogs().AppendEmpty()
					sl.Scope().CopyTo(into.Scope())
					into.SetSchemaUrl(sl.SchemaUrl())
				}
				begun, scoped = true, true
				lr.CopyTo(into.LogRecords().AppendEmpty())
			}
		}
	}
}

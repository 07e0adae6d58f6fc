// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

var traces = tree[ptrace.Traces, ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span]{
	resources: func(b ptrace.Traces) iter.Seq2[int, ptrace.ResourceSpans] { return b.ResourceSpans().All() },
	scopes:    func(r ptrace.ResourceSpans) iter.Seq2[int, ptrace.ScopeSpans] { return r.ScopeSpans().All() },
	items:     func(s ptrace.ScopeSpans) iter.Seq2[int, ptrace.Span] { return s.Spans().All() },
	write: func(t *text, item ptrace.Span, yield func([]byte) bool) bool {
		t.span(item)
		return yield(t.buf)
	},
	addResource: func(b ptrace.Traces) ptrace.ResourceSpans { return b.ResourceSpans().AppendEmpty() },
	addScope:    func(r ptrace.ResourceSpans) ptrace.ScopeSpans { return r.ScopeSpans().AppendEmpty() },
	addItem: func(o Options, s ptrace.ScopeSpans, item ptrace.Span) {
		c := s.Spans().AppendEmpty()
		item.CopyTo(c)
		o.sortSpan(c)
	},
}

// Traces returns the spans of all tds together.
func (o Options) Traces(tds ...ptrace.Traces) *Items { return itemsOf(&traces, o, tds) }

// MergeTraces is like MergeMetrics for the resources and scopes of spans.
func (o Options) MergeTraces(tds ...ptrace.Traces) ptrace.Traces {
	return traces.merge(o, ptrace.NewTraces(), tds)
}

func (t *text) span(s ptrace.Span) {
	t.quoted("span.trace_id", s.TraceID().String())
	t.quoted("span.span_id", s.SpanID().String())
	t.quoted("span.parent_span_id", s.ParentSpanID().String())
	t.quoted("span.trace_state", s.TraceState().AsRaw())
	t.line("span.flags", "%#x", s.Flags())
	t.quoted("span.name", s.Name())
	t.line("span.kind", "%d", int32(s.Kind()))
	t.integer("span.start_time", uint64(s.StartTimestamp()))
	t.integer("span.end_time", uint64(s.EndTimestamp()))
	t.attributes("span", s.Attributes())
	t.line("span.dropped", "%d attributes %d events %d links", s.DroppedAttributesCount(), s.DroppedEventsCount(), s.DroppedLinksCount())
	for i, e := range s.Events().All() {
		path := fmt.Sprintf("event[%d]", i)
		t.line(path, "%q at %d dropped %d", e.Name(), uint64(e.Timestamp()), e.DroppedAttributesCount())
		t.attributes(path, e.Attributes())
	}
	for i, l := range s.Links().All() {
		path := fmt.Sprintf("link[%d]", i)
		t.line(path, "trace %q span %q state %q flags %#x dropped %d", l.TraceID(), l.SpanID(), l.TraceState().AsRaw(), l.Flags(), l.DroppedAttributesCount())
		t.attributes(path, l.Attributes())
	}
	t.line("span.status", "%d %q", int32(s.Status().Code()), s.Status().Message())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Traces returns the spans of all tds together.
func (o Options) Traces(tds ...ptrace.Traces) *Items {
	return newItems(func(yield func([]byte) bool) { o.eachSpan(tds, yield) })
}

func (o Options) eachSpan(tds []ptrace.Traces, yield func([]byte) bool) {
	t := text{Options: o}
	for _, td := range tds {
		for _, rs := range td.ResourceSpans().All() {
			t.buf = t.buf[:0]
			t.resource(rs.Resource(), rs.SchemaUrl())
			inResource := len(t.buf)
			for _, ss := range rs.ScopeSpans().All() {
				t.buf = t.buf[:inResource]
				t.scope(ss.Scope(), ss.SchemaUrl())
				inScope := len(t.buf)
				for _, s := range ss.Spans().All() {
					t.buf = t.buf[:inScope]
					t.span(s)
					if !yield(t.buf) {
						return
					}
				}
			}
		}
	}
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

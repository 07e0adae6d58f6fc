// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package randtel

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Traces returns traces that cover every field and its edge cases.
func (r Random) Traces() ptrace.Traces {
	td := ptrace.NewTraces()
	for range r.IntN(4) {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl(Pick(r, "", "https://opentelemetry.io/schemas/1.27.0"))
		r.resource(rs.Resource())
		for range r.IntN(4) {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.SetSchemaUrl(r.text())
			r.scope(ss.Scope())
			for range r.IntN(12) {
				r.span(ss.Spans().AppendEmpty())
			}
		}
	}
	return td
}

// ManySpans returns traces that fill several chunks of a sorted stream.
func (r Random) ManySpans() ptrace.Traces {
	td := ptrace.NewTraces()
	for range 3 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutInt("n", int64(r.IntN(2)))
		for range 2 {
			spans := rs.ScopeSpans().AppendEmpty().Spans()
			for range r.IntN(700) {
				span := spans.AppendEmpty()
				r.span(span)
				span.SetSpanID(pcommon.SpanID{0: 1, 6: byte(r.IntN(256)), 7: byte(r.IntN(256))})
			}
		}
	}
	return td
}

func (r Random) uint32() uint32 { return Pick[uint32](r, 0, 0, 1, math.MaxUint32) }

func (r Random) traceID() pcommon.TraceID {
	return Pick(r, pcommon.TraceID{}, pcommon.TraceID{15: 1}, pcommon.TraceID{1, 2, 3}, pcommon.TraceID{0xab, 0xcd, 15: 0xef})
}

func (r Random) spanID() pcommon.SpanID {
	return Pick(r, pcommon.SpanID{}, pcommon.SpanID{7: 1}, pcommon.SpanID{1, 2, 3}, pcommon.SpanID{0xfe, 7: 0xba})
}

func (r Random) span(s ptrace.Span) {
	s.SetTraceID(r.traceID())
	s.SetSpanID(r.spanID())
	s.SetParentSpanID(r.spanID())
	s.TraceState().FromRaw(Pick(r, "", "", "a=b", r.text()))
	s.SetFlags(r.uint32())
	s.SetName(Pick(r, "", "GET /", "GET /", "query"))
	s.SetKind(Pick(r, ptrace.SpanKindUnspecified, ptrace.SpanKindServer, ptrace.SpanKindConsumer, ptrace.SpanKind(77), ptrace.SpanKind(-1)))
	s.SetStartTimestamp(r.time())
	s.SetEndTimestamp(r.time())
	r.spanAttributes(s.Attributes())
	s.SetDroppedAttributesCount(r.uint32())
	if r.One(3) {
		for range r.IntN(4) {
			r.event(s.Events().AppendEmpty())
		}
	}
	if r.One(3) {
		for range r.IntN(3) {
			r.link(s.Links().AppendEmpty())
		}
	}
	s.SetDroppedEventsCount(r.uint32())
	s.SetDroppedLinksCount(r.uint32())
	if r.One(2) {
		s.Status().SetMessage(r.text())
		s.Status().SetCode(Pick(r, ptrace.StatusCodeUnset, ptrace.StatusCodeOk, ptrace.StatusCodeError, ptrace.StatusCode(9), ptrace.StatusCode(-9)))
	}
}

// spanAttributes fills m with random attributes, or with some of four fixed keys in
// random order.
func (r Random) spanAttributes(m pcommon.Map) {
	if r.One(2) {
		r.attributes(m)
		return
	}
	keys := []string{"http.method", "http.route", "peer", "n"}[:1+r.IntN(4)]
	for _, i := range r.Perm(len(keys)) {
		r.value(m.PutEmpty(keys[i]), 1)
	}
}

func (r Random) event(e ptrace.SpanEvent) {
	e.SetName(r.text())
	e.SetTimestamp(r.time())
	r.spanAttributes(e.Attributes())
	e.SetDroppedAttributesCount(r.uint32())
}

func (r Random) link(l ptrace.SpanLink) {
	l.SetTraceID(r.traceID())
	l.SetSpanID(r.spanID())
	l.TraceState().FromRaw(r.text())
	l.SetFlags(r.uint32())
	r.spanAttributes(l.Attributes())
	l.SetDroppedAttributesCount(r.uint32())
}

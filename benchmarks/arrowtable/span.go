// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Traces returns traces as a record batch, to be released by the caller.
func (b *Builder) Traces(td ptrace.Traces) (arrow.RecordBatch, error) {
	b.begin()
	for _, rs := range td.ResourceSpans().All() {
		b.resource(rs.Resource(), rs.SchemaUrl(), rs.ScopeSpans().Len())
		for _, ss := range rs.ScopeSpans().All() {
			b.scope(ss.Scope(), ss.SchemaUrl(), ss.Spans().Len())
			for _, span := range ss.Spans().All() {
				b.span(span)
			}
		}
	}
	return b.batch()
}

func (b *Builder) span(s ptrace.Span) {
	t := b.next(items)
	t.attributes(itemTexts, s.Attributes())
	t.traceID(spanTraceID, s.TraceID())
	t.spanID(spanSpanID, s.SpanID())
	t.spanID(spanParentID, s.ParentSpanID())
	t.word(spanTraceState, s.TraceState().AsRaw())
	t.u32(spanFlags, s.Flags())
	t.word(spanName, s.Name())
	t.u8(spanKind, uint8(s.Kind()))
	t.time(spanStart, s.StartTimestamp())
	t.i64(spanDuration, int64(s.EndTimestamp())-int64(s.StartTimestamp()))
	t.u8(spanStatus, uint8(s.Status().Code()))
	t.word(spanStatusMessage, s.Status().Message())
	t.u32(spanDropped, s.DroppedAttributesCount())
	t.few(spanEvents, s.Events().Len())
	t.u32(spanDroppedEvents, s.DroppedEventsCount())
	t.few(spanLinks, s.Links().Len())
	t.u32(spanDroppedLinks, s.DroppedLinksCount())
	for _, e := range s.Events().All() {
		t := b.next(events)
		t.attributes(childTexts, e.Attributes())
		t.time(eventTime, e.Timestamp())
		t.word(eventName, e.Name())
		t.u32(eventDropped, e.DroppedAttributesCount())
	}
	for _, l := range s.Links().All() {
		t := b.next(links)
		t.attributes(childTexts, l.Attributes())
		t.traceID(linkTraceID, l.TraceID())
		t.spanID(linkSpanID, l.SpanID())
		t.word(linkTraceState, l.TraceState().AsRaw())
		t.u32(linkFlags, l.Flags())
		t.u32(linkDropped, l.DroppedAttributesCount())
	}
}

// Traces converts a record batch to traces.
func Traces(batch arrow.RecordBatch) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	r, err := newReader(batch)
	if err != nil {
		return td, err
	}
	for range r[resources].rows {
		rs := td.ResourceSpans().AppendEmpty()
		scopes, err := r.resource(rs.Resource(), rs.SetSchemaUrl)
		if err != nil {
			return td, err
		}
		for range scopes {
			ss := rs.ScopeSpans().AppendEmpty()
			items, err := r.scope(ss.Scope(), ss.SetSchemaUrl)
			if err != nil {
				return td, err
			}
			ss.Spans().EnsureCapacity(items)
			for range items {
				if err := r.span(ss.Spans().AppendEmpty()); err != nil {
					return td, err
				}
			}
		}
	}
	return td, nil
}

func (r reader) span(s ptrace.Span) error {
	c, err := r.next(items)
	if err != nil {
		return err
	}
	s.SetTraceID(c.traceID(spanTraceID))
	s.SetSpanID(c.spanID(spanSpanID))
	s.SetParentSpanID(c.spanID(spanParentID))
	s.TraceState().FromRaw(c.word(spanTraceState))
	s.SetFlags(c.u32(spanFlags))
	s.SetName(c.word(spanName))
	s.SetKind(ptrace.SpanKind(c.u8(spanKind)))
	start := c.time(spanStart)
	s.SetStartTimestamp(start)
	s.SetEndTimestamp(start + pcommon.Timestamp(c.i64(spanDuration)))
	s.Status().SetCode(ptrace.StatusCode(c.u8(spanStatus)))
	s.Status().SetMessage(c.word(spanStatusMessage))
	s.SetDroppedAttributesCount(c.u32(spanDropped))
	s.SetDroppedEventsCount(c.u32(spanDroppedEvents))
	s.SetDroppedLinksCount(c.u32(spanDroppedLinks))
	if err := r.attributes(c, itemTexts, s.Attributes()); err != nil {
		return err
	}
	if err := r.events(c.few(spanEvents), s.Events()); err != nil {
		return err
	}
	return r.links(c.few(spanLinks), s.Links())
}

func (r reader) events(n int, to ptrace.SpanEventSlice) error {
	for range n {
		e := to.AppendEmpty()
		c, err := r.next(events)
		if err != nil {
			return err
		}
		e.SetTimestamp(c.time(eventTime))
		e.SetName(c.word(eventName))
		e.SetDroppedAttributesCount(c.u32(eventDropped))
		if err := r.attributes(c, childTexts, e.Attributes()); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) links(n int, to ptrace.SpanLinkSlice) error {
	for range n {
		l := to.AppendEmpty()
		c, err := r.next(links)
		if err != nil {
			return err
		}
		l.SetTraceID(c.traceID(linkTraceID))
		l.SetSpanID(c.spanID(linkSpanID))
		l.TraceState().FromRaw(c.word(linkTraceState))
		l.SetFlags(c.u32(linkFlags))
		l.SetDroppedAttributesCount(c.u32(linkDropped))
		if err := r.attributes(c, childTexts, l.Attributes()); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Event is an event of a span.
type Event struct {
	Time       int64      `parquet:"time"`
	Name       string     `parquet:"name,optional,dict"`
	Attributes Attributes `parquet:"attributes"`
	Dropped    uint32     `parquet:"dropped,optional"`
}

// Link is a link of a span.
type Link struct {
	TraceID    [16]byte   `parquet:"trace_id"`
	SpanID     [8]byte    `parquet:"span_id"`
	TraceState string     `parquet:"trace_state,optional,dict"`
	Flags      uint32     `parquet:"flags,optional"`
	Attributes Attributes `parquet:"attributes"`
	Dropped    uint32     `parquet:"dropped,optional"`
}

// Span is a row of traces. Its end is stored as a duration, which is short.
type Span struct {
	Resource      Resource   `parquet:"resource"`
	Scope         Scope      `parquet:"scope"`
	TraceID       [16]byte   `parquet:"trace_id,dict"`
	SpanID        [8]byte    `parquet:"span_id"`
	ParentID      [8]byte    `parquet:"parent_id,optional"`
	TraceState    string     `parquet:"trace_state,optional,dict"`
	Flags         uint32     `parquet:"flags,optional"`
	Name          string     `parquet:"name,optional,dict"`
	Kind          int32      `parquet:"kind,dict"`
	Start         int64      `parquet:"start"`
	Duration      int64      `parquet:"duration"`
	Status        int32      `parquet:"status,optional"`
	StatusMessage string     `parquet:"status_message,optional,dict"`
	Attributes    Attributes `parquet:"attributes"`
	Dropped       uint32     `parquet:"dropped,optional"`
	Events        []Event    `parquet:"events"`
	DroppedEvents uint32     `parquet:"dropped_events,optional"`
	Links         []Link     `parquet:"links"`
	DroppedLinks  uint32     `parquet:"dropped_links,optional"`
}

// Spans returns the rows of traces.
func Spans(td ptrace.Traces) []Span {
	var s slab
	rows := make([]Span, 0, td.SpanCount())
	scopes := 0
	for i, rs := range td.ResourceSpans().All() {
		resource := s.resource(i, rs.Resource(), rs.SchemaUrl())
		for _, ss := range rs.ScopeSpans().All() {
			scope := s.scope(scopes, ss.Scope(), ss.SchemaUrl())
			scopes++
			for _, span := range ss.Spans().All() {
				rows = append(rows, Span{
					Resource: resource, Scope: scope,
					TraceID: span.TraceID(), SpanID: span.SpanID(), ParentID: span.ParentSpanID(),
					TraceState: span.TraceState().AsRaw(), Flags: span.Flags(), Name: span.Name(), Kind: int32(span.Kind()),
					Start: int64(span.StartTimestamp()), Duration: int64(span.EndTimestamp()) - int64(span.StartTimestamp()),
					Status: int32(span.Status().Code()), StatusMessage: span.Status().Message(),
					Attributes: s.attributes(span.Attributes()), Dropped: span.DroppedAttributesCount(),
					Events: s.events(span.Events()), DroppedEvents: span.DroppedEventsCount(),
					Links: s.links(span.Links()), DroppedLinks: span.DroppedLinksCount(),
				})
			}
		}
	}
	return rows
}

func (s *slab) events(events ptrace.SpanEventSlice) []Event {
	var out []Event
	for _, e := range events.All() {
		out = append(out, Event{int64(e.Timestamp()), e.Name(), s.attributes(e.Attributes()), e.DroppedAttributesCount()})
	}
	return out
}

func (s *slab) links(links ptrace.SpanLinkSlice) []Link {
	var out []Link
	for _, l := range links.All() {
		out = append(out, Link{l.TraceID(), l.SpanID(), l.TraceState().AsRaw(), l.Flags(), s.attributes(l.Attributes()), l.DroppedAttributesCount()})
	}
	return out
}

// Traces converts rows to traces. A container begins where its number changes.
func Traces(rows []Span) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	var rs ptrace.ResourceSpans
	var ss ptrace.ScopeSpans
	for i := range rows {
		row := &rows[i]
		resource := i == 0 || row.Resource.ID != rows[i-1].Resource.ID
		if resource {
			rs = td.ResourceSpans().AppendEmpty()
			rs.SetSchemaUrl(row.Resource.SchemaURL)
			if err := row.Resource.to(rs.Resource()); err != nil {
				return td, err
			}
		}
		if resource || row.Scope.ID != rows[i-1].Scope.ID {
			ss = rs.ScopeSpans().AppendEmpty()
			ss.SetSchemaUrl(row.Scope.SchemaURL)
			if err := row.Scope.to(ss.Scope()); err != nil {
				return td, err
			}
		}
		if err := row.to(ss.Spans().AppendEmpty()); err != nil {
			return td, err
		}
	}
	return td, nil
}

func (r *Span) to(span ptrace.Span) error {
	span.SetTraceID(r.TraceID)
	span.SetSpanID(r.SpanID)
	span.SetParentSpanID(r.ParentID)
	span.TraceState().FromRaw(r.TraceState)
	span.SetFlags(r.Flags)
	span.SetName(r.Name)
	span.SetKind(ptrace.SpanKind(r.Kind))
	span.SetStartTimestamp(pcommon.Timestamp(r.Start))
	span.SetEndTimestamp(pcommon.Timestamp(r.Start + r.Duration))
	span.Status().SetCode(ptrace.StatusCode(r.Status))
	span.Status().SetMessage(r.StatusMessage)
	span.SetDroppedAttributesCount(r.Dropped)
	span.SetDroppedEventsCount(r.DroppedEvents)
	span.SetDroppedLinksCount(r.DroppedLinks)
	for i := range r.Events {
		e, to := &r.Events[i], span.Events().AppendEmpty()
		to.SetTimestamp(pcommon.Timestamp(e.Time))
		to.SetName(e.Name)
		to.SetDroppedAttributesCount(e.Dropped)
		if err := e.Attributes.to(to.Attributes()); err != nil {
			return err
		}
	}
	for i := range r.Links {
		l, to := &r.Links[i], span.Links().AppendEmpty()
		to.SetTraceID(l.TraceID)
		to.SetSpanID(l.SpanID)
		to.TraceState().FromRaw(l.TraceState)
		to.SetFlags(l.Flags)
		to.SetDroppedAttributesCount(l.Dropped)
		if err := l.Attributes.to(to.Attributes()); err != nil {
			return err
		}
	}
	return r.Attributes.to(span.Attributes())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

type spanRows struct {
	*rows
	start, stop                                 *array.TimestampBuilder
	duration                                    *array.Int64Builder
	traceID, spanID, parentID                   *array.FixedSizeBinaryBuilder
	state, name, kind, code, message            textColumn
	flags, dropped, droppedEvents, droppedLinks *array.Uint32Builder

	events, links *array.ListBuilder
	event         struct {
		*array.StructBuilder
		time       *array.TimestampBuilder
		name       textColumn
		dropped    *array.Uint32Builder
		attributes *attributesColumn
	}
	link struct {
		*array.StructBuilder
		traceID, spanID *array.FixedSizeBinaryBuilder
		state           textColumn
		flags, dropped  *array.Uint32Builder
		attributes      *attributesColumn
	}
}

func newSpanRows(r *rows) *spanRows {
	s := &spanRows{
		rows: r, start: r.time("start_time"), stop: r.time("end_time"), duration: r.col("duration_ns").(*array.Int64Builder),
		traceID: r.fixed("trace_id"), spanID: r.fixed("span_id"), parentID: r.fixed("parent_span_id"),
		state: r.text("trace_state"), name: r.text("name"), kind: r.text("kind"), code: r.text("status_code"), message: r.text("status_message"),
		flags: r.u32("flags"), dropped: r.u32("dropped_attributes_count"),
		droppedEvents: r.u32("dropped_events_count"), droppedLinks: r.u32("dropped_links_count"),
		events: r.col("events").(*array.ListBuilder), links: r.col("links").(*array.ListBuilder),
	}
	e := s.events.ValueBuilder().(*array.StructBuilder)
	s.event.StructBuilder, s.event.time, s.event.name = e, e.FieldBuilder(0).(*array.TimestampBuilder), textOfBuilder(e.FieldBuilder(1))
	s.event.dropped, s.event.attributes = e.FieldBuilder(2).(*array.Uint32Builder), attributesOf(e.FieldBuilder(3), e.FieldBuilder(4))
	l := s.links.ValueBuilder().(*array.StructBuilder)
	s.link.StructBuilder = l
	s.link.traceID, s.link.spanID = l.FieldBuilder(0).(*array.FixedSizeBinaryBuilder), l.FieldBuilder(1).(*array.FixedSizeBinaryBuilder)
	s.link.state, s.link.flags = textOfBuilder(l.FieldBuilder(2)), l.FieldBuilder(3).(*array.Uint32Builder)
	s.link.dropped, s.link.attributes = l.FieldBuilder(4).(*array.Uint32Builder), attributesOf(l.FieldBuilder(5), l.FieldBuilder(6))
	return s
}

func (r *spanRows) add(s ptrace.Span) error {
	r.begin(s.Attributes())
	r.putTime(r.start, s.StartTimestamp())
	r.putTime(r.stop, s.EndTimestamp())
	if s.StartTimestamp() == 0 || s.EndTimestamp() == 0 {
		r.duration.AppendNull()
	} else {
		r.duration.Append(int64(s.EndTimestamp() - s.StartTimestamp()))
	}
	traceID, spanID, parentID := s.TraceID(), s.SpanID(), s.ParentSpanID()
	putID(r.traceID, traceID[:])
	putID(r.spanID, spanID[:])
	putID(r.parentID, parentID[:])
	r.put(r.state, s.TraceState().AsRaw())
	r.put(r.name, s.Name())
	r.put(r.kind, spanKinds.of(int32(s.Kind())))
	r.put(r.code, statusCodes.of(int32(s.Status().Code())))
	r.put(r.message, s.Status().Message())
	putCount(r.flags, s.Flags())
	putCount(r.dropped, s.DroppedAttributesCount())
	putCount(r.droppedEvents, s.DroppedEventsCount())
	putCount(r.droppedLinks, s.DroppedLinksCount())
	r.addEvents(s.Events())
	r.addLinks(s.Links())
	return r.end(func() ([]byte, error) {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		r.resource.CopyTo(rs.Resource())
		rs.SetSchemaUrl(r.resourceSchemaURL)
		ss := rs.ScopeSpans().AppendEmpty()
		r.scope.CopyTo(ss.Scope())
		ss.SetSchemaUrl(r.scopeSchemaURL)
		s.CopyTo(ss.Spans().AppendEmpty())
		return (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	})
}

func (r *spanRows) addEvents(events ptrace.SpanEventSlice) {
	if events.Len() == 0 {
		r.events.AppendNull()
		return
	}
	r.events.Append(true)
	for _, e := range events.All() {
		to := &r.event
		to.Append(true)
		r.putTime(to.time, e.Timestamp())
		r.put(to.name, e.Name())
		putCount(to.dropped, e.DroppedAttributesCount())
		r.putAttributes(to.attributes, e.Attributes())
		r.bytes += 32
	}
}

func (r *spanRows) addLinks(links ptrace.SpanLinkSlice) {
	if links.Len() == 0 {
		r.links.AppendNull()
		return
	}
	r.links.Append(true)
	for _, l := range links.All() {
		to := &r.link
		to.Append(true)
		traceID, spanID := l.TraceID(), l.SpanID()
		putID(to.traceID, traceID[:])
		putID(to.spanID, spanID[:])
		r.put(to.state, l.TraceState().AsRaw())
		putCount(to.flags, l.Flags())
		putCount(to.dropped, l.DroppedAttributesCount())
		r.putAttributes(to.attributes, l.Attributes())
		r.bytes += 48
	}
}

type spanColumns struct {
	*columns
	start, stop                                 times
	traceID, spanID, parentID                   *array.FixedSizeBinary
	state, name, kind, code, statusMessage      texts
	flags, dropped, droppedEvents, droppedLinks *array.Uint32

	events, links *array.List
	event         struct {
		time       times
		name       texts
		dropped    *array.Uint32
		attributes *attributesIn
	}
	link struct {
		traceID, spanID *array.FixedSizeBinary
		state           texts
		flags, dropped  *array.Uint32
		attributes      *attributesIn
	}

	into ptrace.Traces
	rs   ptrace.ResourceSpans
	ss   ptrace.ScopeSpans
}

func newSpanColumns(c *columns) *spanColumns {
	s := &spanColumns{
		columns: c, start: c.times("start_time"), stop: c.times("end_time"),
		traceID: c.fixed("trace_id"), spanID: c.fixed("span_id"), parentID: c.fixed("parent_span_id"),
		state: c.texts("trace_state"), name: c.texts("name"), kind: c.texts("kind"), code: c.texts("status_code"), statusMessage: c.texts("status_message"),
		flags: c.u32("flags"), dropped: c.u32("dropped_attributes_count"),
		droppedEvents: c.u32("dropped_events_count"), droppedLinks: c.u32("dropped_links_count"),
		events: c.col("events").(*array.List), links: c.col("links").(*array.List), into: ptrace.NewTraces(),
	}
	e := s.events.ListValues().(*array.Struct)
	s.event.time, s.event.name = times{e.Field(0).(*array.Timestamp), "events.time"}, textsOf(e.Field(1))
	s.event.dropped, s.event.attributes = e.Field(2).(*array.Uint32), c.attributesFrom("events.attributes", e.Field(3), e.Field(4))
	l := s.links.ListValues().(*array.Struct)
	s.link.traceID, s.link.spanID = l.Field(0).(*array.FixedSizeBinary), l.Field(1).(*array.FixedSizeBinary)
	s.link.state, s.link.flags = textsOf(l.Field(2)), l.Field(3).(*array.Uint32)
	s.link.dropped, s.link.attributes = l.Field(4).(*array.Uint32), c.attributesFrom("links.attributes", l.Field(5), l.Field(6))
	return s
}

func (c *columns) traces() (ptrace.Traces, error) {
	in := newSpanColumns(c)
	for i := range c.n {
		if message := c.message(i, Traces); message != nil {
			one, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(message)
			if err != nil {
				return in.into, c.atRow(i, invalid("otlp", "%v", err))
			}
			one.ResourceSpans().MoveAndAppendTo(in.into.ResourceSpans())
			c.beginContainers()
			continue
		}
		if err := in.row(i); err != nil {
			return in.into, c.atRow(i, err)
		}
	}
	return in.into, nil
}

func (c *spanColumns) row(i int) error {
	resource, scope := c.enter(i)
	if resource {
		c.rs = c.into.ResourceSpans().AppendEmpty()
		c.rs.SetSchemaUrl(c.resourceURL.at(i))
		if err := c.setResource(i, c.rs.Resource()); err != nil {
			return err
		}
	}
	if scope {
		c.ss = c.rs.ScopeSpans().AppendEmpty()
		c.ss.SetSchemaUrl(c.scopeURL.at(i))
		if err := c.setScope(i, c.ss.Scope()); err != nil {
			return err
		}
	}
	s := c.ss.Spans().AppendEmpty()
	if err := cmp.Or(c.start.pass(i, s.SetStartTimestamp), c.stop.pass(i, s.SetEndTimestamp)); err != nil {
		return err
	}
	s.SetTraceID(traceIDOf(c.traceID, i))
	s.SetSpanID(spanIDOf(c.spanID, i))
	s.SetParentSpanID(spanIDOf(c.parentID, i))
	s.TraceState().FromRaw(c.state.at(i))
	s.SetName(c.name.at(i))
	kind, err := spanKinds.parse(c.kind.at(i), "kind")
	if err != nil {
		return err
	}
	s.SetKind(ptrace.SpanKind(kind))
	code, err := statusCodes.parse(c.code.at(i), "status_code")
	if err != nil {
		return err
	}
	s.Status().SetCode(ptrace.StatusCode(code))
	s.Status().SetMessage(c.statusMessage.at(i))
	s.SetFlags(u32Of(c.flags, i))
	s.SetDroppedAttributesCount(u32Of(c.dropped, i))
	s.SetDroppedEventsCount(u32Of(c.droppedEvents, i))
	s.SetDroppedLinksCount(u32Of(c.droppedLinks, i))
	if err := c.setEvents(i, s.Events()); err != nil {
		return err
	}
	if err := c.setLinks(i, s.Links()); err != nil {
		return err
	}
	return c.itemAttributes.set(i, s.Attributes())
}

func (c *spanColumns) setEvents(i int, dst ptrace.SpanEventSlice) error {
	from, to, err := c.elements("events", c.events, i)
	if err != nil {
		return err
	}
	for j := from; j < to; j++ {
		e := dst.AppendEmpty()
		if err := c.event.time.pass(j, e.SetTimestamp); err != nil {
			return err
		}
		e.SetName(c.event.name.at(j))
		e.SetDroppedAttributesCount(u32Of(c.event.dropped, j))
		if err := c.event.attributes.set(j, e.Attributes()); err != nil {
			return err
		}
	}
	return nil
}

func (c *spanColumns) setLinks(i int, dst ptrace.SpanLinkSlice) error {
	from, to, err := c.elements("links", c.links, i)
	if err != nil {
		return err
	}
	for j := from; j < to; j++ {
		l := dst.AppendEmpty()
		l.SetTraceID(traceIDOf(c.link.traceID, j))
		l.SetSpanID(spanIDOf(c.link.spanID, j))
		l.TraceState().FromRaw(c.link.state.at(j))
		l.SetFlags(u32Of(c.link.flags, j))
		l.SetDroppedAttributesCount(u32Of(c.link.dropped, j))
		if err := c.link.attributes.set(j, l.Attributes()); err != nil {
			return err
		}
	}
	return nil
}

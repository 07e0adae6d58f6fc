// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// TracesEncoder writes OTLP messages of traces to a stream. It serves one stream
// and is not safe for use by several goroutines at once.
type TracesEncoder struct {
	encoder
	w   *otelstef.SpansWriter
	rec *otelstef.Spans

	links  []extent
	status []extent
	fields spanFields
}

// spanFields are the fields of a Span that are not repeated, except status; see logFields.
type spanFields struct {
	trace, span, parent, state, name                        extent
	kind, start, stop, dropped, droppedEvents, droppedLinks uint64
	flags                                                   uint32
}

// NewTracesEncoder returns an encoder that writes to w. Nothing else may write to w.
func NewTracesEncoder(w *otelstef.SpansWriter) *TracesEncoder {
	notNil(w == nil, "writer")
	e := &TracesEncoder{w: w, rec: w.Record()}
	e.kept = features.OfSpans(w.Fields())
	e.attrs.init(w.Dicts().AttributeKey, w.Dicts().AnyValueString)
	return e
}

// EncodeOTLP writes all spans of b, a TracesData or ExportTraceServiceRequest
// message, in their order. It does not flush the writer, and keeps no reference
// to b. It returns the same kinds of errors as MetricsEncoder.EncodeOTLP.
func (e *TracesEncoder) EncodeOTLP(b []byte) error {
	if err := e.start(b); err != nil {
		return err
	}
	before := e.w.Stats().Records
	err := e.items(e.rec, e.itemsIn, e.item)
	e.links, e.status = reusable(e.links), reusable(e.status)
	return e.finish(&tracesSignal, e.w.Stats().Records-before, err)
}

func (e *TracesEncoder) item(i int, x extent) error {
	e.beginItem()
	if err := e.span(x); err != nil {
		e.rejectItem(i, x, err)
		return nil
	}
	e.countContainers()
	return e.w.Write()
}

// span parses, checks and sets the span from the Span in x. It sets every field, so it
// overwrites the fields of an earlier span that was rejected halfway.
//
// spec: #otlp-spans
func (e *TracesEncoder) span(x extent) error {
	if !e.parse(x) {
		return e.unusual(x, spanShape, e.span)
	}
	if len(e.parts)+len(e.links)+len(e.status) > 0 {
		if err := e.checkParts(); err != nil {
			return err
		}
	}
	return e.set(e.rec.Span())
}

// parse fills e.fields, e.parts, e.links and e.status from the Span in x. It returns
// false for a span that is damaged or has tags in more bytes than necessary.
func (e *TracesEncoder) parse(x extent) bool {
	f := &e.fields
	*f = spanFields{}
	e.links, e.status = e.links[:0], e.status[:0]
	b, at := e.b[:x.to], x.from
	for uint(at) < uint(x.to) {
		field := at
		tag := b[at]
		at++
		switch tag {
		case tagSpanAttributes:
			at = e.itemPair(b, field)
		case tagSpanTraceID:
			f.trace.from, f.trace.to = bytesAt(b, at)
			at = f.trace.to
		case tagSpanSpanID:
			f.span.from, f.span.to = bytesAt(b, at)
			at = f.span.to
		case tagSpanTraceState:
			f.state.from, f.state.to = bytesAt(b, at)
			at = f.state.to
		case tagSpanParentSpanID:
			f.parent.from, f.parent.to = bytesAt(b, at)
			at = f.parent.to
		case tagSpanName:
			f.name.from, f.name.to = bytesAt(b, at)
			at = f.name.to
		case tagSpanKind:
			f.kind, at = longVarint(b, at)
		case tagSpanStartTime, tagSpanEndTime:
			if x.to-at < 8 {
				return false
			}
			if tag == tagSpanStartTime {
				f.start = fixed64(b, at)
			} else {
				f.stop = fixed64(b, at)
			}
			at += 8
		case tagSpanDroppedAttributes:
			f.dropped, at = longVarint(b, at)
		case tagSpanEvent:
			at = collect(&e.parts, b, at)
		case tagSpanDroppedEvents:
			f.droppedEvents, at = longVarint(b, at)
		case tagSpanLink:
			at = collect(&e.links, b, at)
		case tagSpanDroppedLinks:
			f.droppedLinks, at = longVarint(b, at)
		case tagSpanStatus:
			if at < x.to && b[at] == 0 { // the usual case
				at++
				break
			}
			at = collect(&e.status, b, at)
		case spanFlagsTag & 0xff:
			if x.to-at < 5 || b[at] != spanFlagsTag>>8 {
				at = e.skipUnknown(b, field, spanShape)
				break
			}
			f.flags = fixed32(b, at+1)
			at += 5
		default:
			at = e.skipUnknown(b, field, spanShape)
		}
	}
	return at == x.to
}

func (e *TracesEncoder) set(dst *otelstef.Span) error {
	f := &e.fields
	if err := e.spanIDs(dst, f.trace, f.span, f.parent); err != nil {
		return err
	}
	dst.SetTraceState(e.again(dst.TraceState(), f.state))
	dst.SetFlags(uint64(f.flags))
	dst.SetName(e.again(dst.Name(), f.name))
	dst.SetKind(otelstef.SpanKind(int64(int32(f.kind)))) // OTLP enums are signed
	dst.SetStartTimeUnixNano(f.start)
	dst.SetEndTimeUnixNano(f.stop)
	if err := e.itemAttributes(dst.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	dst.SetDroppedAttributesCount(uint64(uint32(f.dropped)))
	if err := e.events(dst); err != nil {
		return err
	}
	if err := e.spanLinks(dst); err != nil {
		return err
	}
	message := e.setStatus(dst.Status())
	if err := e.budget.Take(f.name.to - f.name.from + f.state.to - f.state.from + message); err != nil {
		return mapping.InField("name, trace_state or status.message", err)
	}
	e.dropped(dst, uint32(f.droppedEvents), uint32(f.droppedLinks))
	return nil
}

// checkParts checks the messages in a span except its attributes.
func (e *TracesEncoder) checkParts() error {
	for _, parts := range [...]struct {
		name  string
		list  []extent
		shape *shape
	}{{"events", e.parts, eventShape}, {"links", e.links, linkShape}, {"status", e.status, statusShape}} {
		for _, x := range parts.list {
			if err := e.check(e.b, x, parts.shape); err != nil {
				return mapping.InField(parts.name+".", err)
			}
		}
	}
	return nil
}

func (e *TracesEncoder) spanIDs(dst *otelstef.Span, trace, span, parent extent) error {
	var text mapping.IDText
	id, err := e.id(&text, trace, mapping.TraceIDBytes, e.kept.RawIDs)
	if err != nil {
		return mapping.InField("trace_id", err)
	}
	dst.SetTraceID(id)
	if id, err = e.id(&text, span, mapping.SpanIDBytes, e.kept.RawIDs); err != nil {
		return mapping.InField("span_id", err)
	}
	dst.SetSpanID(id)
	if id, err = e.id(&text, parent, mapping.SpanIDBytes, e.kept.RawIDs); err != nil {
		return mapping.InField("parent_span_id", err)
	}
	dst.SetParentSpanID(id)
	return nil
}

// dropped sets the counts of dropped events and links, or counts them as losses.
func (e *TracesEncoder) dropped(dst *otelstef.Span, events, links uint32) {
	if e.kept.DroppedEvents {
		dst.SetDroppedEventsCount(uint64(events))
	} else if events != 0 {
		e.losses.DroppedEvents++
	}
	if e.kept.DroppedLinks {
		dst.SetDroppedLinksCount(uint64(links))
	} else if links != 0 {
		e.losses.DroppedLinks++
	}
}

// setStatus sets a status from the pieces of a Status message, and returns the number of bytes
// of its text.
func (e *TracesEncoder) setStatus(dst *otelstef.SpanStatus) int {
	var message extent
	var code uint64
	for _, x := range e.status {
		b := e.b[:x.to]
		for at := x.from; at < x.to; {
			tag, field := varint(b, at)
			at = skip(b, field, tag)
			switch tag {
			case tagStatusMessage:
				message = extentAt(b, field)
			case tagStatusCode:
				code, _ = varint(b, field)
			}
		}
	}
	dst.SetMessage(e.again(dst.Message(), message))
	dst.SetCode(uint64(int64(int32(code)))) // OTLP enums are signed
	return message.to - message.from
}

// events sets events from the messages in e.parts.
func (e *TracesEncoder) events(dst *otelstef.Span) error {
	n := len(e.parts)
	list := dst.Events()
	if n == 0 {
		list.SetLen(0)
		return nil
	}
	if err := e.budget.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("events", err)
	}
	list.SetLen(n)
	for i, x := range e.parts {
		if err := e.event(list.At(i), x); err != nil {
			return mapping.InField(fmt.Sprintf("events[%d].attributes", i), err)
		}
	}
	return nil
}

func (e *TracesEncoder) event(dst *otelstef.Event, x extent) error {
	var time, dropped uint64
	var name extent
	e.pairs = e.pairs[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		at = skip(b, field, tag)
		switch tag {
		case tagEventTime:
			time = fixed64(b, field)
		case tagEventName:
			name = extentAt(b, field)
		case tagEventAttributes:
			e.pairs = append(e.pairs, extentAt(b, field))
		case tagEventDroppedAttributes:
			dropped, _ = varint(b, field)
		}
	}
	dst.SetName(e.again(dst.Name(), name))
	e.budget.Left -= name.to - name.from
	dst.SetTimeUnixNano(time)
	dst.SetDroppedAttributesCount(uint64(uint32(dropped)))
	return e.attributes(dst.Attributes())
}

// spanLinks sets links from the messages in e.links.
func (e *TracesEncoder) spanLinks(dst *otelstef.Span) error {
	n := len(e.links)
	list := dst.Links()
	if n == 0 {
		list.SetLen(0)
		return nil
	}
	if err := e.budget.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("links", err)
	}
	list.SetLen(n)
	for i, x := range e.links {
		if err := e.link(list.At(i), x); err != nil {
			return mapping.InField(fmt.Sprintf("links[%d].", i), err)
		}
	}
	return nil
}

func (e *TracesEncoder) link(dst *otelstef.Link, x extent) error {
	var trace, span, state extent
	var flags uint32
	var dropped uint64
	e.pairs = e.pairs[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		at = skip(b, field, tag)
		switch tag {
		case tagLinkTraceID:
			trace = extentAt(b, field)
		case tagLinkSpanID:
			span = extentAt(b, field)
		case tagLinkTraceState:
			state = extentAt(b, field)
		case tagLinkAttributes:
			e.pairs = append(e.pairs, extentAt(b, field))
		case tagLinkDroppedAttributes:
			dropped, _ = varint(b, field)
		case tagLinkFlags:
			flags = fixed32(b, field)
		}
	}
	var text mapping.IDText
	id, err := e.id(&text, trace, mapping.TraceIDBytes, e.kept.RawIDs)
	if err != nil {
		return mapping.InField("trace_id", err)
	}
	dst.SetTraceID(id)
	if id, err = e.id(&text, span, mapping.SpanIDBytes, e.kept.RawIDs); err != nil {
		return mapping.InField("span_id", err)
	}
	dst.SetSpanID(id)
	dst.SetTraceState(e.again(dst.TraceState(), state))
	e.budget.Left -= state.to - state.from
	dst.SetFlags(uint64(flags))
	dst.SetDroppedAttributesCount(uint64(uint32(dropped)))
	if err := e.attributes(dst.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

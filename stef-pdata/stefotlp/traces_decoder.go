// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// TracesDecoder reads a stream of spans into OTLP messages. It serves one stream
// and is not safe for use by several goroutines at once.
type TracesDecoder struct {
	decoder
	records *otelstef.SpansReader
}

// NewTracesDecoder returns a decoder that reads from r. Nothing else may read from r.
func NewTracesDecoder(r *otelstef.SpansReader, options ...DecoderOption) *TracesDecoder {
	notNil(r == nil, "reader")
	return &TracesDecoder{decoder: newDecoder(r, features.Set{}, options), records: r}
}

// AppendOTLP appends to dst a TracesData message of the next records. It handles
// spans as MetricsDecoder.AppendOTLP handles points.
func (d *TracesDecoder) AppendOTLP(dst []byte) ([]byte, error) {
	return d.decode(dst, d.record, d.endResource)
}

func (d *TracesDecoder) record() {
	rec := d.records.Record()
	s := rec.Span()
	if rec.Modified()&otelstef.SpansFieldSpan != 0 && s.Modified()&otelstef.SpanFieldAttributes != 0 {
		d.changed()
	}
	if rec.Resource() != d.resource || rec.Scope() != d.scope {
		d.enter(rec.Resource(), rec.Scope())
	}
	err := d.fault
	if err == nil {
		err = mapping.CheckSpan(s)
	}
	if err != nil {
		d.reject(err)
		return
	}
	d.open()
	d.span(s)
}

// span appends a span that is already checked.
//
// spec: #otlp-spans
func (d *TracesDecoder) span(s *otelstef.Span) {
	attributes := d.encoded(tagSpanAttributes, s.Attributes())
	dst, at := begin(d.out, tagItems, roomItem)
	dst = appendIDs(dst, tagSpanTraceID, s.TraceID(), tagSpanSpanID, s.SpanID())
	dst = appendString(dst, tagSpanTraceState, s.TraceState())
	dst = appendID(dst, tagSpanParentSpanID, s.ParentSpanID(), mapping.SpanIDBytes)
	dst = appendString(dst, tagSpanName, s.Name())
	dst = appendNumber(dst, tagSpanKind, uint64(s.Kind()))
	dst = appendTime(dst, tagSpanStartTime, s.StartTimeUnixNano())
	dst = appendTime(dst, tagSpanEndTime, s.EndTimeUnixNano())
	dst = append(dst, attributes...)
	dst = appendNumber(dst, tagSpanDroppedAttributes, s.DroppedAttributesCount())
	for i := range s.Events().Len() {
		if dst = d.appendEvent(dst, s.Events().At(i)); d.tooLarge(len(dst) - at) {
			break
		}
	}
	dst = appendNumber(dst, tagSpanDroppedEvents, s.DroppedEventsCount())
	for i := range s.Links().Len() {
		if dst = d.appendLink(dst, s.Links().At(i)); d.tooLarge(len(dst) - at) {
			break
		}
	}
	dst = appendNumber(dst, tagSpanDroppedLinks, s.DroppedLinksCount())
	if status := s.Status(); status.Code() != 0 || status.Message() != "" {
		var statusAt int
		dst, statusAt = begin(dst, tagSpanStatus, roomPart)
		dst = appendString(dst, tagStatusMessage, status.Message())
		dst = appendNumber(dst, tagStatusCode, status.Code())
		dst = end(dst, statusAt, roomPart)
	}
	if flags := s.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, spanFlagsTag&0xff, spanFlagsTag>>8), uint32(flags))
	}
	d.out = end(dst, at, roomItem)
}

func (d *TracesDecoder) appendEvent(dst []byte, e *otelstef.Event) []byte {
	dst, at := begin(dst, tagSpanEvent, roomPart)
	dst = appendTime(dst, tagEventTime, e.TimeUnixNano())
	dst = appendString(dst, tagEventName, e.Name())
	dst = d.appendAttributes(dst, tagEventAttributes, e.Attributes())
	dst = appendNumber(dst, tagEventDroppedAttributes, e.DroppedAttributesCount())
	return end(dst, at, roomPart)
}

func (d *TracesDecoder) appendLink(dst []byte, l *otelstef.Link) []byte {
	dst, at := begin(dst, tagSpanLink, roomPart)
	dst = appendIDs(dst, tagLinkTraceID, l.TraceID(), tagLinkSpanID, l.SpanID())
	dst = appendString(dst, tagLinkTraceState, l.TraceState())
	dst = d.appendAttributes(dst, tagLinkAttributes, l.Attributes())
	dst = appendNumber(dst, tagLinkDroppedAttributes, l.DroppedAttributesCount())
	if flags := l.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, tagLinkFlags), uint32(flags))
	}
	return end(dst, at, roomPart)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"fmt"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
)

// TracesDecoder reads a stream of spans into OTLP messages. It serves one stream
// and is not safe for use by several goroutines at once.
type TracesDecoder struct {
	decoder
	records *otelstef.SpansReader
}

// NewTracesDecoder returns a decoder that reads from r, which nothing else may
// read from.
func NewTracesDecoder(r *otelstef.SpansReader, options ...DecoderOption) *TracesDecoder {
	return &TracesDecoder{decoder: newDecoder(r, features.Set{}, options), records: r}
}

// AppendOTLP appends to dst a TracesData message of what is complete. It does for
// spans what MetricsDecoder.AppendOTLP does for points.
func (d *TracesDecoder) AppendOTLP(dst []byte) ([]byte, error) {
	return d.decode(dst, d.record, d.endResource)
}

// record appends the span of the record.
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
		err = checkSpan(s)
	}
	if err != nil {
		d.reject(err)
		return
	}
	before := d.mark()
	d.open()
	if err := d.span(s); err != nil {
		d.backTo(before)
		d.reject(inField("Span.", err))
	}
}

// checkSpan checks the numbers of a span.
//
// spec: #otlp-common
func checkSpan(s *otelstef.Span) error {
	if err := fitsSigned32("Span.Kind", int64(s.Kind())); err != nil {
		return err
	}
	if err := fitsSigned32("Span.Status.Code", int64(s.Status().Code())); err != nil {
		return err
	}
	if (s.Flags()|s.DroppedAttributesCount()|s.DroppedEventsCount()|s.DroppedLinksCount())>>32 == 0 {
		return nil
	}
	for _, n := range [...]struct {
		field string
		value uint64
	}{
		{"Span.Flags", s.Flags()},
		{"Span.DroppedAttributesCount", s.DroppedAttributesCount()},
		{"Span.DroppedEventsCount", s.DroppedEventsCount()},
		{"Span.DroppedLinksCount", s.DroppedLinksCount()},
	} {
		if err := fits32(n.field, n.value); err != nil {
			return err
		}
	}
	return nil
}

// span appends a span that was checked. If an id or a number in an event or link
// is bad, what it appended is to be dropped.
func (d *TracesDecoder) span(s *otelstef.Span) error {
	attributes := d.encoded(9<<3|wireBytes, s.Attributes())
	dst, at := begin(d.out, tagItems, roomItem)
	dst, err := appendIDs(dst, s.TraceID(), s.SpanID())
	if err != nil {
		return err
	}
	dst = appendString(dst, 3<<3|wireBytes, s.TraceState())
	if dst, err = appendID(dst, 4<<3|wireBytes, s.ParentSpanID(), spanIDBytes, "ParentSpanID"); err != nil {
		return err
	}
	dst = appendString(dst, 5<<3|wireBytes, s.Name())
	dst = appendNumber(dst, 6<<3|wireVarint, uint64(s.Kind()))
	dst = appendTime(dst, 7<<3|wireFixed64, s.StartTimeUnixNano())
	dst = appendTime(dst, 8<<3|wireFixed64, s.EndTimeUnixNano())
	dst = append(dst, attributes...)
	dst = appendNumber(dst, 10<<3|wireVarint, s.DroppedAttributesCount())
	for i := range s.Events().Len() {
		if dst, err = d.appendEvent(dst, s.Events().At(i)); err != nil {
			return inField(fmt.Sprintf("Events[%d].", i), err)
		}
	}
	dst = appendNumber(dst, 12<<3|wireVarint, s.DroppedEventsCount())
	for i := range s.Links().Len() {
		if dst, err = d.appendLink(dst, s.Links().At(i)); err != nil {
			return inField(fmt.Sprintf("Links[%d].", i), err)
		}
	}
	dst = appendNumber(dst, 14<<3|wireVarint, s.DroppedLinksCount())
	if status := s.Status(); status.Code() != 0 || status.Message() != "" {
		var statusAt int
		dst, statusAt = begin(dst, 15<<3|wireBytes, roomPart)
		dst = appendString(dst, 2<<3|wireBytes, status.Message())
		dst = appendNumber(dst, 3<<3|wireVarint, status.Code())
		dst = end(dst, statusAt, roomPart)
	}
	if flags := s.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, spanFlagsTag&0xff, spanFlagsTag>>8), uint32(flags))
	}
	d.out = end(dst, at, roomItem)
	return nil
}

// spanFlagsTag is the tag of the flags of a span, the only one of two bytes, as
// it is on the wire, with the first byte last.
const spanFlagsTag = (16<<3|wireFixed32)&0x7f | 0x80 | 1<<8

// appendIDs appends the trace and span id of a span or link.
func appendIDs(dst []byte, trace, span []byte) ([]byte, error) {
	dst, err := appendID(dst, 1<<3|wireBytes, trace, traceIDBytes, "TraceID")
	if err != nil {
		return dst, err
	}
	return appendID(dst, 2<<3|wireBytes, span, spanIDBytes, "SpanID")
}

func (d *TracesDecoder) appendEvent(dst []byte, e *otelstef.Event) ([]byte, error) {
	if err := fits32("DroppedAttributesCount", e.DroppedAttributesCount()); err != nil {
		return dst, err
	}
	dst, at := begin(dst, 11<<3|wireBytes, roomPart)
	dst = appendTime(dst, 1<<3|wireFixed64, e.TimeUnixNano())
	dst = appendString(dst, 2<<3|wireBytes, e.Name())
	dst = d.appendAttributes(dst, 3<<3|wireBytes, e.Attributes())
	dst = appendNumber(dst, 4<<3|wireVarint, e.DroppedAttributesCount())
	return end(dst, at, roomPart), nil
}

func (d *TracesDecoder) appendLink(dst []byte, l *otelstef.Link) ([]byte, error) {
	if err := fits32("Flags", l.Flags()); err != nil {
		return dst, err
	}
	if err := fits32("DroppedAttributesCount", l.DroppedAttributesCount()); err != nil {
		return dst, err
	}
	dst, at := begin(dst, 13<<3|wireBytes, roomPart)
	dst, err := appendIDs(dst, l.TraceID(), l.SpanID())
	if err != nil {
		return dst, err
	}
	dst = appendString(dst, 3<<3|wireBytes, l.TraceState())
	dst = d.appendAttributes(dst, 4<<3|wireBytes, l.Attributes())
	dst = appendNumber(dst, 5<<3|wireVarint, l.DroppedAttributesCount())
	if flags := l.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, 6<<3|wireFixed32), uint32(flags))
	}
	return end(dst, at, roomPart), nil
}

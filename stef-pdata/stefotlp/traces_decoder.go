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
		err = mapping.CheckSpan(s)
	}
	if err != nil {
		d.reject(err)
		return
	}
	d.open()
	d.span(s)
}

// span appends a span that was checked.
//
// spec: #otlp-spans
func (d *TracesDecoder) span(s *otelstef.Span) {
	attributes := d.encoded(9<<3|wireBytes, s.Attributes())
	dst, at := begin(d.out, tagItems, roomItem)
	dst = appendIDs(dst, 1<<3|wireBytes, s.TraceID(), 2<<3|wireBytes, s.SpanID())
	dst = appendString(dst, 3<<3|wireBytes, s.TraceState())
	dst = appendID(dst, 4<<3|wireBytes, s.ParentSpanID(), mapping.SpanIDBytes)
	dst = appendString(dst, 5<<3|wireBytes, s.Name())
	dst = appendNumber(dst, 6<<3|wireVarint, uint64(s.Kind()))
	dst = appendTime(dst, 7<<3|wireFixed64, s.StartTimeUnixNano())
	dst = appendTime(dst, 8<<3|wireFixed64, s.EndTimeUnixNano())
	dst = append(dst, attributes...)
	dst = appendNumber(dst, 10<<3|wireVarint, s.DroppedAttributesCount())
	for i := range s.Events().Len() {
		dst = d.appendEvent(dst, s.Events().At(i))
	}
	dst = appendNumber(dst, 12<<3|wireVarint, s.DroppedEventsCount())
	for i := range s.Links().Len() {
		dst = d.appendLink(dst, s.Links().At(i))
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
}

// spanFlagsTag is the tag of the flags of a span, the only one of two bytes, as
// it is on the wire, with the first byte last.
const spanFlagsTag = (16<<3|wireFixed32)&0x7f | 0x80 | 1<<8

func (d *TracesDecoder) appendEvent(dst []byte, e *otelstef.Event) []byte {
	dst, at := begin(dst, 11<<3|wireBytes, roomPart)
	dst = appendTime(dst, 1<<3|wireFixed64, e.TimeUnixNano())
	dst = appendString(dst, 2<<3|wireBytes, e.Name())
	dst = d.appendAttributes(dst, 3<<3|wireBytes, e.Attributes())
	dst = appendNumber(dst, 4<<3|wireVarint, e.DroppedAttributesCount())
	return end(dst, at, roomPart)
}

func (d *TracesDecoder) appendLink(dst []byte, l *otelstef.Link) []byte {
	dst, at := begin(dst, 13<<3|wireBytes, roomPart)
	dst = appendIDs(dst, 1<<3|wireBytes, l.TraceID(), 2<<3|wireBytes, l.SpanID())
	dst = appendString(dst, 3<<3|wireBytes, l.TraceState())
	dst = d.appendAttributes(dst, 4<<3|wireBytes, l.Attributes())
	dst = appendNumber(dst, 5<<3|wireVarint, l.DroppedAttributesCount())
	if flags := l.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, 6<<3|wireFixed32), uint32(flags))
	}
	return end(dst, at, roomPart)
}

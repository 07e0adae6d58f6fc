// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// LogsEncoder writes OTLP messages of logs to a stream. It serves one stream and
// is not safe for use by several goroutines at once.
type LogsEncoder struct {
	encoder
	w   *otelstef.LogsWriter
	rec *otelstef.Logs

	fields logFields
}

// logFields are the fields of a LogRecord except attributes. They are in a struct:
// local variables would be spilled at every field of the message.
type logFields struct {
	trace, span, severityText, eventName extent
	time, observed, severity, dropped    uint64
	flags                                uint32
	value                                extent // the body
	body                                 choice // kind and content of the body
}

// NewLogsEncoder returns an encoder that writes to w. Nothing else may write to w.
func NewLogsEncoder(w *otelstef.LogsWriter) *LogsEncoder {
	notNil(w == nil, "writer")
	e := &LogsEncoder{w: w, rec: w.Record()}
	e.kept = features.OfLogs(w.Fields())
	e.attrs.init(w.Dicts().AttributeKey, w.Dicts().AnyValueString)
	e.maps.init(w.Dicts().BodyKey, w.Dicts().BodyString)
	return e
}

// EncodeOTLP writes all log records of b, a LogsData or ExportLogsServiceRequest
// message, in their order. It does not flush the writer, and keeps no reference
// to b. It returns the same kinds of errors as MetricsEncoder.EncodeOTLP.
func (e *LogsEncoder) EncodeOTLP(b []byte) error {
	if err := e.start(b); err != nil {
		return err
	}
	before := e.w.Stats().Records
	err := e.items(e.rec, e.itemsIn, e.item)
	e.releaseBody()
	return e.finish(&logsSignal, e.w.Stats().Records-before, err)
}

func (e *LogsEncoder) item(i int, x extent) error {
	e.beginItem()
	if err := e.record(x); err != nil {
		e.rejectItem(i, x, err)
		return nil
	}
	e.countContainers()
	return e.w.Write()
}

// record parses, checks and sets the log record from the LogRecord in x. It never writes
// the observed time as a difference, or a text body as a template.
//
// spec: #otlp-logs
func (e *LogsEncoder) record(x extent) error {
	if !e.parse(x) {
		return e.unusual(x, recordShape, e.record)
	}
	return e.set(e.rec.Record())
}

// parse fills e.fields from the LogRecord in x. It returns false for a log record
// that is damaged or has tags in more bytes than necessary.
func (e *LogsEncoder) parse(x extent) bool {
	f := &e.fields
	*f = logFields{}
	b, at := e.b[:x.to], x.from
	for uint(at) < uint(x.to) {
		field := at
		tag := b[at]
		at++
		switch tag {
		case tagRecordAttributes:
			at = e.itemPair(b, field)
		case tagRecordTime, tagRecordObservedTime:
			if x.to-at < 8 {
				return false
			}
			if tag == tagRecordTime {
				f.time = fixed64(b, at)
			} else {
				f.observed = fixed64(b, at)
			}
			at += 8
		case tagRecordFlags:
			if x.to-at < 4 {
				return false
			}
			f.flags = fixed32(b, at)
			at += 4
		case tagRecordSeverity:
			f.severity, at = longVarint(b, at)
		case tagRecordDroppedAttributes:
			f.dropped, at = longVarint(b, at)
		case tagRecordSeverityText:
			f.severityText.from, f.severityText.to = bytesAt(b, at)
			at = f.severityText.to
		case tagRecordBody:
			f.value.from, f.value.to = bytesAt(b, at)
			if at = f.value.to; at < 0 {
				break
			}
			var ok bool
			if f.body, ok = e.choose(f.value, f.body); !ok {
				at = -1
			}
		case tagRecordTraceID:
			f.trace.from, f.trace.to = bytesAt(b, at)
			at = f.trace.to
		case tagRecordSpanID:
			f.span.from, f.span.to = bytesAt(b, at)
			at = f.span.to
		case tagRecordEventName:
			f.eventName.from, f.eventName.to = bytesAt(b, at)
			at = f.eventName.to
		default:
			at = e.skipUnknown(b, field, recordShape)
		}
	}
	return at == x.to
}

func (e *LogsEncoder) set(dst *otelstef.LogRecord) error {
	f := &e.fields
	dst.SetTime(f.time)
	dst.UnsetObservedDelta()
	dst.SetObservedTime(f.observed)
	dst.SetSeverityNumber(uint64(int64(int32(f.severity)))) // OTLP enums are signed
	dst.SetSeverityText(e.again(dst.SeverityText(), f.severityText))
	dst.SetEventName(e.again(dst.EventName(), f.eventName))
	if err := e.budget.Take(f.severityText.to - f.severityText.from + f.eventName.to - f.eventName.from); err != nil {
		return mapping.InField("severity_text or event_name", err)
	}
	id, err := e.id(nil, f.trace, mapping.TraceIDBytes, true)
	if err != nil {
		return mapping.InField("trace_id", err)
	}
	dst.SetTraceID(id)
	if id, err = e.id(nil, f.span, mapping.SpanIDBytes, true); err != nil {
		return mapping.InField("span_id", err)
	}
	dst.SetSpanID(id)
	dst.SetFlags(uint64(f.flags))
	dst.SetDroppedAttributesCount(uint64(uint32(f.dropped)))
	if err := e.body(dst.Body(), f.value, f.body); err != nil {
		return mapping.InField("body", err)
	}
	if err := e.itemAttributes(dst.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import "github.com/otelstef/stef/stef-go/otelstef"

// LogsEncoder writes OTLP messages of logs to a stream. It serves one stream and
// is not safe for use by several goroutines at once.
type LogsEncoder struct {
	encoder
	w   *otelstef.LogsWriter
	rec *otelstef.Logs
}

// NewLogsEncoder returns an encoder that writes to w, which nothing else may
// write to.
func NewLogsEncoder(w *otelstef.LogsWriter) *LogsEncoder {
	e := &LogsEncoder{w: w, rec: w.Record()}
	e.kept = logsKept(w.Schema())
	return e
}

// EncodeOTLP writes all log records of b, a LogsData or ExportLogsServiceRequest
// message, in their order. It does not flush the writer, and keeps no reference
// to b. Its errors are as those of MetricsEncoder.EncodeOTLP.
func (e *LogsEncoder) EncodeOTLP(b []byte) error {
	if err := e.start(b); err != nil {
		return err
	}
	return e.finish(e.items(e.rec, e.item))
}

// item writes the log record in x.
func (e *LogsEncoder) item(i int, x extent) error {
	e.begin()
	if err := e.record(e.rec.Record(), x); err != nil {
		e.at.offset, e.at.item = x.from, i
		e.reject("", err, 1)
		return nil
	}
	return e.w.Write()
}

// record sets a log record. The observed time goes out as it is and a text body
// without a template.
//
// spec: #otlp-logs
func (e *LogsEncoder) record(dst *otelstef.LogRecord, x extent) error {
	if err := e.check(e.b, x, recordShape); err != nil {
		return err
	}
	var trace, span, severityText, eventName extent
	var time, observed, severity, dropped uint64
	var flags uint32
	var body choice
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		field := at
		tag := uint64(b[at])
		if at++; tag >= 0x80 {
			tag, at = longVarint(b, field)
		}
		switch tag {
		case 6<<3 | wireBytes:
			at = e.itemPair(b, field)
		case 1<<3 | wireFixed64:
			time = fixed64(b, at)
			at += 8
		case 11<<3 | wireFixed64:
			observed = fixed64(b, at)
			at += 8
		case 2<<3 | wireVarint:
			severity, at = varint(b, at)
		case 3<<3 | wireBytes:
			severityText = stretch(b, at)
			at = severityText.to
		case 5<<3 | wireBytes:
			value := stretch(b, at)
			body = e.choose(value, body)
			at = value.to
		case 7<<3 | wireVarint:
			dropped, at = varint(b, at)
		case 8<<3 | wireFixed32:
			flags = fixed32(b, at)
			at += 4
		case 9<<3 | wireBytes:
			trace = stretch(b, at)
			at = trace.to
		case 10<<3 | wireBytes:
			span = stretch(b, at)
			at = span.to
		case 12<<3 | wireBytes:
			eventName = stretch(b, at)
			at = eventName.to
		default:
			at = skip(b, at, tag)
		}
	}
	dst.SetTime(time)
	dst.UnsetObservedDelta()
	dst.SetObservedTime(observed)
	dst.SetSeverityNumber(uint64(int64(int32(severity)))) // OTLP enums are signed
	dst.SetSeverityText(e.again(dst.SeverityText(), severityText))
	dst.SetEventName(e.again(dst.EventName(), eventName))
	if err := e.take(severityText.to - severityText.from + eventName.to - eventName.from); err != nil {
		return inField("severity_text or event_name", err)
	}
	id, err := e.id(nil, trace, traceIDBytes, true)
	if err != nil {
		return inField("trace_id", err)
	}
	dst.SetTraceID(id)
	if id, err = e.id(nil, span, spanIDBytes, true); err != nil {
		return inField("span_id", err)
	}
	dst.SetSpanID(id)
	dst.SetFlags(uint64(flags))
	dst.SetDroppedAttributesCount(uint64(uint32(dropped)))
	if err := e.body(dst.Body(), body); err != nil {
		return inField("body", err)
	}
	if err := e.itemAttributes(dst.Attributes()); err != nil {
		return inField("attributes", err)
	}
	return nil
}

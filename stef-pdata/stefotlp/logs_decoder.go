// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// LogsDecoder reads a stream of logs into OTLP messages. It serves one stream
// and is not safe for use by several goroutines at once.
type LogsDecoder struct {
	decoder
	records *otelstef.LogsReader
	places  mapping.Placeholders
}

// NewLogsDecoder returns a decoder that reads from r. Nothing else may read from r.
func NewLogsDecoder(r *otelstef.LogsReader, options ...DecoderOption) *LogsDecoder {
	notNil(r == nil, "reader")
	return &LogsDecoder{decoder: newDecoder(borrowingReader{r}, features.Set{}, options), records: r}
}

// borrowingReader reads records whose bodies are copied only once, into the message.
type borrowingReader struct{ *otelstef.LogsReader }

func (b borrowingReader) Next() bool { return b.NextBorrowing() }

// AppendOTLP appends to dst a LogsData message of the next records. It handles log
// records as MetricsDecoder.AppendOTLP handles points.
func (d *LogsDecoder) AppendOTLP(dst []byte) ([]byte, error) {
	return d.decode(dst, d.record, d.endResource)
}

func (d *LogsDecoder) record() {
	rec := d.records.Record()
	r := rec.Record()
	if rec.Modified()&otelstef.LogsFieldRecord != 0 && r.Modified()&otelstef.LogRecordFieldAttributes != 0 {
		d.changed()
	}
	if rec.Resource() != d.resource || rec.Scope() != d.scope {
		d.enter(rec.Resource(), rec.Scope())
	}
	err := d.fault
	if err == nil {
		err = mapping.CheckLogRecord(r)
	}
	joined := 0 // length of the body if it is a template
	if t := r.Body().Template(); err == nil && t != nil {
		joined, err = mapping.CheckTemplate(t.Template(), d.places.Count(t.Template()), t.Params())
		if err != nil {
			err = mapping.InField("Record.Body.Template.", err)
		}
	}
	if err != nil {
		d.reject(err)
		return
	}
	d.open()
	d.logRecord(r, joined)
}

// logRecord appends a log record that is already checked. joined is the length of the
// body if it is a template.
//
// spec: #otlp-logs
func (d *LogsDecoder) logRecord(r *otelstef.LogRecord, joined int) {
	attributes := d.encoded(tagRecordAttributes, r.Attributes())
	dst, at := begin(d.out, tagItems, roomItem)
	dst = appendTime(dst, tagRecordTime, r.Time())
	dst = appendTime(dst, tagRecordObservedTime, r.Observed())
	dst = appendNumber(dst, tagRecordSeverity, r.SeverityNumber())
	dst = appendString(dst, tagRecordSeverityText, r.SeverityText())
	dst = d.appendBody(dst, r.Body(), joined)
	dst = append(dst, attributes...)
	dst = appendNumber(dst, tagRecordDroppedAttributes, r.DroppedAttributesCount())
	if flags := r.Flags(); flags != 0 {
		dst = binary.LittleEndian.AppendUint32(append(dst, tagRecordFlags), uint32(flags))
	}
	dst = appendIDs(dst, tagRecordTraceID, r.TraceID(), tagRecordSpanID, r.SpanID())
	dst = appendString(dst, tagRecordEventName, r.EventName())
	d.out = end(dst, at, roomItem)
}

func (d *LogsDecoder) appendBody(dst []byte, body *otelstef.LogBody, joined int) []byte {
	switch body.Type() {
	case otelstef.LogBodyTypeString:
		s := body.Str()
		dst = appendVarint(append(dst, tagRecordBody), uint64(1+varintLen(uint64(len(s)))+len(s)))
		return appendText(dst, tagString, s)
	case otelstef.LogBodyTypeTemplate:
		return appendTemplate(dst, body.Template(), joined)
	case otelstef.LogBodyTypeValue:
		return d.message(dst, tagRecordBody, func() { d.body(body.Value()) })
	}
	return dst
}

// appendTemplate appends the text of a template with its parameters. size is the
// length of the text.
func appendTemplate(dst []byte, t *otelstef.BodyTemplate, size int) []byte {
	dst = appendVarint(append(dst, tagRecordBody), uint64(1+varintLen(uint64(size))+size))
	dst = appendVarint(append(dst, tagString), uint64(size))
	dst, _ = t.AppendText(dst) // it has passed CheckTemplate
	return dst
}

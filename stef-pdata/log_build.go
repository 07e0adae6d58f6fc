// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

const builtLogBytes = 256 // what a log record of pdata takes

// checkRecord checks a log record. It joins the text of the body if that is a
// template.
func (d *LogsDecoder) checkRecord(r *otelstef.LogRecord) (text joinedText, err error) {
	if err := mapping.CheckLogRecord(r); err != nil {
		return text, err
	}
	if t := r.Body().Template(); t != nil {
		if text, err = d.join(t.Template(), t.Params()); err != nil {
			return text, mapping.InField("Record.Body.Template.", err)
		}
	}
	return text, nil
}

// record fills a log record, which is empty. text is the body if src has a
// template.
//
// spec: #otlp-logs
func (d *LogsDecoder) record(dst plog.LogRecord, src *otelstef.LogRecord, text joinedText) {
	d.spent += builtLogBytes + text.size()
	observed := src.ObservedTime()
	if src.HasObservedDelta() {
		observed = src.Time() + uint64(src.ObservedDelta())
	}
	dst.SetTimestamp(pcommon.Timestamp(src.Time()))
	dst.SetObservedTimestamp(pcommon.Timestamp(observed))
	dst.SetSeverityNumber(plog.SeverityNumber(int32(src.SeverityNumber())))
	dst.SetSeverityText(d.text(src.SeverityText()))
	dst.SetEventName(d.text(src.EventName()))
	if len(src.TraceID()) > 0 {
		id := traceID(src.TraceID())
		dst.SetTraceID(id)
	}
	if len(src.SpanID()) > 0 {
		id := spanID(src.SpanID())
		dst.SetSpanID(id)
	}
	dst.SetFlags(plog.LogRecordFlags(src.Flags()))
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
	switch body := src.Body(); body.Type() {
	case otelstef.LogBodyTypeString:
		dst.Body().SetStr(d.text(body.String()))
	case otelstef.LogBodyTypeTemplate:
		d.give(dst.Body(), text)
	case otelstef.LogBodyTypeValue:
		d.body(dst.Body(), body.Value())
	}
	attrs := dst.Attributes()
	if d.attrsKnown {
		d.attrs.CopyTo(attrs)
		d.spent += d.attrsBytes
		return
	}
	before := d.spent
	d.attributes(attrs, src.Attributes())
	d.attrs, d.attrsKnown, d.attrsBytes = attrs, true, d.spent-before
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
	"github.com/otelstef/stef/stef-pdata/internal/template"
)

const builtLogBytes = 256 // size of a log record of pdata

// Logs builds log records of pdata.
type Logs struct {
	Builder
	template.Joiner
	Resources slab.Items[plog.ResourceLogsSlice, plog.ResourceLogs]
	Scopes    slab.Items[plog.ScopeLogsSlice, plog.ScopeLogs]
	Records   slab.Items[plog.LogRecordSlice, plog.LogRecord]
}

// EndBatch drops the references of the builder to the batch. If renew is set, later batches
// share no memory with this batch.
func (b *Logs) EndBatch(renew bool) {
	b.Values.EndBatch()
	if !renew {
		return
	}
	b.Values.Renew()
	b.Joiner.Renew()
	b.Resources.Renew()
	b.Scopes.Renew()
	b.Records.Renew()
}

// CheckRecord checks a log record. If the body is a template, it joins the text.
func (b *Logs) CheckRecord(r *otelstef.LogRecord) (text string, err error) {
	if err := mapping.CheckLogRecord(r); err != nil {
		return text, err
	}
	if t := r.Body().Template(); t != nil {
		if text, err = b.Join(t.Template(), t.Params()); err != nil {
			return text, mapping.InField("Record.Body.Template.", err)
		}
	}
	return text, nil
}

// Record fills dst, which is empty. If the body of src is a template, text is the joined body.
//
// spec: #otlp-logs
func (b *Logs) Record(dst plog.LogRecord, src *otelstef.LogRecord, text string) {
	b.Spent += builtLogBytes + len(text)
	dst.SetTimestamp(pcommon.Timestamp(src.Time()))
	dst.SetObservedTimestamp(pcommon.Timestamp(src.Observed()))
	dst.SetSeverityNumber(plog.SeverityNumber(int32(src.SeverityNumber())))
	dst.SetSeverityText(b.Text(src.SeverityText()))
	dst.SetEventName(b.Text(src.EventName()))
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
		b.SetStr(dst.Body(), b.Text(body.Str()))
	case otelstef.LogBodyTypeTemplate:
		b.SetNewStr(dst.Body(), text)
	case otelstef.LogBodyTypeValue:
		b.body(dst.Body(), body.Value())
	}
	b.attributes(dst.Attributes(), src.Attributes())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/benchmarks/nested"
)

// Logs returns logs as a record batch, to be released by the caller.
func (b *Builder) Logs(ld plog.Logs) (arrow.RecordBatch, error) {
	b.begin()
	for _, rl := range ld.ResourceLogs().All() {
		b.resource(rl.Resource(), rl.SchemaUrl(), rl.ScopeLogs().Len())
		for _, sl := range rl.ScopeLogs().All() {
			b.scope(sl.Scope(), sl.SchemaUrl(), sl.LogRecords().Len())
			for _, lr := range sl.LogRecords().All() {
				b.record(lr)
			}
		}
	}
	return b.batch()
}

func (b *Builder) record(lr plog.LogRecord) {
	t := b.next(items)
	t.attributes(itemTexts, lr.Attributes())
	t.time(logTime, lr.Timestamp())
	t.time(logObserved, lr.ObservedTimestamp())
	t.u8(logSeverity, uint8(lr.SeverityNumber()))
	t.word(logSeverityText, lr.SeverityText())
	t.word(logEventName, lr.EventName())
	t.u8(logBodyKind, uint8(lr.Body().Type()))
	t.u32(logDropped, lr.DroppedAttributesCount())
	t.u32(logFlags, uint32(lr.Flags()))
	t.traceID(logTraceID, lr.TraceID())
	t.spanID(logSpanID, lr.SpanID())
	switch lr.Body().Type() {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeStr:
		b.next(bodies).text(value, lr.Body().Str())
	default:
		b.scratch = nested.Append(b.scratch[:0], lr.Body())
		b.next(otherBodies).blob(value, b.scratch)
	}
}

// Logs converts a record batch to logs.
func Logs(batch arrow.RecordBatch) (plog.Logs, error) {
	ld := plog.NewLogs()
	r, err := newReader(batch)
	if err != nil {
		return ld, err
	}
	for range r[resources].rows {
		rl := ld.ResourceLogs().AppendEmpty()
		scopes, err := r.resource(rl.Resource(), rl.SetSchemaUrl)
		if err != nil {
			return ld, err
		}
		for range scopes {
			sl := rl.ScopeLogs().AppendEmpty()
			items, err := r.scope(sl.Scope(), sl.SetSchemaUrl)
			if err != nil {
				return ld, err
			}
			sl.LogRecords().EnsureCapacity(items)
			for range items {
				if err := r.record(sl.LogRecords().AppendEmpty()); err != nil {
					return ld, err
				}
			}
		}
	}
	return ld, nil
}

func (r reader) record(lr plog.LogRecord) error {
	c, err := r.next(items)
	if err != nil {
		return err
	}
	lr.SetTimestamp(c.time(logTime))
	lr.SetObservedTimestamp(c.time(logObserved))
	lr.SetSeverityNumber(plog.SeverityNumber(c.u8(logSeverity)))
	lr.SetSeverityText(c.word(logSeverityText))
	lr.SetEventName(c.word(logEventName))
	lr.SetDroppedAttributesCount(c.u32(logDropped))
	lr.SetFlags(plog.LogRecordFlags(c.u32(logFlags)))
	lr.SetTraceID(c.traceID(logTraceID))
	lr.SetSpanID(c.spanID(logSpanID))
	switch pcommon.ValueType(c.u8(logBodyKind)) {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeStr:
		b, err := r.next(bodies)
		if err != nil {
			return err
		}
		lr.Body().SetStr(b.text(value))
	default:
		b, err := r.next(otherBodies)
		if err != nil {
			return err
		}
		if err := nested.Parse(b.blob(value), lr.Body()); err != nil {
			return err
		}
	}
	return r.attributes(c, itemTexts, lr.Attributes())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Body is the body of a log record. Unlike attribute values, its text seldom
// repeats, so it has no dictionary.
type Body struct {
	Text  string `parquet:"text,optional"`
	Other Other  `parquet:"other"`
}

// Log is a row of logs. The observed time is stored as the difference from the
// time, which is small.
type Log struct {
	Resource     Resource   `parquet:"resource"`
	Scope        Scope      `parquet:"scope"`
	Time         int64      `parquet:"time,delta"`
	ObservedFrom int64      `parquet:"observed_after,delta"`
	Severity     int32      `parquet:"severity,dict"`
	SeverityText string     `parquet:"severity_text,optional,dict"`
	EventName    string     `parquet:"event_name,optional,dict"`
	Body         Body       `parquet:"body"`
	Attributes   Attributes `parquet:"attributes"`
	Dropped      uint32     `parquet:"dropped,optional"`
	Flags        uint32     `parquet:"flags,optional"`
	TraceID      [16]byte   `parquet:"trace_id,optional"`
	SpanID       [8]byte    `parquet:"span_id,optional"`
}

// LogRows returns the rows of logs.
func LogRows(ld plog.Logs) []Log {
	var s slab
	rows := make([]Log, 0, ld.LogRecordCount())
	scopes := 0
	for i, rl := range ld.ResourceLogs().All() {
		resource := s.resource(i, rl.Resource(), rl.SchemaUrl())
		for _, sl := range rl.ScopeLogs().All() {
			scope := s.scope(scopes, sl.Scope(), sl.SchemaUrl())
			scopes++
			for _, lr := range sl.LogRecords().All() {
				rows = append(rows, Log{
					Resource: resource, Scope: scope,
					Time: int64(lr.Timestamp()), ObservedFrom: int64(lr.ObservedTimestamp()) - int64(lr.Timestamp()),
					Severity: int32(lr.SeverityNumber()), SeverityText: lr.SeverityText(), EventName: lr.EventName(),
					Body: s.body(lr.Body()), Attributes: s.attributes(lr.Attributes()), Dropped: lr.DroppedAttributesCount(),
					Flags: uint32(lr.Flags()), TraceID: lr.TraceID(), SpanID: lr.SpanID(),
				})
			}
		}
	}
	return rows
}

// Logs converts rows to logs. A container begins where its number changes.
func Logs(rows []Log) (plog.Logs, error) {
	ld := plog.NewLogs()
	var rl plog.ResourceLogs
	var sl plog.ScopeLogs
	for i := range rows {
		row := &rows[i]
		resource := i == 0 || row.Resource.ID != rows[i-1].Resource.ID
		if resource {
			rl = ld.ResourceLogs().AppendEmpty()
			rl.SetSchemaUrl(row.Resource.SchemaURL)
			if err := row.Resource.to(rl.Resource()); err != nil {
				return ld, err
			}
		}
		if resource || row.Scope.ID != rows[i-1].Scope.ID {
			sl = rl.ScopeLogs().AppendEmpty()
			sl.SetSchemaUrl(row.Scope.SchemaURL)
			if err := row.Scope.to(sl.Scope()); err != nil {
				return ld, err
			}
		}
		if err := row.to(sl.LogRecords().AppendEmpty()); err != nil {
			return ld, err
		}
	}
	return ld, nil
}

func (r *Log) to(lr plog.LogRecord) error {
	lr.SetTimestamp(pcommon.Timestamp(r.Time))
	lr.SetObservedTimestamp(pcommon.Timestamp(r.Time + r.ObservedFrom))
	lr.SetSeverityNumber(plog.SeverityNumber(r.Severity))
	lr.SetSeverityText(r.SeverityText)
	lr.SetEventName(r.EventName)
	lr.SetDroppedAttributesCount(r.Dropped)
	lr.SetFlags(plog.LogRecordFlags(r.Flags))
	lr.SetTraceID(r.TraceID)
	lr.SetSpanID(r.SpanID)
	if pcommon.ValueType(r.Body.Other.Kind) == pcommon.ValueTypeStr {
		lr.Body().SetStr(r.Body.Text)
	} else if err := r.Body.Other.to(lr.Body()); err != nil {
		return err
	}
	return r.Attributes.to(lr.Attributes())
}

func (s *slab) body(v pcommon.Value) Body {
	if v.Type() == pcommon.ValueTypeStr {
		return Body{v.Str(), Other{Kind: int32(pcommon.ValueTypeStr)}}
	}
	return Body{Other: s.other("", v)}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/plog"
)

var logs = tree[plog.Logs, plog.ResourceLogs, plog.ScopeLogs, plog.LogRecord]{
	resources: func(b plog.Logs) iter.Seq2[int, plog.ResourceLogs] { return b.ResourceLogs().All() },
	scopes:    func(r plog.ResourceLogs) iter.Seq2[int, plog.ScopeLogs] { return r.ScopeLogs().All() },
	items:     func(s plog.ScopeLogs) iter.Seq2[int, plog.LogRecord] { return s.LogRecords().All() },
	write: func(t *text, item plog.LogRecord, yield func([]byte) bool) bool {
		t.record(item)
		return yield(t.buf)
	},
	addResource: func(b plog.Logs) plog.ResourceLogs { return b.ResourceLogs().AppendEmpty() },
	addScope:    func(r plog.ResourceLogs) plog.ScopeLogs { return r.ScopeLogs().AppendEmpty() },
	addItem: func(o Options, s plog.ScopeLogs, item plog.LogRecord) {
		c := s.LogRecords().AppendEmpty()
		item.CopyTo(c)
		o.sort(c.Attributes())
	},
}

// Logs returns the log records of all lds together.
func (o Options) Logs(lds ...plog.Logs) *Items { return itemsOf(&logs, o, lds) }

// MergeLogs is like MergeMetrics for the resources and scopes of log records.
func (o Options) MergeLogs(lds ...plog.Logs) plog.Logs { return logs.merge(o, plog.NewLogs(), lds) }

func (t *text) record(r plog.LogRecord) {
	t.integer("log.time", uint64(r.Timestamp()))
	t.integer("log.observed_time", uint64(r.ObservedTimestamp()))
	t.line("log.severity", "%d %q", int32(r.SeverityNumber()), r.SeverityText())
	t.quoted("log.event_name", r.EventName())
	t.valued("log.body", r.Body())
	t.attributes("log", r.Attributes())
	t.integer("log.dropped_attributes", uint64(r.DroppedAttributesCount()))
	t.line("log.flags", "%#x", uint32(r.Flags()))
	t.quoted("log.trace_id", r.TraceID().String())
	t.quoted("log.span_id", r.SpanID().String())
}

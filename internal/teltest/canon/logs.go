// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import "go.opentelemetry.io/collector/pdata/plog"

// Logs returns the log records of all lds together.
func (o Options) Logs(lds ...plog.Logs) *Items {
	return newItems(func(yield func([]byte) bool) { o.eachRecord(lds, yield) })
}

func (o Options) eachRecord(lds []plog.Logs, yield func([]byte) bool) {
	t := text{Options: o}
	for _, ld := range lds {
		for _, rl := range ld.ResourceLogs().All() {
			t.buf = t.buf[:0]
			t.resource(rl.Resource(), rl.SchemaUrl())
			inResource := len(t.buf)
			for _, sl := range rl.ScopeLogs().All() {
				t.buf = t.buf[:inResource]
				t.scope(sl.Scope(), sl.SchemaUrl())
				inScope := len(t.buf)
				for _, r := range sl.LogRecords().All() {
					t.buf = t.buf[:inScope]
					t.record(r)
					if !yield(t.buf) {
						return
					}
				}
			}
		}
	}
}

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

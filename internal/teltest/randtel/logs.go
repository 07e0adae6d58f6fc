// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package randtel

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Logs returns logs that cover every field and its edge cases.
func (r Random) Logs() plog.Logs {
	ld := plog.NewLogs()
	for range r.IntN(4) {
		rl := ld.ResourceLogs().AppendEmpty()
		rl.SetSchemaUrl(Pick(r, "", "https://opentelemetry.io/schemas/1.27.0"))
		r.resource(rl.Resource())
		for range r.IntN(4) {
			sl := rl.ScopeLogs().AppendEmpty()
			sl.SetSchemaUrl(r.text())
			r.scope(sl.Scope())
			n := Pick(r, 0, 1, 3, 20, 200)
			follows := r.One(2) // the observed time is the time plus a constant
			for range n {
				r.LogRecord(sl.LogRecords().AppendEmpty(), follows)
			}
		}
	}
	return ld
}

// LogRecord fills a log record. If follows is set, its observed time is the time plus a
// constant.
func (r Random) LogRecord(lr plog.LogRecord, follows bool) {
	lr.SetTimestamp(r.time())
	lr.SetObservedTimestamp(Pick(r, r.time(), 1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
	if follows {
		lr.SetObservedTimestamp(lr.Timestamp() + 1000)
	}
	if r.One(4) {
		lr.SetSeverityNumber(plog.SeverityNumber(r.int32()))
	}
	lr.SetSeverityText(Pick(r, "", "INFO", "INFO", "\xff"))
	lr.SetEventName(Pick(r, "", "", "login", "long name of an event"))
	lr.SetTraceID(Pick(r, pcommon.TraceID{}, pcommon.TraceID{15: 1}, pcommon.TraceID{1, 2, 3}))
	lr.SetSpanID(Pick(r, pcommon.SpanID{}, pcommon.SpanID{7: 1}, pcommon.SpanID{1, 2, 3}))
	lr.SetFlags(plog.LogRecordFlags(r.uint32()))
	lr.SetDroppedAttributesCount(r.uint32())
	r.attributes(lr.Attributes())
	switch r.IntN(6) {
	case 0:
		r.value(lr.Body(), 4)
	case 1: // empty
	default:
		lr.Body().SetStr(r.line())
	}
}

// line returns a log line in one of a few forms. Some parameters change rarely, some often.
func (r Random) line() string {
	n := func() int { return Pick(r, 0, 7, 7, 42, r.IntN(1000)) }
	switch r.IntN(9) {
	case 0:
		return fmt.Sprintf("user u%d logged in from 10.0.0.%d", n(), n())
	case 1:
		return fmt.Sprintf("%d requests in %d ms, v1.%d", n(), n(), r.IntN(10)/9)
	case 2:
		return fmt.Sprintf("GET /items/%d?page=%d,%d. HTTP/1.1", n(), n(), n())
	case 3:
		return "nothing to see"
	case 4:
		return fmt.Sprintf("a\x00b %d", n())
	case 5:
		return strings.Repeat(fmt.Sprintf("%d ", n()), n()%3*600) // too many parameters
	case 6:
		return "token " + strings.Repeat("7", n()%300) + " end"
	case 7:
		return fmt.Sprintf("%d", n())
	}
	return fmt.Sprintf("größe=%d µ%d\n-%d- \xff%d", n(), n(), n(), n())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"cmp"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/plog"
)

type logRows struct {
	*rows
	time, observed                  *array.TimestampBuilder
	number                          *array.Int32Builder
	severity, event, body, bodyType textColumn
	traceID, spanID                 *array.FixedSizeBinaryBuilder
	flags, dropped                  *array.Uint32Builder
}

func newLogRows(r *rows) *logRows {
	return &logRows{
		rows: r, time: r.time("time"), observed: r.time("observed_time"), number: r.col("severity_number").(*array.Int32Builder),
		severity: r.text("severity_text"), event: r.text("event_name"), body: r.text("body"), bodyType: r.text("body_type"),
		traceID: r.fixed("trace_id"), spanID: r.fixed("span_id"), flags: r.u32("flags"), dropped: r.u32("dropped_attributes_count"),
	}
}

// bodyTypes are the names of the types of bodies. The name for text is empty.
var bodyTypes = map[byte]string{
	letterString: "", letterInt: "int", letterDouble: "double", letterBool: "bool", letterBytes: "bytes",
	letterArray: "array", letterMap: "map", letterNone: "none",
}

var bodyLetters = func() map[string]byte {
	m := map[string]byte{}
	for letter, name := range bodyTypes {
		m[name] = letter
	}
	return m
}()

func (r *logRows) add(lr plog.LogRecord) error {
	r.begin(lr.Attributes())
	r.putTime(r.time, lr.Timestamp())
	r.putTime(r.observed, lr.ObservedTimestamp())
	if n := lr.SeverityNumber(); n == 0 {
		r.number.AppendNull()
	} else {
		r.number.Append(int32(n))
	}
	r.put(r.severity, lr.SeverityText())
	r.put(r.event, lr.EventName())
	text, letter, exact := textOf(lr.Body())
	r.inexact = r.inexact || !exact
	r.put(r.body, text)
	r.put(r.bodyType, bodyTypes[letter])
	traceID, spanID := lr.TraceID(), lr.SpanID()
	putID(r.traceID, traceID[:])
	putID(r.spanID, spanID[:])
	putCount(r.flags, uint32(lr.Flags()))
	putCount(r.dropped, lr.DroppedAttributesCount())
	return r.end(func() ([]byte, error) {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		r.resource.CopyTo(rl.Resource())
		rl.SetSchemaUrl(r.resourceSchemaURL)
		sl := rl.ScopeLogs().AppendEmpty()
		r.scope.CopyTo(sl.Scope())
		sl.SetSchemaUrl(r.scopeSchemaURL)
		lr.CopyTo(sl.LogRecords().AppendEmpty())
		return (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	})
}

type logColumns struct {
	*columns
	time, observed                  times
	number                          *array.Int32
	severity, event, body, bodyType texts
	traceID, spanID                 *array.FixedSizeBinary
	flags, dropped                  *array.Uint32

	into plog.Logs
	rl   plog.ResourceLogs
	sl   plog.ScopeLogs
}

func newLogColumns(c *columns) *logColumns {
	return &logColumns{
		columns: c, time: c.times("time"), observed: c.times("observed_time"), number: c.col("severity_number").(*array.Int32),
		severity: c.texts("severity_text"), event: c.texts("event_name"), body: c.texts("body"), bodyType: c.texts("body_type"),
		traceID: c.fixed("trace_id"), spanID: c.fixed("span_id"), flags: c.u32("flags"), dropped: c.u32("dropped_attributes_count"),
	}
}

func (c *columns) logs() (plog.Logs, error) {
	in := newLogColumns(c)
	in.into = plog.NewLogs()
	for i := range c.n {
		if message := c.message(i, Logs); message != nil {
			one, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message)
			if err != nil {
				return in.into, c.atRow(i, invalid("otlp", "%v", err))
			}
			one.ResourceLogs().MoveAndAppendTo(in.into.ResourceLogs())
			c.beginContainers()
			continue
		}
		if err := in.row(i); err != nil {
			return in.into, c.atRow(i, err)
		}
	}
	return in.into, nil
}

func (c *logColumns) row(i int) error {
	resource, scope := c.enter(i)
	if resource {
		c.rl = c.into.ResourceLogs().AppendEmpty()
		c.rl.SetSchemaUrl(c.resourceURL.at(i))
		if err := c.setResource(i, c.rl.Resource()); err != nil {
			return err
		}
	}
	if scope {
		c.sl = c.rl.ScopeLogs().AppendEmpty()
		c.sl.SetSchemaUrl(c.scopeURL.at(i))
		if err := c.setScope(i, c.sl.Scope()); err != nil {
			return err
		}
	}
	lr := c.sl.LogRecords().AppendEmpty()
	if err := cmp.Or(c.time.pass(i, lr.SetTimestamp), c.observed.pass(i, lr.SetObservedTimestamp)); err != nil {
		return err
	}
	if c.number.IsValid(i) {
		lr.SetSeverityNumber(plog.SeverityNumber(c.number.Value(i)))
	}
	lr.SetSeverityText(c.severity.at(i))
	lr.SetEventName(c.event.at(i))
	letter, ok := bodyLetters[c.bodyType.at(i)]
	if !ok {
		return invalid("body_type", "unknown type %q: use null for text, or one of %q", c.bodyType.at(i), slices.Sorted(maps.Keys(bodyLetters))[1:])
	}
	c.setValue(lr.Body(), c.body.at(i), letter)
	lr.SetTraceID(traceIDOf(c.traceID, i))
	lr.SetSpanID(spanIDOf(c.spanID, i))
	lr.SetFlags(plog.LogRecordFlags(u32Of(c.flags, i)))
	lr.SetDroppedAttributesCount(u32Of(c.dropped, i))
	return c.itemAttributes.set(i, lr.Attributes())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"io"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// LogsDecoder reads a stream of logs into pdata. It serves one stream and is
// not safe for use by several goroutines at once.
type LogsDecoder struct {
	r        *otelstef.LogsReader
	maxItems int
	builder
	joiner

	group logGroup
	// attrs are attributes built from those of the last record, if known.
	attrs      pcommon.Map
	attrsKnown bool
	attrsBytes int // what they count

	read     uint64 // records read of the stream
	rejected RecordErrors
	err      error // that ended the stream
}

// logGroup is the containers that log records are added to. A container is made
// at its first log record: until then its field made is false.
type logGroup struct {
	ld plog.Logs
	rl plog.ResourceLogs
	sl plog.ScopeLogs

	resource *otelstef.Resource // of the last record
	scope    *otelstef.Scope
	made     struct{ resource, scope bool }
	fault    error // why no log record can be added here
}

// NewLogsDecoder returns a decoder that reads from r, which nothing else may
// read from.
func NewLogsDecoder(r *otelstef.LogsReader, options ...DecoderOption) *LogsDecoder {
	config := newDecoderConfig(options)
	d := &LogsDecoder{r: r, maxItems: config.maxItems}
	d.max = config.maxBytes
	return d
}

// Decode returns what is complete: the log records that are left of the frame,
// or of the next frame, up to the limits of items and bytes. At the end of the stream it
// returns io.EOF.
//
// Records that say what OTLP cannot say are left out and reported in
// RecordErrors; the others are returned with it, and decoding can go on. Any
// other error ends the stream. If the stream breaks within a frame, the log
// records before that are returned with the error, or with RecordErrors and the
// error comes next.
func (d *LogsDecoder) Decode() (plog.Logs, error) {
	ld := plog.NewLogs()
	if d.err != nil {
		return ld, d.err
	}
	d.group = logGroup{ld: ld}
	d.rejected, d.spent, d.attrsKnown = nil, 0, false
	defer d.flush()
	for n := 0; n < d.maxItems && (n == 0 || d.r.Buffered() > 0 && !d.full(n, d.r.DictBytes())); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			if len(d.rejected) > 0 {
				break // the error of the stream is for the next call
			}
			return ld, d.err
		}
		d.read++
		before := d.spent
		d.add(d.r.Record(), d.maxItems-n)
		if d.err = d.check(d.read, before); d.err != nil {
			d.dropLast()
			break
		}
	}
	if len(d.rejected) > 0 {
		return ld, d.rejected
	}
	return ld, d.err
}

// add adds the log record of a record. room is how many may follow, it included.
func (d *LogsDecoder) add(rec *otelstef.Logs, room int) {
	g := &d.group
	if rec.Scope() != g.scope || rec.Resource() != g.resource {
		g.enter(rec)
	}
	lr := rec.Record()
	// A value that was not touched keeps what Modified told before.
	modified := rec.Modified()&otelstef.LogsFieldRecord != 0
	if modified && lr.Modified()&otelstef.LogRecordFieldAttributes != 0 {
		d.attrsKnown = false
	}
	err := g.fault
	var text joinedText
	if err == nil {
		text, err = d.checkRecord(lr)
	}
	if err != nil {
		d.reject(err)
		return
	}
	if !g.made.scope {
		d.open(room)
	}
	d.record(g.sl.LogRecords().AppendEmpty(), lr, text)
}

// enter takes the containers of a record, and notes which ones have to be made.
// Containers of equal content are the same.
//
// spec: #otlp-mapping
func (g *logGroup) enter(rec *otelstef.Logs) {
	resource, scope := rec.Resource(), rec.Scope()
	first := g.resource == nil
	if first || resource != g.resource && !resource.Equal(g.resource) {
		g.made.resource, g.made.scope = false, false
	}
	if first || scope != g.scope && !scope.Equal(g.scope) {
		g.made.scope = false
	}
	g.resource, g.scope = resource, scope
	g.fault = mapping.CheckContainers(resource, scope)
}

// open makes the containers that are not made yet.
func (d *LogsDecoder) open(room int) {
	const container = otelstef.LogsFieldResource | otelstef.LogsFieldScope
	g := &d.group
	if !g.made.resource {
		g.rl = g.ld.ResourceLogs().AppendEmpty()
		g.rl.SetSchemaUrl(d.text(g.resource.SchemaURL()))
		d.resource(g.rl.Resource(), g.resource)
	}
	g.sl = g.rl.ScopeLogs().AppendEmpty()
	g.sl.SetSchemaUrl(d.text(g.scope.SchemaURL()))
	d.scope(g.sl.Scope(), g.scope)
	g.sl.LogRecords().EnsureCapacity(min(1+d.r.Run(container), room))
	g.made.resource, g.made.scope = true, true
}

// reject notes that the record just read is left out.
func (d *LogsDecoder) reject(err error) { d.rejected = mapping.AddRecord(d.rejected, d.read, err) }

// dropLast removes the last log record, and the containers that have no other.
func (d *LogsDecoder) dropLast() {
	d.flush()
	g := &d.group
	records := g.sl.LogRecords()
	dropLast(records.Len(), records.RemoveIf)
	if scopes := g.rl.ScopeLogs(); records.Len() == 0 {
		dropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := g.ld.ResourceLogs(); g.rl.ScopeLogs().Len() == 0 {
		dropLast(resources.Len(), resources.RemoveIf)
	}
}

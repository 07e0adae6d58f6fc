// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/build"
)

// LogsDecoder reads a stream of logs into pdata. It serves one stream and is
// not safe for use by several goroutines at once.
type LogsDecoder struct {
	decoder
	records *otelstef.LogsReader
	build   build.Logs

	batch      plog.Logs
	inResource plog.ResourceLogs
	logs       plog.LogRecordSlice
}

// NewLogsDecoder returns a decoder that reads from r. Nothing else may read from r.
func NewLogsDecoder(r *otelstef.LogsReader, options ...DecoderOption) *LogsDecoder {
	notNil(r == nil, "reader")
	d := &LogsDecoder{records: r}
	d.init(r, &d.build.Budget, options)
	return d
}

// Reset prepares the decoder for the next stream of its reader, which must have been reset before.
// Afterwards the decoder returns the same batches as a new decoder. A batch may share memory with
// earlier batches, also with those of the previous stream.
func (d *LogsDecoder) Reset() {
	d.reset()
	d.build.Joiner.Reset()
}

// Decode returns the log records of the next records: the remaining records of the frame, or
// those of the next frame, up to the limits of items and bytes. At the end of the stream it
// returns io.EOF.
//
// If OTLP cannot express some of the records, Decode reports them in RecordErrors. It returns
// the log records of the other records together with this error, and decoding can continue. Any
// other error ends the stream. See TracesDecoder.Decode for the batch that is returned with such an
// error or with io.EOF.
func (d *LogsDecoder) Decode() (plog.Logs, error) {
	d.batch = plog.NewLogs()
	if d.err != nil {
		return d.batch, d.err
	}
	err := d.decode(d.add, d.dropLast)
	d.build.EndBatch(d.detaches())
	batch := d.batch
	d.batch, d.inResource, d.logs = plog.Logs{}, plog.ResourceLogs{}, plog.LogRecordSlice{} // the caller owns them now
	return batch, err
}

func (d *LogsDecoder) add(room int) {
	rec := d.records.Record()
	if rec.Scope() != d.scope || rec.Resource() != d.resource {
		d.enter(rec.Resource(), rec.Scope())
	}
	lr := rec.Record()
	if d.fault != nil {
		d.reject(d.fault)
		return
	}
	text, err := d.build.CheckRecord(lr)
	if err != nil {
		d.reject(err)
		return
	}
	if !d.hasScope {
		d.open(room)
	}
	d.build.Record(d.build.Records.Append(d.logs), lr, text)
}

// open adds the current resource and scope to the batch, unless the batch has them.
func (d *LogsDecoder) open(room int) {
	const container = otelstef.LogsFieldResource | otelstef.LogsFieldScope
	if !d.hasResource {
		d.inResource = d.build.Resources.Append(d.batch.ResourceLogs())
		d.inResource.SetSchemaUrl(d.build.Text(d.resource.SchemaURL()))
		d.build.Resource(d.inResource.Resource(), d.resource)
	}
	sl := d.build.Scopes.Append(d.inResource.ScopeLogs())
	sl.SetSchemaUrl(d.build.Text(d.scope.SchemaURL()))
	d.build.Scope(sl.Scope(), d.scope)
	d.logs = sl.LogRecords()
	d.build.Records.Reserve(d.logs, min(1+d.records.Run(container), room))
	d.hasResource, d.hasScope = true, true
}

// dropLast removes the last log record, and its scope and resource if they become empty.
func (d *LogsDecoder) dropLast() {
	build.DropLast(d.logs.Len(), d.logs.RemoveIf)
	if scopes := d.inResource.ScopeLogs(); d.logs.Len() == 0 {
		build.DropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := d.batch.ResourceLogs(); d.inResource.ScopeLogs().Len() == 0 {
		build.DropLast(resources.Len(), resources.RemoveIf)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/build"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// TracesDecoder reads a stream of spans into pdata. It serves one stream and is
// not safe for use by several goroutines at once.
type TracesDecoder struct {
	decoder
	records *otelstef.SpansReader
	build   build.Spans

	batch      ptrace.Traces
	inResource ptrace.ResourceSpans
	spans      ptrace.SpanSlice
}

// NewTracesDecoder returns a decoder that reads from r. Nothing else may read from r.
func NewTracesDecoder(r *otelstef.SpansReader, options ...DecoderOption) *TracesDecoder {
	notNil(r == nil, "reader")
	d := &TracesDecoder{records: r}
	d.init(r, &d.build.Budget, options)
	return d
}

// Reset prepares the decoder for the next stream of its reader, which must have been reset before.
// Afterwards the decoder returns the same batches as a new decoder. A batch may share memory with
// earlier batches, also with those of the previous stream.
func (d *TracesDecoder) Reset() {
	d.reset()
}

// Decode returns the spans of the next records: the remaining records of the frame, or those of
// the next frame, up to the limits of items and bytes. At the end of the stream it returns
// io.EOF.
//
// If OTLP cannot express some of the records, such as records with ids of a wrong length, Decode
// reports these in RecordErrors. It returns the spans of the other records together with this
// error, and decoding can continue. Any other error ends the stream. If a frame is damaged,
// Decode returns the spans before the damage and the error. If a frame is cut off, it returns
// no spans, only the error. If a call has both RecordErrors and such an error, it returns the
// RecordErrors, and the next call returns the other error.
//
// The batch is never a zero ptrace.Traces, whose methods panic. With io.EOF it is empty.
func (d *TracesDecoder) Decode() (ptrace.Traces, error) {
	d.batch = ptrace.NewTraces()
	if d.err != nil {
		return d.batch, d.err
	}
	err := d.decode(d.add, d.dropLast)
	d.build.EndBatch(d.detaches())
	batch := d.batch
	d.batch, d.inResource, d.spans = ptrace.Traces{}, ptrace.ResourceSpans{}, ptrace.SpanSlice{} // the caller owns them now
	return batch, err
}

func (d *TracesDecoder) add(room int) {
	rec := d.records.Record()
	if rec.Scope() != d.scope || rec.Resource() != d.resource {
		d.enter(rec.Resource(), rec.Scope())
	}
	err := d.fault
	if err == nil {
		err = mapping.CheckSpan(rec.Span())
	}
	if err != nil {
		d.reject(err)
		return
	}
	if !d.hasScope {
		d.open(room)
	}
	d.build.Span(d.build.Spans.Append(d.spans), rec.Span())
}

// open adds the current resource and scope to the batch, unless the batch has them.
func (d *TracesDecoder) open(room int) {
	const container = otelstef.SpansFieldResource | otelstef.SpansFieldScope
	if !d.hasResource {
		d.inResource = d.build.Resources.Append(d.batch.ResourceSpans())
		d.inResource.SetSchemaUrl(d.build.Text(d.resource.SchemaURL()))
		d.build.Resource(d.inResource.Resource(), d.resource)
	}
	ss := d.build.Scopes.Append(d.inResource.ScopeSpans())
	ss.SetSchemaUrl(d.build.Text(d.scope.SchemaURL()))
	d.build.Scope(ss.Scope(), d.scope)
	d.spans = ss.Spans()
	d.build.Spans.Reserve(d.spans, min(1+d.records.Run(container), room))
	d.hasResource, d.hasScope = true, true
}

// dropLast removes the last span, and its scope and resource if they become empty.
func (d *TracesDecoder) dropLast() {
	build.DropLast(d.spans.Len(), d.spans.RemoveIf)
	if scopes := d.inResource.ScopeSpans(); d.spans.Len() == 0 {
		build.DropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := d.batch.ResourceSpans(); d.inResource.ScopeSpans().Len() == 0 {
		build.DropLast(resources.Len(), resources.RemoveIf)
	}
}

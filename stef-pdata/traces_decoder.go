// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"io"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// TracesDecoder reads a stream of spans into pdata. It serves one stream and is
// not safe for use by several goroutines at once.
type TracesDecoder struct {
	r        *otelstef.SpansReader
	maxItems int
	spanBuilder

	group    spanContainers
	read     uint64 // records read of the stream
	rejected RecordErrors
	err      error // that ended the stream
}

// spanContainers is the containers that spans are added to. A container is made
// at its first span: until then its field made is false.
type spanContainers struct {
	td    ptrace.Traces
	rs    ptrace.ResourceSpans
	spans ptrace.SpanSlice

	resource *otelstef.Resource // of the last record
	scope    *otelstef.Scope
	made     struct{ resource, scope bool }
	fault    error // why no span can be added here
}

// NewTracesDecoder returns a decoder that reads from r, which nothing else may
// read from.
func NewTracesDecoder(r *otelstef.SpansReader, options ...DecoderOption) *TracesDecoder {
	config := newDecoderConfig(options)
	d := &TracesDecoder{r: r, maxItems: config.maxItems}
	d.max = config.maxBytes
	return d
}

// Decode returns what is complete: the spans of the records that are left of
// the frame, or of the next frame, up to the limits of items and bytes. At the end of the
// stream it returns io.EOF.
//
// Records that say what OTLP cannot say, such as ids of other lengths, are left
// out and reported in RecordErrors; the spans of the others are returned with
// it, and decoding can go on. Any other error ends the stream. If the stream
// breaks within a frame, the spans before that are returned with the error, or
// with RecordErrors and the error comes next.
func (d *TracesDecoder) Decode() (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	if d.err != nil {
		return td, d.err
	}
	d.group = spanContainers{td: td}
	d.rejected, d.spent = nil, 0
	for n := 0; n < d.maxItems && (n == 0 || d.r.Buffered() > 0 && !d.full(n, d.r.DictBytes())); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			if len(d.rejected) > 0 {
				break // the error of the stream is for the next call
			}
			return td, d.err
		}
		d.read++
		before := d.spent
		d.add(d.r.Record())
		if d.err = d.check(d.read, before); d.err != nil {
			d.dropLast()
			break
		}
	}
	if len(d.rejected) > 0 {
		return td, d.rejected
	}
	return td, d.err
}

// add adds the span of a record.
func (d *TracesDecoder) add(rec *otelstef.Spans) {
	g := &d.group
	if rec.Scope() != g.scope || rec.Resource() != g.resource {
		g.enter(rec)
	}
	err := g.fault
	if err == nil {
		err = mapping.CheckSpan(rec.Span())
	}
	if err != nil {
		d.rejected = mapping.AddRecord(d.rejected, d.read, err)
		return
	}
	if !g.made.scope {
		d.open()
	}
	d.span(g.spans.AppendEmpty(), rec.Span())
}

// enter takes the containers of a record, and notes which ones have to be made.
// Containers of equal content are the same.
func (g *spanContainers) enter(rec *otelstef.Spans) {
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
func (d *TracesDecoder) open() {
	g := &d.group
	if !g.made.resource {
		g.rs = g.td.ResourceSpans().AppendEmpty()
		g.rs.SetSchemaUrl(d.text(g.resource.SchemaURL()))
		d.resource(g.rs.Resource(), g.resource)
	}
	ss := g.rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl(d.text(g.scope.SchemaURL()))
	d.scope(ss.Scope(), g.scope)
	g.spans = ss.Spans()
	more := d.r.Run(otelstef.SpansFieldResource | otelstef.SpansFieldScope)
	g.spans.EnsureCapacity(min(1+more, d.maxItems))
	g.made.resource, g.made.scope = true, true
}

// dropLast removes the last span, and the containers that have no other.
func (d *TracesDecoder) dropLast() {
	g := &d.group
	dropLast(g.spans.Len(), g.spans.RemoveIf)
	if scopes := g.rs.ScopeSpans(); g.spans.Len() == 0 {
		dropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := g.td.ResourceSpans(); g.rs.ScopeSpans().Len() == 0 {
		dropLast(resources.Len(), resources.RemoveIf)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
)

const (
	builtSpanBytes  = 384 // size of a span of pdata
	builtEventBytes = 160 // size of an event or link
)

// Spans builds pdata spans from records.
type Spans struct {
	Builder
	Resources slab.Items[ptrace.ResourceSpansSlice, ptrace.ResourceSpans]
	Scopes    slab.Items[ptrace.ScopeSpansSlice, ptrace.ScopeSpans]
	Spans     slab.Items[ptrace.SpanSlice, ptrace.Span]

	spanEvents slab.Items[ptrace.SpanEventSlice, ptrace.SpanEvent]
	spanLinks  slab.Items[ptrace.SpanLinkSlice, ptrace.SpanLink]
}

// EndBatch drops the references of the builder to the batch. If renew is set, later batches
// share no memory with this batch.
func (b *Spans) EndBatch(renew bool) {
	b.Values.EndBatch()
	if !renew {
		return
	}
	b.Values.Renew()
	b.Resources.Renew()
	b.Scopes.Renew()
	b.Spans.Renew()
	b.spanEvents.Renew()
	b.spanLinks.Renew()
}

// Span sets dst, which is empty, to a span that is already checked.
//
// spec: #otlp-spans
func (b *Spans) Span(dst ptrace.Span, src *otelstef.Span) {
	b.Spent += builtSpanBytes
	trace := traceID(src.TraceID())
	span := spanID(src.SpanID())
	parent := spanID(src.ParentSpanID())
	dst.SetTraceID(trace)
	dst.SetSpanID(span)
	dst.SetParentSpanID(parent)
	dst.TraceState().FromRaw(b.Text(src.TraceState()))
	dst.SetFlags(uint32(src.Flags()))
	dst.SetName(b.Text(src.Name()))
	dst.SetKind(ptrace.SpanKind(src.Kind()))
	dst.SetStartTimestamp(pcommon.Timestamp(src.StartTimeUnixNano()))
	dst.SetEndTimestamp(pcommon.Timestamp(src.EndTimeUnixNano()))
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
	b.events(dst.Events(), src)
	b.links(dst.Links(), src)
	dst.SetDroppedEventsCount(uint32(src.DroppedEventsCount()))
	dst.SetDroppedLinksCount(uint32(src.DroppedLinksCount()))
	dst.Status().SetMessage(b.Text(src.Status().Message()))
	dst.Status().SetCode(ptrace.StatusCode(src.Status().Code()))
}

func (b *Spans) events(dst ptrace.SpanEventSlice, span *otelstef.Span) {
	list := span.Events()
	n := list.Len()
	if n == 0 {
		return
	}
	b.Spent += n * builtEventBytes
	b.spanEvents.Reserve(dst, n)
	for i := range n {
		from, to := list.At(i), b.spanEvents.Append(dst)
		to.SetName(b.Text(from.Name()))
		to.SetTimestamp(pcommon.Timestamp(from.TimeUnixNano()))
		b.attributes(to.Attributes(), from.Attributes())
		to.SetDroppedAttributesCount(uint32(from.DroppedAttributesCount()))
	}
}

func (b *Spans) links(dst ptrace.SpanLinkSlice, span *otelstef.Span) {
	list := span.Links()
	n := list.Len()
	if n == 0 {
		return
	}
	b.Spent += n * builtEventBytes
	b.spanLinks.Reserve(dst, n)
	for i := range n {
		from, to := list.At(i), b.spanLinks.Append(dst)
		trace := traceID(from.TraceID())
		span := spanID(from.SpanID())
		to.SetTraceID(trace)
		to.SetSpanID(span)
		to.TraceState().FromRaw(b.Text(from.TraceState()))
		to.SetFlags(uint32(from.Flags()))
		b.attributes(to.Attributes(), from.Attributes())
		to.SetDroppedAttributesCount(uint32(from.DroppedAttributesCount()))
	}
}

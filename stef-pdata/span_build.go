// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
)

const (
	builtSpanBytes  = 384 // what a span of pdata takes
	builtEventBytes = 160 // what an event or link takes
)

// checkSpan checks the numbers and ids of a span.
//
// spec: #otlp-common
func checkSpan(s *otelstef.Span) error {
	if err := checkIDs(s.TraceID(), s.SpanID()); err != nil {
		return inField("Span.", err)
	}
	if _, ok := spanID(s.ParentSpanID()); !ok {
		return notOTLP("Span.ParentSpanID", "%d bytes are no span id", len(s.ParentSpanID()))
	}
	if err := fitsSigned32("Span.Kind", int64(s.Kind())); err != nil {
		return err
	}
	if err := fitsSigned32("Span.Status.Code", int64(s.Status().Code())); err != nil {
		return err
	}
	if s.Flags()|s.DroppedAttributesCount()|s.DroppedEventsCount()|s.DroppedLinksCount() > math.MaxUint32 {
		return checkSpanNumbers(s)
	}
	for i := range s.Events().Len() {
		if n := s.Events().At(i).DroppedAttributesCount(); n > math.MaxUint32 {
			return fits32(fmt.Sprintf("Span.Events[%d].DroppedAttributesCount", i), n)
		}
	}
	for i := range s.Links().Len() {
		if err := checkLink(s.Links().At(i)); err != nil {
			return inField(fmt.Sprintf("Span.Links[%d].", i), err)
		}
	}
	return nil
}

// checkSpanNumbers names the number that is too large.
func checkSpanNumbers(s *otelstef.Span) error {
	if err := fits32("Span.Flags", s.Flags()); err != nil {
		return err
	}
	if err := fits32("Span.DroppedAttributesCount", s.DroppedAttributesCount()); err != nil {
		return err
	}
	if err := fits32("Span.DroppedEventsCount", s.DroppedEventsCount()); err != nil {
		return err
	}
	return fits32("Span.DroppedLinksCount", s.DroppedLinksCount())
}

func checkLink(l *otelstef.Link) error {
	if err := checkIDs(l.TraceID(), l.SpanID()); err != nil {
		return err
	}
	if err := fits32("Flags", l.Flags()); err != nil {
		return err
	}
	return fits32("DroppedAttributesCount", l.DroppedAttributesCount())
}

func checkIDs(trace, span []byte) error {
	if _, ok := traceID(trace); !ok {
		return notOTLP("TraceID", "%d bytes are no trace id", len(trace))
	}
	if _, ok := spanID(span); !ok {
		return notOTLP("SpanID", "%d bytes are no span id", len(span))
	}
	return nil
}

// spanBuilder builds spans of pdata from records.
type spanBuilder struct {
	builder
}

// span gives dst, which is empty, what a span says that was checked.
//
// spec: #otlp-spans
func (b *spanBuilder) span(dst ptrace.Span, src *otelstef.Span) {
	b.spent += builtSpanBytes
	trace, _ := traceID(src.TraceID())
	span, _ := spanID(src.SpanID())
	parent, _ := spanID(src.ParentSpanID())
	dst.SetTraceID(trace)
	dst.SetSpanID(span)
	dst.SetParentSpanID(parent)
	dst.TraceState().FromRaw(src.TraceState())
	dst.SetFlags(uint32(src.Flags()))
	dst.SetName(src.Name())
	dst.SetKind(ptrace.SpanKind(src.Kind()))
	dst.SetStartTimestamp(pcommon.Timestamp(src.StartTimeUnixNano()))
	dst.SetEndTimestamp(pcommon.Timestamp(src.EndTimeUnixNano()))
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
	b.events(dst.Events(), src)
	b.links(dst.Links(), src)
	dst.SetDroppedEventsCount(uint32(src.DroppedEventsCount()))
	dst.SetDroppedLinksCount(uint32(src.DroppedLinksCount()))
	dst.Status().SetMessage(src.Status().Message())
	dst.Status().SetCode(ptrace.StatusCode(src.Status().Code()))
}

func (b *spanBuilder) events(dst ptrace.SpanEventSlice, span *otelstef.Span) {
	list := span.Events()
	n := list.Len()
	if n == 0 {
		return
	}
	b.spent += n * builtEventBytes
	dst.EnsureCapacity(n)
	for i := range n {
		from, to := list.At(i), dst.AppendEmpty()
		to.SetName(from.Name())
		to.SetTimestamp(pcommon.Timestamp(from.TimeUnixNano()))
		b.attributes(to.Attributes(), from.Attributes())
		to.SetDroppedAttributesCount(uint32(from.DroppedAttributesCount()))
	}
}

func (b *spanBuilder) links(dst ptrace.SpanLinkSlice, span *otelstef.Span) {
	list := span.Links()
	n := list.Len()
	if n == 0 {
		return
	}
	b.spent += n * builtEventBytes
	dst.EnsureCapacity(n)
	for i := range n {
		from, to := list.At(i), dst.AppendEmpty()
		trace, _ := traceID(from.TraceID())
		span, _ := spanID(from.SpanID())
		to.SetTraceID(trace)
		to.SetSpanID(span)
		to.TraceState().FromRaw(from.TraceState())
		to.SetFlags(uint32(from.Flags()))
		b.attributes(to.Attributes(), from.Attributes())
		to.SetDroppedAttributesCount(uint32(from.DroppedAttributesCount()))
	}
}

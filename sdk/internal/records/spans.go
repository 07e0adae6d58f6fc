// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Spans writes spans to a stream.
type Spans struct {
	containers
	copier
	w      *otelstef.SpansWriter
	rec    *otelstef.Spans
	rawIDs bool // ids as bytes; false in the published schema, where ids are text
	sorter spanSorter

	id   [16]byte
	text [32]byte
}

// NewSpans returns an encoder that writes to w. Nothing else may write to w.
func NewSpans(w *otelstef.SpansWriter) *Spans {
	// Ids are text in the published schema, and bytes in other schemas. Only the published schema
	// lacks the number of dropped events, so this field tells the schemas apart.
	//
	// spec: #otlp-common
	e := &Spans{w: w, rec: w.Record(), rawIDs: w.Fields().Span&otelstef.SpanFieldDroppedEventsCount != 0}
	e.containers.init()
	return e
}

// Encode writes spans. An *OmittedError reports omitted spans. After any other error,
// neither the encoder nor the writer can continue.
func (e *Spans) Encode(spans []sdktrace.ReadOnlySpan) error {
	var left omitted
	for _, span := range e.sorter.sort(spans) {
		if err := e.write(span); errors.Is(err, stef.ErrLimit) {
			left.add(1, err)
		} else if err != nil {
			return err
		}
	}
	e.sorter.reset()
	return left.err()
}

func (e *Spans) write(span sdktrace.ReadOnlySpan) error {
	resource, scope := e.enterResource(span.Resource()), e.enterScope(span.InstrumentationScope())
	if err := cmp.Or(resource.err, scope.err); err != nil {
		return err
	}
	e.rec.SetResource(resource.value)
	e.rec.SetScope(scope.value)
	e.begin()
	if err := e.span(e.rec.Span(), span); err != nil {
		return fmt.Errorf("span %q: %w", truncate(span.Name()), err)
	}
	return e.w.Write()
}

// span sets every field of dst, so it overwrites the fields of a previous span that was
// omitted after some of its fields were set.
//
// spec: #otlp-spans
func (e *Spans) span(dst *otelstef.Span, s sdktrace.ReadOnlySpan) error {
	context, parent := s.SpanContext(), s.Parent()
	dst.SetTraceID(e.traceID(context.TraceID()))
	dst.SetSpanID(e.spanID(context.SpanID()))
	dst.SetParentSpanID(e.spanID(parent.SpanID()))
	name, state := s.Name(), context.TraceState().String()
	dst.SetName(name)
	dst.SetTraceState(state)
	dst.SetFlags(flags(context.TraceFlags(), parent))
	dst.SetKind(spanKind(s.SpanKind()))
	dst.SetStartTimeUnixNano(unixNano(s.StartTime()))
	dst.SetEndTimeUnixNano(unixNano(s.EndTime()))
	status := s.Status()
	dst.Status().SetCode(statusCode(status.Code))
	dst.Status().SetMessage(status.Description)
	dst.SetDroppedAttributesCount(clamp(s.DroppedAttributes()))
	dst.SetDroppedEventsCount(clamp(s.DroppedEvents()))
	dst.SetDroppedLinksCount(clamp(s.DroppedLinks()))
	if err := e.take(len(name) + len(state) + len(status.Description)); err != nil {
		return err
	}
	if err := e.attributes(dst.Attributes(), s.Attributes()); err != nil {
		return err
	}
	if err := e.events(dst, s.Events()); err != nil {
		return err
	}
	return e.links(dst, s.Links())
}

func (e *Spans) events(dst *otelstef.Span, src []sdktrace.Event) error {
	list := dst.Events()
	if len(src)|list.Len() == 0 {
		return nil
	}
	if err := e.take(partBytes * len(src)); err != nil {
		return err
	}
	list.SetLen(len(src))
	for i := range src {
		from, to := &src[i], list.At(i)
		to.SetName(from.Name)
		to.SetTimeUnixNano(unixNano(from.Time))
		to.SetDroppedAttributesCount(clamp(from.DroppedAttributeCount))
		e.left -= len(from.Name)
		if err := e.attributes(to.Attributes(), from.Attributes); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return e.take(0)
}

func (e *Spans) links(dst *otelstef.Span, src []sdktrace.Link) error {
	list := dst.Links()
	if len(src)|list.Len() == 0 {
		return nil
	}
	if err := e.take(partBytes * len(src)); err != nil {
		return err
	}
	list.SetLen(len(src))
	for i := range src {
		from, to := &src[i], list.At(i)
		state := from.SpanContext.TraceState().String()
		to.SetTraceID(e.traceID(from.SpanContext.TraceID()))
		to.SetSpanID(e.spanID(from.SpanContext.SpanID()))
		to.SetTraceState(state)
		to.SetFlags(flags(from.SpanContext.TraceFlags(), from.SpanContext))
		to.SetDroppedAttributesCount(clamp(from.DroppedAttributeCount))
		e.left -= len(state)
		if err := e.attributes(to.Attributes(), from.Attributes); err != nil {
			return fmt.Errorf("link %d: %w", i, err)
		}
	}
	return e.take(0)
}

// traceID encodes an id for the stream. The result is valid until the next call. Unset
// ids are empty.
//
// spec: #otlp-common
func (e *Spans) traceID(id trace.TraceID) []byte {
	if !id.IsValid() {
		return nil
	}
	return e.encodeID(copy(e.id[:], id[:]))
}

// spanID is like traceID, but for span ids.
func (e *Spans) spanID(id trace.SpanID) []byte {
	if !id.IsValid() {
		return nil
	}
	return e.encodeID(copy(e.id[:], id[:]))
}

func (e *Spans) encodeID(n int) []byte {
	if e.rawIDs {
		return e.id[:n]
	}
	return e.text[:hex.Encode(e.text[:], e.id[:n])]
}

// These are bits of the flags of OTLP. flagKnowsRemote says that flagRemote is valid.
// flagRemote says that the parent, or the linked span, belongs to another process.
const (
	flagKnowsRemote = 0x100
	flagRemote      = 0x200
)

func flags(own trace.TraceFlags, from trace.SpanContext) uint64 {
	f := uint64(own) | flagKnowsRemote
	if from.IsRemote() {
		f |= flagRemote
	}
	return f
}

func spanKind(kind trace.SpanKind) otelstef.SpanKind {
	switch kind {
	case trace.SpanKindInternal:
		return otelstef.SpanKindInternal
	case trace.SpanKindServer:
		return otelstef.SpanKindServer
	case trace.SpanKindClient:
		return otelstef.SpanKindClient
	case trace.SpanKindProducer:
		return otelstef.SpanKindProducer
	case trace.SpanKindConsumer:
		return otelstef.SpanKindConsumer
	}
	return otelstef.SpanKindUnspecified
}

// statusCode converts a status code to OTLP. The API numbers the codes in another
// order.
func statusCode(code codes.Code) uint64 {
	switch code {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	}
	return 0
}

// unixNano returns a time as nanoseconds since 1970, as in OTLP; 0 for the zero
// time, and for times that 64 bits cannot hold: before 1970 and after July 2554.
func unixNano(t time.Time) uint64 {
	seconds, nanos := uint64(t.Unix()), uint64(t.Nanosecond()) // seconds before 1970 are negative, so they become very large numbers
	if seconds >= lastSecond && (seconds > lastSecond || nanos > math.MaxUint64-lastSecond*1e9) {
		return 0
	}
	return seconds*1e9 + nanos
}

// lastSecond is the last second whose first nanosecond fits into 64 bits.
const lastSecond = math.MaxUint64 / 1_000_000_000

func clamp(n int) uint64 { return uint64(min(max(int64(n), 0), math.MaxUint32)) }

func truncate(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"

	descriptors "github.com/otelstef/stef/internal/signal"
)

// threeSpans returns a batch with three spans, each with its own start time. It also returns the
// spans.
func threeSpans() (ptrace.Traces, ptrace.SpanSlice) {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range 3 {
		s := spans.AppendEmpty()
		s.SetStartTimestamp(timestamp(uint64(i)))
		s.Attributes().PutStr("k", "v")
	}
	return td, spans
}

// Spans that exceed a limit are reported with their indexes in the batch, and all other spans are
// written.
func TestSpansBeyondLimits(t *testing.T) {
	f := func(field string, items, left int, at stefpdata.ItemError, spoil func(ptrace.Traces)) {
		t.Helper()
		for _, mode := range modes {
			td, spans := threeSpans()
			spans.CopyTo(td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans())
			spoil(td)
			at.Field, at.Metric = field, -1
			requireRefused(t, descriptors.Traces, mode, td, items, left, at)
		}
	}
	resource := stefpdata.ItemError{Resource: 0, Scope: -1, Item: -1}
	scope := stefpdata.ItemError{Resource: 0, Scope: 0, Item: -1}
	span := stefpdata.ItemError{Resource: 0, Scope: 0, Item: 1}
	rs := func(td ptrace.Traces) ptrace.ResourceSpans { return td.ResourceSpans().At(0) }
	one := func(td ptrace.Traces) ptrace.Span { return rs(td).ScopeSpans().At(0).Spans().At(1) }
	for _, spoil := range []struct {
		path  string
		spoil func(pcommon.Map)
	}{
		{"", tooMany},
		{`["deep"]` + strings.Repeat("[0]", stefpdata.MaxDepth), tooDeep},
		{`["large"]`, tooLarge},
	} {
		f("resource.attributes"+spoil.path, 3, 3, resource, func(td ptrace.Traces) { spoil.spoil(rs(td).Resource().Attributes()) })
		f("scope.attributes"+spoil.path, 3, 3, scope, func(td ptrace.Traces) { spoil.spoil(rs(td).ScopeSpans().At(0).Scope().Attributes()) })
		f("attributes"+spoil.path, 1, 5, span, func(td ptrace.Traces) { spoil.spoil(one(td).Attributes()) })
		f("events[1].attributes"+spoil.path, 1, 5, span, func(td ptrace.Traces) {
			one(td).Events().AppendEmpty()
			spoil.spoil(one(td).Events().AppendEmpty().Attributes())
		})
		f("links[0].attributes"+spoil.path, 1, 5, span, func(td ptrace.Traces) { spoil.spoil(one(td).Links().AppendEmpty().Attributes()) })
	}
	large := strings.Repeat("x", stefpdata.MaxItemBytes)
	f("name, trace_state or status.message", 1, 5, span, func(td ptrace.Traces) { one(td).SetName(large) })
	f("name, trace_state or status.message", 1, 5, span, func(td ptrace.Traces) { one(td).TraceState().FromRaw(large) })
	f("name, trace_state or status.message", 1, 5, span, func(td ptrace.Traces) { one(td).Status().SetMessage(large) })
	f("events", 1, 5, span, func(td ptrace.Traces) {
		for range stefpdata.MaxItemBytes/512 + 1 {
			one(td).Events().AppendEmpty()
		}
	})
	f("links", 1, 5, span, func(td ptrace.Traces) {
		for range stefpdata.MaxItemBytes/512 + 1 {
			one(td).Links().AppendEmpty()
		}
	})
}

// Readers with default limits read spans that are just within the limits of the encoder.
func TestSpansAtLimits(t *testing.T) {
	f := func(fill func(ptrace.Span)) {
		t.Helper()
		td, spans := threeSpans()
		fill(spans.At(1))
		for _, mode := range modes {
			requireSameTraces(t, mode, []ptrace.Traces{td}, decodeTraces(t, encodeTraces(t, []ptrace.Traces{td}, mode)))
		}
	}
	f(func(s ptrace.Span) {
		for range stefpdata.MaxItemBytes/512 - 1 {
			s.Events().AppendEmpty()
		}
	})
	f(func(s ptrace.Span) {
		for range stefpdata.MaxItemBytes/512 - 1 {
			s.Links().AppendEmpty()
		}
	})
	f(func(s ptrace.Span) {
		for range 7_000 {
			s.Events().AppendEmpty().Attributes().PutStr("key", "value")
		}
	})
	f(func(s ptrace.Span) { s.SetName(strings.Repeat("x", stefpdata.MaxItemBytes-1000)) })
	f(func(s ptrace.Span) {
		tooMany(s.Attributes())
		s.Attributes().Remove("key0")
		s.Attributes().Remove("k")
	})
	f(func(s ptrace.Span) { deep(s.Events().AppendEmpty().Attributes().PutEmpty("deep"), stefpdata.MaxDepth) })
}

// Records that OTLP cannot express are reported, and all other records are converted.
func TestSpanRecordsBeyondOTLP(t *testing.T) {
	f := func(field string, spoil func(*otelstef.Spans)) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out)
		require.NoError(t, err)
		good := func() {
			w.Record().Reset()
			w.Record().Span().SetName("good")
			require.NoError(t, w.Write())
		}
		good()
		for range 2 {
			spoil(w.Record())
			require.NoError(t, w.Write())
		}
		good()
		require.NoError(t, w.Close())

		requireLeftOut(t, descriptors.Traces, out.Bytes(), field)
	}
	f("Resource.DroppedAttributesCount", func(s *otelstef.Spans) { s.EditResource().SetDroppedAttributesCount(1 << 32) })
	f("Scope.DroppedAttributesCount", func(s *otelstef.Spans) { s.EditScope().SetDroppedAttributesCount(1 << 32) })
	f("Span.TraceID", func(s *otelstef.Spans) { s.Span().SetTraceID([]byte("short")) })
	f("Span.TraceID", func(s *otelstef.Spans) { s.Span().SetTraceID([]byte("thirty-two bytes that are no hex")) })
	f("Span.SpanID", func(s *otelstef.Spans) { s.Span().SetSpanID(make([]byte, 9)) })
	f("Span.ParentSpanID", func(s *otelstef.Spans) { s.Span().SetParentSpanID([]byte("sixteen, no hex!")) })
	f("Span.Flags", func(s *otelstef.Spans) { s.Span().SetFlags(1 << 32) })
	f("Span.Kind", func(s *otelstef.Spans) { s.Span().SetKind(1 << 31) })
	f("Span.Status.Code", func(s *otelstef.Spans) { s.Span().Status().SetCode(1 << 63) })
	f("Span.DroppedAttributesCount", func(s *otelstef.Spans) { s.Span().SetDroppedAttributesCount(1 << 32) })
	f("Span.DroppedEventsCount", func(s *otelstef.Spans) { s.Span().SetDroppedEventsCount(1 << 40) })
	f("Span.DroppedLinksCount", func(s *otelstef.Spans) { s.Span().SetDroppedLinksCount(1 << 63) })
	f("Span.Events[1].DroppedAttributesCount", func(s *otelstef.Spans) {
		s.Span().Events().SetLen(2)
		s.Span().Events().At(1).SetDroppedAttributesCount(1 << 32)
	})
	link := func(s *otelstef.Spans) *otelstef.Link {
		s.Span().Links().SetLen(1)
		return s.Span().Links().At(0)
	}
	f("Span.Links[0].TraceID", func(s *otelstef.Spans) { link(s).SetTraceID(make([]byte, 8)) })
	f("Span.Links[0].SpanID", func(s *otelstef.Spans) { link(s).SetSpanID(make([]byte, 32)) })
	f("Span.Links[0].Flags", func(s *otelstef.Spans) { link(s).SetFlags(1 << 32) })
	f("Span.Links[0].DroppedAttributesCount", func(s *otelstef.Spans) { link(s).SetDroppedAttributesCount(1 << 32) })
}

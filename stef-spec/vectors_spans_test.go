// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/hex"

	"github.com/otelstef/stef/stef-go/otelstef"
)

type spans = script[*otelstef.Spans]

var (
	traceID  = []byte("trace-0123456789")
	rootSpan = []byte("span-001")
	leafSpan = []byte("span-002")
)

func spansVectors() []vector {
	return []vector{
		spansVector("tree", "two spans of a trace: raw ids, times, kind, status, attributes.", options{withHeader}, func(s *spans) {
			s.write(func(rec *otelstef.Spans) {
				setAttributes(rec.EditResource().Attributes(), "service.name", "shop")
				rec.EditScope().SetName("shop/http")
				rec.EditScope().SetVersion("1.2.0")
				span := rec.Span()
				span.SetTraceID(traceID)
				span.SetSpanID(rootSpan)
				span.SetTraceState("vendor=1")
				span.SetFlags(0x101)
				span.SetName("GET /cart")
				span.SetKind(otelstef.SpanKindServer)
				span.SetStartTimeUnixNano(start)
				span.SetEndTimeUnixNano(start + 5_000_000)
				setAttributes(span.Attributes(), "http.route", "/cart", "http.status", 500)
				span.Status().SetCode(2)
				span.Status().SetMessage("no stock")
			})
			s.write(func(rec *otelstef.Spans) {
				span := rec.Span()
				span.SetSpanID(leafSpan)
				span.SetParentSpanID(rootSpan)
				span.SetName("SELECT")
				span.SetKind(otelstef.SpanKindClient)
				span.SetStartTimeUnixNano(start + 1_000_000)
				span.SetEndTimeUnixNano(start + 3_000_000)
				setAttributes(span.Attributes(), "db.system", "postgresql")
				span.Status().Reset()
			})
		}),
		spansVector("events_links", "events and links that come and go, and counts of dropped ones.", options{withHeader}, func(s *spans) {
			s.write(func(rec *otelstef.Spans) {
				span := rec.Span()
				span.SetName("job")
				span.Events().SetLen(2)
				span.Events().At(0).SetName("start")
				span.Events().At(0).SetTimeUnixNano(start)
				span.Events().At(1).SetName("exception")
				span.Events().At(1).SetTimeUnixNano(start + second)
				setAttributes(span.Events().At(1).Attributes(), "exception.type", "io", "lines", []any{1, 2})
				link := span.Links().Append()
				link.SetTraceID(traceID)
				link.SetSpanID(rootSpan)
				link.SetTraceState("a=b")
				link.SetFlags(1)
				setAttributes(link.Attributes(), "why", "retry")
			})
			s.write(func(rec *otelstef.Spans) {
				span := rec.Span()
				span.Events().SetLen(1)
				span.Events().At(0).SetDroppedAttributesCount(4)
				span.Links().Append().SetSpanID(leafSpan)
				span.SetDroppedEventsCount(2)
				span.SetDroppedLinksCount(1)
			})
			s.write(func(rec *otelstef.Spans) {
				rec.Span().Events().SetLen(2)
				rec.Span().Events().At(1).SetName("start")
				rec.Span().Links().Reset()
			})
		}),
		spansVector("published", "the published schema: ids are text, counts of dropped events and links are left out.",
			options{{"PublishedSpans()", otelstef.PublishedSpans()}}, func(s *spans) {
				text := func(id []byte) []byte { return hex.AppendEncode(nil, id) }
				s.write(func(rec *otelstef.Spans) {
					rec.Span().SetTraceID(text(traceID))
					rec.Span().SetSpanID(text(rootSpan))
					rec.Span().SetName("job")
					rec.Span().SetDroppedEventsCount(2)
					rec.Span().Links().Append().SetSpanID(text(leafSpan))
				})
			}),
		spansVector("zstd", "a span in a zstd stream.", options{withHeader, withZstd}, func(s *spans) {
			s.write(func(rec *otelstef.Spans) {
				rec.Span().SetTraceID(traceID)
				rec.Span().SetSpanID(rootSpan)
				rec.Span().SetName("job job job job job job job")
			})
		}),
	}
}

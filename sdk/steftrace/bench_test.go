// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steftrace"
	stef "github.com/otelstef/stef/stef-go"
)

// The first line that a benchmark prints says which data it uses.
var _ = benchdata.Name("synthetic: spans of the test")

type keep struct{ spans []sdktrace.ReadOnlySpan }

// ExportSpans implements sdktrace.SpanExporter.
func (k *keep) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (*keep) Shutdown(context.Context) error { return nil }

// spansOf returns spans that the SDK made, with random ids.
func spansOf(n int, more ...attribute.KeyValue) []sdktrace.ReadOnlySpan {
	var k keep
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&k), sdktrace.WithResource(process))
	for range n {
		_, span := provider.Tracer("shop").Start(context.Background(), "GET /cart", trace.WithSpanKind(trace.SpanKindServer))
		span.SetAttributes(more...)
		if len(more) > 0 {
			span.AddEvent("cache miss", trace.WithAttributes(attribute.Int("size", rand.IntN(1000))))
		}
		span.End()
	}
	return k.spans
}

// BenchmarkFile exports spans to files: in batches of 512, as the batch processor
// does, and one by one, as the simple processor does.
func BenchmarkFile(b *testing.B) {
	for _, kind := range []string{"plain", "rich"} {
		var more []attribute.KeyValue
		if kind == "rich" {
			more = []attribute.KeyValue{
				attribute.String("http.request.method", "GET"), attribute.String("http.route", "/cart/{id}"),
				attribute.Int("http.response.status_code", 200), attribute.Int("number", 7), attribute.Bool("cached", true),
			}
		}
		spans := spansOf(2048, more...)
		for _, size := range []int{1, 512} {
			for name, options := range map[string][]stefsdk.FileOption{
				"zstd":    nil,
				"none":    {stefsdk.WithCompression(stef.None)},
				"delayed": {stefsdk.WithFlushInterval(time.Second)},
			} {
				b.Run("spans="+kind+"/batch="+map[int]string{1: "1", 512: "512"}[size]+"/"+name, func(b *testing.B) {
					ctx := context.Background()
					x, err := steftrace.NewFile(b.TempDir(), options...)
					require.NoError(b, err)
					at := 0
					require.NoError(b, x.ExportSpans(ctx, spans[:size]))
					b.ReportAllocs()
					for b.Loop() {
						if err := x.ExportSpans(ctx, spans[at:at+size]); err != nil {
							b.Fatal(err)
						}
						at = (at + size) % len(spans)
					}
					require.NoError(b, x.Shutdown(ctx))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/span")
					b.ReportMetric(float64(x.Stats().Files.Bytes)/float64(x.Stats().Written), "B/span")
				})
			}
		}
	}
}

// An export to files allocates nothing.
func TestAllocations(t *testing.T) {
	ctx := context.Background()
	x, err := steftrace.NewFile(t.TempDir(), stefsdk.WithRotation(-1, -1))
	require.NoError(t, err)
	spans := spansOf(512, attribute.String("http.route", "/cart/{id}"), attribute.Int("number", 7))
	for i := range spans {
		require.NoError(t, x.ExportSpans(ctx, spans[i:i+1]))
	}
	i := 0
	require.Zero(t, testing.AllocsPerRun(400, func() {
		_ = x.ExportSpans(ctx, spans[i:i+1])
		i++
	}))
	require.EqualValues(t, 512+401, x.Stats().Written)
	require.NoError(t, x.Shutdown(ctx))
}

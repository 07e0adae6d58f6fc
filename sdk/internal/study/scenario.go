// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scenario runs an operation inside a span and returns the time of operation and span
// together.
type scenario func(ctx context.Context, tracer trace.Tracer, i int) time.Duration

// Scenarios are the scenarios 1 to 6 of the original study, and one more scenario.
var Scenarios = []string{
	"1 simple", "2 context extraction", "3 event", "4 attribute", "5 span context", "6 nested span",
	"7 five attributes, event",
}

// Sink keeps the compiler from removing the work.
var Sink int

// operation is the work inside of a span: some dozens of nanoseconds.
func operation(i int) {
	for j := range 64 {
		Sink += i ^ j
	}
}

var remote = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5, 6}, TraceFlags: trace.FlagsSampled, Remote: true,
})

func scenarioOf(name string) (scenario, error) {
	var propagator propagation.TraceContext
	carrier := propagation.MapCarrier{}
	timed := func(inside func(ctx context.Context, span trace.Span, i int)) scenario {
		return func(ctx context.Context, tracer trace.Tracer, i int) time.Duration {
			start := time.Now()
			ctx, span := tracer.Start(ctx, "operation")
			inside(ctx, span, i)
			operation(i)
			span.End()
			return time.Since(start)
		}
	}
	switch name {
	case Scenarios[0]:
		return timed(func(context.Context, trace.Span, int) {}), nil
	case Scenarios[1]:
		return timed(func(ctx context.Context, _ trace.Span, _ int) { propagator.Inject(ctx, carrier) }), nil
	case Scenarios[2]:
		return timed(func(_ context.Context, span trace.Span, _ int) { span.AddEvent("cache miss") }), nil
	case Scenarios[3]:
		return timed(func(_ context.Context, span trace.Span, i int) { span.SetAttributes(attribute.Int("number", i%100)) }), nil
	case Scenarios[4]:
		plain := timed(func(context.Context, trace.Span, int) {})
		return func(ctx context.Context, tracer trace.Tracer, i int) time.Duration {
			return plain(trace.ContextWithRemoteSpanContext(ctx, remote), tracer, i)
		}, nil
	case Scenarios[5]:
		inner := timed(func(context.Context, trace.Span, int) {})
		return func(ctx context.Context, tracer trace.Tracer, i int) time.Duration {
			ctx, span := tracer.Start(ctx, "outer operation")
			defer span.End()
			return inner(ctx, tracer, i)
		}, nil
	case Scenarios[6]:
		return timed(func(_ context.Context, span trace.Span, i int) {
			span.SetAttributes(
				attribute.String("http.request.method", "GET"), attribute.String("http.route", "/cart/{id}"),
				attribute.Int("http.response.status_code", 200), attribute.Int("number", i%100), attribute.Bool("cached", i%2 == 0))
			span.AddEvent("cache miss", trace.WithAttributes(attribute.Int("size", i)))
		}), nil
	}
	return nil, fmt.Errorf("study: no scenario %q", name)
}

func spansPer(name string) int {
	if name == Scenarios[5] {
		return 2
	}
	return 1
}

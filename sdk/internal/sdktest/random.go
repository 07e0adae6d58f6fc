// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package sdktest creates data of the SDK for tests, and converts it to pdata with the
// SDK's OTLP exporters, which are the oracle of the mapping.
package sdktest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/log/logtest"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// Random creates random data. The same seed produces the same data.
type Random struct {
	*rand.Rand
	resources []*resource.Resource
	scopes    []instrumentation.Scope
}

// New returns a source of random data, with some resources and scopes.
func New(seed uint64) *Random {
	r := &Random{Rand: rand.New(rand.NewPCG(seed, seed))}
	r.resources = append(r.resources, nil, resource.Empty())
	for i := range 3 {
		// The number keeps the resources distinct: the OTLP exporters merge resources
		// that differ in their schema URLs only.
		attributes := append(r.attributes(4), attribute.Int("number", i))
		r.resources = append(r.resources, resource.NewWithAttributes(r.text(), attributes...))
	}
	r.scopes = append(r.scopes, instrumentation.Scope{})
	for range 4 {
		r.scopes = append(r.scopes, instrumentation.Scope{
			Name: r.text(), Version: r.text(), SchemaURL: r.text(), Attributes: attribute.NewSet(r.attributes(3)...),
		})
	}
	return r
}

func (r *Random) one(in int) bool { return r.IntN(in) == 0 }

func pick[T any](r *Random, list []T) T { return list[r.IntN(len(list))] }

func (r *Random) text() string {
	words := []string{"", "a", "GET /users", "ключ", "\x00", "http.request.method", strings.Repeat("long ", 60), fmt.Sprint(r.IntN(50))}
	return pick(r, words)
}

func (r *Random) integer() int64 {
	return pick(r, []int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64N(1000), r.Int64()})
}

func (r *Random) float() float64 {
	return pick(r, []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.Inf(-1), math.MaxFloat64, r.NormFloat64()})
}

// time returns a time that OTLP can express, the zero time, or a time before 1970.
func (r *Random) time() time.Time {
	return pick(r, []time.Time{{}, time.Unix(-5, 0), time.Unix(0, 0), time.Unix(1_700_000_000+r.Int64N(1000), r.Int64N(1e9))})
}

func (r *Random) count() int { return pick(r, []int{0, 0, 1, 7, -3, math.MaxInt32, math.MaxInt}) }

func list[T any](r *Random, next func() T) []T {
	values := make([]T, r.IntN(4))
	for i := range values {
		values[i] = next()
	}
	return values
}

// Value returns a value of any kind, nested up to depth.
func (r *Random) Value(depth int) attribute.Value {
	kinds := 10
	if depth > 0 {
		kinds = 12
	}
	switch r.IntN(kinds) {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.BoolValue(r.one(2))
	case 2:
		return attribute.Int64Value(r.integer())
	case 3:
		return attribute.Float64Value(r.float())
	case 4:
		return attribute.BoolSliceValue(list(r, func() bool { return r.one(2) }))
	case 5:
		return attribute.Int64SliceValue(list(r, r.integer))
	case 6:
		return attribute.Float64SliceValue(list(r, r.float))
	case 7:
		return attribute.StringSliceValue(list(r, r.text))
	case 8:
		return attribute.ByteSliceValue([]byte(r.text()))
	case 10:
		return attribute.SliceValue(list(r, func() attribute.Value { return r.Value(depth - 1) })...)
	case 11:
		return attribute.MapValue(list(r, func() attribute.KeyValue {
			return attribute.KeyValue{Key: attribute.Key(r.text()), Value: r.Value(depth - 1)}
		})...)
	}
	return attribute.StringValue(r.text())
}

// attributes returns up to most attributes. Keys may be empty and repeat.
func (r *Random) attributes(most int) []attribute.KeyValue {
	var list []attribute.KeyValue
	for range r.IntN(most + 1) {
		list = append(list, attribute.KeyValue{Key: attribute.Key(r.text()), Value: r.Value(2)})
	}
	return list
}

func (r *Random) traceID() (id trace.TraceID) {
	if r.one(8) {
		return id
	}
	id[0], id[15] = byte(r.IntN(3)), byte(1+r.IntN(6))
	return id
}

func (r *Random) spanID() (id trace.SpanID) {
	if r.one(5) {
		return id
	}
	id[3] = byte(r.IntN(256))
	return id
}

func (r *Random) state() trace.TraceState {
	state, err := trace.ParseTraceState(pick(r, []string{"", "a=1", "vendor=x,b=2"}))
	if err != nil {
		panic(err)
	}
	return state
}

func (r *Random) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: r.traceID(), SpanID: r.spanID(), TraceFlags: trace.TraceFlags(r.IntN(4)),
		TraceState: r.state(), Remote: r.one(2),
	})
}

// Spans returns up to most spans.
func (r *Random) Spans(most int) []sdktrace.ReadOnlySpan {
	var stubs tracetest.SpanStubs
	for range r.IntN(most + 1) {
		stubs = append(stubs, tracetest.SpanStub{
			Name: r.text(), SpanContext: r.context(), Parent: r.context(),
			SpanKind:  trace.SpanKind(r.IntN(8)),
			StartTime: r.time(), EndTime: r.time(),
			Attributes: r.attributes(6),
			Events:     r.events(), Links: r.links(),
			Status:            sdktrace.Status{Code: pick(r, []codes.Code{codes.Unset, codes.Ok, codes.Error, 9}), Description: r.text()},
			DroppedAttributes: r.count(), DroppedEvents: r.count(), DroppedLinks: r.count(),
			Resource: pick(r, r.resources), InstrumentationScope: pick(r, r.scopes),
		})
	}
	return stubs.Snapshots()
}

func (r *Random) events() []sdktrace.Event {
	return list(r, func() sdktrace.Event {
		return sdktrace.Event{Name: r.text(), Attributes: r.attributes(3), DroppedAttributeCount: r.count(), Time: r.time()}
	})
}

// links returns links without trace states, because the OTLP exporter drops trace states.
func (r *Random) links() []sdktrace.Link {
	return list(r, func() sdktrace.Link {
		return sdktrace.Link{
			SpanContext: r.context().WithTraceState(trace.TraceState{}),
			Attributes:  r.attributes(3), DroppedAttributeCount: r.count(),
		}
	})
}

// Logs returns up to most log records.
func (r *Random) Logs(most int) []sdklog.Record {
	var records []sdklog.Record
	for range r.IntN(most + 1) {
		scope := pick(r, r.scopes)
		// The SDK keeps each key once.
		set := attribute.NewSet(r.attributes(9)...)
		records = append(records, logtest.RecordFactory{
			EventName: r.text(), Timestamp: r.time(), ObservedTimestamp: r.time(),
			Severity: log.Severity(r.IntN(30) - 2), SeverityText: r.text(), Body: r.Value(3),
			Attributes: set.ToSlice(), TraceID: r.traceID(), SpanID: r.spanID(), TraceFlags: trace.TraceFlags(r.IntN(4)),
			Resource: pick(r, r.resources[1:]), InstrumentationScope: &scope, DroppedAttributes: r.count(),
		}.NewRecord())
	}
	return records
}

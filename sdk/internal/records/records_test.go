// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/log/logtest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

func TestLimitsAreThoseOfTheConverter(t *testing.T) {
	require.Equal(t, stefpdata.MaxDepth, records.MaxDepth)
	require.Equal(t, stefpdata.MaxItemBytes, records.MaxItemBytes)
}

func encodeSpans(t *testing.T, spans []sdktrace.ReadOnlySpan, options ...stef.WriterOption) []ptrace.Traces {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewSpansWriter(&buf, options...)
	require.NoError(t, err)
	require.NoError(t, records.NewSpans(w).Encode(spans))
	require.NoError(t, w.Close())
	return decodeSpans(t, buf.Bytes())
}

// STEF keeps the trace states of links. The OTLP exporter of the SDK drops them.
func TestLinksKeepTheirTraceState(t *testing.T) {
	state, err := trace.ParseTraceState("vendor=1")
	require.NoError(t, err)
	link := sdktrace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})}
	spans := tracetest.SpanStubs{{Name: "a", Links: []sdktrace.Link{link}}}.Snapshots()
	got := encodeSpans(t, spans, otelstef.CompactSpans())
	span := got[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	require.Equal(t, "vendor=1", span.Links().At(0).TraceState().AsRaw())
}

// Times that OTLP cannot express become unset. They never become other times.
func TestExtremeTimes(t *testing.T) {
	year := func(n int) time.Time { return time.Date(n, 7, 1, 12, 0, 0, 5, time.UTC) }
	last := time.Unix(18446744073, 709551615)
	for at, want := range map[time.Time]uint64{
		{}:                     0,
		year(1500):             0,
		year(1600):             0,
		year(1969):             0,
		time.Unix(0, 0):        0,
		time.Unix(-1, 1e9-1):   0,
		time.Unix(0, 1):        1,
		year(2024):             uint64(year(2024).UnixNano()),
		year(2300):             uint64(year(2300).Unix())*1e9 + 5,
		last:                   math.MaxUint64,
		last.Add(1):            0,
		year(2600):             0,
		year(9999):             0,
		time.Unix(1<<62, 0):    0,
		time.Unix(-1<<62, 999): 0,
	} {
		spans := tracetest.SpanStubs{{StartTime: at, EndTime: at}}.Snapshots()
		got := encodeSpans(t, spans)[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		require.Equal(t, want, uint64(got.StartTimestamp()), at)
		require.Equal(t, want, uint64(got.EndTimestamp()), at)
	}
}

// STEF keeps resources distinct that differ only in the schema URL. The OTLP exporter of the SDK
// merges them.
func TestResourcesKeepTheirSchemaURL(t *testing.T) {
	a := resource.NewWithAttributes("https://example.com/1", attribute.String("service.name", "shop"))
	b := resource.NewWithAttributes("https://example.com/2", attribute.String("service.name", "shop"))
	got := encodeSpans(t, tracetest.SpanStubs{{Name: "a", Resource: a}, {Name: "b", Resource: b}}.Snapshots())
	urls := map[string]string{}
	for _, rs := range got[0].ResourceSpans().All() {
		urls[rs.ScopeSpans().At(0).Spans().At(0).Name()] = rs.SchemaUrl()
	}
	require.Equal(t, map[string]string{"a": "https://example.com/1", "b": "https://example.com/2"}, urls)
}

// In the published schema, ids of spans are text, and ids of exemplars are never
// empty. Readers return the same spans and points. Only the numbers of dropped events and
// links are lost, because the published schema does not contain them.
func TestPublishedSchema(t *testing.T) {
	r := sdktest.New(7)
	spans := r.Spans(60)
	want, err := sdktest.Traces(spans)
	require.NoError(t, err)
	for _, rs := range want.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				span.SetDroppedEventsCount(0)
				span.SetDroppedLinksCount(0)
			}
		}
	}
	require.Empty(t, canon.Diff(canon.Traces(want), canon.Traces(encodeSpans(t, spans, otelstef.PublishedSpans())...)))

	for range 20 {
		rm := r.Metrics(10)
		md, err := sdktest.Metrics(rm)
		require.NoError(t, err)
		var buf bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&buf, otelstef.PublishedMetrics())
		require.NoError(t, err)
		require.NoError(t, records.NewMetrics(w).Encode(rm))
		require.NoError(t, w.Close())
		require.Empty(t, canon.Diff(canon.Metrics(md), canon.Metrics(decodeMetrics(t, buf.Bytes())...)))
	}
}

func deep(depth int) attribute.Value {
	v := attribute.IntValue(1)
	for range depth {
		v = attribute.SliceValue(v)
	}
	return v
}

func pairs(n int) []attribute.KeyValue {
	var list []attribute.KeyValue
	for i := range n {
		list = append(list, attribute.Int(fmt.Sprint("key", i), i))
	}
	return list
}

// Items over a limit are omitted and counted, and all other items are written.
func TestLimits(t *testing.T) {
	long := strings.Repeat("x", records.MaxItemBytes)
	good := attribute.KeyValue{Key: "a", Value: deep(records.MaxDepth)}
	f := func(name string, bad tracetest.SpanStub) {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.SpanStubs{{Name: "before", Attributes: []attribute.KeyValue{good}}, bad, {Name: "after", Attributes: pairs(stef.MaxPairs)}}.Snapshots()
			var buf bytes.Buffer
			w, err := otelstef.NewSpansWriter(&buf, otelstef.CompactSpans())
			require.NoError(t, err)
			var left *records.OmittedError
			err = records.NewSpans(w).Encode(spans)
			require.ErrorAs(t, err, &left)
			require.ErrorIs(t, err, stef.ErrLimit)
			require.Equal(t, 1, left.Items)
			require.NoError(t, w.Close())
			want, err := sdktest.Traces([]sdktrace.ReadOnlySpan{spans[0], spans[2]})
			require.NoError(t, err)
			require.Empty(t, canon.Diff(canon.Traces(want), canon.Traces(decodeSpans(t, buf.Bytes())...)))
		})
	}
	f("attributes", tracetest.SpanStub{Attributes: pairs(stef.MaxPairs + 1)})
	f("depth", tracetest.SpanStub{Attributes: []attribute.KeyValue{{Key: "a", Value: deep(records.MaxDepth + 1)}}})
	f("name", tracetest.SpanStub{Name: long + "x"})
	f("text", tracetest.SpanStub{Attributes: []attribute.KeyValue{attribute.String("a", long)}})
	f("events", tracetest.SpanStub{Events: []sdktrace.Event{{Name: "a"}, {Name: long}}})
	f("links", tracetest.SpanStub{Links: []sdktrace.Link{{}, {Attributes: pairs(stef.MaxPairs + 1)}}})
	f("resource", tracetest.SpanStub{Resource: resource.NewSchemaless(pairs(stef.MaxPairs + 1)...)})
	f("scope", tracetest.SpanStub{InstrumentationScope: instrumentation.Scope{Name: long + "x"}})
}

func TestLimitsOfLogs(t *testing.T) {
	record := func(body attribute.Value, attributes ...attribute.KeyValue) sdklog.Record {
		return logtest.RecordFactory{Body: body, Attributes: attributes, Resource: resource.Empty(), InstrumentationScope: new(instrumentation.Scope)}.NewRecord()
	}
	list := []sdklog.Record{
		record(deep(records.MaxDepth + 1)),
		record(deep(records.MaxDepth), pairs(40)...),
		record(attribute.MapValue(attribute.KeyValue{Key: "a", Value: deep(records.MaxDepth)})),
		record(attribute.StringValue(strings.Repeat("x", records.MaxItemBytes+1))),
		record(attribute.StringValue("after"), pairs(3)...),
		record(attribute.StringValue("many"), pairs(stef.MaxPairs+1)...),
	}
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf, otelstef.CompactLogs())
	require.NoError(t, err)
	var left *records.OmittedError
	require.ErrorAs(t, records.NewLogs(w).Encode(list), &left)
	require.Equal(t, 4, left.Items)
	require.NoError(t, w.Close())
	want, err := sdktest.Logs([]sdklog.Record{list[1], list[4]})
	require.NoError(t, err)
	require.Empty(t, canon.Diff(canon.Logs(want), canon.Logs(decodeLogs(t, buf.Bytes())...)))
}

func TestLimitsOfMetrics(t *testing.T) {
	point := func(n int) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(pairs(n)...), Value: int64(n)}
	}
	gauge := func(counts ...int) metricdata.Gauge[int64] {
		var g metricdata.Gauge[int64]
		for _, n := range counts {
			g.DataPoints = append(g.DataPoints, point(n))
		}
		return g
	}
	scope := func(list ...metricdata.Metrics) *metricdata.ResourceMetrics {
		return &metricdata.ResourceMetrics{Resource: resource.Empty(), ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: list}}}
	}
	exemplar := metricdata.Exemplar[int64]{FilteredAttributes: pairs(stef.MaxPairs + 1)}
	withExemplar := metricdata.Sum[int64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[int64]{{Exemplars: []metricdata.Exemplar[int64]{exemplar}}}}
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, otelstef.CompactMetrics())
	require.NoError(t, err)
	err = records.NewMetrics(w).Encode(scope(
		metricdata.Metrics{Name: "a", Data: gauge(1, stef.MaxPairs+1, stef.MaxPairs)},
		metricdata.Metrics{Name: "none"}, // no data at all
		metricdata.Metrics{Name: "undefined", Data: metricdata.Sum[int64]{DataPoints: []metricdata.DataPoint[int64]{point(1), point(2)}}},
		metricdata.Metrics{Name: strings.Repeat("x", records.MaxItemBytes+1), Data: gauge(1)},
		metricdata.Metrics{Name: "exemplar", Data: withExemplar},
		metricdata.Metrics{Name: "b", Data: gauge(2)},
	))
	var left *records.OmittedError
	require.ErrorAs(t, err, &left)
	require.Equal(t, 6, left.Items)
	require.NoError(t, w.Close())
	want, err := sdktest.Metrics(scope(
		metricdata.Metrics{Name: "a", Data: gauge(1, stef.MaxPairs)},
		metricdata.Metrics{Name: "b", Data: gauge(2)},
	))
	require.NoError(t, err)
	require.Empty(t, canon.Diff(canon.Metrics(want), canon.Metrics(decodeMetrics(t, buf.Bytes())...)))
}

// Encoders work with more containers and metrics than their caches can store, and with values
// that are not equal to themselves (NaN).
func TestManyContainers(t *testing.T) {
	w, err := otelstef.NewMetricsWriter(io.Discard, otelstef.CompactMetrics())
	require.NoError(t, err)
	e := records.NewMetrics(w)
	nan := attribute.NewSet(attribute.Float64("nan", math.NaN()))
	for i := range 6000 {
		set := attribute.NewSet(attribute.Int("i", i))
		rm := &metricdata.ResourceMetrics{
			Resource: resource.NewSchemaless(attribute.Int("i", i)),
			ScopeMetrics: []metricdata.ScopeMetrics{{
				Scope: instrumentation.Scope{Name: fmt.Sprint(i), Attributes: nan},
				Metrics: []metricdata.Metrics{{Name: fmt.Sprint(i), Data: metricdata.Gauge[int64]{
					DataPoints: []metricdata.DataPoint[int64]{{Attributes: set}, {Attributes: nan}},
				}}},
			}},
		}
		require.NoError(t, e.Encode(rm))
	}
	require.EqualValues(t, 12000, w.Stats().Records)
}

// typical returns spans as the batch processor exports them.
func typical(n int) []sdktrace.ReadOnlySpan {
	process := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.Int("process.pid", 42))
	start := time.Unix(1_700_000_000, 0)
	var stubs tracetest.SpanStubs
	for i := range n {
		context := func(i int) trace.SpanContext {
			return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, byte(i / 8)}, SpanID: trace.SpanID{2, byte(i), byte(i >> 8)}, TraceFlags: 1})
		}
		stubs = append(stubs, tracetest.SpanStub{
			Name: "GET /cart", SpanContext: context(i), Parent: context(i / 8 * 8), SpanKind: trace.SpanKindServer,
			StartTime: start.Add(time.Duration(n-i) * time.Microsecond), EndTime: start.Add(time.Millisecond),
			Attributes: []attribute.KeyValue{
				attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 200+i%3),
				attribute.String("url.path", fmt.Sprint("/cart/", i%50)), attribute.Bool("cached", i%2 == 0),
			},
			Events:   []sdktrace.Event{{Name: "cache", Time: start, Attributes: []attribute.KeyValue{attribute.Int("size", i)}}},
			Resource: process, InstrumentationScope: instrumentation.Scope{Name: "shop"},
		})
	}
	return stubs.Snapshots()
}

// In the steady state the encoders allocate nearly nothing.
func TestAllocations(t *testing.T) {
	spans := typical(512)
	w, err := otelstef.NewSpansWriter(io.Discard, otelstef.CompactSpans())
	require.NoError(t, err)
	e := records.NewSpans(w)
	allocs := testing.AllocsPerRun(20, func() {
		require.NoError(t, e.Encode(spans))
		require.NoError(t, w.Flush())
	})
	require.LessOrEqual(t, allocs/512, 0.02, "per span")

	var points []metricdata.DataPoint[int64]
	for i := range 200 {
		points = append(points, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.Int("i", i), attribute.String("a", "b"))})
	}
	rm := &metricdata.ResourceMetrics{Resource: resource.Empty(), ScopeMetrics: []metricdata.ScopeMetrics{{
		Metrics: []metricdata.Metrics{{Name: "a", Data: metricdata.Gauge[int64]{DataPoints: points}}},
	}}}
	mw, err := otelstef.NewMetricsWriter(io.Discard, otelstef.CompactMetrics())
	require.NoError(t, err)
	m := records.NewMetrics(mw)
	allocs = testing.AllocsPerRun(20, func() {
		for i := range points {
			points[i].Value++
		}
		require.NoError(t, m.Encode(rm))
		require.NoError(t, mw.Flush())
	})
	require.LessOrEqual(t, allocs/200, 0.02, "per point")

	var list []sdklog.Record
	for i := range 200 {
		list = append(list, logtest.RecordFactory{
			Timestamp: time.Unix(int64(i), 0), Body: attribute.StringValue("GET /cart"), Resource: resource.Empty(),
			InstrumentationScope: new(instrumentation.Scope), Attributes: pairs(4), TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(i)},
		}.NewRecord())
	}
	lw, err := otelstef.NewLogsWriter(io.Discard, otelstef.CompactLogs())
	require.NoError(t, err)
	l := records.NewLogs(lw)
	allocs = testing.AllocsPerRun(20, func() {
		require.NoError(t, l.Encode(list))
		require.NoError(t, lw.Flush())
	})
	require.LessOrEqual(t, allocs/200, 0.02, "per log record")
}

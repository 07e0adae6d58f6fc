// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// large is a text that exceeds the limit of an item.
var large = strings.Repeat("x", stefpdata.MaxItemBytes+1)

// spoilResource has a function for each field of a resource that can be too large. The function
// makes the field too large. spoilScope has such functions for the fields of a scope.
var (
	spoilResource = map[string]func(pcommon.Resource){
		"entity type":   func(r pcommon.Resource) { entity.ResourceEntityRefs(r).AppendEmpty().SetType(large) },
		"entity schema": func(r pcommon.Resource) { entity.ResourceEntityRefs(r).AppendEmpty().SetSchemaUrl(large) },
		"entity key":    func(r pcommon.Resource) { entity.ResourceEntityRefs(r).AppendEmpty().IdKeys().Append(large) },
		"entity keys": func(r pcommon.Resource) {
			entity.ResourceEntityRefs(r).AppendEmpty().DescriptionKeys().FromRaw(make([]string, stefpdata.MaxItemBytes))
		},
		"entities": func(r pcommon.Resource) {
			for range stefpdata.MaxItemBytes / 16 {
				entity.ResourceEntityRefs(r).AppendEmpty()
			}
		},
	}
	spoilScope = map[string]func(pcommon.InstrumentationScope){
		"name":    func(s pcommon.InstrumentationScope) { s.SetName(large) },
		"version": func(s pcommon.InstrumentationScope) { s.SetVersion(large) },
	}
)

// reported checks that an encoder omitted left of four items, and that a reader with default limits
// receives the other items.
func reported(t *testing.T, err error, left int, arrived func() int) {
	t.Helper()
	var errs stefpdata.ItemErrors
	require.ErrorAs(t, err, &errs)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.Equal(t, left, errs.Items())
	for _, e := range errs {
		require.NotEmpty(t, e.Field)
		require.Less(t, len(e.Error()), 1000)
	}
	require.Equal(t, 4-left, arrived())
}

// Any field of metrics that is too large is reported, and all other items are written.
func TestLargeFieldsOfMetrics(t *testing.T) {
	f := func(name string, left int, spoil func(pmetric.ResourceMetrics, pmetric.ScopeMetrics, pmetric.Metric)) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				md := pmetric.NewMetrics()
				for range 2 {
					m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
					m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
					m.Gauge().DataPoints().AppendEmpty().SetIntValue(2)
				}
				rm := md.ResourceMetrics().At(0)
				spoil(rm, rm.ScopeMetrics().At(0), rm.ScopeMetrics().At(0).Metrics().At(0))
				var out bytes.Buffer
				w, err := otelstef.NewMetricsWriter(&out)
				require.NoError(t, err)
				err = stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode)).Encode(md)
				require.NoError(t, w.Close())
				reported(t, err, left, func() int { return oneBatch(decodeMetrics(t, out.Bytes())).DataPointCount() })
			})
		}
	}
	for name, spoil := range spoilResource {
		f(name, 2, func(rm pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, _ pmetric.Metric) { spoil(rm.Resource()) })
	}
	for name, spoil := range spoilScope {
		f("scope "+name, 2, func(_ pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, _ pmetric.Metric) { spoil(sm.Scope()) })
	}
	f("resource schema", 2, func(rm pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, _ pmetric.Metric) { rm.SetSchemaUrl(large) })
	f("scope schema", 2, func(_ pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, _ pmetric.Metric) { sm.SetSchemaUrl(large) })
	metric := func(name string, left int, spoil func(pmetric.Metric)) {
		f(name, left, func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) { spoil(m) })
	}
	metric("name", 2, func(m pmetric.Metric) { m.SetName(large) })
	metric("description", 2, func(m pmetric.Metric) { m.SetDescription(large) })
	metric("unit", 2, func(m pmetric.Metric) { m.SetUnit(large) })
	metric("exemplars", 1, func(m pmetric.Metric) {
		for range stefpdata.MaxItemBytes / 16 {
			m.Gauge().DataPoints().At(0).Exemplars().AppendEmpty()
		}
	})
}

// Any field of traces that is too large is reported, and all other items are written.
func TestLargeFieldsOfTraces(t *testing.T) {
	f := func(name string, left int, spoil func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span)) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				td := ptrace.NewTraces()
				for range 2 {
					spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
					spans.AppendEmpty()
					spans.AppendEmpty().SetName("other")
				}
				rs := td.ResourceSpans().At(0)
				spoil(rs, rs.ScopeSpans().At(0), rs.ScopeSpans().At(0).Spans().At(0))
				var out bytes.Buffer
				w, err := otelstef.NewSpansWriter(&out)
				require.NoError(t, err)
				err = stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode)).Encode(td)
				require.NoError(t, w.Close())
				reported(t, err, left, func() int { return oneTraces(decodeTraces(t, out.Bytes())).SpanCount() })
			})
		}
	}
	for name, spoil := range spoilResource {
		f(name, 2, func(rs ptrace.ResourceSpans, _ ptrace.ScopeSpans, _ ptrace.Span) { spoil(rs.Resource()) })
	}
	for name, spoil := range spoilScope {
		f("scope "+name, 2, func(_ ptrace.ResourceSpans, ss ptrace.ScopeSpans, _ ptrace.Span) { spoil(ss.Scope()) })
	}
	f("resource schema", 2, func(rs ptrace.ResourceSpans, _ ptrace.ScopeSpans, _ ptrace.Span) { rs.SetSchemaUrl(large) })
	f("scope schema", 2, func(_ ptrace.ResourceSpans, ss ptrace.ScopeSpans, _ ptrace.Span) { ss.SetSchemaUrl(large) })
	span := func(name string, spoil func(ptrace.Span)) {
		f(name, 1, func(_ ptrace.ResourceSpans, _ ptrace.ScopeSpans, s ptrace.Span) { spoil(s) })
	}
	span("name", func(s ptrace.Span) { s.SetName(large) })
	span("trace state", func(s ptrace.Span) { s.TraceState().FromRaw(large) })
	span("status", func(s ptrace.Span) { s.Status().SetMessage(large) })
	span("event", func(s ptrace.Span) { s.Events().AppendEmpty().SetName(large) })
	span("link", func(s ptrace.Span) { s.Links().AppendEmpty().TraceState().FromRaw(large) })
	span("events", func(s ptrace.Span) {
		for range stefpdata.MaxItemBytes / 16 {
			s.Events().AppendEmpty()
		}
	})
}

// Any field of logs that is too large is reported, and all other items are written.
func TestLargeFieldsOfLogs(t *testing.T) {
	f := func(name string, left int, spoil func(plog.ResourceLogs, plog.ScopeLogs)) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				ld := plog.NewLogs()
				for range 2 {
					records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
					records.AppendEmpty().Body().SetStr("a")
					records.AppendEmpty().Body().SetStr("b")
				}
				spoil(ld.ResourceLogs().At(0), ld.ResourceLogs().At(0).ScopeLogs().At(0))
				var out bytes.Buffer
				w, err := otelstef.NewLogsWriter(&out)
				require.NoError(t, err)
				err = stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode)).Encode(ld)
				require.NoError(t, w.Close())
				reported(t, err, left, func() int { return oneBatchOfLogs(decodeLogs(t, out.Bytes())).LogRecordCount() })
			})
		}
	}
	for name, spoil := range spoilResource {
		f(name, 2, func(rl plog.ResourceLogs, _ plog.ScopeLogs) { spoil(rl.Resource()) })
	}
	for name, spoil := range spoilScope {
		f("scope "+name, 2, func(_ plog.ResourceLogs, sl plog.ScopeLogs) { spoil(sl.Scope()) })
	}
	f("resource schema", 2, func(rl plog.ResourceLogs, _ plog.ScopeLogs) { rl.SetSchemaUrl(large) })
	f("scope schema", 2, func(_ plog.ResourceLogs, sl plog.ScopeLogs) { sl.SetSchemaUrl(large) })
	f("body", 1, func(_ plog.ResourceLogs, sl plog.ScopeLogs) { sl.LogRecords().At(0).Body().SetStr(large) })
}

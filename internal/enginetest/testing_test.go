// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/extension/stefencodingextension"
)

// host offers extensions to components.
type host map[component.ID]component.Component

// GetExtensions implements component.Host.
func (h host) GetExtensions() map[component.ID]component.Component { return h }

// newHost returns a host with the encoding extension as stef_encoding.
func newHost(t *testing.T) host {
	return newHostWith(t, componenttest.NewNopTelemetrySettings())
}

// newHostWith is like newHost, but also sets the telemetry of the extension.
func newHostWith(t *testing.T, telemetry component.TelemetrySettings) host {
	t.Helper()
	f := stefencodingextension.NewFactory()
	settings := extensiontest.NewNopSettings(f.Type())
	settings.TelemetrySettings = telemetry
	e, err := f.Create(t.Context(), settings, f.CreateDefaultConfig())
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), nil))
	t.Cleanup(func() { require.NoError(t, e.Shutdown(context.Background())) })
	return host{component.NewID(f.Type()): e}
}

// configure reads text into a component's default configuration, as the
// Collector does.
func configure(t *testing.T, config component.Config, text string) component.Config {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	require.NoError(t, conf.Unmarshal(config))
	require.NoError(t, confmap.Validate(config))
	return config
}

// numberKey is the attribute with the number of an item.
const numberKey = "number"

func number(attributes pcommon.Map) int {
	v, _ := attributes.Get(numberKey)
	return int(v.Int())
}

func numberedLogs(first, n int) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	records.EnsureCapacity(n)
	for i := range n {
		r := records.AppendEmpty()
		r.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + 1_000_000*(first+i)))
		r.Body().SetStr("order accepted")
		r.Attributes().PutInt(numberKey, int64(first+i))
	}
	return ld
}

func numberedTraces(first, n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "checkout")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	spans.EnsureCapacity(n)
	for i := range n {
		s := spans.AppendEmpty()
		k := uint64(first + i + 1)
		s.SetTraceID(pcommon.TraceID{byte(k), byte(k >> 8), byte(k >> 16), 1, 15: 1})
		s.SetSpanID(pcommon.SpanID{byte(k), byte(k >> 8), byte(k >> 16), 1})
		s.SetName("POST /orders")
		s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + 1_000_000*k))
		s.SetEndTimestamp(pcommon.Timestamp(1_700_000_000_000_500_000 + 1_000_000*k))
		s.Attributes().PutInt(numberKey, int64(first+i))
	}
	return td
}

func numberedMetrics(first, n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "checkout")
	m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("orders.open")
	points := m.SetEmptyGauge().DataPoints()
	points.EnsureCapacity(n)
	for i := range n {
		p := points.AppendEmpty()
		p.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + 1_000_000*(first+i)))
		p.SetIntValue(int64(i))
		p.Attributes().PutInt(numberKey, int64(first+i))
	}
	return md
}

type ledger struct {
	mu      sync.Mutex
	arrived map[int]int
	items   int
}

func newLedger() *ledger { return &ledger{arrived: map[int]int{}} }

func (l *ledger) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived[n]++
	l.items++
}

// distinct returns how many different items arrived, and how many duplicates of items arrived.
func (l *ledger) distinct() (distinct, duplicates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.arrived), l.items - len(l.arrived)
}

func (l *ledger) missing(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	missing := 0
	for i := range n {
		if l.arrived[i] == 0 {
			missing++
		}
	}
	return missing
}

func (l *ledger) logs(t *testing.T) consumer.Logs {
	c, err := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					l.add(number(r.Attributes()))
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return c
}

func (l *ledger) traces(t *testing.T) consumer.Traces {
	c, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					l.add(number(s.Attributes()))
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return c
}

func (l *ledger) metrics(t *testing.T) consumer.Metrics {
	c, err := consumer.NewMetrics(func(_ context.Context, md pmetric.Metrics) error {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					for _, p := range m.Gauge().DataPoints().All() {
						l.add(number(p.Attributes()))
					}
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return c
}

type counter struct {
	items   atomic.Int64
	logs    consumer.Logs
	traces  consumer.Traces
	metrics consumer.Metrics
}

func newCounter(t *testing.T) *counter {
	c := new(counter)
	add := func(n int) error {
		c.items.Add(int64(n))
		return nil
	}
	var err error
	c.logs, err = consumer.NewLogs(func(_ context.Context, ld plog.Logs) error { return add(ld.LogRecordCount()) })
	require.NoError(t, err)
	c.traces, err = consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error { return add(td.SpanCount()) })
	require.NoError(t, err)
	c.metrics, err = consumer.NewMetrics(func(_ context.Context, md pmetric.Metrics) error { return add(md.DataPointCount()) })
	require.NoError(t, err)
	return c
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// openStreams counts the streams that are open. It never acknowledges anything.
type openStreams struct{ open atomic.Int64 }

// ServeSTEF receives a stream.
func (o *openStreams) ServeSTEF(s *stefgrpc.ServerStream) error {
	o.open.Add(1)
	defer o.open.Add(-1)
	<-s.Context().Done()
	return nil
}

// serve starts a server of all signals, which stop ends.
func (o *openStreams) serve(t *testing.T, addr string) (stop func()) {
	t.Helper()
	server := grpc.NewServer()
	stef, err := stefgrpc.NewServer()
	require.NoError(t, err)
	for _, root := range []*schema.Struct{otelstef.SpansRoot(), otelstef.MetricsRoot(), otelstef.LogsRoot()} {
		require.NoError(t, stef.Handle(root, o))
	}
	stef.Register(server)
	listener := listenTCP(t, addr)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server.Stop
}

// TestRestartIsOneLine restarts the peer of three signals. The log has one warning for all signals,
// and one line when the peer is back. Each signal has its own status.
func TestRestartIsOneLine(t *testing.T) {
	t.Parallel()
	f := func(routing RoutingKey, want []string) {
		t.Helper()
		addr := freeport.Address(t)
		o := &openStreams{}
		stop := o.serve(t, addr)
		c := testConfig(addr)
		if c.RoutingKey = routing; routing != "" {
			c.ClientConfig.Endpoint, c.Endpoints = "", []string{addr}
		}
		core, logs := observer.New(zap.InfoLevel)
		var all []component.Component
		var hosts []*statusHost
		add := func(x component.Component, err error) {
			require.NoError(t, err)
			all, hosts = append(all, x), append(hosts, &statusHost{Host: componenttest.NewNopHost()})
			require.NoError(t, x.Start(t.Context(), hosts[len(hosts)-1]))
		}
		settings := exportertest.NewNopSettings(metadata.Type)
		settings.Logger = zap.New(core)
		traces, err := NewFactory().CreateTraces(t.Context(), settings, c)
		add(traces, err)
		metrics, err := NewFactory().CreateMetrics(t.Context(), settings, c)
		add(metrics, err)
		records, err := NewFactory().CreateLogs(t.Context(), settings, c)
		add(records, err)
		await := func(status componentstatus.Status) {
			t.Helper()
			for _, host := range hosts {
				require.Eventually(t, func() bool { return host.last().Status() == status }, time.Minute, time.Millisecond)
			}
		}
		require.Eventually(t, func() bool { return logs.FilterMessageSnippet("A STEF stream is open").Len() == 3 }, time.Minute, time.Millisecond)
		require.EqualValues(t, 3, o.open.Load())
		await(componentstatus.StatusOK) // the status is reported after the log line
		logs.TakeAll()

		stop()
		await(componentstatus.StatusRecoverableError)
		o.serve(t, addr)
		await(componentstatus.StatusOK)
		time.Sleep(100 * time.Millisecond)
		var lines []string
		for _, e := range logs.FilterLevelExact(zapcore.WarnLevel).All() {
			lines = append(lines, e.Message)
		}
		for _, e := range logs.FilterLevelExact(zapcore.InfoLevel).All() {
			lines = append(lines, e.Message)
		}
		require.Len(t, lines, len(want), "%q", lines)
		for i := range want {
			require.Regexp(t, "^"+want[i], lines[i])
		}
		for _, x := range all {
			require.NoError(t, x.Shutdown(t.Context()))
		}
	}
	f("", []string{"No (traces|metrics|logs) can be sent to ", "A STEF stream is open: (traces|metrics|logs) to "})
	f(RoutingTraceID, []string{"No backend answers", `Backend .* does not answer\.`, "Backend .* answers again"})
}

// TestWarningOfNextOutage: the signal traces logs that the peer does not answer, and then it has no
// more batches. In the next outage, the signal logs must log the warning.
func TestWarningOfNextOutage(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	w := &warnings{}
	of := func(signal string) *health {
		h := newHealth(otlpConfig("gw:4320"), signal, componenttest.NewNopHost(), zap.New(core))
		h.warnings = w
		return h
	}
	traces, records := of("traces"), of("logs")
	outage := func() (lines []string) {
		refused := errors.New(otlpFailed + "dial tcp 127.0.0.1:4320: connect: connection refused")
		for range failuresUntilBad {
			records.requestFailed(refused, codes.Unavailable)
		}
		for _, e := range logs.TakeAll() {
			lines = append(lines, e.Message)
		}
		return lines
	}
	for range failuresUntilBad {
		traces.requestFailed(errors.New(otlpFailed+"dial tcp 127.0.0.1:4320: connect: connection refused"), codes.Unavailable)
	}
	require.Equal(t, []string{"No traces can be sent to gw:4320 at present."}, outage())
	records.accepted()
	records.acceptedAt = time.Now().Add(-answerTimeout)
	require.Empty(t, outage(), "a moment ago")
	records.accepted()
	records.acceptedAt = time.Now().Add(-answerTimeout)
	ended := w.about["gw:4320"].ended
	require.NotZero(t, ended)
	w.about["gw:4320"] = warning{by: traces, ended: ended.Add(-logPeriod)}
	require.Equal(t, []string{"No logs can be sent to gw:4320 at present."}, outage())
}

func TestWarnings(t *testing.T) {
	w := &warnings{}
	require.True(t, w.first("a", 1))
	require.True(t, w.first("a", 1))
	require.False(t, w.first("a", 2))
	require.True(t, w.first("b", 2))
	w.end(1)
	require.False(t, w.first("a", 2), "a moment ago")
	require.True(t, w.first("a", 1), "the next outage")
	w.end(1)
	w.about["a"] = warning{by: 1, ended: time.Now().Add(-logPeriod)}
	require.True(t, w.first("a", 2))
	require.False(t, w.first("a", 1))
	w.end(2)
	for key := range w.about {
		w.about[key] = warning{by: 2, ended: time.Now().Add(-logPeriod)}
	}
	require.True(t, w.first("c", 1))
	require.Len(t, w.about, 1)
}

// TestWarningsOfNextOutages: metrics have had no batches since an earlier outage. In the next outage, logs log first.
// Metrics log it, too, as soon as they have the problem for longer than logs.
func TestWarningsOfNextOutages(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	w := &warnings{}
	refused := errors.New(otlpFailed + "dial tcp 127.0.0.1:4320: connect: connection refused")
	of := func(signal string) *health {
		h := newHealth(otlpConfig("gw:4320"), signal, componenttest.NewNopHost(), zap.New(core))
		h.warnings = w
		return h
	}
	metrics, records := of("metrics"), of("logs")
	fail := func(h *health) (lines []string) {
		for range failuresUntilBad {
			h.requestFailed(refused, codes.Unavailable)
		}
		for _, e := range logs.TakeAll() {
			lines = append(lines, e.Message)
		}
		return lines
	}
	require.Len(t, fail(metrics), 1)
	clear(w.about) // the peer answered logs, long ago
	metrics.noticed = time.Now().Add(-repeatPeriod)
	require.Equal(t, []string{"No logs can be sent to gw:4320 at present."}, fail(records))
	require.Empty(t, fail(metrics), "the line of logs stands for all signals")
	clear(w.about)
	metrics.warned = time.Now().Add(-logPeriod)
	require.Equal(t, []string{"No metrics can be sent to gw:4320 at present."}, fail(metrics))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
)

// manySpans returns the names of spans, each of its own trace. There are enough traces that each of
// a few backends receives some of them.
func manySpans() []string {
	return []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}
}

// TestBackendsWithoutOTLP uses backends that receive OTLP. A backend that does not answer requests
// counts as down in the metric backend_up. If all are down, the status says that nothing is
// delivered.
func TestBackendsWithoutOTLP(t *testing.T) {
	t.Parallel()
	one, two := listen(t, &peer{}, freeport.Address(t), false, true), listen(t, &peer{}, freeport.Address(t), false, true)
	for _, protocol := range []Protocol{ProtocolOTLP, ProtocolAuto} {
		c := testConfig("")
		c.RoutingKey, c.Endpoints, c.Protocol = RoutingTraceID, []string{one.addr, two.addr}, protocol
		c.TimeoutConfig.Timeout = 5 * time.Second
		x := start(t, c)
		up := func() map[string]int64 { return counted(t, x, "backend_up", "endpoint") }
		require.NoError(t, x.send(manySpans()...))
		require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
		require.Equal(t, map[string]int64{one.addr: 1, two.addr: 1}, up())

		one.stop(t)
		only := map[string]int64{two.addr: 1} // on a busy machine, requests to it may also time out
		require.Eventually(t, func() bool { return x.send(manySpans()...) != nil && maps.Equal(up(), only) }, time.Minute, time.Millisecond)
		require.Equal(t, componentstatus.StatusOK, x.host.last().Status(), "the other backend answers")

		two.stop(t)
		require.Eventually(t, func() bool { return x.send(manySpans()...) != nil && len(up()) == 0 }, time.Minute, time.Millisecond)
		require.Equal(t, componentstatus.StatusRecoverableError, x.host.last().Status())

		one, two = listen(t, &peer{}, one.addr, false, true), listen(t, &peer{}, two.addr, false, true)
		require.Eventually(t, func() bool { return x.send(manySpans()...) == nil }, time.Minute, time.Millisecond)
		require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
		require.Equal(t, map[string]int64{one.addr: 1, two.addr: 1}, up())
	}
}

// TestBackendsDeliverNothing: if all backends accept streams but refuse all data, the status says that
// nothing is delivered.
func TestBackendsDeliverNothing(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	var addrs []string
	for range 2 {
		p := &peer{}
		failWith(p, func() error {
			select {
			case <-up:
				return nil
			default:
				return status.Error(codes.Unavailable, noBackend)
			}
		})
		addrs = append(addrs, listen(t, p, "", true, false).addr)
	}
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, addrs
	x := start(t, c)
	require.Eventually(t, func() bool {
		return x.send(manySpans()...) != nil && x.host.last().Status() == componentstatus.StatusRecoverableError
	}, time.Minute, time.Millisecond)
	close(up)
	require.Eventually(t, func() bool { return x.send(manySpans()...) == nil }, time.Minute, time.Millisecond)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
}

// TestIncompatibleBackend: no stream to a backend with an incompatible schema can be opened, so this
// backend counts as down. Its telemetry is sent to the other backend.
func TestIncompatibleBackend(t *testing.T) {
	t.Parallel()
	odd, good := listen(t, &peer{root: incompatibleRoot()}, "", true, false), listen(t, &peer{}, "", true, false)
	c := testConfig("")
	c.RoutingKey, c.Endpoints, c.Protocol = RoutingTraceID, []string{odd.addr, good.addr}, ProtocolSTEF
	x := start(t, c)
	require.Eventually(t, func() bool {
		return maps.Equal(counted(t, x, "backend_up", "endpoint"), map[string]int64{good.addr: 1})
	}, time.Minute, time.Millisecond)
	require.NoError(t, x.send(manySpans()...))
	bySTEF, _ := good.got()
	require.Equal(t, len(manySpans()), bySTEF)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
	good.stop(t)
	require.Eventually(t, func() bool { return x.host.last().Status() == componentstatus.StatusRecoverableError }, time.Minute, time.Millisecond)
}

// TestBackendThatRefusesRequests: if a backend refuses a request, the exporter does not repeat it
// immediately. OTLP requires a pause before a request is sent again. retry_on_failure waits for it.
func TestBackendThatRefusesRequests(t *testing.T) {
	var asked atomic.Int64
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		asked.Add(1)
		return ptraceotlp.ExportResponse{}, status.Error(codes.Unavailable, "overloaded")
	}}, "", false, true)
	for _, protocol := range []Protocol{ProtocolOTLP, ProtocolAuto} {
		c := testConfig("")
		c.RoutingKey, c.Endpoints, c.Protocol = RoutingTraceID, []string{p.addr}, protocol
		x := start(t, c)
		asked.Store(0)
		require.Error(t, x.send("a"))
		require.EqualValues(t, 1, asked.Load())
		require.EqualValues(t, 1, counted(t, x, "failed_attempts", "code")["UNAVAILABLE"])
	}
}

// TestStatusWithoutBackends: while the name of the backends cannot be resolved, nothing is
// delivered, and the status says so.
func TestStatusWithoutBackends(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	_, port, err := net.SplitHostPort(p.addr)
	require.NoError(t, err)
	var known atomic.Bool
	var attempts atomic.Int64
	c := testConfig("backends.example:" + port)
	c.RoutingKey, c.ResolveInterval = RoutingTraceID, 10*time.Millisecond
	core, logs := observer.New(zap.WarnLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	x, err := newExporter(c, signal.Traces, tracesSplitter, settings)
	require.NoError(t, err)
	x.lookup = func(context.Context, string) ([]string, error) {
		attempts.Add(1)
		if known.Load() {
			return []string{"127.0.0.1"}, nil
		}
		return nil, errors.New("no such host")
	}
	host := &statusHost{Host: componenttest.NewNopHost()}
	require.NoError(t, x.start(t.Context(), host))
	defer func() { require.NoError(t, x.shutdown(context.Background())) }()
	require.Eventually(t, func() bool { return host.last().Status() == componentstatus.StatusRecoverableError }, time.Minute, time.Millisecond)
	require.ErrorContains(t, host.last().Err(), "no such host")
	require.Zero(t, logs.FilterMessageSnippet("remain in use").Len(), "no backend is known")
	require.Eventually(t, func() bool { return attempts.Load() > 5 }, time.Minute, time.Millisecond)
	known.Store(true)
	require.Eventually(t, func() bool { return host.last().Status() == componentstatus.StatusOK }, time.Minute, time.Millisecond)
	require.NoError(t, x.push(t.Context(), spans("a")))
	require.Equal(t, 1, logs.FilterMessageSnippet("cannot be resolved").Len())
}

// TestResolverOutage: each outage of the resolver is logged once, and again after repeatPeriod.
func TestResolverOutage(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	logger := zap.New(core)
	var o outage
	lines := func() []int {
		return []int{logs.FilterMessage("text").Len(), logs.FilterMessageSnippet("again").Len()}
	}
	fail := func() {
		for range 3 {
			o.begin(logger, "text", errors.New("server failure"))
		}
	}
	o.end(logger)
	fail()
	require.Equal(t, []int{1, 0}, lines())
	o.warned = time.Now().Add(-repeatPeriod)
	fail()
	require.Equal(t, []int{2, 0}, lines())
	o.end(logger)
	o.end(logger)
	require.Equal(t, []int{2, 1}, lines())
	fail()
	o.end(logger)
	require.Equal(t, []int{2, 1}, lines(), "the next outage follows at once")
	o.warned = time.Now().Add(-outagePause)
	fail()
	require.Equal(t, []int{3, 1}, lines())
	o.end(logger)
	require.Equal(t, []int{3, 2}, lines())
}

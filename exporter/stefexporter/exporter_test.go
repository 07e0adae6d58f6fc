// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func queued(c *Config) *Config {
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.NumConsumers = 4
	c.QueueConfig = configoptional.Some(queue)
	c.RetryConfig.Enabled = true
	return c
}

func TestShutdownWithoutStart(t *testing.T) {
	x, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), testConfig("localhost:1"))
	require.NoError(t, err)
	require.NoError(t, x.Shutdown(context.Background()))
	require.NoError(t, x.Shutdown(context.Background()))
}

func TestStartFails(t *testing.T) {
	c := testConfig("localhost:1")
	c.ClientConfig.TLS.Insecure = false
	c.ClientConfig.TLS.CAFile = "missing.pem"
	x, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), c)
	require.NoError(t, err)
	require.ErrorContains(t, x.Start(context.Background(), componenttest.NewNopHost()), "missing.pem")
	require.NoError(t, x.Shutdown(context.Background()))
}

// TestShutdownDrains: Shutdown delivers all batches in the queue to a slow peer, with either protocol.
func TestShutdownDrains(t *testing.T) {
	f := func(protocol Protocol) {
		t.Helper()
		p := &peer{}
		p.onStream = func(s *stefgrpc.ServerStream) error {
			time.Sleep(100 * time.Millisecond)
			return p.take(s)
		}
		p.onRequest = func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			time.Sleep(20 * time.Millisecond)
			return ptraceotlp.ExportResponse{}, nil
		}
		listen(t, p, "", true, true)
		c := queued(testConfig(p.addr))
		c.Protocol = protocol
		c.Stef.ShutdownDrainTimeout = time.Minute
		x := start(t, c)
		for i := range 20 {
			require.NoError(t, x.send(fmt.Sprint(i)))
		}
		require.NoError(t, x.Shutdown(context.Background()))
		bySTEF, byOTLP := p.got()
		require.Equal(t, 20, bySTEF+byOTLP)
		dropped(t, x, map[string]int64{})
	}
	f(ProtocolSTEF)
	f(ProtocolOTLP)
}

// TestShutdownEnds uses peers that never answer, or do not exist. Shutdown ends at its deadline, and
// the lost items are counted.
func TestShutdownEnds(t *testing.T) {
	f := func(c *Config, timeout time.Duration) {
		t.Helper()
		x := start(t, queued(c))
		for i := range 20 {
			require.NoError(t, x.send(fmt.Sprint(i)))
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		began := time.Now()
		_ = x.Shutdown(ctx)
		require.Less(t, time.Since(began), time.Minute)
		dropped(t, x, map[string]int64{dropShutdown: 20})
	}
	silent := &peer{
		onStream: func(s *stefgrpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		},
		onRequest: func(ctx context.Context, _ ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			<-ctx.Done()
			return ptraceotlp.ExportResponse{}, ctx.Err()
		},
	}
	listen(t, silent, "", true, true)
	for _, protocol := range []Protocol{ProtocolSTEF, ProtocolOTLP} {
		config := func(addr string, drain time.Duration) *Config {
			c := testConfig(addr)
			c.Protocol = protocol
			c.TimeoutConfig.Timeout = time.Hour
			c.Stef.ShutdownDrainTimeout = drain
			return c
		}
		f(config(silent.addr, 100*time.Millisecond), time.Hour)
		f(config(silent.addr, time.Hour), 100*time.Millisecond)
		if protocol == ProtocolSTEF {
			f(config("127.0.0.1:1", 100*time.Millisecond), time.Hour)
		}
	}
}

// TestShutdownSaysWhy: if a shutdown drops batches because no stream is open, the log has a line for
// each batch. The line says why no stream could be opened.
func TestShutdownSaysWhy(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	c := queued(testConfig("127.0.0.1:1"))
	c.Protocol = ProtocolSTEF
	c.TimeoutConfig.Timeout = time.Hour
	c.Stef.ShutdownDrainTimeout = 100 * time.Millisecond
	x, err := NewFactory().CreateTraces(t.Context(), settings, c)
	require.NoError(t, err)
	require.NoError(t, x.Start(t.Context(), componenttest.NewNopHost()))
	require.Eventually(t, func() bool { return logs.FilterMessageSnippet("No traces can be sent").Len() > 0 }, time.Minute, time.Millisecond)
	for i := range 20 {
		require.NoError(t, x.ConsumeTraces(t.Context(), spans(fmt.Sprint(i))))
	}
	require.NoError(t, x.Shutdown(context.Background()))
	lines := logs.FilterMessageSnippet("Dropping data").All()
	require.Len(t, lines, 20)
	for _, line := range lines {
		require.Contains(t, line.ContextMap()["error"], "no STEF stream to 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused")
	}
}

// TestShutdownWhileEncoding shuts down while a batch is encoded. The batch is larger than a frame, and
// the peer reads nothing, so the encoder is blocked in a write.
func TestShutdownWhileEncoding(t *testing.T) {
	opened := make(chan struct{}, 1)
	p := listen(t, &peer{onStream: func(s *stefgrpc.ServerStream) error {
		opened <- struct{}{}
		<-s.Context().Done()
		return nil
	}}, "", true, false)
	c := queued(testConfig(p.addr))
	c.Protocol = ProtocolSTEF
	c.TimeoutConfig.Timeout = 20 * time.Second
	c.Stef.MaxFrameSizeKiB, c.Stef.Compression, c.Stef.ShutdownDrainTimeout = 16, compressionNone, 200*time.Millisecond
	x := start(t, c)
	<-opened
	var list []string
	for i := range 200 {
		list = append(list, strings.Repeat(fmt.Sprint(i), 10_000))
	}
	require.NoError(t, x.send(list...))
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	require.NoError(t, x.Shutdown(context.Background()))
	require.Less(t, time.Since(began), 10*time.Second)
	dropped(t, x, map[string]int64{dropShutdown: 200})
}

// TestShutdownShares shuts down three signals one after another, as the Collector does, with a peer
// that does not exist. The signals share one timeout: each of them may use a part of it.
func TestShutdownShares(t *testing.T) {
	const drain = 2 * time.Second
	c := queued(testConfig("127.0.0.1:1"))
	c.TimeoutConfig.Timeout = time.Hour // after a timeout, a signal would have nothing to wait for
	c.Stef.ShutdownDrainTimeout = drain
	settings := exportertest.NewNopSettings(metadata.Type)
	traces, err := NewFactory().CreateTraces(context.Background(), settings, c)
	require.NoError(t, err)
	metrics, err := NewFactory().CreateMetrics(context.Background(), settings, c)
	require.NoError(t, err)
	logs, err := NewFactory().CreateLogs(context.Background(), settings, c)
	require.NoError(t, err)
	all := []component.Component{traces, metrics, logs}
	for _, x := range all {
		require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
	}
	require.NoError(t, traces.ConsumeTraces(context.Background(), spans("a")))
	md, ld := pmetric.NewMetrics(), plog.NewLogs()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("a")
	require.NoError(t, metrics.ConsumeMetrics(context.Background(), md))
	require.NoError(t, logs.ConsumeLogs(context.Background(), ld))
	own := joinSignalGroup(c) // a fourth signal, which observes the shared time
	began := time.Now()
	for _, x := range all {
		alone, share := time.Now(), own.share()
		_ = x.Shutdown(context.Background())
		require.GreaterOrEqual(t, time.Since(alone), share)
		require.Equal(t, drain/reservedShare, own.share(), "the first signal uses all that is not reserved")
	}
	require.Less(t, time.Since(began), 3*drain)
	own.leave(0)
	signalGroups.Lock()
	defer signalGroups.Unlock()
	require.NotContains(t, signalGroups.of, c)
}

func TestDrainTime(t *testing.T) {
	c := &Config{Stef: StefConfig{ShutdownDrainTimeout: 10 * time.Second}}
	d := joinSignalGroup(c)
	require.Equal(t, 10*time.Second, d.share())
	require.Same(t, d, joinSignalGroup(c))
	require.Same(t, d, joinSignalGroup(c))
	require.Equal(t, 8*time.Second, d.share())
	d.leave(100 * time.Millisecond)
	require.Equal(t, 8900*time.Millisecond, d.share(), "what the first signal did not use")
	d.leave(8900 * time.Millisecond)
	require.Equal(t, time.Second, d.share())
	d.leave(time.Second)
	next := joinSignalGroup(c)
	require.NotSame(t, d, next)
	next.leave(0)
}

// TestShutdownWithoutWaiting: with otlp_fallback::wait_for_pending false, Shutdown does not wait for
// answers to OTLP requests, whether OTLP is configured or is the fallback.
func TestShutdownWithoutWaiting(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolOTLP, ProtocolAuto} {
		testShutdownWithoutWaiting(t, protocol, "")
		testShutdownWithoutWaiting(t, protocol, RoutingTraceID)
	}
}

func testShutdownWithoutWaiting(t *testing.T, protocol Protocol, routing RoutingKey) {
	arrived := make(chan struct{}, 1)
	p := listen(t, &peer{onRequest: func(ctx context.Context, _ ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		arrived <- struct{}{}
		<-ctx.Done()
		return ptraceotlp.ExportResponse{}, ctx.Err()
	}}, "", false, true)
	c := testConfig(p.addr)
	c.Protocol = protocol
	c.TimeoutConfig.Timeout = time.Hour
	c.Stef.ShutdownDrainTimeout = time.Hour
	c.Fallback.WaitForPending = false
	if c.RoutingKey = routing; routing != "" {
		c.ClientConfig.Endpoint, c.Endpoints = "", []string{p.addr}
	}
	x := start(t, queued(c))
	require.NoError(t, x.send("a"))
	<-arrived
	began := time.Now()
	_ = x.Shutdown(context.Background())
	require.Less(t, time.Since(began), time.Minute)
	dropped(t, x, map[string]int64{dropShutdown: 1})
}

// TestPushEndsAtShutdown: without a queue, a call that sends a batch returns when the exporter is shut
// down.
func TestPushEndsAtShutdown(t *testing.T) {
	c := testConfig("127.0.0.1:1")
	c.TimeoutConfig.Timeout = time.Hour
	c.Stef.ShutdownDrainTimeout = 50 * time.Millisecond
	x := start(t, c)
	result := make(chan error, 1)
	go func() { result <- x.send("a") }()
	time.Sleep(20 * time.Millisecond)
	_ = x.Shutdown(context.Background())
	select {
	case err := <-result:
		require.Error(t, err)
		require.False(t, consumererror.IsPermanent(err))
	case <-time.After(time.Minute):
		require.Fail(t, "push has not returned")
	}
	dropped(t, x, map[string]int64{}) // the caller receives the error
}

func TestDroppedWithoutRetries(t *testing.T) {
	c := queued(testConfig("127.0.0.1:1"))
	c.RetryConfig.Enabled = false
	c.TimeoutConfig.Timeout = 20 * time.Millisecond
	x := start(t, c)
	require.NoError(t, x.send("a", "b"))
	require.Eventually(t, func() bool { return counted(t, x, "items_dropped", "reason")[dropRetriesOff] == 2 },
		time.Minute, 10*time.Millisecond)
}

func TestRetries(t *testing.T) {
	refusals := 3
	p := &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		if refusals--; refusals >= 0 {
			return ptraceotlp.ExportResponse{}, withRetryInfo(14, time.Millisecond)
		}
		return ptraceotlp.ExportResponse{}, nil
	}}
	listen(t, p, "", false, true)
	c := otlpConfig(p.addr)
	c.RetryConfig.Enabled = true
	c.RetryConfig.InitialInterval = time.Millisecond
	x := start(t, c)
	require.NoError(t, x.send("a"))
	require.Equal(t, map[string]int64{"UNAVAILABLE": 3}, counted(t, x, "failed_attempts", "code"))
	dropped(t, x, map[string]int64{})
}

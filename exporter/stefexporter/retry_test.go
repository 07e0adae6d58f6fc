// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
)

// TestShutdownRetries: while the peer is away, the exporter is shut down. The peer returns before
// shutdown_drain_timeout is over. Everything is delivered: also batches that waited for a retry when
// the shutdown began, and batches whose attempt failed during the shutdown.
func TestShutdownRetries(t *testing.T) {
	t.Parallel()
	const items = 20
	f := func(protocol Protocol, routing RoutingKey) {
		t.Helper()
		addr := freeport.Address(t)
		core, logs := observer.New(zap.InfoLevel)
		c := queued(testConfig(addr))
		c.Protocol = protocol
		if c.RoutingKey = routing; routing != "" {
			c.ClientConfig.Endpoint, c.Endpoints = "", []string{addr}
		}
		c.TimeoutConfig.Timeout = 100 * time.Millisecond
		c.RetryConfig.InitialInterval, c.RetryConfig.MaxElapsedTime = time.Hour, 0
		c.Stef.ShutdownDrainTimeout = time.Minute
		x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
		for i := range items {
			require.NoError(t, x.send(fmt.Sprint(i)))
		}
		require.Eventually(t, func() bool { return logs.FilterMessageSnippet("Will retry").Len() == 4 }, time.Minute, time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- x.Shutdown(t.Context()) }()
		time.Sleep(300 * time.Millisecond)
		p := listen(t, &peer{}, addr, protocol == ProtocolSTEF, protocol == ProtocolOTLP)
		require.NoError(t, <-ended)
		bySTEF, byOTLP := p.got()
		require.GreaterOrEqual(t, bySTEF+byOTLP, items)
		dropped(t, x, map[string]int64{})
	}
	f(ProtocolSTEF, "")
	f(ProtocolOTLP, "")
	f(ProtocolSTEF, RoutingTraceID)
}

// TestShutdownBetweenRetries shuts an exporter down while batches wait for a retry, and the peer does
// not return. All items are counted as dropped, as are those that were not sent at all.
func TestShutdownBetweenRetries(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	c := queued(otlpConfig("127.0.0.1:1"))
	c.RetryConfig.InitialInterval, c.RetryConfig.MaxElapsedTime = time.Hour, 0
	c.Stef.ShutdownDrainTimeout = 300 * time.Millisecond
	x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
	for i := range 20 {
		require.NoError(t, x.send(fmt.Sprint(i)))
	}
	require.Eventually(t, func() bool { return logs.FilterMessageSnippet("Will retry").Len() == 4 }, time.Minute, time.Millisecond)
	require.NoError(t, x.Shutdown(t.Context()))
	dropped(t, x, map[string]int64{dropShutdown: 20})
	failed, err := x.telemetry.GetMetric("otelcol_exporter_send_failed_spans")
	require.NoError(t, err)
	points := failed.Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, points, 1)
	require.EqualValues(t, 20, points[0].Value)
	kind, _ := points[0].Attributes.Value("error.type")
	require.Equal(t, "Shutdown", kind.AsString())
}

// TestShutdownEndsPauses: a batch that waits for a retry is sent when a shutdown begins, even if there is
// no time for a pause.
func TestShutdownEndsPauses(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	var once sync.Once
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		once.Do(func() {
			err = status.Error(codes.Unavailable, "busy")
			arrived <- struct{}{}
		})
		return r, err
	}}, "", false, true)
	c := queued(otlpConfig(p.addr))
	c.RetryConfig.InitialInterval, c.RetryConfig.MaxElapsedTime = time.Hour, 0
	core, logs := observer.New(zap.InfoLevel)
	x := startSignal(t, c, signal.Traces)
	x.settings.Logger = zap.New(core)
	sent := make(chan error, 1)
	go func() { sent <- x.push(t.Context(), spans("a")) }()
	<-arrived
	require.Eventually(t, func() bool { return logs.FilterMessageSnippet("Will retry").Len() == 1 }, time.Minute, time.Millisecond)
	x.stopping.Do(func() { // like beginStop, but the time is over
		x.began, x.until = time.Now(), time.Now()
		x.deadline, x.unhook = time.NewTimer(time.Hour), func() bool { return true }
		close(x.stopped)
	})
	require.NoError(t, <-sent)
	require.Equal(t, []string{"a"}, p.byOTLP)
}

// stoppedContext is a context at which a shutdown stops for a second: after it has ended the attempts of
// push, and before it ends those of exporterhelper.
type stoppedContext struct {
	context.Context
	done chan struct{}
}

// Done implements context.Context.
func (c stoppedContext) Done() <-chan struct{} { return c.done }

// AfterFunc is called by context.AfterFunc.
func (stoppedContext) AfterFunc(func()) (stop func() bool) {
	time.Sleep(time.Second)
	return func() bool { return true }
}

// TestShutdownCountsOnce: if a shutdown has counted a batch as dropped, exporterhelper does not
// send the batch again, even with initial_interval 0. This also holds if the goroutine of the shutdown
// stops for longer than shutdown_drain_timeout, as on a busy machine.
func TestShutdownCountsOnce(t *testing.T) {
	t.Parallel()
	f := func(ctx context.Context, drain time.Duration) {
		t.Helper()
		c := queued(otlpConfig("127.0.0.1:1"))
		c.RetryConfig.InitialInterval, c.RetryConfig.MaxElapsedTime = 0, 0
		c.Stef.ShutdownDrainTimeout = drain
		x := startOn(t, c, componenttest.NewNopHost(), zap.NewNop())
		for i := range 20 {
			require.NoError(t, x.send(fmt.Sprint(i)))
		}
		require.NoError(t, x.Shutdown(ctx))
		dropped(t, x, map[string]int64{dropShutdown: 20})
	}
	f(t.Context(), 300*time.Millisecond)
	f(stoppedContext{t.Context(), make(chan struct{})}, 100*time.Millisecond)
}

// TestShutdownHeedsRetryInfo: a batch for which the peer named a delay is not sent earlier because of
// a shutdown. If the delay is longer than the shutdown, the shutdown does not wait.
func TestShutdownHeedsRetryInfo(t *testing.T) {
	t.Parallel()
	f := func(delay time.Duration, lost map[string]int64) {
		t.Helper()
		var requests []time.Time // the server handles one request at a time
		arrived := make(chan struct{}, 10)
		p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			requests = append(requests, time.Now())
			arrived <- struct{}{}
			if len(requests) == 1 {
				return ptraceotlp.ExportResponse{}, withRetryInfo(codes.Unavailable, delay)
			}
			return ptraceotlp.ExportResponse{}, nil
		}}, "", false, true)
		c := queued(otlpConfig(p.addr))
		c.RetryConfig.MaxElapsedTime = 0 // otherwise the batch is given up if the shutdown begins after its answer
		c.Stef.ShutdownDrainTimeout = time.Minute
		x := startOn(t, c, componenttest.NewNopHost(), zap.NewNop())
		require.NoError(t, x.send("a"))
		<-arrived
		began := time.Now()
		require.NoError(t, x.Shutdown(t.Context()))
		require.Less(t, time.Since(began), 30*time.Second)
		dropped(t, x, lost)
		if len(lost) == 0 {
			require.Len(t, requests, 2)
			require.GreaterOrEqual(t, requests[1].Sub(requests[0]), delay)
		}
	}
	f(time.Second, map[string]int64{})
	f(time.Hour, map[string]int64{dropShutdown: 1})
}

// TestRetriesEnd checks that push sends the batches of a queue in memory again as retry_on_failure
// says, and drops them in the same cases as exporterhelper. If the peer names a delay that is
// longer than max_elapsed_time, push drops the batch at once, and the log says why.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	stored := false
	f := func(answer error, most time.Duration, retries int, why string) {
		t.Helper()
		core, logs := observer.New(zap.InfoLevel)
		p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			return ptraceotlp.ExportResponse{}, answer
		}}, "", false, true)
		c := queued(otlpConfig(p.addr))
		c.RetryConfig.InitialInterval, c.RetryConfig.MaxInterval = 10*time.Millisecond, 40*time.Millisecond
		c.RetryConfig.Multiplier, c.RetryConfig.RandomizationFactor = 2, 0
		c.RetryConfig.MaxElapsedTime = most
		if stored {
			c.QueueConfig.Get().StorageID = &storeID
		}
		host := storeHost{componenttest.NewNopHost(), &store{data: map[string][]byte{}}}
		x := startOn(t, c, host, zap.New(core))
		require.NoError(t, x.send("a"))
		lost := func() []observer.LoggedEntry { return logs.FilterMessage("Exporting failed. Dropping data.").All() }
		require.Eventually(t, func() bool { return len(lost()) == 1 }, time.Minute, time.Millisecond)
		require.Contains(t, lost()[0].ContextMap()["error"], why)
		again := logs.FilterMessage("Exporting failed. Will retry the request after interval.").All()
		if retries >= 0 {
			require.Len(t, again, retries)
		}
		for i, pause := range []string{"10ms", "20ms", "40ms", "40ms"}[:min(4, len(again))] {
			require.Equal(t, pause, again[i].ContextMap()["interval"])
		}
		require.NoError(t, x.Shutdown(t.Context()))
		dropped(t, x, map[string]int64{})
	}
	f(status.Error(codes.Unavailable, "busy"), time.Second, -1, "no more retries left")
	f(status.Error(codes.Unavailable, "busy"), 5*time.Millisecond, 0, "no more retries left")
	const late = "(the next attempt would be after 1m0s, and retry_on_failure::max_elapsed_time is 30s)"
	f(withRetryInfo(codes.Unavailable, time.Minute), 30*time.Second, 0, late)
	f(withRetryInfo(codes.Unavailable, math.MaxInt64), 30*time.Second, 0, "(the next attempt would be after 2562047h47m16.854775807s")
	stored = true
	f(withRetryInfo(codes.Unavailable, time.Minute), 30*time.Second, 0, late)
	f(status.Error(codes.Unavailable, "busy"), 5*time.Millisecond, 0, "no more retries left")
}

// TestRetriesOfParts: with routing_key, only the part that was not delivered is sent again, also
// during a shutdown.
func TestRetriesOfParts(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{}, 1)
	var once sync.Once
	refuse := func(context.Context, ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		once.Do(func() {
			err = status.Error(codes.Unavailable, "busy")
			refused <- struct{}{}
		})
		return r, err
	}
	one, two := listen(t, &peer{onRequest: refuse}, "", false, true), listen(t, &peer{onRequest: refuse}, "", false, true)
	c := queued(otlpConfig(""))
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{one.addr, two.addr}
	c.RetryConfig.InitialInterval, c.Stef.ShutdownDrainTimeout = time.Hour, time.Minute
	c.RetryConfig.MaxElapsedTime = 0
	x := startOn(t, c, componenttest.NewNopHost(), zap.NewNop())
	var list []string
	for i := range 64 {
		list = append(list, fmt.Sprint(i))
	}
	require.NoError(t, x.send(list...))
	<-refused
	require.NoError(t, x.Shutdown(t.Context()))
	require.ElementsMatch(t, list, append(one.byOTLP, two.byOTLP...))
	require.NotEmpty(t, one.byOTLP)
	require.NotEmpty(t, two.byOTLP)
	dropped(t, x, map[string]int64{})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// gateway is a peer. While the field code is not OK, it refuses streams with this code.
type gateway struct {
	*peer
	code     atomic.Uint32
	attempts atomic.Int64
	last     atomic.Pointer[time.Time] // time of the last attempt
}

func startGateway(t *testing.T, code codes.Code, addr string) *gateway {
	t.Helper()
	g := &gateway{}
	g.code.Store(uint32(code))
	g.peer = listen(t, &peer{}, addr, true, false, grpc.StreamInterceptor(
		func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			now := time.Now()
			g.last.Store(&now)
			g.attempts.Add(1)
			if code := codes.Code(g.code.Load()); code != codes.OK {
				return status.Error(code, "not now")
			}
			return next(srv, s)
		}))
	return g
}

// refusedConfig returns a configuration with pauses of 1, 2, 4, 5, 5, ... seconds after refusals.
func refusedConfig(addr string, protocol Protocol) *Config {
	c := testConfig(addr)
	c.Protocol = protocol
	c.TimeoutConfig.Timeout = time.Minute
	c.Fallback.ProbeInterval = 5 * time.Minute
	return c
}

// outlast waits until the peer has refused n attempts to open a stream, and the last refusal is older
// than refusalGrace.
func outlast(t *testing.T, g *gateway, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return g.attempts.Load() >= n }, time.Minute, 10*time.Millisecond)
	// If there were attempts during the sleep, as on a busy machine, sleep again. In some
	// tests the attempts never end.
	for last, tries := int64(0), 0; g.attempts.Load() != last && tries < 3; tries++ {
		last = g.attempts.Load()
		time.Sleep(refusalGrace + 200*time.Millisecond)
	}
}

// TestOldRefusal sends a batch long after a refusal, to a peer that accepts the batch at the
// next attempt.
func TestOldRefusal(t *testing.T) {
	t.Parallel()
	f := func(name string, protocol Protocol, code codes.Code) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, code, "")
			core, logs := observer.New(zap.DebugLevel)
			x := startOn(t, refusedConfig(g.addr, protocol), componenttest.NewNopHost(), zap.New(core))
			defer func() { require.NoError(t, x.Shutdown(context.Background())) }()
			// Count the refusals that the exporter knows. On a busy machine, it receives them late.
			refusals := func() int { return logs.FilterMessage("A STEF stream could not be opened.").Len() }
			require.Eventually(t, func() bool { return refusals() >= 2 }, time.Minute, 10*time.Millisecond)
			g.code.Store(uint32(codes.OK))
			for seen := 0; seen != refusals(); {
				seen = refusals()
				time.Sleep(refusalGrace + 200*time.Millisecond)
			}
			require.NoError(t, x.send("a", "b"))
			require.Zero(t, counted(t, x, "items_dropped", "reason")[dropPermanent])
		})
	}
	f("no STEF", ProtocolSTEF, codes.Unimplemented)
	f("credentials", ProtocolAuto, codes.Unauthenticated)
	f("permission", ProtocolSTEF, codes.PermissionDenied)
}

// TestFreshRefusal sends a batch that waits for the next attempt. The attempt is refused, so
// this batch and the batches of the next second are dropped.
func TestFreshRefusal(t *testing.T) {
	t.Parallel()
	g := startGateway(t, codes.Unimplemented, "")
	x := start(t, refusedConfig(g.addr, ProtocolSTEF))
	outlast(t, g, 2)
	sent := int64(0)
	for fresh := false; !fresh; { // repeat if the machine was too slow for the second batch
		before := g.attempts.Load()
		err := x.send("a")
		require.True(t, consumererror.IsPermanent(err))
		require.ErrorContains(t, err, "the peer has no STEF for this signal")
		require.ErrorContains(t, err, "a stream is tried again within 5s")
		require.True(t, consumererror.IsPermanent(x.send("b")))
		after := g.attempts.Load()
		if fresh = time.Since(*g.last.Load()) < refusalGrace; fresh {
			require.Equal(t, before+1, after)
		}
		sent += 2
	}
	require.Equal(t, sent, counted(t, x, "items_dropped", "reason")[dropPermanent])
}

// TestStreamsRefusedAtOnce uses a peer that ends each stream with a permanent error before it reads
// data. Every batch is dropped and counted. After the peer has begun to accept streams, a new batch
// is delivered.
func TestStreamsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	var accepts atomic.Bool
	p := &peer{}
	p.onStream = func(s *stefgrpc.ServerStream) error {
		if accepts.Load() {
			return p.take(s)
		}
		return &stefgrpc.Error{Kind: stefgrpc.KindInvalid, Err: errors.New("unknown tenant")}
	}
	listen(t, p, "", true, false)
	c := refusedConfig(p.addr, ProtocolSTEF)
	c.TimeoutConfig.Timeout = time.Hour
	x := start(t, c)
	began := time.Now()
	for range 3 {
		err := x.send("a")
		require.True(t, consumererror.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, "unknown tenant")
	}
	require.Less(t, time.Since(began), time.Minute)
	require.Equal(t, int64(3), counted(t, x, "items_dropped", "reason")[dropPermanent])
	accepts.Store(true)
	time.Sleep(refusalGrace + 100*time.Millisecond) // until the refusals have expired
	require.NoError(t, x.send("b"))
	require.Equal(t, int64(3), counted(t, x, "items_dropped", "reason")[dropPermanent])
	bySTEF, _ := p.got()
	require.Equal(t, 1, bySTEF)
}

// TestNewConnectionIsTried replaces a peer that refuses streams by a peer that accepts them. The
// test stops the timer of the exporter, so only the new connection can cause an attempt.
func TestNewConnectionIsTried(t *testing.T) {
	t.Parallel()
	old := startGateway(t, codes.Unauthenticated, freeport.Address(t))
	x := startSignal(t, refusedConfig(old.addr, ProtocolSTEF), signal.Traces)
	r := onlyRoute(t, x)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.timer != nil && r.timer.Stop()
	}, time.Minute, time.Millisecond)
	time.Sleep(refusalGrace + 100*time.Millisecond) // until the refusals have expired
	old.stop(t)
	startGateway(t, codes.OK, old.addr)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, x.push(ctx, spans("a")))
}

func onlyRoute(t *testing.T, x *stefExporter[ptrace.Traces]) *route[ptrace.Traces] {
	t.Helper()
	all := x.only.routes.all()
	require.Len(t, all, 1)
	return all[0]
}

// TestRestartIsNoRefusal stops a peer that refuses streams. A later batch is not dropped: the peer may
// accept streams after it is started again.
func TestRestartIsNoRefusal(t *testing.T) {
	t.Parallel()
	old := startGateway(t, codes.Unauthenticated, freeport.Address(t))
	c := refusedConfig(old.addr, ProtocolSTEF)
	x := startSignal(t, c, signal.Traces)
	r := onlyRoute(t, x)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.soon
	}, time.Minute, time.Millisecond)
	old.stop(t)
	require.Eventually(t, func() bool { // the exporter notices the stop; the last refusal is younger than refusalGrace
		r.mu.Lock()
		defer r.mu.Unlock()
		return !r.changed.IsZero()
	}, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := x.push(ctx, spans("a"))
	require.Error(t, err)
	require.False(t, consumererror.IsPermanent(err), "%v", err)
}

// TestRefusedForEver uses a peer that refuses all streams. The queue drains, there are few
// attempts, and a shutdown waits for one attempt.
func TestRefusedForEver(t *testing.T) {
	t.Parallel()
	g := startGateway(t, codes.Unimplemented, "")
	c := refusedConfig(g.addr, ProtocolSTEF)
	c.RetryConfig.Enabled = true
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.NumConsumers = 16
	c.QueueConfig = configoptional.Some(queue)
	c.Stef.ShutdownDrainTimeout = time.Hour
	begin := time.Now()
	x := start(t, c)
	outlast(t, g, 1)
	for range 64 {
		require.NoError(t, x.send("a"))
	}
	require.Eventually(t, func() bool { return counted(t, x, "items_dropped", "reason")[dropPermanent] == 64 },
		time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, g.attempts.Load(), int64(4+time.Since(begin)/maxRefusalPause))

	time.Sleep(refusalGrace + 100*time.Millisecond)
	for range 20 { // more batches than consumers
		require.NoError(t, x.send("b"))
	}
	before, began := g.attempts.Load(), time.Now()
	require.NoError(t, x.Traces.Shutdown(context.Background()))
	require.Less(t, time.Since(began), time.Minute)
	require.LessOrEqual(t, g.attempts.Load(), before+1)
	require.Equal(t, int64(84), counted(t, x, "items_dropped", "reason")[dropPermanent]+
		counted(t, x, "items_dropped", "reason")[dropShutdown])
}

// TestRefusalPause checks the pauses between attempts to open a stream. They are the same if the peer
// closes the connection with each refusal.
func TestRefusalPause(t *testing.T) {
	c := createDefaultConfig().(*Config)
	require.Equal(t, 5*time.Second, c.refusalPause())
	c.TimeoutConfig.Timeout = 3 * time.Second
	require.Equal(t, 1500*time.Millisecond, c.refusalPause())
	c.TimeoutConfig.Timeout = 100 * time.Millisecond
	require.Equal(t, time.Second, c.refusalPause(), "never shorter than minRefusalPause")

	c = createDefaultConfig().(*Config)
	x := &route[int]{routeShared: &routeShared[int]{config: c}}
	refusal := &stefgrpc.Error{Kind: stefgrpc.KindAuth, Err: errors.New("no")}
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		x.tried = time.Now()
		x.planProbe(refusal)
		require.Equal(t, want*time.Second, x.pause)
		require.False(t, x.early)
		x.connectionChanged()
		require.True(t, x.early)
		require.True(t, x.timer.Stop(), "no attempt yet")
	}
	x.timer = nil
	defer func() { x.timer.Stop() }()
	x.planProbe(&stefgrpc.Error{Kind: stefgrpc.KindUnimplemented, Err: errors.New("no")})
	require.True(t, x.soon, "without OTLP")
	require.True(t, x.timer.Stop())
	x.otlp, x.timer = &otlpSender[int]{}, nil
	x.planProbe(&stefgrpc.Error{Kind: stefgrpc.KindUnimplemented, Err: errors.New("no")})
	require.False(t, x.soon, "with OTLP, probe_interval applies")
}

// TestHeadersTooLarge: if the peer accepts no headers as large as those of the exporter, a batch fails at once, with
// either protocol, and the error says what to do.
func TestHeadersTooLarge(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolAuto, ProtocolSTEF, ProtocolOTLP} {
		p := listen(t, &peer{}, "", true, true, grpc.MaxHeaderListSize(16<<10))
		c := refusedConfig(p.addr, protocol)
		c.ClientConfig.Headers = configopaque.MapList{{Name: "x", Value: configopaque.String(strings.Repeat("x", 17<<10))}}
		x := start(t, c)
		began := time.Now()
		err := x.send("a")
		require.True(t, consumererror.IsPermanent(err), "%s: %v", protocol, err)
		require.ErrorContains(t, err, "(16384 bytes) set by server (endpoint "+p.addr+": the peer refuses larger headers: shorten headers")
		require.Less(t, time.Since(began), 10*time.Second)
		dropped(t, x, map[string]int64{dropPermanent: 1})
	}
}

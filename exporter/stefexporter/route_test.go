// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func TestSendsSTEF(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	x := start(t, testConfig(p.addr))
	require.NoError(t, x.send("a", "b"))
	require.NoError(t, x.send("c"))
	bySTEF, byOTLP := p.got()
	require.Equal(t, 3, bySTEF)
	require.Zero(t, byOTLP)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
}

func TestSendsOTLP(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	c := testConfig(p.addr)
	c.Protocol = ProtocolOTLP
	x := start(t, c)
	require.NoError(t, x.send("a", "b"))
	bySTEF, byOTLP := p.got()
	require.Zero(t, bySTEF)
	require.Equal(t, 2, byOTLP)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
}

func TestEmptyIsNotSent(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolAuto, ProtocolSTEF, ProtocolOTLP} {
		c := testConfig("127.0.0.1:1") // no server listens there
		c.Protocol = protocol
		x := start(t, c)
		require.NoError(t, x.send())
	}
}

// TestFallbackAndRecovery uses a peer that has only OTLP at first, and later STEF and OTLP.
func TestFallbackAndRecovery(t *testing.T) {
	t.Parallel()
	old := listen(t, &peer{}, freeport.Address(t), false, true)
	x := start(t, testConfig(old.addr))
	require.NoError(t, x.send("a", "b"))
	_, byOTLP := old.got()
	require.Equal(t, 2, byOTLP)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())

	old.stop(t)
	young := listen(t, &peer{}, old.addr, true, true)
	require.Eventually(t, func() bool {
		if x.send("c") != nil {
			return false
		}
		bySTEF, _ := young.got()
		return bySTEF > 0
	}, time.Minute, 20*time.Millisecond)
	_, before := young.got()
	require.NoError(t, x.send("d"))
	_, after := young.got()
	require.Equal(t, before, after, "STEF again, and no more OTLP")

	down, err := x.telemetry.GetMetric("otelcol_exporter_stef_downgrades")
	require.NoError(t, err)
	require.Equal(t, int64(1), sum(down))
	up, err := x.telemetry.GetMetric("otelcol_exporter_stef_upgrades")
	require.NoError(t, err)
	require.Equal(t, int64(1), sum(up))
}

// TestFallbackEndsWithConnection: a peer that restarts with STEF receives STEF on the new
// connection, long before probe_interval is over. A restart without STEF changes nothing.
func TestFallbackEndsWithConnection(t *testing.T) {
	t.Parallel()
	old := listen(t, &peer{}, freeport.Address(t), false, true)
	c := testConfig(old.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := start(t, c)
	require.NoError(t, x.send("a"))
	for _, withSTEF := range []bool{false, true} {
		old.stop(t)
		next := listen(t, &peer{}, old.addr, withSTEF, true)
		require.Eventually(t, func() bool {
			_ = x.send("b") // may fail while the connection is broken
			bySTEF, byOTLP := next.got()
			if withSTEF {
				return bySTEF > 0
			}
			return byOTLP > 0
		}, time.Minute, 50*time.Millisecond)
		old = next
	}
}

// TestOldRefusalIsNoEvidence: a peer has no STEF at first, then has STEF, and then does not answer the
// next stream. The error of a batch does not contain the old answer "no STEF here".
func TestOldRefusalIsNoEvidence(t *testing.T) {
	const without, with, silent = 0, 1, 2
	var mode atomic.Int32
	p := listen(t, &peer{}, "", true, true, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		switch mode.Load() {
		case without:
			return status.Error(codes.Unimplemented, "no STEF here")
		case silent:
			<-s.Context().Done()
			return s.Context().Err()
		}
		return handle(srv, s)
	}))
	c := testConfig(p.addr)
	c.Stef.IdleTimeout = 20 * time.Millisecond
	x := start(t, c)
	require.NoError(t, x.send("a"))
	mode.Store(with)
	require.Eventually(t, func() bool {
		require.NoError(t, x.send("b"))
		bySTEF, _ := p.got()
		return bySTEF > 0
	}, time.Minute, 10*time.Millisecond)
	mode.Store(silent)
	require.Eventually(t, func() bool { return counted(t, x, "streams_active", "state")["live"] == 0 }, time.Minute, 10*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := x.ConsumeTraces(ctx, spans("c"))
	require.ErrorContains(t, err, "STEF stream: ")
	require.NotContains(t, err.Error(), "no STEF here")
	require.Equal(t, map[string]int64{"": 1}, counted(t, x, "downgrades", ""))
}

// TestFallsBackPerSignal uses a peer that has STEF only for another signal.
func TestFallsBackPerSignal(t *testing.T) {
	p := listen(t, &peer{root: otelstef.MetricsRoot()}, "", true, true)
	x := start(t, testConfig(p.addr))
	require.NoError(t, x.send("a"))
	_, byOTLP := p.got()
	require.Equal(t, 1, byOTLP)
	require.Equal(t, map[string]int64{"": 1}, counted(t, x, "downgrades", ""))
}

// TestNoEvidence checks failures that do not prove that the peer has no STEF. The exporter does not
// fall back to OTLP because of them.
func TestNoEvidence(t *testing.T) {
	t.Parallel()
	f := func(name string, p *peer, options ...grpc.ServerOption) {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			listen(t, p, "", true, true, options...)
			c := testConfig(p.addr)
			c.TimeoutConfig.Timeout = 200 * time.Millisecond
			x := start(t, c)
			require.Error(t, x.send("a"))
			require.Error(t, x.send("b"))
			_, byOTLP := p.got()
			require.Zero(t, byOTLP)
			_, err := x.telemetry.GetMetric("otelcol_exporter_stef_downgrades")
			require.Error(t, err, "never counted")
		})
	}
	refuse := func(code codes.Code) grpc.ServerOption {
		return grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
			return status.Error(code, "no")
		})
	}
	f("unavailable", &peer{}, refuse(codes.Unavailable))
	f("unauthenticated", &peer{}, refuse(codes.Unauthenticated))
	f("permission denied", &peer{}, refuse(codes.PermissionDenied))
	f("exhausted", &peer{}, refuse(codes.ResourceExhausted))
	f("internal", &peer{}, refuse(codes.Internal))
	f("silence", &peer{}, grpc.StreamInterceptor(func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		<-s.Context().Done()
		return nil
	}))
	f("no acknowledgement", &peer{onStream: func(s *stefgrpc.ServerStream) error {
		<-s.Context().Done()
		return nil
	}})
}

// TestOnlySTEF checks that with protocol stef the exporter does not fall back to OTLP.
func TestOnlySTEF(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	c := testConfig(p.addr)
	c.Protocol = ProtocolSTEF
	x := start(t, c)
	err := x.send("a", "b")
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "set protocol to auto")
	_, byOTLP := p.got()
	require.Zero(t, byOTLP)
	dropped(t, x, map[string]int64{dropPermanent: 2})
}

// TestSTEFOnlyAfterFallback: after the fallback to OTLP, another peer replaces the peer. The new peer
// supports only STEF. No batch may fail permanently, because STEF can deliver it.
func TestSTEFOnlyAfterFallback(t *testing.T) {
	old := listen(t, &peer{}, freeport.Address(t), false, true)
	c := testConfig(old.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := start(t, c)
	require.NoError(t, x.send("a"))
	old.stop(t)
	young := listen(t, &peer{}, old.addr, true, false)
	require.Eventually(t, func() bool {
		err := x.send("b")
		require.False(t, consumererror.IsPermanent(err), "%v", err)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	bySTEF, _ := young.got()
	require.NotZero(t, bySTEF)
}

// TestSTEFIsBackAlready: if the peer answers an OTLP request with UNIMPLEMENTED, and a stream is already
// open, the exporter sends the batch on this stream, without another attempt to open one.
func TestSTEFIsBackAlready(t *testing.T) {
	p := listen(t, &peer{}, "", true, false)
	c := testConfig(p.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := startSignal(t, c, signal.Traces)
	require.NoError(t, x.push(t.Context(), spans("a")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	works, _ := onlyRoute(t, x).trySTEFNow(ctx)
	require.True(t, works)
	require.NoError(t, ctx.Err())
}

// TestLastResortIsUnsure: if the peer does not implement OTLP either, the exporter tries STEF once more.
// It drops the batch only if the peer answers this attempt that it has no STEF. Without this answer,
// for example after a lost connection, it does not drop the batch.
func TestLastResortIsUnsure(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	c := testConfig(p.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := startSignal(t, c, signal.Traces)
	require.NoError(t, x.push(t.Context(), spans("a")))
	r := onlyRoute(t, x)
	require.True(t, r.usingOTLP.Load())
	try := func() bool {
		works, refused := r.trySTEFNow(t.Context())
		require.False(t, works)
		return refused
	}
	r.resort = throttle{period: time.Hour} // a test may pause for longer than lastResortPause
	require.True(t, try(), "the peer answers the attempt")
	r.connectionReady()
	require.False(t, try(), "no attempt so soon, and the answer is from before the connection")

	p.stop(t)
	r.resort = throttle{period: lastResortPause}
	require.False(t, try(), "the attempt fails without an answer")
	require.False(t, try())
}

// TestLastResortIsOld: an attempt to open a stream waits for the answer of an old peer, while a new peer,
// which has only STEF, refuses an OTLP request. The answer of the old peer says nothing about the new
// one, so the batch is not dropped.
func TestLastResortIsOld(t *testing.T) {
	t.Parallel()
	var replaced atomic.Bool
	held, release, refused := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 100)
	hold := atomic.Bool{}
	p := &peer{onRequest: func(context.Context, ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		if replaced.Load() {
			refused <- struct{}{}
			err = status.Error(codes.Unimplemented, "unknown service opentelemetry.proto.collector.trace.v1.TraceService")
		}
		return r, err
	}}
	listen(t, p, "", true, true, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if replaced.Load() {
			return next(srv, s)
		}
		if hold.Load() {
			held <- struct{}{}
			<-release
		}
		return status.Error(codes.Unimplemented, "unknown service stef")
	}))
	x := startSignal(t, testConfig(p.addr), signal.Traces)
	require.NoError(t, x.push(t.Context(), spans("a")))
	require.True(t, onlyRoute(t, x).usingOTLP.Load())
	hold.Store(true)
	<-held
	replaced.Store(true)
	time.AfterFunc(100*time.Millisecond, func() {
		<-refused
		time.Sleep(50 * time.Millisecond) // until the batch waits for the attempt
		close(release)
	})
	err := x.push(t.Context(), spans("b"))
	require.False(t, consumererror.IsPermanent(err), "%v", err)
	require.Eventually(t, func() bool { return x.push(t.Context(), spans("c")) == nil }, time.Minute, 10*time.Millisecond)
	bySTEF, _ := p.got()
	require.NotZero(t, bySTEF)
}

func TestNeither(t *testing.T) {
	p := listen(t, &peer{}, "", false, false)
	x := start(t, testConfig(p.addr))
	err := x.ConsumeTraces(context.Background(), spans("a"))
	require.True(t, consumererror.IsPermanent(err))
	dropped(t, x, map[string]int64{dropPermanent: 1})
}

// TestLastResortDuringAnswer: the answer of an old peer to an attempt arrives while a batch makes its last
// attempt. The answer says nothing about a new peer, so the batch is not dropped.
func TestLastResortDuringAnswer(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	c := testConfig(p.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := startSignal(t, c, signal.Traces)
	require.NoError(t, x.push(t.Context(), spans("a")))
	r := onlyRoute(t, x)
	require.True(t, r.usingOTLP.Load())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.mu.Lock() // the answer, and then the batch, wait for the lock
	r.opening.Add(1)
	go r.openFailed(stefgrpc.FromStatus(status.Error(codes.Unimplemented, "no STEF here")), 0)
	time.Sleep(50 * time.Millisecond)
	answer := make(chan bool, 1)
	go func() {
		_, refused := r.trySTEFNow(ctx)
		answer <- refused
	}()
	time.Sleep(50 * time.Millisecond)
	r.mu.Unlock()
	require.False(t, <-answer)
}

// TestMixedPeer: behind one address, some servers have STEF, and others have not. No server implements OTLP.
// The exporter does not drop a batch if the peer has just accepted a stream and refuses the next one.
func TestMixedPeer(t *testing.T) {
	var streams atomic.Int32
	p := listen(t, &peer{}, "", true, false, grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if streams.Add(1) == 2 {
			return next(srv, s)
		}
		return status.Error(codes.Unimplemented, "no STEF here")
	}))
	p.onStream = func(s *stefgrpc.ServerStream) error {
		_, _ = s.Read(make([]byte, 1)) // until the stream is in use
		return nil
	}
	c := testConfig(p.addr)
	c.Fallback.ProbeInterval = time.Hour
	x := startSignal(t, c, signal.Traces)
	err := x.push(t.Context(), spans("a"))
	require.Error(t, err)
	require.False(t, consumererror.IsPermanent(err), "%v", err)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

const short = 100 * time.Millisecond

// requireQuick checks that f takes less time than most.
func requireQuick(t *testing.T, most time.Duration, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	require.Less(t, time.Since(begin), most)
}

func TestShutdownWithoutStart(t *testing.T) {
	ctx, config := context.Background(), testConfig()
	part, err := NewFactory().CreateLogs(ctx, receivertest.NewNopSettings(metadata.Type), config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, part.Shutdown(ctx))
	require.NoError(t, part.Shutdown(ctx))
	require.Nil(t, sharedOf(config))
}

// After a shutdown, the receiver can be started again with the same configuration.
func TestStartAgain(t *testing.T) {
	config := testConfig()
	for range 2 {
		r := startRig(t, config, sinks{metrics: consumertest.NewNop()})
		require.NoError(t, metricKind.mustOpen(t, r.dial()).deliver(points(1)))
		require.NoError(t, r.stop(context.Background()))
	}
}

// The components of all signals share one server. The shutdown of one component ends the server. The
// other components can still be shut down.
func TestOneServerForAllSignals(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	require.Len(t, r.parts, 3)
	require.Equal(t, 3, r.shared.refs)
	require.NoError(t, r.parts[1].Shutdown(context.Background()))
	require.NotNil(t, sharedOf(r.config))
	require.Equal(t, codes.Unavailable, status.Code(export(r.dial(), points(1))))
	require.NoError(t, r.stop(context.Background()))
}

func TestShutdownTellsIdleClientsToReconnect(t *testing.T) {
	to, _, _, _ := everything()
	// The timeout is long: if the receiver did not ask its clients to reconnect, they would keep their
	// streams, and the shutdown would take an hour.
	r := startRig(t, testConfig(func(c *Config) { c.ShutdownTimeout = time.Hour }), to)
	fresh, used := metricKind.mustOpen(t, r.dial()), metricKind.mustOpen(t, r.dial())
	require.NoError(t, used.deliver(points(3)))
	requireQuick(t, time.Minute, func() { require.NoError(t, r.stop(context.Background())) })
	for _, s := range []*sender[pmetric.Metrics]{fresh, used} {
		err := endOf(t, s.stream)
		require.Equal(t, stefgrpc.ReasonReconnect, stefgrpc.Reason(err), "%v", err)
	}
}

func TestShutdownAcknowledgesConsumedRecords(t *testing.T) {
	busy, proceed := make(chan struct{}, 10), make(chan struct{})
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
		busy <- struct{}{}
		<-proceed
		return nil
	})})
	s := metricKind.mustOpen(t, r.dial())
	unary := make(chan error, 1)
	go func() { unary <- export(r.dial(), points(2)) }()
	_, err := s.send(points(3), points(4))
	require.NoError(t, err)
	for range 3 {
		<-busy
	}
	done := make(chan error, 1)
	go func() { done <- r.stop(context.Background()) }()
	time.Sleep(short)
	require.Empty(t, done)
	close(proceed)
	require.NoError(t, <-done)
	require.NoError(t, <-unary)
	require.Equal(t, stefgrpc.ReasonReconnect, stefgrpc.Reason(endOf(t, s.stream)))
	require.EqualValues(t, 7, s.stream.Acked())
}

func TestShutdownOutOfTime(t *testing.T) {
	f := func(name string, change func(*Config), consume func(context.Context, pmetric.Metrics) error, begin func(t *testing.T, r *rig)) {
		t.Run(name, func(t *testing.T) {
			r := startRig(t, testConfig(func(c *Config) {
				c.ShutdownTimeout = short
				change(c)
			}), sinks{metrics: acting(t, consume)})
			begin(t, r)
			requireQuick(t, time.Minute, func() {
				err := r.stop(context.Background())
				require.ErrorContains(t, err, "shutdown_timeout (100ms)")
			})
			r.requireIdle()
		})
	}
	var consuming atomic.Int64
	untilTold := func(ctx context.Context, _ pmetric.Metrics) error {
		consuming.Add(1)
		defer consuming.Add(-1)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	none := func(*Config) {}
	f("stream, the pipeline waits", none, untilTold, func(t *testing.T, r *rig) {
		s := metricKind.mustOpen(t, r.dial())
		_, err := s.send(points(1), points(1))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return consuming.Load() > 0 }, time.Minute, time.Millisecond)
	})
	f("request, the pipeline waits", none, untilTold, func(t *testing.T, r *rig) {
		go func() { _ = export(r.dial(), points(1)) }()
		require.Eventually(t, func() bool { return consuming.Load() > 0 }, time.Minute, time.Millisecond)
	})
	f("stream within a chunk", none, consumertest.NewNop().ConsumeMetrics, func(t *testing.T, r *rig) {
		p := rawOpen(t, r, "Metrics")
		// When the server has received the second message, the handler has read the first one.
		chunk := chunksOf(t, []pmetric.Metrics{points(1)})[0]
		p.data(chunk[:2], false)
		p.data(chunk[2:3], false)
		require.Eventually(t, func() bool { return r.shared.server.stef.Stats().ReceivedBytes == 3 }, time.Minute, time.Millisecond)
	})
	f("stream that waits for admission", func(c *Config) { c.Admission.RequestLimitMiB = 1 }, untilTold, func(t *testing.T, r *rig) {
		for range 2 {
			s := metricKind.mustOpen(t, r.dial())
			_, err := s.send(largePoint())
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { _, waiting := r.shared.admission.state(); return waiting > 0 }, time.Minute, time.Millisecond)
	})
}

func TestShutdownByContext(t *testing.T) {
	r := startRig(t, testConfig(func(c *Config) { c.ShutdownTimeout = time.Hour }),
		sinks{metrics: acting(t, func(ctx context.Context, _ pmetric.Metrics) error {
			<-ctx.Done()
			return ctx.Err()
		})})
	s := metricKind.mustOpen(t, r.dial())
	_, err := s.send(points(1))
	require.NoError(t, err)
	require.Eventually(t, func() bool { inFlight, _ := r.shared.admission.state(); return inFlight > 0 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	require.ErrorIs(t, r.stop(ctx), context.DeadlineExceeded)
	requireEnd(t, endOf(t, s.stream), codes.Unavailable, "")
	r.requireIdle()
}

// TestShutdownWithSilentClients: clients that connect and do not complete the handshake do not delay
// a shutdown. No request reaches the pipeline after the shutdown.
func TestShutdownWithSilentClients(t *testing.T) {
	cert, key := certificate(t)
	for name, c := range map[string]struct {
		tls  bool
		sent string
	}{
		"nothing":               {false, ""},
		"a part of the preface": {false, "PRI * HTT"},
		"nothing, with TLS":     {true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t, testConfig(func(config *Config) {
				if c.tls {
					server := config.ServerConfig.TLS.GetOrInsertDefault()
					server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
				}
			}), sinks{metrics: consumertest.NewNop()})
			options := grpc.WithTransportCredentials(insecure.NewCredentials())
			if c.tls {
				options = grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}))
			}
			other := r.dial(options)
			require.NoError(t, export(other, points(1)))
			for range 3 {
				silent, err := net.Dial("tcp", r.address)
				require.NoError(t, err)
				defer silent.Close()
				_, err = silent.Write([]byte(c.sent))
				require.NoError(t, err)
			}
			p := r.shared.server.pending
			require.Eventually(t, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return len(p.conns) == 3
			}, time.Minute, time.Millisecond)
			requireQuick(t, 30*time.Second, func() { require.NoError(t, r.stop(context.Background())) })
			require.Equal(t, codes.Unavailable, status.Code(export(other, points(1))))
		})
	}
}

// If a connection is accepted at the time when the shutdown begins, the receiver closes it, too.
func TestAcceptedTooLate(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	p := newHandshakeListener(listener, testConfig())
	p.end()
	silent, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer silent.Close()
	conn, err := p.Accept()
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, p.conns)
}

// A pipeline that never returns does not prevent the Collector from ending.
func TestShutdownWithStuckPipeline(t *testing.T) {
	for _, protocol := range []string{"stef", "otlp"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			proceed := make(chan struct{})
			r := startRig(t, testConfig(func(c *Config) { c.ShutdownTimeout = short }),
				sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
					<-proceed
					return nil
				})})
			if protocol == "stef" {
				_, err := metricKind.mustOpen(t, r.dial()).send(points(1))
				require.NoError(t, err)
			} else {
				go func() { _ = export(r.dial(), points(1)) }()
			}
			require.Eventually(t, func() bool { inFlight, _ := r.shared.admission.state(); return inFlight > 0 }, time.Minute, time.Millisecond)
			requireQuick(t, time.Minute, func() {
				require.ErrorContains(t, r.stop(context.Background()), "the pipeline still processes data of this receiver")
			})
			close(proceed)
			r.requireIdle()
			r.shared.server.serving.Wait()
		})
	}
}

// At a shutdown under load, all acknowledged records have reached the pipeline. No record reaches the
// pipeline after the shutdown.
func TestShutdownUnderLoad(t *testing.T) {
	var consumed atomic.Int64
	var over atomic.Bool
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		if over.Load() {
			t.Error("a batch after the end")
		}
		consumed.Add(int64(md.DataPointCount()))
		return nil
	})})
	var acked atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		s := metricKind.mustOpen(t, r.dial())
		wg.Go(func() {
			for {
				if _, err := s.send(points(10)); err != nil {
					break
				}
			}
			<-s.stream.Done()
			acked.Add(int64(s.stream.Acked()))
		})
		conn := r.dial()
		wg.Go(func() {
			for export(conn, points(10)) == nil {
				acked.Add(10)
			}
		})
	}
	require.Eventually(t, func() bool { return consumed.Load() > 0 }, time.Minute, time.Millisecond)
	time.Sleep(short)
	require.NoError(t, r.stop(context.Background()))
	over.Store(true)
	wg.Wait()
	require.Positive(t, acked.Load())
	require.LessOrEqual(t, acked.Load(), consumed.Load())
	t.Logf("%d points consumed, %d acknowledged", consumed.Load(), acked.Load())
}

// Streams that reach their maximum age end gracefully and lose no data.
func TestMaxStreamLifetime(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(func(c *Config) { c.MaxStreamLifetime = 500 * time.Millisecond }), to)
	s := metricKind.mustOpen(t, r.dial())
	sent := 0
	for {
		id, err := s.send(points(1))
		if err != nil {
			break
		}
		sent = int(id)
		time.Sleep(5 * time.Millisecond)
	}
	err := endOf(t, s.stream)
	if err != nil {
		var known *stefgrpc.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, stefgrpc.KindClosed, known.Kind, "%v", err)
	}
	require.EqualValues(t, s.stream.Acked(), metrics.DataPointCount())
	require.LessOrEqual(t, int(s.stream.Acked()), sent+1)
	require.Eventually(t, func() bool {
		return sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_closed", "reason", endServer) == 1
	}, time.Minute, time.Millisecond)
}

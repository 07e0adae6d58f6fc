// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/signal"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestPausesAreBounded checks the maximum time until a peer receives data again after a long
// outage.
func TestPausesAreBounded(t *testing.T) {
	p := defaultPauses()
	require.LessOrEqual(t, p.connection.MaxDelay, 5*time.Second)
	require.Equal(t, time.Second, p.connection.BaseDelay)
	require.NotZero(t, p.connection.Jitter, "else all clients of a peer would return together")
	c := sessionConfig(createDefaultConfig().(*Config), p.stream, stefgrpc.SessionEvents{})
	require.LessOrEqual(t, c.Backoff.Max, 5*time.Second)
	require.NoError(t, c.Validate())
}

func startPaused(t *testing.T, c *Config, p pauses) *stefExporter[ptrace.Traces] {
	t.Helper()
	x, err := newExporter(c, signal.Traces, func(RoutingKey) splitter[ptrace.Traces] { return splitter[ptrace.Traces]{} }, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	x.pauses = p
	require.NoError(t, x.start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, x.shutdown(context.Background())) })
	return x
}

// TestReconnect stops a peer until the exporter has tried to connect ten times. Its pauses between
// connection attempts are shorter than the default of gRPC, with which ten attempts take minutes. The
// second pause between attempts to open a stream is longer than the test. So only the new connection
// can cause the exporter to open a stream.
func TestReconnect(t *testing.T) {
	t.Parallel()
	p := defaultPauses()
	p.connection.BaseDelay, p.connection.MaxDelay = 10*time.Millisecond, 50*time.Millisecond
	p.stream.Multiplier, p.stream.Max = 1000, time.Hour
	old := listen(t, &peer{}, freeport.Address(t), true, false)
	x := startPaused(t, testConfig(old.addr), p)
	require.NoError(t, x.push(t.Context(), spans("a")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		old.stop(t)
		tenTries(t, old.addr)
		sent := make(chan error, 1)
		go func() { sent <- x.push(ctx, spans("b")) }()
		tenTries(t, old.addr)
		require.Empty(t, sent, "the batch arrives nowhere")
		old = listen(t, &peer{}, old.addr, true, false)
		require.NoError(t, <-sent)
	}
}

// tenTries listens on addr, breaks ten connections, and stops listening.
func tenTries(t *testing.T, addr string) {
	t.Helper()
	l := listenTCP(t, addr)
	for range 10 {
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	require.NoError(t, l.Close())
}

// TestPeerThatWorked stops a peer that has worked before. Neither the status nor the errors of batches
// say that the configuration is wrong.
func TestPeerThatWorked(t *testing.T) {
	p := listen(t, &peer{}, freeport.Address(t), true, false)
	c := testConfig(p.addr)
	c.TimeoutConfig.Timeout = 300 * time.Millisecond
	x := start(t, c)
	require.Eventually(t, func() bool { return x.send("a") == nil }, time.Minute, time.Millisecond)
	p.stop(t)
	want := "(endpoint " + p.addr + ": it worked until now: the peer is probably down or restarting)"
	require.Eventually(t, func() bool {
		err := x.send("b")
		return err != nil && strings.Contains(err.Error(), want)
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return x.host.last().Status() == componentstatus.StatusRecoverableError
	}, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, x.host.last().Err(), want)
}

// TestReadyConnectionsThatBreak uses a peer that closes a connection when the exporter opens a stream.
// The exporter tries to open a stream at most once a second.
func TestReadyConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	p := defaultPauses()
	// The exporter may miss a connection that is ready only for a very short time. Then it tries
	// again after this pause.
	p.stream.Initial, p.stream.Max = 5*time.Second, 5*time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var attempts atomic.Int32
	all := &keptConns{Listener: l}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		attempts.Add(1)
		all.reset()
		return nil
	}))
	go func() { _ = server.Serve(all) }()
	defer server.Stop()
	started := time.Now()
	startPaused(t, testConfig(l.Addr().String()), p)
	require.Eventually(t, func() bool { return attempts.Load() >= 2 }, time.Minute, 10*time.Millisecond)
	time.Sleep(time.Second)
	made := int(attempts.Load())
	// There is one attempt immediately, and then one attempt per second. gRPC may repeat
	// each attempt once.
	require.LessOrEqual(t, made, 2*(1+int(time.Since(started)/time.Second)))
}

// keptConns is a listener that can close its connections.
type keptConns struct {
	net.Listener
	mu   sync.Mutex
	list []net.Conn
}

// Accept implements net.Listener.
func (l *keptConns) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.list = append(l.list, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *keptConns) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.list {
		_ = c.Close()
	}
	l.list = nil
}

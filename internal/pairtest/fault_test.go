// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/netfault"
)

// TestFaults sends through a network that cuts, stalls, delays, slows, half-closes
// and refuses connections. A seed determines the random faults.
func TestFaults(t *testing.T) {
	each(t, protocols,
		func(t *testing.T, p stefexporter.Protocol) { testFaults(t, &traceKind, p, 1) },
		func(t *testing.T, p stefexporter.Protocol) { testFaults(t, &metricKind, p, 2) },
		func(t *testing.T, p stefexporter.Protocol) { testFaults(t, &logKind, p, 3) })
}

func testFaults[T any](t *testing.T, k *kind[T], protocol stefexporter.Protocol, seed uint64) {
	t.Parallel()
	steps, batches := 12, 60
	if os.Getenv("STEF_LONG") != "" {
		steps, batches = 200, 1500
	}
	addr := freeport.Address(t)
	s := newSink(k)
	r := startReceiver(t, k, receiverConfig(t, addr, ""), s)
	net, err := netfault.NewProxy(netfault.Link{RoundTrip: 2 * time.Millisecond, Seed: seed}, addr)
	require.NoError(t, err)
	defer net.Close()
	x := startExporter(t, k, exporterConfig(net.Addr(), func(c *stefexporter.Config) {
		c.Protocol = protocol
		c.TimeoutConfig.Timeout = time.Second
		c.Stef.NumStreams = 2
		c.Stef.MaxStreamLifetime = 500 * time.Millisecond
	}))

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		random := rand.New(rand.NewPCG(seed, 1))
		for range steps {
			if ctx.Err() != nil {
				break
			}
			step := netfault.Random(random, 50*time.Millisecond, 20_000)
			_ = net.Apply(ctx, step)
			time.Sleep(20 * time.Millisecond)
		}
		net.Clear()
	}()
	d := &load{workers: 4, batches: batches, items: 20, deadline: 10 * time.Minute}
	runLoad(t, d, x)
	cancel()
	<-ended
	require.Empty(t, d.refused, "a broken network is no reason to drop anything")
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	d.check(t, seen, nil, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"), true)
	require.Eventually(t, func() bool { return x.send("after") == nil }, time.Minute, time.Millisecond, "it recovers without help")
	settled(t, x, r)
	x.stop()
	r.stop()
	require.Eventually(t, func() bool { return net.Conns() == 0 }, time.Minute, 10*time.Millisecond)
}

// TestCutAndHeal cuts the network for some time. A push during this time succeeds after the network
// works again.
func TestCutAndHeal(t *testing.T) {
	t.Parallel()
	addr := freeport.Address(t)
	s := newSink(&traceKind)
	r := startReceiver(t, &traceKind, receiverConfig(t, addr, ""), s)
	net, err := netfault.NewProxy(netfault.Link{}, addr)
	require.NoError(t, err)
	defer net.Close()
	x := startExporter(t, &traceKind, exporterConfig(net.Addr(), func(c *stefexporter.Config) {
		c.RetryConfig.Enabled = true
		c.RetryConfig.MaxElapsedTime = 0
	}))
	require.NoError(t, x.send("before"))
	net.Refuse(true)
	net.Cut()
	result := make(chan error, 1)
	go func() { result <- x.send("meanwhile") }()
	time.Sleep(300 * time.Millisecond)
	net.Refuse(false)
	select {
	case err := <-result:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "no recovery")
	}
	require.True(t, s.has("meanwhile"))
	require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_downgrades"), "no evidence")
	settled(t, x, r)
}

func TestReceiverRestarts(t *testing.T) {
	t.Parallel()
	addr := freeport.Address(t)
	s := newSink(&metricKind)
	restart := func() *receiverEnd {
		r := startReceiver(t, &metricKind, receiverConfig(t, addr, "shutdown_timeout: 20ms"), s)
		r.shutdownMayFail = true
		return r
	}
	r := restart()
	x := startExporter(t, &metricKind, exporterConfig(addr))
	d := &load{workers: 4, batches: 100, items: 10, deadline: 10 * time.Minute, pause: 5 * time.Millisecond}
	wait := beginLoad(t, d, x)
	for range 3 {
		time.Sleep(150 * time.Millisecond)
		r.stop()
		r = restart()
	}
	wait()
	require.Empty(t, d.refused)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.check(t, s.seen, nil, 0, true)
	require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_downgrades"))
}

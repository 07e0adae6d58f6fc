// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The race detector uses additional memory, so this test would exceed its limits.
//go:build !race

package stefreceiver

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
)

// TestIdleClients: after timeouts.idle without data, a stream holds at most 64 KiB. This holds even if the
// client does not end the stream, does not read the status of the ended stream, or sends messages
// without data.
func TestIdleClients(t *testing.T) {
	require.Equal(t, 2*time.Minute, createDefaultConfig().(*Config).Timeouts.Idle)
	const streams, most = 200, 64 << 10
	chunks := chunksOf(t, ordinary(20, 500), stef.WithCompression(stef.Zstd))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	held := func(idle time.Duration) int64 {
		r := startRig(t, testConfig(func(c *Config) { c.Timeouts.Idle = idle }), sinks{metrics: consumertest.NewNop()})
		conns := make([]*grpc.ClientConn, 4)
		for i := range conns {
			conns[i] = r.dial()
		}
		before := heapAndStacks()
		clients := make([]*raw, streams)
		for i := range clients {
			clients[i] = rawOpenOn(t, conns[i%len(conns)], ctx, "Metrics")
			for _, chunk := range chunks {
				clients[i].data(chunk, true)
			}
		}
		for _, p := range clients {
			p.awaitAck(20 * 500)
		}
		if idle > 0 {
			require.Eventually(t, func() bool {
				for _, p := range clients {
					p.data(nil, false)
				}
				return r.shared.server.stef.Stats().Streams == 0
			}, time.Minute, 10*time.Millisecond)
		}
		after := heapAndStacks()
		runtime.KeepAlive(clients)
		return (after - before) / streams
	}
	open, ended := held(0), held(2*time.Second)
	t.Logf("per stream, with its client: open %d KiB, after timeouts.idle %d KiB", open>>10, ended>>10)
	require.Greater(t, open, int64(most), "the measurement shows nothing")
	require.LessOrEqual(t, ended, int64(most))
}

// ordinary returns batches of points that differ in their attributes and values.
func ordinary(batches, n int) []pmetric.Metrics {
	all := make([]pmetric.Metrics, batches)
	for i := range all {
		all[i] = points(n)
		dps := all[i].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints()
		for k := range n {
			dps.At(k).SetIntValue(int64(i*k*7919) % 1013)
			dps.At(k).Attributes().PutStr("path", fmt.Sprintf("/item/%d", (i*n+k)*7919%65537))
		}
	}
	return all
}

func heapAndStacks() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

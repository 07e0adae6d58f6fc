// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// BenchmarkPair sends recorded telemetry from an exporter to a receiver, from
// pdata to pdata, in batches of about 8,192 items. An operation is a batch.
//
//	items/cpu-s  items per second of CPU time, of both ends together
//	wire-B/item  bytes on the connection, both ways, of the first batches
func BenchmarkPair(b *testing.B) {
	b.Run("traces", func(b *testing.B) {
		benchPair(b, &traceKind, traceBatches(b, "hipstershop-oteltraces.zst"), ptrace.Traces.SpanCount)
	})
	b.Run("metrics", func(b *testing.B) {
		benchPair(b, &metricKind, metricBatches(b, "hostandcollector-otelmetrics.zst"), pmetric.Metrics.DataPointCount)
	})
	b.Run("logs", func(b *testing.B) {
		benchPair(b, &logKind, logBatches(b, "k8sapps-otellogs.zst"), plog.Logs.LogRecordCount)
	})
}

func benchPair[T any](b *testing.B, k *kind[T], batches []T, items func(T) int) {
	ways := []struct {
		name        string
		protocol    stefexporter.Protocol
		compression configcompression.Type
	}{
		{"stef", stefexporter.ProtocolSTEF, ""},
		{"otlp-zstd", stefexporter.ProtocolOTLP, configcompression.TypeZstd},
		{"otlp-gzip", stefexporter.ProtocolOTLP, configcompression.TypeGzip},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			configure := func(c *stefexporter.Config) {
				c.Protocol = way.protocol
				c.Fallback.Compression = way.compression
				c.Stef.FlushInterval = 50 * time.Millisecond
				c.TimeoutConfig.Timeout = time.Minute
			}
			perItem := wireBytes(b, k, batches, items, configure)
			send, got, stop := benchEnds(b, k, items, configure)
			sent := 0
			b.ReportAllocs()
			before := cpuTime()
			b.ResetTimer()
			sent += sendAll(b, send, batches, items, b.N)
			b.StopTimer()
			cpu := cpuTime() - before
			stop()
			require.Equal(b, int64(sent), got.Load())
			b.ReportMetric(float64(sent)/cpu.Seconds(), "items/cpu-s")
			b.ReportMetric(perItem, "wire-B/item")
		})
	}
}

// wireBytes sends every batch once through a proxy that counts.
func wireBytes[T any](b *testing.B, k *kind[T], batches []T, items func(T) int, configure func(*stefexporter.Config)) float64 {
	b.Helper()
	var proxy *netfault.Proxy
	send, _, stop := benchEnds(b, k, items, configure, func(addr string) string {
		var err error
		proxy, err = netfault.NewProxy(netfault.Link{}, addr)
		require.NoError(b, err)
		return proxy.Addr()
	})
	sent := sendAll(b, send, batches, items, len(batches))
	stop()
	bytes := proxy.Bytes(netfault.Both)
	require.NoError(b, proxy.Close())
	return float64(bytes) / float64(sent)
}

// sendAll sends n batches from as many goroutines as a queue has consumers.
func sendAll[T any](b *testing.B, send func(context.Context, T) error, batches []T, items func(T) int, n int) (sent int) {
	const consumers = 16
	var next, total atomic.Int64
	var group sync.WaitGroup
	for range min(consumers, n) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				batch := batches[i%len(batches)]
				if err := send(context.Background(), batch); err != nil {
					b.Error(err)
					return
				}
				total.Add(int64(items(batch)))
			}
		})
	}
	group.Wait()
	return int(total.Load())
}

// benchEnds starts both ends. via may put something between them.
func benchEnds[T any](b *testing.B, k *kind[T], items func(T) int, configure func(*stefexporter.Config), via ...func(string) string) (
	send func(context.Context, T) error, got *atomic.Int64, stop func(),
) {
	b.Helper()
	ctx := context.Background()
	addr := freeAddr(b)
	got = &atomic.Int64{}
	rc := stefreceiver.NewFactory().CreateDefaultConfig().(*stefreceiver.Config)
	rc.ServerConfig.NetAddr.Endpoint = addr
	r, err := k.receiver(ctx, stefreceiver.NewFactory(), receivertest.NewNopSettings(stefreceiver.NewFactory().Type()), rc,
		func(_ context.Context, batch T) error {
			got.Add(int64(items(batch)))
			return nil
		})
	require.NoError(b, err)
	require.NoError(b, r.Start(ctx, componenttest.NewNopHost()))
	for _, v := range via {
		addr = v(addr)
	}
	var x component.Component
	x, send, err = k.exporter(ctx, stefexporter.NewFactory(), exportertest.NewNopSettings(stefexporter.NewFactory().Type()),
		exporterConfig(addr, configure))
	require.NoError(b, err)
	require.NoError(b, x.Start(ctx, componenttest.NewNopHost()))
	return send, got, func() {
		require.NoError(b, x.Shutdown(ctx))
		require.NoError(b, r.Shutdown(ctx))
	}
}

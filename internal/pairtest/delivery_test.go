// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"errors"
	"hash/fnv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// protocols are the protocols to test. With our receiver, auto is the same as STEF.
var protocols = []stefexporter.Protocol{stefexporter.ProtocolSTEF, stefexporter.ProtocolOTLP}

func each(t *testing.T, protocols []stefexporter.Protocol,
	traces, metrics, logs func(t *testing.T, p stefexporter.Protocol)) {
	for _, p := range protocols {
		t.Run("traces by "+string(p), func(t *testing.T) { traces(t, p) })
		t.Run("metrics by "+string(p), func(t *testing.T) { metrics(t, p) })
		t.Run("logs by "+string(p), func(t *testing.T) { logs(t, p) })
	}
}

// TestDelivery sends from several goroutines over several streams: everything
// arrives once, and the counts of both ends are equal.
func TestDelivery(t *testing.T) {
	each(t, protocols,
		func(t *testing.T, p stefexporter.Protocol) { testDelivery(t, &traceKind, p, "spans") },
		func(t *testing.T, p stefexporter.Protocol) { testDelivery(t, &metricKind, p, "metric_points") },
		func(t *testing.T, p stefexporter.Protocol) { testDelivery(t, &logKind, p, "log_records") })
}

func testDelivery[T any](t *testing.T, k *kind[T], protocol stefexporter.Protocol, items string) {
	addr := freeport.Address(t)
	s := newSink(k)
	r := startReceiver(t, k, receiverConfig(t, addr, ""), s)
	x := startExporter(t, k, exporterConfig(addr, func(c *stefexporter.Config) {
		c.Protocol = protocol
		c.Stef.NumStreams, c.Stef.Connections = 3, 2
	}))
	d := &load{workers: 8, batches: 10, items: 50, deadline: 10 * time.Minute}
	runLoad(t, d, x)
	d.check(t, s.seen, nil, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"), false)
	require.Equal(t, int64(4000), value(t, x.telemetry, "otelcol_exporter_sent_"+items))
	require.Equal(t, int64(4000), value(t, x.telemetry, "otelcol_exporter_stef_items_delivered"))
	require.Equal(t, int64(4000), value(t, r.telemetry, "otelcol_receiver_accepted_"+items))
	settled(t, x, r)
}

// TestPipelineErrors uses a pipeline that refuses some items permanently and some temporarily.
// Permanently refused items are dropped and counted. All other items arrive.
func TestPipelineErrors(t *testing.T) {
	each(t, protocols,
		func(t *testing.T, p stefexporter.Protocol) { testPipelineErrors(t, &traceKind, p) },
		func(t *testing.T, p stefexporter.Protocol) { testPipelineErrors(t, &metricKind, p) },
		func(t *testing.T, p stefexporter.Protocol) { testPipelineErrors(t, &logKind, p) })
}

func testPipelineErrors[T any](t *testing.T, k *kind[T], protocol stefexporter.Protocol) {
	addr := freeport.Address(t)
	s := newSink(k)
	var refusals atomic.Int32
	var bad atomic.Int64
	s.decide = func(_ context.Context, ids []string) error {
		// Decide by the content, because batches may be merged in any way.
		temporary := false
		for _, id := range ids {
			hash := fnv.New32()
			hash.Write([]byte(id))
			switch hash.Sum32() % 40 {
			case 0:
				bad.Add(int64(len(ids)))
				return consumererror.NewPermanent(errors.New("bad for good"))
			case 1:
				temporary = true
			}
		}
		if temporary && refusals.Add(1) < 8 {
			return errors.New("not now")
		}
		return nil
	}
	r := startReceiver(t, k, receiverConfig(t, addr, ""), s)
	x := startExporter(t, k, exporterConfig(addr, func(c *stefexporter.Config) { c.Protocol = protocol }))
	d := &load{workers: 4, batches: 10, items: 10, deadline: 10 * time.Minute}
	runLoad(t, d, x)
	require.NotZero(t, bad.Load())
	dropped := value(t, x.telemetry, "otelcol_exporter_stef_items_dropped")
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, 400, len(s.seen)+int(dropped), "each item has arrived or is counted as dropped")
	settled(t, x, r)
}

// TestShutdownUnderLoad shuts down an exporter whose queue can still have batches: accepted data
// that the exporter could not deliver is counted.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	addr := freeport.Address(t)
	s := newSink(&traceKind)
	s.decide = func(context.Context, []string) error {
		time.Sleep(2 * time.Millisecond)
		return nil
	}
	r := startReceiver(t, &traceKind, receiverConfig(t, addr, "consumers_per_stream: 1"), s)
	x := startExporter(t, &traceKind, exporterConfig(addr, func(c *stefexporter.Config) {
		c.Protocol = stefexporter.ProtocolSTEF
		queue := exporterhelper.NewDefaultQueueConfig()
		c.QueueConfig = configoptional.Some(queue)
		c.RetryConfig.Enabled = true
	}))
	d := &load{workers: 4, batches: 100, items: 2, deadline: 10 * time.Minute}
	runLoad(t, d, x)
	x.stop()
	_, different := s.count()
	require.Equal(t, 800, different+int(value(t, x.telemetry, "otelcol_exporter_stef_items_dropped")))
	require.NotZero(t, different)
	settled(t, x, r)
}

// TestMetadata passes the client metadata from one pipeline to the next pipeline, with each
// protocol.
func TestMetadata(t *testing.T) {
	for _, protocol := range protocols {
		addr := freeport.Address(t)
		s := newSink(&logKind)
		var wrong atomic.Int32
		s.decide = func(ctx context.Context, ids []string) error {
			for _, id := range ids {
				if got := client.FromContext(ctx).Metadata.Get("tenant"); len(got) != 1 || got[0] != id {
					wrong.Add(1)
				}
			}
			return nil
		}
		r := startReceiver(t, &logKind, receiverConfig(t, addr, "include_metadata: true"), s)
		x := startExporter(t, &logKind, exporterConfig(addr, func(c *stefexporter.Config) {
			c.Protocol = protocol
			c.MetadataKeys = []string{"tenant"}
		}))
		for _, tenant := range []string{"a", "b", "a", "c"} {
			ctx := client.NewContext(context.Background(), client.Info{
				Metadata: client.NewMetadata(map[string][]string{"Tenant": {tenant}}),
			})
			require.NoError(t, x.push(ctx, logKind.batch([]string{tenant})))
		}
		require.Zero(t, wrong.Load())
		items, _ := s.count()
		require.Equal(t, 4, items)
		settled(t, x, r)
	}
}

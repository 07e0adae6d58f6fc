// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

type store struct {
	component.StartFunc
	component.ShutdownFunc
	mu   sync.Mutex
	data map[string][]byte
}

var storeID = component.MustNewID("file_storage")

// GetClient implements storage.Extension.
func (s *store) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return storeClient{s}, nil
}

type storeClient struct{ *store }

func (c storeClient) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := c.Batch(ctx, op)
	return op.Value, err
}

func (c storeClient) Set(ctx context.Context, key string, value []byte) error {
	return c.Batch(ctx, storage.SetOperation(key, value))
}

func (c storeClient) Delete(ctx context.Context, key string) error {
	return c.Batch(ctx, storage.DeleteOperation(key))
}

func (c storeClient) Batch(_ context.Context, operations ...*storage.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range operations {
		switch op.Type {
		case storage.Get:
			op.Value = c.data[op.Key]
		case storage.Set:
			c.data[op.Key] = op.Value
		case storage.Delete:
			delete(c.data, op.Key)
		}
	}
	return nil
}

func (storeClient) Close(context.Context) error { return nil }

type storeHost struct {
	component.Host
	store *store
}

// GetExtensions implements component.Host.
func (h storeHost) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{storeID: h.store}
}

// startOn starts an exporter. The test must shut it down.
func startOn(t *testing.T, c *Config, host component.Host, logger *zap.Logger) *rig {
	t.Helper()
	x := &rig{telemetry: componenttest.NewTelemetry()}
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = x.telemetry.NewTelemetrySettings()
	settings.Logger = logger
	var err error
	x.Traces, err = NewFactory().CreateTraces(context.Background(), settings, c)
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), host))
	return x
}

// TestShutdownKeepsStorage checks that each item that a shutdown does not deliver is either in the
// storage or counted as dropped. Without retries, the Collector's queue deletes from the storage
// those batches that are being sent at the shutdown.
func TestShutdownKeepsStorage(t *testing.T) {
	const items, sending = 20, 4
	f := func(protocol Protocol, retries bool, lost map[string]int64) {
		t.Helper()
		arrived := make(chan struct{}, items)
		silent := listen(t, &peer{onRequest: func(ctx context.Context, _ ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			arrived <- struct{}{}
			<-ctx.Done()
			return ptraceotlp.ExportResponse{}, ctx.Err()
		}}, "", false, true)
		host := storeHost{componenttest.NewNopHost(), &store{data: map[string][]byte{}}}
		config := func(p *peer) *Config {
			c := queued(testConfig(p.addr))
			c.Protocol = protocol
			c.QueueConfig.Get().StorageID = &storeID
			c.QueueConfig.Get().NumConsumers = sending
			c.RetryConfig.Enabled = retries
			c.Stef.ShutdownDrainTimeout = 50 * time.Millisecond
			return c
		}
		x := startOn(t, config(silent), host, zap.NewNop())
		for i := range items {
			require.NoError(t, x.send(fmt.Sprint(i)))
		}
		for range sending {
			<-arrived
		}
		require.NoError(t, x.Shutdown(context.Background()))
		dropped(t, x, lost)

		p := listen(t, &peer{}, "", false, true)
		x = startOn(t, config(p), host, zap.NewNop())
		require.Eventually(t, func() bool {
			_, delivered := p.got()
			return delivered == items-int(lost[dropShutdown])
		}, time.Minute, time.Millisecond)
		require.NoError(t, x.Shutdown(context.Background()))
	}
	for _, protocol := range []Protocol{ProtocolOTLP, ProtocolAuto} {
		f(protocol, true, map[string]int64{})
		f(protocol, false, map[string]int64{dropShutdown: sending})
	}
}

// TestRetriesGivenUp checks that the queue deletes a batch from its storage after the last retry,
// and which metrics count the batch. docs/reliability.md describes this.
func TestRetriesGivenUp(t *testing.T) {
	host := storeHost{componenttest.NewNopHost(), &store{data: map[string][]byte{}}}
	config := func(addr string) *Config {
		c := queued(otlpConfig(addr))
		c.QueueConfig.Get().StorageID = &storeID
		c.RetryConfig.InitialInterval = time.Millisecond
		c.RetryConfig.MaxElapsedTime = 20 * time.Millisecond
		return c
	}
	x := startOn(t, config("127.0.0.1:1"), host, zap.NewNop())
	require.NoError(t, x.send("a", "b"))
	require.Eventually(t, func() bool {
		failed, err := x.telemetry.GetMetric("otelcol_exporter_send_failed_spans")
		return err == nil && failed.Data.(metricdata.Sum[int64]).DataPoints[0].Value == 2
	}, time.Minute, time.Millisecond)
	require.NoError(t, x.Shutdown(context.Background()))
	dropped(t, x, map[string]int64{})

	p := listen(t, &peer{}, "", false, true)
	x = startOn(t, config(p.addr), host, zap.NewNop())
	require.NoError(t, x.send("c"))
	require.Eventually(t, func() bool { _, n := p.got(); return n > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, x.Shutdown(context.Background()))
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, []string{"c"}, p.byOTLP)
}

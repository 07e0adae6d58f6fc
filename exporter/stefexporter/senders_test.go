// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

// fullQueue returns the settings and the configuration of an exporter. Its queue has space for one
// item, and there is no peer. So the queue stays full.
func fullQueue(t *testing.T, change func(*exporterhelper.QueueBatchConfig)) (exporter.Settings, *Config, *observer.ObservedLogs) {
	config := createDefaultConfig().(*Config)
	config.ClientConfig.Endpoint = "localhost:1"
	config.ClientConfig.TLS.Insecure = true
	config.TimeoutConfig.Timeout = 50 * time.Millisecond
	config.Stef.FlushInterval, config.Stef.ShutdownDrainTimeout = 10*time.Millisecond, 10*time.Millisecond
	queue := *config.QueueConfig.Get()
	queue.QueueSize, queue.NumConsumers = 1, 1
	if change != nil {
		change(&queue)
	}
	config.QueueConfig = configoptional.Some(queue)
	require.NoError(t, config.Validate())
	core, logs := observer.New(zap.WarnLevel)
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.Logger = zap.New(core)
	return settings, config, logs
}

func stalls(logs *observer.ObservedLogs) int {
	return logs.FilterMessageSnippet("a sender that set no deadline waits").Len()
}

// TestSendersWithoutDeadline: if a call without a deadline waits for space in a full queue, the
// exporter logs this once. The call returns when its context is cancelled.
func TestSendersWithoutDeadline(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"traces", "metrics", "logs"} {
		t.Run(kind, func(t *testing.T) {
			settings, config, logs := fullQueue(t, nil)
			consume, stop := consumerOf(t, kind, settings, config)
			defer stop()
			require.NoError(t, consume(context.Background()))
			require.Zero(t, stalls(logs), "the queue has space")

			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			require.ErrorIs(t, consume(ctx), context.DeadlineExceeded)
			cancel()
			require.Zero(t, stalls(logs), "the sender has a deadline")

			for range 2 {
				ctx, cancel = context.WithCancel(context.Background())
				time.AfterFunc(200*time.Millisecond, cancel)
				require.ErrorIs(t, consume(ctx), context.Canceled)
			}
			require.Equal(t, 1, stalls(logs))
		})
	}
}

// TestSendersDoNotWait: if the queue does not block, calls do not wait for space, so the exporter does
// not watch them.
func TestSendersDoNotWait(t *testing.T) {
	settings, config, logs := fullQueue(t, func(q *exporterhelper.QueueBatchConfig) { q.BlockOnOverflow = false })
	consume, stop := consumerOf(t, "logs", settings, config)
	defer stop()
	require.NoError(t, consume(context.Background()))
	require.ErrorIs(t, consume(context.Background()), exporterhelper.ErrQueueIsFull)
	require.Zero(t, stalls(logs))

	settings, config, logs = fullQueue(t, nil)
	config.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	config.RetryConfig.Enabled = false
	config.TimeoutConfig.Timeout = 20 * time.Millisecond
	consume, stop = consumerOf(t, "logs", settings, config)
	defer stop()
	require.Error(t, consume(context.Background()), "waits for the peer, not for a queue")
	require.Zero(t, stalls(logs))
}

// consumerOf starts an exporter and returns a function that sends one item.
func consumerOf(t *testing.T, kind string, settings exporter.Settings, config *Config) (consume func(context.Context) error, stop func()) {
	host := componenttest.NewNopHost()
	switch kind {
	case "traces":
		x, err := createTraces(t.Context(), settings, config)
		require.NoError(t, err)
		require.NoError(t, x.Start(t.Context(), host))
		td := ptrace.NewTraces()
		td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		return func(ctx context.Context) error { return x.ConsumeTraces(ctx, td) },
			func() { require.NoError(t, x.Shutdown(context.Background())) }
	case "metrics":
		x, err := createMetrics(t.Context(), settings, config)
		require.NoError(t, err)
		require.NoError(t, x.Start(t.Context(), host))
		md := pmetric.NewMetrics()
		md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
		return func(ctx context.Context) error { return x.ConsumeMetrics(ctx, md) },
			func() { require.NoError(t, x.Shutdown(context.Background())) }
	}
	x, err := createLogs(t.Context(), settings, config)
	require.NoError(t, err)
	require.NoError(t, x.Start(t.Context(), host))
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	return func(ctx context.Context) error { return x.ConsumeLogs(ctx, ld) },
		func() { require.NoError(t, x.Shutdown(context.Background())) }
}

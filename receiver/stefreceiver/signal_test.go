// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/teltest/injecting"
	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// The components of all signals share one server and its logger. The component of logs is started first,
// and then the server logs lines about clients of metrics. These lines must not name the signal logs.
func TestSignalInLogs(t *testing.T) {
	ctx := context.Background()
	core, logs := observer.New(zap.InfoLevel)
	config := testConfig(func(c *Config) {
		c.Limits.MaxStreams, c.Limits.MaxChunkMiB = 1, 1
		c.ServerConfig.MaxRecvMsgSizeMiB = 1
	})
	tel := componenttest.NewTelemetry()
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = injecting.Settings(tel.NewTelemetrySettings(), core, "logs")
	first, err := NewFactory().CreateLogs(ctx, settings, config, consumertest.NewNop())
	require.NoError(t, err)
	settings.TelemetrySettings = injecting.Settings(tel.NewTelemetrySettings(), core, "metrics")
	second, err := NewFactory().CreateMetrics(ctx, settings, config, acting(t, func(context.Context, pmetric.Metrics) error { panic("odd batch") }))
	require.NoError(t, err)
	require.NoError(t, first.Start(ctx, componenttest.NewNopHost()))
	require.NoError(t, second.Start(ctx, componenttest.NewNopHost()))
	defer func() { require.NoError(t, errors.Join(first.Shutdown(ctx), second.Shutdown(ctx))) }()
	conn := dial(t, sharedOf(config).server.address.String())

	s := metricKind.mustOpen(t, conn)
	_, err = metricKind.open(conn)
	requireEnd(t, err, codes.Unavailable, "limits::max_streams")
	require.Equal(t, codes.ResourceExhausted, status.Code(export(conn, largePoint())))
	require.NoError(t, s.deliver(points(1)), "acknowledged as rejected")
	_, _ = s.send(largePoint())
	require.Error(t, endOf(t, s.stream))

	want := map[string]any{ // the keys are the beginnings of log lines, the values are the expected signals
		"Starting the STEF server":           nil,
		"A stream was refused: there are":    nil, // the stream has not named its signal
		"An OTLP request was refused: it is": "metrics",
		"Panic while data was received":      "metrics",
		"A STEF stream ended with an error":  "metrics",
	}
	require.Eventually(t, func() bool { return logs.Len() == len(want) }, time.Minute, time.Millisecond)
	for _, line := range logs.All() {
		require.NotContains(t, line.ContextMap(), "otelcol.signal", line.Message)
		for start, signal := range want {
			if len(line.Message) >= len(start) && line.Message[:len(start)] == start {
				require.Equal(t, signal, line.ContextMap()["signal"], line.Message)
				delete(want, start)
			}
		}
	}
	require.Empty(t, want)
}

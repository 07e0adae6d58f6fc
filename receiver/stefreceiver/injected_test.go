// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// The telemetry of a component in a Collector: it adds attributes, which can be dropped.
type (
	injectingCore struct {
		zapcore.Core
		source zapcore.Core
	}
	injectingTracers struct {
		trace.TracerProvider
		source trace.TracerProvider
	}
	injectingMeters struct {
		metric.MeterProvider
		source metric.MeterProvider
	}
)

func requireSignalKey(keys []string) {
	if len(keys) != 1 || keys[0] != "otelcol.signal" {
		panic(keys)
	}
}

func (c injectingCore) DropInjectedAttributes(keys ...string) zapcore.Core {
	requireSignalKey(keys)
	return c.source
}

func (p injectingTracers) DropInjectedAttributes(keys ...string) trace.TracerProvider {
	requireSignalKey(keys)
	return p.source
}

func (p injectingMeters) DropInjectedAttributes(keys ...string) metric.MeterProvider {
	requireSignalKey(keys)
	return p.source
}

// injecting returns settings as a Collector passes them to the component of a signal.
func injecting(settings component.TelemetrySettings, core zapcore.Core, signal string) component.TelemetrySettings {
	settings.Logger = zap.New(injectingCore{core.With([]zap.Field{zap.String("otelcol.signal", signal)}), core})
	settings.TracerProvider = injectingTracers{settings.TracerProvider, settings.TracerProvider}
	settings.MeterProvider = injectingMeters{settings.MeterProvider, settings.MeterProvider}
	return settings
}

func TestWithoutSignal(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	plain := componenttest.NewNopTelemetrySettings()
	settings := withoutSignal(injecting(plain, core, "logs"))
	settings.Logger.Warn("hello")
	require.Empty(t, logs.All()[0].ContextMap())
	require.Equal(t, plain.TracerProvider, settings.TracerProvider)
	require.Equal(t, plain.MeterProvider, settings.MeterProvider)

	unchanged := withoutSignal(plain)
	require.Equal(t, plain.TracerProvider, unchanged.TracerProvider)
	require.Equal(t, plain.MeterProvider, unchanged.MeterProvider)
	require.NotNil(t, unchanged.Logger)
}

// The server logs clients of metrics although the component of logs was created and started
// first. The lines must not name that component's signal.
func TestSignalInLogs(t *testing.T) {
	ctx := context.Background()
	core, logs := observer.New(zap.InfoLevel)
	config := testConfig(func(c *Config) {
		c.Limits.MaxStreams, c.Limits.MaxChunkMiB = 1, 1
		c.ServerConfig.MaxRecvMsgSizeMiB = 1
	})
	tel := componenttest.NewTelemetry()
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = injecting(tel.NewTelemetrySettings(), core, "logs")
	first, err := NewFactory().CreateLogs(ctx, settings, config, consumertest.NewNop())
	require.NoError(t, err)
	settings.TelemetrySettings = injecting(tel.NewTelemetrySettings(), core, "metrics")
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

	want := map[string]any{ // by the start of the line
		"Starting the STEF server":           nil,
		"A stream was refused: there are":    nil, // it has not named its signal
		"An OTLP request was refused: it is": "metrics",
		"Panic while data was received":      "metrics",
		"A STEF stream ended with an error":  "metrics",
	}
	require.Eventually(t, func() bool { return logs.Len() == len(want) }, 5*time.Second, time.Millisecond)
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package injected

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/internal/teltest/injecting"
)

func TestWithoutSignal(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	plain := componenttest.NewNopTelemetrySettings()
	injected := injecting.Settings(plain, core, "logs")
	injected.Logger.Warn("with")
	require.Equal(t, map[string]any{Signal: "logs"}, logs.All()[0].ContextMap())
	settings := WithoutSignal(injected)
	settings.Logger.Warn("without")
	require.Empty(t, logs.All()[1].ContextMap())
	require.Equal(t, plain.TracerProvider, settings.TracerProvider)
	require.Equal(t, plain.MeterProvider, settings.MeterProvider)

	unchanged := WithoutSignal(plain)
	require.Equal(t, plain.TracerProvider, unchanged.TracerProvider)
	require.Equal(t, plain.MeterProvider, unchanged.MeterProvider)
	require.NotNil(t, unchanged.Logger)
}

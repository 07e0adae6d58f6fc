// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
)

// load reads a configuration as the Collector does.
func load(t testing.TB, text string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	config := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func newEncoding(t testing.TB, text string) *stefEncoding {
	t.Helper()
	config, err := load(t, text)
	require.NoError(t, err)
	e, err := newExtension(config, extensiontest.NewNopSettings(typ))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Shutdown(t.Context())) })
	return e
}

func recordedTraces(t testing.TB) []ptrace.Traces {
	return recorded(t, fixtures.Traces(), (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces)
}

func recordedMetrics(t testing.TB) []pmetric.Metrics {
	return recorded(t, fixtures.Metrics(), (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics)
}

func recordedLogs(t testing.TB) []plog.Logs {
	return recorded(t, fixtures.Logs(), (&plog.ProtoUnmarshaler{}).UnmarshalLogs)
}

func recorded[B any](t testing.TB, file []byte, unmarshal func([]byte) (B, error)) []B {
	return unmarshalAll(t, partsOf(t, file), unmarshal)
}

func partsOf(t testing.TB, file []byte) [][]byte {
	t.Helper()
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	return parts
}

func unmarshalAll[B any](t testing.TB, parts [][]byte, unmarshal func([]byte) (B, error)) []B {
	t.Helper()
	batches := make([]B, len(parts))
	for i, part := range parts {
		var err error
		batches[i], err = unmarshal(part)
		require.NoError(t, err)
	}
	return batches
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package streamconf

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

func TestModeConfig(t *testing.T) {
	var m ModeConfig
	require.NoError(t, m.UnmarshalText([]byte("ordered")))
	require.Equal(t, ModeConfig{Traces: Ordered, Metrics: Ordered, Logs: Ordered}, m)
	require.NoError(t, m.Validate())
	m.Metrics = "random"
	require.EqualError(t, m.Validate(), `mode of metrics is "random": set it to sorted or ordered`)
	require.NoError(t, m.UnmarshalText([]byte("sort")))
	require.EqualError(t, m.Validate(), `mode is "sort": set it to sorted or ordered`)
}

func TestSchema(t *testing.T) {
	for _, s := range []Schema{Compact, Full, Reference} {
		require.NoError(t, s.Validate())
	}
	require.ErrorContains(t, Schema("other").Validate(), "compact, full or reference")
}

// The options change the bytes that an encoder writes.
func TestOptions(t *testing.T) {
	bodies := []string{"user 7 signed in", "user 8 signed in", "another line"}
	encode := func(options ...stefpdata.EncoderOption) int64 {
		w, err := otelstef.NewLogsWriter(io.Discard, stef.WithCompression(stef.None))
		require.NoError(t, err)
		logs := plog.NewLogs()
		for i := range 300 {
			in := logs.ResourceLogs().AppendEmpty() // resources alternate
			in.Resource().Attributes().PutInt("host", int64(i%7))
			in.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(bodies[i%3])
		}
		require.NoError(t, stefpdata.NewLogsEncoder(w, options...).Encode(logs))
		require.NoError(t, w.Close())
		return w.Stats().Bytes
	}
	sorted, ordered := ModeConfig{Logs: Sorted}, ModeConfig{Logs: Ordered}
	require.Equal(t, encode(stefpdata.WithMode(stefpdata.Sorted)), encode(sorted.Option("logs")))
	require.Equal(t, encode(stefpdata.WithMode(stefpdata.Ordered)), encode(ordered.Option("logs")))
	require.NotEqual(t, encode(sorted.Option("logs")), encode(ordered.Option("logs")))
	on, off := encode(TemplatesOn.Option()), encode(TemplatesOff.Option())
	require.NotEqual(t, on, off)
	require.Equal(t, off, encode(TemplatesAuto.Option())) // the stream is not compressed
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

func all[T any](t *testing.T, decode func() (T, error)) []T {
	t.Helper()
	var list []T
	for {
		batch, err := decode()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, batch)
	}
}

func decodeSpans(t *testing.T, stream []byte) []ptrace.Traces {
	r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
	require.NoError(t, err)
	return all(t, stefpdata.NewTracesDecoder(r).Decode)
}

func decodeMetrics(t *testing.T, stream []byte) []pmetric.Metrics {
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	return all(t, stefpdata.NewMetricsDecoder(r).Decode)
}

func decodeLogs(t *testing.T, stream []byte) []plog.Logs {
	r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	return all(t, stefpdata.NewLogsDecoder(r).Decode)
}

// forms returns the options of the streams that a test writes, by name: in the compact
// schema with and without compression, and in the full schema.
func forms(compact, full stef.WriterOption) map[string][]stef.WriterOption {
	return map[string][]stef.WriterOption{
		"compact":      {compact},
		"compact zstd": {compact, stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(stef.LevelFastest)},
		"full":         {full},
	}
}

// rounds is how many streams of random batches each test writes.
func rounds() uint64 {
	if testing.Short() {
		return 20
	}
	return 150
}

func TestSpansMatchOTLP(t *testing.T) {
	for name, options := range forms(otelstef.CompactSpans(), stef.WithSchema(otelstef.SpansSchema())) {
		t.Run(name, func(t *testing.T) {
			for seed := range rounds() {
				r := sdktest.New(seed)
				var buf bytes.Buffer
				w, err := otelstef.NewSpansWriter(&buf, options...)
				require.NoError(t, err)
				e := records.NewSpans(w)
				var want []ptrace.Traces
				for range 4 {
					spans := r.Spans(30)
					td, err := sdktest.Traces(spans)
					require.NoError(t, err)
					want = append(want, td)
					require.NoError(t, e.Encode(spans))
					require.NoError(t, w.Flush())
				}
				require.NoError(t, w.Close())
				require.Empty(t, canon.Diff(canon.Traces(want...), canon.Traces(decodeSpans(t, buf.Bytes())...)), "seed %d", seed)
			}
		})
	}
}

func TestMetricsMatchOTLP(t *testing.T) {
	for name, options := range forms(otelstef.CompactMetrics(), stef.WithSchema(otelstef.MetricsSchema())) {
		t.Run(name, func(t *testing.T) {
			for seed := range rounds() {
				r := sdktest.New(seed)
				var buf bytes.Buffer
				w, err := otelstef.NewMetricsWriter(&buf, options...)
				require.NoError(t, err)
				e := records.NewMetrics(w)
				var want []pmetric.Metrics
				for range 4 {
					rm := r.Metrics(8)
					md, err := sdktest.Metrics(rm)
					require.NoError(t, err)
					want = append(want, md)
					require.NoError(t, e.Encode(rm))
					require.NoError(t, w.Flush())
				}
				require.NoError(t, w.Close())
				require.Empty(t, canon.Diff(canon.Metrics(want...), canon.Metrics(decodeMetrics(t, buf.Bytes())...)), "seed %d", seed)
			}
		})
	}
}

func TestLogsMatchOTLP(t *testing.T) {
	for name, options := range forms(otelstef.CompactLogs(), stef.WithSchema(otelstef.LogsSchema())) {
		t.Run(name, func(t *testing.T) {
			for seed := range rounds() {
				r := sdktest.New(seed)
				var buf bytes.Buffer
				w, err := otelstef.NewLogsWriter(&buf, options...)
				require.NoError(t, err)
				e := records.NewLogs(w)
				var want []plog.Logs
				for range 4 {
					list := r.Logs(30)
					if len(list) == 0 {
						continue
					}
					ld, err := sdktest.Logs(list)
					require.NoError(t, err)
					want = append(want, ld)
					require.NoError(t, e.Encode(list))
					require.NoError(t, w.Flush())
				}
				require.NoError(t, w.Close())
				require.Empty(t, canon.Diff(canon.Logs(want...), canon.Logs(decodeLogs(t, buf.Bytes())...)), "seed %d", seed)
			}
		})
	}
}

// The encoders accept the types that the SDK passes to exporters.
var (
	_ func([]sdktrace.ReadOnlySpan) error     = (*records.Spans)(nil).Encode
	_ func(*metricdata.ResourceMetrics) error = (*records.Metrics)(nil).Encode
	_ func([]sdklog.Record) error             = (*records.Logs)(nil).Encode
)

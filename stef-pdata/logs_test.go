// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The output of a round trip equals the input.
func TestRealLogsRoundTrip(t *testing.T) {
	f := func(name string, lds []plog.Logs, mode stefpdata.Mode, compression stef.Compression, options ...stefpdata.DecoderOption) {
		t.Run(fmt.Sprint(name, "/", mode, "/", compression), func(t *testing.T) {
			before := oneBatchOfLogs(lds)
			stream := encodeLogs(t, lds, mode, stef.WithCompression(compression))
			requireSameLogs(t, mode, lds, decodeLogs(t, stream, options...))
			requireSameLogs(t, stefpdata.Ordered, []plog.Logs{before}, lds)
		})
	}
	recorded := recordedLogs(t)
	for _, mode := range modes {
		f("recorded", recorded, mode, stef.None)
		f("recorded", recorded, mode, stef.Zstd, stefpdata.WithMaxItems(100))
	}
	t.Run("real", func(t *testing.T) {
		for _, name := range logSets {
			lds := unmarshalLogs(t, logParts(t, name))
			f(name, lds, stefpdata.Ordered, stef.Zstd, stefpdata.WithMaxItems(1000))
			f(name, lds, stefpdata.Sorted, stef.None)
		}
	})
}

// Streams of real logs, with a frame for each batch, are compared with OTLP, where each batch is
// compressed separately. In the mode Ordered, a stream has at most the given share of these bytes.
// In the mode Sorted, it is not larger than in the mode Ordered.
func TestSizesOfLogs(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	f := func(name string, most float64) {
		t.Helper()
		parts := logParts(t, name)
		otlp := 0
		for _, part := range parts {
			otlp += len(z.EncodeAll(part, nil))
		}
		lds := unmarshalLogs(t, parts)
		arrival := len(encodeLogs(t, lds, stefpdata.Ordered, stef.WithCompression(stef.Zstd)))
		sorted := len(encodeLogs(t, lds, stefpdata.Sorted, stef.WithCompression(stef.Zstd)))
		share := float64(arrival) / float64(otlp)
		t.Logf("%-10s OTLP %7d, in order of arrival %6d, %.3f of it (at most %.2f), sorted %6d", name, otlp, arrival, share, most, sorted)
		if share > most {
			t.Errorf("%s: %d bytes are %.3f of %d, at most %.2f", name, arrival, share, otlp, most)
		}
		if sorted > arrival {
			t.Errorf("%s: %d bytes sorted, %d in order of arrival", name, sorted, arrival)
		}
	}
	f("kafka", 0.47)
	f("webnodes", 0.64)
	f("cloudtrail", 0.67)
	f("astronomy", 0.51)
	f("k8sapps", 0.61)
}

// TestSizesOfCompactLogs is like TestSizesOfLogs, but with the settings of an exporter: the
// compact form, and the level fastest.
func TestSizesOfCompactLogs(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	f := func(name string, most float64) {
		t.Helper()
		parts := logParts(t, name)
		lds := unmarshalLogs(t, parts)
		otlp := 0
		for _, part := range parts {
			otlp += len(z.EncodeAll(part, nil))
		}
		size := len(encodeLogs(t, lds, stefpdata.Ordered, stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(stef.LevelFastest), otelstef.CompactLogs()))
		share := float64(size) / float64(otlp)
		t.Logf("%-10s %.3f of OTLP (at most %.2f)", name, share, most)
		require.LessOrEqual(t, share, most, name)
	}
	f("kafka", 0.44)
	f("webnodes", 0.47)
	f("cloudtrail", 0.62)
	f("astronomy", 0.46)
	f("k8sapps", 0.55)
}

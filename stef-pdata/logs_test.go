// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// What comes back from a stream is what went in.
func TestRealLogsComeBack(t *testing.T) {
	f := func(name string, lds []plog.Logs) {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				before := oneBatchOfLogs(lds)
				requireSameLogs(t, mode, lds, decodeLogs(t, encodeLogs(t, lds, mode)))
				requireSameLogs(t, mode, lds, decodeLogs(t,
					encodeLogs(t, lds, mode, stef.WithCompression(stef.Zstd)),
					stefpdata.WithMaxItems(1000)))
				requireSameLogs(t, stefpdata.Ordered, []plog.Logs{before}, lds)
			})
		}
	}
	f("recorded", recordedLogs(t))
	t.Run("real", func(t *testing.T) {
		for _, name := range logSets {
			f(name, unmarshalLogs(t, logParts(t, name)))
		}
	})
}

// Streams of real logs, with a frame for each part and in arrival order, are
// no larger than these shares of the parts compressed each on its own.
func TestLogSizes(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	f := func(name string, most float64) {
		t.Helper()
		parts := logParts(t, name)
		otlp := 0
		for _, part := range parts {
			otlp += len(z.EncodeAll(part, nil))
		}
		stream := encodeLogs(t, unmarshalLogs(t, parts), stefpdata.Ordered, stef.WithCompression(stef.Zstd))
		raw := encodeLogs(t, unmarshalLogs(t, parts), stefpdata.Ordered)
		share := float64(len(stream)) / float64(otlp)
		t.Logf("%s: %d bytes (%d raw), %.4f of %d, at most %.2f", name, len(stream), len(raw), share, otlp, most)
		if share > most {
			t.Errorf("%s: %d bytes are %.3f of %d, at most %.2f", name, len(stream), share, otlp, most)
		}
	}
	f("kafka", 0.47)
	f("webnodes", 0.64)
	f("cloudtrail", 0.67)
	f("astronomy", 0.51)
	f("k8sapps", 0.61)
}

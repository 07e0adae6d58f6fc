// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata"
)

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// README.md states how many bytes of memory a batch uses for each byte that admission counts.
// TestMemoryOfBatches checks this number with the recordings of this repository.
func TestMemoryOfBatches(t *testing.T) {
	notShort(t)
	t.Run("traces", func(t *testing.T) {
		testMemory(t, signal.Traces, fixtures.Traces(), func(dst *bytes.Buffer, td ptrace.Traces) error {
			w, err := otelstef.NewSpansWriter(dst, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			require.NoError(t, stefpdata.NewTracesEncoder(w).Encode(td))
			return w.Close()
		})
	})
	t.Run("metrics", func(t *testing.T) {
		testMemory(t, signal.Metrics, fixtures.Metrics(), func(dst *bytes.Buffer, md pmetric.Metrics) error {
			w, err := otelstef.NewMetricsWriter(dst, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			require.NoError(t, stefpdata.NewMetricsEncoder(w).Encode(md))
			return w.Close()
		})
	})
	t.Run("logs", func(t *testing.T) {
		testMemory(t, signal.Logs, fixtures.Logs(), func(dst *bytes.Buffer, ld plog.Logs) error {
			w, err := otelstef.NewLogsWriter(dst, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			require.NoError(t, stefpdata.NewLogsEncoder(w).Encode(ld))
			return w.Close()
		})
	})
}

func testMemory[T any](t *testing.T, sig *signal.Descriptor[T], file []byte, encode func(*bytes.Buffer, T) error) {
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	body := bytes.Join(parts, nil) // concatenated messages are one message
	all, err := sig.Unmarshal(body)
	require.NoError(t, err)
	var stream bytes.Buffer
	require.NoError(t, encode(&stream, all))

	const times = 10
	ratio := func(decode func() T) float64 {
		before := heap()
		var keep [times]T
		for i := range keep {
			keep[i] = decode()
		}
		taken := heap() - before
		require.Equal(t, sig.Items(all), sig.Items(keep[0]))
		runtime.KeepAlive(&keep)
		return float64(taken) / float64(times*len(body))
	}
	fromSTEF := ratio(func() T {
		d, err := sig.NewDecoder(bytes.NewReader(stream.Bytes()), []stefpdata.DecoderOption{stefpdata.WithMaxItems(1 << 20)})
		require.NoError(t, err)
		batch, err := d.Decode()
		require.NoError(t, err)
		d.Reader.Close()
		return batch
	})
	fromOTLP := ratio(func() T {
		batch, err := sig.Unmarshal(body)
		require.NoError(t, err)
		return batch
	})
	t.Logf("bytes of memory for a byte of OTLP: %.1f from STEF, %.1f from OTLP", fromSTEF, fromOTLP)
	require.Less(t, fromSTEF, 2.5)
	require.Less(t, fromOTLP, 4.0)
}

// If the pipeline is slow, memory does not grow: data that is not admitted waits in the clients.
func TestMemoryUnderPressure(t *testing.T) {
	const limitMiB, streams = 2, 8
	r := startRig(t, testConfig(func(c *Config) {
		c.Admission = AdmissionConfig{RequestLimitMiB: limitMiB, WaitingLimitMiB: 2 * streams}
	}), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
		time.Sleep(2 * time.Millisecond)
		return nil
	})})
	large := points(500)
	dps := large.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints()
	for i := range dps.Len() {
		dps.At(i).Attributes().PutStr("text", strings.Repeat("x", 1000))
	}
	done := make(chan error, streams)
	for range streams {
		s := metricKind.mustOpen(t, r.dial())
		go func() {
			for range 10 {
				if _, err := s.send(large); err != nil {
					done <- err
					return
				}
			}
			done <- s.stream.AwaitAll(context.Background())
		}()
	}
	var most int64
	for finished := 0; finished < streams; {
		select {
		case err := <-done:
			require.NoError(t, err)
			finished++
		case <-time.After(time.Millisecond):
			inFlight, _ := r.shared.admission.state()
			most = max(most, inFlight)
		}
	}
	r.requireIdle()
	// Each stream may exceed its admission by at most one batch. In this test, a batch is smaller
	// than the amount that a stream requests from admission for its first batch.
	require.Positive(t, most)
	require.LessOrEqual(t, most, int64(limitMiB*mib+mib))
}

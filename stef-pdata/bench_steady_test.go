// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest"
)

// The benchmarks of steady state use recordings on which no design decision was
// based. The first half of a recording warms up a stream. Only the second half, which
// is new to the stream, is measured:
//
//	set=S/zstd=Z/to=otlp             marshal
//	set=S/zstd=Z/to=stef/mode=M      Encode and Flush

// eachRecording runs a benchmark on each recording of a signal.
func eachRecording[T any](b *testing.B, s signal[T], suffix string, run func(b *testing.B, s benchSet[T], warm []T)) {
	holdBallast()
	folder := filepath.Join(teltest.Root(b), "internal", "fixtures", "recordings")
	files, err := filepath.Glob(filepath.Join(folder, "*-"+suffix+".otlp.zst"))
	require.NoError(b, err)
	require.NotEmpty(b, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "-"+suffix+".otlp.zst")
		b.Run("set="+name, func(b *testing.B) {
			data, err := os.ReadFile(file)
			require.NoError(b, err)
			parts, err := fixtures.Parts(data)
			require.NoError(b, err)
			var batches []T
			for _, part := range parts {
				batch, err := s.unmarshal(part)
				require.NoError(b, err)
				batches = append(batches, batch)
			}
			half := len(batches) / 2
			items := 0
			for _, batch := range batches[half:] {
				items += s.items(batch)
			}
			run(b, benchSet[T]{s, batches[half:], items}, batches[:half])
		})
	}
}

func benchSteady[T any](b *testing.B, s benchSet[T], warm []T) {
	for _, compressed := range []bool{false, true} {
		prefix, otlp := fmt.Sprintf("zstd=%t/", compressed), runs(nil)
		b.Run(prefix+"to=otlp", func(b *testing.B) { otlp.add(s.marshalAll(b, compressed)) })
		for _, mode := range s.modes {
			b.Run(fmt.Sprintf("%sto=stef/mode=%v", prefix, mode), func(b *testing.B) {
				s.measure(b, otlp.median(), func() int {
					b.StopTimer()
					var size counter
					e, err := s.encoder(&size, mode, compressionOf(compressed))
					require.NoError(b, err)
					encode := func(batches []T) {
						for _, batch := range batches {
							if err := errors.Join(e.encode(batch), e.flush()); err != nil {
								b.Fatal(err)
							}
						}
					}
					encode(warm)
					size = 0
					b.StartTimer()
					encode(s.batches)
					b.StopTimer()
					n := int(size)
					require.NoError(b, e.close())
					b.StartTimer()
					return n
				})
			})
		}
	}
}

func BenchmarkMetricsSteady(b *testing.B) {
	eachRecording(b, metricsSignal, "metrics", benchSteady[pmetric.Metrics])
}

func BenchmarkTracesSteady(b *testing.B) {
	eachRecording(b, tracesSignal, "traces", benchSteady[ptrace.Traces])
}

func BenchmarkLogsSteady(b *testing.B) {
	eachRecording(b, logsSignal, "logs", benchSteady[plog.Logs])
}

func decodeRecording[T any](b *testing.B, s benchSet[T], _ []T) { benchDecode(b, s) }

func BenchmarkMetricsDecodeRecordings(b *testing.B) {
	eachRecording(b, metricsSignal, "metrics", decodeRecording[pmetric.Metrics])
}

func BenchmarkTracesDecodeRecordings(b *testing.B) {
	eachRecording(b, tracesSignal, "traces", decodeRecording[ptrace.Traces])
}

func BenchmarkLogsDecodeRecordings(b *testing.B) {
	eachRecording(b, logsSignal, "logs", decodeRecording[plog.Logs])
}

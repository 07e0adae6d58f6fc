// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of traces run OTLP and STEF on the same batches, so that the
// ratio of two lines is what matters. STEF_BALLAST is a number of MiB that the
// heap holds besides, as in a busy Collector.

// benchTraces runs f on the real set and on the recorded one.
func benchTraces(b *testing.B, f func(b *testing.B, tds []ptrace.Traces)) {
	if mib, _ := strconv.Atoi(os.Getenv("STEF_BALLAST")); mib > 0 {
		ballast := make([]byte, mib<<20)
		defer runtime.KeepAlive(ballast)
	}
	b.Run("hipstershop", func(b *testing.B) { f(b, realTraces(b, hipstershopTraces)) })
	b.Run("recorded", func(b *testing.B) { f(b, recordedTraces(b)) })
	b.Run("recorded one", func(b *testing.B) { f(b, []ptrace.Traces{oneTraces(recordedTraces(b))}) })
}

// perSpan runs op until b has enough and reports what a span costs.
func perSpan(b *testing.B, tds []ptrace.Traces, op func() (bytes int)) {
	spans, size := 0, 0
	for _, td := range tds {
		spans += td.SpanCount()
	}
	b.ReportAllocs()
	runtime.GC()
	for b.Loop() {
		size = op()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(spans), "ns/span")
	b.ReportMetric(float64(size)/float64(spans), "B/span")
}

func BenchmarkTracesToOTLP(b *testing.B) {
	f := func(name string, compress func([]byte) []byte) {
		b.Run(name, func(b *testing.B) {
			benchTraces(b, func(b *testing.B, tds []ptrace.Traces) {
				perSpan(b, tds, func() (n int) {
					for _, td := range tds {
						message, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
						require.NoError(b, err)
						n += len(compress(message))
					}
					return n
				})
			})
		})
	}
	f("none", func(message []byte) []byte { return message })
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(b, err)
	f("zstd", func(message []byte) []byte { return z.EncodeAll(message, nil) })
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// BenchmarkTracesToSTEF writes a new stream each time (cold), or more and more
// to one stream (warm).
func BenchmarkTracesToSTEF(b *testing.B) {
	f := func(name string, mode stefpdata.Mode, warm bool, options ...stef.WriterOption) {
		b.Run(name, func(b *testing.B) {
			benchTraces(b, func(b *testing.B, tds []ptrace.Traces) {
				var w *otelstef.SpansWriter
				var e *stefpdata.TracesEncoder
				var size counter
				perSpan(b, tds, func() int {
					if !warm || w == nil {
						var err error
						w, err = otelstef.NewSpansWriter(&size, options...)
						require.NoError(b, err)
						e = stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
					}
					size = 0
					for _, td := range tds {
						require.NoError(b, e.Encode(td))
						require.NoError(b, w.Flush())
					}
					return int(size)
				})
			})
		})
	}
	for _, mode := range modes {
		f(mode.String()+"/none/cold", mode, false)
		f(mode.String()+"/none/warm", mode, true)
		f(mode.String()+"/zstd/cold", mode, false, stef.WithCompression(stef.Zstd))
		f(mode.String()+"/zstd/warm", mode, true, stef.WithCompression(stef.Zstd))
		f(mode.String()+"/published/warm", mode, true, otelstef.PublishedSpans())
	}
}

func BenchmarkTracesFromOTLP(b *testing.B) {
	benchTraces(b, func(b *testing.B, tds []ptrace.Traces) {
		var messages [][]byte
		for _, td := range tds {
			message, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
			require.NoError(b, err)
			messages = append(messages, message)
		}
		perSpan(b, tds, func() (n int) {
			for _, message := range messages {
				_, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(message)
				require.NoError(b, err)
				n += len(message)
			}
			return n
		})
	})
}

func BenchmarkTracesFromSTEF(b *testing.B) {
	for _, mode := range modes {
		for _, options := range [][]stef.WriterOption{nil, {stef.WithCompression(stef.Zstd)}} {
			name := mode.String() + "/none"
			if options != nil {
				name = mode.String() + "/zstd"
			}
			b.Run(name, func(b *testing.B) {
				benchTraces(b, func(b *testing.B, tds []ptrace.Traces) {
					stream := encodeTraces(b, tds, mode, options...)
					perSpan(b, tds, func() int {
						r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
						require.NoError(b, err)
						d := stefpdata.NewTracesDecoder(r)
						for err == nil {
							_, err = d.Decode()
						}
						require.ErrorIs(b, err, io.EOF)
						return len(stream)
					})
				})
			})
		}
	}
}

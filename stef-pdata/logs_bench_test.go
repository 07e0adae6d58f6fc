// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Each real set goes to STEF and back beside OTLP, part by part and as one
// batch, a new stream for each operation (cold) or one for all (warm). The
// figure is ns/record.

func BenchmarkLogsEncode(b *testing.B) {
	for _, name := range logSets {
		b.Run(name, func(b *testing.B) {
			parts := unmarshalLogs(b, logParts(b, name))
			b.Run("parts", func(b *testing.B) { benchmarkLogsEncode(b, parts) })
			b.Run("one", func(b *testing.B) { benchmarkLogsEncode(b, []plog.Logs{oneBatchOfLogs(parts)}) })
		})
	}
}

func benchmarkLogsEncode(b *testing.B, lds []plog.Logs) {
	marshaler := plog.ProtoMarshaler{}
	b.Run("otlp", func(b *testing.B) {
		perRecord(b, lds, func() {
			for _, ld := range lds {
				_, err := marshaler.MarshalLogs(ld)
				require.NoError(b, err)
			}
		})
	})
	b.Run("otlp+zstd", func(b *testing.B) {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
		require.NoError(b, err)
		var out []byte
		perRecord(b, lds, func() {
			for _, ld := range lds {
				bytes, err := marshaler.MarshalLogs(ld)
				require.NoError(b, err)
				out = z.EncodeAll(bytes, out[:0])
			}
		})
	})
	for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
		suffix := ""
		if compression == stef.Zstd {
			suffix = "+zstd"
		}
		for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
			b.Run(mode.String()+suffix+"/cold", func(b *testing.B) {
				perRecord(b, lds, func() {
					w, err := otelstef.NewLogsWriter(io.Discard, stef.WithCompression(compression))
					require.NoError(b, err)
					writeLogs(b, stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode)), w, lds)
					require.NoError(b, w.Close())
				})
			})
			b.Run(mode.String()+suffix+"/warm", func(b *testing.B) {
				w, err := otelstef.NewLogsWriter(io.Discard, stef.WithCompression(compression))
				require.NoError(b, err)
				e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
				writeLogs(b, e, w, lds)
				perRecord(b, lds, func() { writeLogs(b, e, w, lds) })
			})
		}
	}
}

func writeLogs(b *testing.B, e *stefpdata.LogsEncoder, w *otelstef.LogsWriter, lds []plog.Logs) {
	for _, ld := range lds {
		require.NoError(b, e.Encode(ld))
		require.NoError(b, w.Flush())
	}
}

func BenchmarkLogsDecode(b *testing.B) {
	for _, name := range logSets {
		b.Run(name, func(b *testing.B) {
			parts := logParts(b, name)
			lds := unmarshalLogs(b, parts)
			b.Run("otlp", func(b *testing.B) {
				perRecord(b, lds, func() { unmarshalLogs(b, parts) })
			})
			for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
				for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
					stream := encodeLogs(b, lds, mode, stef.WithCompression(compression))
					b.Run(mode.String()+"/"+compression.String(), func(b *testing.B) {
						perRecord(b, lds, func() {
							r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
							require.NoError(b, err)
							for d := stefpdata.NewLogsDecoder(r); ; {
								if _, err := d.Decode(); err == io.EOF {
									break
								} else if err != nil {
									b.Fatal(err)
								}
							}
							r.Close()
						})
					})
				}
			}
		})
	}
}

// perRecord runs f, which converts lds once.
func perRecord(b *testing.B, lds []plog.Logs, f func()) {
	records := 0
	for _, ld := range lds {
		records += ld.LogRecordCount()
	}
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
}

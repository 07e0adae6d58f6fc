// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// eachLogSet runs a benchmark on the real sets, as they are and in one batch.
func eachLogSet(b *testing.B, run func(b *testing.B, lds []plog.Logs, records int)) {
	holdBallast()
	for _, name := range logSets {
		parts := unmarshalLogs(b, logParts(b, name))
		records := 0
		for _, ld := range parts {
			records += ld.LogRecordCount()
		}
		b.Run("set="+name+"/batch=parts", func(b *testing.B) { run(b, parts, records) })
		b.Run("set="+name+"/batch=one", func(b *testing.B) { run(b, []plog.Logs{oneBatchOfLogs(parts)}, records) })
	}
}

// BenchmarkLogsEncode compares pdata to STEF with OTLP marshalling. Warm encoders
// know all that comes; cold ones begin a stream each time.
func BenchmarkLogsEncode(b *testing.B) {
	eachLogSet(b, func(b *testing.B, lds []plog.Logs, records int) {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			b.Run(fmt.Sprintf("zstd=%t/to=otlp", compression == stef.Zstd), func(b *testing.B) {
				benchMarshalLogs(b, lds, records, compression)
			})
			for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
				for _, warm := range []bool{false, true} {
					b.Run(fmt.Sprintf("zstd=%t/to=stef/mode=%v/warm=%t", compression == stef.Zstd, mode, warm), func(b *testing.B) {
						benchEncodeLogs(b, lds, records, mode, compression, warm)
					})
				}
			}
		}
	})
}

func benchMarshalLogs(b *testing.B, lds []plog.Logs, records int, compression stef.Compression) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
	require.NoError(b, err)
	var m plog.ProtoMarshaler
	var compressed []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, ld := range lds {
			data, err := m.MarshalLogs(ld)
			if err != nil {
				b.Fatal(err)
			}
			if compression == stef.Zstd {
				compressed = z.EncodeAll(data, compressed[:0])
			}
		}
	}
	perItem(b, records)
}

func benchEncodeLogs(b *testing.B, lds []plog.Logs, records int, mode stefpdata.Mode, compression stef.Compression, warm bool) {
	begin := func() (*otelstef.LogsWriter, *stefpdata.LogsEncoder) {
		w, err := otelstef.NewLogsWriter(io.Discard, stef.WithCompression(compression))
		require.NoError(b, err)
		return w, stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
	}
	encode := func(w *otelstef.LogsWriter, e *stefpdata.LogsEncoder) {
		for _, ld := range lds {
			if err := errors.Join(e.Encode(ld), w.Flush()); err != nil {
				b.Fatal(err)
			}
		}
	}
	w, e := begin()
	encode(w, e)
	b.ReportAllocs()
	for b.Loop() {
		if !warm {
			_ = w.Close()
			w, e = begin()
		}
		encode(w, e)
	}
	_ = w.Close()
	perItem(b, records)
}

// BenchmarkLogsDecode compares STEF to pdata with OTLP unmarshalling.
func BenchmarkLogsDecode(b *testing.B) {
	eachLogSet(b, func(b *testing.B, lds []plog.Logs, records int) {
		b.Run("from=otlp", func(b *testing.B) {
			var m plog.ProtoMarshaler
			var parts [][]byte
			for _, ld := range lds {
				part, err := m.MarshalLogs(ld)
				require.NoError(b, err)
				parts = append(parts, part)
			}
			var u plog.ProtoUnmarshaler
			b.ReportAllocs()
			for b.Loop() {
				for _, part := range parts {
					if _, err := u.UnmarshalLogs(part); err != nil {
						b.Fatal(err)
					}
				}
			}
			perItem(b, records)
		})
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			for _, mode := range []stefpdata.Mode{stefpdata.Ordered, stefpdata.Sorted} {
				stream := encodeLogs(b, lds, mode, stef.WithCompression(compression))
				b.Run(fmt.Sprintf("zstd=%t/from=stef/mode=%v", compression == stef.Zstd, mode), func(b *testing.B) {
					benchDecodeLogs(b, stream, records)
				})
			}
		}
	})
}

func benchDecodeLogs(b *testing.B, stream []byte, records int) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
		require.NoError(b, err)
		d := stefpdata.NewLogsDecoder(r)
		for {
			if _, err := d.Decode(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		r.Close()
	}
	perItem(b, records)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The collector's share depends on how much else lives in the heap: plain
// benchmarks collect every few operations, a busy Collector rarely does.
var ballast = flag.Int("ballast", 0, "MiB of other live memory during benchmarks")

var heap []byte

func holdBallast() {
	if heap == nil && *ballast > 0 {
		heap = make([]byte, *ballast<<20)
		runtime.KeepAlive(heap)
	}
}

// perItem reports the time per item beside the usual time per operation.
func perItem(b *testing.B, items int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}

// eachMetricsSet runs a benchmark on the real sets, as they are and in one batch.
func eachMetricsSet(b *testing.B, run func(b *testing.B, mds []pmetric.Metrics, points int)) {
	holdBallast()
	for _, name := range []string{hipstershop, hostandcollector} {
		parts := realMetrics(b, name)
		points := 0
		for _, md := range parts {
			points += md.DataPointCount()
		}
		b.Run("set="+name[:4]+"/batch=one", func(b *testing.B) { run(b, []pmetric.Metrics{oneBatch(parts)}, points) })
		if len(parts) > 1 {
			b.Run("set="+name[:4]+"/batch=parts", func(b *testing.B) { run(b, parts, points) })
		}
	}
}

// BenchmarkMetricsEncode compares pdata to STEF with OTLP marshalling. Warm
// encoders know all that comes; cold ones begin a stream each time.
func BenchmarkMetricsEncode(b *testing.B) {
	eachMetricsSet(b, func(b *testing.B, mds []pmetric.Metrics, points int) {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			b.Run(fmt.Sprintf("zstd=%t/to=otlp", compression == stef.Zstd), func(b *testing.B) {
				benchMarshal(b, mds, points, compression)
			})
			for _, mode := range modes {
				for _, warm := range []bool{false, true} {
					b.Run(fmt.Sprintf("zstd=%t/to=stef/mode=%v/warm=%t", compression == stef.Zstd, mode, warm), func(b *testing.B) {
						benchEncode(b, mds, points, mode, compression, warm)
					})
				}
			}
		}
	})
}

func benchMarshal(b *testing.B, mds []pmetric.Metrics, points int, compression stef.Compression) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(b, err)
	var m pmetric.ProtoMarshaler
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, md := range mds {
			data, err := m.MarshalMetrics(md)
			if err != nil {
				b.Fatal(err)
			}
			if compression == stef.Zstd {
				out = z.EncodeAll(data, out[:0])
			}
		}
	}
	perItem(b, points)
}

func benchEncode(b *testing.B, mds []pmetric.Metrics, points int, mode stefpdata.Mode, compression stef.Compression, warm bool) {
	begin := func() (*otelstef.MetricsWriter, *stefpdata.MetricsEncoder) {
		w, err := otelstef.NewMetricsWriter(io.Discard, stef.WithCompression(compression))
		require.NoError(b, err)
		return w, stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
	}
	encode := func(w *otelstef.MetricsWriter, e *stefpdata.MetricsEncoder) {
		for _, md := range mds {
			if err := errors.Join(e.Encode(md), w.Flush()); err != nil {
				b.Fatal(err)
			}
		}
	}
	w, e := begin()
	encode(w, e)
	b.ReportAllocs()
	for b.Loop() {
		if !warm {
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			w, e = begin()
		}
		encode(w, e)
	}
	perItem(b, points)
}

// BenchmarkMetricsDecode compares STEF to pdata with OTLP unmarshalling.
func BenchmarkMetricsDecode(b *testing.B) {
	eachMetricsSet(b, func(b *testing.B, mds []pmetric.Metrics, points int) {
		b.Run("from=otlp", func(b *testing.B) { benchUnmarshal(b, mds, points) })
		for _, mode := range modes {
			for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
				stream := encodeMetrics(b, mds, mode, stef.WithCompression(compression))
				b.Run(fmt.Sprintf("from=stef/mode=%v/zstd=%t", mode, compression == stef.Zstd), func(b *testing.B) {
					benchDecode(b, stream, points)
				})
			}
		}
	})
}

func benchUnmarshal(b *testing.B, mds []pmetric.Metrics, points int) {
	var parts [][]byte
	for _, md := range mds {
		part, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		require.NoError(b, err)
		parts = append(parts, part)
	}
	var u pmetric.ProtoUnmarshaler
	b.ReportAllocs()
	for b.Loop() {
		for _, part := range parts {
			if _, err := u.UnmarshalMetrics(part); err != nil {
				b.Fatal(err)
			}
		}
	}
	perItem(b, points)
}

func benchDecode(b *testing.B, stream []byte, points int) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		d := stefpdata.NewMetricsDecoder(r)
		for err == nil {
			_, err = d.Decode()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		r.Close()
	}
	perItem(b, points)
}

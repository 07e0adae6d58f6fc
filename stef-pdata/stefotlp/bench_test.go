// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// perItem reports the time of an item.
func perItem(b *testing.B, items int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}

// drain calls append until the end of the stream.
func drain(b *testing.B, buf []byte, appendOTLP func([]byte) ([]byte, error)) []byte {
	for {
		out, err := appendOTLP(buf[:0])
		if errors.Is(err, io.EOF) {
			return buf
		}
		require.NoError(b, err)
		buf = out
	}
}

// The operations of a signal on a set, with what they are measured against.
func BenchmarkMetrics(b *testing.B) {
	f := func(name string, parts [][]byte) {
		stream := encodeMetrics(b, parts)
		items := 0
		for _, md := range unmarshalMetrics(b, parts) {
			items += md.DataPointCount()
		}
		b.Run("toOTLP/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
				require.NoError(b, err)
				buf = drain(b, buf, stefotlp.NewMetricsDecoder(r).AppendOTLP)
			}
			perItem(b, items)
		})
		b.Run("unmarshal/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, part := range parts {
					_, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
					require.NoError(b, err)
				}
			}
			perItem(b, items)
		})
		b.Run("fromOTLP/"+name, func(b *testing.B) {
			b.ReportAllocs()
			w, err := otelstef.NewMetricsWriter(io.Discard)
			require.NoError(b, err)
			e := stefotlp.NewMetricsEncoder(w)
			for b.Loop() {
				for _, part := range parts {
					require.NoError(b, e.EncodeOTLP(part))
					require.NoError(b, w.Flush())
				}
			}
			perItem(b, items)
		})
		b.Run("unmarshalAndConvert/"+name, func(b *testing.B) {
			b.ReportAllocs()
			w, err := otelstef.NewMetricsWriter(io.Discard)
			require.NoError(b, err)
			e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(stefpdata.Ordered))
			for b.Loop() {
				for _, part := range parts {
					md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
					require.NoError(b, err)
					require.NoError(b, e.Encode(md))
					require.NoError(b, w.Flush())
				}
			}
			perItem(b, items)
		})
	}
	f("hipstershop", real(b, "metrics", "hipstershop-otelmetrics"))
	f("hostandcollector", real(b, "metrics", "hostandcollector-otelmetrics"))
}

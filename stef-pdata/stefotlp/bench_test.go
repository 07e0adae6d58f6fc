// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// measure runs the operations on a real set. The conversion to OTLP is compared with
// the unmarshalling of pdata, and the conversion from OTLP with unmarshalling and
// conversion. Encoders and writers are warm, readers are new for each round.
func measure(b *testing.B, set string, parts [][]byte, items int, operations map[string]func()) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	for _, name := range []string{"toOTLP", "read", "unmarshal", "fromOTLP", "unmarshalAndConvert"} {
		b.Run(set+"/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				operations[name]()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
		})
	}
}

// drain calls append until the end of the stream.
func drain(b *testing.B, buf *[]byte, appendOTLP func([]byte) ([]byte, error)) {
	for {
		out, err := appendOTLP((*buf)[:0])
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(b, err)
		*buf = out
	}
}

func BenchmarkMetrics(b *testing.B) {
	for _, name := range []string{"hipstershop", "hostandcollector"} {
		parts := real(b, "metrics", name+"-otelmetrics")
		stream := encodeMetrics(b, parts)
		items := 0
		for _, md := range unmarshalMetrics(b, parts) {
			items += md.DataPointCount()
		}
		reader := func() *otelstef.MetricsReader {
			r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
			require.NoError(b, err)
			return r
		}
		var buf []byte
		w, err := otelstef.NewMetricsWriter(io.Discard)
		require.NoError(b, err)
		direct := stefotlp.NewMetricsEncoder(w)
		v, err := otelstef.NewMetricsWriter(io.Discard)
		require.NoError(b, err)
		pdata := stefpdata.NewMetricsEncoder(v, stefpdata.WithMode(stefpdata.Ordered))
		measure(b, name, parts, items, map[string]func(){
			"toOTLP": func() { drain(b, &buf, stefotlp.NewMetricsDecoder(reader()).AppendOTLP) },
			"read": func() {
				for r := reader(); r.Next(); {
				}
			},
			"unmarshal": func() { unmarshalMetrics(b, parts) },
			"fromOTLP": func() {
				for _, part := range parts {
					require.NoError(b, direct.EncodeOTLP(part))
					require.NoError(b, w.Flush())
				}
			},
			"unmarshalAndConvert": func() {
				for _, part := range parts {
					md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
					require.NoError(b, err)
					require.NoError(b, pdata.Encode(md))
					require.NoError(b, v.Flush())
				}
			},
		})
	}
}

func BenchmarkTraces(b *testing.B) {
	parts := real(b, "traces", "hipstershop-oteltraces")
	stream := encodeTraces(b, parts)
	items := 0
	for _, td := range unmarshalTraces(b, parts) {
		items += td.SpanCount()
	}
	reader := func() *otelstef.SpansReader {
		r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
		require.NoError(b, err)
		return r
	}
	var buf []byte
	w, err := otelstef.NewSpansWriter(io.Discard)
	require.NoError(b, err)
	direct := stefotlp.NewTracesEncoder(w)
	v, err := otelstef.NewSpansWriter(io.Discard)
	require.NoError(b, err)
	pdata := stefpdata.NewTracesEncoder(v, stefpdata.WithMode(stefpdata.Ordered))
	measure(b, "hipstershop", parts, items, map[string]func(){
		"toOTLP": func() { drain(b, &buf, stefotlp.NewTracesDecoder(reader()).AppendOTLP) },
		"read": func() {
			for r := reader(); r.Next(); {
			}
		},
		"unmarshal": func() { unmarshalTraces(b, parts) },
		"fromOTLP": func() {
			for _, part := range parts {
				require.NoError(b, direct.EncodeOTLP(part))
				require.NoError(b, w.Flush())
			}
		},
		"unmarshalAndConvert": func() {
			for _, part := range parts {
				td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
				require.NoError(b, err)
				require.NoError(b, pdata.Encode(td))
				require.NoError(b, v.Flush())
			}
		},
	})
}

func BenchmarkLogs(b *testing.B) {
	for _, name := range strings.Fields("kafka webnodes cloudtrail astronomy k8sapps") {
		parts := real(b, "logs", name+"-otellogs")
		stream := encodeLogs(b, parts)
		items := 0
		for _, ld := range unmarshalLogs(b, parts) {
			items += ld.LogRecordCount()
		}
		reader := func() *otelstef.LogsReader {
			r, err := otelstef.NewLogsReader(bytes.NewReader(stream))
			require.NoError(b, err)
			return r
		}
		var buf []byte
		w, err := otelstef.NewLogsWriter(io.Discard)
		require.NoError(b, err)
		direct := stefotlp.NewLogsEncoder(w)
		v, err := otelstef.NewLogsWriter(io.Discard)
		require.NoError(b, err)
		pdata := stefpdata.NewLogsEncoder(v, stefpdata.WithTemplates(stefpdata.TemplatesOff))
		measure(b, name, parts, items, map[string]func(){
			"toOTLP": func() { drain(b, &buf, stefotlp.NewLogsDecoder(reader()).AppendOTLP) },
			"read": func() {
				for r := reader(); r.Next(); {
				}
			},
			"unmarshal": func() { unmarshalLogs(b, parts) },
			"fromOTLP": func() {
				for _, part := range parts {
					require.NoError(b, direct.EncodeOTLP(part))
					require.NoError(b, w.Flush())
				}
			},
			"unmarshalAndConvert": func() {
				for _, part := range parts {
					ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
					require.NoError(b, err)
					require.NoError(b, pdata.Encode(ld))
					require.NoError(b, v.Flush())
				}
			},
		})
	}
}

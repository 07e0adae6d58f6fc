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

	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// measure runs the operations on a set of real telemetry. Compare toOTLP with unmarshal, and fromOTLP
// with unmarshalAndConvert. All rounds use the same encoders and writers, but each round has new
// readers.
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

// drain calls appendOTLP until the end of the stream.
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
		benchmark(b, metrics, name, "otelmetrics")
	}
}

func BenchmarkTraces(b *testing.B) { benchmark(b, traces, "hipstershop", "oteltraces") }

func BenchmarkLogs(b *testing.B) {
	for _, name := range strings.Fields("kafka webnodes cloudtrail astronomy k8sapps") {
		benchmark(b, logs, name, "otellogs")
	}
}

// benchmark measures stefotlp and stefpdata with a set of real telemetry. Templates of logs are off in
// stefpdata, because stefotlp never writes them.
func benchmark[T any](b *testing.B, p *paths[T], set, kind string) {
	parts := real(b, p.Name, set+"-"+kind)
	stream := p.encode(b, parts)
	items := 0
	for _, batch := range p.unmarshal(b, parts) {
		items += p.Items(batch)
	}
	var buf []byte
	w, direct, err := p.newWriter(io.Discard, nil)
	require.NoError(b, err)
	pdata, err := p.NewEncoder(io.Discard, append(inOrder, stefpdata.WithTemplates(stefpdata.TemplatesOff)))
	require.NoError(b, err)
	measure(b, set, parts, items, map[string]func(){
		"toOTLP": func() {
			appendOTLP, err := p.newReader(bytes.NewReader(stream), nil)
			require.NoError(b, err)
			drain(b, &buf, appendOTLP)
		},
		"read": func() {
			d, err := p.NewDecoder(bytes.NewReader(stream), nil)
			require.NoError(b, err)
			for d.Reader.Next() {
			}
		},
		"unmarshal": func() { p.unmarshal(b, parts) },
		"fromOTLP": func() {
			for _, part := range parts {
				require.NoError(b, direct(part))
				require.NoError(b, w.Flush())
			}
		},
		"unmarshalAndConvert": func() {
			for _, part := range parts {
				batch, err := p.Unmarshal(part)
				require.NoError(b, err)
				require.NoError(b, pdata.Encode(batch))
				require.NoError(b, pdata.Writer.Flush())
			}
		},
	})
}

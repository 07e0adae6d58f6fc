// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// heap returns the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkCompactState measures the memory that the compact form needs on both ends,
// beyond that of the full form, for each series, with 4 attributes, and for each span,
// in traces of 10 spans.
func BenchmarkCompactState(b *testing.B) {
	f := func(name string, n int, write func(b *testing.B, dst *bytes.Buffer, options ...stef.WriterOption) any,
		read func(b *testing.B, src *bytes.Buffer) any, compact func() stef.WriterOption) {
		b.Run(name, func(b *testing.B) {
			var held [2][2]int64 // full and compact, writer and reader
			for b.Loop() {
				for form, options := range [2][]stef.WriterOption{nil, {compact()}} {
					var out bytes.Buffer
					before := heap()
					w := write(b, &out, options...)
					held[form][0] = heap() - before - int64(out.Cap())
					runtime.KeepAlive(w)
					src := bytes.NewBuffer(out.Bytes())
					before = heap()
					r := read(b, src)
					held[form][1] = heap() - before
					runtime.KeepAlive(r)
					runtime.KeepAlive(w)
				}
			}
			b.ReportMetric(float64(held[1][0]-held[0][0])/float64(n), "writer-B/item")
			b.ReportMetric(float64(held[1][1]-held[0][1])/float64(n), "reader-B/item")
			b.ReportMetric(0, "ns/op")
		})
	}
	const items = 60_000
	f("series", items, writeSeries, func(b *testing.B, src *bytes.Buffer) any {
		r, err := otelstef.NewMetricsReader(src)
		require.NoError(b, err)
		for r.Next() {
		}
		require.NoError(b, r.Err())
		return r
	}, otelstef.CompactMetrics)
	f("spans", items, writeSpans, func(b *testing.B, src *bytes.Buffer) any {
		r, err := otelstef.NewSpansReader(src)
		require.NoError(b, err)
		for r.Next() {
		}
		require.NoError(b, r.Err())
		return r
	}, otelstef.CompactSpans)
}

func writeSeries(b *testing.B, dst *bytes.Buffer, options ...stef.WriterOption) any {
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(b, err)
	attributes := w.Record().Attributes()
	attributes.SetLen(4)
	for i := range 60_000 {
		for k := range 4 {
			attributes.SetString(k, fmt.Sprint("key", k), fmt.Sprint("value", i>>(4*k)))
		}
		w.Record().Point().SetTimestamp(1_700_000_000_000_000_000)
		w.Record().Point().Value().SetInt64(int64(i))
		require.NoError(b, w.Write())
	}
	require.NoError(b, w.Flush())
	return w
}

func writeSpans(b *testing.B, dst *bytes.Buffer, options ...stef.WriterOption) any {
	w, err := otelstef.NewSpansWriter(dst, options...)
	require.NoError(b, err)
	span := w.Record().Span()
	span.SetName("operation")
	for i := range 60_000 {
		var trace [16]byte
		var id, parent [8]byte
		binary.BigEndian.PutUint64(trace[:], uint64(i/10+1)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(id[:], uint64(i+1)*0xd6e8feb86659fd93)
		binary.BigEndian.PutUint64(parent[:], uint64(i/10*10+1)*0xd6e8feb86659fd93)
		span.SetTraceID(trace[:])
		span.SetSpanID(id[:])
		span.SetParentSpanID(parent[:8*min(i%10, 1)])
		span.SetStartTimeUnixNano(1_700_000_000_000_000_000 + uint64(i)*1000)
		span.SetEndTimeUnixNano(span.StartTimeUnixNano() + uint64(i%977)*1000)
		require.NoError(b, w.Write())
	}
	require.NoError(b, w.Flush())
	return w
}

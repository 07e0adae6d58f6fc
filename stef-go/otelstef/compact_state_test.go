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

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkCompactState measures how many bytes of memory the compact form needs in addition to the full
// form, in the writer and in the reader: for a series with 4 attributes, and for a span in traces of 10
// spans.
func BenchmarkCompactState(b *testing.B) {
	f := func(name string, n int, write func(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any,
		read func(b testing.TB, src *bytes.Buffer) statsReader, compact func() stef.WriterOption) {
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
	f("series", items, writeSeries, drainMetrics, otelstef.CompactMetrics)
	f("spans", items, writeSpans, drainSpans, otelstef.CompactSpans)
}

type statsReader interface{ Stats() stef.ReaderStats }

func drainMetrics(b testing.TB, src *bytes.Buffer) statsReader {
	r, err := otelstef.NewMetricsReader(src)
	require.NoError(b, err)
	for r.Next() {
	}
	require.NoError(b, r.Err())
	return r
}

func drainSpans(b testing.TB, src *bytes.Buffer) statsReader {
	r, err := otelstef.NewSpansReader(src)
	require.NoError(b, err)
	for r.Next() {
	}
	require.NoError(b, r.Err())
	return r
}

func drainLogs(b testing.TB, src *bytes.Buffer) statsReader {
	r, err := otelstef.NewLogsReader(src)
	require.NoError(b, err)
	for r.Next() {
	}
	require.NoError(b, r.Err())
	return r
}

// TestCompactStateIsCounted compares the memory that the state of a reader takes with the memory that the
// reader counts for it. Neither is more than twice the other.
func TestCompactStateIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		write   func(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any
		read    func(b testing.TB, src *bytes.Buffer) statsReader
		compact func() stef.WriterOption
	}{
		"series":     {writeSeries, drainMetrics, otelstef.CompactMetrics},
		"histograms": {writeHistograms, drainMetrics, otelstef.CompactMetrics},
		"exemplars":  {writeManyExemplars, drainMetrics, otelstef.CompactMetrics},
		"spans":      {writeSpans, drainSpans, otelstef.CompactSpans},
		"logs":       {writeLogs, drainLogs, otelstef.CompactLogs},
	} {
		t.Run(name, func(t *testing.T) {
			var held, counted [2]int64 // full and compact
			for form, options := range [2][]stef.WriterOption{nil, {c.compact()}} {
				var out bytes.Buffer
				c.write(t, &out, options...)
				src := bytes.NewBuffer(out.Bytes())
				before := heap()
				r := c.read(t, src)
				held[form] = heap() - before
				counted[form] = int64(r.Stats().HeldBytes)
				runtime.KeepAlive(r)
			}
			measured, said := held[1]-held[0], counted[1]-counted[0]
			t.Logf("holds %d bytes, counts %d", measured, said)
			require.Greater(t, measured, int64(500_000))
			require.Greater(t, said, measured/2)
			require.Less(t, said, measured*2)
		})
	}
}

// writeHistograms writes histograms of 20 buckets.
func writeHistograms(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any {
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(b, err)
	attributes := w.Record().Attributes()
	for i := range 10_000 {
		attributes.SetLen(1)
		attributes.SetString(0, "key", fmt.Sprint("value", i))
		h := w.Record().Point().Value().SetHistogram()
		counts := make([]uint64, 20)
		for k := range counts {
			counts[k] = uint64(i * k % 97)
		}
		h.BucketCounts().SetValues(counts)
		h.SetCount(int64(i))
		require.NoError(b, w.Write())
	}
	require.NoError(b, w.Flush())
	return w
}

// writeManyExemplars writes points with 5 exemplars, each with a filtered attribute.
func writeManyExemplars(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any {
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(b, err)
	attributes := w.Record().Attributes()
	for i := range 6_000 {
		attributes.SetLen(1)
		attributes.SetString(0, "key", fmt.Sprint("value", i))
		list := w.Record().Point().Exemplars()
		list.SetLen(5)
		for k := range 5 {
			list.At(k).SetTimestamp(uint64(i * k))
			list.At(k).SetTraceID(fmt.Appendf(nil, "%016d", i*k))
			list.At(k).FilteredAttributes().SetLen(1)
			list.At(k).FilteredAttributes().SetString(0, "user", fmt.Sprint("user", i+k))
		}
		require.NoError(b, w.Write())
	}
	require.NoError(b, w.Flush())
	return w
}

// writeLogs writes log records with ids, in traces of 10.
func writeLogs(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any {
	w, err := otelstef.NewLogsWriter(dst, options...)
	require.NoError(b, err)
	for i := range 60_000 {
		var trace [16]byte
		var id [8]byte
		binary.BigEndian.PutUint64(trace[:], uint64(i/10+1)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(id[:], uint64(i+1)*0xd6e8feb86659fd93)
		w.Record().Record().SetTraceID(trace[:])
		w.Record().Record().SetSpanID(id[:])
		require.NoError(b, w.Write())
	}
	require.NoError(b, w.Flush())
	return w
}

func writeSeries(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any {
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

func writeSpans(b testing.TB, dst *bytes.Buffer, options ...stef.WriterOption) any {
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Benchmarks print this name of their data as the first line of their output.
var _ = benchdata.Name("synthetic: records of the test")

// idleBytes is the maximum memory in bytes of a writer or reader that has handled only the headers of its
// stream.
const idleBytes = 128 << 10

// idleStreams returns functions. Each of them opens a writer or a reader of a stream with compression, which
// has then handled only the headers. The key is the name of the benchmark or test.
func idleStreams(tb testing.TB) map[string]func() any {
	tb.Helper()
	var headers [3]bytes.Buffer
	zstd := stef.WithCompression(stef.Zstd)
	opened := func(v any, err error) any {
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
	opened(otelstef.NewMetricsWriter(&headers[0], zstd))
	opened(otelstef.NewSpansWriter(&headers[1], zstd))
	opened(otelstef.NewLogsWriter(&headers[2], zstd))
	source := func(i int) io.Reader { return bytes.NewReader(headers[i].Bytes()) }
	return map[string]func() any{
		"metrics writer": func() any { return opened(otelstef.NewMetricsWriter(io.Discard, zstd)) },
		"metrics reader": func() any { return opened(otelstef.NewMetricsReader(source(0))) },
		"spans writer":   func() any { return opened(otelstef.NewSpansWriter(io.Discard, zstd)) },
		"spans reader":   func() any { return opened(otelstef.NewSpansReader(source(1))) },
		"logs writer":    func() any { return opened(otelstef.NewLogsWriter(io.Discard, zstd)) },
		"logs reader":    func() any { return opened(otelstef.NewLogsReader(source(2))) },
	}
}

// inUse returns the memory that is in use after a garbage collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC() // pools release their contents only at the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// held returns the memory that each of n streams holds.
func held(open func() any, n int) int {
	open() // allocates what all streams share
	streams := make([]any, n)
	before := inUse()
	for i := range streams {
		streams[i] = open()
	}
	bytes := int(inUse() - before)
	runtime.KeepAlive(streams)
	return bytes / n
}

func TestIdleMemory(t *testing.T) {
	for name, open := range idleStreams(t) {
		bytes := held(open, 200)
		t.Logf("%s: %d bytes", name, bytes)
		require.Less(t, bytes, idleBytes, name)
		require.Positive(t, bytes, name)
	}
}

// BenchmarkIdle reports, as live-B/op, the memory that an open and idle stream holds.
func BenchmarkIdle(b *testing.B) {
	for name, open := range idleStreams(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				open()
			}
			b.ReportMetric(float64(held(open, 200)), "live-B/op")
		})
	}
}

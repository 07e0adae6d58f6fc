// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// BenchmarkWindow measures bytes, time and memory of a stream of the recorded batches for each
// level and window. The defaults are based on its results. The time covers reading and writing
// records, so compare it with level=none.
func BenchmarkWindow(b *testing.B) {
	for _, set := range metricSets(b) {
		plain := streamOf(b, set.parts)
		b.Run("data="+set.name+"/level=none", func(b *testing.B) { benchmarkWindow(b, plain) })
		for level := stef.LevelFastest; level <= stef.LevelBest; level++ {
			for _, window := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20} {
				b.Run(fmt.Sprintf("data=%s/level=%s/window=%dKiB", set.name, level, window>>10), func(b *testing.B) {
					benchmarkWindow(b, plain, stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(level), stef.WithWindowBytes(window))
				})
			}
		}
	}
}

func benchmarkWindow(b *testing.B, plain []byte, options ...stef.WriterOption) {
	var coded bytes.Buffer
	require.NoError(b, rewrite(b, plain, &coded, options...).Close())
	writer := live(func() any { return rewrite(b, plain, io.Discard, options...) })
	reader := live(func() any {
		r, err := otelstef.NewMetricsReader(bytes.NewReader(coded.Bytes()))
		require.NoError(b, err)
		stats := rewrite(b, plain, io.Discard).Stats()
		for r.Stats().Records < stats.Records && r.Next() {
		}
		require.NoError(b, r.Err())
		return r
	})
	for b.Loop() {
		if err := rewrite(b, plain, io.Discard, options...).Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(coded.Len()), "bytes")
	b.ReportMetric(writer, "writer-KiB")
	b.ReportMetric(reader, "reader-KiB")
}

// live returns the KiB of heap that the result of make keeps alive.
func live(make func() any) float64 {
	kept := make() // creates the values that a process keeps after their first use
	runtime.KeepAlive(kept)
	kept = nil
	before := heap()
	kept = make()
	after := heap()
	runtime.KeepAlive(kept)
	return float64(int64(after)-int64(before)) / 1024
}

// heap returns the bytes of heap in use, with all pools emptied.
func heap() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

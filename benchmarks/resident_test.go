// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// BenchmarkResident measures the memory of readers of streams with zstd, after some
// batches of 20 points: the heap, and the resident memory that the system reports. The window
// is allocated with the first frame, but its pages become resident only when they are written.
func BenchmarkResident(b *testing.B) {
	const points, readers = 20, 200
	for _, batches := range []int{5, 50, 500, 5000, 30_000} {
		b.Run(fmt.Sprintf("batches=%d", batches), func(b *testing.B) {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out, stef.WithCompression(stef.Zstd))
			require.NoError(b, err)
			for i := range batches {
				for j := range points {
					rec := w.Record()
					rec.EditMetric().SetName(fmt.Sprintf("system.cpu.time%d", j))
					rec.EditMetric().SetType(otelstef.MetricTypeSum)
					rec.Point().SetTimestamp(1_700_000_000_000_000_000 + uint64(i)*1e9)
					rec.Point().Value().SetFloat64(float64(i*j) * 1.7)
					require.NoError(b, w.Write())
				}
				require.NoError(b, w.Flush())
			}
			require.NoError(b, w.Close())
			var pages, live float64
			for b.Loop() {
				resident, held := residentMemory(b)
				kept := make([]*otelstef.MetricsReader, readers)
				for i := range kept {
					r, err := otelstef.NewMetricsReader(bytes.NewReader(out.Bytes()))
					require.NoError(b, err)
					for r.Stats().Records < uint64(batches*points) && r.Next() {
					}
					require.NoError(b, r.Err())
					kept[i] = r
				}
				residentAfter, heldAfter := residentMemory(b)
				pages, live = residentAfter-resident, heldAfter-held
				runtime.KeepAlive(kept)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(pages/readers/1024, "resident-KiB/stream")
			b.ReportMetric(live/readers/1024, "heap-KiB/stream")
		})
	}
}

// residentMemory returns the bytes of resident memory of this process, as the system counts
// them, and the bytes of its heap.
func residentMemory(b *testing.B) (resident, held float64) {
	b.Helper()
	for range 2 {
		debug.FreeOSMemory()
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("SKIPPED: the system has no /proc/self/statm")
	}
	var size, pages int
	_, err = fmt.Sscan(string(text), &size, &pages)
	require.NoError(b, err)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(pages * os.Getpagesize()), float64(m.HeapAlloc)
}

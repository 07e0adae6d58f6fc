// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Benchmarks print this name of their data as the first line of their output.
var _ = benchdata.Name("synthetic: records of the test")

// BenchmarkWrite writes and flushes one record at a time, which is the most expensive use of a
// Writer.
func BenchmarkWrite(b *testing.B) {
	w, err := New(Options{Dir: b.TempDir(), Signal: "logs"}, startLogs)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	n := uint64(0)
	write := func(s *otelstef.LogsWriter) error {
		n++
		s.Record().Record().SetTime(n)
		return s.Write()
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(write); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChecksums writes 30,000 records in batches of several sizes. It reports the bytes of a record
// without and with checksums. The records are points of 100 series. There are three kinds of points: values
// that repeat, counters that grow by random steps, and such counters with random ids.
func BenchmarkChecksums(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []string{"repeating", "counters", "ids"} {
		var counters [100]int64
		set := func(rec *otelstef.Metrics, i int) {
			rec.Attributes().SetLen(2)
			rec.Attributes().SetString(0, "route", fmt.Sprintf("/shop/%d", i%100))
			rec.Attributes().SetString(1, "host", fmt.Sprintf("node-%d", i%7))
			if kind == "ids" {
				rec.Attributes().SetString(1, "id", fmt.Sprintf("%016x", random.Uint64()))
			}
			rec.Point().SetTimestamp(1_700_000_000_000_000_000 + uint64(i/100)*10_000_000_000)
			rec.Point().Value().SetInt64(int64(i * 31 % 977))
			if kind != "repeating" {
				counters[i%100] += random.Int64N(16)
				rec.Point().Value().SetInt64(counters[i%100])
			}
		}
		for _, size := range []int{1, 10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("records=%s/batch=%d", kind, size), func(b *testing.B) {
				var without, with float64
				for b.Loop() {
					without, with = bytesPerRecord(b, size, set), bytesPerRecord(b, size, set, stef.WithChecksums())
				}
				b.ReportMetric(without, "B/record")
				b.ReportMetric(with, "B/record-checksums")
				b.ReportMetric(with/without, "times")
			})
		}
	}
}

// bytesPerRecord writes 30,000 records and returns the bytes of the file per record.
func bytesPerRecord(b *testing.B, size int, set func(*otelstef.Metrics, int), options ...stef.WriterOption) float64 {
	const records = 30_000
	options = append(options, stef.WithCompression(stef.Zstd), stef.WithSchemaHeader())
	w, err := New(Options{Dir: b.TempDir(), Signal: "metrics", MaxBytes: -1, MaxAge: -1, Sync: SyncNone}, func(dst io.Writer) (*otelstef.MetricsWriter, error) {
		return otelstef.NewMetricsWriter(dst, options...)
	})
	require.NoError(b, err)
	for first := 0; first < records; first += size {
		require.NoError(b, w.Write(func(s *otelstef.MetricsWriter) error {
			for i := first; i < first+size; i++ {
				set(s.Record(), i)
				if err := s.Write(); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(b, w.Close())
	return float64(w.Stats().Bytes) / records
}

// On average, Write allocates less than once per call.
func TestAllocations(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir(), MaxAge: -1, MaxBytes: -1})
	write := func(s *otelstef.LogsWriter) error { return s.Write() }
	require.NoError(t, w.Write(write))
	require.Less(t, testing.AllocsPerRun(200, func() {
		if err := w.Write(write); err != nil {
			panic(err)
		}
	}), 1.0)
}

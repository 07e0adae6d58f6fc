// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	sig "github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks of ages compare encoding to STEF with marshalling to OTLP at two ages of a
// stream, on the recordings and on the real sets:
//
//	BenchmarkAges/SIGNAL/set=S/age=first/zstd=Z
//	BenchmarkAges/SIGNAL/set=S/age=steady/zstd=Z
//
// Parts of a set are joined to at most ageBatches batches. first: each batch has a stream of its
// own, and creating the stream is measured, too. steady: the first half of the set warms up the
// stream, and only the second half, which the stream has not seen, is measured.
//
// OTLP and the forms of STEF run in turn and process the same batches. OTLP also marshals the
// first half before the measured second half, so that the measured batches are equally cold in
// the CPU cache. Times are CPU times of the process:
//
//	otlp-ns/item, compact-ns/item    median
//	compact-xotlp, full-xotlp        median of the ratios of a turn; below 1 is faster than OTLP
//	compact-xbytes                   bytes of the measured frames relative to OTLP
//	compact-allocs                   allocations for a batch

const (
	ageBatches = 16
	ageStreams = 8 // number of streams in a turn of age=first
)

// An ager does the work of one turn in one format. It returns the CPU time and the number of bytes
// for the measured batches, fresh.
type ager[T any] func(b *testing.B, warm, fresh []T, first bool) (time.Duration, int)

func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

func agedOTLP[T any](b *testing.B, s signal[T], compressed bool) ager[T] {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
	require.NoError(b, err)
	var out []byte
	marshal := func(b *testing.B, batches []T) (n int) {
		for _, batch := range batches {
			data, err := s.marshal(batch)
			if err != nil {
				b.Fatal(err)
			}
			if compressed {
				out = z.EncodeAll(data, out[:0])
				data = out
			}
			n += len(data)
		}
		return n
	}
	return func(b *testing.B, warm, fresh []T, _ bool) (time.Duration, int) {
		marshal(b, warm)
		start := cpuTime()
		n := marshal(b, fresh)
		return cpuTime() - start, n
	}
}

func agedSTEF[T any](s signal[T], mode stefpdata.Mode, options ...stef.WriterOption) ager[T] {
	begin := func(b *testing.B, size *counter) streamEncoder[T] {
		e, err := s.encoder(size, mode, options...)
		require.NoError(b, err)
		return e
	}
	encode := func(b *testing.B, e streamEncoder[T], batches []T) {
		for _, batch := range batches {
			if err := errors.Join(e.encode(batch), e.flush()); err != nil {
				b.Fatal(err)
			}
		}
	}
	return func(b *testing.B, warm, fresh []T, first bool) (time.Duration, int) {
		var size counter
		if first {
			start := cpuTime()
			for i := range fresh {
				e := begin(b, &size)
				encode(b, e, fresh[i:i+1])
				require.NoError(b, e.close())
			}
			return cpuTime() - start, int(size)
		}
		e := begin(b, &size)
		encode(b, e, warm)
		size = 0
		start := cpuTime()
		encode(b, e, fresh)
		spent := cpuTime() - start
		require.NoError(b, e.close())
		return spent, int(size)
	}
}

func (f *formsOf[T]) ages(b *testing.B, name string, parts []T) {
	batches := f.group(parts)
	if len(batches) < 2 {
		return
	}
	half := len(batches) / 2
	for _, age := range []string{"first", "steady"} {
		warm, fresh := batches[:half], batches[half:]
		if age == "first" {
			warm, fresh = nil, nil
			for i := range ageStreams {
				fresh = append(fresh, batches[i*len(batches)/ageStreams])
			}
		}
		items := 0
		for _, batch := range fresh {
			items += f.items(batch)
		}
		for _, compressed := range []bool{false, true} {
			b.Run(fmt.Sprintf("set=%s/age=%s/zstd=%t", name, age, compressed), func(b *testing.B) {
				agers := []ager[T]{
					agedOTLP(b, f.signal, compressed),
					agedSTEF(f.signal, f.mode, compressionOf(compressed), f.compact()),
					agedSTEF(f.signal, f.mode, compressionOf(compressed)),
				}
				times, ratios := make([]runs, len(agers)), make([]runs, len(agers))
				sizes := make([]int, len(agers))
				var allocs uint64
				for b.Loop() {
					var otlp float64
					for i, a := range agers {
						runtime.GC()
						before := mallocs()
						spent, n := a(b, warm, fresh, age == "first")
						if i == 1 {
							allocs = mallocs() - before
						}
						if i == 0 {
							otlp = float64(spent)
						}
						times[i].add(float64(spent) / float64(items))
						ratios[i].add(float64(spent) / otlp)
						sizes[i] = n
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(times[0].median(), "otlp-ns/item")
				b.ReportMetric(times[1].median(), "compact-ns/item")
				b.ReportMetric(ratios[1].median(), "compact-xotlp")
				b.ReportMetric(ratios[2].median(), "full-xotlp")
				b.ReportMetric(float64(sizes[1])/float64(sizes[0]), "compact-xbytes")
				b.ReportMetric(float64(allocs)/float64(len(warm)+len(fresh)), "compact-allocs")
			})
		}
	}
}

// group joins parts to at most ageBatches batches.
func (f *formsOf[T]) group(parts []T) (batches []T) {
	n := min(len(parts), ageBatches)
	for i := range n {
		batches = append(batches, f.join(parts[i*len(parts)/n:(i+1)*len(parts)/n]))
	}
	return batches
}

// readRecordings calls run with each recording of the signal.
func (f *formsOf[T]) readRecordings(b *testing.B, suffix string, run func(name string, parts []T)) {
	end := "-" + suffix + ".otlp.zst"
	files, err := filepath.Glob(filepath.Join(teltest.Root(b), "internal", "fixtures", "recordings", "*"+end))
	require.NoError(b, err)
	require.NotEmpty(b, files)
	for _, file := range slices.Sorted(slices.Values(files)) {
		data, err := os.ReadFile(file)
		require.NoError(b, err)
		parts, err := fixtures.Parts(data)
		require.NoError(b, err)
		var batches []T
		for _, part := range parts {
			batch, err := f.unmarshal(part)
			require.NoError(b, err)
			batches = append(batches, batch)
		}
		run(strings.TrimSuffix(filepath.Base(file), end), batches)
	}
}

var (
	metricsForms = formsOf[pmetric.Metrics]{metricsSignal, stefpdata.Sorted, oneBatch, otelstef.CompactMetrics, sig.Metrics.CompactLevel, iterateMetrics}
	tracesForms  = formsOf[ptrace.Traces]{tracesSignal, stefpdata.Sorted, oneTraces, otelstef.CompactSpans, sig.Traces.CompactLevel, iterateSpans}
	logsForms    = formsOf[plog.Logs]{logsSignal, stefpdata.Ordered, oneBatchOfLogs, otelstef.CompactLogs, sig.Logs.CompactLevel, iterateLogs}
)

func BenchmarkAges(b *testing.B) {
	holdBallast()
	b.Run("metrics", func(b *testing.B) {
		f := &metricsForms
		f.readRecordings(b, "metrics", func(name string, parts []pmetric.Metrics) { f.ages(b, name, parts) })
		f.ages(b, "hostandcollector", realMetrics(b, "hostandcollector-otelmetrics"))
	})
	b.Run("traces", func(b *testing.B) {
		f := &tracesForms
		f.readRecordings(b, "traces", func(name string, parts []ptrace.Traces) { f.ages(b, name, parts) })
	})
	b.Run("logs", func(b *testing.B) {
		f := &logsForms
		f.readRecordings(b, "logs", func(name string, parts []plog.Logs) { f.ages(b, name, parts) })
		for _, set := range logSets {
			f.ages(b, set, unmarshalLogs(b, logParts(b, set)))
		}
	})
}

func BenchmarkDecodeRecordings(b *testing.B) {
	holdBallast()
	b.Run("metrics", func(b *testing.B) { decodeRecordings(b, &metricsForms, "metrics") })
	b.Run("traces", func(b *testing.B) { decodeRecordings(b, &tracesForms, "traces") })
	b.Run("logs", func(b *testing.B) { decodeRecordings(b, &logsForms, "logs") })
}

func decodeRecordings[T any](b *testing.B, f *formsOf[T], suffix string) {
	f.readRecordings(b, suffix, func(name string, parts []T) {
		items := 0
		for _, part := range parts {
			items += f.items(part)
		}
		b.Run("set="+name, func(b *testing.B) { benchDecode(b, benchSet[T]{f.signal, parts, items}) })
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/pair"
	"github.com/otelstef/stef/benchmarks/study"
)

// BenchmarkGuard is one of the benchmarks that the command "make guard" compares. It measures the operations of STEF on
// the batches that the recorded programs sent, and the bytes of the stream. The figures of OTLP show the
// state of the machine: the code of OTLP is the same on both sides unless pdata changed.
func BenchmarkGuard(b *testing.B) {
	for _, ref := range dataset.FirstOf(dataset.Refs(b)) {
		set := ref.Load(b)
		for _, f := range []format.Format{format.OTLP(), format.STEF(format.Ordered), format.STEF(format.Sorted)} {
			for _, c := range []format.Compression{format.None, format.BestZstd(f)} {
				bench, err := study.NewBench(f, c, set.Parts)
				require.NoError(b, err)
				sizes, err := study.SizesOf(f, set.Parts)
				require.NoError(b, err)
				for _, op := range study.Operations {
					b.Run(path("signal", ref.Signal.String(), "format", f.Name(), "compression", string(c), "op", op), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if err := bench.Run(op); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(float64(sizes[c])/float64(set.Items), "B/item")
					})
				}
				bench.Close()
			}
		}
	}
}

// BenchmarkGuardAges is another benchmark that the command "make guard" compares. It converts each recording from and
// to pdata, at the start of a stream and in its steady state.
func BenchmarkGuardAges(b *testing.B) {
	for _, ref := range dataset.Recorded() {
		set := ref.Load(b).HeadItems(4096)
		formats := map[string]format.Format{"OTLP": format.OTLP(), "STEF ordered": format.STEF(format.Ordered), "STEF sorted": format.STEF(format.Sorted)}
		for _, o := range study.Optimizations {
			f, err := format.STEFOptimized(ref.Signal, o)
			require.NoError(b, err)
			formats["STEF optimize_for "+string(o)] = f
		}
		for _, name := range slices.Sorted(maps.Keys(formats)) {
			f := formats[name]
			for _, age := range []study.Age{study.First, study.Steady} {
				aged, err := study.NewAged(f, format.BestZstd(f), age, set)
				require.NoError(b, err)
				for _, operation := range []string{study.SerializeFromPdata, study.DeserializeToPdata} {
					op := aged.Op(operation)
					b.Run(path("set", ref.Name, "signal", ref.Signal.String(), "age", string(age), "format", name, "op", operation), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							if op.Before != nil {
								b.StopTimer()
								require.NoError(b, op.Before())
								b.StartTimer()
							}
							require.NoError(b, op.Run())
						}
						b.ReportMetric(float64(aged.Bytes())/float64(aged.Items()), "B/item")
					})
				}
				aged.Close()
			}
		}
	}
}

// BenchmarkGuardPair is another benchmark that the command "make guard" compares: CPU and bytes of exporter and
// receiver together, with one recording of each signal.
func BenchmarkGuardPair(b *testing.B) {
	for _, ref := range dataset.FirstOf(dataset.Recorded()) {
		batches := pair.Batches(ref.Load(b))
		for _, v := range []pair.Variant{pair.STEF, pair.OTLP} {
			name, _, _ := strings.Cut(v.Name, "+")
			b.Run(path("signal", ref.Signal.String(), "format", name, "op", "pair"), func(b *testing.B) {
				var cpu, wire []float64
				for b.Loop() {
					cost := pair.Pass(b, v, pair.Steady, ref.Signal, batches)
					cpu, wire = append(cpu, cost.PerItem()), append(wire, cost.WirePerItem())
				}
				b.ReportMetric(0, "ns/op") // prints no time: it would include the first half of the stream
				b.ReportMetric(measure.Median(cpu), "cpu-ns/item")
				b.ReportMetric(measure.Median(wire), "wire-B/item")
			})
		}
	}
}

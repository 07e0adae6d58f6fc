// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/study"
	"github.com/otelstef/stef/internal/otlpfile"
)

// measured returns the sets for speed benchmarks: the first set of each signal, or
// all sets with -full.
func measured(tb testing.TB) []dataset.Ref {
	tb.Helper()
	refs := dataset.Refs(tb)
	if !*fullFlag {
		refs = dataset.FirstOf(refs)
	}
	return refs
}

type cut struct {
	name    string
	batches []otlpfile.Batch
}

// cuts returns a set as one batch, in batches of a size that exporters use, and in the batches
// in which it was recorded.
func cuts(set *dataset.Set) []cut {
	list := []cut{{"one", []otlpfile.Batch{set.Whole()}}, {"1024", set.Batches(1024)}}
	if len(set.Parts) > 1 {
		list = append(list, cut{"natural", set.Parts})
	}
	return list
}

// path returns the part KEY=VALUE/... of a benchmark name. pairs alternates keys and values.
func path(pairs ...string) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, pairs[i]+"="+strings.NewReplacer(" ", "_", "/", "_").Replace(pairs[i+1]))
	}
	return strings.Join(parts, "/")
}

// legend says what the names of BenchmarkSize mean.
func legend() string {
	return "legend: B/item: bytes of a data point, span or log record, by compression: " + format.Describe() + " batches=one: all of a set in one message; " +
		"batches=1024: 1,024 metrics, spans or log records in each message, and a metric may have many points; batches=natural: the requests that were recorded."
}

// TestLegend checks that the legend explains each compression and each way to split a set.
func TestLegend(t *testing.T) {
	for _, f := range format.All() {
		for _, c := range format.Compressions(f) {
			require.Contains(t, legend(), string(c))
		}
	}
	for _, c := range cuts(dataset.Bundled()[0].Load(t)) {
		require.Contains(t, legend(), "batches="+c.name+":")
	}
}

// BenchmarkSize reports bytes per item of every format with every compression.
// The time covers all compressions together and is not meaningful.
func BenchmarkSize(b *testing.B) {
	fmt.Println(legend())
	for _, ref := range dataset.Refs(b) {
		set := ref.Load(b)
		for _, cut := range cuts(set) {
			for _, f := range format.All() {
				b.Run(path("set", ref.Name, "signal", ref.Signal.String(), "batches", cut.name, "format", f.Name()), func(b *testing.B) {
					var sizes study.Sizes
					for b.Loop() {
						var err error
						sizes, err = study.SizesOf(f, cut.batches)
						require.NoError(b, err)
					}
					for _, c := range format.Compressions(f) {
						b.ReportMetric(float64(sizes[c])/float64(set.Items), string(c)+"-B/item")
					}
				})
			}
		}
	}
}

// BenchmarkSpeed times the four operations of every format, with and without
// zstd, after a check that the output carries the data.
func BenchmarkSpeed(b *testing.B) {
	for _, ref := range measured(b) {
		set := ref.Load(b)
		want := dataset.Items(set.Signal, set.Parts)
		for _, cut := range cuts(set) {
			for _, f := range format.All() {
				for _, c := range []format.Compression{format.None, format.BestZstd(f)} {
					name := "none"
					if c != format.None {
						name = "zstd"
					}
					b.Run(path("set", ref.Name, "signal", ref.Signal.String(), "batches", cut.name, "compression", name, "format", f.Name()), func(b *testing.B) {
						benchmarkSpeed(b, f, c, cut, func() error { return format.Check(f, c, cut.batches, want) })
					})
				}
			}
		}
	}
}

func benchmarkSpeed(b *testing.B, f format.Format, c format.Compression, cut cut, check func() error) {
	require.NoError(b, check())
	bench, err := study.NewBench(f, c, cut.batches)
	require.NoError(b, err)
	defer bench.Close()
	for _, op := range study.Operations {
		b.Run(path("op", op), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.Run(op); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bench.Items()), "ns/item")
		})
	}
}

// TestBenchNames checks that the names are valid for benchstat.
func TestBenchNames(t *testing.T) {
	require.Equal(t, "format=OTLP_JSON/batches=1024", path("format", "OTLP/JSON", "batches", fmt.Sprint(1024)))
}

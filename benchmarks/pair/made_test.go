// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// generated has the results of benchmarks with generated telemetry.
var generated = Results{made: true}

// BenchmarkNewSeries measures generated metrics in which no series is in two batches.
func BenchmarkNewSeries(b *testing.B) {
	for _, made := range []struct {
		points int     // of a series
		fresh  float64 // share of attribute values that are new
	}{{20, 0.1}, {1, 0.1}, {1, 1}} {
		shape := dataset.DefaultShape
		shape.Series, shape.New = shape.Items/made.points, made.fresh
		batches := shape.Batches(otlpfile.Metrics, 30)
		name := fmt.Sprintf("points=%d/new=%.0f%%", made.points, 100*made.fresh)
		measureMade(b, dataset.Ref{Name: name, Signal: otlpfile.Metrics}, batches)
	}
}

// BenchmarkLines measures generated lines of logs. Lines of most kinds have several words that
// rarely or never occur in other lines, such as ids.
func BenchmarkLines(b *testing.B) {
	for _, kind := range dataset.LineKinds {
		measureMade(b, dataset.Ref{Name: "lines=" + kind.Name, Signal: otlpfile.Logs}, kind.Batches(30, 1000))
	}
}

// BenchmarkShortTraces measures generated spans with different numbers of spans per trace. All
// attribute values repeat, so most bytes of a stream are random ids. Short traces have more ids per
// span.
func BenchmarkShortTraces(b *testing.B) {
	for _, spans := range []int{1, 4, 10} {
		shape := dataset.DefaultShape
		shape.New, shape.Trace = 0, spans
		measureMade(b, dataset.Ref{Name: fmt.Sprintf("spans=%d", spans), Signal: otlpfile.Traces}, shape.Batches(otlpfile.Traces, 30))
	}
}

func measureMade(b *testing.B, ref dataset.Ref, batches []otlpfile.Batch) {
	others, same := comparisons(ref.Signal)
	variants := slices.Concat(Variants, others)
	for _, age := range []Age{First, Steady} {
		name := fmt.Sprintf("%s/age=%s", ref.Name, ageName(age))
		passed := b.Run(name, func(b *testing.B) {
			check(b, ref.Signal, batches, others...)
			r := generated.Of(ref, age)
			r.Sent(batches)
			r.With(others, same)
			b.ResetTimer()
			for b.Loop() {
				r.Measure(variants, func(v Variant) Cost { return Round(b, v, age, ref.Signal, batches) })
			}
			b.ReportMetric(0, "ns/op") // prints no time: it would cover all variants
			b.ReportMetric(r.Speed(OTLP), "speed")
			b.ReportMetric(r.Size(OTLP), "bytes")
		})
		if !passed {
			generated.Fail(ref, age, b.Name()+"/"+name)
		}
	}
}

// BenchmarkAcknowledgement measures how long a call of the exporter takes at a constant rate of
// batches. The call returns after the acknowledgement.
func BenchmarkAcknowledgement(b *testing.B) {
	batches := dataset.Recorded()[slices.IndexFunc(dataset.Recorded(), func(r dataset.Ref) bool { return r.Title() == "go traces" })].Load(b).ItemBatches(100)
	for _, rate := range []int{10, 100} {
		immediate := STEF
		immediate.Name, immediate.immediate = "STEF+zstd,flush_interval=0", true
		for _, v := range []Variant{OTLP, STEF, immediate} {
			b.Run(fmt.Sprintf("rate=%d/protocol=%s", rate, v.Name), func(b *testing.B) {
				var times []time.Duration
				for b.Loop() {
					times = append(times, acknowledgements(b, v, rate, batches)...)
				}
				slices.Sort(times)
				milliseconds := func(share float64) float64 {
					return float64(times[int(share*float64(len(times)-1))]) / float64(time.Millisecond)
				}
				b.ReportMetric(0, "ns/op") // prints no time: it depends on the rate only
				b.ReportMetric(milliseconds(0.5), "p50-ms")
				b.ReportMetric(milliseconds(0.99), "p99-ms")
			})
		}
	}
}

// acknowledgements sends batches for three seconds, after one second of warming up.
func acknowledgements(tb testing.TB, v Variant, rate int, batches []otlpfile.Batch) []time.Duration {
	tb.Helper()
	p := startPair(tb, v, otlpfile.Traces, nil)
	defer p.stop(tb)
	p.sendAll(tb, single(otlpfile.Traces))
	var mu sync.Mutex
	var times []time.Duration
	var group sync.WaitGroup
	ticks := time.NewTicker(time.Second / time.Duration(rate))
	defer ticks.Stop()
	for i := range 4 * rate {
		<-ticks.C
		group.Go(func() {
			began := time.Now()
			if err := p.send(batches[i%len(batches)]); err != nil {
				tb.Error(err)
			}
			if i >= rate {
				mu.Lock()
				defer mu.Unlock()
				times = append(times, time.Since(began))
			}
		})
	}
	group.Wait()
	require.Len(tb, times, 3*rate)
	return times
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairbench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// only leaves variants out, for profiles of the heap, which have no tags.
var only = flag.String("variants", "", "measure the variants whose names contain this")

func TestMain(m *testing.M) {
	flag.Parse()
	variants = slices.DeleteFunc(variants, func(v variant) bool { return !strings.Contains(v.name, *only) })
	code := m.Run()
	if len(results) > 0 {
		printTable(os.Stdout)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// BenchmarkPair measures, in each round, every variant once.
func BenchmarkPair(b *testing.B) {
	for _, s := range sets(b) {
		b.Run(s.String(), func(b *testing.B) {
			batches := s.batches(b)
			check(b, s.signal, batches)
			r := resultOf(s)
			b.ResetTimer()
			for b.Loop() {
				for i := range variants {
					v := variants[(i+r.rounds)%len(variants)]
					r.merge(v, round(b, v, s.signal, batches))
				}
				r.rounds++
			}
			report(b, r)
		})
	}
}

// report reports the best rounds so far.
func report(b *testing.B, r *result) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // of all variants and what is between them
	for _, v := range variants {
		c := r.best[v]
		b.ReportMetric(c.nsPerItem(), v.name+"-cpu-ns/item")
		b.ReportMetric(c.wirePerItem(), v.name+"-B/item")
		b.ReportMetric(c.allocsPerItem(), v.name+"-allocs/item")
		if v != stefZstd && r.complete() {
			b.ReportMetric(r.speed(v), "speed/"+v.name)
			b.ReportMetric(r.size(v), "size/"+v.name)
		}
	}
}

// check requires that what arrives by each variant is what was sent.
func check(tb testing.TB, signal otlpfile.Signal, batches []otlpfile.Batch) {
	tb.Helper()
	want := content(signal, batches)
	for _, v := range variants {
		var mu sync.Mutex
		var got []otlpfile.Batch
		p := startPair(tb, v, signal, func(b otlpfile.Batch) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, b)
		})
		p.sendAll(tb, batches...)
		p.stop(tb)
		require.Empty(tb, canon.Diff(want, content(signal, got)), v.name)
	}
}

// content returns what batches say, whatever the order of items and attributes.
func content(signal otlpfile.Signal, batches []otlpfile.Batch) *canon.Items {
	o := canon.Options{SortAttributes: true}
	switch signal {
	case otlpfile.Metrics:
		var mds []pmetric.Metrics
		for _, b := range batches {
			mds = append(mds, b.Metrics)
		}
		return o.Metrics(mds...)
	case otlpfile.Traces:
		var tds []ptrace.Traces
		for _, b := range batches {
			tds = append(tds, b.Traces)
		}
		return o.Traces(tds...)
	default:
		var lds []plog.Logs
		for _, b := range batches {
			lds = append(lds, b.Logs)
		}
		return o.Logs(lds...)
	}
}

// TestPair is the content and the size of the bundled sets. They are one batch
// each, and full of random ids, so STEF gains less than with the large sets.
// Speed is for the benchmark.
func TestPair(t *testing.T) {
	most := map[otlpfile.Signal]float64{otlpfile.Metrics: 0.72, otlpfile.Traces: 0.82, otlpfile.Logs: 0.82}
	for _, s := range bundled() {
		batches := s.batches(t)
		check(t, s.signal, batches)
		r := newResult(s)
		for _, v := range variants {
			r.merge(v, pass(t, v, s.signal, batches))
		}
		require.Less(t, r.size(otlpZstd), most[s.signal], "%v", s)
		require.Less(t, r.size(otlpGzip), most[s.signal], "%v", s)
	}
}

func TestCutter(t *testing.T) {
	f := func(most int) {
		t.Helper()
		for _, s := range bundled() {
			var whole, cut cutter
			whole.signal, whole.most = s.signal, 1<<30
			cut.signal, cut.most = s.signal, most
			for _, part := range s.parts(t) {
				require.NoError(t, whole.add(part))
				require.NoError(t, cut.add(part))
			}
			for _, b := range cut.batches[:len(cut.batches)-1] {
				require.Equal(t, most, b.Items())
			}
			require.LessOrEqual(t, cut.batches[len(cut.batches)-1].Items(), most)
			require.Empty(t, canon.Diff(content(s.signal, whole.batches), content(s.signal, cut.batches)))
		}
	}
	f(1000)
	f(17)
}

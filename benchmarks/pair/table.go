// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// A Result has the rounds of a set at one age.
type Result struct {
	Ref    dataset.Ref
	Age    Age
	Batch  int // items of the largest batch
	Items  int // items of all batches
	Rounds map[Variant][]Cost
	// Compared has variants with other settings of STEF, measured in the same rounds. Same says
	// which elements of -compare were not measured, because they have the same effect as other
	// settings.
	Compared []Variant
	Same     []string
	// Time is the time from the earliest to the latest item.
	Time time.Duration
}

// Results has the result of each measurement of a run.
type Results struct {
	all    []*Result
	failed []*Result // not in the tables, because their later rounds are missing
	again  []string  // the flags -bench that repeat the failed measurements
	made   bool      // the telemetry is generated, in batches of the requested size
}

// Of returns the result of a set at an age.
func (rs *Results) Of(ref dataset.Ref, age Age) *Result {
	for _, r := range slices.Concat(rs.all, rs.failed) {
		if r.Ref.Title() == ref.Title() && r.Age == age {
			return r
		}
	}
	r := &Result{Ref: ref, Age: age, Rounds: map[Variant][]Cost{}}
	rs.all = append(rs.all, r)
	return r
}

// Fail excludes a set at an age from the tables. name is the benchmark that failed.
func (rs *Results) Fail(ref dataset.Ref, age Age, name string) {
	r := rs.Of(ref, age)
	rs.all = slices.DeleteFunc(rs.all, func(of *Result) bool { return of == r })
	if !slices.Contains(rs.failed, r) {
		rs.failed = append(rs.failed, r)
		rs.again = append(rs.again, "-bench '"+strings.TrimPrefix(name, "Benchmark")+"'")
	}
}

// Failures names the sets that failed, and says how to repeat them. It is empty if none failed.
func (rs *Results) Failures() string {
	if len(rs.failed) == 0 {
		return ""
	}
	var names []string
	for _, r := range rs.failed {
		names = append(names, fmt.Sprintf("%s %s", r.Ref.Title(), r.Age))
	}
	return fmt.Sprintf("FAILED, so not in the tables and their means (the errors are above, at \"--- FAIL\"; after \"deadline exceeded\", the machine stood still or is too busy): %s. Repeat with %s.",
		strings.Join(names, ", "), strings.Join(rs.again, ", "))
}

// Sent sets the number of items of the largest batch, the number of all items, and the time
// from the earliest to the latest item.
func (r *Result) Sent(batches []otlpfile.Batch) {
	r.Items = 0
	var first, last pcommon.Timestamp
	for _, b := range batches {
		r.Batch = max(r.Batch, b.Items())
		r.Items += b.Items()
		from, to := replay.Times(b)
		if from != 0 && (first == 0 || from < first) {
			first = from
		}
		last = max(last, to)
	}
	r.Time = last.AsTime().Sub(first.AsTime())
}

// With sets Compared and Same.
func (r *Result) With(compared []Variant, same []string) {
	r.Compared, r.Same = compared, same
}

// Measure adds a round of each variant. Each round begins with a different
// variant.
func (r *Result) Measure(variants []Variant, round func(Variant) Cost) {
	n := len(r.Rounds[variants[0]])
	for i := range variants {
		v := variants[(i+n)%len(variants)]
		r.Rounds[v] = append(r.Rounds[v], round(v))
	}
}

func (r *Result) median(v Variant, of func(Cost) float64) float64 {
	var values []float64
	for _, c := range r.Rounds[v] {
		values = append(values, of(c))
	}
	return measure.Median(values)
}

// Speed returns the items per CPU second of STEF divided by those of another variant. It
// is the median of this ratio over the rounds.
func (r *Result) Speed(than Variant) float64 { return measure.Median(r.speeds(STEF, than)) }

// speeds returns the ratio of speed of two variants in each round.
func (r *Result) speeds(of, than Variant) []float64 {
	var ratios []float64
	for i := range min(len(r.Rounds[of]), len(r.Rounds[than])) {
		ratios = append(ratios, r.Rounds[than][i].PerItem()/r.Rounds[of][i].PerItem())
	}
	return ratios
}

// Spread returns half the distance between the least and the greatest ratio of speed of the
// rounds, relative to the median.
func (r *Result) Spread(than Variant) float64 { return spread(r.speeds(STEF, than)) }

// spread returns NaN if there is only one round. Tables show NaN as "-".
func spread(ratios []float64) float64 {
	if len(ratios) < 2 {
		return math.NaN()
	}
	return (slices.Max(ratios) - slices.Min(ratios)) / 2 / measure.Median(ratios)
}

// Size returns the bytes on the wire relative to another variant.
func (r *Result) Size(than Variant) float64 { return r.size(STEF, than) }

func (r *Result) size(of, than Variant) float64 {
	return r.median(of, Cost.WirePerItem) / r.median(than, Cost.WirePerItem)
}

// Table returns a row for each set and age.
func (rs *Results) Table() *report.Table {
	t := &report.Table{Name: "pair", Title: "Exporter and receiver, set by set"}
	t.Columns = append(report.Text("set", "age of the stream"), report.Column{Name: "items/batch", Format: report.Whole},
		report.Column{Name: "STEF ns/item", Format: report.Significant(3)}, report.Column{Name: "OTLP ns/item", Format: report.Significant(3)},
		report.Column{Name: "speed, zstd", Format: report.Fixed(2)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "speed, gzip", Format: report.Fixed(2)},
		report.Column{Name: "STEF B/item", Format: report.Fixed(2)}, report.Column{Name: "OTLP B/item", Format: report.Fixed(2)},
		report.Column{Name: "bytes, zstd", Format: report.Fixed(2)}, report.Column{Name: "bytes, gzip", Format: report.Fixed(2)})
	for _, r := range rs.all {
		t.Add(r.Ref.Label(), string(r.Age), r.Batch, r.median(STEF, Cost.PerItem), r.median(OTLP, Cost.PerItem), r.Speed(OTLP), r.Spread(OTLP), r.Speed(OTLPGzip),
			r.median(STEF, Cost.WirePerItem), r.median(OTLP, Cost.WirePerItem), r.Size(OTLP), r.Size(OTLPGzip))
	}
	return t
}

// groups says which sets share a row of the summary.
var groups = []struct {
	name string
	has  func(dataset.Ref) bool
}{
	{"recordings of the repository", func(r dataset.Ref) bool { return r.Bundled }},
	{"of these, for reporting only", func(r dataset.Ref) bool { return r.Bundled && r.Reporting() }},
	{"sets of STEF_DATA, not in the repository", func(r dataset.Ref) bool { return !r.Bundled }},
}

// speed returns the speed of several sets together, weighted as if each set had the
// same number of items. For a single set it returns the result of Speed.
func speed(in []*Result, than Variant) float64 {
	rounds := math.MaxInt
	for _, r := range in {
		rounds = min(rounds, len(r.Rounds[STEF]), len(r.Rounds[than]))
	}
	var ratios []float64
	for i := range rounds {
		var stef, other float64
		for _, r := range in {
			stef += r.Rounds[STEF][i].PerItem()
			other += r.Rounds[than][i].PerItem()
		}
		ratios = append(ratios, other/stef)
	}
	return measure.Median(ratios)
}

// Summary returns a row for each signal, age and group of sets. Values over several sets are
// computed as if each set had the same number of items.
func (rs *Results) Summary() *report.Table {
	t := &report.Table{Name: "pair-summary", Title: "Exporter and receiver, both ends"}
	t.Columns = append(report.Text("signal", "age of the stream", "sets"), report.Column{Name: "count", Format: report.Whole},
		report.Column{Name: "items/CPU s, STEF", Format: report.Whole}, report.Column{Name: "OTLP", Format: report.Whole},
		report.Column{Name: "speed, zstd", Format: report.Fixed(2)}, report.Column{Name: "worst", Format: report.Fixed(2)}, report.Column{Name: "speed, gzip", Format: report.Fixed(2)},
		report.Column{Name: "B/item, STEF", Format: report.Fixed(2)}, report.Column{Name: "OTLP ", Format: report.Fixed(2)},
		report.Column{Name: "bytes, zstd", Format: report.Fixed(2)}, report.Column{Name: "worst ", Format: report.Fixed(2)}, report.Column{Name: "bytes, gzip", Format: report.Fixed(2)})
	for _, g := range groups {
		for _, signal := range otlpfile.Signals() {
			for _, age := range Ages {
				var in []*Result
				for _, r := range rs.all {
					if r.Ref.Signal == signal && r.Age == age && g.has(r.Ref) {
						in = append(in, r)
					}
				}
				if len(in) == 0 {
					continue
				}
				mean := func(v Variant, of func(Cost) float64) float64 {
					sum := 0.0
					for _, r := range in {
						sum += r.median(v, of)
					}
					return sum / float64(len(in))
				}
				stef, otlp := mean(STEF, Cost.PerItem), mean(OTLP, Cost.PerItem)
				small, large, gzip := mean(STEF, Cost.WirePerItem), mean(OTLP, Cost.WirePerItem), mean(OTLPGzip, Cost.WirePerItem)
				slow := slices.MinFunc(in, func(a, b *Result) int { return cmp.Compare(a.Speed(OTLP), b.Speed(OTLP)) })
				big := slices.MaxFunc(in, func(a, b *Result) int { return cmp.Compare(a.Size(OTLP), b.Size(OTLP)) })
				t.Add(signal.String(), string(age), g.name, len(in), 1e9/stef, 1e9/otlp, speed(in, OTLP), slow.Speed(OTLP), speed(in, OTLPGzip),
					small, large, small/large, big.Size(OTLP), small/gzip)
			}
		}
	}
	return t
}

// Single reports whether each row of the summary covers only one set. Such a summary only repeats the
// table.
func (rs *Results) Single() bool {
	of := map[string]int{}
	for _, r := range rs.all {
		of[fmt.Sprint(r.Ref.Signal, r.Age, r.Ref.Bundled)]++
	}
	for _, sets := range of {
		if sets > 1 {
			return false
		}
	}
	return true
}

// Noise warns that two runs can differ by more than the spread within one run.
const Noise = "spread is within this run: another run may differ by more, even with the same settings. Compare settings in one run, with -compare, and by their bytes first: these hardly change from run to run, except on a machine so busy that frames end by time. " +
	"Even there, on a shared machine, differences of speed below 0.15 are noise, and those that are not above twice the spread, a percentage of the ratio, may be (-compare calls both \"unclear\"). Confirm the others in a second run."

// Note says how the tables were measured.
func Note() string {
	return fmt.Sprintf("From pdata to pdata through the exporter, gRPC over loopback and the receiver in one process; CPU of the process, so of both ends, the kernel and the garbage collector; "+
		"bytes on the TCP connection, both ways. Batches of %d items, fewer in sets that would have less than %d batches; %d batches at a time. "+
		"speed: items per CPU second by those of OTLP with the same (zstd) or gzip compression, the median of the ratios within a round; above 1 STEF is faster. spread: half the distance between the least and the greatest ratio of a round. bytes: below 1 STEF is smaller. *repeated* sends the same data again: a bound, not an expectation. (R): for reporting only.", maxBatch, minBatches, senders)
}

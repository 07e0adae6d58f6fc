// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
)

// Comparison returns a row for each set, age and settings of -compare. Ratios are of turns in the same round.
func (rs *Results) Comparison() *report.Table {
	t := &report.Table{Name: "pair-settings", Title: "Settings of the exporter"}
	t.Columns = append(report.Text("set", "age of the stream", "settings of STEF"),
		report.Column{Name: "B/item", Format: report.Fixed(2)}, report.Column{Name: "bytes, STEF = 1", Format: report.Fixed(2)},
		report.Column{Name: "speed, STEF = 1", Format: report.Fixed(2)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "speed differs"},
		report.Column{Name: "bytes, OTLP zstd = 1", Format: report.Fixed(2)}, report.Column{Name: "speed, OTLP zstd = 1", Format: report.Fixed(2)})
	for _, r := range rs.all {
		if len(r.Compared) == 0 {
			continue
		}
		add := func(v Variant, name string, spread float64, differs string) {
			t.Add(r.Ref.Label(), string(r.Age), name, r.median(v, Cost.WirePerItem), r.size(v, STEF), measure.Median(r.speeds(v, STEF)), spread, differs,
				r.size(v, OTLP), measure.Median(r.speeds(v, OTLP)))
		}
		add(STEF, baseName(), math.NaN(), "-")
		for _, v := range r.Compared {
			ratios := r.speeds(v, STEF)
			add(v, v.settings.String(), spread(ratios), differs(ratios))
		}
	}
	return t
}

// noise bounds the differences of speed that other work on the machine causes, even between turns of the same
// round: a ratio between 0.85 and 1.15 can be noise.
const noise = 0.15

// differs says whether ratios of speed show a difference. With few rounds, the spread can be small by chance,
// so the median must differ from 1 by more than the distance between the least and the greatest ratio.
func differs(ratios []float64) string {
	difference := math.Abs(measure.Median(ratios) - 1)
	if len(ratios) < 2 || difference < noise || difference <= slices.Max(ratios)-slices.Min(ratios) {
		return "unclear"
	}
	return "yes"
}

// unsteady is the spread above which a ratio of speed is not trusted. With three rounds on an idle
// machine, only the smallest recordings have a larger spread.
const unsteady = 0.25

// Warnings returns lines that name the sets with uncertain ratios (few items, or rounds that
// differ), and the settings that change nothing.
func (rs *Results) Warnings() []string {
	var short, small, apart, same, nothing []string
	for _, r := range rs.all {
		if !rs.made && !r.Ref.Bundled && r.Age == First && r.Items < minBatches*maxBatch {
			if small = append(small, r.missing()); r.Items < maxBatch {
				short = append(short, r.Ref.Title())
			}
		}
		unsteadily := r.Spread(OTLP) > unsteady || slices.ContainsFunc(r.Compared, func(v Variant) bool { return spread(r.speeds(v, STEF)) > unsteady })
		if unsteadily {
			apart = append(apart, fmt.Sprintf("%s %s", r.Ref.Title(), r.Age))
		}
		for _, line := range r.Same {
			if !slices.Contains(same, line) {
				same = append(same, line)
			}
		}
		for _, name := range idle(r.Ref.Signal) {
			line := fmt.Sprintf("-%s for %s", strings.Replace(name, "=", " ", 1), r.Ref.Signal)
			if !slices.Contains(nothing, line) {
				nothing = append(nothing, line)
			}
		}
	}
	var lines []string
	add := func(names []string, format string, args ...any) {
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf(format, args...)+strings.Join(names, ", ")+".")
		}
	}
	add(nothing, "These flags change nothing, because the exporter has the same settings without them; differences from a run without the flag are noise: ")
	add(same, "Settings that were not measured again: ")
	add(small, "These sets are too small for %d full batches (%d items, as from a batch processor), so their batches are smaller, and first batches cost more. How long a recording with full batches takes is estimated from the times of the items: ", minBatches, maxBatch)
	add(short, "These have fewer items than one full batch, so their figures are of few items; record longer: ")
	advice := "Repeat with more rounds, -benchtime 10x"
	if rs.rounds() >= 10 {
		advice = "The medians of so many rounds are steadier than the spread; if you need closer figures, repeat on an idle machine"
	}
	add(apart, "The ratios of speed of the rounds differ by more than %.0f %% (column spread): the machine is busy, or the set is small. %s: ", 100*unsteady, advice)
	return lines
}

// rounds returns the number of rounds of the set that has the fewest.
func (rs *Results) rounds() int {
	least := math.MaxInt
	for _, r := range rs.all {
		least = min(least, len(r.Rounds[STEF]))
	}
	return least
}

// missing says how many items a small set has. It also estimates how long a recording with enough
// items for full batches would last.
func (r *Result) missing() string {
	const need = minBatches * maxBatch
	text := fmt.Sprintf("%s (%d of %d items", r.Ref.Title(), r.Items, need)
	if r.Time > 0 {
		whole := time.Duration(float64(r.Time) * need / float64(r.Items))
		text += fmt.Sprintf(" in %s; all in about %s", rough(r.Time), rough(whole))
	}
	return text + ")"
}

func rough(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f hours", d.Hours())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
)

// guide describes the figures of this run in sentences. Each sentence is
// generated from figures; no sentence is written by hand.
func guide(c *Context) (*Outcome, error) {
	f := &c.Figures
	var rules []string
	add := func(sentence string) {
		if sentence != "" {
			rules = append(rules, sentence)
		}
	}
	add(f.sizeRule("size-parts", "In natural batches"))
	add(f.sizeRule("size-big", "In one big batch"))
	add(f.orderRule())
	add(f.sweepRule())
	add(f.timeRule(SerializeFromPdata, "An exporter with zstd (pdata to bytes)"))
	add(f.senderRule())
	add(f.timeRule(DeserializeToPdata, "A receiver with zstd (bytes to pdata)"))
	add(c.timesRule())
	add(f.parquetRule())
	for _, rule := range f.transportRules() {
		add(rule)
	}
	add(f.inFlightRule())
	for _, rule := range f.compressionRules() {
		add(rule)
	}
	for _, rule := range f.Rules {
		add("Logs of about 1,137 bytes, " + rule)
	}
	if len(rules) == 0 {
		return &Outcome{}, nil
	}
	o := &Outcome{Blocks: map[string]string{"rules": "- " + strings.Join(rules, "\n- ")}}
	o.add(report.Heading("Rules of thumb, from the figures of this run"))
	for _, rule := range rules {
		o.add(report.Prose("• " + rule))
	}
	return o, nil
}

func (f *Figures) sizesOf(study, format string) []float64 {
	return each(f.Sizes, func(s SizeFigure) (float64, bool) { return s.Ratio, s.Study == study && s.Format == format })
}

func percents(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func (f *Figures) sizeRule(study, when string) string {
	sorted, ordered := f.sizesOf(study, "STEF sorted"), f.sizesOf(study, "STEF ordered")
	if len(sorted) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, STEF with zstd takes of the bytes of OTLP with zstd, sorted: %s; ordered: %s; Parquet sorted: %s; Arrow IPC: %s.",
		when, span(sorted, percents), span(ordered, percents), span(f.sizesOf(study, "Parquet sorted"), percents), span(f.sizesOf(study, "Arrow IPC"), percents))
}

func (f *Figures) orderRule() string {
	order := f.sizesOf("size-big", "OTLP regrouped")
	if len(order) == 0 {
		return ""
	}
	return fmt.Sprintf("In one big batch, order alone is part of it: OTLP of the same items in STEF's order takes %s of the bytes with zstd. In natural batches, it takes %s.",
		span(order, percents), span(f.sizesOf("size-parts", "OTLP regrouped"), percents))
}

func (f *Figures) sweepRule() string {
	sizes := map[int][]float64{}
	for _, s := range f.Sweeps {
		if s.Format != "STEF sorted" {
			continue
		}
		for _, o := range f.Sweeps {
			if o.Format == "OTLP" && o.Ref.Title() == s.Ref.Title() && o.Batch == s.Batch {
				sizes[s.Batch] = append(sizes[s.Batch], float64(s.best())/float64(o.best()))
			}
		}
	}
	if len(sizes) == 0 {
		return ""
	}
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		parts = append(parts, fmt.Sprintf("%d: %s", n, span(sizes[n], percents)))
	}
	return "Batch size changes the ratio (STEF sorted to OTLP, both zstd): " + strings.Join(parts, "; ") + "."
}

func (f *Figures) timeRule(operation, what string) string {
	get := func(format string) string {
		return span(each(f.Times, func(t TimeFigure) (float64, bool) {
			return t.Ratio, t.Compression == "zstd" && t.Operation == operation && t.Format == format
		}), func(v float64) string { return fmt.Sprintf("%.2f", v) })
	}
	if len(f.Times) == 0 {
		return ""
	}
	return fmt.Sprintf("%s takes, relative to OTLP with zstd: STEF ordered %s; STEF sorted %s; Arrow IPC %s; Parquet %s.", what,
		get("STEF ordered"), get("STEF sorted"), get("Arrow IPC"), get("Parquet ordered"))
}

// timesRule says which part of each set was measured for the sentences about CPU. It returns ""
// if the whole sets were measured.
func (c *Context) timesRule() string {
	if c.Full || len(c.Figures.Times) == 0 {
		return ""
	}
	return fmt.Sprintf("These figures of exporters and receivers are of the first %s metrics, spans or log records of each set, and those of the sender in a steady stream of the first %s items.",
		report.Whole(quickUnits), report.Whole(agedItems))
}

func (f *Figures) parquetRule() string {
	wins := 0
	sets := 0
	for _, s := range f.Sizes {
		if s.Study != "size-big" || s.Format != "STEF sorted" {
			continue
		}
		sets++
		for _, p := range f.Sizes {
			if p.Study == s.Study && p.Ref.Title() == s.Ref.Title() && p.Format == "Parquet sorted" && p.best() < s.best() {
				wins++
			}
		}
	}
	if sets == 0 {
		return ""
	}
	return fmt.Sprintf("Files that are queried are another matter: Parquet reads single columns and rows, STEF does not. In size, sorted Parquet beats sorted STEF on %d of %d sets in one big batch.", wins, sets)
}

// transportRules describe the effect of concurrency and streams at each round
// trip, if the effects exceed the spread.
func (f *Figures) transportRules() []string {
	var rules []string
	for _, trip := range Latencies {
		get := func(p transport.Protocol, clients int) RunFigure {
			r, _ := f.find(trip, p, clients, transport.Zstd)
			return r
		}
		one, many, stef := get(transport.OTLP, 1), get(transport.OTLP, concurrent), get(transport.STEF, 1)
		if math.IsNaN(one.Wall) || math.IsNaN(stef.Wall) {
			continue
		}
		if !apart(one, many) || !apart(one, stef) || !apart(many, stef) {
			continue
		}
		spread := max(one.Spread, many.Spread, stef.Spread, one.CPUSpread, many.CPUSpread, stef.CPUSpread)
		rules = append(rules, fmt.Sprintf("At a round trip of %s (500 spans a batch, zstd): sequential OTLP %.0f batches/s, %d concurrent requests %.0f, one STEF stream %.0f; "+
			"batches per CPU second %.0f, %.0f and %.0f (spread at most %.0f %%); bytes on the wire of STEF by those of OTLP %.0f %%.",
			millis(trip), one.PerSecond, concurrent, many.PerSecond, stef.PerSecond,
			one.PerCPUSecond, many.PerCPUSecond, stef.PerCPUSecond, 100*spread, 100*stef.PerBatch/one.PerBatch))
	}
	return rules
}

// inFlightRule says what bounds concurrent requests at the longest round trip.
func (f *Figures) inFlightRule() string {
	trip := Latencies[len(Latencies)-1]
	if _, ok := f.find(trip, transport.STEF, 1, transport.Zstd); !ok {
		return ""
	}
	return fmt.Sprintf("A stream has more batches in flight than %d requests: with a round trip of %s, %d requests cannot exceed %.0f batches/s.",
		concurrent, millis(trip), concurrent, concurrent/trip.Seconds())
}

// compressionRules describe the cost and the gain of compression, if the cost exceeds the
// spread.
func (f *Figures) compressionRules() []string {
	var rules []string
	for _, p := range []transport.Protocol{transport.OTLP, transport.STEF} {
		clients := 1
		if p == transport.OTLP {
			clients = concurrent
		}
		plain, ok := f.find(Latencies[0], p, clients, transport.None)
		if !ok {
			continue
		}
		var costs []string
		for _, c := range []transport.Compression{transport.Zstd, transport.Gzip} {
			packed, ok := f.find(Latencies[0], p, clients, c)
			if !ok || !apart(plain, packed) {
				continue
			}
			costs = append(costs, fmt.Sprintf("%s leaves %.0f %% of the throughput for %.0f %% of the bytes (spread %.0f %%)",
				c, 100*packed.PerSecond/plain.PerSecond, 100*packed.PerBatch/plain.PerBatch, 100*(plain.Spread+packed.Spread)))
		}
		if len(costs) > 0 {
			rules = append(rules, plain.way()+", without latency: "+strings.Join(costs, ", ")+". "+
				"Compress where bytes cost or the link is the limit; leave it out on a fast local link where the processor is.")
		}
	}
	return rules
}

func (f *Figures) transportBlock() string {
	t := &report.Table{Columns: append(report.Text("round trip", "way"), report.Column{Name: "batches/s", Format: report.Fixed(1)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "batches/CPU s", Format: report.Fixed(1)}, report.Column{Name: "spread", Format: report.Percent}, report.Column{Name: "wire B/batch", Format: report.Whole})}
	for _, r := range f.Runs {
		if r.Study == "latency" && r.Compression == transport.Zstd && r.Items == 500 {
			t.Add(millis(r.RoundTrip), r.way(), r.PerSecond, r.Spread, r.PerCPUSecond, r.CPUSpread, r.PerBatch)
		}
	}
	return markdown(t)
}

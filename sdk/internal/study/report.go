// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plan says how much a study measures.
type Plan struct {
	Rounds int           // rounds of each configuration; only the best round counts: fewest lost spans, then least CPU time
	Batch  time.Duration // length of a run with the batch processor
	Rate   int           // spans per second in such a run
	Simple int           // number of spans with the simple processor and an exporter without a network
	Others time.Duration // length of a run of the scenarios 2 to 6
	Work   time.Duration // length of a run with metrics
}

// Short is a plan for a study of some minutes, Long is a plan for a study of over two hours.
var (
	Short = Plan{Rounds: 2, Batch: 1500 * time.Millisecond, Rate: 20_000, Simple: 30_000, Others: time.Second, Work: 3 * time.Second}
	Long  = Plan{Rounds: 5, Batch: 10 * time.Second, Rate: 20_000, Simple: 200_000, Others: 10 * time.Second, Work: 60 * time.Second}
)

// Study measures configurations and writes tables. Spans and Metrics run a configuration in a
// separate process.
type Study struct {
	Plan
	To      Addresses
	Spans   func(Config) Result
	Metrics func(MetricConfig) MetricResult
	Log     func(format string, args ...any)
	Dir     string // folder for files of LTTng

	text strings.Builder
}

// Parts has the names of the parts of a study.
var Parts = []string{"traces", "others", "overload", "metrics"}

// compression says how each exporter compresses, because this decides bytes and CPU time.
const compression = "OTLP is sent as its exporters do by default, without compression (gRPC and HTTP). STEF is compressed with zstd, level `fastest`, to endpoints and in files; " +
	"files of single spans (simple processor, without delayed flushes) are not compressed. Text to stdout is not compressed."

// Run measures some parts and returns the tables in Markdown.
func (s *Study) Run(parts []string) string {
	s.line("\n%s", compression)
	if slices.Contains(parts, Parts[0]) {
		s.traces("Start and end a span: scenario 1", Scenarios[0])
		s.traces("A span with five attributes and an event: scenario 7", Scenarios[6])
	}
	if slices.Contains(parts, Parts[1]) {
		s.others()
	}
	if slices.Contains(parts, Parts[2]) {
		s.overload()
	}
	if slices.Contains(parts, Parts[3]) {
		s.metrics()
	}
	return s.text.String()
}

func (s *Study) line(format string, args ...any) {
	fmt.Fprintf(&s.text, format+"\n", args...)
}

// best runs a configuration several times and returns the result with the least CPU
// time, because other processes on the machine can only increase the CPU time. A round
// that lost more spans is not better, because it saved the work of exporting them.
func (s *Study) best(c Config) Result {
	var best Result
	for i := range s.Rounds {
		r := s.Spans(c)
		if i == 0 || r.Lost < best.Lost || r.Lost == best.Lost && r.User+r.System < best.User+best.System {
			best = r
		}
	}
	s.Log("%s, %s, batch %v: %.0f ns of CPU a run", c.Exporter, c.Scenario, c.Batch, best.User+best.System)
	return best
}

func (s *Study) config(exporter, scenario string, batch bool) Config {
	c := Config{Exporter: exporter, Scenario: scenario, Batch: batch, To: s.To}
	if batch {
		c.Rate, c.Runs = s.Rate, int(s.Batch.Seconds()*float64(s.Rate))
		return c
	}
	c.Runs = s.Simple
	switch exporter {
	case OTLP, OTLPHTTP:
		c.Runs = s.Simple / 20
	case STEF, STEFDelayed, OTLPDelayed:
		c.Runs = s.Simple / 300
	}
	return c
}

const header = "| exporter | min | mean | median | p99 | max | std | user CPU | system CPU | CPU above “no exporter” | bytes | lost |\n" +
	"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"

func (s *Study) row(r Result, floor float64) {
	above, lost := "-", "-"
	if floor > 0 && exports(r.Exporter) && r.Exporter != Nothing {
		above = fmt.Sprintf("%.0f", r.User+r.System-floor)
	}
	if exports(r.Exporter) {
		lost = fmt.Sprint(r.Lost)
	}
	s.line("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %s | %.1f | %s |",
		r.Exporter, r.Min, r.Mean, r.Median, r.P99, r.Max, r.Std, r.User, r.System, above, r.Bytes, lost)
}

var allExporters = []string{None, NoOp, Nothing, Stdout, OTLP, OTLPHTTP, STEF, File, FileDelayed, OTLPDelayed, STEFDelayed}

func (s *Study) traces(title, scenario string) {
	s.line("\n## %s\n\nTimes are nanoseconds, bytes are those that leave the process, all for a span.", title)
	for _, batch := range []bool{true, false} {
		name := map[bool]string{true: fmt.Sprintf("Batch processor, %d spans a second", s.Rate), false: "Simple processor, one span after another"}[batch]
		s.line("\n%s:\n\n%s", name, header)
		discarded := ""
		if HasLTTng() == nil && scenario == Scenarios[0] && !batch {
			discarded = s.lines()
		}
		s.rows(allExporters, func(x string) Config { return s.config(x, scenario, batch) })
		if discarded != "" {
			s.line("\n%s", discarded)
		}
	}
	if err := HasLTTng(); err != nil && scenario == Scenarios[0] {
		s.line("\nThe log line of LTTng is skipped: %v.", err)
	}
}

// lines adds a row for each way to log a line with LTTng, and says how many lines were
// discarded.
func (s *Study) lines() string {
	var counts []string
	for _, line := range lines {
		stop, err := StartSession(line, s.Dir)
		if err != nil {
			s.Log("%s: %v", line, err)
			counts = append(counts, fmt.Sprintf("%s: skipped, %v", line, err))
			continue
		}
		r := s.best(s.config(line, Scenarios[0], false))
		lost, err := stop()
		if err != nil {
			s.Log("%s: %v", line, err)
		}
		s.row(r, 0)
		counts = append(counts, fmt.Sprintf("%s: %d", line, lost))
	}
	return "Discarded lines in all rounds, by LTTng's count. " + strings.Join(counts, "; ") + "."
}

func (s *Study) rows(exporters []string, config func(exporter string) Config) {
	floor := 0.0
	for _, x := range exporters {
		r := s.best(config(x))
		if x == Nothing {
			floor = r.User + r.System
		}
		s.row(r, floor)
	}
}

// others measures scenarios 2 to 6. It omits exporters whose peer or flushes are delayed,
// because the delay has the same effect in each scenario.
func (s *Study) others() {
	s.line("\n## The other scenarios\n\nNanoseconds and bytes per operation, batch processor, %d operations a second. An operation of scenario 6 makes two spans; its time is that of the inner span.", s.Rate)
	for _, scenario := range Scenarios[1:6] {
		s.line("\nScenario %s:\n\n%s", scenario, header)
		s.rows(nearExporters, func(x string) Config {
			c := s.config(x, scenario, true)
			c.Runs = int(s.Others.Seconds() * float64(s.Rate))
			return c
		})
	}
	s.simple()
}

// nearExporters are the exporters without a delayed peer and without delayed flushes.
var nearExporters = []string{None, NoOp, Nothing, Stdout, OTLP, OTLPHTTP, STEF, File}

func (s *Study) simple() {
	s.line("\nSimple processor, one operation after another: mean time and CPU time per operation of each scenario, in nanoseconds.\n")
	head, rule := "| exporter |", "|---|"
	for _, scenario := range Scenarios[1:6] {
		n, _, _ := strings.Cut(scenario, " ")
		head += fmt.Sprintf(" %s mean | %s CPU |", n, n)
		rule += "--:|--:|"
	}
	s.line("%s\n%s", head, rule)
	for _, x := range nearExporters {
		row := "| " + x + " |"
		for _, scenario := range Scenarios[1:6] {
			r := s.best(s.config(x, scenario, false))
			row += fmt.Sprintf(" %.0f | %.0f |", r.Mean, r.User+r.System)
		}
		s.line("%s", row)
	}
}

// overload measures how many spans are lost if they are created as fast as possible.
func (s *Study) overload() {
	runs := int(s.Batch.Seconds() * 200_000)
	s.line("\n## Overload\n\n%d spans of scenario 7 as fast as possible, with the defaults of the batch processor: a queue of 2048 spans, batches of 512. A full queue drops spans.\n", runs)
	s.line("| exporter | spans made per second | lost | delivered per second |\n|---|--:|--:|--:|")
	for _, x := range []string{Nothing, Stdout, OTLP, OTLPHTTP, STEF, File, OTLPDelayed, STEFDelayed} {
		r := s.Spans(Config{Exporter: x, Scenario: Scenarios[6], Batch: true, Runs: runs, To: s.To})
		s.Log("%s: %d of %d lost", x, r.Lost, r.Spans)
		s.line("| %s | %.0f | %.1f %% | %.0f |", x, float64(r.Spans)/r.Real, 100*float64(r.Lost)/float64(r.Spans), float64(r.Spans-r.Lost)/r.Real)
	}
}

func (s *Study) metrics() {
	c := MetricConfig{Exporter: None, Work: 1 << 20, To: s.To}
	c.Work = int(float64(c.Work) * s.Work.Seconds() / s.Metrics(c).CPU)
	s.line("\n## Metrics\n\nA thread does a fixed amount of work while %d counters and %d histograms with %d series each are exported. The table has the CPU seconds of the work and of everything else in the process. The overhead is the second divided by the first.\n", instruments, instruments, series)
	s.line("| exporter | interval | work | everything else | overhead | bytes an export |\n|---|--:|--:|--:|--:|--:|")
	row := func(c MetricConfig, interval string) {
		r := s.bestMetrics(c)
		bytes := "-"
		if c.Interval > 0 {
			bytes = fmt.Sprintf("%.0f", float64(r.Bytes)/(r.Real/c.Interval.Seconds()+1))
		}
		s.line("| %s | %s | %.3f | %.4f | %.2f %% | %s |", c.Exporter, interval, r.Own, r.CPU-r.Own, 100*(r.CPU/r.Own-1), bytes)
	}
	row(c, "-")
	for _, x := range []string{Stdout, OTLP, OTLPHTTP, OTLPDelayed, STEF, STEFDelayed, File} {
		for _, interval := range []time.Duration{500 * time.Millisecond, time.Second} {
			c.Exporter, c.Interval = x, interval
			row(c, interval.String())
		}
	}
}

func (s *Study) bestMetrics(c MetricConfig) MetricResult {
	var best MetricResult
	for i := range s.Rounds {
		r := s.Metrics(c)
		if i == 0 || r.CPU-r.Own < best.CPU-best.Own {
			best = r
		}
	}
	s.Log("metrics, %s, %v: work %.3f s, else %.4f s", c.Exporter, c.Interval, best.Own, best.CPU-best.Own)
	return best
}

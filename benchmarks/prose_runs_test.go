// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/study"
)

const (
	epyc, xeon = "AMD EPYC", "Intel Xeon"
	forCPU     = "-optimize_for cpu"
)

func span(digits string, values []float64) string {
	return fmt.Sprintf("%"+digits+"f to %"+digits+"f", least(values), most(values))
}

// span1 returns one figure if all values are equal, otherwise the range of the values.
func span1(values []float64) string {
	if least(values) == most(values) {
		return fmt.Sprintf("%.2f", values[0])
	}
	return span(".2", values)
}

// pair checks the figures of exporter and receiver on the recordings.
func (b book) pair(t *testing.T) {
	runs := table(t, "pair-runs")
	of := func(setting, signal, age, column string) []float64 {
		return runs.where("setting", setting, "signal", signal, "age", age).known(column).column(t, column)
	}
	var first, none []string
	for _, signal := range signals {
		for _, age := range []string{"steady", "first batch"} {
			speed, bytes := span(".2", of("default", signal, age, "speed")), of("default", signal, age, "bytes")
			b.here.says(t, "| "+signal+" | "+age+" | %s | %s | %.2f | %.2f |", speed, span(".2", of("default", signal, age, "worst speed")), most(bytes), most(of("default", signal, age, "worst bytes")))
			known := runs.where("setting", "default", "processor", epyc, "signal", signal, "age", age).known("STEF items/CPU s")
			one := func(column string) float64 { return known[:1].one(t, column) }
			thousand := func(column string) string { return thousands(one(column)/1000) + ",000" }
			b.root.says(t, "| "+signal+" | "+age+" | %s times | %s times | %s and %s | %.1f and %.1f |", speed, span1(bytes),
				thousand("STEF items/CPU s"), thousand("OTLP items/CPU s"), one("STEF B/item"), one("OTLP B/item"))
		}
		b.root.says(t, "| "+signal+" | %.2f times | %s times | %.2f times | %s times |",
			most(of("default", signal, "steady", "bytes")), span(".1", of("default", signal, "steady", "speed")),
			most(of("default", signal, "first batch", "bytes")), span(".1", of("default", signal, "first batch", "speed")))
		require.Less(t, measure.Median(of("default", signal, "first batch", "speed")), measure.Median(of("default", signal, "steady", "speed")), signal)
		first = append(first, span(".2", of("-ballast 1024", signal, "first batch", "speed")))
		none = append(none, span(".2", of("-ballast 1024", signal, "steady", "speed")))
	}
	b.here.says(t, "two runs (logs: both on the EPYC) had %s (metrics), %s (traces) and %s times (logs) in the steady state, and %s (metrics), %s (traces) and %s times (logs) in first batches",
		none[0], none[1], none[2], first[0], first[1], first[2])
	for _, signal := range signals {
		require.Len(t, of("-ballast 1024", signal, "steady", "speed"), 2, "two runs of %s", signal)
	}
	require.Empty(t, runs.where("setting", "-ballast 1024", "processor", xeon, "signal", "logs"), "logs: both on the EPYC")
	worstFirst := func(setting string) float64 {
		return least(runs.where("setting", setting, "age", "first batch").known("worst speed").column(t, "worst speed"))
	}
	b.here.says(t, "in first batches, where the worst recording had %.2f times.", worstFirst("-ballast 1024"))
	b.here.says(t, "and in the worst recording of all runs %.2f times, or %.2f times beside a GiB of live heap", worstFirst("default"), worstFirst("-ballast 1024"))
	b.here.says(t, "Each row has %s runs on the EPYC and %s on the Xeon", runsOf(runs, "default", epyc), runsOf(runs, "default", xeon))
	metricsOn := func(setting, processor string) []float64 {
		return runs.where("setting", setting, "processor", processor, "signal", "metrics", "age", "steady").column(t, "speed")
	}
	b.here.says(t, "Steady streams of metrics had %s times OTLP's items per CPU second on the EPYC and %s times on the Xeon.", span(".2", metricsOn("default", epyc)), span(".2", metricsOn("default", xeon)))
	b.here.says(t, "with a GiB of live heap, where collections are rare, Pair had %.2f instead of %.2f for metrics on the Xeon",
		1/most(metricsOn("-ballast 1024", xeon)), 1/most(metricsOn("default", xeon)))
	largest := func(age string) (values []float64) {
		for _, signal := range signals {
			values = append(values, most(of("default", signal, age, "bytes")))
		}
		return values
	}
	steady := largest("steady")
	b.here.says(t, "bytes %s times in the recordings (steady: %s times)", span(".2", largest("first batch")), span(".2", steady))
	var alone []any
	for _, signal := range signals {
		speed := of("default", signal, "steady", "speed")
		alone = append(alone, fmt.Sprintf("%.2f to %.2f", 1/most(speed), 1/least(speed)))
	}
	b.here.says(t, "([figures](exporter.md)) | %.2f, %.2f and %.2f times | %s, %s and %s times |", append([]any{steady[0], steady[1], steady[2]}, alone...)...)
	items := batchesOf(t, signals...)
	b.here.says(t, "steady: their second halves | a sixteenth of a recording, %.0f to %s items | %.2f | %.2f | %.2f |", least(items), thousands(most(items)), steady[0], steady[1], steady[2])
	b.here.says(t, "first batches | as above | %.2f | %.2f | %.2f |", largest("first batch")[0], largest("first batch")[1], largest("first batch")[2])
	worst := most(runs.where("setting", "default").known("worst bytes").column(t, "worst bytes"))
	b.here.holds(t, worst < 1 && most(table(t, "pair-sets").where("setting", "default").column(t, "bytes")) < 1, "The streams of every set here have fewer bytes with the defaults")
	all := runs.where("setting", "default", "age", "steady").column(t, "speed")
	b.here.says(t, "(steady, in the recordings: %s times)", span(".1", all))
	b.here.says(t, "of one program | zstd | %.2f to %.2f |", 1/most(all), 1/least(all))
}

// gzip checks the figures of STEF relative to those of OTLP with gzip.
func (b book) gzip(t *testing.T) {
	gzip := table(t, "pair-runs").known("speed gzip")
	of := func(setting, age, column string) (values []any) {
		for _, signal := range signals {
			found := gzip.where("setting", setting, "signal", signal, "age", age).column(t, column)
			if strings.HasPrefix(column, "bytes") {
				values = append(values, most(found))
			} else {
				values = append(values, span(".2", found))
			}
		}
		return values
	}
	b.here.says(t, "divided by those of OTLP with gzip (%d runs on the EPYC, [list]", len(gzip.where("setting", "default", "signal", "logs", "age", "steady")))
	for _, age := range []string{"steady", "first batch"} {
		speed, bytes := of("default", age, "speed gzip"), of("default", age, "bytes gzip")
		b.here.says(t, "| "+age+" | %s, %.2f | %s, %.2f | %s, %.2f |", speed[0], bytes[0], speed[1], bytes[1], speed[2], bytes[2])
	}
	worst := func(setting string) string {
		return span(".2", gzip.where("setting", setting, "signal", "logs", "age", "first batch").column(t, "worst speed gzip"))
	}
	b.here.says(t, "java logs, had %s times its speed, %s times with `-ballast 1024`", worst("default"), worst("-ballast 1024"))
}

// settings checks the tables with the results of settings of the exporter other than the defaults.
func (b book) settings(t *testing.T) {
	runs := table(t, "pair-runs")
	row := func(p *page, name, setting string, pairs bool) {
		t.Helper()
		row := "| `" + name + "` |"
		var cells []any
		for _, signal := range signals {
			at := func(age, column string) string {
				rows := runs.where("setting", setting, "processor", epyc, "signal", signal, "age", age)
				if len(rows) == 0 {
					return ""
				}
				return rows[0][column]
			}
			switch {
			case at("steady", "speed") == "":
				row += " - | - |"
				continue
			case pairs:
				cells = append(cells, at("steady", "speed"), at("steady", "bytes"), at("first batch", "speed"), at("first batch", "bytes"))
			default:
				cells = append(cells, at("steady", "speed"), at("first batch", "speed"), at("steady", "bytes"), at("first batch", "bytes"))
			}
			row += " %s, %s | %s, %s |"
		}
		p.says(t, row, cells...)
	}
	for _, setting := range []string{"-schema full", "-schema full -mode ordered", forCPU, "-optimize_for bytes", "-level best"} {
		row(b.here, setting, setting, false)
	}
	speeds := func(setting, age string) []float64 {
		return runs.where("setting", setting, "processor", epyc, "age", age).column(t, "speed")
	}
	slow := func(setting string) bool {
		return most(speeds(setting, "first batch")) < 1 && runs.where("setting", setting, "signal", "logs", "age", "steady").one(t, "speed") < 1
	}
	b.here.holds(t, slow("-level best") && slow("-optimize_for bytes"), "In first batches, `-level best` and `-optimize_for bytes` are slower than OTLP; with logs they are slower in the steady state, too")
	b.exporter.holds(t, most(speeds("-optimize_for bytes", "first batch")) < 1, "In first batches, each in a stream of its own, `bytes` costs more CPU than OTLP.")
	b.here.says(t, "smaller than with OTLP (%.2f times the bytes in the worst set)", most(runs.where("setting", "-schema full -mode ordered", "age", "first batch").column(t, "worst bytes")))
	row(b.here, "cpu", forCPU, true)
	row(b.here, "balanced", "default", true)
	row(b.here, "bytes", "-optimize_for bytes", true)
}

// largeNames lists the large sets, each with its name in the table of exporter.md.
var largeNames = [][2]string{
	{"hipstershop metrics", "metrics of an online shop (hipstershop)"},
	{"hostandcollector metrics", "metrics of a host and a Collector"},
	{"hipstershop traces", "spans of an online shop (hipstershop)"},
	{"astronomy logs", "logs of an online shop (astronomy)"},
	{"cloudtrail logs", "logs of CloudTrail, structured"},
	{"k8sapps logs", "logs of Kubernetes applications"},
	{"kafka logs", "logs of Kafka"},
	{"webnodes logs", "access logs of web servers"},
}

// sets checks the figures of exporter and receiver on the large sets.
func (b book) sets(t *testing.T) {
	sets := table(t, "pair-sets")
	steady := func(setting, set, column string) []float64 {
		return sets.where("setting", setting, "set", set, "age", "steady").column(t, column)
	}
	var beside, first []float64
	for _, row := range sets.where("setting", "default") {
		set, age, speed := row["set"], row["age"], figures{row}.one(t, "speed")
		if strings.HasPrefix(set, "large sets") {
			continue
		}
		if row["run"] != "1" {
			beside = append(beside, speed/sets.where("setting", "default", "run", "1", "set", set, "age", age).one(t, "speed"))
		}
		if age == "first batch" {
			first = append(first, speed)
		}
	}
	for _, of := range largeNames {
		var row []any
		for _, age := range []string{"steady", "first batch"} {
			run := sets.where("setting", "default", "run", "1", "set", of[0], "age", age)
			perSecond := func(column string) string { return thousands(1e6/run.one(t, column)) + ",000" }
			row = append(row, perSecond("STEF ns/item"), run.one(t, "STEF B/item"), perSecond("OTLP ns/item"), run.one(t, "OTLP B/item"),
				run.one(t, "speed"), run.one(t, "bytes"))
		}
		const cells = " %s, %.2f B | %s, %.2f B | x %.2f | x %.2f |"
		b.here.says(t, "| "+of[1]+" | steady |"+cells+"\n| | first batch |"+cells, row...)
	}
	runs := func(setting string) int {
		return len(sets.where("setting", setting, "set", largeNames[0][0], "age", "steady"))
	}
	b.here.says(t, "Each row has %d runs of `balanced`, of 2026-11-26, and %d of `cpu`, of 2026-11-25", runs("default"), runs(forCPU))
	b.here.says(t, "In other runs on this processor, the ratios of speed were %s times these", span(".2", beside))
	b.here.says(t, "speed %s times on eight large sets, and in the worst recording", span(".2", first))
	const size = "STEF B/item"
	var costs []float64
	dearest, metrics, traces := 0.0, 0.0, 0.0
	for _, row := range sets.where("setting", "default", "run", "1", "age", "steady") {
		set := row["set"]
		if strings.HasPrefix(set, "large sets") {
			continue
		}
		cost := measure.Median(steady(forCPU, set, size)) / measure.Median(steady("default", set, size))
		costs = append(costs, cost)
		b.here.says(t, "| "+set+" | %s; %s | %s; %s | %.2f |", span1(steady("default", set, "speed")), span1(steady("default", set, size)),
			span1(steady(forCPU, set, "speed")), span1(steady(forCPU, set, size)), cost)
		switch {
		case strings.HasSuffix(set, " logs"):
			dearest = max(dearest, cost)
		case strings.HasSuffix(set, " metrics"):
			metrics = max(metrics, cost)
		default:
			traces = max(traces, cost)
		}
	}
	require.Len(t, costs, 8)
	b.exporter.says(t, "it costs up to %.1f times the bytes", dearest)
	b.here.says(t, "but up to %.1f times the bytes on large sets of logs", dearest)
	b.exporter.holds(t, metrics < 7./6, "costs up to a sixth more bytes.")
	b.here.holds(t, metrics < 7./6 && traces < 1.005, "For metrics it costs up to a sixth, and for traces nothing.")
	b.here.says(t, "have %.1f bytes an item with `optimize_for: cpu` at level `default`, and %.1f with the defaults",
		steady("-optimize_for cpu -level default", "webnodes logs", size)[0], measure.Median(steady("default", "webnodes logs", size)))
	var bytes []any
	for _, choice := range [][3]string{{forCPU, "cpu", "`-optimize_for cpu`"}, {"default", "balanced", "the defaults"}} {
		var pairs, columns []any
		for _, signal := range signals {
			at := func(age, column string) string {
				return sets.where("setting", choice[0], "run", "1", "set", "large sets of "+signal, "age", age)[0][column]
			}
			pairs = append(pairs, at("steady", "speed"), at("steady", "bytes"), at("first batch", "speed"), at("first batch", "bytes"))
			columns = append(columns, at("steady", "speed"), at("first batch", "speed"), at("steady", "bytes"), at("first batch", "bytes"))
			if choice[0] == "default" {
				bytes = append(bytes, at("steady", "bytes"))
			}
		}
		cells := strings.Repeat(" %s, %s | %s, %s |", len(signals))
		b.here.says(t, "| `"+choice[1]+"`, large sets |"+cells, pairs...)
		b.here.says(t, "| "+choice[2]+", large sets |"+cells, columns...)
	}
	logs := func(rows figures) string {
		return span(".2", rows.where("setting", "default", "age", "steady").column(t, "speed"))
	}
	b.compact.says(t, "moved %s times OTLP's items per CPU second on the recordings and %s times on the large sets, in steady streams",
		logs(table(t, "pair-runs").where("signal", "logs")), logs(sets.where("set", "large sets of logs")))
	b.here.says(t, "| Pair | large sets | steady | up to 8,192 items | %s | %s | %s |", bytes...)
}

// generated checks what the pages say about generated telemetry: new series, short traces and lines
// of logs.
func (b book) generated(t *testing.T) {
	series := table(t, "pair-new-series")
	fresh := func(setting, points, values, age, column string) []float64 {
		return series.where("setting", setting, "points of a series", points, "new values %", values, "age", age).column(t, column)
	}
	const remedy = "-schema full -mode ordered"
	b.here.says(t, "speed %s times for %.2f times the bytes if each point has new attributes", span(".2", fresh("default", "1", "10", "steady", "speed")), most(fresh("default", "1", "10", "steady", "bytes")))
	b.here.says(t, "(first batches: speed %s times)", span(".2", fresh("default", "1", "10", "first batch", "speed")))
	b.here.says(t, "With both settings the speed is %s times, for %.2f times the bytes", span(".2", fresh(remedy, "1", "10", "steady", "speed")), most(fresh(remedy, "1", "10", "steady", "bytes")))
	b.here.says(t, "it is %s times with the defaults and %s times with these settings, for %.2f times the bytes", span(".2", fresh("default", "1", "100", "steady", "speed")),
		span(".2", fresh(remedy, "1", "100", "steady", "speed")), most(fresh(remedy, "1", "100", "steady", "bytes")))
	between := true
	for _, setting := range []string{"-mode ordered", "-schema full"} {
		for _, values := range []string{"10", "100"} {
			median := func(setting string) float64 {
				return measure.Median(fresh(setting, "1", values, "steady", "speed"))
			}
			between = between && median(setting) > median("default") && median(setting) < median(remedy)
		}
	}
	b.here.holds(t, between, "Each setting alone is between the two in the median.")
	b.here.says(t, "the defaults have %s times OTLP's speed", span(".2", fresh("default", "20", "10", "steady", "speed")))

	traces := table(t, "pair-traces").where("age", "steady")
	short := func(spans string) float64 { return traces.where("spans of a trace", spans).one(t, "bytes") }
	b.here.says(t, "have %.2f times the bytes if each is a trace of its own, %.2f times with 4 spans a trace, and %.2f times with 10", short("1"), short("4"), short("10"))
	b.here.says(t, "of generated spans are of the steady state; the speed is %s times OTLP's", span(".2", traces.column(t, "speed")))

	lines := table(t, "pair-lines")
	line := func(setting, column string) string {
		return span(".2", lines.where("setting", setting, "age", "steady").column(t, column))
	}
	b.here.says(t, "speed %s times for %s times the bytes | `stef::optimize_for: cpu` |", line("default", "speed"), line("default", "bytes"))
	b.here.says(t, "With `stef::templates: on` the speed is %s times, for %s times the bytes", line("-templates on", "speed"), line("-templates on", "bytes"))
	b.here.says(t, "with `stef::optimize_for: cpu` it is %s times, for %s times the bytes", line(forCPU, "speed"), line(forCPU, "bytes"))
}

// codec checks the figures of encoding records to bytes and decoding them.
func (b book) codec(t *testing.T) {
	none := table(t, "speed").where("compression", "none")
	recordings := func(name, operation string) (values []float64) {
		for _, row := range none.where("operation", operation, "format", name) {
			if recorded(row["set"]) && strings.HasSuffix(row["set"], " metrics") {
				values = append(values, figures{row}.one(t, "ratio"))
			}
		}
		require.Len(t, values, 5)
		return values
	}
	to, back := study.SerializeNative, study.DeserializeNative
	// Records are prepared in the full form, even for the format in the compact form. So the figures of writing
	// them are those of STEF full.
	b.root.says(t, "| sorted (the default of the exporter) | %s times | %s times | %s times |", span(".2", recordings("STEF full sorted", to)),
		span(".2", recordings("STEF sorted", back)), span(".2", recordings("STEF full sorted", back)))
	b.root.says(t, "| in the order of the program | %s times | %s times | |", span(".2", recordings("STEF ordered", to)), span(".2", recordings("STEF ordered", back)))
	both := func(name string) []any {
		var values []any
		for _, set := range []string{"hipstershop metrics", "hostandcollector metrics"} {
			for _, operation := range []string{to, back} {
				values = append(values, none.where("operation", operation, "format", name, "set", set).one(t, "ratio"))
			}
		}
		return values
	}
	full, compact := both("STEF full sorted"), both("STEF sorted")
	b.here.says(t, "| records to bytes, full form | %.3f | %.3f |", full[0], full[2])
	b.here.says(t, "| bytes to records, full form | %.3f | %.3f |", full[1], full[3])
	b.here.says(t, "| bytes to records, compact form | %.3f | %.3f |", compact[1], compact[3])
}

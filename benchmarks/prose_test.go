// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/study"
)

// figures are rows of a published table.
type figures []map[string]string

func table(t *testing.T, name string) figures {
	t.Helper()
	rows, err := study.ReadTable(published, name)
	require.NoError(t, err)
	return rows
}

// where returns the rows whose columns have these values, in pairs.
func (f figures) where(pairs ...string) figures {
	var rows figures
	for _, row := range f {
		ok := true
		for i := 0; i < len(pairs); i += 2 {
			ok = ok && row[pairs[i]] == pairs[i+1]
		}
		if ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// column returns the values of a column.
func (f figures) column(t *testing.T, name string) []float64 {
	t.Helper()
	require.NotEmpty(t, f, name)
	var values []float64
	for _, row := range f {
		v, err := strconv.ParseFloat(row[name], 64)
		require.NoError(t, err, name)
		values = append(values, v)
	}
	return values
}

func (f figures) one(t *testing.T, name string) float64 {
	t.Helper()
	values := f.column(t, name)
	require.Len(t, values, 1, name)
	return values[0]
}

func least(values []float64) float64 { return slices.Min(values) }
func most(values []float64) float64  { return slices.Max(values) }

// recorded reports whether a set is a recording of the repository.
func recorded(title string) bool {
	name, _, _ := strings.Cut(title, " ")
	return slices.Contains([]string{"collector", "go", "java", "node", "python"}, name)
}

// sizes returns the bytes by set and format, with the better zstd.
func sizes(t *testing.T, name string) map[string]map[string]float64 {
	t.Helper()
	bytes := map[string]map[string]float64{}
	for _, row := range table(t, name) {
		if bytes[row["set"]] == nil {
			bytes[row["set"]] = map[string]float64{}
		}
		n := math.Inf(1)
		for _, c := range []string{"zstd", "own"} {
			if v, err := strconv.ParseFloat(row[c], 64); err == nil {
				n = min(n, v)
			}
		}
		bytes[row["set"]][row["format"]] = n
	}
	return bytes
}

// ratios returns the bytes of STEF by those of OTLP in the recordings of a signal, in the default
// order of the exporter.
func ratios(t *testing.T, signal, name string) []float64 {
	t.Helper()
	var values []float64
	for set, bytes := range sizes(t, "size-parts") {
		if recorded(set) && strings.HasSuffix(set, " "+signal) {
			values = append(values, bytes[name]/bytes["OTLP"])
		}
	}
	require.NotEmpty(t, values)
	return values
}

// beside returns sorted STEF in the compact form by the better mode of the reference
// implementation, of all sets that it can encode.
func beside(t *testing.T, name string) []float64 {
	t.Helper()
	var values []float64
	for _, bytes := range sizes(t, name) {
		if of, ok := bytes["STEF reference ordered"]; ok {
			if sorted, ok := bytes["STEF reference sorted"]; ok {
				of = min(of, sorted)
			}
			values = append(values, bytes["STEF sorted"]/of)
		}
	}
	return values
}

// batchesOf returns the sizes of the batches of Pair with the recordings of some signals.
func batchesOf(t *testing.T, signals ...string) []float64 {
	t.Helper()
	var values []float64
	for _, row := range table(t, "sets") {
		set := strings.TrimSuffix(row["set"], " (R)")
		_, signal, _ := strings.Cut(set, " ")
		if recorded(set) && slices.Contains(signals, signal) {
			items := figures{row}.one(t, "items")
			values = append(values, math.Floor(items/16))
		}
	}
	require.Less(t, most(values), 8192.0)
	return values
}

// TestProseMatchesCSV checks sentences of both READMEs against the published CSV files. A new
// report that changes a figure fails here: correct the sentence.
func TestProseMatchesCSV(t *testing.T) {
	plain := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Join(strings.Fields(string(text)), " ")
	}
	here, root := plain(readme), plain(filepath.Join("..", readme))
	says := func(text, sentence string, values ...any) {
		t.Helper()
		if wanted := fmt.Sprintf(sentence, values...); !strings.Contains(text, wanted) {
			t.Errorf("the README does not say: %s", wanted)
		}
	}
	whole := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

	items, logs := batchesOf(t, "metrics", "traces"), batchesOf(t, "logs")
	largest := thousands(most(items))
	says(here, "their batches have %.0f to %s (metrics and traces) and %.0f to %.0f items (logs)", least(items), largest, least(logs), most(logs))
	says(here, "a sixteenth of a recording, %.0f to %s items of one program", least(logs), largest)
	says(root, "a batch has a sixteenth of a recording, %.0f to %s items", least(logs), largest)

	metrics, traces, ordered := ratios(t, "metrics", "STEF sorted"), ratios(t, "traces", "STEF sorted"), ratios(t, "logs", "STEF ordered")
	small := fmt.Sprintf("the recordings have %.2f to %.2f (metrics), %.2f to %.2f (traces) and %.2f to %.2f times (logs) the bytes of OTLP",
		least(metrics), most(metrics), least(traces), most(traces), least(ordered), most(ordered))
	says(here, "%s", small)
	says(root, "%s", small)
	parts, big := beside(t, "size-parts"), beside(t, "size-big")
	says(here, "has %.2f to %.2f times its bytes on the %d sets of metrics and traces in natural batches, and %.2f to %.2f in one big batch",
		least(parts), most(parts), len(parts), least(big), most(big))

	ages := table(t, "ages-summary")
	age := func(signal, age, operation, column string) float64 {
		return ages.where("signal", signal, "age", age, "operation", operation).one(t, column)
	}
	first := func(column string) (values []float64) {
		for _, signal := range []string{"metrics", "traces", "logs"} {
			values = append(values, age(signal, "first batch", study.SerializeFromPdata, column))
		}
		return values
	}
	back := func(signal string) float64 {
		return age(signal, "first batch", study.DeserializeToPdata, "zstd, worst")
	}
	says(here, "%.1f to %.1f times OTLP's CPU with zstd at the sender: %.1f times in the worst recording, and at the receiver %.2f",
		least(first("zstd")), most(first("zstd")), most(first("zstd, worst")), max(back("metrics"), back("traces"), back("logs")))
	none := first("none")
	says(here, "The first batch takes %.1f (metrics), %.1f (traces) and %.1f times (logs) in the median of the sets, and %.1f times in the worst (logs)",
		none[0], none[1], none[2], most(first("none, worst")))
	steady := func(operation string) (values []any) {
		for _, signal := range []string{"metrics", "traces", "logs"} {
			values = append(values, age(signal, "steady", operation, "zstd"))
		}
		return values
	}
	says(here, "converting to STEF takes about %.1f (metrics), %.1f (traces) and %.1f times (logs) OTLP's CPU", steady(study.SerializeFromPdata)...)
	says(here, "and back %.1f, %.1f and %.1f times: medians of the sets", steady(study.DeserializeToPdata)...)

	speed := table(t, "speed").where("compression", "zstd", "operation", study.SerializeFromPdata)
	sorted, inOrder := speed.where("format", "STEF sorted").column(t, "ratio"), speed.where("format", "STEF ordered").column(t, "ratio")
	says(here, "the sender took %.2f (sorted, %.2f to %.2f) and %.2f times (ordered, %.2f to %.2f), medians of %d sets",
		measure.Median(sorted), least(sorted), most(sorted), measure.Median(inOrder), least(inOrder), most(inOrder), len(sorted))

	timed := func(set, name string) float64 {
		return speed.where("set", set+" metrics", "format", name).one(t, "ratio")
	}
	const shop, host = "hipstershop", "hostandcollector"
	compact := func(set string) float64 { return min(timed(set, "STEF sorted"), timed(set, "STEF ordered")) }
	says(here, "than that of STEF in the compact form: %.2f and %.2f times OTLP's, and STEF at best %.2f and %.2f. The full form, sorted, has %.2f and %.2f.",
		timed(shop, "STEF reference ordered"), timed(host, "STEF reference ordered"), compact(shop), compact(host), timed(shop, "STEF full sorted"), timed(host, "STEF full sorted"))

	var withoutCPU, withoutBytes, smaller []float64
	for _, level := range []string{"fastest", "default"} {
		choice := func(name, column string) float64 {
			return table(t, "frontier-logs").where("choice", name+" zstd "+level).one(t, column)
		}
		withoutCPU = append(withoutCPU, choice("STEF ordered", "CPU")/choice("STEF ordered, templates", "CPU"))
		withoutBytes = append(withoutBytes, choice("STEF ordered", "bytes")/choice("STEF ordered, templates", "bytes"))
	}
	says(here, "both ends take %.2f to %.2f times the CPU without templates (`stef::templates: off`), for %.2f to %.2f times the bytes",
		least(withoutCPU), most(withoutCPU), least(withoutBytes), most(withoutBytes))
	otlpParts := table(t, "size-parts").where("format", "OTLP")
	gzip, zstd := otlpParts.column(t, "gzip"), otlpParts.column(t, "zstd")
	for i := range gzip {
		if gzip[i] < zstd[i] {
			smaller = append(smaller, gzip[i]/zstd[i])
		}
	}
	says(here, "on %d of the %d sets it is smaller, by up to %.0f %%", len(smaller), len(gzip), math.Ceil(100*(1-least(smaller))))

	shapes := table(t, "shapes")
	to := func(signal string, pairs ...string) []float64 {
		return shapes.where(append([]string{"signal", signal}, pairs...)...).column(t, "to STEF")
	}
	above := slices.DeleteFunc(to("logs"), func(v float64) bool { return v <= 1 })
	require.Len(t, above, 3, "the logs that cost more are those named in the sentence")
	says(here, "with logs where half of the strings or more are new (%.2f and %.2f) and in batches of 10 records (%.2f)", to("logs", "dimension", "share of new strings", "value", "0.5")[0],
		to("logs", "dimension", "share of new strings", "value", "1")[0], to("logs", "dimension", "items per batch", "value", "10")[0])
	says(here, "%.1f to %.1f (traces), %.1f to %.1f (logs)", least(to("traces")), most(to("traces")), least(to("logs")), most(to("logs")))

	heap := table(t, "heap")
	mib := func(way string) float64 { return heap.where("way", way).one(t, "median MiB") }
	tens := func(v float64) string { return whole(10 * math.Round(v/10)) }
	says(here, "both ends of 10 streams hold some %s MiB of heap, and of one stream %s MiB; 20 concurrent requests of OTLP hold some %s MiB, sequential ones %.0f MiB",
		tens(mib("STEF, 10 streams")), tens(mib("STEF, 1 stream")), tens(mib("OTLP unary, 20 concurrent")), mib("OTLP unary, sequential"))
	rate := func(way string) string { return thousands(heap.where("way", way).one(t, "batches/s")) }
	says(here, "Meanwhile STEF moved %s and %s batches/s, and OTLP %s and %s.", rate("STEF, 10 streams"), rate("STEF, 1 stream"), rate("OTLP unary, 20 concurrent"), rate("OTLP unary, sequential"))

	line := func(way, compression string) float64 {
		return most(table(t, "workers").where("round trip", "0 ms", "way", way, "compression", compression).column(t, "wire B/event"))
	}
	stef, otlp := line("STEF, 1 stream", "zstd"), line("OTLP unary, sequential", "zstd")
	require.Equal(t, "9", whole(line("OTLP unary, sequential", "none")/otlp), "zstd leaves a ninth")
	says(here, "A stream of STEF has %.2f times the bytes of OTLP then: %.0f and %.0f a line", stef/otlp, stef, otlp)

	rivals := table(t, "rivals-runs").column(t, "both, OTLP = 1")
	says(here, "CPU is %.2f to %.2f times in three runs", least(rivals), most(rivals))
	says(here, "whole Collectors take %.2f to %.2f times the CPU", least(rivals), most(rivals))
	says(here, "or those of 200 ms | zstd | %.2f to %.2f |", least(rivals), most(rivals))
	says(root, "CPU is %.2f to %.2f times: [plan with", least(rivals), most(rivals))
	says(root, "mostly in bytes, and CPU is %.2f to %.2f times", least(rivals), most(rivals))
	for run, text := range []string{"", "had %s, %s and %s (three rounds)", "and %s, %s and %s with level `detailed`"} {
		var of []any
		for _, signal := range []string{"metrics", "traces", "logs"} {
			of = append(of, table(t, "rivals-runs").where("run", strconv.Itoa(run+1), "signal", signal)[0]["both, OTLP = 1"])
		}
		if run > 0 {
			says(here, text, of...)
			continue
		}
		for i, signal := range []string{"metrics", "traces", "logs"} {
			_, row, _ := strings.Cut(here, "| "+signal+" | STEF | ")
			require.Equal(t, of[i], strings.Split(row, " | ")[4], signal)
		}
	}

	says(plain(filepath.Join(published, "size.txt")), "Compression: %s", format.Describe())
}

// thousands writes a whole number with a comma before the last three digits.
func thousands(v float64) string {
	n := int(math.Round(v))
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// known returns the rows that have a value in a column.
func (f figures) known(column string) figures {
	return slices.DeleteFunc(slices.Clone(f), func(row map[string]string) bool { return row[column] == "" })
}

// runsOf returns how many runs of a processor the rows of a setting have, from the fewest to the most.
func runsOf(runs figures, setting, processor string) string {
	count := map[string]int{}
	for _, row := range runs.where("setting", setting, "processor", processor) {
		count[row["signal"]+row["age"]]++
	}
	values := slices.Collect(maps.Values(count))
	if slices.Min(values) == slices.Max(values) {
		return strconv.Itoa(values[0])
	}
	return fmt.Sprintf("%d to %d", slices.Min(values), slices.Max(values))
}

// measurements returns the ratios of speed that a README lists for the large sets, by set and age.
func measurements(t *testing.T, text string) map[string]float64 {
	t.Helper()
	sets := []string{"hipstershop metrics", "hostandcollector metrics", "hipstershop traces", "astronomy logs", "cloudtrail logs", "k8sapps logs", "kafka logs", "webnodes logs"}
	found := map[string]float64{}
	rows := regexp.MustCompile(`\| (steady|first batch) \| [^|]* B \| [^|]* B \| x ([0-9.]+) \|`).FindAllStringSubmatch(text, -1)
	require.Len(t, rows, 2*len(sets))
	for i, row := range rows {
		speed, err := strconv.ParseFloat(row[2], 64)
		require.NoError(t, err)
		found[sets[i/2]+row[1]] = speed
	}
	return found
}

// TestProseMatchesRuns checks the figures of Pair, of new series, and of the codec alone against the
// published lists of runs.
func TestProseMatchesRuns(t *testing.T) {
	plain := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Join(strings.Fields(string(text)), " ")
	}
	here, root, exporter := plain(readme), plain(filepath.Join("..", readme)), plain(filepath.Join("..", "exporter", "stefexporter", readme))
	says := func(text, sentence string, values ...any) {
		t.Helper()
		if wanted := fmt.Sprintf(sentence, values...); !strings.Contains(text, wanted) {
			t.Errorf("the README does not say: %s", wanted)
		}
	}
	span := func(digits string, values []float64) string {
		return fmt.Sprintf("%"+digits+"f to %"+digits+"f", least(values), most(values))
	}

	span1 := func(values []float64) string {
		if least(values) == most(values) {
			return fmt.Sprintf("%.2f", values[0])
		}
		return span(".2", values)
	}

	runs := table(t, "pair-runs")
	of := func(setting, signal, age, column string) []float64 {
		return runs.where("setting", setting, "signal", signal, "age", age).known(column).column(t, column)
	}
	var first, none []string
	for _, signal := range []string{"metrics", "traces", "logs"} {
		for _, age := range []string{"steady", "first batch"} {
			speed := span(".2", of("default", signal, age, "speed"))
			says(here, "| %s | %s | %s | %s | %.2f | %.2f |", signal, age, speed, span(".2", of("default", signal, age, "worst speed")),
				most(of("default", signal, age, "bytes")), most(of("default", signal, age, "worst bytes")))
			says(root, "| %s | %s | %s times |", signal, age, speed)
		}
		says(root, "| %s | %.2f times | %s times | %.2f times | %s times |", signal,
			most(of("default", signal, "steady", "bytes")), span(".1", of("default", signal, "steady", "speed")),
			most(of("default", signal, "first batch", "bytes")), span(".1", of("default", signal, "first batch", "speed")))
		first = append(first, span(".2", of("-ballast 1024", signal, "first batch", "speed")))
		none = append(none, span(".2", of("-ballast 1024", signal, "steady", "speed")))
	}
	says(root, "two runs had %s (metrics), %s (traces) and %s times (logs) in the steady state, and %s (metrics), %s (traces) and %s times (logs) in first batches",
		none[0], none[1], none[2], first[0], first[1], first[2])
	const epyc, xeon = "AMD EPYC", "Intel Xeon"
	require.Equal(t, "11", runsOf(runs, "-ballast 1024", epyc)+runsOf(runs, "-ballast 1024", xeon), "two runs")
	says(root, "Each row has %s runs on the EPYC and %s on the Xeon", runsOf(runs, "default", epyc), runsOf(runs, "default", xeon))
	metricsOn := func(processor string) string {
		return span(".2", runs.where("setting", "default", "processor", processor, "signal", "metrics", "age", "steady").column(t, "speed"))
	}
	says(root, "In metrics, steady streams had %s times on the EPYC and %s times on the Xeon.", metricsOn(epyc), metricsOn(xeon))
	largest := func(age string) (values []float64) {
		for _, signal := range []string{"metrics", "traces", "logs"} {
			values = append(values, most(of("default", signal, age, "bytes")))
		}
		return values
	}
	says(here, "In the recordings %s times in steady streams, %s times in first batches", span(".2", largest("steady")), span(".2", largest("first batch")))
	require.Less(t, most(runs.where("setting", "default").known("worst bytes").column(t, "worst bytes")), 1.0, "fewer bytes on every recording")
	require.Less(t, most(table(t, "pair-sets").where("setting", "default").column(t, "bytes")), 1.0, "and on every large set")
	all := runs.where("setting", "default", "age", "steady").column(t, "speed")
	says(here, "move %s times the items per CPU second in steady streams", span(".1", all))
	says(here, "of one program | zstd | %.2f to %.2f |", 1/most(all), 1/least(all))

	settings := func(text, name, setting string, pairs bool) {
		t.Helper()
		row := "| `" + name + "` |"
		for _, signal := range []string{"metrics", "traces", "logs"} {
			at := func(age, column string) string {
				rows := runs.where("setting", setting, "processor", "AMD EPYC", "signal", signal, "age", age)
				if len(rows) == 0 {
					return ""
				}
				return rows[0][column]
			}
			switch {
			case at("steady", "speed") == "":
				row += " - | - |"
			case pairs:
				row += fmt.Sprintf(" %s, %s | %s, %s |", at("steady", "speed"), at("steady", "bytes"), at("first batch", "speed"), at("first batch", "bytes"))
			default:
				row += fmt.Sprintf(" %s, %s | %s, %s |", at("steady", "speed"), at("first batch", "speed"), at("steady", "bytes"), at("first batch", "bytes"))
			}
		}
		says(text, "%s", row)
	}
	for _, setting := range []string{"-schema full", "-schema full -mode ordered", "-optimize_for cpu", "-optimize_for bytes", "-level best"} {
		settings(here, setting, setting, false)
	}
	says(here, "smaller (%.2f times the bytes in the worst set)", most(of("-schema full -mode ordered", "metrics", "first batch", "worst bytes")))
	settings(exporter, "cpu", "-optimize_for cpu", true)
	settings(exporter, "balanced", "default", true)
	settings(exporter, "bytes", "-optimize_for bytes", true)

	sets := table(t, "pair-sets")
	steadySets := func(setting, set, column string) []float64 {
		return sets.where("setting", setting, "set", set, "age", "steady").column(t, column)
	}
	listed := measurements(t, exporter)
	var beside []float64
	for _, row := range sets.where("setting", "default") {
		if speed := listed[row["set"]+row["age"]]; speed > 0 {
			beside = append(beside, figures{row}.one(t, "speed")/speed)
		}
	}
	says(exporter, "In other runs on this processor, the ratios of speed were %s times these", span(".2", beside))
	const cpu, size = "-optimize_for cpu", "STEF B/item"
	var costs []float64
	dearest := 0.0
	for _, row := range sets.where("setting", "default", "run", "1", "age", "steady") {
		set := row["set"]
		if strings.HasPrefix(set, "large sets") {
			continue
		}
		costs = append(costs, measure.Median(steadySets(cpu, set, size))/measure.Median(steadySets("default", set, size)))
		cells := "| " + set
		for _, setting := range []string{"default", cpu} {
			cells += " | " + span1(steadySets(setting, set, "speed")) + "; " + span1(steadySets(setting, set, size))
		}
		cells += fmt.Sprintf(" | %.2f |", costs[len(costs)-1])
		if strings.HasSuffix(set, " logs") {
			dearest = max(dearest, costs[len(costs)-1])
		} else {
			require.Less(t, costs[len(costs)-1], 1.2, "a sixth at most")
		}
		says(exporter, "%s", cells)
	}
	require.Len(t, costs, 8)
	says(exporter, "it costs up to %.1f times the bytes", dearest)
	says(here, "but up to %.1f times the bytes on large sets of logs", dearest)
	says(exporter, "have %.1f bytes an item with `optimize_for: cpu` at level `default`, and %.1f with the defaults",
		steadySets("-optimize_for cpu -level default", "webnodes logs", size)[0], measure.Median(steadySets("default", "webnodes logs", size)))
	for name, setting := range map[string]string{"cpu": cpu, "balanced": "default"} {
		pairs, columns := "| `"+name+"`, large sets |", map[string]string{"cpu": "| `-optimize_for cpu`, large sets |", "balanced": "| the defaults, large sets |"}[name]
		for _, signal := range []string{"metrics", "traces", "logs"} {
			at := func(age, column string) string {
				return sets.where("setting", setting, "run", "1", "set", "large sets of "+signal, "age", age)[0][column]
			}
			pairs += fmt.Sprintf(" %s, %s | %s, %s |", at("steady", "speed"), at("steady", "bytes"), at("first batch", "speed"), at("first batch", "bytes"))
			columns += fmt.Sprintf(" %s, %s | %s, %s |", at("steady", "speed"), at("first batch", "speed"), at("steady", "bytes"), at("first batch", "bytes"))
		}
		says(exporter, "%s", pairs)
		says(here, "%s", columns)
	}

	series := table(t, "pair-new-series")
	fresh := func(setting, points, values, age, column string) []float64 {
		return series.where("setting", setting, "points of a series", points, "new values %", values, "age", age).column(t, column)
	}
	const remedy = "-schema full -mode ordered"
	says(here, "together move %s times OTLP's items per CPU second in the steady state, against %s in first batches", span(".2", fresh("default", "1", "10", "steady", "speed")), span(".2", fresh("default", "1", "10", "first batch", "speed")))
	says(here, "`stef::schema: full`**: %s times, for %.2f times the bytes", span(".2", fresh(remedy, "1", "10", "steady", "speed")), most(fresh(remedy, "1", "10", "steady", "bytes")))
	says(here, "it is %s times with the defaults and %s times with these settings, for %.2f times the bytes", span(".2", fresh("default", "1", "100", "steady", "speed")),
		span(".2", fresh(remedy, "1", "100", "steady", "speed")), most(fresh(remedy, "1", "100", "steady", "bytes")))
	for _, setting := range []string{"-mode ordered", "-schema full"} {
		for _, values := range []string{"10", "100"} {
			between := measure.Median(fresh(setting, "1", values, "steady", "speed"))
			require.Greater(t, between, measure.Median(fresh("default", "1", values, "steady", "speed")), setting)
			require.Less(t, between, measure.Median(fresh(remedy, "1", values, "steady", "speed")), setting)
		}
	}
	says(here, "the defaults have %s times OTLP's speed", span(".2", fresh("default", "20", "10", "steady", "speed")))

	lines := table(t, "pair-lines")
	line := func(setting, column string) string {
		return span(".2", lines.where("setting", setting, "age", "steady").column(t, column))
	}
	says(here, "move %s times OTLP's items per CPU second in the steady state, for %s times the bytes", line("default", "speed"), line("default", "bytes"))
	says(here, "With `stef::templates: on` it is %s times, for %s times the bytes", line("-templates on", "speed"), line("-templates on", "bytes"))
	says(here, "with `stef::optimize_for: cpu` it is %s times, for %s times the bytes", line(cpu, "speed"), line(cpu, "bytes"))

	codec := func(name, operation string) (values []float64) {
		for _, row := range table(t, "speed").where("compression", "none", "operation", operation, "format", name) {
			if recorded(row["set"]) && strings.HasSuffix(row["set"], " metrics") {
				values = append(values, figures{row}.one(t, "ratio"))
			}
		}
		require.Len(t, values, 5)
		return values
	}
	to, back := study.SerializeNative, study.DeserializeNative
	for row, name := range map[string]string{"compact, sorted (the default of the exporter)": "STEF sorted", "compact, in the order of the program": "STEF ordered", "full, sorted": "STEF full sorted"} {
		says(root, "| %s | %s times | %s times |", row, span(".2", codec(name, to)), span(".2", codec(name, back)))
	}
	shop := func(set, name, operation string) float64 {
		return table(t, "speed").where("compression", "none", "operation", operation, "format", name, "set", set+" metrics").one(t, "ratio")
	}
	says(here, "take %.3f and %.3f (hipstershop metrics), %.3f and %.3f (hostandcollector metrics)", shop("hipstershop", "STEF sorted", to), shop("hipstershop", "STEF sorted", back),
		shop("hostandcollector", "STEF sorted", to), shop("hostandcollector", "STEF sorted", back))
	says(here, "in the full form %.3f and %.3f, %.3f and %.3f", shop("hipstershop", "STEF full sorted", to), shop("hipstershop", "STEF full sorted", back),
		shop("hostandcollector", "STEF full sorted", to), shop("hostandcollector", "STEF full sorted", back))

	one := table(t, "size-parts").where("set", "go metrics")
	says(here, "on the recorded go metrics %.2f times as large", one.where("format", "STEF full sorted").one(t, "own")/one.where("format", "OTLP").one(t, "zstd-stream"))
}

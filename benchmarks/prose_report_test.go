// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/study"
)

// elsewhere lists sentences, and beginnings of tables, whose figures are in no result file. The
// pages say how and when these figures were measured. The comments below name their source.
var elsewhere = []string{
	"the writer of a stream keeps 1.7 MiB at level `fastest`, 2.7 MiB at `default` (metrics: from the first large frame on) and 35.5 MiB at `best`; the reader keeps 1.5 MiB",   // a benchmark that docs/compact-form.md names
	"1.00 to 1.11 times the bytes in steady streams, and 0.93 to 1.07 times in first batches", "templates cost up to 8 % of the bytes on one recording and save 7 % on another", // printed by BenchmarkPair -compare templates=off
	"0.77 times the bytes with exemplars in a steady stream, and 0.26 without", // measured by a user
	"1.44 to 2.86 times the bytes of `otlp_proto`",                             // the README of the extension
	"so that the producer compresses: [0.83 to 1.04 times]",
	"0.22 to 1.09 times over all measured sizes",
	"and both ends together [0.68 to 1.06 times]", "the sum of both ends at [0.68 to 1.06 times OTLP's]", "and [0.68 to 1.06 times](collectors.md) the CPU of both ends", "batches in the queue of the exporter, as we advise ([figures](collectors.md)) | 0.36 to 0.37, 0.58 and 0.57 times | 0.92 to 1.03, 0.68 to 0.93 and 0.91 to 1.06 times |", "(all Apache-2.0), cloudtrail", "| run | metrics | traces | logs |", // three runs of make rivals
	"an agent had [1.01 to 1.06 times]",                                // the README of the exporter
	"the recordings, long and short, have 1.12 to 2.4 times the bytes", // docs/threat-model.md
	"Ordered metrics had 0.96 times the bytes of sorted ones. As one batch, the sender took 0.83 times OTLP's CPU for ordered metrics, and 1.26 times for sorted ones.", // measured by a reader
	"compression took 3.3 and 4.6 times as long.", "Logs had 0.92 times the bytes of one zstd context.", "In the full form, these logs had 0.96 times",
	"a request of the program | 0.228 | 0.458 | 0.462 |", // printed by stef convert
	"10 to 34 items on average | 0.17 | 0.37 | 0.36 |",   // printed by make demo
	"as above | 0.14 | 0.34 | 0.33 |",
	"a request of the program | 0.23 to 0.24 | 0.44 to 0.45 | 0.45 to 0.46 |", // the README of the exporter
	"about five batches in all | 0.49 to 0.65 | 0.59 to 0.62 | 0.66 to 0.74 |",
	"had 1.74 (metrics) and 1.09 (logs) in the worst set on another EPYC", // measured by a reader
	"OTLP took 0.27 to 0.65 times as long, and the sender's conversion in a steady stream 2.79, 2.57 and 1.69 times OTLP's CPU; with zstd 0.66, 0.87 and 1.02 times", // a run of the part ages
	"The command took 54 s for the three recordings of node on an idle machine", "those of one STEF stream at 0.02 and 2 ms [vary](transport.md): ten runs had 1,644 and 1,651 batches/s", "Pair has 0.40, 0.55 and 0.48 times the bytes of OTLP, and [whole Collectors](collectors.md) 0.36, 0.57 and 0.56",
	"In an earlier run, ratios of CPU differed by up to 0.21, and those of `best` by up to 0.75. The highest ratio of `best` was then 3.6.",
	"repeat within 0.01", "a *repeated* one of 0.4 bytes an item 0.4 times more", "plan with 0.68 to 1.06 times",
	"items of all programs | zstd | 0.92 to 1.03 (metrics), 0.68 to 0.93 (traces), 0.91 to 1.06 (logs), three runs |",

	"recorded metrics: 1.04 to 2.4 times the bytes of zstd in the steady state",    // printed by BenchmarkPair
	"| `optimize_for` | metrics | traces | logs |",                                 // the part frontier of the report, without the large sets
	"| | 10 batches/s, p50 |",                                                      // BenchmarkAcknowledgement
	"| signal | protocol | items | bytes an item |",                                // make rivals
	"0.49 to 0.78 (metrics), 0.40 to 0.74 (traces), 0.62 to 0.85 (logs): six runs", // make demo
	"Pair saves 2.0 µs an item on the Xeon",
	"Pair has 2.3 µs for OTLP and 1.0 for STEF",
	"73.5 and 107.7 an item in one case",
	"| command | batches | level of zstd | bytes, STEF / OTLP |", // measured by a reader
	"metrics of another user had 0.92 times (2026-11-26)",
	"The rows of STEF at 0.02 and 2 ms vary", // no figures, but names of rows
	"240 batches in 0.1 to 0.3 s",
	"| round trip | way | batches/s | batches/CPU s |",                                  // BenchmarkTransport
	"0.88 to 1.32 times their bytes in Parquet, sorted, and 0.85 to 2.5 times in Arrow", // measured beside an earlier schema of the tables, which is no longer in the code
	"Bars are cut at 1.6",
	"Differences below 0.1 in *both* and 0.2 in *protocol alone* are noise",
	"a user had 0.98 for metrics, and 0.82 for logs with a spread of 19 %",
	"had 2.15, 2.24 and 2.72 times the speed of OTLP in three runs", // measured by a reader
	"such ratios were 0.95 to 1.13 on a machine with other work",    // printed by BenchmarkPair
	"a user had 1.23 with a spread of 18.5 % in three rounds. So differences of speed below 0.15",
	"and 0.92 times in a run of a user",
	"`fastest` costs 3 to 8 % of the bytes (single recordings: 1.7 to 10 %)",                                                                                                                                                                                                                                                                                                                                                                      // -bench Levels
	"had 0.69 times the bytes in a steady stream and 0.71 times in natural batches",                                                                                                                                                                                                                                                                                                                                                               // measured by a reader
	"a user's ordered metrics had 0.94 times the bytes of sorted ones there, and 1.13 times in natural batches",                                                                                                                                                                                                                                                                                                                                   // measured by a reader
	"0.080, 0.385 and 0.354 times OTLP for the recordings of node (metrics, traces, logs), instead of 0.083, 0.393 and 0.368",                                                                                                                                                                                                                                                                                                                     // printed by stef stat and stef convert
	"v0.1.1 has 4.4 % fewer bytes than v0.0.9 (hipstershop metrics, sorted) to 1.4 % more",                                                                                                                                                                                                                                                                                                                                                        // a run of the parts size-parts and size-big
	"| quantity | formula | constant | source |",                                                                                                                                                                                                                                                                                                                                                                                                  // make deployment
	"| in a steady stream | metrics | traces | logs |",                                                                                                                                                                                                                                                                                                                                                                                            // a report that is not published
	"| batches, streams | metrics | traces | logs |", "have 0.02 to 0.05 times OTLP's bytes more than streams of 12 minutes", "for go metrics in larger batches: 0.475 instead of 0.414 times", "It prints 0.56 times the bytes of OTLP for the first batch, and 0.23 to 0.24 times in the steady state", "raises the ratio of bytes by up to 0.05 (metrics) and 0.03 (traces and logs) in the mean, and by 0.06 and 0.04 in the worst recording", // TestLifetime
	"a user had 0.42 and 0.43 for metrics and logs",      // runs on a busy machine
	"4.9 to 5.9 µs an item",                              // docs/scale.md
	"a user's runs on another machine had 4.33 and 6.48", // metrics of node
	"they moved 1.46 and 1.83 times OTLP's items",        // with a level of logs that the exporter no longer has
}

var signals = []string{"metrics", "traces", "logs"}

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// sizes checks what the pages say about the tables of bytes.
func (b book) sizes(t *testing.T) {
	items, logs := batchesOf(t, "metrics", "traces"), batchesOf(t, "logs")
	largest := thousands(most(items))
	b.here.says(t, "their batches have %.0f to %s (metrics and traces) and %.0f to %.0f items (logs)", least(items), largest, least(logs), most(logs))
	b.here.says(t, "a sixteenth of a recording, %.0f to %s items of one program", least(logs), largest)
	b.root.says(t, "a batch has a sixteenth of a recording, %.0f to %s items", least(logs), largest)

	b.here.says(t, "The eight sets have %s to %s and %.1f to %.1f MB of OTLP", largeSets(t)...)

	metrics, traces, ordered := ratios(t, "metrics", "size-parts", "STEF sorted"), ratios(t, "traces", "size-parts", "STEF sorted"), ratios(t, "logs", "size-parts", "STEF ordered")
	b.root.says(t, "the recordings have %.2f to %.2f (metrics), %.2f to %.2f (traces) and %.2f to %.2f times (logs) the bytes of OTLP",
		least(metrics), most(metrics), least(traces), most(traces), least(ordered), most(ordered))
	b.here.says(t, "recordings, each | from the beginning | a request of the program | %s | %s | %s |", span(".2", metrics), span(".2", traces), span(".2", ordered))
	b.here.says(t, "the whole recording | %s | %s | %s |", span(".2", ratios(t, "metrics", "size-big", "STEF sorted")),
		span(".2", ratios(t, "traces", "size-big", "STEF sorted")), span(".2", ratios(t, "logs", "size-big", "STEF ordered")))
	parts, big := beside(t, "size-parts"), beside(t, "size-big")
	b.here.says(t, "has %.2f to %.2f times its bytes on the %d sets of metrics and traces in natural batches, and %.2f to %.2f in one big batch",
		least(parts), most(parts), len(parts), least(big), most(big))
	b.here.holds(t, most(parts) < 1 && most(big) < 1, "It is smaller than other settings of STEF on these sets (bytes of STEF divided by those of the reference):")
	b.here.says(t, "| ordered, compact form | %s | %s |", larger(t, "size-parts", "STEF ordered"), larger(t, "size-big", "STEF ordered"))
	b.here.says(t, "| sorted, full form | %s | %s |", larger(t, "size-parts", "STEF full sorted"), larger(t, "size-big", "STEF full sorted"))

	var order []float64
	above := 0
	for _, bytes := range sizes(t, "size-parts") {
		order = append(order, bytes["STEF ordered"]/bytes["STEF sorted"])
		if order[len(order)-1] > 1.1 {
			above++
		}
	}
	b.here.says(t, "ordered ones have %.2f to %.2f times their bytes in [natural batches](formats.md#size), %.2f times in the median of the %d sets, and more than 1.1 times on %d of them",
		least(order), most(order), measure.Median(order), len(order), above)

	arrow := func(name string) (values []float64) {
		for set, bytes := range sizes(t, name) {
			if of, ok := bytes["Otel Arrow"]; ok && recorded(set) && strings.HasSuffix(set, " metrics") {
				values = append(values, of/bytes["OTLP"])
			}
		}
		return values
	}
	b.here.says(t, "on the same recordings %.2f to %.2f times in the [natural batches](formats.md#size)", least(arrow("size-parts")), most(arrow("size-parts")))
	var all []float64
	for _, bytes := range sizes(t, "size-parts") {
		if of, ok := bytes["Otel Arrow"]; ok {
			all = append(all, of/bytes["OTLP"])
		}
	}
	b.here.says(t, "with its defaults, it has %.2f to %.2f times the bytes of OTLP in [natural batches]", least(all), most(all))
	b.here.says(t, "In one big batch, Otel Arrow has %.2f to %.2f times", least(arrow("size-big")), most(arrow("size-big")))

	otlp := table(t, "size-parts").where("format", "OTLP")
	gzip, zstd := otlp.column(t, "gzip"), otlp.column(t, "zstd")
	var smaller []float64
	for i := range gzip {
		if gzip[i] < zstd[i] {
			smaller = append(smaller, gzip[i]/zstd[i])
		}
	}
	b.marshalled(t)
	b.here.says(t, "on %d of all %d sets it is smaller, by up to %.0f %%", len(smaller), len(gzip), math.Ceil(100*(1-least(smaller))))
	inOne := func(name string) (values []float64) {
		rows := table(t, name)
		for _, row := range rows {
			if form := row["format"]; recorded(row["set"]) && (form == "STEF sorted" || form == "STEF ordered") {
				values = append(values, figures{row}.one(t, "own")/rows.where("set", row["set"], "format", "OTLP").one(t, "zstd-stream"))
			}
		}
		return values
	}
	b.here.says(t, "a stream in the compact form has %s times its bytes on the recordings of the repository in natural batches, and %s times as one batch", span(".2", inOne("size-parts")), span(".2", inOne("size-big")))
	one := table(t, "size-parts").where("set", "go metrics")
	b.here.says(t, "%.2f times as large on the recorded go metrics", one.where("format", "STEF full sorted").one(t, "own")/one.where("format", "OTLP").one(t, "zstd-stream"))
}

// marshalled compares the recorded bytes of OTLP with those of pdata's marshaler.
func (b book) marshalled(t *testing.T) {
	t.Helper()
	recorded := map[string]float64{}
	for _, row := range table(t, "sets") {
		recorded[strings.TrimSuffix(row["set"], " (R)")] = figures{row}.one(t, "OTLP bytes as recorded")
	}
	more, of := map[string]float64{}, []float64{}
	for _, row := range table(t, "size-parts").where("format", "OTLP") {
		set := strings.TrimSuffix(row["set"], " (R)")
		more[set] = 100 * (figures{row}.one(t, "none")/recorded[set] - 1)
		of = append(of, more[set])
	}
	b.here.says(t, "%.1f %% fewer for node traces, %.1f %% more for python logs, and between these for the others", -more["node traces"], more["python logs"])
	require.InDelta(t, more["node traces"], least(of), 0)
	require.InDelta(t, more["python logs"], most(of), 0)
}

// largeSets returns the minimum and the maximum of two sizes of the large sets: items and
// megabytes.
func largeSets(t *testing.T) []any {
	t.Helper()
	var items, megabytes []float64
	var names []string
	for _, row := range table(t, "sets") {
		if !recorded(row["set"]) {
			items = append(items, figures{row}.one(t, "items"))
			megabytes = append(megabytes, figures{row}.one(t, "OTLP bytes as recorded")/1e6)
			names = append(names, strings.TrimSuffix(row["set"], " (R)"))
		}
	}
	require.Len(t, items, 8)
	of := func(n float64) string { return names[slices.Index(items, n)] }
	return []any{fmt.Sprintf("%s (%s)", thousands(least(items)), of(least(items))), fmt.Sprintf("%s items (%s)", thousands(most(items)), of(most(items))), least(megabytes), most(megabytes)}
}

// larger lists the sets on which a format of STEF needs more bytes than the reference
// implementation in its better mode.
func larger(t *testing.T, name, stef string) words {
	t.Helper()
	var sets []string
	for set, bytes := range sizes(t, name) {
		of, ok := bytes["STEF reference ordered"]
		if sorted, has := bytes["STEF reference sorted"]; has {
			of = min(of, sorted)
		}
		if v := bytes[stef] / of; ok && v > 1.005 {
			sets = append(sets, fmt.Sprintf("%s %.2f", strings.TrimSuffix(set, " (R)"), v))
		}
	}
	return list(sets)
}

func list(all []string) words {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return words(strings.Join(all, ", "))
}

// ages checks what the pages say about converters by the age of a stream.
func (b book) ages(t *testing.T) {
	summary := table(t, "ages-summary")
	to, back := study.SerializeFromPdata, study.DeserializeToPdata
	each := func(age, operation, column string) (values []float64) {
		for _, signal := range signals {
			values = append(values, summary.where("signal", signal, "age", age, "operation", operation).one(t, column))
		}
		return values
	}
	first := each("first batch", to, "zstd")
	b.here.says(t, "the converter alone takes %.1f to %.1f times OTLP's CPU with zstd at the sender (medians of the signals; %.1f times in the worst recording; a user's runs on another machine had 4.33 and 6.48), and up to %.2f times at the receiver",
		least(first), most(first), most(each("first batch", to, "zstd, worst")), most(each("first batch", back, "zstd, worst")))
	none := each("first batch", to, "none")
	b.here.says(t, "The first batch takes %.1f (metrics), %.1f (traces) and %.1f times (logs) at the sender in the median of the sets, and %.1f times in the worst (logs)",
		none[0], none[1], none[2], most(each("first batch", to, "none, worst")))
	steady, returned := each("steady", to, "zstd"), each("steady", back, "zstd")
	b.here.says(t, "converting to STEF takes %.2f (metrics), %.2f (traces) and %.2f times (logs) OTLP's CPU, and back %.2f, %.2f and %.2f times (medians of the sets)",
		steady[0], steady[1], steady[2], returned[0], returned[1], returned[2])
	b.here.holds(t, least(steady) > least(returned) && most(steady) > most(returned), "most of the saving is at the receiver:")
	b.here.holds(t, each("steady", to, "zstd, worst")[2] > 1, "the sender alone may take more CPU than OTLP, mostly with logs")
	plain, plainBack := each("steady", to, "none"), each("steady", back, "none")
	b.here.says(t, "the sender's conversion takes %.2f (metrics), %.2f (traces) and %.2f times (logs) OTLP's CPU in a steady stream", plain[0], plain[1], plain[2])
	b.here.says(t, "In a steady stream the receiver's conversion takes %.2f, %.2f and %.2f times OTLP's CPU.", plainBack[0], plainBack[1], plainBack[2])
	b.here.holds(t, least(plain) > 1, "Without compression STEF saves bytes, not CPU of the sender.")

	type sender struct {
		set   string
		ratio float64
	}
	var large, others []sender
	for _, row := range table(t, "ages").where("age", "steady", "operation", to) {
		set := strings.TrimSuffix(row["set"], " (R)")
		if name, ok := strings.CutSuffix(set, " logs"); !ok {
			others = append(others, sender{set, figures{row}.one(t, "sorted ")})
		} else if !recorded(set) {
			large = append(large, sender{name, figures{row}.one(t, "ordered ")})
		}
	}
	rising := func(a, b sender) int { return int(math.Copysign(1, a.ratio-b.ratio)) }
	slices.SortFunc(large, rising)
	require.Len(t, large, 5)
	var texts []string
	for _, s := range large {
		texts = append(texts, fmt.Sprintf("%s %.2f", s.set, s.ratio))
	}
	highest := slices.MaxFunc(others, rising)
	b.here.says(t, "With the first 4,096 items of the five large sets of logs, in rising order, the sender had %s; of the sets of metrics and traces, %s has the highest ratio, %.2f.",
		words(strings.Join(texts, ", ")), words(highest.set), highest.ratio)
}

// speed checks what the pages say about the converters over whole streams.
func (b book) speed(t *testing.T) {
	speed := table(t, "speed").where("operation", study.SerializeFromPdata)
	zstd := speed.where("compression", "zstd")
	sorted, inOrder := zstd.where("format", "STEF sorted").column(t, "ratio"), zstd.where("format", "STEF ordered").column(t, "ratio")
	b.here.says(t, "the sender took %.2f (sorted, %.2f to %.2f) and %.2f times (ordered, %.2f to %.2f), medians of %d sets",
		measure.Median(sorted), least(sorted), most(sorted), measure.Median(inOrder), least(inOrder), most(inOrder), len(sorted))
	none := speed.where("compression", "none")
	both := slices.Concat(none.where("format", "STEF sorted").column(t, "ratio"), none.where("format", "STEF ordered").column(t, "ratio"))
	b.here.says(t, "Converting to STEF takes %.2f to %.2f times as long on these sets, beginnings of streams included", least(both), most(both))

	timed := func(set, name string) float64 {
		return zstd.where("set", set+" metrics", "format", name).one(t, "ratio")
	}
	const shop, host = "hipstershop", "hostandcollector"
	compact := func(set string) float64 { return min(timed(set, "STEF sorted"), timed(set, "STEF ordered")) }
	b.here.says(t, "ordered, measured here | %.2f | %.2f |", timed(shop, "STEF reference ordered"), timed(host, "STEF reference ordered"))
	b.here.says(t, "the better mode | %.2f | %.2f |", compact(shop), compact(host))
	b.here.says(t, "| sender: STEF in the full form, sorted | %.2f | %.2f |", timed(shop, "STEF full sorted"), timed(host, "STEF full sorted"))
	quoted := func(set, operation, column string) float64 {
		return table(t, "proposal-speed").where("set", set, "compression", "zstd", "operation", operation).one(t, column)
	}
	own := func(set, operation string) float64 {
		return quoted(set, operation, "STEF, reference") / quoted(set, operation, "STEF unsorted, reference")
	}
	var senders, receivers []any // first the figures of the later version of the reference, then ours
	for _, column := range []string{"STEF unsorted, reference", "STEF ordered, here"} {
		for _, set := range []string{shop, host} {
			senders = append(senders, quoted(set, study.SerializeFromPdata, column))
			receivers = append(receivers, quoted(set, study.DeserializeToPdata, column))
		}
	}
	cheaper := func(a, b []any) bool { return a[0].(float64) < b[0].(float64) && a[1].(float64) < b[1].(float64) }
	b.here.says(t, "| sender: reference, later version, ordered, its own figures | %.2f | %.2f |", senders[:2]...)
	b.here.says(t, "| sender: STEF in the compact form, ordered | %.2f | %.2f |", senders[2:]...)
	b.here.says(t, "| receiver: reference, later version, ordered, its own figures | %.2f | %.2f |", receivers[:2]...)
	b.here.says(t, "| receiver: STEF in the compact form, ordered | %.2f | %.2f |", receivers[2:]...)
	b.here.holds(t, cheaper(senders[:2], senders[2:]) && cheaper(receivers[2:], receivers[:2]), "a later version takes less CPU to send, and more to receive, than ordered STEF")
	b.here.says(t, "takes less CPU than ours: %.2f and %.2f times OTLP's, ours %.2f and %.2f times", senders...)
	b.here.says(t, "its sorted mode takes %.1f and %.1f times the CPU of the ordered mode at the sender, and %.2f and %.2f times at the receiver",
		own(shop, study.SerializeFromPdata), own(host, study.SerializeFromPdata), own(shop, study.DeserializeToPdata), own(host, study.DeserializeToPdata))

	version := words(referenceVersion(t))
	b.here.says(t, "(sets for reporting; reference implementation of STEF: %s)", version)
	b.here.says(t, "is timed here at %s, in its ordered mode.", version)
	b.here.says(t, "| sender: reference %s, ordered, measured here |", version)
	b.here.says(t, "with its defaults, %s in the published pages and figures;", version)
	b.releasing.says(t, "are of %s. The contrib receiver v0.144.0 uses v0.0.9.", version)

	var charts []any
	for _, signal := range signals {
		charts = append(charts, table(t, "frontier-"+signal).where("choice", "STEF optimize_for balanced").one(t, "bytes"))
	}
	b.here.says(t, "converters alone | a request of the program | %.2f | %.2f | %.2f |", charts...)
	var converters []any
	for _, signal := range signals {
		converters = append(converters, table(t, "frontier-"+signal).where("choice", "STEF optimize_for balanced").one(t, "CPU"))
	}
	b.here.says(t, "(the charts) | %.2f, %.2f and %.2f times | %.2f, %.2f and %.2f times |", append(slices.Clone(charts), converters...)...)
	b.here.says(t, "whose batches are larger: %.2f instead of %.2f times OTLP's for metrics", charts[0],
		most(table(t, "pair-runs").where("setting", "default", "signal", "metrics", "age", "steady").known("bytes").column(t, "bytes")))

	var bytes, cpu []float64
	for _, signal := range signals {
		gzip := table(t, "frontier-"+signal).where("choice", "OTLP gzip")
		bytes, cpu = append(bytes, gzip.one(t, "bytes")), append(cpu, gzip.one(t, "CPU"))
	}
	b.here.says(t, "OTLP with gzip has %.2f to %.2f times the bytes of OTLP with zstd", least(bytes), most(bytes))
	b.here.says(t, "and %.2f to %.2f times its CPU ([index.txt]", least(cpu), most(cpu))
	b.releasing.says(t, "with which OTLP takes %.2f to %.2f times the CPU of zstd", least(cpu), most(cpu))
}

// shapes checks what the pages say about generated telemetry that varies in one dimension.
func (b book) shapes(t *testing.T) {
	shapes := table(t, "shapes")
	to := map[string][]float64{}
	above := map[string]int{}
	var rows, receivers []string
	for _, row := range shapes {
		v := figures{row}.one(t, "to STEF")
		name := row["dimension"] + " " + row["value"]
		to[row["signal"]] = append(to[row["signal"]], v)
		if v > 1 {
			above[row["signal"]]++
			if row["signal"] == "logs" {
				rows = append(rows, fmt.Sprintf("%s: %.2f", name, v))
			}
		}
		if back := (figures{row}).one(t, "to pdata"); back > 1 {
			receivers = append(receivers, fmt.Sprintf("%s with %s: %.2f", row["signal"], name, back))
		}
	}
	metrics, traces, logs := to["metrics"], to["traces"], to["logs"]
	b.here.says(t, "it took %.2f to %.2f times (metrics; %.2f if no series repeats), %.2f to %.2f (traces), %.2f to %.2f (logs).", least(metrics), most(metrics),
		shapes.where("signal", "metrics", "dimension", "points per series", "value", "1").one(t, "to STEF"), least(traces), most(traces), least(logs), most(logs))
	b.here.says(t, "The ratio is above 1 in %d of the %d rows of metrics, in %d of the %d of traces, and in %d of the %d of logs (these rows of logs: %s).",
		above["metrics"], len(metrics), above["traces"], len(traces), above["logs"], len(logs), list(rows))
	b.here.says(t, "The receiver takes more CPU than OTLP in these rows: %s.\n", list(receivers))

	fresh := func(value string) (bytes []any) {
		for _, signal := range signals {
			bytes = append(bytes, shapes.where("signal", signal, "dimension", "share of new strings", "value", value).one(t, "bytes"))
		}
		return bytes
	}
	b.here.says(t, "bytes are %.2f (metrics), %.2f (traces) and %.2f (logs) times OTLP's, against %.2f, %.2f and %.2f with 10 %%", append(fresh("1"), fresh("0.1")...)...)

	var small, bytes, stef, otlp []float64
	for _, signal := range signals {
		at := func(value, column string) float64 {
			return shapes.where("signal", signal, "dimension", "items per batch", "value", value).one(t, column)
		}
		small, bytes = append(small, at("10", "to STEF")), append(bytes, at("10", "bytes"))
		otlp = append(otlp, at("10", "OTLP B/item")/at("8000", "OTLP B/item"))
		stef = append(stef, otlp[len(otlp)-1]*at("10", "bytes")/at("8000", "bytes"))
	}
	b.here.says(t, "converting to STEF takes %.1f to %.1f times OTLP's CPU for %.2f to %.2f times the bytes. An item has %.1f to %.1f times as many bytes as in batches of 8,000 (OTLP: %.1f to %.1f times)",
		least(small), most(small), least(bytes), most(bytes), least(stef), most(stef), least(otlp), most(otlp))
}

// logs checks what the pages say about templates.
func (b book) logs(t *testing.T) {
	var cpu, bytes []float64
	for _, level := range []string{"fastest", "default"} {
		choice := func(name, column string) float64 {
			return table(t, "frontier-logs").where("choice", name+" zstd "+level).one(t, column)
		}
		cpu = append(cpu, choice("STEF ordered", "CPU")/choice("STEF ordered, templates", "CPU"))
		bytes = append(bytes, choice("STEF ordered", "bytes")/choice("STEF ordered, templates", "bytes"))
	}
	b.here.says(t, "both ends take %.2f to %.2f times the CPU without templates (`stef::templates: off`), for %.2f to %.2f times the bytes",
		least(cpu), most(cpu), least(bytes), most(bytes))
	var costs []float64
	lines := table(t, "pair-lines").where("age", "steady")
	for _, on := range lines.where("setting", "-templates on") {
		off := lines.where("setting", "-templates off", "lines", on["lines"]).one(t, "STEF ns/item")
		costs = append(costs, (figures{on}.one(t, "STEF ns/item")-off)/1000)
	}
	b.here.says(t, "costs CPU at both ends: together %.1f to %.1f µs for a generated line", least(costs), most(costs))
}

// transport checks what the pages say about clients and servers over gRPC.
func (b book) transport(t *testing.T) {
	heap := table(t, "heap")
	mib := func(way, column string) float64 { return heap.where("way", way).one(t, column) }
	tens := func(way string) string { return whole(10 * math.Round(mib(way, "median MiB")/10)) }
	const ten, one, many, single = "STEF, 10 streams", "STEF, 1 stream", "OTLP unary, 20 concurrent", "OTLP unary, sequential"

	b.here.says(t, "In the report, %.1f MiB were left after the 10 streams were closed,", mib(ten, "left after, MiB"))
	rate := func(way string) string { return thousands(mib(way, "batches/s")) }
	b.here.says(t, "| STEF, 10 streams | some %s | %.0f | %s |", tens(ten), mib(ten, "most MiB"), rate(ten))
	b.here.says(t, "| STEF, one stream | some %s | %.0f | %s |", tens(one), mib(one, "most MiB"), rate(one))
	b.here.says(t, "| OTLP, 20 concurrent requests | some %s | %.0f | %s |", tens(many), mib(many, "most MiB"), rate(many))
	b.here.says(t, "| OTLP, sequential requests | %.0f | %.0f | %s |", mib(single, "median MiB"), mib(single, "most MiB"), rate(single))

	line := func(way, compression string) float64 {
		return most(table(t, "workers").where("round trip", "0 ms", "way", way, "compression", compression).column(t, "wire B/event"))
	}
	stef, otlp := line(one, "zstd"), line(single, "zstd")
	b.here.holds(t, whole(line(single, "none")/otlp) == "9", "zstd alone makes OTLP nine times smaller for generated lines")
	b.here.says(t, "so STEF saves little: %.2f times the bytes, %.0f a line instead of %.0f", stef/otlp, stef, otlp)
	var moved, sequential, concurrent, streams []float64
	for _, rows := range []figures{table(t, "workers").where("server workers", "1"), table(t, "workers").where("server workers", "8"), table(t, "workers-latency")} {
		rows = rows.where("round trip", "0 ms", "compression", "zstd")
		stream := rows.where("way", one)
		for _, row := range rows {
			if way := row["way"]; strings.HasPrefix(way, "OTLP") {
				of := func(column string) float64 { return stream.one(t, column) / figures{row}.one(t, column) }
				moved = append(moved, of("events/s"))
				if way == single {
					sequential = append(sequential, of("events/CPU s"))
				} else {
					concurrent = append(concurrent, of("events/CPU s"))
				}
			}
		}
		if several := rows.where("way", "STEF, 8 streams"); len(several) > 0 {
			streams = append(streams, several.one(t, "events/s")/rows.where("way", "OTLP unary, 64 concurrent").one(t, "events/s"))
		}
	}
	b.here.says(t, "one stream with zstd moves %s times the events/s of OTLP, and %s times its events per CPU second beside sequential requests, %s times beside concurrent ones",
		span(".2", moved), span(".2", sequential), span(".2", concurrent))
	b.here.says(t, "several streams (%s times the events/s of 64 requests with 8 streams)", span(".2", streams))
	length := regexp.MustCompile(`generated log records of ([\d,]+) bytes on average`).FindStringSubmatch(document(t, published, "workers.txt").text)
	require.Len(t, length, 2)
	b.here.says(t, "for generated lines of about %s bytes, so STEF", length[1])
	b.here.says(t, "Generated logs of about %s bytes, events per second", length[1])
}

// collectors checks what the pages say about whole Collectors. The table in collectors.md is from
// the first run.
func (b book) collectors(t *testing.T) {
	runs := table(t, "rivals-runs")
	var both []any
	for _, signal := range signals {
		both = append(both, span(".2", runs.where("signal", signal).column(t, "both, OTLP = 1")))
	}
	b.here.says(t, "CPU %s (metrics), %s (traces) and %s times (logs) in six runs (differences below 0.1 are noise, even on an idle machine)", both...)
	b.here.says(t, "or those of 200 ms | zstd | %s (metrics), %s (traces), %s (logs) |", both...)
	b.root.says(t, "mostly in bytes. CPU is %s (metrics), %s (traces) and %s times (logs) that of OTLP", both...)
	logs := runs.where("signal", "logs").column(t, "both, OTLP = 1")
	require.True(t, least(logs) > 0.9 && most(logs) < 1.1, "logs, within the noise")
	for run, text := range []string{"", "had %s, %s and %s (three rounds)", "and %s, %s and %s with level `detailed`",
		"had %s, %s and %s (five rounds),", "%s, %s and %s (eight rounds),", "and %s, %s and %s (five rounds, the third run)."} {
		if run > 0 {
			var of []any
			for _, signal := range signals {
				of = append(of, runs.where("run", strconv.Itoa(run+1), "signal", signal)[0]["both, OTLP = 1"])
			}
			b.here.says(t, text, of...)
		}
	}

	rows := map[string][]float64{} // the columns from "bytes an item" to "both"
	var each []float64
	for _, m := range regexp.MustCompile(`(?m)^\| (metrics|traces|logs) \| ([^|]+) \| \d{3,} \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|`).FindAllStringSubmatch(b.here.text, -1) {
		var row []float64
		for _, cell := range m[3:] {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			row = append(row, v)
		}
		rows[m[1]+" "+m[2]] = row
		if strings.HasPrefix(m[2], "OTLP") || m[2] == "STEF" {
			each = append(each, row[1:3]...)
		}
	}
	require.Len(t, rows, 18)
	var agents, arrow []float64
	for _, signal := range signals {
		arrow = append(arrow, rows[signal+" Otel Arrow, v0.145.0"][3])
		stef, otlp := rows[signal+" STEF"], rows[signal+" OTLP/gRPC zstd"]
		agents = append(agents, stef[1]/otlp[1])
		both = append(both, fmt.Sprintf("%.2f", stef[0]/otlp[0]))
		if first := runs.where("run", "1", "signal", signal)[0]["both, OTLP = 1"]; first != fmt.Sprintf("%.2f", stef[3]) {
			t.Errorf("%s: the table of Collectors has %.2f for %s, and rivals-runs.csv %s", b.here.file, stef[3], signal, first)
		}
	}
	b.here.says(t, "[whole Collectors](collectors.md) took %.2f to %.2f times the CPU of OTLP with it.", least(arrow), most(arrow))
	b.here.says(t, "machine), and %.2f to %.2f times in the agent alone, in one run", least(agents), most(agents))
	b.here.says(t, "| %s, %s and %s times | %s, %s and %s times |\n| exporter", append(slices.Clone(both[3:]), both[:3]...)...)
	b.here.says(t, "bytes %s (metrics), %s (traces) and %s times (logs), and [", both[3:]...)
	b.here.says(t, "up to 8,192 items, or those of 200 ms | %s | %s | %s |", both[3:]...)
	b.root.says(t, "In six runs, agent and backend together used this fraction of the CPU of OTLP: %s (metrics), %s (traces) and %s (logs). Differences below 0.1 are noise, even on an idle machine. "+
		"In one of these runs, the streams between the two had %s, %s and %s times the bytes of OTLP", both...)
	sum := func(name string) float64 { return rows["metrics "+name][1] + rows["metrics "+name][2] }
	idle, otlp, stef := sum("no exporter"), sum("OTLP/gRPC zstd"), sum("STEF")
	b.here.says(t, "In whole Collectors the protocol alone has %.1f and %.1f µs, and the reception of OTLP and batching, %.1f µs, are equal for both.", otlp-idle, stef-idle, idle)
	var saved []float64
	for _, run := range table(t, "pair-runs").where("setting", "default", "processor", epyc, "signal", "metrics", "age", "steady").known("STEF items/CPU s") {
		run := figures{run}
		saved = append(saved, 1e6/run.one(t, "OTLP items/CPU s")-1e6/run.one(t, "STEF items/CPU s"))
	}
	b.here.says(t, "and %s on the EPYC (%d runs), and `make rivals` %.1f.", span(".1", saved), len(saved), otlp-stef)
	b.deployment.says(t, "measure %.1f to %.1f µs an item", least(each), most(each))
}

// studies checks what the pages quote from the studies of sampling and of the SDK.
func (b book) studies(t *testing.T) {
	legs := func(name string) (values []float64) {
		rows := table(t, name)
		for _, stef := range rows.where("legs", "stef") {
			otlp := rows.where("processors", stef["processors"], "legs", "otlp")
			values = append(values, figures{stef}.one(t, "CPU s/million spans")/otlp.one(t, "CPU s/million spans"))
		}
		return values
	}
	long, limit := legs("sampling-1"), legs("sampling-2")
	b.here.says(t, "| gzip | %.2f to %.2f; %.2f to %.2f at the limit of two cores |", least(long), most(long), least(limit), most(limit))

	var stef, otlp []float64
	for _, name := range []string{"sdk-4", "sdk-6"} { // the runs with the simple span processor
		rows := table(t, name)
		stef = append(stef, rows.where("exporter", "STEF gRPC").one(t, "median")/1e6)
		otlp = append(otlp, rows.where("exporter", "OTLP gRPC").one(t, "median")/1e6, rows.where("exporter", "OTLP HTTP").one(t, "median")/1e6)
	}
	b.here.says(t, "%.2f and %.2f ms a span over gRPC, OTLP %.2f to %.2f", stef[0], stef[1], least(otlp), most(otlp))

	// The first page of the report (index) must repeat the rules about the round trip of the page
	// workers.
	var shared []string
	for _, rule := range bullets(t, "workers.txt") {
		if strings.Contains(rule, "round trip") {
			shared = append(shared, "Logs of about 1,137 bytes, "+rule)
		}
	}
	require.NotEmpty(t, shared)
	require.Subset(t, bullets(t, "index.txt"), shared)
}

// bullets returns the rules of a page in results, each on one line.
func bullets(t *testing.T, name string) (rules []string) {
	for _, paragraph := range strings.Split(document(t, published, name).text, "\n\n") {
		if rule, ok := strings.CutPrefix(paragraph, "• "); ok {
			rules = append(rules, strings.Join(strings.Fields(rule), " "))
		}
	}
	return rules
}

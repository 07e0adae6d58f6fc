// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	largest := fmt.Sprintf("%d,%03d", int(most(items))/1000, int(most(items))%1000)
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
	says(here, "%.1f to %.1f times OTLP's CPU with zstd, and %.1f times in the worst recording", least(first("zstd")), most(first("zstd")), most(first("zstd, worst")))
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
	says(plain(filepath.Join(published, "size.txt")), "Compression: %s", format.Describe())
}

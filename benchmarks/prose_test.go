// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/report"
)

// book is the pages whose sentences cite the results: the tables of the report, and the tables of
// single runs.
type book struct{ here, root, exporter, releasing, deployment, compact *page }

// older is the page of measurements that the report does not repeat.
const older = "converters.md"

// TestProse compares sentences of these pages, the READMEs and docs with the files in results. A new report that
// changes a figure fails here: `go test -run TestProse . -update` in this folder writes the new
// figures into the sentences. Sentences that still fail need other words. A figure of these pages that is
// neither compared nor in the list elsewhere fails, too.
func TestProse(t *testing.T) {
	b := book{
		here:       documents(t, slices.DeleteFunc(pageNames(t), func(name string) bool { return name == older })...),
		root:       document(t, "..", readme),
		exporter:   document(t, "..", "exporter", "stefexporter", readme),
		releasing:  document(t, "..", "docs", "releasing.md"),
		deployment: document(t, "..", "docs", "deployment.md"),
		compact:    document(t, "..", "docs", "compact-form.md"),
	}
	b.sizes(t)
	b.ages(t)
	b.speed(t)
	b.shapes(t)
	b.logs(t)
	b.transport(t)
	b.collectors(t)
	b.studies(t)
	b.pair(t)
	b.gzip(t)
	b.settings(t)
	b.sets(t)
	b.generated(t)
	b.codec(t)
	oneLine := func(name string) string {
		return strings.Join(strings.Fields(document(t, published, name).text), " ")
	}
	require.Contains(t, oneLine("size.txt"), "Compression: "+format.Describe())
	b.here.holds(t, strings.Contains(oneLine("speed.txt"), "the first 4,096 items of each set."), "the ages of converters use the first 4,096 items of each set")
	b.here.holds(t, strings.Contains(oneLine("speed.txt"), "of each set, the first 16,384 metrics, spans or log records are timed"), "The tables of speed use the first 16,384 metrics, spans or log records")
	pages := []*page{b.here, b.root, b.exporter, b.releasing, b.deployment, b.compact}
	if *update {
		for _, p := range pages {
			p.save(t)
		}
		return
	}
	docs, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	require.NoError(t, err)
	for _, file := range docs {
		if p := document(t, file); !slices.ContainsFunc(pages, func(of *page) bool { return of.file == p.file }) {
			pages = append(pages, p)
		}
	}
	for _, p := range pages {
		for _, figure := range p.unchecked(p == b.here, elsewhere) {
			t.Errorf("%s: no sentence with this figure is compared with the results: add the sentence to the test, or to elsewhere if no result file has the figure", figure)
		}
	}
	for _, text := range elsewhere {
		if !slices.ContainsFunc(pages, func(p *page) bool { return regexp.MustCompile(literal(text)).MatchString(p.text) }) {
			t.Errorf("elsewhere: no page says: %s", text)
		}
	}
	if t.Failed() {
		t.Log("to write the figures of the results into the sentences: cd benchmarks && go test -run TestProse . -update")
	}
}

type figures []map[string]string

func table(t *testing.T, name string) figures {
	t.Helper()
	rows, err := report.ReadTable(published, name)
	require.NoError(t, err)
	return rows
}

// where returns the rows with the given values. pairs alternates names of columns and values.
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

// referenceVersion returns the version of the reference implementation that the published report measured.
func referenceVersion(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`splunk/stef/go (v[0-9.]+), its own`).FindStringSubmatch(document(t, published, "data.txt").text)
	require.NotNil(t, found)
	return found[1]
}

// recorded reports whether a set is a recording of the repository.
func recorded(title string) bool {
	name, _, _ := strings.Cut(title, " ")
	return slices.Contains([]string{"collector", "go", "java", "node", "python"}, name)
}

// sizes returns the bytes by set and format, with the smaller of the two results for zstd.
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

// ratios returns the bytes of a format of STEF relative to OTLP for the recordings of a signal.
func ratios(t *testing.T, signal, sizesOf, name string) []float64 {
	t.Helper()
	var values []float64
	for set, bytes := range sizes(t, sizesOf) {
		if recorded(set) && strings.HasSuffix(set, " "+signal) {
			values = append(values, bytes[name]/bytes["OTLP"])
		}
	}
	require.NotEmpty(t, values)
	return values
}

// beside returns the bytes of sorted STEF in the compact form relative to the better mode of
// the reference implementation, for all sets that this implementation can encode.
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

// batchesOf returns the sizes of the batches that BenchmarkPair makes of the recordings of some
// signals.
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

// thousands writes a whole number with a comma before the last three digits.
func thousands(v float64) string {
	n := int(math.Round(v))
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// known returns the rows that have a value in the column.
func (f figures) known(column string) figures {
	return slices.DeleteFunc(slices.Clone(f), func(row map[string]string) bool { return row[column] == "" })
}

// runsOf returns the number of runs on a processor with a setting. If it differs between
// signals and ages, runsOf returns a range.
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/streamconf"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// only selects variants by a part of their names. Use it for heap profiles: these have no labels
// that tell the variants apart.
var only = flag.String("variants", "", "measure the variants whose names contain this")

var schemaName = flag.String("schema", "", "stef::schema of the exporter: compact (default), full, reference")

var level = flag.String("level", "", "stef::compression_level of the exporter: auto (default), fastest, default, better, best")

var mode = flag.String("mode", "", "stef::mode of the exporter: sorted, ordered; the default is sorted for metrics and traces, ordered for logs")

var optimizeFor = flag.String("optimize_for", "", "stef::optimize_for of the exporter: balanced (default), cpu, bytes; -level, -mode and -templates have precedence over what it sets")

var templates = flag.String("templates", "", "stef::templates of the exporter: auto (default), on, off")

var compareWith = flag.String("compare", "", "measure STEF with these settings, too, in the same rounds; commas separate them, and a plus sign joins settings: mode=ordered,schema=full+level=default")

var ballastMiB = flag.Int("ballast", 0, "live heap in MiB beside exporter and receiver, as in a busy Collector, where garbage collections are rare")

// ballast enlarges the live heap. It is never read.
var ballast []byte

var results Results

// found are the sets that BenchmarkPair could measure.
var found []dataset.Ref

func TestMain(m *testing.M) {
	flag.Parse()
	err := cmp.Or(checkArguments(flag.Args(), *ballastMiB), setFlags(*schemaName, *level, *mode, *templates, *optimizeFor))
	if err == nil {
		compared, err = parseSettings(*compareWith)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ballast = make([]byte, *ballastMiB<<20)
	if len(selected(Variants)) == 0 {
		fmt.Fprintf(os.Stderr, "-variants %s matches no variant; the variants are %s, %s and %s\n", *only, STEF.Name, OTLP.Name, OTLPGzip.Name)
		os.Exit(2)
	}
	code := dataset.Main(m)
	bench := flag.Lookup("test.bench").Value.String()
	if code == 0 && len(results.all) == 0 && strings.Contains(bench, "Pair") {
		fmt.Fprintln(os.Stderr, noMatch(bench, found))
		code = 1
	}
	if len(results.all) > 0 && *only == "" {
		fmt.Printf("\n%s\n", Note())
		results.print()
	}
	if len(generated.all) > 0 {
		generated.print()
	}
	for _, rs := range []*Results{&results, &generated} {
		if line := rs.Failures(); line != "" {
			fmt.Printf("\n%s\n", line)
		}
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// checkArguments returns an error if the ballast is negative, or if arguments follow the
// flags: package flag ignores these arguments.
func checkArguments(words []string, ballastMiB int) error {
	if len(words) > 0 {
		return fmt.Errorf("%q has no flag before it; write, for example, -level best", words[0])
	}
	if ballastMiB < 0 {
		return fmt.Errorf("-ballast: %d is below 0", ballastMiB)
	}
	return nil
}

// TestCheckArguments checks that a forgotten flag and a negative ballast are refused.
func TestCheckArguments(t *testing.T) {
	require.NoError(t, checkArguments(nil, 0))
	require.ErrorContains(t, checkArguments([]string{"best"}, 0), `"best" has no flag before it`)
	require.ErrorContains(t, checkArguments(nil, -5), "-ballast: -5 is below 0")
}

func (rs *Results) print() {
	tables := []*report.Table{rs.Table()}
	if !rs.made && !rs.Single() {
		tables = append(tables, rs.Summary())
	}
	if t := rs.Comparison(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	for _, t := range tables {
		fmt.Println()
		_ = t.WriteMarkdown(os.Stdout)
	}
	for _, line := range append(rs.Warnings(), Noise) {
		fmt.Printf("\n%s\n", line)
	}
}

func setFlags(schema, level, mode, templates, optimize string) error {
	base = settings{stefexporter.Optimization(optimize), streamconf.Schema(schema), level, streamconf.Mode(mode), streamconf.Templates(templates)}
	return base.validate()
}

// TestSetFlags checks that invalid values of flags are refused, and that -optimize_for
// has the effect of stef::optimize_for in the exporter.
func TestSetFlags(t *testing.T) {
	defer func(s settings) { base = s }(base)
	require.NoError(t, setFlags("", "", "", "", ""))
	byDefault := STEF.exporterConfig("").Stef
	require.Equal(t, streamconf.ModeConfig{Traces: streamconf.Sorted, Metrics: streamconf.Sorted, Logs: streamconf.Ordered}, byDefault.Mode)
	require.NoError(t, setFlags("full", "best", "ordered", "on", ""))
	set := STEF.exporterConfig("").Stef
	require.Equal(t, streamconf.ModeConfig{Traces: streamconf.Ordered, Metrics: streamconf.Ordered, Logs: streamconf.Ordered}, set.Mode)
	require.Equal(t, streamconf.Full, set.Schema)
	require.Equal(t, "best", set.CompressionLevel)
	require.Equal(t, streamconf.TemplatesOn, set.Templates)

	for _, o := range []stefexporter.Optimization{stefexporter.OptimizeCPU, stefexporter.OptimizeBalanced, stefexporter.OptimizeBytes} {
		require.NoError(t, setFlags("", "", "", "", string(o)))
		read := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config)
		require.NoError(t, confmap.NewFromStringMap(map[string]any{"endpoint": "localhost:4317", "tls": map[string]any{"insecure": true},
			"stef": map[string]any{"optimize_for": string(o)}}).Unmarshal(read))
		set, read.Stef.Compression = STEF.exporterConfig("").Stef, STEF.compression
		require.Equal(t, read.Stef, set)
	}
	require.NotEqual(t, byDefault, set)
	require.NoError(t, setFlags("", "better", "sorted", "auto", "cpu"))
	set = STEF.exporterConfig("").Stef
	require.Equal(t, "better", set.CompressionLevel, "a setting has precedence")
	require.Equal(t, streamconf.Sorted, set.Mode.Metrics)
	require.Equal(t, streamconf.TemplatesAuto, set.Templates)

	require.ErrorContains(t, setFlags("", "huge", "", "", ""), "-level: ")
	require.ErrorContains(t, setFlags("ful", "", "", "", ""), "-schema: ")
	require.ErrorContains(t, setFlags("", "", "sort", "", ""), "-mode: ")
	require.ErrorContains(t, setFlags("", "", "", "maybe", ""), "-templates: ")
	require.ErrorContains(t, setFlags("", "", "", "", "size"), "-optimize_for: ")
}

// noMatch explains why no benchmark matches a pattern of -bench. go test splits the pattern and
// the name at slashes, and compares their parts by position.
func noMatch(bench string, refs []dataset.Ref) string {
	places := []string{"set", "signal", "age"}
	valid := make([][]string, len(places))
	var sets []string
	for _, ref := range refs {
		for i, part := range strings.Split(nameOf(ref, Steady), "/") {
			if !slices.Contains(valid[i], part) {
				valid[i] = append(valid[i], part)
			}
		}
		sets = append(sets, ref.Title())
	}
	valid[2] = nil
	for _, age := range Ages {
		valid[2] = append(valid[2], "age="+ageName(age))
	}
	text := fmt.Sprintf("-bench %s matches no set. Names have this form and order: Pair/set=node/signal=metrics/age=steady", bench)
	parts := strings.Split(bench, "/")[1:]
	for i, part := range parts {
		if i >= len(places) {
			return text + fmt.Sprintf("; remove %q", part)
		}
		pattern, err := regexp.Compile(part)
		if err != nil || !slices.ContainsFunc(valid[i], pattern.MatchString) {
			return text + fmt.Sprintf(". At the place of the %s, %q matches none of: %s", places[i], part, strings.Join(valid[i], ", "))
		}
	}
	return text + ". No set has this name and this signal; the sets are: " + strings.Join(sets, ", ")
}

func TestNoMatch(t *testing.T) {
	f := func(want, bench string) {
		t.Helper()
		got := noMatch(bench, dataset.Recorded())
		require.Contains(t, got, "-bench "+bench+" matches no set. ")
		require.Contains(t, got, want)
	}
	f(`At the place of the age, "age=stedy" matches none of: age=first, age=steady, age=repeated`, "Pair/set=node/signal=metrics/age=stedy")
	f(`At the place of the signal, "age=steady" matches none of: signal=metrics, signal=traces, signal=logs`, "Pair/set=node/age=steady")
	f(`At the place of the set, "signal=logs" matches none of: set=collector, set=go, set=java, set=node, set=python`, "Pair/signal=logs")
	f("No set has this name and this signal; the sets are: collector metrics, ", "Pair/set=collector/signal=logs")
	f(`; remove "compression=zstd"`, "Pair/set=node/signal=logs/age=first/compression=zstd")
}

// nameOf returns the name of a benchmark without the prefix Pair/.
func nameOf(ref dataset.Ref, age Age) string {
	return fmt.Sprintf("set=%s/signal=%s/age=%s", ref.Name, ref.Signal, ageName(age))
}

func ageName(age Age) string { return strings.Fields(string(age))[0] }

func selected(variants []Variant) []Variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v Variant) bool { return !strings.Contains(v.Name, *only) })
}

// BenchmarkPair measures every variant once in each round.
func BenchmarkPair(b *testing.B) {
	found = dataset.Refs(b)
	for _, ref := range found {
		others, same := comparisons(ref.Signal)
		var batches []otlpfile.Batch
		for _, age := range Ages {
			passed := b.Run(nameOf(ref, age), func(b *testing.B) {
				if batches == nil {
					loaded := Batches(ref.Load(b))
					check(b, ref.Signal, loaded, others...)
					batches = loaded
				}
				r := results.Of(ref, age)
				r.Sent(batches)
				variants := selected(Variants)
				if age != Repeated { // Repeated is not realistic, so it does not show which setting is better
					r.With(others, same)
					variants = selected(slices.Concat(Variants, others))
				}
				b.ResetTimer()
				for b.Loop() {
					r.Measure(variants, func(v Variant) Cost { return Round(b, v, age, ref.Signal, batches) })
				}
				b.ReportMetric(0, "ns/op") // prints no time: it would cover all variants, and work between rounds
				for _, v := range variants {
					b.ReportMetric(r.median(v, Cost.PerItem), v.Name+"-cpu-ns/item")
					b.ReportMetric(r.median(v, Cost.WirePerItem), v.Name+"-B/item")
					b.ReportMetric(r.median(v, Cost.AllocsPerItem), v.Name+"-allocs/item")
				}
			})
			if !passed {
				results.Fail(ref, age, b.Name()+"/"+nameOf(ref, age))
			}
		}
	}
}

// check requires that each variant delivers all items.
func check(tb testing.TB, signal otlpfile.Signal, batches []otlpfile.Batch, others ...Variant) {
	tb.Helper()
	want := dataset.Items(signal, batches)
	for _, v := range slices.Concat(Variants, others) {
		var mu sync.Mutex
		var got []otlpfile.Batch
		p := startPair(tb, v, signal, func(b otlpfile.Batch) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, b)
		})
		p.sendAll(tb, batches...)
		p.stop(tb)
		require.Empty(tb, canon.Diff(want, dataset.Items(signal, got)), v.Name)
	}
}

// TestPair checks content and size with the short recordings. The benchmark
// measures speed.
func TestPair(t *testing.T) {
	most := map[otlpfile.Signal]float64{otlpfile.Metrics: 0.72, otlpfile.Traces: 0.82, otlpfile.Logs: 0.82}
	var rs Results
	for _, ref := range dataset.Bundled() {
		batches := Batches(ref.Load(t))
		check(t, ref.Signal, batches)
		for _, age := range Ages {
			r := rs.Of(ref, age)
			r.Sent(batches)
			r.Measure(Variants, func(v Variant) Cost { return Pass(t, v, age, ref.Signal, batches) })
			require.Less(t, r.Size(OTLP), map[bool]float64{true: 1.1, false: most[ref.Signal]}[age == First], "%s, %s", ref.Title(), age)
		}
	}
	table := rs.Table()
	require.Len(t, table.Rows, 9)
	require.Equal(t, "items/batch", table.Columns[2].Name)
	for _, row := range table.Rows {
		require.Greater(t, row[2], 1, "batches of several items")
	}
	require.Len(t, rs.Summary().Rows, 18, "all of the repository, and those for reporting")
}

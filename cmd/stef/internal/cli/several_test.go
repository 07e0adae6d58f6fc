// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
)

// With {signal}, several inputs become one file for each of their signals.
func TestSeveralInputsBySignal(t *testing.T) {
	dir, logs := folder(t)
	traces := filepath.Join(dir, fixtures.TracesName)
	require.NoError(t, os.WriteFile(traces, fixtures.Traces(), 0o666))
	stef := filepath.Join(dir, "logs.stef")
	mustRun(t, nil, "convert", "--quiet", logs, stef)
	lines := func(args ...string) []string {
		out, _ := mustRun(t, nil, append([]string{"cat"}, args...)...)
		return strings.Split(out, "\n")
	}

	out := filepath.Join(t.TempDir(), "all-{signal}.stef")
	_, stderr := mustRun(t, nil, "convert", "--mode", "ordered", logs, traces, stef, out)
	require.Equal(t, []string{"all-logs.stef", "all-traces.stef"}, list(t, filepath.Dir(out)))
	require.True(t, slices.Equal(lines(traces), lines(strings.ReplaceAll(out, "{signal}", "traces"))))
	require.Equal(t, 2*2446+1, len(lines(strings.ReplaceAll(out, "{signal}", "logs"))))
	require.Regexp(t, `^3 files, [0-9,]+ bytes\n.*all-traces.stef: stef, 132 frames, [0-9,]+ bytes, [0-9,]+ spans\n`, stderr)
	require.Regexp(t, `\n2 files, [0-9,]+ bytes, ratio [0-9.]+ in [0-9.]+ s\n$`, stderr)

	code, _, stderr := run(nil, "convert", logs, traces, out)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, ": "+strings.ReplaceAll(out, "{signal}", "traces")+" exists; --force overwrites it\n")
	mustRun(t, nil, "convert", "--force", "--quiet", logs, traces, out)
	require.True(t, slices.Equal(lines(logs), lines(strings.ReplaceAll(out, "{signal}", "logs"))))

	// After an error, none of the output files exists.
	none := filepath.Join(t.TempDir(), "all-{signal}.stef")
	cut := filepath.Join(dir, "cut.stef")
	whole, err := os.ReadFile(stef)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)-1], 0o666))
	code, _, stderr = run(nil, "convert", traces, cut, none)
	require.Equal(t, cli.ExitData, code, stderr)
	require.Empty(t, list(t, filepath.Dir(none)))
	stderr = mustSkip(t, nil, traces, cut, none)
	require.Equal(t, 1, strings.Count(stderr, "not complete: "), stderr)
	require.Contains(t, stderr, "; everything complete before the cut was converted, and the rest is lost\n")

	code, _, stderr = run(nil, "convert", "--signal", "logs", logs, traces, none)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "--signal and {signal} do not go together")
	code, _, stderr = run(nil, "convert", logs, "-", none)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "{signal} reads its input several times, which standard input does not allow: write it to a file first, or convert one signal, with --signal\n")

	// Several inputs of one signal have a ratio, too.
	_, stderr = mustRun(t, nil, "convert", logs, stef, filepath.Join(dir, "both.stef"))
	require.Regexp(t, `both.stef: stef, 240 frames, [0-9,]+ bytes, ratio [0-9.]+\n`, stderr)
}

// The reference schema has no logs. This is an error only if one of several inputs has logs.
func TestSeveralInputsWithoutLogs(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string]string{
		"a.json": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`,
		"b.json": `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}`,
		"l.json": `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"l"}}]}]}]}`,
		"e.json": "",
	} {
		require.NoError(t, os.WriteFile(path(name), []byte(content), 0o666))
	}
	mustRun(t, nil, "convert", "--quiet", path("l.json"), path("l.stef"))
	mustRun(t, nil, "convert", "--quiet", path("a.json"), path("a.stef"))
	out := filepath.Join(t.TempDir(), "all-{signal}.stef")
	mustRun(t, nil, "convert", "--schema", "reference", path("a.json"), path("b.json"), path("e.json"), path("a.stef"), out)
	require.Equal(t, []string{"all-metrics.stef", "all-traces.stef"}, list(t, filepath.Dir(out)))
	for _, logs := range []string{"l.json", "l.stef"} {
		code, _, stderr := run(nil, "convert", "--force", "--schema", "reference", path("a.json"), path(logs), out)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, "there is no reference schema of logs: use --schema full\n")
	}
}

// A conversion to a table counts the parts and the losses, as a conversion to a stream does.
func TestTablesCountParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	metrics := filepath.Join(dir, fixtures.MetricsName)
	require.NoError(t, os.WriteFile(metrics, fixtures.Metrics(), 0o666))
	for _, out := range []string{"m.stef", "m.parquet", "m.arrow"} {
		_, stderr := mustRun(t, nil, "convert", metrics, filepath.Join(dir, out))
		require.Contains(t, stderr, ": otlp-parts, 168 parts, ", out)
		require.Contains(t, stderr, "not kept: 10 resources, scopes or metrics without items\n", out)
	}
	_, stderr := mustRun(t, nil, "convert", metrics, metrics, filepath.Join(dir, "two.stef"))
	require.Contains(t, stderr, "not kept: 20 resources, scopes or metrics without items\n")

	// A conversion to OTLP keeps messages without items only if there is one input.
	_, stderr = mustRun(t, nil, "convert", metrics, filepath.Join(dir, "one.json"))
	require.NotContains(t, stderr, "not kept")
	for _, args := range [][]string{{"two.json"}, {"two.otlp"}, {"--signal", "metrics", "signal.json"}} {
		out := filepath.Join(dir, args[len(args)-1])
		_, stderr = mustRun(t, nil, append(append([]string{"convert", metrics, metrics}, args[:len(args)-1]...), out)...)
		require.Regexp(t, `: otlp-\w+, 316 (messages|parts), `, stderr)
		require.Contains(t, stderr, "not kept: 20 resources, scopes or metrics without items\n")
	}

	// The loss is in the metrics, so only the note about the output of metrics reports it.
	traces, mixed := filepath.Join(dir, fixtures.TracesName), filepath.Join(dir, "mixed.otlp.zst")
	require.NoError(t, os.WriteFile(traces, fixtures.Traces(), 0o666))
	require.NoError(t, os.WriteFile(mixed, append(fixtures.Metrics(), fixtures.Traces()...), 0o666))
	for _, in := range [][]string{{metrics, traces}, {mixed}} {
		for _, end := range []string{".stef", ".parquet", ".json"} {
			if end == ".json" && len(in) == 1 {
				continue // with one input, a conversion to JSON keeps messages without items
			}
			out := filepath.Join(t.TempDir(), "all-{signal}"+end)
			_, stderr := mustRun(t, nil, append(append([]string{"convert"}, in...), out)...)
			require.Equal(t, 1, strings.Count(stderr, "not kept"), stderr)
			require.Contains(t, stderr, "not kept in "+strings.ReplaceAll(out, "{signal}", "metrics")+": 10 resources, scopes or metrics without items\n")
		}
	}
}

// The size of OTLP on the wire is the size of the items in the encoding of pdata. It does not
// depend on the encoding in the file.
func TestRequestsAreThoseOfPdata(t *testing.T) {
	dir := t.TempDir()
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("m")
	point := m.SetEmptyGauge().DataPoints().AppendEmpty()
	point.SetIntValue(7)
	message, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	// longer is the same message, but it repeats the empty schema URL of the resource 1000
	// times.
	body := message[2:] // after the tag and the length of the resource
	body = append(body[:len(body):len(body)], strings.Repeat("\x1a\x00", 1000)...)
	longer := binary.AppendUvarint([]byte{message[0]}, uint64(len(body)))
	longer = append(longer, body...)
	wire := regexp.MustCompile(`on the wire as OTLP, zstd for each request: 1 request of 1 item, [0-9,]+ bytes`)
	var lines []string
	for name, content := range map[string][]byte{"a.pb": message, "b.pb": longer} {
		in := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(in, content, 0o666))
		for _, mode := range []string{"sorted", "ordered"} {
			_, stderr := mustRun(t, nil, "convert", "--force", "--signal", "metrics", "--mode", mode, in, filepath.Join(dir, "x.stef"))
			lines = append(lines, wire.FindString(stderr))
		}
	}
	require.NotEmpty(t, lines[0])
	for _, l := range lines {
		require.Equal(t, lines[0], l)
	}
}

// With {signal}, one input of any format becomes the file of its signal.
func TestOneInputBySignal(t *testing.T) {
	t.Parallel()
	m := newMistakes(t)
	want, _ := mustRun(t, nil, "cat", "--sort-keys", m.metrics)
	for _, end := range []string{"stef", "parquet", "arrow", "pb"} {
		in, dir := m.path("one."+end), t.TempDir()
		if end == "stef" {
			in = m.metrics
		} else {
			mustRun(t, nil, "convert", m.metrics, in)
		}
		_, stderr := mustRun(t, nil, "convert", in, filepath.Join(dir, "x-{signal}.otlp"))
		require.Equal(t, []string{"x-metrics.otlp"}, list(t, dir))
		require.Contains(t, stderr, "x-metrics.otlp: otlp-parts, ")
		require.Regexp(t, `\n1 file, [0-9,]+ bytes, [^\n]* in [0-9.]+ s\n$`, stderr)
		got, _ := mustRun(t, nil, "cat", "--sort-keys", filepath.Join(dir, "x-metrics.otlp"))
		require.Equal(t, want, got, end)
	}
	logs := m.logs()
	m.fails(cli.ExitUsage, "there is no reference schema of logs: use --schema full", "convert", "--schema", "reference", logs, m.path("r-{signal}.stef"))
	content, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	cut := m.file("cut.stef", content[:len(content)-1])
	code, _, stderr := run(nil, "convert", cut, m.path("c-{signal}.json"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; stef repair copies the whole frames before it, and stef convert --skip converts them\n")
	require.NoFileExists(t, m.path("c-metrics.json"))
}

// The last lines that convert prints say what the output lacks, also with {signal}.
func TestLossesLast(t *testing.T) {
	m := newMistakes(t)
	content, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	cut := m.file("cut.stef", content[:len(content)-1])
	stderr := mustSkip(t, nil, cut, m.metrics, m.json, m.path("a-{signal}.stef"))
	require.Regexp(t, `\n2 files, [0-9,]+ bytes, [^\n]*\nnot complete: [^\n]*\n$`, stderr)
	mustRun(t, fixtures.Metrics(), "convert", "--quiet", "-", m.path("m.otlp")) // has empty metrics
	_, stderr = mustRun(t, nil, "convert", m.path("m.otlp"), m.path("b-{signal}.stef"))
	require.Regexp(t, `\n1 file, [0-9,]+ bytes, [^\n]*\nnot kept in [^\n]*\n$`, stderr)
}

// The sizes of an input and an output that have different items are not compared.
func TestNoRatioOfSkipped(t *testing.T) {
	m := newMistakes(t)
	large := m.file("large.json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"`+strings.Repeat("a", 9<<20)+`"}},{"body":{"stringValue":"a"}}]}]}]}`))
	for _, args := range [][]string{{m.path("a.stef")}, {m.path("a-{signal}.stef")}, {large, m.path("b.stef")}} {
		stderr := mustSkip(t, nil, append([]string{"--force", large}, args...)...)
		require.Contains(t, stderr, "left out: ")
		require.NotContains(t, stderr, "ratio")
		require.NotContains(t, stderr, "on the wire as OTLP")
	}
	stderr := mustSkip(t, nil, large, m.path("c.stef"))
	require.Regexp(t, `c.stef: stef, 1 frame, [0-9,]+ bytes\n1 log record in `, stderr)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/lake"
	stef "github.com/otelstef/stef/stef-go"
)

// mistakes is a folder with files of all signals. The field both names a file with spans and logs.
type mistakes struct {
	t                                *testing.T
	dir                              string
	metrics, spans, json, both, tape string
	parquet                          string
}

// The first test that needs these files converts the recording, for all tests.
var (
	convertOnce           sync.Once
	onceSTEF, onceParquet []byte
)

func newMistakes(t *testing.T) *mistakes {
	m := &mistakes{t: t, dir: t.TempDir()}
	convertOnce.Do(func() {
		in, out := m.path("once.stef"), m.path("once.parquet")
		mustRun(t, fixtures.Metrics(), "convert", "-", in)
		mustRun(t, nil, "convert", in, out)
		for path, content := range map[string]*[]byte{in: &onceSTEF, out: &onceParquet} {
			var err error
			*content, err = os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
		}
	})
	m.metrics = m.file("metrics.stef", onceSTEF)
	m.spans = m.file("spans.stef", spans(t))
	m.json = m.file("logs.json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}}]}]}]}`+"\n"))
	m.both = m.file("both.json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`+"\n"+
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}}]}]}]}`))
	m.tape = m.file("traces.otlp", fixtures.Traces())
	m.parquet = m.file("metrics.parquet", onceParquet)
	return m
}

func (m *mistakes) path(name string) string { return filepath.Join(m.dir, name) }

func (m *mistakes) file(name string, content []byte) string {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.path(name), content, 0o666))
	return m.path(name)
}

// fails runs a command line and checks that the first line of errors, without the folder, is
// want. After the run, out.stef must not exist.
func (m *mistakes) fails(code int, want string, args ...string) {
	m.t.Helper()
	got, _, stderr := run(nil, args...)
	require.Equal(m.t, code, got, stderr)
	first, _, _ := strings.Cut(stderr, "\n")
	require.Equal(m.t, "stef "+args[0]+": "+want, strings.ReplaceAll(first, m.dir+string(filepath.Separator), ""))
	require.NoFileExists(m.t, m.path("out.stef"))
}

func TestMistakesOfSignals(t *testing.T) {
	m := newMistakes(t)
	out := m.path("out.stef")
	m.fails(cli.ExitUsage, "an output has one signal, but metrics.stef has metrics and spans.stef has traces: --signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal", "convert", m.metrics, m.spans, out)
	for _, in := range []string{m.metrics, m.parquet} {
		m.fails(cli.ExitUsage, filepath.Base(in)+": it holds metrics, not traces: leave --signal out", "convert", "--signal", "traces", in, out)
		m.fails(cli.ExitUsage, filepath.Base(in)+": it holds metrics, not logs: leave --root out", "stat", "--root", "logs", in)
	}
	m.fails(cli.ExitUsage, "metrics.stef: it holds metrics, not traces: leave --root out", "convert", "--root", "spans", m.metrics, m.path("out.json"))
	for _, command := range [][]string{{"convert", m.tape, out}, {"cat", m.tape}, {"stat", m.tape}, {"convert", m.tape, m.path("out.json")}} {
		m.fails(cli.ExitUsage, "traces.otlp: it holds traces, not metrics: leave --signal out", append(command, "--signal", "metrics")...)
	}
	m.fails(cli.ExitUsage, "--root metrics and --signal traces contradict each other: leave one out", "cat", "--root", "metrics", "--signal", "spans", m.spans)
	m.fails(cli.ExitUsage, "--signal is for records of OpenTelemetry: with --schema, use --root instead", "cat", "--schema", m.file("shop.stef", []byte(shopSchema)), "--signal", "spans", m.spans)
	m.fails(cli.ExitUsage, "metrics.stef: it announces the schema of OpenTelemetry metrics: leave --schema out", "cat", "--schema", m.path("shop.stef"), m.metrics)
	for _, flags := range [][]string{{"--root", "traces"}, {"--signal", "spans"}, {"--root", "spans", "--signal", "traces"}} {
		mustRun(t, nil, append([]string{"cat", m.spans}, flags...)...)
		mustRun(t, nil, append([]string{"convert", "--force", m.spans, out}, flags...)...)
		require.NoError(t, os.Remove(out))
	}
	for _, command := range [][]string{{"convert", m.both, out}, {"cat", m.both}, {"stat", m.both}} {
		code, _, stderr := run(nil, command...)
		require.Equal(t, cli.ExitUsage, code, stderr)
		require.Contains(t, stderr, "; --signal metrics, traces or logs ")
	}
	m.fails(cli.ExitUsage, "both.json holds traces and logs: run replay with --signal, once for each signal", "replay", m.both)
}

// In every format, inputs of another signal than --signal are skipped. If all inputs would be
// skipped, convert returns an error.
func TestOtherSignals(t *testing.T) {
	m := newMistakes(t)
	out := m.path("out.stef")
	logs, _ := mustRun(t, nil, "cat", m.json)
	stream, err := os.ReadFile(m.logs())
	require.NoError(t, err)
	inputs := []string{m.json, m.path("logs.stef"), m.path("logs.parts"), m.path("logs.pb"), m.path("logs.parquet"), m.path("logs.arrow"), m.file("logs.bin", message(stream))}
	for _, in := range inputs[2:6] {
		mustRun(t, nil, "convert", m.json, in)
	}
	spans, _ := mustRun(t, nil, "cat", m.spans)
	for _, in := range inputs {
		for _, names := range [][]string{{in, m.spans}, {m.spans, in}} {
			_, stderr := mustRun(t, nil, append([]string{"convert", "--force", "--signal", "traces"}, append(names, out)...)...)
			require.Contains(t, stderr, "skipped: 1 log record, which --signal traces excludes\n")
			got, _ := mustRun(t, nil, "cat", out)
			require.Equal(t, spans, got)
		}
		require.NoError(t, os.Remove(out))
		m.fails(cli.ExitUsage, "the files hold logs, not traces: leave --signal out", "convert", "--signal", "traces", in, in, out)
		m.fails(cli.ExitUsage, filepath.Base(in)+": it holds logs, not traces: leave --signal out", "convert", "--signal", "traces", in, out)
		if in != inputs[6] { // TestMessages reads files of messages with cat
			m.fails(cli.ExitUsage, filepath.Base(in)+": it holds logs, not traces: leave --root out", "cat", in, "--root", "spans")
		}
	}
	_, stderr := mustRun(t, nil, "convert", "--signal", "logs", inputs[0], inputs[1], inputs[6], m.both, m.path("all.stef"))
	require.Contains(t, stderr, "skipped: 1 span, which --signal logs excludes\n")
	got, _ := mustRun(t, nil, "cat", m.path("all.stef"))
	require.Equal(t, strings.Repeat(logs, 4), got)
	_, stderr = mustRun(t, nil, "cat", m.both, "--root", "logs")
	require.Equal(t, "skipped: 1 span, which --root logs excludes\n", stderr)
	code, _, stderr := run(nil, "convert", m.both, m.json, out)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "; --signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal\n")
}

// The offset at which to split a compressed file is an offset in the decompressed content.
func TestConcatenatedPacked(t *testing.T) {
	m := newMistakes(t)
	mustRun(t, nil, "convert", m.spans, m.path("one.stef"))
	plain, err := os.ReadFile(m.path("one.stef"))
	require.NoError(t, err)
	for _, c := range []struct{ end, command string }{{".zst", "zstd"}, {".gz", "gzip"}} {
		packed := m.path("one.stef" + c.end)
		_, summary := mustRun(t, nil, "convert", m.spans, packed)
		require.Contains(t, summary, " bytes ("+c.command+")", "the size of a file that is compressed as a whole")
		content, err := os.ReadFile(packed)
		require.NoError(t, err)
		both := m.file("both.stef"+c.end, append(content, content...))
		want := fmt.Sprintf("another stream begins here, so files were concatenated: split this file (A is the output of %s -dc %s | head -c %d, B is that of %[1]s -dc %[2]s | tail -c +%[4]d; split B again if it has more streams)",
			c.command, both, len(plain), len(plain)+1)
		for _, args := range [][]string{{"cat", both}, {"convert", both, m.path("x.stef")}, {"repair", both, m.path("r" + c.end + ".stef")}} {
			_, _, stderr := run(nil, args...)
			require.Contains(t, stderr, want, args)
		}
	}
}

// With {signal}, convert checks only the output files of those signals that the input has. After an
// error, none of the output files exists.
func TestEachOrNone(t *testing.T) {
	m := newMistakes(t)
	three := m.file("three.json", []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}`+"\n"+
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`+"\n"+`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}}]}]}]}`))
	left := func(pattern string) []string {
		names, err := filepath.Glob(m.path(pattern))
		require.NoError(t, err)
		return names
	}
	m.fails(cli.ExitUsage, "there is no reference schema of logs: use --schema full", "convert", "--schema", "reference", three, m.path("ref-{signal}.stef"))
	require.Empty(t, left("*ref-*"))
	m.folder("q-traces.stef")
	m.fails(cli.ExitIO, "q-traces.stef: is a folder; name a file in it: "+filepath.Join("q-traces.stef", "three.stef"), "convert", three, m.path("q-{signal}.stef"))
	require.Equal(t, []string{m.path("q-traces.stef")}, left("*q-*"))
	mustRun(t, nil, "convert", m.json, m.path("q-{signal}.stef"))

	mustRun(t, nil, "convert", m.both, m.path("p-{signal}.stef"))
	m.fails(cli.ExitUsage, "p-traces.stef exists; --force overwrites it", "convert", three, m.path("p-{signal}.stef"))
	require.Len(t, left("*p-*"), 2)
	require.NoError(t, os.Remove(m.path("p-logs.stef")))
	mustRun(t, nil, "convert", m.json, m.path("p-{signal}.stef"))
	span, err := os.ReadFile(m.spans)
	require.NoError(t, err)
	for _, in := range []string{m.file("spans.bin", message(span)), m.file("span.json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`))} {
		mustRun(t, nil, "convert", "--force", "--schema", "reference", in, m.path("r-{signal}.stef"))
		require.Equal(t, []string{m.path("r-traces.stef")}, left("*r-*"))
	}
}

// If an item exceeds a limit, the error names the flag that omits such items.
func TestLargeItem(t *testing.T) {
	m := newMistakes(t)
	large := m.file("large.json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"`+strings.Repeat("a", 9<<20)+`"}},{"body":{"stringValue":"a"}}]}]}]}`))
	code, _, stderr := run(nil, "convert", "--quiet", large, m.path("out.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "an item takes more than 8388608 bytes; stef convert --skip omits such items and counts them\n")
	stderr = mustSkip(t, nil, "--quiet", large, m.path("out.stef"))
	require.Contains(t, stderr, "left out: 1 log record\n")
}

// If --signal makes convert read a message of logs as spans, the error says to omit --signal.
func TestLooksLikeOther(t *testing.T) {
	m := newMistakes(t)
	logs := m.file("colours.json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"device.app.lifecycle","timeUnixNano":"1","body":{"stringValue":"\u001b[1mred"}}]}]}]}`+"\n"))
	mustRun(t, nil, "convert", logs, m.path("colours.pb"))
	code, _, stderr := run(nil, "convert", "--signal", "traces", m.path("colours.pb"), m.path("out.stef"))
	require.Equal(t, cli.ExitUsage, code, stderr)
	require.Contains(t, stderr, ": corrupt: ")
	require.Contains(t, stderr, "; it looks like logs: leave --signal out\n")
}

// A file whose messages have different signals is split by signal, whatever its format: otlp-parts,
// stef-parts or JSON.
func TestMixedParts(t *testing.T) {
	m := newMistakes(t)
	out := m.path("out.stef")
	traces, _ := mustRun(t, nil, "convert", "--quiet", "--to", "otlp-parts", m.spans, "-")
	logs, _ := mustRun(t, nil, "convert", "--quiet", "--to", "otlp-parts", m.json, "-")
	wantTraces, _ := mustRun(t, nil, "cat", m.spans)
	wantLogs, _ := mustRun(t, nil, "cat", m.json)
	n := strings.Count(wantTraces, "\n")
	mixed := m.file("mixed.parts", []byte(traces+traces+logs))
	first := m.file("first.parts", []byte(logs+traces))
	const advice = "; --signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal"
	m.fails(cli.ExitUsage, "mixed.parts: parts 1 to 2 are traces, part 3 is logs"+advice, "convert", mixed, out)
	m.fails(cli.ExitUsage, "first.parts: part 1 is logs, part 2 is traces"+advice, "convert", first, out)
	m.fails(cli.ExitUsage, "mixed.parts: it holds traces and logs, not metrics: use --signal traces or --signal logs", "convert", "--signal", "metrics", mixed, out)
	m.fails(cli.ExitUsage, "mixed.parts holds traces and logs: run replay with --signal, once for each signal", "replay", mixed)
	for _, more := range [][]string{{}, {"--mode", "ordered"}, {"--mode", "sorted", "--frame-items", "1000"}} {
		_, stderr := mustRun(t, nil, append([]string{"convert", "--force", "--signal", "traces", mixed, out}, more...)...)
		require.Contains(t, stderr, fmt.Sprintf("\n%d spans in ", 2*n))
		require.Contains(t, stderr, "skipped: 1 log record, which --signal traces excludes\n")
		require.NotContains(t, stderr, "ratio")
	}
	got, stderr := mustRun(t, nil, "cat", "--signal", "logs", mixed)
	require.Equal(t, wantLogs, got)
	require.Equal(t, fmt.Sprintf("skipped: %d spans, which --signal logs excludes\n", 2*n), stderr)
	require.NoError(t, os.Remove(out))
	_, stderr = mustRun(t, nil, "convert", "--signal", "logs", mixed, first, m.path("both.stef"))
	require.Contains(t, stderr, fmt.Sprintf("skipped: %d spans, which --signal logs excludes\n", 3*n))
	got, _ = mustRun(t, nil, "cat", m.path("both.stef"))
	require.Equal(t, wantLogs+wantLogs, got)

	// A file of format stef-parts: the length of each stream, and then the stream.
	log, err := os.ReadFile(m.logs())
	require.NoError(t, err)
	span, err := os.ReadFile(m.spans)
	require.NoError(t, err)
	streams := m.file("mixed.bin", slices.Concat(message(span), message(log), message(span)))
	m.fails(cli.ExitUsage, "mixed.bin: it holds traces, then logs; --signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal", "convert", streams, out)
	for _, command := range []string{"stat", "cat"} {
		m.fails(cli.ExitUsage, "mixed.bin: it holds traces, then logs; --signal metrics, traces or logs reads only these", command, streams)
	}
	m.fails(cli.ExitUsage, "mixed.bin holds traces and logs: run replay with --signal, once for each signal", "replay", streams)
	m.fails(cli.ExitUsage, "mixed.bin: it holds traces and logs, not metrics: use --signal traces or --signal logs", "convert", "--signal", "metrics", streams, out)
	_, stderr = mustRun(t, nil, "convert", "--signal", "logs", streams, m.path("streams.stef"))
	require.Contains(t, stderr, fmt.Sprintf("skipped: %d spans, which --signal logs excludes\n", 2*n))
	got, _ = mustRun(t, nil, "cat", m.path("streams.stef"))
	require.Equal(t, wantLogs, got)

	for _, in := range []string{mixed, first, streams} {
		_, stderr = mustRun(t, nil, "convert", "--force", in, m.path("each-{signal}.stef"))
		require.NoFileExists(t, m.path("each-metrics.stef"))
		require.NotContains(t, stderr, "skipped")
		got, _ = mustRun(t, nil, "cat", m.path("each-logs.stef"))
		require.Equal(t, wantLogs, got)
		got, _ = mustRun(t, nil, "cat", m.path("each-traces.stef"))
		require.Equal(t, map[string]int{mixed: 2 * n, first: n, streams: 2 * n}[in], strings.Count(got, "\n"))
	}

	// A damaged part is an error, whatever its signal.
	damaged := []byte(traces + logs)
	damaged[len(damaged)-1] ^= 0x80
	want := fmt.Sprintf("damaged.parts: otlp-parts logs part 2, byte %d: the message ends inside a varint: unexpected EOF", len(traces+logs)-1)
	m.fails(cli.ExitData, want, "convert", "--signal", "traces", m.file("damaged.parts", damaged), out)
	// --skip does not change this, because the part is damaged and the file is not cut.
	want += "; --skip omits items that cannot be converted, not damaged parts"
	for _, name := range []string{"out.stef", "out.parquet", "out.json"} {
		m.fails(cli.ExitData, want, "convert", "--skip", "--signal", "traces", m.path("damaged.parts"), m.path(name))
	}
}

// The last line of the summary counts the items of the column otlp. Another line counts the edited
// rows of these items, because such edits have no effect.
func TestColumnOTLP(t *testing.T) {
	m := newMistakes(t)
	text := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}},{"body":{"kvlistValue":{"values":[{"key":"k","value":{"bytesValue":"AAEC"}}]}}}]}]}]}` + "\n"
	table := m.path("logs.parquet")
	_, stderr := mustRun(t, []byte(text), "convert", "-", table)
	require.Regexp(t, `\n2 log records in [^;]*; 1 of them in the column otlp as well, since the other columns only approximate them\n$`, stderr)
	_, stderr = mustRun(t, []byte(text), "convert", "-", m.path("logs.stef"))
	require.NotContains(t, stderr, "column otlp")
	_, stderr = mustRun(t, nil, "convert", table, m.path("one.json"))
	require.Regexp(t, `\n2 log records in [^;]*; 1 of them from the column otlp, which overrides edits of other columns\n$`, stderr)
	_, stderr = mustRun(t, nil, "convert", table, table, m.path("two.json"))
	require.Contains(t, stderr, "; 2 of them from the column otlp, which overrides edits of other columns\n")
	_, stderr = mustRun(t, nil, "convert", m.parquet, m.path("metrics.json"))
	require.NotContains(t, stderr, "column otlp")

	mustRun(t, []byte(text), "convert", "-", m.path("logs.arrow"))
	edited := m.file("edited.arrow", withColumn(t, m.path("logs.arrow"), "severity_text", "body_type"))
	for _, args := range [][]string{{"convert", "--quiet", edited, m.path("edited.json")}, {"cat", edited}} {
		_, stderr = mustRun(t, nil, args...)
		require.Equal(t, "ignored: edits of 1 row, because the column otlp overrides the other columns: set otlp to null in edited rows\n", stderr)
	}
	_, stderr = mustRun(t, nil, "convert", edited, edited, m.path("edited-{signal}.json"))
	require.Contains(t, stderr, "ignored in "+m.path("edited-logs.json")+": edits of 2 rows, because")
}

// If another program edited a table and the text of a body no longer fits its type in the column
// body_type, the body is read as text. A line of standard error counts such bodies.
func TestReplacedBodies(t *testing.T) {
	m := newMistakes(t)
	text := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityText":"map","body":{"stringValue":"gone"}},{"body":{"intValue":"1"}}]}]}]}` + "\n"
	mustRun(t, []byte(text), "convert", "-", m.path("logs.arrow"))
	edited := m.file("edited.arrow", withColumn(t, m.path("logs.arrow"), "body_type", "severity_text"))
	_, stderr := mustRun(t, nil, "convert", "--quiet", edited, m.path("edited.json"))
	require.Equal(t, "as text: 1 value of the table, because the text does not match its type letter\n", stderr)
	got, stderr := mustRun(t, nil, "cat", edited)
	require.Contains(t, got, `"body":"gone"`)
	require.Equal(t, "as text: 1 value of the table, because the text does not match its type letter\n", stderr)
}

// withColumn returns a table of logs in which a column has the values of another column.
func withColumn(t *testing.T, name, column, from string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	r, err := lake.NewArrowReader(bytes.NewReader(content), lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	batch, err := r.NextRecordBatch()
	require.NoError(t, err)
	at := func(name string) int { return batch.Schema().FieldIndices(name)[0] }
	edited, err := batch.SetColumn(at(column), batch.Column(at(from)))
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, lake.Arrow, lake.Logs, lake.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.WriteRecordBatch(edited))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// A copy of a stream of logs is larger than the stream, because bodies in the copy do not refer to
// other fields with the same text. With --mode ordered, the bodies refer to them again, as the
// README says.
func TestCopyOfLogs(t *testing.T) {
	dir := t.TempDir()
	var sizes []int64
	in := filepath.Join(dir, "in.stef")
	mustRun(t, fixtures.Logs(), "convert", "-", in)
	for _, args := range [][]string{{in}, {in, filepath.Join(dir, "copy.stef")}, {"--mode", "ordered", in, filepath.Join(dir, "anew.stef")}} {
		if len(args) > 1 {
			mustRun(t, nil, append([]string{"convert"}, args...)...)
		}
		info, err := os.Stat(args[len(args)-1])
		require.NoError(t, err)
		sizes = append(sizes, info.Size())
	}
	require.Equal(t, []int64{98_140, 101_741, 98_140}, sizes)
	want, _ := mustRun(t, nil, "cat", in)
	for _, name := range []string{"copy.stef", "anew.stef"} {
		got, _ := mustRun(t, nil, "cat", filepath.Join(dir, name))
		require.True(t, want == got, name)
	}
}

// logs returns the name of a stream of logs.
func (m *mistakes) logs() string {
	mustRun(m.t, nil, "convert", "--quiet", m.json, m.path("logs.stef"))
	return m.path("logs.stef")
}

// message returns a stream as a message of format stef-parts: the length of the stream precedes it.
func message(stream []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(stream))), stream...)
}

// convert refuses an output that is one of several inputs, as in a second run with a glob. Each run
// would add the items of the other inputs again.
func TestOutputIsAnInput(t *testing.T) {
	m := newMistakes(t)
	all := filepath.Join(m.dir, "all.stef")
	mustRun(t, nil, "convert", "--quiet", m.metrics, m.metrics, all)
	before, err := os.ReadFile(all)
	require.NoError(t, err)
	code, _, stderr := run(nil, "convert", "--force", m.metrics, all, all)
	require.Equal(t, cli.ExitUsage, code, stderr)
	require.Contains(t, stderr, all+" is the output and also one of the 2 inputs: name another output, or leave it out of the inputs")
	after, err := os.ReadFile(all)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
	mustRun(t, nil, "convert", "--quiet", "--force", all, all) // a single input may be replaced
}

func TestMistakesOfFiles(t *testing.T) {
	m := newMistakes(t)
	out := m.path("out.stef")
	const none = "the content has none of the formats stef, otlp-parts, otlp, otlp-json, stef-parts, parquet or arrow; it begins with "
	m.fails(cli.ExitData, "x.feather: "+none+`"ARROW1\x00\x00" and looks like an Arrow IPC file (Feather); stef reads Arrow streams: write it with pyarrow.ipc.new_stream`,
		"convert", m.file("x.feather", []byte("ARROW1\x00\x00")), out)
	m.fails(cli.ExitData, "wide.json: "+none+`"\xff\xfe{\x00" and looks like UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it`,
		"convert", m.file("wide.json", []byte("\xff\xfe{\x00")), out)
	m.fails(cli.ExitUsage, "xz is not written: end the name in .zst or .gz, or write m.stef and compress it then", "convert", m.metrics, m.path("m.stef.xz"))
	whole, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	stderr := mustSkip(t, nil, m.file("cut.stef", whole[:len(whole)-9]), out)
	require.Contains(t, stderr, "\nnot complete: "+m.path("cut.stef")+": ")
	require.NoError(t, os.Remove(out))
	code, _, stderr := run(nil, "convert", "--skip", m.file("cut.stef", whole[:200]), out)
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; nothing before the cut is complete, so --skip has nothing to convert\n")
	line, err := os.ReadFile(m.json)
	require.NoError(t, err)
	code, _, stderr = run(nil, "convert", "--skip", m.file("cut.json", line[:len(line)/2]), out)
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; nothing before the cut is complete, so --skip has nothing to convert\n")
	noise := m.file("noise.json", slices.Concat(line, []byte("noise\n"), line))
	m.fails(cli.ExitData, fmt.Sprintf("noise.json: otlp-json logs message 2, line 2, byte %d: corrupt: 'n' is not the start of a message; sed 2d noise.json removes the line and all its items", len(line)),
		"convert", noise, out)
	m.fails(cli.ExitUsage, "csv is not written: for CSV write a.parquet and export it with DuckDB; ids need hex() and attributes to_json(): docs/data-lake.md of github.com/otelstef/stef has the commands", "convert", m.metrics, "a.csv")
	m.fails(cli.ExitUsage, "tsv is not written: for CSV write a.parquet and export it with DuckDB; ids need hex() and attributes to_json(): docs/data-lake.md of github.com/otelstef/stef has the commands", "convert", m.metrics, "a.tsv")
	m.fails(cli.ExitUsage, `invalid value "csv" for --to: must be one of stef, otlp-parts, otlp, otlp-json, parquet or arrow; for CSV write x.parquet and export it with DuckDB; ids need hex() and attributes to_json(): docs/data-lake.md of github.com/otelstef/stef has the commands`,
		"convert", "--to", "csv", m.metrics, out)
	m.fails(cli.ExitUsage, "feather is not written: Arrow is written as a stream, not as a Feather file (IPC): end the name in .arrow, as in m.arrow", "convert", m.metrics, "m.feather")
	m.fails(cli.ExitUsage, `invalid value "feather" for --to: must be one of stef, otlp-parts, otlp, otlp-json, parquet or arrow; arrow writes a stream, not a Feather file (IPC)`,
		"convert", "--to", "feather", m.metrics, out)
	m.fails(cli.ExitUsage, "there is no flag -f, did you mean --force?", "convert", "-f", m.metrics, out)
	m.fails(cli.ExitUsage, "metrics.parquet exists; --force overwrites it", "convert", m.metrics, m.parquet)
	again := m.dir + "/./logs.json"
	_, stderr = mustRun(t, nil, "convert", m.json, again, m.path("twice.stef"))
	require.Contains(t, stderr, "\nwarning: "+again+" is named twice, so its items are in the output twice\n")
	_, stderr = mustRun(t, nil, "convert", m.json, m.metrics, "--signal", "logs", again, m.json, m.metrics, m.path("thrice.stef"))
	require.Contains(t, stderr, "\nwarning: "+again+" is named 3 times, so its items are in the output 3 times\nwarning: "+m.metrics+" is named twice, so its items are in the output twice\n")
	m.fails(cli.ExitData, "head.gz: gzip: the file is cut inside its header, so nothing of it can be read: unexpected EOF", "cat", m.file("head.gz", []byte{0x1f, 0x8b, 8, 0, 0}))
	for _, args := range [][]string{{"convert", m.metrics, ""}, {"convert", "", out}, {"cat", ""}, {"stat", ""}, {"repair", m.metrics, ""}, {"record", ""}, {"replay", ""}} {
		m.fails(cli.ExitUsage, "the name of a file is empty: is a variable of the shell not set?", args...)
	}
	m.fails(cli.ExitIO, "tele: is a folder; name its files: tele"+string(filepath.Separator)+"*", "convert", m.folder("tele"), out)
	for _, args := range [][]string{{"stat", m.dir}, {"inspect", m.dir}, {"repair", m.dir, out}} {
		m.fails(cli.ExitIO, m.dir+": is a folder; name one file in it", args...)
	}
	for _, text := range []string{"a,b\n", " [1]", "STEX"} {
		m.fails(cli.ExitData, "x.csv: otlp-json byte 0: corrupt: '"+strings.TrimSpace(text)[:1]+"' is not the start of a message", "convert", "--from", "otlp-json", m.file("x.csv", []byte(text)), out)
	}
	m.fails(cli.ExitUsage, "shop.stef: it is a schema, not a stream; stef cat --schema shop.stef FILE prints records of this schema", "convert", m.file("shop.stef", []byte("package shop\n")), out)
	m.fails(cli.ExitUsage, `unexpected argument "b": expected only FILE; stef convert FILE... all.stef combines files of one signal`, "stat", m.metrics, "b")
	m.fails(cli.ExitUsage, `unexpected argument "b": expected only FILE; run stef stat once for each file`, "stat", "--schema", "game.stef", m.metrics, "b")
	m.fails(cli.ExitUsage, `unexpected argument "b": expected only FILE; run stef inspect once for each file`, "inspect", "--schema", "game.stef", m.metrics, "b")
	m.fails(cli.ExitUsage, "metrics.stef: otlp-json metrics message 1, line 1, byte 0: corrupt: 'S' is not the start of a message; the file looks like stef: leave --from out", "convert", "--from", "otlp-json", m.metrics, out)
	m.fails(cli.ExitUsage, `invalid value "x" for --dictionary: it is not a dictionary: it has 1,048,577 bytes, a dictionary has at least 8 and at most 1,048,576`,
		"convert", "--dictionary", m.inDir("x", make([]byte, stef.MaxZstdDictBytes+1)), m.metrics, out)
	m.fails(cli.ExitUsage, `invalid value "a, ,b" for --columns: a name between the commas is empty`, "convert", "--columns", "a, ,b", m.spans, out)
	_, stderr = mustRun(t, nil, "convert", "--columns", " a, resource:b", m.spans, m.path("x.parquet"))
	require.Contains(t, stderr, "no item has the attribute a; check the spelling\n")
	require.Contains(t, stderr, "no resource has the attribute b; check the spelling\n")

	content, err := os.ReadFile(m.parquet)
	require.NoError(t, err)
	m.fails(cli.ExitData, "cut.parquet: corrupt file: the file is cut or not complete: Parquet has its index at the end: unexpected EOF", "convert", m.file("cut.parquet", content[:len(content)-9]), out)
	code, _, stderr = run(content, "convert", "-", out)
	require.Equal(t, cli.ExitUsage, code)
	require.Equal(t, "stef convert: standard input: a Parquet file cannot be read from a pipe, because its index is at the end: write it to a file first, and name that file\n", stderr)

	arrow := m.path("m.arrow")
	mustRun(t, nil, "convert", m.metrics, arrow)
	content, err = os.ReadFile(arrow)
	require.NoError(t, err)
	cut := m.file("cut.arrow", content[:len(content)-100])
	code, _, stderr = run(nil, "convert", cut, out)
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; stef convert --skip converts the whole batches before it\n")
	require.Contains(t, mustSkip(t, nil, cut, m.path("arrow.stef")), "; everything complete before the cut was converted, and the rest is lost\n")
	code, _, stderr = run(nil, "convert", "--skip", m.file("cut.arrow", content[:5000]), out)
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; nothing before the cut is complete, so --skip has nothing to convert\n")

	bad := m.file("bad.json", []byte(`{"resourceLogs":[{"scopeLogs":x}]}`+"\n"))
	code, _, stderr = run(nil, "convert", "--skip", bad, out)
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "; --skip omits items that cannot be converted, not damaged messages; sed 1d ")
	mustRun(t, append([]byte("\xef\xbb\xbf"), `{"resourceLogs":[]}`...), "convert", "--from", "otlp-json", "-", m.path("bom.stef"))
	mustRun(t, append([]byte("\xef\xbb\xbf"), `{"resourceLogs":[]}`...), "cat", "-")

	code, _, stderr = run(nil, m.metrics)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, ", did you mean stef stat "+m.metrics+"?; stef help lists them\n")
	_, stderr = mustRun(t, nil, "convert", "-q", m.metrics, m.path("q.stef"))
	require.Empty(t, stderr)
	m.fails(cli.ExitUsage, "there is no flag -n1, did you mean -n 1?", "cat", "-n1", m.metrics)
	m.fails(cli.ExitUsage, "there is no flag -q", "cat", "-q", m.metrics)
	m.fails(cli.ExitUsage, "there is no flag --forec, did you mean --force?", "convert", "--forec", m.metrics, out)

	for _, name := range []string{"none.stef", filepath.Base(m.file("empty.stef", nil))} {
		_, _, stderr := run(nil, "replay", m.path(name))
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, name+": ")
	}
}

// inDir changes the current folder to the folder of the test, and creates a file in it.
func (m *mistakes) inDir(name string, content []byte) string {
	m.t.Chdir(m.dir)
	m.file(name, content)
	return name
}

func (m *mistakes) folder(name string) string {
	require.NoError(m.t, os.Mkdir(m.path(name), 0o777))
	return m.path(name)
}

// With --skip, cut inputs do not end a conversion of several inputs.
func TestSkipFiles(t *testing.T) {
	m := newMistakes(t)
	whole, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	cut, empty, none := m.file("cut.stef", whole[:len(whole)-1]), m.file("empty.stef", nil), m.file("none.json", nil)
	out := m.path("out.stef")
	code, _, stderr := run(nil, "convert", m.metrics, cut, out)
	require.Equal(t, cli.ExitData, code, stderr)
	stderr = mustSkip(t, nil, m.metrics, cut, empty, none, out)
	require.Contains(t, stderr, "not complete: "+cut+": ")
	require.Contains(t, stderr, "; everything complete before the cut was converted, and the rest is lost\n")
	require.Contains(t, stderr, "left out: "+empty+": the file is empty\nleft out: "+none+": the file is empty\n")
	stderr = mustSkip(t, nil, cut, cut, m.path("twice.stef"))
	require.Contains(t, stderr, "\nwarning: "+cut+" is named twice")
}

// The size as OTLP is printed only if it covers all items.
func TestRequestsOfAllInputs(t *testing.T) {
	m := newMistakes(t)
	json := m.path("metrics.json")
	mustRun(t, nil, "convert", m.metrics, json)
	_, stderr := mustRun(t, nil, "convert", json, json, m.path("a.stef"))
	require.Contains(t, stderr, "on the wire as OTLP")
	for _, args := range [][]string{{m.metrics, json}, {json, m.metrics}} {
		_, stderr = mustRun(t, nil, append([]string{"convert", "--force"}, append(args, m.path("b.stef"))...)...)
		require.NotContains(t, stderr, "on the wire as OTLP")
	}
	// The size as OTLP is not printed for combined requests, because no sender sends them.
	_, stderr = mustRun(t, nil, "convert", "--frame-items", "1000", json, m.path("c.stef"))
	require.NotContains(t, stderr, "on the wire as OTLP")
}

// The frames before the cut of a truncated compressed file are read and repaired.
func TestCutCompressed(t *testing.T) {
	dir, recording := folder(t)
	path := filepath.Join(dir, "whole.stef")
	mustRun(t, nil, "convert", "--compression", "none", recording, path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(whole)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	zst := filepath.Join(dir, "whole.stef.zst")
	mustRun(t, nil, "convert", "--compression", "none", recording, zst)
	zipped, err := os.ReadFile(zst)
	require.NoError(t, err)
	for name, content := range map[string][]byte{"cut.gz": packed.Bytes(), "cut.zst": zipped} {
		cut, out := filepath.Join(dir, name), filepath.Join(dir, name+".stef")
		require.NoError(t, os.WriteFile(cut, content[:len(content)*3/4], 0o666))
		_, stderr := mustRepair(t, nil, cut, out)
		require.Contains(t, stderr, "lost: the frame that was being written when the file was cut")
		require.Equal(t, name == "cut.zst", strings.Contains(stderr, "zstd may return more of the file: zstd -dc "+cut+" | stef repair - OUT\n"))
		want, _ := mustRun(t, nil, "cat", out)
		require.NotEmpty(t, want)
		code, got, _ := run(nil, "cat", cut)
		require.Equal(t, cli.ExitData, code)
		require.True(t, got == want)
	}
}

func TestRecordMistakes(t *testing.T) {
	m := newMistakes(t)
	m.fails(cli.ExitIO, filepath.Join("nodir", "x-metrics.stef")+": the folder nodir does not exist", "record", filepath.Join(m.dir, "nodir", "x-{signal}.stef"))
	for _, f := range []string{"parquet", "arrow"} {
		m.fails(cli.ExitUsage, "a file of format "+f+" cannot be written while telemetry arrives: write stef and convert it", "record", m.path("x-{signal}."+f))
	}
	m.fails(cli.ExitUsage, "cannot tell the format from the name x-{signal}.foo: end it in .stef, .otlp, .pb or .json (also .parts, .otlp-parts, .binpb, .jsonl, .ndjson); .zst or .gz may follow", "record", m.path("x-{signal}.foo"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, _, stderr := run(nil, "record", "--listen", l.Addr().String(), m.path("x-{signal}.stef"))
	require.Contains(t, stderr, ": end the program that listens there, or choose another port\n")
	_, _, stderr = run(nil, "record", "--listen", "192.0.2.1:4317", m.path("x-{signal}.stef"))
	require.Contains(t, stderr, ": this machine does not have the address; :4317 listens at all addresses of this machine\n")
}

// brokenPipe is a pipe whose reader has ended.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// If the reader of a pipe ends, no error is printed.
func TestBrokenPipe(t *testing.T) {
	m := newMistakes(t)
	var stderr bytes.Buffer
	code := cli.Run([]string{"convert", "--quiet", "--to", "otlp-json", m.metrics, "-"}, cli.Env{Stdout: brokenPipe{}, Stderr: &stderr})
	require.Equal(t, cli.ExitIO, code)
	require.Empty(t, stderr.String())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// run runs a command line with data as standard input.
func run(data []byte, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(args, cli.Env{Stdin: bytes.NewReader(data), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// mustRun runs a command line that must succeed.
func mustRun(t *testing.T, data []byte, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(data, args...)
	require.Zero(t, code, stderr)
	return stdout, stderr
}

// mustRepair runs stef repair, which must write its output, and checks the exit code.
func mustRepair(t *testing.T, data []byte, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(data, append([]string{"repair"}, args...)...)
	want := cli.ExitDone
	if strings.Contains(stderr, "; lost: ") || strings.Contains(stderr, " is cut inside a block: ") || strings.Contains(stderr, "; not copied: ") {
		want = cli.ExitLost
	}
	require.Equal(t, want, code, stderr)
	return stdout, stderr
}

// mustSkip runs stef convert --skip, which must write its output without a part of the input,
// and checks the exit code.
func mustSkip(t *testing.T, data []byte, args ...string) (stderr string) {
	t.Helper()
	code, _, stderr := run(data, append([]string{"convert", "--skip"}, args...)...)
	require.Equal(t, cli.ExitLost, code, stderr)
	return stderr
}

// story runs command lines and compares them and their output with a golden file.
func story(t *testing.T, name string, lines ...string) {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		code, stdout, stderr := run(nil, strings.Fields(line)...)
		fmt.Fprintf(&b, "$ stef %s\n%s", line, stdout)
		for l := range strings.Lines(stderr) {
			b.WriteString("! " + l)
		}
		fmt.Fprintf(&b, "exit %d\n\n", code)
	}
	golden(t, name, b.String())
}

func TestHelp(t *testing.T) {
	story(t, "help.txt", "help", "help convert", "help cat", "help stat", "help inspect", "help repair", "help record", "help replay", "help completion", "help version", "help help")
	want, _ := mustRun(t, nil, "help")
	for _, other := range []string{"-h", "--help", "-help"} {
		got, _ := mustRun(t, nil, other)
		require.Equal(t, want, got)
	}
	want, _ = mustRun(t, nil, "help", "cat")
	got, _ := mustRun(t, nil, "cat", "--help")
	require.Equal(t, want, got)
}

func TestUsageErrors(t *testing.T) {
	story(t, "usage.txt", "", "dog", "help dog", "help cat dog", "version 1",
		"cat", "cat --root dogs x", "cat -n x y", "cat --canonical=x y", "cat --dog x", "cat x --root", "cat -=x",
		"stat", "stat a b", "inspect", "inspect a b",
		"convert", "convert a", "convert a b c", "convert --from x a b", "convert --to x a b",
		"convert --signal profiles a b", "convert --root profiles a b", "convert --mode x a b",
		"convert --compression gzip a b", "convert --level 3 a b", "convert --schema old a b",
		"convert --signal logs --root spans a b", "convert --checksums --compression none a b", "convert --level best --compression none a b")
}

func TestVersion(t *testing.T) {
	for _, name := range []string{"version", "-version", "--version"} {
		out, _ := mustRun(t, nil, name)
		require.Regexp(t, `^stef \S+.*, STEF format 0, go\S+ \S+/\S+\n$`, out)
	}
}

// metrics, spans and logs are streams of two records each.
func metrics(t *testing.T, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, options...)
	require.NoError(t, err)
	rec := w.Record()
	rec.EditMetric().SetName("requests")
	rec.EditMetric().SetType(otelstef.MetricTypeSum)
	rec.EditMetric().SetMonotonic(true)
	rec.EditResource().Attributes().SetLen(2)
	rec.EditResource().Attributes().SetString(0, "service.name", "shop \"No. 1\"\n")
	rec.EditResource().Attributes().SetFloat64(1, "load", 1)
	rec.Attributes().SetLen(1)
	rec.Attributes().SetBytes(0, "id", []byte{0, 255})
	rec.Point().SetTimestamp(1_700_000_000_000_000_001)
	rec.Point().SetFlags(1)
	rec.Point().Value().SetInt64(-5)
	require.NoError(t, w.Write())
	rec.Attributes().SetLen(0)
	rec.Point().Value().SetHistogram().SetSum(0.5)
	rec.Point().Value().Histogram().SetMin(0)
	rec.Point().Value().Histogram().BucketCounts().SetValues([]uint64{1, 0, 2})
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func spans(t *testing.T, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewSpansWriter(&buf, options...)
	require.NoError(t, err)
	span := w.Record().Span()
	span.SetTraceID([]byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"))
	span.SetName("GET /")
	span.SetKind(otelstef.SpanKindServer)
	require.NoError(t, w.Write())
	span.Events().SetLen(1)
	span.Events().At(0).SetName("retry")
	span.Links().SetLen(1)
	span.Status().SetCode(2)
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func logs(t *testing.T, options ...stef.WriterOption) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := otelstef.NewLogsWriter(&buf, options...)
	require.NoError(t, err)
	rec := w.Record().Record()
	rec.SetTime(1_700_000_000_000_000_001)
	rec.SetOptionalObservedDelta(0, true)
	rec.SetSeverityText("ERROR")
	rec.Body().SetString("out of stock")
	require.NoError(t, w.Write())
	m := rec.Body().SetValue().SetMap()
	m.SetLen(2)
	m.SetInt64(0, "left", 0)
	m.Value(1).SetArray().SetLen(1)
	m.SetKey(1, "goods")
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestCat(t *testing.T) {
	var b strings.Builder
	for _, data := range [][]byte{metrics(t), spans(t), spans(t, otelstef.PublishedSpans()), logs(t)} {
		for _, args := range [][]string{{"cat", "-"}, {"cat", "--canonical", "-"}} {
			out, stderr := mustRun(t, data, args...)
			require.Empty(t, stderr)
			b.WriteString(out)
		}
	}
	golden(t, "cat.txt", b.String())
}

func TestCatFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	require.NoError(t, os.WriteFile(a, metrics(t, stef.WithCompression(stef.Zstd)), 0o666))
	require.NoError(t, os.WriteFile(b, spans(t), 0o666))
	first, _ := mustRun(t, nil, "cat", a)
	second, _ := mustRun(t, nil, "cat", b)
	both, _ := mustRun(t, nil, "cat", a, b)
	require.Equal(t, first+second, both)
	one, _ := mustRun(t, nil, "cat", a, "-n", "1")
	require.Equal(t, strings.SplitAfter(first, "\n")[0], one)
	rooted, _ := mustRun(t, nil, "cat", "--root", "metrics", "--", a)
	require.Equal(t, first, rooted)

	code, _, stderr := run(nil, "cat", "--root", "logs", a)
	require.Equal(t, cli.ExitUsage, code)
	require.Equal(t, "stef cat: "+a+": it holds metrics, not logs: leave --root out\n", stderr)
}

// Records before the damage are printed, and the damage is reported.
func TestDamagedStream(t *testing.T) {
	data := metrics(t)
	more := append(bytes.Clone(data), data[len(data)-20:]...)
	for _, command := range []string{"cat", "stat", "inspect"} {
		code, stdout, stderr := run(more, command, "-")
		require.Equal(t, cli.ExitData, code, command)
		require.Regexp(t, `^stef `+command+`: standard input: frame 2 at offset \d+`, stderr)
		require.NotContains(t, stderr, "usage")
		if command != "stat" {
			whole, _ := mustRun(t, data, command, "-")
			require.True(t, strings.HasPrefix(stdout, whole), command)
		}
		code, _, stderr = run([]byte("PK\x03\x04..."), command, "-")
		require.Equal(t, cli.ExitData, code)
		if command == "inspect" { // inspect reads only STEF
			require.Contains(t, stderr, `standard input: it is not a STEF file: it begins with "PK\x03\x04..." and looks like a ZIP archive: unpack it first`+"\n")
		} else {
			require.Contains(t, stderr, "the content has none of the formats stef, otlp-parts, ")
			require.Contains(t, stderr, `; it begins with "PK\x03\x04..." and looks like a ZIP archive: unpack it first`+"\n")
		}
	}
}

// Unreadable files and failing outputs have their own exit code.
func TestIOErrors(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	failure := errors.New("the disk is gone")
	for _, command := range []string{"cat", "stat", "inspect"} {
		code, _, stderr := run(nil, command, none)
		require.Equal(t, cli.ExitIO, code)
		require.Equal(t, "stef "+command+": "+none+": open: no such file or directory\n", stderr)

		data := logs(t)
		for _, n := range []int{0, 5, len(data) - 1, len(data)} {
			var out, errs bytes.Buffer
			src := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(failure))
			code = cli.Run([]string{command, "-"}, cli.Env{Stdin: src, Stdout: &out, Stderr: &errs})
			require.Equal(t, cli.ExitIO, code)
			require.Equal(t, "stef "+command+": standard input: the disk is gone\n", errs.String())
		}
	}
	for _, args := range []string{"cat -", "cat --canonical -", "stat -", "inspect -", "help", "help cat", "cat --help", "version"} {
		whole, _ := mustRun(t, logs(t), strings.Fields(args)...)
		for _, n := range []int{0, 1, len(whole) - 1} {
			var errs bytes.Buffer
			code := cli.Run(strings.Fields(args), cli.Env{Stdin: bytes.NewReader(logs(t)), Stdout: &full{n, failure}, Stderr: &errs})
			require.Equal(t, cli.ExitIO, code, "%s, %d bytes", args, n)
			require.Contains(t, errs.String(), "standard output: the disk is gone\n")
		}
	}
}

// full is an io.Writer that accepts n bytes and then fails.
type full struct {
	n   int
	err error
}

func (f *full) Write(b []byte) (int, error) {
	n := min(f.n, len(b))
	f.n -= n
	if n < len(b) {
		return n, f.err
	}
	return n, nil
}

func TestStat(t *testing.T) {
	out, stderr := mustRun(t, logs(t), "stat", "-")
	require.Empty(t, stderr)
	require.Regexp(t, `(?m)^root         Logs, full schema, (not )?announced: [0-9,]+$`, out)
	require.Contains(t, out, "Logs.Record.Body.String ")
	require.NotContains(t, out, "Logs.Record.SpanID ")
	require.NotContains(t, out, "offset")
	out, _ = mustRun(t, logs(t), "stat", "--all", "--frames", "-")
	require.Contains(t, out, "Logs.Record.SpanID ")
	require.Contains(t, out, "offset")
}

func TestInspect(t *testing.T) {
	out, stderr := mustRun(t, logs(t), "inspect", "-")
	require.Empty(t, stderr)
	require.Contains(t, out, `53 54 45 46`)
	require.Contains(t, out, `"out of stock"`)
}

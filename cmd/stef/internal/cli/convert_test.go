// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/internal/fixtures"
	stef "github.com/otelstef/stef/stef-go"
)

// folder returns a folder with a recording, and the name of the recording.
func folder(t *testing.T) (dir, recording string) {
	t.Helper()
	dir = t.TempDir()
	recording = filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(recording, fixtures.Logs(), 0o666))
	return dir, recording
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// masked removes the parts of a summary that vary between runs.
func masked(text, dir string) string {
	text = regexp.MustCompile(regexp.QuoteMeta(dir)+`/`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`in [0-9.]+ s\n`).ReplaceAllString(text, "in T\n")
	return text
}

func TestConvert(t *testing.T) {
	dir, recording := folder(t)
	plain := filepath.Join(dir, "plain.stef")
	out, stderr := mustRun(t, nil, "convert", "--compression", "none", recording, plain)
	require.Empty(t, out)
	require.Regexp(t, `^logs.otlp.zst: otlp-parts, 120 parts, 609,463 bytes \(114,442 in the file, compressed as a whole with zstd\)
plain.stef: stef, 120 frames, [0-9,]+ bytes, ratio [0-9.]+
on the wire as OTLP, zstd for each request: 120 requests of 20 items on average, [0-9,]+ bytes; plain.stef is [0-9.]+ times that and is not compressed
2,446 log records in T
$`, masked(stderr, dir))

	packed := filepath.Join(dir, "packed.stef")
	mustRun(t, nil, "convert", plain, packed)
	stream, err := os.ReadFile(packed)
	require.NoError(t, err)
	require.EqualValues(t, stef.Zstd, stream[6])

	// Flags may be anywhere, and standard input and output are supported as
	// files.
	out, stderr = mustRun(t, stream, "convert", "-", "--to", "otlp-json", "-", "--quiet")
	require.Empty(t, stderr)
	require.Contains(t, out, `"resourceLogs"`)
	again, stderr := mustRun(t, []byte(out), "convert", "-", "-")
	require.Contains(t, stderr, "standard input: otlp-json, 120 messages, ")
	require.Contains(t, stderr, "standard output: stef, 120 frames, ")
	back, _ := mustRun(t, []byte(again), "convert", "--to", "otlp-json", "-", "-")
	require.True(t, out == back, "not the telemetry it was")
	require.Equal(t, []string{fixtures.LogsName, "packed.stef", "plain.stef"}, list(t, dir))
}

// TestConvertChecksums flips one bit at a time in the first 4 KiB of a file with checksums.
// Reading the file returns unchanged records or an error.
func TestConvertChecksums(t *testing.T) {
	dir, recording := folder(t)
	file := filepath.Join(dir, "checked.stef")
	mustRun(t, nil, "convert", "--checksums", recording, file)
	stream, err := os.ReadFile(file)
	require.NoError(t, err)
	want, _ := mustRun(t, stream, "cat", "-n", "300", "-")
	noticed := 0
	// The first 4 KiB contain the headers, and records that cat prints.
	for i := 100; i < 4096; i += 13 {
		damaged := append([]byte(nil), stream...)
		damaged[i] ^= 1 << (i % 8)
		code, out, _ := run(damaged, "cat", "-n", "300", "-")
		if code != 0 {
			noticed++
			require.True(t, strings.HasPrefix(want, out), "byte %d: other records before the error", i)
			continue
		}
		require.True(t, out == want, "byte %d: other records", i)
	}
	require.Greater(t, noticed, 250)
}

// TestRepairChecksums changes bytes of a file with checksums. repair must not keep a frame with
// changed records, and its output must be readable to the end.
func TestRepairChecksums(t *testing.T) {
	dir, recording := folder(t)
	file := filepath.Join(dir, "checked.stef")
	mustRun(t, nil, "convert", "--checksums", recording, file)
	stream, err := os.ReadFile(file)
	require.NoError(t, err)
	want, _ := mustRun(t, stream, "cat", "-")
	repaired := 0
	for i := 500; i < 12<<10; i += 397 {
		damaged := append([]byte(nil), stream...)
		damaged[i] ^= 1 << (i % 8)
		out, stderr := mustRepair(t, damaged, "-", "-")
		require.NotContains(t, stderr, "when the file was cut")
		kept, _ := mustRun(t, []byte(out), "cat", "-")
		require.True(t, strings.HasPrefix(want, kept), "byte %d: other records", i)
		if kept != "" && kept != want {
			repaired++
		}
	}
	require.Greater(t, repaired, 10)
}

// A checksum that covers several frames does not tell which of them is damaged.
func TestRepairChecksumOfAll(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.stef"), filepath.Join(dir, "out.stef")
	// The stream has two frames in one zstd frame, which ends in the second frame.
	require.NoError(t, os.WriteFile(in, endedOnce(t), 0o666))
	code, _, stderr := run(nil, "repair", "--root", "metrics", in, out)
	require.Equal(t, cli.ExitData, code, stderr)
	require.Contains(t, stderr, "CRC check failed; the damage is in an earlier frame, but repair cannot tell in which one, so it writes nothing\n")
	require.NoFileExists(t, out)
}

// endedOnce returns a stream in one zstd frame with a wrong checksum.
func endedOnce(t *testing.T) []byte {
	plain := metrics(t, stef.WithSchemaHeader())
	var out bytes.Buffer
	enc, err := zstd.NewWriter(&out, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	stream := append(bytes.Clone(plain[:6]), 1)
	for rest := plain[7:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		content := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		_, err := enc.Write(content)
		require.NoError(t, err)
		require.NoError(t, enc.Flush())
		if len(rest) == 0 {
			require.NoError(t, enc.Close())
			out.Bytes()[out.Len()-1] ^= 1
		}
		stream = binary.AppendUvarint(append(stream, 0), size)
		stream = append(binary.AppendUvarint(stream, uint64(out.Len())), out.Bytes()...)
		out.Reset()
	}
	return stream
}

// The summary of Parquet input has the size of the file. If the input is empty, there is no ratio.
func TestConvertSummary(t *testing.T) {
	dir, recording := folder(t)
	table, out := filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.stef")
	_, stderr := mustRun(t, nil, "convert", recording, table)
	require.Contains(t, stderr, "parquet, 1 row group, ")
	info, err := os.Stat(table)
	require.NoError(t, err)
	_, stderr = mustRun(t, nil, "convert", table, out)
	stream, err := os.Stat(out)
	require.NoError(t, err)
	in, made := figure.Grouped(info.Size()), figure.Grouped(stream.Size())
	require.Contains(t, stderr, "parquet, 1 row group, "+in+" bytes\n")
	require.Contains(t, stderr, fmt.Sprintf("stef, 1 frame, %s bytes, ratio %.3g\n", made, float64(info.Size())/float64(stream.Size())))
	_, stderr = mustRun(t, nil, "convert", table, recording, filepath.Join(dir, "both.stef"))
	require.Contains(t, stderr, "2 files, "+figure.Grouped(info.Size()+609_463)+" bytes\n")

	// The summary has the same number of batches when an Arrow stream is written and when it is read.
	arrow := filepath.Join(dir, "x.arrow")
	_, stderr = mustRun(t, fixtures.Traces(), "convert", "-", arrow)
	counts := []string{"132 parts", "2 batches"}
	f := func() {
		t.Helper()
		require.Equal(t, counts, regexp.MustCompile(`[0-9]+ (parts|batch(es)?|row groups?|frames?)\b`).FindAllString(stderr, -1))
	}
	f()
	_, stderr = mustRun(t, nil, "convert", arrow, "--force", table)
	counts = []string{"2 batches", "1 row group"}
	f()
	_, stderr = mustRun(t, nil, "convert", arrow, "--force", out)
	counts = []string{"2 batches", "2 frames"}
	f()

	_, stderr = mustRun(t, nil, "convert", "--from", "otlp-parts", "--signal", "logs", "-", "-")
	require.Contains(t, stderr, "standard input: otlp-parts, 0 parts, 0 bytes\n")
	require.NotContains(t, stderr, "ratio")
}

// cutAt returns the first offset in an error text.
func cutAt(t *testing.T, stderr string) string {
	t.Helper()
	found := regexp.MustCompile(`offset (\d+)`).FindStringSubmatch(stderr)
	require.NotNil(t, found, stderr)
	return found[1]
}

// repair, cat, stat and convert name the same position in a truncated or damaged stream, for each
// signal, in the compact form and in the full schema. The errors suggest stef repair.
func TestPlaceOfDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.stef"), filepath.Join(dir, "out.stef")
	for signal, recording := range map[string][]byte{"metrics": fixtures.Metrics(), "traces": fixtures.Traces(), "logs": fixtures.Logs()} {
		for _, schema := range []string{"compact", "full"} {
			text, _ := mustRun(t, recording, "convert", "--quiet", "--schema", schema, "--checksums", "-", "-")
			cut := []byte(text)[:len(text)*9/10]
			damaged := []byte(text)
			damaged[len(text)*3/5] ^= 0x10
			for i, data := range [][]byte{cut, damaged} {
				require.NoError(t, os.WriteFile(in, data, 0o666))
				_, stderr := mustRepair(t, nil, "--force", in, out)
				want := cutAt(t, stderr)
				kept, err := os.ReadFile(out)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(len(kept)), want, "%s, %s", signal, schema)
				whole, _ := mustRun(t, nil, "cat", out)
				for _, args := range [][]string{{"cat", in}, {"stat", in},
					{"convert", "--to", "stef", in, "-"}, {"convert", "--to", "otlp-json", in, "-"}, {"convert", "--to", "arrow", in, "-"}} {
					code, stdout, stderr := run(nil, args...)
					require.Equal(t, cli.ExitData, code, "%v", args)
					require.Equal(t, want, cutAt(t, stderr), "%s, %s, %v: %s", signal, schema, args, stderr)
					advice := "; stef repair copies the whole frames before it"
					if i == 0 && args[0] == "convert" {
						advice += ", and stef convert --skip converts them"
					}
					require.Equal(t, 1, strings.Count(stderr, advice+"\n"), stderr)
					if args[0] == "cat" {
						require.True(t, strings.HasPrefix(stdout, whole), "%s, %s: not all records before the damage", signal, schema)
					}
				}
			}
			// There is nothing to copy before the first frame.
			code, _, stderr := run([]byte(text)[:200], "convert", "--to", "otlp-json", "-", "-")
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, ": frame 1 at offset ")
			require.NotContains(t, stderr, "stef repair")
		}
	}
}

func TestConvertReportsLosses(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.stef")
	data := metrics(t)
	_, stderr := mustRun(t, data, "convert", "--quiet", "--schema", "reference", "-", out)
	require.Equal(t, "not kept: values of 2 points with the flag \"no recorded value\"\n", stderr)
}

func TestConvertSkips(t *testing.T) {
	data := metrics(t) // the second record is a histogram point of a sum, which OTLP cannot express
	code, _, stderr := run(data, "convert", "--to", "otlp", "-", "-")
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "stef convert: standard input: 1 record was not converted, the first: record 2: ")
	stderr = mustSkip(t, data, "--quiet", "--to", "otlp", "-", "-")
	require.Regexp(t, "^left out: 1 data point\n  1 record was not converted, the first: record 2: .*\n$", stderr)
}

// After any error, there is no output file, or the previous file is unchanged.
func TestConvertLeavesNothingHalf(t *testing.T) {
	dir, recording := folder(t)
	whole := fixtures.Logs()
	cut := filepath.Join(dir, "cut.zst")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)/2], 0o666))
	old := filepath.Join(dir, "old.stef")
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o666))
	before := list(t, dir)
	f := func(code int, want string, args ...string) {
		t.Helper()
		got, stdout, stderr := run(nil, append([]string{"convert"}, args...)...)
		require.Equal(t, code, got, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.Equal(t, before, list(t, dir))
		content, err := os.ReadFile(old)
		require.NoError(t, err)
		require.Equal(t, "old", string(content))
	}
	out := filepath.Join(dir, "out.stef")
	f(cli.ExitData, cut+": otlp-parts logs part ", cut, out)
	f(cli.ExitData, "unexpected EOF", "--force", cut, old)
	f(cli.ExitUsage, "old.stef exists; --force overwrites it\n", recording, old)
	f(cli.ExitUsage, "it holds logs", "--signal", "metrics", recording, out)
	f(cli.ExitUsage, "it holds logs", "--force", "--root", "spans", recording, old)
	f(cli.ExitUsage, "is not the signature", "--from", "stef", recording, out)
	f(cli.ExitUsage, "there is no reference schema of logs: use --schema full\n", "--schema", "reference", recording, out)
	f(cli.ExitUsage, "--schema works only for an output of format stef", "--schema", "reference", recording, filepath.Join(dir, "out.json"))
	f(cli.ExitUsage, "cannot tell the format", recording, filepath.Join(dir, "out.dat"))
	f(cli.ExitIO, "none: open: no such file", filepath.Join(dir, "none"), out)
	f(cli.ExitIO, dir+": is a folder; name its files: ", dir, out)
	f(cli.ExitIO, dir+": is a folder", recording, dir)
	f(cli.ExitIO, " does not exist\n", recording, filepath.Join(dir, "none", "out"))
	f(cli.ExitUsage, "x.avro: add --to stef", recording, filepath.Join(dir, "x.avro"))
	f(cli.ExitUsage, "a Parquet file is compressed inside and cannot be read under gzip or zstd: end the name in .parquet\n", recording, filepath.Join(dir, "x.parquet.zst"))
	f(cli.ExitUsage, "{signal} reads its input several times", "-", filepath.Join(dir, "{signal}.stef"))
	f(cli.ExitIO, "old.stef/out: ", recording, filepath.Join(old, "out"))
}

// A file of several signals is converted to a file per signal, or to a file of
// one signal. In the second case, the summary counts the skipped items.
func TestConvertSignals(t *testing.T) {
	dir := t.TempDir()
	mixed := filepath.Join(dir, "all.json")
	metrics := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"1"},{"asInt":"2"}]}}]}]}]}` + "\n"
	spans := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}` + "\n"
	require.NoError(t, os.WriteFile(mixed, []byte(metrics+spans+metrics), 0o666))
	one := filepath.Join(dir, "one.stef")
	code, _, stderr := run(nil, "convert", mixed, one)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, ": message 2, line 2, holds traces, and the messages before it hold metrics; "+
		"--signal metrics, traces or logs converts only these; or put {signal} into the name of OUT for one file per signal\n")

	_, stderr = mustRun(t, nil, "convert", "--signal", "traces", mixed, one)
	require.Contains(t, stderr, "1 span in ")
	require.Contains(t, stderr, "skipped: 4 data points, which --signal traces excludes\n")

	each := filepath.Join(dir, "each-{signal}.stef")
	_, stderr = mustRun(t, nil, "convert", mixed, each)
	require.NotContains(t, stderr, "skipped")
	// The summary has one line for the input, two lines for each output, and one ratio for all outputs.
	info := func(name string) int64 {
		stat, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return stat.Size()
	}
	a, b, whole := info("each-metrics.stef"), info("each-traces.stef"), info("all.json")
	lines := strings.Split(stderr, "\n")
	require.Len(t, lines, 7)
	require.Equal(t, fmt.Sprintf("%s: otlp-json, %d bytes", mixed, whole), lines[0])
	require.Equal(t, fmt.Sprintf("%s: stef, 2 frames, %d bytes, 4 data points", filepath.Join(dir, "each-metrics.stef"), a), lines[1])
	require.Equal(t, fmt.Sprintf("%s: stef, 1 frame, %d bytes, 1 span", filepath.Join(dir, "each-traces.stef"), b), lines[3])
	require.Contains(t, lines[5], fmt.Sprintf("2 files, %d bytes, ", a+b))
	require.Regexp(t, fmt.Sprintf(`, (ratio %.3g|%.3g times the input) in `, float64(whole)/float64(a+b), float64(a+b)/float64(whole)), lines[5])
	_, quiet := mustRun(t, nil, "convert", "--quiet", "--force", mixed, each)
	require.Empty(t, quiet)
	require.Equal(t, []string{"all.json", "each-metrics.stef", "each-traces.stef", "one.stef"}, list(t, dir))
	out, _ := mustRun(t, nil, "cat", filepath.Join(dir, "each-metrics.stef"))
	require.Equal(t, 4, strings.Count(out, "\n"))
	code, _, stderr = run(nil, "convert", mixed, each)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "each-metrics.stef exists; --force overwrites it")
	mustRun(t, nil, "convert", "--force", mixed, each)

	require.NoError(t, os.WriteFile(mixed, []byte("{}\n"), 0o666))
	code, _, stderr = run(nil, "convert", mixed, filepath.Join(dir, "none-{signal}.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "all.json: the file has no items")
}

func TestConvertFailingPipes(t *testing.T) {
	dir, _ := folder(t)
	before := list(t, dir)
	failure := errors.New("the pipe is closed")
	f := func(src io.Reader, dst io.Writer, want string, args ...string) {
		t.Helper()
		var errs bytes.Buffer
		code := cli.Run(append([]string{"convert"}, args...), cli.Env{Stdin: src, Stdout: dst, Stderr: &errs})
		require.Equal(t, cli.ExitIO, code)
		require.Regexp(t, "^stef convert: (.*: |)"+want+": the pipe is closed\n$", errs.String())
		require.Equal(t, before, list(t, dir))
	}
	broken := func() io.Reader {
		return io.MultiReader(bytes.NewReader(fixtures.Logs()[:50_000]), iotest.ErrReader(failure))
	}
	f(broken(), io.Discard, "standard input", "-", filepath.Join(dir, "out.stef"))
	f(broken(), io.Discard, "standard input", "-", "-")
	for _, to := range []string{"stef", "otlp", "otlp-parts", "otlp-json"} {
		for _, n := range []int{0, 10, 70_000} {
			f(bytes.NewReader(fixtures.Logs()), &full{n, failure}, "standard output", "--to", to, "-", "-")
		}
	}
}

func TestDevFull(t *testing.T) {
	const device = "/dev/full"
	if _, err := os.Stat(device); err != nil {
		t.Skip("needs the device /dev/full")
	}
	_, recording := folder(t)
	code, _, stderr := run(nil, "convert", "--to", "stef", recording, device)
	require.Equal(t, cli.ExitIO, code)
	require.Contains(t, stderr, device+": write: no space left on device")
}

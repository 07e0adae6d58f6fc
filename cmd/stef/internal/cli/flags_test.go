// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/freeport"
)

func TestMistakesOfFlags(t *testing.T) {
	m := newMistakes(t)
	f := func(want string, args ...string) { t.Helper(); m.fails(cli.ExitUsage, want, args...) }
	out := m.path("x-{signal}.stef")
	f(`invalid value "-5s" for --for: must be above 0`, "record", "--for", "-5s", out)
	f(`invalid value "0s" for --for: must be above 0`, "record", "--for", "0", out)
	f(`invalid value "-1s" for --sync: must be 0 or more`, "record", "--sync", "-1s", out)
	f(`invalid value "99999999h" for --for: is too long`, "record", "--for", "99999999h", out)
	f(`invalid value "5" for --for: must be a duration with its unit, such as 30s or 10m`, "record", "--for", "5", out)
	f(`invalid value "-1" for --items: must be 0 or more`, "record", "--items", "-1", out)
	f(`invalid value "-1" for -n: must be 0 or more`, "cat", "-n", "-1", m.metrics)
	f(`invalid value "x" for -n: must be a whole number`, "cat", "-n", "x", m.metrics)
	f("there is no flag -o: the output is the last argument: stef convert IN x", "convert", "-o", "x", m.metrics)
	f("there is no flag --output: the output is the last argument: stef convert IN y.json", "convert", m.metrics, "--output=y.json")
	f("there is no flag --out: the output is the last argument: stef convert IN x.stef", "convert", m.metrics, "--out")
	f("there is no flag --sort, did you mean --mode sorted?", "convert", "--sort", m.metrics, m.path("out.stef"))
	f("--endpoint: port 233990 is not between 1 and 65535", "replay", "--endpoint", "localhost:233990", m.metrics)
	f("{sig} in the name of OUT is no placeholder: the only one is {signal}", "record", m.path("x-{sig}.stef"))
	f("standard output is stef, and so is the input: add --to stef, otlp-parts, otlp, otlp-json, parquet or arrow", "convert", m.metrics, "-")
	m.t.Chdir(m.dir)
	m.fails(cli.ExitIO, "localhost:23399: there is no such file; if this is an address, use --endpoint localhost:23399", "replay", "localhost:23399", m.metrics)

	// A message that says what to do is not followed by the usage.
	_, _, stderr := run(nil, "convert", m.metrics, "-")
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestMistakesOfContent(t *testing.T) {
	m := newMistakes(t)
	out := m.path("out.stef")
	var twice bytes.Buffer
	w := gzip.NewWriter(&twice)
	_, err := w.Write(fixtures.Traces())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	m.fails(cli.ExitData, "twice.gz: it is compressed twice (zstd inside of gzip): decompress one layer, such as gzip -dc FILE | stef convert - OUT",
		"convert", m.file("twice.gz", twice.Bytes()), out)

	dict := bytes.Repeat([]byte("telemetry "), 100)
	e, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(77, dict))
	require.NoError(t, err)
	m.fails(cli.ExitData, "dict.zst: zstd: unknown dictionary: the file as a whole is compressed with a dictionary: decompress it first: zstd -dc -D DICTIONARY FILE | stef convert - OUT",
		"convert", m.file("dict.zst", e.EncodeAll(dict, nil)), out)

	line := func(rest string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"` + rest + "}]}]}]}\n"
	}
	good := line("")
	f := func(want, text string, args ...string) {
		t.Helper()
		path := m.file("lines.json", []byte(text))
		code, _, stderr := run(nil, append([]string{"convert", path}, append(args, out)...)...)
		require.Equal(t, cli.ExitData, code)
		require.Contains(t, stderr, want)
		if !strings.Contains(want, "sed ") {
			require.NotContains(t, stderr, "sed ")
			return
		}
		var number int
		_, err := fmt.Sscanf(want[strings.Index(want, "sed "):], "sed %dd", &number)
		require.NoError(t, err)
		lines := strings.SplitAfter(text, "\n")
		mustRun(t, nil, "convert", m.file("rest.json", []byte(strings.Join(append(lines[:number-1:number-1], lines[number:]...), ""))), m.path(fmt.Sprintf("%d.stef", len(text))))
	}
	sed := func(n int) string {
		return fmt.Sprintf("; sed %dd %s removes the line and all its items\n", n, m.path("lines.json"))
	}
	f(sed(4), good+good+good+line(`,"kind":x`)+good)
	f(sed(4), good+good+good+line(`,"kind":{`)+good+good) // the JSON message continues on the next line
	f(sed(2), good+line(`,"traceId":"zz"`)+good)
	f(`corrupt: traceId "zz" is not 32 hexadecimal digits`+sed(1), line(`,"traceId":"zz"`)+good)
	const base64 = "; it looks like base64, which generic protobuf JSON has: write the message as protobuf (.pb) instead"
	f(`corrupt: traceId "SJL/alWFWpvyCqDpy8D4kw==" is not 32 hexadecimal digits`+base64+sed(1), line(`,"traceId":"SJL/alWFWpvyCqDpy8D4kw=="`)+good)
	f(`corrupt: spanId "SJL/alWFWps=" is not 16 hexadecimal digits`+base64+sed(1), line(`,"spanId":"SJL/alWFWps="`)+good)
	f(`corrupt: traceId "SJL/alWFWps=" is not 32 hexadecimal digits`+sed(1), line(`,"traceId":"SJL/alWFWps="`)+good)
	f(`corrupt: parentSpanId "0102" is not 16 hexadecimal digits`+sed(1), line(`,"parentSpanId":"0102"`)+good+good)
	f(`corrupt: no field resourceMetrics, resourceSpans or resourceLogs; the first is "level"`+sed(2), good+`{"level":"info"}`+"\n"+good)
	f(`corrupt: no field resourceMetrics, resourceSpans or resourceLogs; the first is "level"`, `{"level":"info"}`+"\n"+good, "--from", "otlp-json", "--signal", "traces")
	f("corrupt: invalid character 'x'", "{\n \"resourceSpans\": [\n x\n]}\n"+good)

	// If the output is larger than the input, the summary prints "times the input" instead of a
	// ratio below 1.
	_, stderr := mustRun(t, nil, "convert", m.metrics, m.path("m.json"))
	require.Regexp(t, `m.json: otlp-json, 158 messages, [0-9,]+ bytes, [0-9.]+ times the input\n`, stderr)
	require.Regexp(t, `; [^ ]*metrics.stef is 0.2[23][0-9]* times that\n`, stderr)
	mustRun(t, nil, "convert", "--compression", "none", m.metrics, m.path("plain.stef"))
	_, stderr = mustRun(t, nil, "convert", m.path("plain.stef"), m.path("m.parts"))
	require.Regexp(t, `plain.stef is [0-9.]+ times that and is not compressed\n`, stderr)
}

// The summary of replay counts what was sent. If nothing was sent, replay prints no summary.
func TestReplaySummary(t *testing.T) {
	m := newMistakes(t)
	code, _, stderr := run(nil, "replay", "--endpoint", freeport.Address(t), "--retries", "0", "--rate", "max", m.json)
	require.Equal(t, cli.ExitIO, code)
	require.NotContains(t, stderr, "sent ")

	address, _, wait := recording(t, "--items", "1", m.path("r-{signal}.stef"))
	code, _, stderr = run(nil, "replay", "--endpoint", address, "--rate", "max", m.json)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "sent 1 item in 1 batch to ")
	code, stderr = wait()
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "; it ends after 1 item; interrupt to end it earlier\n")
}

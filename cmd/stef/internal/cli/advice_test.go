// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
)

// A user's likely mistakes cause messages that say what to do.
func TestAdvice(t *testing.T) {
	dir := t.TempDir()
	path := func(name string, content []byte) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, content, 0o666))
		return p
	}
	own, schema := path("own.stef", orders(t)), path("shop.stef", []byte(shopSchema))
	out := filepath.Join(dir, "out")
	f := func(code int, want string, args ...string) {
		t.Helper()
		got, _, stderr := run(nil, args...)
		require.Equal(t, code, got, stderr)
		require.Contains(t, stderr, want)
		require.NoFileExists(t, out)
	}

	// convert does not know records of a user's own schema.
	f(cli.ExitUsage, "convert knows records of OpenTelemetry only: print records of your own with stef cat --schema "+schema, "convert", "--schema", schema, own, out+".json")
	for _, name := range []string{out + ".json", out + ".parquet", out + ".pb", out + ".stef"} {
		f(cli.ExitData, "own.stef: convert knows records of OpenTelemetry only; print records of your own with stef cat --schema FILE.stef: ", "convert", own, name)
	}
	f(cli.ExitUsage, `invalid value "x" for --schema: must be one of compact, full, reference`+"\n", "convert", "--schema", "x", own, out)

	// The name of the output has an unknown extension.
	stream := path("metrics.stef", metrics(t))
	json := path("one.json", []byte(`{"resourceLogs":[]}`))
	for _, in := range []string{stream, json} {
		f(cli.ExitUsage, "out.avro: add --to stef, otlp-parts, otlp, otlp-json, parquet or arrow, or end the name in .stef", "convert", in, out+".avro")
	}

	f(cli.ExitData, "own.stef: replay knows records of OpenTelemetry only; ", "replay", own)

	// A file has several signals.
	both := path("all.json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}`+"\n"+
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}}]}]}]}`))
	for _, command := range []string{"cat", "stat"} {
		code, _, stderr := run(nil, command, both)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, "; --signal metrics, traces or logs reads only these\n")
		require.NotContains(t, stderr, "OUT")
		mustRun(t, nil, command, both, "--signal", "logs")
		mustRun(t, nil, command, both, "--signal", "logs", "--depth", "100")
	}
	f(cli.ExitUsage, "put {signal} into the name of OUT", "convert", both, out+".stef")
	// The summary has no ratio, because the output omits a signal of the input.
	_, stderr := mustRun(t, nil, "convert", "--signal", "logs", both, filepath.Join(dir, "logs.stef"))
	require.Regexp(t, ` with logs, in all [0-9,]+ bytes`, strings.Split(stderr, "\n")[0])
	require.NotContains(t, stderr, "ratio")
	require.NotContains(t, stderr, "warning")
	_, stderr = mustRun(t, nil, "convert", filepath.Join(dir, "logs.stef"), filepath.Join(dir, "logs.json"))
	require.Contains(t, stderr, " times the input\n")
	f(cli.ExitUsage, "all.json: it holds traces and logs, not metrics: use --signal traces or --signal logs\n", "convert", "--signal", "metrics", both, out+".stef")

	// repair and inspect read only streams.
	f(cli.ExitUsage, "all.json: it is otlp-json; repair is for STEF: ", "repair", both, out)
	f(cli.ExitUsage, "all.json: it is otlp-json; inspect prints STEF: convert it first, with stef convert\n", "inspect", both)
	mustRun(t, spans(t), "convert", "-", filepath.Join(dir, "m.parquet"))
	f(cli.ExitUsage, "m.parquet: it is parquet; repair is for STEF: Parquet has its index at the end, so a cut file cannot be read\n", "repair", filepath.Join(dir, "m.parquet"), out)

	// Some files are empty or have another format than their name says.
	for _, name := range []string{"empty1.stef", "empty1", "empty1.json"} {
		in := path(name, nil)
		for _, args := range [][]string{{"inspect", in}, {"repair", in, out}} {
			f(cli.ExitData, in+": the file is empty", args...)
		}
		for _, args := range [][]string{{"cat", in}, {"stat", in}, {"convert", in, out + ".stef"}} {
			f(cli.ExitData, "the file is empty", args...)
		}
	}
	f(cli.ExitData, "the file is JSON, but not OTLP: it has no resourceMetrics, resourceSpans or resourceLogs", "cat", path("other.json", []byte(`{"a":1}`)))
	const records = "these are records printed by stef cat, which no command reads: use the file that stef cat read\n"
	for _, flags := range [][]string{{}, {"--sort-keys"}, {"--canonical"}, {"--zeros"}} {
		for _, tape := range [][]byte{fixtures.Metrics(), fixtures.Traces(), fixtures.Logs()} {
			printed, _ := mustRun(t, tape, append([]string{"cat", "-"}, flags...)...)
			f(cli.ExitData, records, "convert", path("printed.json", []byte(printed)), out+".stef")
			f(cli.ExitData, records, "cat", path("printed.json", []byte(printed)))
		}
	}
	for _, other := range []string{`{"resource":{}}`, `{"span":{},"name":"a"}`, `{"span":{},"record":{}}`} {
		f(cli.ExitData, "the file is JSON, but not OTLP", "cat", path("other.json", []byte(other+"\n")))
	}
	f(cli.ExitData, "the file holds profiles, which STEF does not support: use OTLP for them", "cat", path("profiles.json", []byte(`{"resourceProfiles":[]}`)))
	f(cli.ExitData, "the file looks like a profile (pprof), which STEF does not support: use OTLP for them\n", "cat", path("cpu.pb", []byte("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04")))
	f(cli.ExitData, "the file looks like a profile (pprof), which STEF does not support: use OTLP for them\n", "convert", "--signal", "traces", path("cpu.pb", []byte("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04")), out+".stef")

	log, profiles := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`+"\n", `{"resourceProfiles":[{}]}`+"\n"
	some := path("some.json", []byte(log+profiles+log+profiles))
	f(cli.ExitData, "message 2, line 2, byte 55: it holds profiles, which STEF does not support: use OTLP for them; --signal logs skips the messages with profiles\n", "convert", some, out+".stef")
	for _, args := range [][]string{{"--signal", "logs", some, filepath.Join(dir, "some.stef")}, {some, filepath.Join(dir, "some-{signal}.stef")}, {"--signal", "logs", some, path("p.json", []byte(profiles)), filepath.Join(dir, "some2.stef")}} {
		_, stderr = mustRun(t, nil, append([]string{"convert"}, args...)...)
		require.Contains(t, stderr, "2 log records")
		require.Regexp(t, `skipped: the profiles of [23] messages, which STEF does not support\n$`, stderr)
	}

	// --schema is for streams.
	for _, command := range []string{"cat", "stat"} {
		f(cli.ExitUsage, "some.json: it looks like otlp-json, and --schema is for streams: leave --schema out\n", command, "--schema", schema, some)
		f(cli.ExitUsage, "m.parquet: it looks like parquet, and --schema is for streams: leave --schema out\n", command, "--schema", schema, filepath.Join(dir, "m.parquet"))
	}
	// The advice is to leave the file out, not to omit --signal: without this flag, cat would print
	// all signals of all files.
	for _, other := range []string{path("t.otlp", spans(t)), filepath.Join(dir, "m.parquet")} {
		f(cli.ExitUsage, "it holds traces, not logs: leave the file out\n", "cat", "--signal", "logs", filepath.Join(dir, "some.stef"), other)
	}
	two := path("two.json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}`+`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{}]}}]}]}]}`))
	f(cli.ExitUsage, "two.json: it holds metrics and traces, not logs: use --signal metrics or --signal traces\n", "cat", "--signal", "logs", two)
	f(cli.ExitUsage, "two.json: it holds metrics and traces, not logs: leave the file out\n", "cat", "--signal", "logs", some, two)
	f(cli.ExitUsage, "some.stef: it holds logs, not traces: leave the file out\n", "cat", "--root", "spans", filepath.Join(dir, "some.stef"), filepath.Join(dir, "some.stef"))
	// The suggested sed command quotes the file name for the shell.
	f(cli.ExitData, "; sed 2d '"+filepath.Join(dir, `it'\''s one.json`)+"' removes the line", "convert", path("it's one.json", []byte(log+"{x}\n"+log)), out+".stef")
	// Two empty files would look like one file that is named twice, because their contents are equal. But empty
	// files are left out first, so there is no such warning.
	empty, blank := path("e.json", nil), path("blank.json", []byte("\n"))
	_, stderr = mustRun(t, nil, "convert", empty, empty, blank, blank, some, "--signal", "logs", filepath.Join(dir, "some3.stef"))
	require.NotContains(t, stderr, "is named")
	require.Equal(t, 4, strings.Count(stderr, "left out: "))
	// replay of an empty file sends nothing, so no program needs to listen at the endpoint.
	_, stderr = mustRun(t, nil, "replay", "--endpoint", "localhost:1", "--retries", "0", path("logs.json", nil))
	require.Equal(t, "sent 0 items: the input has none\n", stderr)

	// Some files have no telemetry.
	for _, text := range []string{"a", "hello\n", "time,value\n" + strings.Repeat("2026-11-22,1\n", 10_000)} {
		in := path("notes.txt", []byte(text))
		for _, args := range [][]string{{"inspect", in}, {"repair", in, out}, {"inspect", "--root", "logs", in}, {"inspect", "--schema", schema, in}} {
			f(cli.ExitData, "notes.txt: it is not a STEF file: it begins with \""+text[:1], args...)
		}
		for _, args := range [][]string{{"inspect", in}, {"cat", in}, {"stat", in}, {"convert", in, out + ".stef"}} {
			f(cli.ExitData, " and looks like text\n", args...)
		}
	}
	f(cli.ExitData, "short.stef: offset 0: corrupt stream: the stream ends inside its headers: unexpected EOF", "inspect", path("short.stef", []byte("STE")))

	// The error about a bad schema contains the name of the schema file once, with the line.
	bad := path("bad.stef", []byte("package a\nstruct A root { X timestamp }\n"))
	f(cli.ExitData, "stef cat: "+bad+":2:19: unknown type \"timestamp\", did you mean \"uint64\"?\n   2 | struct A root { X timestamp }\n", "cat", "--schema", bad, own)

	// Errors in the command line: the name of the file is missing, or the command does not exist.
	f(cli.ExitUsage, "stef cat: FILE is missing; - is standard input\n", "cat")
	f(cli.ExitUsage, "stef stat: FILE is missing; - is standard input\n", "stat")
	f(cli.ExitUsage, `stef: there is no command "convrt", did you mean "convert"?; stef help lists them`, "convrt")
	f(cli.ExitUsage, `stef: there is no command "ct", did you mean "cat"?; stef help lists them`, "ct")
	f(cli.ExitUsage, `stef: there is no command "dog"; stef help lists them`, "dog")
}

// A column that is empty for all items is reported, because its key may be misspelt.
func TestEmptyColumns(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, fixtures.TracesName)
	require.NoError(t, os.WriteFile(in, fixtures.Traces(), 0o666))
	_, stderr := mustRun(t, nil, "convert", "--columns", "http.request.method,service.name,resource:service.name,scope:none,htp.route,resource:http.request.method,resource.telemetry.sdk.language,resource:none", in, filepath.Join(dir, "x.parquet"))
	var reported []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "empty column") {
			reported = append(reported, line)
		}
	}
	require.Equal(t, []string{
		"empty column: no item has the attribute service.name, but the resource has it: write resource:service.name\n",
		"empty column: no scope has the attribute none; check the spelling\n",
		"empty column: no item has the attribute htp.route; check the spelling\n",
		"empty column: no resource has the attribute http.request.method, but an item has it: write http.request.method\n",
		"empty column: no item has the attribute resource.telemetry.sdk.language; write resource:telemetry.sdk.language\n",
		"empty column: no resource has the attribute none; check the spelling\n",
	}, reported)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Empty inputs are treated the same in all formats. If there are several inputs, the empty ones are
// left out. A single empty input is an error, unless it is OTLP and its signal is known.
func TestEmptyInputs(t *testing.T) {
	m := newMistakes(t)
	var zipped, packed bytes.Buffer
	require.NoError(t, gzip.NewWriter(&zipped).Close())
	z, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	_, err = z.Write([]byte("\r\n\t "))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	want, _ := mustRun(t, nil, "cat", m.json)
	const noSignal = ", and its name does not tell metrics, traces or logs: add --signal metrics, traces or logs"
	for _, end := range []string{"stef", "otlp", "parts", "pb", "json", "parquet", "arrow", "bin", "txt"} {
		for _, c := range []struct {
			end     string
			content []byte
		}{{"", nil}, {"", []byte(" \n")}, {".gz", zipped.Bytes()}, {".zst", packed.Bytes()}} {
			name := "empty." + end + c.end
			in := m.file(name, c.content)
			blank, is := len(c.content) > 0 && c.end != ".gz", "the file is empty"
			if blank {
				is += ": it has only white space"
			}
			for _, args := range [][]string{{}, {"--skip"}, {"--signal", "logs"}, {"--quiet"}} {
				for _, out := range []string{"a.json", "a-{signal}.json"} {
					if len(args) == 2 && strings.Contains(out, "{") {
						continue
					}
					all := append(append([]string{"convert", "--force"}, args...), in, m.json, m.path(out))
					_, stderr := mustRun(t, nil, all...)
					require.Contains(t, stderr, "left out: "+in+": "+is+"\n")
					got, _ := mustRun(t, nil, "cat", m.path(strings.Replace(out, "{signal}", "logs", 1)))
					require.Equal(t, want, got)
				}
			}
			got, stderr := mustRun(t, nil, "cat", in, m.json, in)
			require.Equal(t, want, got)
			require.Equal(t, strings.Repeat("left out: "+in+": "+is+"\n", 2), stderr)
			code, _, stderr := run(nil, "replay", "--endpoint", "localhost:1", "--retries", "0", "--rate", "max", in, m.json)
			require.Equal(t, cli.ExitIO, code)
			require.Contains(t, stderr, "left out: "+in+": "+is+"\n")

			// Commands fail if their only input is empty, or if all their inputs are empty.
			m.fails(cli.ExitData, name+": "+is, "inspect", in)
			m.fails(cli.ExitData, name+": "+is, "repair", in, m.path("out.stef"))
			m.fails(cli.ExitData, name+": "+is, "convert", in, m.path("out-{signal}.stef"))
			binary := end == "otlp" || end == "parts" || end == "pb"
			hasSignal := end == "json" || binary && !blank
			advice := ""
			if hasSignal {
				advice = noSignal
			}
			for _, args := range [][]string{{"cat", in}, {"stat", in}, {"replay", in}, {"convert", in, m.path("out.stef")}, {"convert", "--skip", in, m.path("out.stef")}} {
				m.fails(cli.ExitData, name+": "+is+advice, args...)
			}
			code, _, stderr = run(nil, "convert", in, in, m.path("out.stef"))
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, "the files have no items\n")
			code, _, stderr = run(nil, "cat", in, in)
			require.Equal(t, cli.ExitData, code)
			require.Contains(t, stderr, "stef cat: "+in+": "+is+"\n")

			outs := [][]string{{in, in}}
			if hasSignal {
				outs = append(outs, []string{in})
				mustRun(t, nil, "cat", "--signal", "logs", in)
				_, stderr := mustRun(t, nil, "replay", "--endpoint", "localhost:1", "--rate", "max", "--signal", "logs", in) // there is nothing to send
				require.Equal(t, "sent 0 items: the input has none\n", stderr)
			} else {
				if !blank && (end == "bin" || end == "txt") { // any format is possible
					is += "; --from otlp-json accepts it as a file without items"
				}
				m.fails(cli.ExitData, name+": "+is, "convert", "--signal", "logs", in, m.path("out.stef"))
			}
			for _, ins := range outs {
				for _, out := range []string{"none.stef", "none.parquet", "none.arrow", "none.stef.zst"} {
					args := append(append([]string{"convert", "--force", "--signal", "logs"}, ins...), m.path(out))
					_, stderr := mustRun(t, nil, args...)
					require.Contains(t, stderr, " is empty\n")
					got, _ := mustRun(t, nil, "cat", m.path(out))
					require.Empty(t, got)
				}
			}
		}
	}
	none := m.file("my-logs.json", nil)
	_, stderr := mustRun(t, nil, "convert", none, m.path("out.stef"))
	require.Contains(t, stderr, "warning: "+none+" has no log records, so "+m.path("out.stef")+" is empty\n")
}

var notKept = regexp.MustCompile(`(?m)^not kept[^:]*: (.*)$`)

// If an input is cut, convert --skip prints which data of the part before the cut the output does not
// keep. It prints the same for each format of the output.
func TestLossesOfCutInput(t *testing.T) {
	m := newMistakes(t)
	otlp := fixtures.Metrics()
	cut := m.file("cut.otlp", otlp[:len(otlp)/2])
	want := notKept.FindStringSubmatch(mustSkip(t, nil, cut, m.path("one.stef")))
	require.NotNil(t, want)
	for _, out := range []string{"a.stef", "a.parquet", "a-{signal}.stef", "a-{signal}.parquet", "a-{signal}.json"} {
		for _, ins := range [][]string{{cut}, {cut, m.metrics}, {m.metrics, cut}} {
			args := append(append([]string{"--force"}, ins...), m.path(out))
			got := notKept.FindAllStringSubmatch(mustSkip(t, nil, args...), -1)
			require.Len(t, got, 1, args)
			require.Equal(t, want[1], got[0][1], args)
		}
	}
	// The second input has only logs. Its resources and scopes have no metrics, but the output of
	// metrics does not report them as lost.
	stderr := mustSkip(t, nil, cut, m.json, m.path("b-{signal}.stef"))
	require.Len(t, notKept.FindAllString(stderr, -1), 1)
	require.NoFileExists(t, m.path("b-traces.stef"))
}

// With --skip and {signal}, a stream is copied with its user data, as without --skip.
func TestSkipKeepsUserData(t *testing.T) {
	m := newMistakes(t)
	var content bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&content, stef.WithUserData(map[string]string{"owner": "shop"}))
	require.NoError(t, err)
	for i := range 100 {
		w.Record().Metric().SetName(fmt.Sprint("m", i%3))
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	in := m.file("in.stef", content.Bytes())
	cut := m.file("cut.stef", content.Bytes()[:content.Len()-1])
	mustRun(t, nil, "convert", "--skip", in, m.path("a-{signal}.stef"))
	stderr := mustSkip(t, nil, cut, m.path("b-{signal}.stef"))
	require.Contains(t, stderr, "not complete: "+cut+": ")
	for name, records := range map[string]int{"a-metrics.stef": 100, "b-metrics.stef": 99} {
		report, _ := mustRun(t, nil, "stat", m.path(name))
		require.Contains(t, report, `user data    "owner" = "shop"`)
		require.Contains(t, report, fmt.Sprintf("records      %d\n", records))
	}
	code, _, stderr := run(nil, "convert", "--skip", m.file("short.stef", content.Bytes()[:9]), m.path("c-{signal}.stef"))
	require.Equal(t, cli.ExitData, code)
	require.Contains(t, stderr, "nothing before the cut is complete, so --skip has nothing to convert\n")
}

// Commands report files that are cut in their first bytes, or in their first compressed block.
func TestCutAtTheStart(t *testing.T) {
	m := newMistakes(t)
	short := m.file("short.stef", []byte("STE"))
	for _, command := range [][]string{{"cat"}, {"stat"}, {"inspect"}} {
		m.fails(cli.ExitData, "short.stef: offset 0: corrupt stream: the stream ends inside its headers: unexpected EOF", append(command, short)...)
	}
	m.fails(cli.ExitData, "short.stef: offset 0: corrupt stream: the stream ends inside its headers: unexpected EOF", "convert", short, m.path("out.stef"))

	mustRun(t, nil, "convert", m.metrics, m.path("all.stef.zst"))
	content, err := os.ReadFile(m.path("all.stef.zst"))
	require.NoError(t, err)
	t.Chdir(m.dir)
	m.file("cut.stef.zst", content[:1000])
	for _, command := range []string{"cat", "stat", "inspect"} {
		m.fails(cli.ExitData, "cut.stef.zst: zstd: unexpected EOF; the file is cut; zstd may return more of the file: zstd -dc cut.stef.zst | stef repair - OUT", command, "cut.stef.zst")
	}
}

// Names of formats that are not written, and commands that do not exist, get a hint.
func TestHints(t *testing.T) {
	m := newMistakes(t)
	const csv = "for CSV write a.parquet and export it with DuckDB; ids need hex() and attributes to_json(): docs/data-lake.md of github.com/otelstef/stef has the commands"
	for _, name := range []string{"a.csv", "a.csv.gz", "a.csv.zst"} {
		m.fails(cli.ExitUsage, "csv is not written: "+csv, "convert", m.metrics, name)
	}
	m.fails(cli.ExitUsage, "csv is not written: record a-{signal}.stef and convert it; "+strings.Replace(csv, "a.parquet", "a-{signal}.parquet", 1), "record", "a-{signal}.csv.gz")
	m.fails(cli.ExitUsage, "xz is not written: end the name in .zst or .gz, or write a-{signal}.json and compress it then", "record", "a-{signal}.json.xz")
	for _, name := range []string{"diff", "cmp", "compare"} {
		code, _, stderr := run(nil, name, m.metrics, m.metrics)
		require.Equal(t, cli.ExitUsage, code)
		require.Equal(t, "stef: there is no command \""+name+"\": to compare two files, compare the output of 'stef cat --sort-keys FILE | sort' for both; stef help lists them\n", stderr)
	}
	content, err := os.ReadFile(m.parquet)
	require.NoError(t, err)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, command := range []string{"cat", "stat"} {
		m.fails(cli.ExitUsage, "a.parquet.gz: a Parquet file cannot be read under gzip, because its index is at the end: decompress it to a file first, and name that file", command, m.file("a.parquet.gz", zipped.Bytes()))
		code, _, stderr := run(content, command, "-")
		require.Equal(t, cli.ExitUsage, code)
		require.Equal(t, "stef "+command+": standard input: a Parquet file cannot be read from a pipe, because its index is at the end: write it to a file first, and name that file\n", stderr)
	}
}

// The JSON of a report has the figures of its text, and the error that is printed.
func TestStatJSON(t *testing.T) {
	m := newMistakes(t)
	out, _ := mustRun(t, nil, "stat", "--json", m.metrics)
	require.Contains(t, out, "\"restarts\": {\n    \"dictionaries\": 0,\n    \"compression\": 1,\n    \"codecs\": 0\n  }")
	require.Regexp(t, `"ratio": 0\.2\d+\n`, out)
	content, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	cut := m.file("cut.stef", content[:len(content)/2])
	code, out, stderr := run(nil, "stat", "--json", cut)
	require.Equal(t, cli.ExitData, code)
	first, _, _ := strings.Cut(strings.TrimPrefix(stderr, "stef stat: "), "\n")
	require.Contains(t, first, "the stream ends inside it")
	require.Contains(t, out, "\"error\": \""+first+"\"")
}

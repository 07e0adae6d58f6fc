// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/otlpfile"
)

// requests returns the number and the sizes of the requests that pdata makes of a recording,
// uncompressed and compressed one by one. It does not use the tool.
func requests(t *testing.T, name string) (n, plain, packed int) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := otlpfile.Open(f, otlpfile.Parts, otlpfile.SignalUnknown, otlpfile.WithName(name))
	require.NoError(t, err)
	defer r.Close()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	for {
		b, err := r.Next()
		if err != nil {
			return n, plain, packed
		}
		if b.Items() > 0 {
			request, err := (&plog.ProtoMarshaler{}).MarshalLogs(b.Logs)
			require.NoError(t, err)
			n++
			plain += len(request)
			packed += len(z.EncodeAll(request, nil))
		}
	}
}

// The ratio to OTLP depends on the level of zstd. stat compares the level of the stream with the
// level of the exporter. That level depends on signal, schema and size of the frames.
func TestStatLevel(t *testing.T) {
	dir, recording := folder(t)
	f := func(want, in string, convert ...string) {
		t.Helper()
		if len(convert) > 0 {
			out := filepath.Join(dir, "out.stef")
			mustRun(t, nil, append([]string{"convert", "--quiet", "--force", in, out}, convert...)...)
			in = out
		}
		text, _ := mustRun(t, nil, "stat", in)
		require.Contains(t, text, want+"\n", text)
	}
	const unknown, measure = "zstd level   unknown, because streams do not contain it (stef record uses default; stef convert uses default unless --level sets another)", "; stef convert --level fastest prints the ratio for fastest"
	f("zstd level   default; the exporter would use fastest for these frames"+measure, recording)
	f(unknown+"; the exporter would use fastest for these frames"+measure, recording, "--frame-items", "100000") // logs of any size
	f(unknown+"; the exporter would use default for these frames", recording, "--schema", "full")

	// There is a small message of metrics, and a large message whose frame has more than 64 KiB.
	point := func(i int) string {
		return fmt.Sprintf(`{"timeUnixNano":"1700000000000000000","attributes":[{"key":"a","value":{"stringValue":"%x"}}]}`, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	message := func(points ...string) string {
		return `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[` + strings.Join(points, ",") + `]}}]}]}]}` + "\n"
	}
	var many []string
	for i := range 2000 {
		many = append(many, point(i))
	}
	small, large := message(point(0)), message(many...)
	file := func(content string) string {
		name := filepath.Join(dir, "metrics.json")
		require.NoError(t, os.WriteFile(name, []byte(content), 0o666))
		return name
	}
	f("zstd level   default; the exporter would use fastest for these frames"+measure, file(small+small))
	f("zstd level   default; the exporter would use fastest up to frame 2, and default after it, because the next frame has more than 64 KiB before compression"+measure, file(small+small+large+small))
	f("zstd level   default; the exporter would use default for these frames", file(large+small))

	mustRun(t, nil, "convert", "--quiet", "--force", "--compression", "none", recording, filepath.Join(dir, "out.stef"))
	text, _ := mustRun(t, nil, "stat", filepath.Join(dir, "out.stef"))
	require.NotContains(t, text, "zstd level")
}

// TestRequests checks the size of OTLP on the wire that is printed beside the size of a
// stream.
func TestRequests(t *testing.T) {
	dir, recording := folder(t)
	n, plain, packed := requests(t, recording)
	require.Equal(t, 120, n)
	out := filepath.Join(dir, "out.stef")
	_, stderr := mustRun(t, nil, "convert", recording, out)
	line := regexp.MustCompile(`for each request: ([0-9,]+) requests of 20 items on average, ([0-9,]+) bytes; \S+ is ([0-9.]+) times that`)
	found := line.FindStringSubmatch(stderr)
	require.NotNil(t, found, stderr)
	require.Equal(t, strconv.Itoa(n), found[1])
	require.Equal(t, strconv.Itoa(packed), strings.ReplaceAll(found[2], ",", ""))
	info, err := os.Stat(out)
	require.NoError(t, err)
	ratio, err := strconv.ParseFloat(found[3], 64)
	require.NoError(t, err)
	require.InDelta(t, float64(info.Size())/float64(packed), ratio, 0.001)

	type figures struct {
		OTLP *struct {
			Requests, Plain int
			Zstd            int `json:"zstd_per_request"`
		}
	}
	stat := func(args ...string) (f figures) {
		text, _ := mustRun(t, nil, append([]string{"stat", "--json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(text), &f))
		return f
	}
	// stat counts each message of a file as a request, because a Collector sends a message as one
	// request. In a stream, stat counts each frame as a request.
	f := stat(recording)
	require.Equal(t, []int{n, plain, packed}, []int{f.OTLP.Requests, f.OTLP.Plain, f.OTLP.Zstd})
	f = stat(out)
	require.Equal(t, n, f.OTLP.Requests)
	require.InEpsilon(t, plain, f.OTLP.Plain, 0.01)
	require.InEpsilon(t, packed, f.OTLP.Zstd, 0.03)
	text, _ := mustRun(t, nil, "stat", out)
	require.Regexp(t, `as OTLP      120 requests, together [0-9,]+ bytes, [0-9,]+ with zstd for each request alone; the stream is 0\.[0-9]+ times that`, text)

	// The whole frames of a truncated stream are measured.
	stream, err := os.ReadFile(out)
	require.NoError(t, err)
	cut := filepath.Join(dir, "cut.stef")
	require.NoError(t, os.WriteFile(cut, stream[:len(stream)/2], 0o666))
	code, text, _ := run(nil, "stat", "--json", cut)
	require.Equal(t, cli.ExitData, code)
	f = figures{}
	require.NoError(t, json.Unmarshal([]byte(text), &f))
	require.Less(t, f.OTLP.Requests, n)
	require.Greater(t, f.OTLP.Requests, n/4)

	// Tables have no requests, and a quiet conversion measures nothing.
	table := filepath.Join(dir, "out.parquet")
	mustRun(t, nil, "convert", out, table)
	require.Nil(t, stat(table).OTLP)
	_, stderr = mustRun(t, nil, "convert", "--quiet", recording, filepath.Join(dir, "quiet.stef"))
	require.Empty(t, stderr)
}

// A mean number of items below 10 is printed with a decimal, unless it is a whole number.
func TestFewItems(t *testing.T) {
	line := func(records string) string {
		return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + records + `]}]}]}` + "\n"
	}
	f := func(want, lines string) {
		t.Helper()
		dir := t.TempDir()
		in := filepath.Join(dir, "logs.json")
		require.NoError(t, os.WriteFile(in, []byte(lines), 0o666))
		_, stderr := mustRun(t, nil, "convert", in, filepath.Join(dir, "logs.stef"))
		require.Contains(t, stderr, "for each request: "+want+", ")
	}
	const record = `{"body":{"stringValue":"x"}}`
	f("1 request of 1 item", line(record))
	f("2 requests of 1 item on average", line(record)+line(record))
	f("2 requests of 1.5 items on average", line(record)+line(record+","+record))
	f("2 requests of 2 items on average", line(record)+line(record+","+record+","+record))
	f("3 requests of 10 items on average", line(strings.Repeat(record+",", 9)+record)+line(strings.Repeat(record+",", 9)+record)+line(strings.Repeat(record+",", 10)+record))
}

// TestScreen checks that binary output is not written to a terminal.
func TestScreen(t *testing.T) {
	_, recording := folder(t)
	var stdout, stderr strings.Builder
	on := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		return cli.Run(args, cli.Env{Stdout: &stdout, Stderr: &stderr, Screen: true})
	}
	require.Equal(t, cli.ExitUsage, on("convert", recording, "-"))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "stef is a binary format, and standard output is a terminal: name a file or redirect the output")
	require.Equal(t, cli.ExitDone, on("convert", "--to", "otlp-json", recording, "-"))
	require.Contains(t, stdout.String(), "resourceLogs")
}

// TestFirstMistakes checks that messages about likely mistakes say what to write.
func TestFirstMistakes(t *testing.T) {
	dir, recording := folder(t)
	out := filepath.Join(dir, "out.stef")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	for _, c := range []struct {
		text string
		args []string
	}{
		{"there is no flag --shema, did you mean --schema?\n", []string{"convert", "--shema", "full", recording, out}},
		{"; for OTLP in JSON write otlp-json\n", []string{"convert", "--from", "json", recording, out}},
		{`unexpected argument "b": expected only FILE`, []string{"stat", recording, "b"}},
		{`invalid value "10" for --for: must be a duration with its unit, such as 30s or 10m`, []string{"record", "--for", "10", "x"}},
		{`invalid value "x" for --rounds: must be a whole number`, []string{"replay", "--rounds", "x", "x"}},
		{`each signal needs a file of its own: put {signal} into the name of OUT, as in 'mine-{signal}.stef'`, []string{"record", "mine.stef"}},
		{`as in 'mine-{signal}.parts.zst'`, []string{"record", "mine.parts.zst"}},
		{`--listen 4317: write HOST:PORT, such as localhost:4317, or :4317 for all interfaces`, []string{"record", "--listen", "4317", filepath.Join(dir, "r-{signal}.stef")}},
		{`--endpoint http://x:4317: write HOST:PORT without a scheme: x:4317`, []string{"replay", "--endpoint", "http://x:4317", recording}},
		{`--endpoint https://x:4317: write HOST:PORT without a scheme: --tls --endpoint x:4317`, []string{"replay", "--endpoint", "https://x:4317", recording}},
		{`--endpoint x: the port is missing, as in x:4317`, []string{"replay", "--endpoint", "x", recording}},
		{"hello.txt: the content has none of the formats stef, ", []string{"cat", write("hello.txt", "hello")}},
		{"hello.txt: the content has none of the formats stef, ", []string{"stat", write("hello.txt", "hello")}},
		{"empty.parts: the file is empty, and its name does not tell metrics, traces or logs: add --signal metrics, traces or logs",
			[]string{"convert", "--from", "otlp-parts", write("empty.parts", ""), out}},
		{"; the file is cut before its first frame, so there is nothing to keep\n", []string{"repair", write("head.stef", "STEF\x02"), out}},
	} {
		code, _, stderr := run(nil, c.args...)
		require.NotZero(t, code, c.args)
		require.Contains(t, stderr, c.text, c.args)
	}
	mustRun(t, nil, "convert", recording, out)
	code, _, stderr := run(nil, "convert", "--signal", "metrics", out, filepath.Join(dir, "m.json"))
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, ": it holds logs, not metrics: leave --signal out\n")
}

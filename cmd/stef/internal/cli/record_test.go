// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/stef-go/rotate"
)

// lockedBuffer is output that a test reads while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// listening finds the address in the output of stef record.
var listening = regexp.MustCompile(` at (127\.0\.0\.1:\d+); `)

// recording starts stef record and waits until it listens on address. interrupt stops the
// command. wait returns its exit code and what it wrote to standard error.
func recording(t *testing.T, args ...string) (address string, interrupt *cli.Interrupt, wait func() (int, string)) {
	t.Helper()
	interrupt = new(cli.Interrupt)
	var errs lockedBuffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(append([]string{"record", "--listen", "127.0.0.1:0"}, args...), cli.Env{Stdout: &bytes.Buffer{}, Stderr: &errs, Interrupt: interrupt})
	}()
	require.Eventually(t, func() bool { return listening.MatchString(errs.String()) }, time.Minute, time.Millisecond, "%s", &errs)
	return listening.FindStringSubmatch(errs.String())[1], interrupt, func() (int, string) { return <-code, errs.String() }
}

// stef record writes the same items in every format, whether they arrive over OTLP or over STEF.
func TestRecordAndReplay(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{fixtures.LogsName: fixtures.Logs(), fixtures.TracesName: fixtures.Traces(), fixtures.MetricsName: fixtures.Metrics()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	logsFile, traces, metrics := filepath.Join(dir, fixtures.LogsName), filepath.Join(dir, fixtures.TracesName), filepath.Join(dir, fixtures.MetricsName)
	tracesSTEF := filepath.Join(dir, "traces.stef")
	mustRun(t, nil, "convert", "--mode", "ordered", traces, tracesSTEF)

	// items are the records of a file, compared as the README says: batches are sent
	// concurrently, and STEF sorts records and attributes.
	items := func(name string) string {
		out, _ := mustRun(t, nil, "cat", "--sort-keys", name)
		return strings.Join(slices.Sorted(strings.Lines(out)), "")
	}
	f := func(end string, args ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "rec-{signal}"+end)
		address, interrupt, wait := recording(t, out)
		_, stderr := mustRun(t, nil, append([]string{"replay", "--rate", "max", "--endpoint", address, logsFile, tracesSTEF}, args...)...)
		require.Regexp(t, `(?m)^sent [0-9,]+ items in \d+ batches to `+address+` over `, stderr)
		require.True(t, interrupt.Deliver())
		code, stderr := wait()
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "rec-logs"+end+": 2,446 log records\n")
		require.NotContains(t, stderr, "metrics")
		require.True(t, items(tracesSTEF) == items(strings.ReplaceAll(out, "{signal}", "traces")))
		require.True(t, items(logsFile) == items(strings.ReplaceAll(out, "{signal}", "logs")))
	}
	f(".json", "--protocol", "otlp")
	f(".parts.gz", "--protocol", "otlp", "--compression", "zstd")
	f(".parts.zst", "--protocol", "otlp", "--compression", "none")
	f(".parts", "--protocol", "stef")
	f(".pb", "--protocol", "stef", "--compression", "none")

	// A recording in STEF keeps order and items; it ends after a number of
	// items.
	out := filepath.Join(dir, "rec-{signal}.stef")
	address, _, wait := recording(t, "--items", "1000", "--sync", "0", out)
	code, _, _ := run(nil, "replay", "--rate", "max", "--retries", "0", "--endpoint", address, metrics)
	require.Equal(t, cli.ExitIO, code) // the endpoint ends before everything is sent
	code, stderr := wait()
	require.Zero(t, code, stderr)
	got, _ := mustRun(t, nil, "cat", filepath.Join(dir, "rec-metrics.stef"))
	want, _ := mustRun(t, nil, "cat", metrics)
	require.GreaterOrEqual(t, strings.Count(got, "\n"), 1000)
	require.True(t, strings.HasPrefix(want, got))

	code, _, stderr = run(nil, "record", out)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "rec-metrics.stef exists; --force overwrites it, or choose another name for OUT\n")
}

// Everything that a recording wrote is acknowledged: the number of acknowledged items at the
// sender is the number of items in the file.
func TestRecordAcknowledgesAtTheEnd(t *testing.T) {
	logs := filepath.Join(t.TempDir(), fixtures.LogsName)
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	number := func(pattern, text string) int {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, found, "%s in %s", pattern, text)
		n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		require.NoError(t, err)
		return n
	}
	f := func(protocol string, interrupted bool) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "rec-{signal}.stef")
		args := []string{out}
		if !interrupted {
			args = append(args, "--items", "900")
		}
		address, interrupt, wait := recording(t, args...)
		if interrupted {
			go func() { // after some batches, while others are sent
				for file := strings.ReplaceAll(out, "{signal}", "logs"); ; time.Sleep(time.Millisecond) {
					if info, err := os.Stat(file); err == nil && info.Size() > 100_000 {
						interrupt.Deliver()
						return
					}
				}
			}()
		}
		_, _, stderr := run(nil, "replay", "--rate", "max", "--rounds", "1000", "--in-flight", "8", "--retries", "0",
			"--protocol", protocol, "--endpoint", address, logs)
		sent := number(`(?m)^sent ([0-9,]+) items`, stderr)
		code, recorded := wait()
		require.Zero(t, code, recorded)
		require.Equal(t, sent, number(`rec-logs.stef: ([0-9,]+) log records`, recorded), stderr)
	}
	for range 3 {
		f("otlp", false)
		f("stef", false)
	}
	f("otlp", true)
	f("stef", true)
}

// After --items N, a sender whose next batch comes a second later still learns that the recording has
// ended. The recording then ends, although the sender stays connected.
func TestRecordAnswersSlowSender(t *testing.T) {
	address, _, wait := recording(t, "--items", "1", filepath.Join(t.TempDir(), "rec-{signal}.stef"))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	send := func() error {
		_, err := ptraceotlp.NewGRPCClient(conn).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(td))
		return err
	}
	require.NoError(t, send())
	time.Sleep(time.Second)
	require.ErrorContains(t, send(), "the recording has ended")
	code, stderr := wait()
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "rec-traces.stef: 1 span\n")
}

// The response to a sender of OTLP/HTTP, and the output of the recording, say what to set.
func TestRecordRefusesHTTP(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	address, interrupt, wait := recording(t, filepath.Join(dir, "rec-{signal}.stef"))
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodOptions} {
		// The answer arrives even if the request is larger than the buffers of a connection.
		request, err := http.NewRequest(method, "http://"+address+"/v1/logs", bytes.NewReader(make([]byte, 1<<20)))
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnsupportedMediaType, answer.StatusCode)
		require.Contains(t, string(text), "set OTEL_EXPORTER_OTLP_PROTOCOL=grpc in the sender, and the address of this endpoint (port "+address[strings.LastIndex(address, ":")+1:]+")")
		require.Contains(t, string(text), "a program that creates the HTTP exporter in its code must create the gRPC one instead")
	}
	http.DefaultClient.CloseIdleConnections()
	mustRun(t, nil, "replay", "--rate", "max", "--endpoint", address, logs)
	require.True(t, interrupt.Deliver())
	code, stderr := wait()
	require.Zero(t, code, stderr)
	require.Equal(t, 1, strings.Count(stderr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"), stderr)
	require.Contains(t, stderr, "listening for STEF and OTLP/gRPC (not OTLP/HTTP) at "+address)
	require.Contains(t, stderr, "rec-logs.stef: 2,446 log records\n")
}

// A client that connects and sends nothing does not delay the end for long. gRPC would wait for its
// handshake for two minutes.
func TestRecordEndsBesideSilentClient(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	address, interrupt, wait := recording(t, filepath.Join(dir, "rec-{signal}.stef"))
	silent, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer silent.Close()
	mustRun(t, nil, "replay", "--rate", "max", "--endpoint", address, logs) // the server has accepted both connections
	begin := time.Now()
	require.True(t, interrupt.Deliver())
	code, stderr := wait()
	require.Zero(t, code, stderr)
	require.Less(t, time.Since(begin), time.Minute)
}

func TestRecordAndReplayRefuse(t *testing.T) {
	dir, recorded := folder(t)
	f := func(code int, want string, args ...string) {
		t.Helper()
		got, _, stderr := run(nil, args...)
		require.Equal(t, code, got, stderr)
		require.Contains(t, stderr, want)
	}
	f(cli.ExitUsage, "put {signal} into the name of OUT, as in 'x-{signal}.stef'", "record", "x.stef")
	f(cli.ExitUsage, "cannot tell the format", "record", filepath.Join(dir, "{signal}.dat"))
	f(cli.ExitIO, "999999", "record", "--listen", "localhost:999999", filepath.Join(dir, "{signal}.stef"))
	f(cli.ExitUsage, "replay reads its input several times, which standard input does not allow: write it to a file first\n", "replay", "-")
	f(cli.ExitUsage, "FILE is missing", "replay")
	f(cli.ExitUsage, "must be original, max or a number above 0", "replay", "--rate", "-1", recorded)
	f(cli.ExitUsage, "must be original, max or a number without commas or unit, such as 1000", "replay", "--rate", "1,000", recorded)
	f(cli.ExitUsage, "--rounds is 0, --in-flight is 0, --retries is 7: the first must be at least 1", "replay", "--rounds", "0", recorded)
	f(cli.ExitUsage, "--compression gzip is for --protocol otlp", "replay", "--protocol", "stef", "--compression", "gzip", recorded)
	f(cli.ExitIO, "none: open: no such file", "replay", filepath.Join(dir, "none"))
	f(cli.ExitIO, "connection refused (nothing listens there); no batch was accepted\n", "replay", "--retries", "0", "--rate", "max", "--endpoint", "127.0.0.1:1", recorded)

	address, _, wait := recording(t, "--for", "10ms", filepath.Join(dir, "rec-{signal}.stef"))
	require.NotEmpty(t, address)
	code, stderr := wait()
	require.Zero(t, code)
	require.Contains(t, stderr, "nothing arrived\n")
	require.Contains(t, stderr, "; it ends after 10ms; interrupt to end it earlier\n")
}

// A recording locks its files. If another program removes a file, the recording ends with an error, and
// acknowledges no more batches.
func TestRecordIntoAFollowedFolder(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	file := filepath.Join(dir, "live-logs.stef")
	for _, ends := range []string{"by an interrupt", "by the next batch", "by itself"} {
		address, interrupt, wait := recording(t, filepath.Join(dir, "live-{signal}.stef"))
		mustRun(t, nil, "replay", "--rate", "max", "--endpoint", address, logs)
		locked, err := rotate.Locked(file)
		require.NoError(t, err)
		require.Equal(t, runtime.GOOS != "windows", locked)
		require.NoError(t, os.Remove(file))
		switch ends {
		case "by an interrupt":
			interrupt.Deliver() // without effect if the recording has ended by itself already
		case "by the next batch": // which is not acknowledged
			code, _, _ := run(nil, "replay", "--rate", "max", "--retries", "0", "--endpoint", address, logs)
			require.Equal(t, cli.ExitIO, code)
		}
		code, stderr := wait()
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, file+": another program removed or replaced the file while it was recorded\n")
		require.NotContains(t, stderr, "log records")
	}
}

// A recording never changes a file of another running recording. Without --force, it also never
// changes a file that appeared after the recording began.
func TestRecordKeepsFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	logs, live, file := filepath.Join(dir, fixtures.LogsName), filepath.Join(dir, "live-{signal}.stef"), filepath.Join(dir, "live-logs.stef")
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	first, interrupt, waitFirst := recording(t, live)
	second, _, waitSecond := recording(t, live)
	mustRun(t, nil, "replay", "--rate", "max", "--endpoint", first, logs)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	refused := func(address string, wait func() (int, string), want string) {
		t.Helper()
		code, _, _ := run(nil, "replay", "--rate", "max", "--retries", "0", "--endpoint", address, logs)
		require.Equal(t, cli.ExitIO, code)
		code, stderr := wait()
		require.Equal(t, cli.ExitIO, code)
		require.Contains(t, stderr, file+want)
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, bytes.Equal(written, kept))
	}
	refused(second, waitSecond, ": another program created the file after the recording began; --force overwrites it\n")
	if runtime.GOOS != "windows" { // which has no locks
		third, _, waitThird := recording(t, "--force", live)
		refused(third, waitThird, ": another process is writing the file: end it, or choose another name for OUT\n")
	}
	require.True(t, interrupt.Deliver())
	code, stderr := waitFirst()
	require.Zero(t, code, stderr)

	again, interrupt, waitAgain := recording(t, "--force", live)
	mustRun(t, nil, "replay", "--rate", "max", "--endpoint", again, logs)
	require.True(t, interrupt.Deliver())
	code, stderr = waitAgain()
	require.Zero(t, code, stderr)
	stat, _ := mustRun(t, nil, "stat", "--json", file)
	require.NotEmpty(t, stat)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/internal/fixtures"
)

// piped returns the name of a pipe with a content, as <(COMMAND) in a shell does.
func piped(t *testing.T, content []byte) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return fmt.Sprintf("/dev/fd/%d", r.Fd())
}

// convert reads its input several times to write one file for each signal, and a pipe can be read
// only once. convert refuses pipes, because it would lose all signals except the first.
func TestSplitPipe(t *testing.T) {
	m := newMistakes(t)
	both, err := os.ReadFile(m.both)
	require.NoError(t, err)
	f := func(files int, args ...string) {
		t.Helper()
		args = append([]string{"convert"}, args...)
		for range files {
			args = append(args, piped(t, both))
		}
		code, _, stderr := run(nil, append(args, m.path("split-{signal}.stef"))...)
		require.Equal(t, cli.ExitUsage, code, stderr)
		require.Regexp(t, `^stef convert: \{signal\} reads its input several times, but /dev/fd/\d+ is a pipe or a device: write its content to a file first, or convert one signal, with --signal\n$`, stderr)
		left, err := filepath.Glob(m.path("split-*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	f(1)
	f(2, "--from", "otlp-json")
	f(2, "--skip")
	mustRun(t, nil, "convert", "--signal", "traces", piped(t, both), m.path("one.stef")) // reads it once
}

// cat -n ends when the records are printed, although the writer of the pipe does not end.
func TestCatOpenPipe(t *testing.T) {
	m := newMistakes(t)
	for _, format := range []string{"arrow", "otlp-parts", "otlp-json"} {
		mustRun(t, nil, "convert", "-q", "--force", "--to", format, m.tape, m.path("all"))
		content, err := os.ReadFile(m.path("all"))
		require.NoError(t, err)
		all, _ := mustRun(t, nil, "cat", m.path("all"))
		r, w, err := os.Pipe()
		require.NoError(t, err)
		var out bytes.Buffer
		code := make(chan int, 1)
		go func() {
			code <- cli.Run([]string{"cat", "-n", fmt.Sprint(strings.Count(all, "\n")), "-"}, cli.Env{Stdin: r, Stdout: &out, Stderr: io.Discard})
		}()
		_, err = w.Write(content)
		require.NoError(t, err)
		select {
		case c := <-code:
			require.Zero(t, c)
		case <-time.After(time.Minute):
			t.Fatal("cat waits for the end of the pipe: " + format)
		}
		require.True(t, all == out.String())
		require.NoError(t, w.Close()) // ends the read
	}
}

// replay reads its files several times, so it refuses pipes. A named pipe has no writer when replay
// opens it again, so the call would block forever.
func TestReplayPipe(t *testing.T) {
	m := newMistakes(t)
	spans, err := os.ReadFile(m.spans)
	require.NoError(t, err)
	named := m.path("named.stef")
	require.NoError(t, syscall.Mkfifo(named, 0o666))
	f := func(pipe string, args ...string) {
		t.Helper()
		code, _, stderr := run(nil, append([]string{"replay", "--endpoint", "localhost:1"}, args...)...)
		require.Equal(t, cli.ExitUsage, code, stderr)
		require.Equal(t, "stef replay: replay reads its input several times, but "+pipe+" is a pipe or a device: write its content to a file first\n", stderr)
	}
	f(named, named)
	f(named, "--rate", "max", m.spans, named)
	pipe := piped(t, spans)
	f(pipe, pipe)
}

// A recording can be written to named pipes, which cannot be synced. If the reader of the pipe ends,
// the recording ends with an error, because nobody would read the acknowledged batches.
func TestRecordToPipe(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, fixtures.LogsName)
	require.NoError(t, os.WriteFile(logs, fixtures.Logs(), 0o666))
	want, _ := mustRun(t, nil, "cat", logs)
	f := func(limit int64, flags ...string) (code int, got []byte) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "pipe-{signal}.otlp")
		pipe := filepath.Join(filepath.Dir(out), "pipe-logs.otlp")
		require.NoError(t, syscall.Mkfifo(pipe, 0o666))
		read := make(chan []byte, 1)
		go func() {
			r, err := os.Open(pipe)
			if err != nil {
				read <- nil
				return
			}
			defer r.Close()
			b, _ := io.ReadAll(io.LimitReader(r, limit))
			read <- b
		}()
		address, interrupt, wait := recording(t, append(flags, out)...)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			run(nil, "replay", "--rate", "max", "--in-flight", "1", "--retries", "0", "--endpoint", address, logs)
			time.Sleep(10 * time.Millisecond) // wait until files are synced again
			interrupt.Deliver()
		}()
		select {
		case <-sent:
		case <-time.After(time.Minute):
			t.Fatal("the recorder does not answer")
		}
		code, _ = wait()
		return code, <-read
	}
	for _, sync := range []string{"--sync=0", "--sync=1ms"} {
		code, got := f(1<<30, sync)
		require.Zero(t, code)
		lines, _ := mustRun(t, got, "cat", "-")
		require.True(t, want == lines)
	}
	code, got := f(10_000)
	require.Equal(t, cli.ExitIO, code)
	require.Len(t, got, 10_000)
}

// Without --force, no command replaces a file that another program created while it ran.
func TestOutputAppears(t *testing.T) {
	m := newMistakes(t)
	stream, err := os.ReadFile(m.metrics) // larger than what commands read before they begin their output
	require.NoError(t, err)
	f := func(args ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out.stef")
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		code, stderr := make(chan int, 1), ""
		go func() {
			var errs bytes.Buffer
			c := cli.Run(append(args, "-", out), cli.Env{Stdin: r, Stdout: io.Discard, Stderr: &errs})
			stderr = errs.String()
			code <- c
		}()
		_, err = w.Write(stream[:len(stream)-1])
		require.NoError(t, err)
		require.Eventually(t, func() bool { // the command has begun its output
			entries, err := os.ReadDir(filepath.Dir(out))
			return err == nil && len(entries) == 1
		}, time.Minute, time.Millisecond)
		require.NoError(t, os.WriteFile(out, []byte("other"), 0o666))
		_, err = w.Write(stream[len(stream)-1:])
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Equal(t, cli.ExitIO, <-code)
		require.Contains(t, stderr, ": another program created the file in the meantime; --force overwrites it\n")
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, "other", string(got))
	}
	f("convert", "--from", "stef")
	f("repair", "--root", "metrics")
}

// An output that cannot be written has the same exit code in each format.
func TestFullDevice(t *testing.T) {
	m := newMistakes(t)
	for _, format := range convert.Formats(true) {
		code, _, stderr := run(nil, "convert", "--to", format, m.json, "/dev/full")
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, "/dev/full: write: no space left on device", format)
	}
}

// record finds out before any data arrives whether it can create its files. Nobody can create files
// in /proc, not even root.
func TestRecordIntoReadOnlyFolder(t *testing.T) {
	m := newMistakes(t)
	m.fails(cli.ExitIO, "/proc/metrics.stef: open: no such file or directory", "record", "--listen", "127.0.0.1:0", "--for", "100ms", "/proc/{signal}.stef")

	dir := t.TempDir()
	out := filepath.Join(dir, "{signal}.stef")
	mustRun(t, nil, "record", "--listen", "127.0.0.1:0", "--for", "10ms", out)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	if os.Geteuid() == 0 {
		return // root can write all files
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "logs.stef"), nil, 0o400))
	m.fails(cli.ExitIO, "permission denied", "record", "--force", "--listen", "127.0.0.1:0", "--for", "100ms", out)
}

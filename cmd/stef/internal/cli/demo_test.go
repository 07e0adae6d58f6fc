// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/same"
	"github.com/otelstef/stef/internal/otlpfile"
)

func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var out, errs bytes.Buffer
	code := Run([]string{"demo", "--dir", dir}, Env{Stdout: &out, Stderr: &errs})
	require.Zero(t, code, out.String()+errs.String())
	require.Empty(t, errs.String())
	for _, want := range []string{"5,181 data points", "6,341 spans", "2,446 log records", "Every item came back as it was."} {
		require.Contains(t, out.String(), want)
	}
	require.Equal(t, 12, strings.Count(out.String(), "  same\n"))
	shown := filepath.Join(dir, "logs.sorted.zstd.stef")
	require.Contains(t, out.String(), "stef stat "+shown)
	require.Zero(t, Run([]string{"stat", shown}, Env{Stdout: &out, Stderr: &errs}))

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3*(1+4*2))
}

// Without a folder of its own it leaves nothing behind.
func TestDemoCleansUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	env := &Env{Temps: new(file.Temps)}
	d := &demo{env: env, w: io.Discard}
	require.NoError(t, d.run(recordings[2:]))
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Len(t, entries, 1)
	env.Temps.Remove()
	entries, err = os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestDemoFails(t *testing.T) {
	var errs bytes.Buffer
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, nil, 0o666))
	require.Equal(t, ExitIO, Run([]string{"demo", "--dir", name}, Env{Stdout: io.Discard, Stderr: &errs}))
	require.Contains(t, errs.String(), name)
}

// A difference is told, and is a failure.
func TestVerdict(t *testing.T) {
	set := func(bodies ...string) *same.Set {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for _, b := range bodies {
			records.AppendEmpty().Body().SetStr(b)
		}
		s := &same.Set{}
		require.NoError(t, s.Add(otlpfile.LogsBatch(ld)))
		return s
	}
	f := func(want string, ordered bool, a, b *same.Set) {
		t.Helper()
		require.Equal(t, want, verdict(a, b, ordered))
	}
	f("same", true, set("a", "b"), set("a", "b"))
	f("same", false, set("a", "b"), set("b", "a"))
	f("DIFFERENT: the order changed", true, set("a", "b"), set("b", "a"))
	f("DIFFERENT: 1 items are missing, 2 are new", true, set("a", "b"), set("a", "c", "d"))

	err := (&demo{w: io.Discard, different: 1}).conclude()
	require.Equal(t, ExitData, (&Env{Stderr: io.Discard}).report(demoCommand, err))
	require.ErrorContains(t, err, "1 conversions lost or changed something")
}

func TestBar(t *testing.T) {
	f := func(want string, taken, size int64, took time.Duration) {
		t.Helper()
		require.Equal(t, want, bar(taken, size, took))
	}
	f("[                              ]   0%, 0.0 MB/s", 0, 100, 0)
	f("[===============               ]  50%, 1.0 MB/s, 2 s left", 2e6, 4e6, 2*time.Second)
	f("[==============================] 100%, 2.0 MB/s, 0 s left", 4e6, 4e6, 2*time.Second)
	f("[==============================] 100%, 2.5 MB/s, 0 s left", 5e6, 4e6, 2*time.Second) // it grew
	f("3.0 MB read, 1.0 MB/s", 3e6, -1, 3*time.Second)
}

// slow gives its content a little at a time.
type slow struct{ r io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.r.Read(b[:min(len(b), 64<<10)])
}

// A terminal sees a bar once it takes long, and no trace of it at the end.
func TestProgress(t *testing.T) {
	f := func(terminal bool, after time.Duration, args ...string) string {
		t.Helper()
		var errs bytes.Buffer
		code := Run(append([]string{"convert"}, args...), Env{
			Stdin: slow{bytes.NewReader(recordings[2].data())}, Stdout: io.Discard, Stderr: &errs, Terminal: terminal, progressAfter: after,
		})
		require.Zero(t, code, errs.String())
		return errs.String()
	}
	shown := f(true, time.Nanosecond, "-", "-")
	require.Regexp(t, "^\r[0-9.]+ MB read, [0-9.]+ MB/s\x1b\\[K", shown)
	require.Contains(t, shown, "\r\x1b[Kstandard input: ")
	require.NotContains(t, f(false, time.Nanosecond, "-", "-"), "\r")
	require.NotContains(t, f(true, time.Hour, "-", "-"), "\r")
	require.Empty(t, f(true, time.Nanosecond, "--quiet", "-", "-"))
}

// Errors say what they are about without the names of packages.
func TestMessage(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		require.Equal(t, want, message(errors.New(text)))
	}
	f("x: offset 3: bad", "x: stef: offset 3: bad")
	f("offset 3: bad", "stef: offset 3: bad")
	f("x: part 1: record 1", "x: part 1: stefpdata: record 1")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/freeport"
)

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, 0, run([]string{"-rounds", "2"}, &out, &errs), "%s", &errs)
	require.Empty(t, errs.String())
	for _, s := range signals {
		lines := linesOf(out.String(), s.name)
		require.Len(t, lines, 2) // the start and the rest
		for _, line := range lines {
			require.Contains(t, line, "equal")
			require.NotContains(t, line, "NOT")
			fields := strings.Fields(line)
			require.NotEqual(t, "0", fields[1], "items sent")
			require.Equal(t, fields[1], fields[2], "items received")
		}
	}
}

func linesOf(text, first string) (lines []string) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == first {
			lines = append(lines, line)
		}
	}
	return lines
}

// Recordings that are written to files and read back are unchanged.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var out, errs bytes.Buffer
	require.Equal(t, 0, run([]string{"-files", "-dir", dir}, &out, &errs), "%s", &errs)
	require.Empty(t, errs.String())
	for _, want := range []string{"5181 data points", "6341 spans", "2446 log records", "Every item came back as it was."} {
		require.Contains(t, out.String(), want)
	}
	require.Equal(t, 12, strings.Count(out.String(), "  same\n"))
	require.Contains(t, out.String(), "  bin/stef stat "+filepath.Join(dir, "logs.sorted.zstd.stef"))
	// cmd/stef is a module of its own, so "go run ./cmd/stef" does not work in the root.
	require.Contains(t, out.String(), "  (cd cmd/stef && go build -o ../../bin/ .)    builds bin/stef\n")
	require.FileExists(t, filepath.Join("..", "stef", "go.mod"))
	// The files have the sizes that stef convert writes.
	for _, size := range []string{"127366", "203831", "98140"} {
		require.Contains(t, out.String(), " "+size+" ")
	}
	require.FileExists(t, filepath.Join(dir, "logs.sorted.zstd.stef"))

	t.Setenv("TMPDIR", t.TempDir())
	require.Equal(t, 0, run([]string{"-files"}, &out, &errs))
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, entries)

	file := filepath.Join(dir, "logs.sorted.zstd.stef")
	require.Equal(t, 1, run([]string{"-files", "-dir", file}, &out, &errs))
	require.Contains(t, errs.String(), file)
}

// fullDisk is output to a disk without free space.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestRunReportsOutputThatCannotBeWritten(t *testing.T) {
	var errs bytes.Buffer
	require.Equal(t, 1, run([]string{"-files"}, fullDisk{}, &errs))
	require.Equal(t, "stefdemo: standard output: no space left on device\n", errs.String())
}

func TestRunRefusesBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-what"}, {"file"}, {"-dir", "x"}, {"-serve", "-files"}, {"-otlp", "localhost:1"}, {"-files", "-rounds", "2"}} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(args, &out, &errs), "%v", args)
		require.Contains(t, errs.String(), "-rounds")
	}
}

// TestReportFails: a demo that loses data reports a failure.
func TestReportFails(t *testing.T) {
	var whole [len(signals)]costs
	for s := range whole {
		whole[s].steady = cost{sent: 10, received: 10, bytes: 5}
	}
	require.NoError(t, report(&bytes.Buffer{}, whole, whole))
	less := whole
	less[traces].steady.received = 9
	var out bytes.Buffer
	require.ErrorContains(t, report(&out, less, whole), "traces: sent 10, received 9 over STEF and 10 over OTLP")
	require.Contains(t, linesOf(out.String(), "traces")[1], "NOT EQUAL")
}

// locked is output that a test reads while it is written.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestServe(t *testing.T) {
	otlp, err := freeport.Find()
	require.NoError(t, err)
	stef, err := freeport.Find()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var out locked
	served := make(chan error, 1)
	go func() { served <- serveUntil(ctx, &out, otlp, stef) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), otlp) }, time.Minute, 10*time.Millisecond)
	r, err := load(logs, signals[logs].short())
	require.NoError(t, err)
	require.NoError(t, r.send(ctx, otlp, 1))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "arrived:") }, time.Minute, 50*time.Millisecond)
	cancel()
	require.NoError(t, <-served)
}

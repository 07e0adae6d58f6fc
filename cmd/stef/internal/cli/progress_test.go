// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
)

func TestBar(t *testing.T) {
	f := func(want string, taken, size int64, took time.Duration) {
		t.Helper()
		require.Equal(t, want, bar(taken, size, took))
	}
	f("[                              ]   0%, 0.0 MB/s", 0, 100, 0)
	f("[===============               ]  50%, 1.0 MB/s, 2 s left", 2e6, 4e6, 2*time.Second)
	f("[==============================] 100%, 2.0 MB/s, 0 s left", 4e6, 4e6, 2*time.Second)
	f("[==============================] 100%, 2.5 MB/s, 0 s left", 5e6, 4e6, 2*time.Second) // the file has grown
	f("3.0 MB read, 1.0 MB/s", 3e6, -1, 3*time.Second)
}

// slow is a reader that waits before each read and returns at most 64 KiB.
type slow struct{ r io.Reader }

func (s slow) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return s.r.Read(b[:min(len(b), 64<<10)])
}

// A terminal shows a bar if reading takes long. The bar is removed at the end.
func TestProgress(t *testing.T) {
	f := func(terminal bool, after time.Duration, args ...string) string {
		t.Helper()
		var errs bytes.Buffer
		code := Run(append([]string{"convert"}, args...), Env{
			Stdin: slow{bytes.NewReader(fixtures.Logs())}, Stdout: io.Discard, Stderr: &errs, Terminal: terminal, progressAfter: after,
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

// Errors describe the problem without the names of packages.
func TestMessage(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		require.Equal(t, want, message(errors.New(text)))
	}
	f("x: offset 3: bad", "x: stef: offset 3: bad")
	f("offset 3: bad", "stef: offset 3: bad")
	f("x: part 1: record 1", "x: part 1: stefpdata: record 1")
}

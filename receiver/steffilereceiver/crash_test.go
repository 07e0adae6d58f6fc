// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/rotate"
)

const (
	crashDir  = "STEF_FILE_CRASH_DIR"
	crashBase = "STEF_FILE_CRASH_BASE"
)

// TestWriteUntilKilled is the program that TestKilledWriters kills.
func TestWriteUntilKilled(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("this is the program of TestKilledWriters, which starts it")
	}
	n, err := strconv.ParseUint(os.Getenv(crashBase), 10, 64)
	require.NoError(t, err)
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 10 << 10})
	for range 1000 { // the test usually kills this process before it has written 1000 batches
		require.NoError(t, w.put(numbered(n+1, n+20)))
		n += 20
		fmt.Println("flushed", n)
	}
	time.Sleep(time.Hour)
}

// TestKilledWriters kills writing processes at random times while a receiver follows their files.
// Every flushed record is delivered once, and only written records are delivered.
func TestKilledWriters(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 10
	}
	dir := t.TempDir()
	to := &collected{t: t}
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Delete }), to, &memory{})
	flushed := make([]uint64, kills)
	const apart = 1 << 32
	for i := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteUntilKilled$", "-test.v")
		cmd.Env = append(os.Environ(), crashDir+"="+dir, crashBase+"="+strconv.FormatUint(uint64(i)*apart, 10))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var timer *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n uint64
			if _, err := fmt.Sscanf(lines.Text(), "flushed %d", &n); err != nil {
				continue
			}
			flushed[i] = n
			if timer == nil {
				timer = time.AfterFunc(rand.N(15*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait())
		require.NotNil(t, timer)
	}
	require.Eventually(t, func() bool { return len(names(t, dir)) == 0 }, time.Minute, 5*time.Millisecond)
	last := make([]uint64, kills)
	total := 0
	for n, times := range to.all() {
		require.Equal(t, 1, times, n)
		i := int((n - 1) / apart)
		last[i] = max(last[i], n)
		total++
	}
	want := 0
	for i := range kills {
		require.GreaterOrEqual(t, last[i], flushed[i])
		require.LessOrEqual(t, last[i], flushed[i]+20)
		want += int(last[i] - uint64(i)*apart)
	}
	require.Equal(t, want, total, "some records are missing")
	t.Logf("%d kills: %d records were delivered once, %d files were whole, %d cut", kills, total, r.finished(complete), r.finished(cut))
}

// After a crash, a file can end with an incomplete frame, zeros or other bytes. The receiver delivers
// the records before these bytes. The next writer removes an incomplete frame and zeros, and keeps
// other bytes. In each case, the receiver delivers no record again.
func TestTornTail(t *testing.T) {
	whole := growing(t, filepath.Join(t.TempDir(), "whole")).encode(numbered(1, 2))
	const garbage = "\xffgarbage"
	for tail, outcome := range map[string]string{"\x00\x7fhalf": cut, strings.Repeat("\x00", 100): damaged, garbage: damaged} {
		for _, store := range []*memory{nil, {}} {
			dir := t.TempDir()
			name := rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}
			left := rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1, Active: true}
			require.NoError(t, os.WriteFile(filepath.Join(dir, left.String()), append(bytes.Clone(whole), tail...), 0o600))
			to := &collected{t: t}
			r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Keep }), to, store)
			to.requireOnce(2)
			r.requireFinished(outcome, 1)
			newWriter(t, signal.Logs, rotate.Options{Dir: dir, Prefix: "x"})
			b, err := os.ReadFile(filepath.Join(dir, name.String()))
			require.NoError(t, err)
			if tail == garbage {
				require.Equal(t, append(bytes.Clone(whole), tail...), b)
				r.requireFinished(outcome, 1)
			} else {
				require.Equal(t, whole, b)
				r.requireFinished(complete, 1)
			}
			to.requireOnce(2)
			r.stop()
		}
	}
}

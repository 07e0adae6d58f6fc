// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	"github.com/otelstef/stef/stef-go/rotate"
)

// TestDamagedOnce checks that a damaged file is delivered once. The receiver does not follow the
// renamed file, even after a restart, although the pattern matches the new name.
func TestDamagedOnce(t *testing.T) {
	for on, folder := range map[OnFinished]string{Delete: ".", Move: "done"} {
		for _, store := range []*memory{nil, {}} {
			dir := t.TempDir()
			to := &collected{t: t}
			config := func() *Config {
				return testConfig(dir, func(c *Config) {
					c.OnFinished, c.AssumeSignal = on, "logs"
					if on == Move {
						c.MoveTo = filepath.Join(dir, folder)
					}
				})
			}
			// The first name has the form of package rotate, with a signal. The second name
			// has no signal.
			files := []string{rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}.String(), "y.stef"}
			for i, name := range files {
				damagedFile(t, filepath.Join(dir, name), uint64(10*i))
			}
			r := start(t, config(), to, store)
			want := []string{files[0] + damagedSuffix, files[1] + damagedSuffix}
			requireNames(t, filepath.Join(dir, folder), want)
			r.idle()
			r.requireFinished(damaged, 2)
			to.requireOnce(20)
			r.stop()

			// If another damaged file has the same name, it does not replace the first one when it is
			// renamed.
			damagedFile(t, filepath.Join(dir, files[1]), 20)
			r = start(t, config(), to, store)
			want = append(want, files[1]+".1"+damagedSuffix)
			requireNames(t, filepath.Join(dir, folder), want)
			r.idle()
			r.requireFinished(damaged, 1)
			to.requireOnce(30)
			r.stop()
			requireNames(t, filepath.Join(dir, folder), want)
		}
	}
}

// A file whose name ends in ".damaged" is not followed, even if finished files are kept or
// the pattern matches the name.
func TestDamagedIncluded(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	growing(t, filepath.Join(dir, "a.stef.damaged")).put(numbered(1, 10))
	r := start(t, testConfig(dir, func(c *Config) {
		c.Include, c.AssumeSignal = []string{filepath.Join(dir, "a.stef.damaged")}, "logs"
	}), to, nil)
	r.idle()
	time.Sleep(60 * time.Millisecond) // longer than settle_time
	r.idle()
	to.requireOnce(0)
}

// damagedFile creates a file with ten valid records and a damaged frame after them.
func damagedFile(t *testing.T, path string, n uint64) {
	t.Helper()
	written := filepath.Join(t.TempDir(), "written")
	file := growing(t, written)
	file.put(numbered(n+1, n+10))
	chunk := file.encode(numbered(n+11, n+20))
	for i := 5; i < len(chunk); i++ {
		chunk[i] ^= 0x5a
	}
	file.write(chunk)
	require.NoError(t, os.Rename(written, path))
}

// requireNames waits until a folder has exactly these files.
func requireNames(t *testing.T, dir string, want []string) {
	t.Helper()
	slices.Sort(want)
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*.*"))
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		return err == nil && slices.Equal(files, want)
	}, time.Minute, time.Millisecond)
}

// With on_finished move, files that are not STEF are not moved or changed, even if assume_signal is
// set. If such a file has a name as package stef-go/rotate creates it, it is moved as damaged.
func TestMoveForeign(t *testing.T) {
	for _, assumed := range []string{"", "logs"} {
		moveForeign(t, assumed)
	}
}

func moveForeign(t *testing.T, assumed string) {
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	foreign := map[string]string{"json.stef": `{"resourceLogs":[]}`, "gzip.stef": "\x1f\x8b\x08rest", "zstd.stef": "\x28\xb5\x2f\xfdrest",
		"table.stef": "PAR1rest", "text.stef": "some text, which is no stream", "empty.stef": ""}
	for name, content := range foreign {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	rotated := rotate.Name{Prefix: "y", Signal: "logs", PID: 1, Sequence: 1}.String()
	require.NoError(t, os.WriteFile(filepath.Join(dir, rotated), []byte("some text, which is no stream"), 0o600))
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	require.NoError(t, w.Close())
	to := &collected{t: t}
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.MoveTo, c.AssumeSignal = Move, done, assumed }), to, nil)
	to.requireOnce(10)
	r.requireFinished(complete, 1)
	r.requireFinished(damaged, 1)
	requireFiles(t, done, 2)
	for range 3 {
		r.idle()
	}
	r.stop()
	for name, content := range foreign {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, content, string(kept))
	}
	moved, err := os.ReadFile(filepath.Join(done, rotated+damagedSuffix))
	require.NoError(t, err)
	require.Equal(t, "some text, which is no stream", string(moved))
	requireFiles(t, done, 2)
	requireFiles(t, dir, len(foreign)+1)
}

// If several receivers move files to the same name at the same time, no file replaces another.
func TestMoveAtTheSameTime(t *testing.T) {
	for range 50 {
		dir := t.TempDir()
		done := filepath.Join(dir, "done")
		var moving sync.WaitGroup
		const files = 4
		errs := make(chan error, files)
		for i := range files {
			from := filepath.Join(dir, strconv.Itoa(i))
			require.NoError(t, os.WriteFile(from, []byte{byte(i)}, 0o600))
			moving.Go(func() { errs <- move(from, filepath.Join(done, "a.stef"), false) })
		}
		moving.Wait()
		for range files {
			require.NoError(t, <-errs)
		}
		require.Equal(t, []string{"a.stef", "a.stef.1", "a.stef.2", "a.stef.3"}, names(t, done))
		require.Equal(t, []string{"done"}, names(t, dir))
	}
}

// A move gives a file its new name and then removes the old name. If the process is killed between
// these steps, the file has both names. The next move removes the old name.
func TestMoveAgain(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.stef"), filepath.Join(dir, "b.stef")
	require.NoError(t, os.WriteFile(from, []byte("content"), 0o600))
	require.NoError(t, os.Link(from, to))
	require.NoError(t, move(from, to, false))
	require.Equal(t, []string{"b.stef"}, names(t, dir))
}

// If move_to is another path of the folder that has the files, the receiver does not start. If the two
// paths become the same folder later, for example by a link, the files stay in it. An earlier version
// removed them.
func TestMoveToTheSameFolder(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 1})
	require.NoError(t, w.put(numbered(1, 10)))
	config := testConfig(dir, func(c *Config) { c.OnFinished, c.MoveTo = Move, link })
	require.NoError(t, os.Symlink(t.TempDir(), link))
	block := make(chan struct{})
	to := &collected{t: t, answer: func(context.Context, plog.Logs) error { <-block; return nil }}
	r := start(t, config, to, nil)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(dir, link))
	close(block)
	to.requireOnce(10)
	require.Eventually(t, func() bool { return r.errors("finish") > 2 }, time.Minute, time.Millisecond)
	require.Len(t, names(t, dir), 1)
	require.EqualValues(t, 1, r.finished(complete))
	r.stop()

	part, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), config, to)
	require.NoError(t, err)
	require.ErrorContains(t, part.Start(context.Background(), testHost{}), "is the same folder as")
	require.NoError(t, part.Shutdown(context.Background()))
	require.Len(t, names(t, dir), 1)
}

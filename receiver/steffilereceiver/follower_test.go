// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

// Files that rotate while they are read are delivered once, and then deleted.
func TestFollowsRotation(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Delete; c.MaxBatchItems = 30 }), to, nil)
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 3 << 10}, otelstef.CompactLogs())
	const n = 5000
	for i := uint64(0); i < n; i += 50 {
		require.NoError(t, w.put(numbered(i+1, i+50)))
		time.Sleep(100 * time.Microsecond)
	}
	to.requireOnce(n) // the last file is still active
	require.NoError(t, w.Close())
	files := int64(w.Stats().Finished)
	require.Greater(t, files, int64(10))
	r.requireFinished(complete, files)
	require.Eventually(t, func() bool { return len(names(t, dir)) == 0 }, time.Minute, time.Millisecond)
	r.idle()
	to.requireOnce(n)
	require.Zero(t, r.sum("otelcol_receiver_steffile_errors"))
	require.EqualValues(t, n, r.sum("otelcol_receiver_accepted_log_records", "transport", "file"))
	require.EqualValues(t, w.Stats().Bytes, r.sum("otelcol_receiver_steffile_bytes_read", "signal", "logs"))
	require.Zero(t, r.sum("otelcol_receiver_steffile_files_open"))
	require.Zero(t, r.sum("otelcol_receiver_steffile_backlog_bytes"))
}

// With a storage, a receiver that is stopped and started at any time delivers each
// record once. Without a storage, a restarted receiver delivers the existing files again.
func TestRestart(t *testing.T) {
	for _, on := range []OnFinished{Keep, Delete} {
		dir := t.TempDir()
		to, store := &collected{t: t}, &memory{}
		w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 3 << 10})
		var n uint64
		for range 25 {
			r := start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.MaxBatchItems = on, 7 }), to, store)
			for range 10 {
				require.NoError(t, w.put(numbered(n+1, n+20)))
				n += 20
			}
			r.stop()
		}
		require.NoError(t, w.Close())
		r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = on }), to, store)
		to.requireOnce(int(n))
		r.idle()
		r.stop()
		to.requireOnce(int(n))
		if on == Delete {
			require.Empty(t, names(t, dir))
			continue
		}
		require.Len(t, names(t, dir), int(w.Stats().Finished))
		again := &collected{t: t}
		start(t, testConfig(dir), again, nil)
		again.requireOnce(int(n))
	}
}

// If a file is renamed while no receiver runs, the next receiver recognises it under its new name.
func TestRenamedBetweenRestarts(t *testing.T) {
	dir := t.TempDir()
	to, store := &collected{t: t}, &memory{}
	path := filepath.Join(dir, "a.stef")
	file := growing(t, path)
	file.put(numbered(1, 10))
	config := func() *Config { return testConfig(dir, func(c *Config) { c.AssumeSignal = "logs" }) }
	r := start(t, config(), to, store)
	to.requireOnce(10)
	r.stop()
	file.put(numbered(11, 20))
	require.NoError(t, os.Rename(path, filepath.Join(dir, "b.stef")))
	r = start(t, config(), to, store)
	to.requireOnce(20)
	r.requireFinished(complete, 1)
	// Another file gets the old name.
	growing(t, path).put(numbered(21, 30))
	to.requireOnce(30)
	r.stop()
}

// The receiver waits for the rest of an incomplete frame if the file is still active. If a finished
// file ends within a frame, the receiver delivers the frames before it and reports the file.
func TestHalfFrames(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	r := start(t, testConfig(dir, func(c *Config) { c.AssumeSignal, c.OnFinished, c.SettleTime = "logs", Delete, time.Hour }), to, nil)
	path := filepath.Join(dir, "a.stef.active")
	file := growing(t, path)
	file.put(numbered(1, 10))
	to.requireOnce(10)
	for n := uint64(11); n < 15; n++ {
		chunk := file.encode(numbered(n, n))
		for i := range chunk {
			file.write(chunk[i : i+1])
			if i%8 == 0 {
				r.idle()
			}
			if i < len(chunk)-1 {
				to.requireOnce(int(n - 1))
			}
		}
		to.requireOnce(int(n))
	}
	require.Zero(t, r.finished(cut)+r.finished(complete))
	r.stop()

	// According to its name, the file is finished, but it ends within a frame.
	chunk := file.encode(numbered(15, 15))
	file.write(chunk[:len(chunk)-1])
	left := rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}.String()
	require.NoError(t, os.Rename(path, filepath.Join(dir, left)))
	to = &collected{t: t}
	r = start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.SettleTime = Delete, time.Hour }), to, nil)
	to.requireOnce(14)
	r.requireFinished(cut, 1)
	requireFiles(t, dir, 0)
}

// requireFiles waits until a folder has n files.
func requireFiles(t *testing.T, dir string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		return err == nil && len(files) == n
	}, time.Minute, time.Millisecond)
}

// The active file of a killed process counts as finished when it has not changed for settle_time.
func TestLeftover(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	path := filepath.Join(dir, rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1, Active: true}.String())
	growing(t, path).put(numbered(1, 10))
	living := newWriter(t, signal.Logs, rotate.Options{Dir: dir, Prefix: "living", MaxAge: -1})
	require.NoError(t, living.put(numbered(11, 20)))
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.MoveTo = Move, filepath.Join(dir, "done") }), to, nil)
	to.requireOnce(20)
	r.requireFinished(complete, 1)
	// The file is counted before it is moved, so wait for the move.
	requireFiles(t, filepath.Join(dir, "done"), 1)
	require.Equal(t, []string{rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}.String()}, names(t, filepath.Join(dir, "done")))
	require.NoError(t, living.put(numbered(21, 30)))
	to.requireOnce(30)
	require.NoError(t, living.Close())
	r.requireFinished(complete, 2)
	requireFiles(t, filepath.Join(dir, "done"), 2)
}

// While the receiver finishes the active file of a killed process, the process starts again and
// renames this file. No record is delivered again, and the renamed file is deleted or moved.
func TestLeftoverIsRenamedWhileItIsFinished(t *testing.T) {
	for _, on := range []OnFinished{Delete, Move} {
		dir := t.TempDir()
		to := &collected{t: t}
		path := filepath.Join(dir, rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1, Active: true}.String())
		growing(t, path).put(numbered(1, 10))
		var once sync.Once
		store := &memory{stored: func(key string) {
			if key == keyFinished {
				once.Do(func() { newWriter(t, signal.Logs, rotate.Options{Dir: dir, Prefix: "x"}) })
			}
		}}
		done := t.TempDir()
		r := start(t, testConfig(dir, func(c *Config) {
			if c.OnFinished = on; on == Move {
				c.MoveTo = done
			}
		}), to, store)
		requireFiles(t, dir, 0)
		r.idle()
		to.requireOnce(10)
		r.requireFinished(complete, 1)
		r.stop()
	}
}

// If a file is damaged, the records before the damage are delivered, and the file is not deleted.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	path := filepath.Join(dir, rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}.String())
	file := growing(t, path)
	file.put(numbered(1, 10))
	chunk := file.encode(numbered(11, 20))
	for i := 5; i < len(chunk); i++ {
		chunk[i] ^= 0x5a
	}
	file.write(chunk)
	file.put(numbered(21, 30))
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Delete }), to, nil)
	r.requireFinished(damaged, 1)
	to.requireOnce(10)
	// The file is counted before it is renamed, so wait for the new name.
	require.Eventually(t, func() bool {
		return slices.Equal(names(t, dir), []string{filepath.Base(path) + damagedSuffix})
	}, time.Minute, time.Millisecond)

	// The next files are a file that is not STEF, and an empty file.
	appear(t, path, []byte("no stream"))
	r.requireFinished(damaged, 2)
	requireNames(t, dir, []string{filepath.Base(path) + damagedSuffix, filepath.Base(path) + ".1" + damagedSuffix})
	appear(t, path, nil)
	r.requireFinished(complete, 1)
	requireFiles(t, dir, 2)
}

func TestFileTruncatedAndReplaced(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	path := filepath.Join(dir, "a.stef")
	r := start(t, testConfig(dir, func(c *Config) { c.AssumeSignal, c.SettleTime = "logs", time.Hour }), to, nil)
	growing(t, path).put(numbered(1, 100))
	to.requireOnce(100)
	require.NoError(t, os.Truncate(path, 0))
	growing(t, path).put(numbered(101, 105))
	to.requireOnce(105)
	require.EqualValues(t, 1, r.errors("read"))
	// Another file replaces the file. The old file counts as removed, and the new file is
	// delivered.
	other := filepath.Join(dir, "other")
	growing(t, other).put(numbered(106, 110))
	require.NoError(t, os.Rename(other, path))
	to.requireOnce(110)
	r.requireFinished(removed, 1)
}

// The folder is removed and created again while files are read.
func TestFolderRemovedAndBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	to := &collected{t: t}
	r := start(t, testConfig(dir), to, &memory{}) // the folder does not exist yet
	r.idle()
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: -1})
	require.NoError(t, w.put(numbered(1, 10)))
	to.requireOnce(10)
	require.NoError(t, os.RemoveAll(dir))
	time.Sleep(150 * time.Millisecond) // wait until the writer notices the removal
	r.requireFinished(removed, 1)
	require.NoError(t, w.put(numbered(11, 20)))
	require.NoError(t, w.put(numbered(21, 30)))
	to.requireOnce(30)
	require.NoError(t, w.Close())
	r.requireFinished(complete, 1)

	// The folder is moved away and back again: no record is delivered twice.
	away := dir + ".away"
	require.NoError(t, os.Rename(dir, away))
	r.idle()
	require.NoError(t, os.Rename(away, dir))
	r.idle()
	to.requireOnce(30)
}

// If the pipeline refuses a batch temporarily, the receiver retries it with its original content, even
// if the pipeline has changed the batch. If it refuses a batch permanently, the items are counted.
func TestRefusals(t *testing.T) {
	for _, mutates := range []bool{false, true} {
		dir := t.TempDir()
		to := &collected{t: t, mutates: mutates}
		calls := 0
		to.answer = func(_ context.Context, ld plog.Logs) error {
			calls++
			first := uint64(ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Timestamp())
			if mutates {
				defer ld.ResourceLogs().RemoveIf(func(plog.ResourceLogs) bool { return calls%3 != 0 })
			}
			switch {
			case calls%3 != 0:
				return errors.New("full")
			case first == 31:
				return consumererror.NewPermanent(errors.New("no"))
			}
			return nil
		}
		w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
		for i := uint64(1); i < 100; i += 10 {
			require.NoError(t, w.put(numbered(i, i+9)))
		}
		require.NoError(t, w.Close())
		r := start(t, testConfig(dir), to, nil)
		r.requireFinished(complete, 1)
		seen := to.all()
		require.Len(t, seen, 90)
		require.Zero(t, seen[31])
		require.EqualValues(t, 10, r.sum("otelcol_receiver_steffile_records_rejected", "reason", "pipeline"))
		require.EqualValues(t, 20, r.sum("otelcol_receiver_steffile_retries"))
		require.EqualValues(t, 10, r.sum("otelcol_receiver_refused_log_records"))
		require.EqualValues(t, 9, r.sum("otelcol_receiver_steffile_batches"))
	}
}

func TestPartOfABatchIsRetried(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	var refused atomic.Bool
	to.answer = func(ctx context.Context, ld plog.Logs) error {
		if ld.LogRecordCount() == 10 && !refused.Swap(true) {
			require.NoError(t, to.ConsumeLogs(ctx, numbered(1, 4)))
			return consumererror.NewLogs(errors.New("the rest later"), numbered(5, 10))
		}
		return nil
	}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	start(t, testConfig(dir), to, nil)
	to.requireOnce(10)
}

// If the pipeline refuses only a part of a batch permanently, only this part counts as rejected.
func TestPartOfABatchIsRejected(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	to.answer = func(context.Context, plog.Logs) error {
		return consumererror.NewLogs(consumererror.NewPermanent(errors.New("the rest is bad")), numbered(5, 10))
	}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	require.NoError(t, w.Close())
	r := start(t, testConfig(dir), to, nil)
	r.requireFinished(complete, 1)
	require.EqualValues(t, 6, r.sum("otelcol_receiver_steffile_records_rejected", "reason", "pipeline"))
}

// several is an error that wraps the errors of several consumers, like the errors of package multierr.
// A fan-out returns such an error.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Errors() []error { return s }
func (s several) Unwrap() []error { return s }

// If several consumers of a fan-out refuse a batch, and one of them only temporarily, the whole batch is
// sent again. This is repeated until no consumer refuses it temporarily. A status does not make an
// error permanent.
func TestSeveralConsumersRefuse(t *testing.T) {
	no, full := consumererror.NewPermanent(errors.New("no")), errors.New("full")
	for name, refusals := range map[string]error{
		"a part and all":        several{consumererror.NewLogs(full, numbered(5, 10)), full},
		"two parts":             several{consumererror.NewLogs(full, numbered(5, 10)), consumererror.NewLogs(full, numbered(1, 2))},
		"permanent, temporary":  several{no, full},
		"temporary, permanent":  several{full, no},
		"permanent, both after": several{no, several{no, full}},
		"of a connector":        fmt.Errorf("routing: %w", errors.Join(no, full)),
		"a status, not marked":  status.Error(codes.InvalidArgument, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := &collected{t: t}
			calls := 0
			to.answer = func(context.Context, plog.Logs) error {
				if calls++; calls < 3 {
					return refusals
				}
				return nil
			}
			w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
			require.NoError(t, w.put(numbered(1, 10)))
			r := start(t, testConfig(dir), to, nil)
			to.requireOnce(10)
			require.Zero(t, r.sum("otelcol_receiver_steffile_records_rejected"))
		})
	}
	dir := t.TempDir()
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	require.NoError(t, w.Close())
	r := start(t, testConfig(dir), &collected{t: t, answer: func(context.Context, plog.Logs) error { return several{no, no} }}, nil)
	r.requireFinished(complete, 1)
	require.EqualValues(t, 10, r.sum("otelcol_receiver_steffile_records_rejected"))
}

func TestRetryEnds(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t, answer: func(context.Context, plog.Logs) error { return errors.New("full") }}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	require.NoError(t, w.Close())
	r := start(t, testConfig(dir, func(c *Config) { c.RetryConfig.MaxElapsedTime = time.Second }), to, nil)
	r.requireFinished(complete, 1)
	require.EqualValues(t, 10, r.sum("otelcol_receiver_steffile_records_rejected", "reason", "pipeline"))
	require.Positive(t, r.sum("otelcol_receiver_steffile_retries"))
}

// While the pipeline accepts no batch, the receiver reads no further frames, and a shutdown does
// not wait for the pipeline. The batch is delivered after the restart.
func TestBackPressure(t *testing.T) {
	dir := t.TempDir()
	to, store := &collected{t: t}, &memory{}
	blocked := make(chan struct{}, 100)
	to.answer = func(ctx context.Context, _ plog.Logs) error {
		blocked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 1 << 10})
	for i := uint64(0); i < 1000; i += 10 {
		require.NoError(t, w.put(numbered(i+1, i+10)))
	}
	require.NoError(t, w.Close())
	r := start(t, testConfig(dir, func(c *Config) { c.ShutdownTimeout = 20 * time.Millisecond }), to, store)
	<-blocked
	time.Sleep(20 * time.Millisecond)
	require.Empty(t, blocked)
	require.EqualValues(t, 1, r.sum("otelcol_receiver_steffile_files_open"))
	require.Zero(t, r.sum("otelcol_receiver_steffile_bytes_read"))
	begin := time.Now()
	r.stop()
	require.Less(t, time.Since(begin), time.Minute)

	to.set(nil)
	start(t, testConfig(dir), to, store)
	to.requireOnce(1000)
}

// A pipeline that never returns does not prevent the Collector from ending.
func TestShutdownWithStuckPipeline(t *testing.T) {
	dir := t.TempDir()
	to, store := &collected{t: t}, &memory{}
	busy, proceed := make(chan struct{}), make(chan struct{})
	to.answer = func(context.Context, plog.Logs) error {
		close(busy)
		<-proceed
		return nil
	}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, w.put(numbered(1, 10)))
	require.NoError(t, w.Close())
	r := start(t, testConfig(dir, func(c *Config) { c.ShutdownTimeout = 20 * time.Millisecond }), to, store)
	<-busy
	ended := make(chan error, 1)
	go func() { ended <- r.part.Shutdown(context.Background()) }()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "shutdown_timeout (20ms) was over, and the pipeline still processes a batch of this receiver")
	case <-time.After(time.Minute):
		require.Fail(t, "the shutdown waits for the pipeline")
	}
	close(proceed)
	<-r.part.(*follower[plog.Logs]).done
}

// If the pipeline panics, or a method of an error that it returns panics, only one batch is lost.
func TestPanic(t *testing.T) {
	for name, bad := range map[string]func() error{
		"pipeline": func() error { panic("pipeline") },
		"error":    func() error { return (*stef.FormatError)(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := &collected{t: t, answer: func(_ context.Context, ld plog.Logs) error {
				if ld.LogRecordCount() == 3 {
					return bad()
				}
				return nil
			}}
			w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
			require.NoError(t, w.put(numbered(1, 3)))
			require.NoError(t, w.put(numbered(4, 5)))
			r := start(t, testConfig(dir), to, nil)
			to.requireOnce(2)
			require.EqualValues(t, 1, r.errors("panic"))
			require.EqualValues(t, 3, r.sum("otelcol_receiver_steffile_records_rejected", "reason", "pipeline"))
		})
	}
}

// Each signal reads its own files. No receiver reads files with an unknown signal.
func TestSignals(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	traces := newWriter(t, signal.Traces, rotate.Options{Dir: dir})
	require.NoError(t, traces.put(receivertestSpan()))
	require.NoError(t, traces.Close())
	logs := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	require.NoError(t, logs.put(numbered(1, 10)))
	require.NoError(t, logs.Close())
	unknown := filepath.Join(dir, "unknown.stef")
	growing(t, unknown).put(numbered(11, 20))
	tagged := growing(t, filepath.Join(dir, "tagged.stef"), withRoot("Logs"))
	tagged.put(numbered(11, 20))
	growing(t, filepath.Join(dir, "spans.stef"), withRoot("Spans")).put(numbered(1, 10))
	announced := growing(t, filepath.Join(dir, "announced.stef"), otelstef.CompactLogs())
	announced.put(numbered(21, 30))
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished = Delete }), to, nil)
	to.requireOnce(30)
	r.requireFinished(complete, 3)
	require.EqualValues(t, 1, r.errors("signal"))
	requireFiles(t, dir, 3) // a file is counted before it is removed
	left := strings.Join(names(t, dir), " ")
	require.Contains(t, left, "unknown.stef")
	require.Contains(t, left, "spans.stef")
	require.Contains(t, left, "-traces.stef")

	var spans consumertest.TracesSink
	settings := receivertest.NewNopSettings(metadata.Type)
	part, err := NewFactory().CreateTraces(context.Background(), settings, testConfig(dir), &spans)
	require.NoError(t, err)
	require.NoError(t, part.Start(context.Background(), componenttest.NewNopHost()))
	require.Eventually(t, func() bool { return spans.SpanCount() == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, part.Shutdown(context.Background()))
}

// If the signal of a file is unknown, its headers are decoded once, not in each pass over the folder. In
// an earlier version each pass decoded them: 200 such files took 14 % of a processor for each signal.
// If other content replaces the file, it is read.
func TestUnknownSignalIsDecodedOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "unknown.stef")
	file := growing(t, path)
	file.put(numbered(11, 20))
	to := &collected{t: t}
	r := start(t, testConfig(dir), to, nil)
	require.Eventually(t, func() bool { return r.errors("signal") == 1 }, time.Minute, time.Millisecond)
	file.put(numbered(21, 30))
	r.idle()
	require.EqualValues(t, 1, r.errors("signal"))
	r.stop()
	require.Len(t, r.part.(*follower[plog.Logs]).otherFiles, 1)
	r = start(t, testConfig(dir), to, nil)
	require.Eventually(t, func() bool { return r.errors("signal") == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, os.WriteFile(path, compactFile(t, [2]uint64{1, 100}), 0o600))
	to.requireOnce(100)
}

// All records are delivered even if more files are written than the receiver may open at the same time.
func TestMaxOpenFiles(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	var files []writer[plog.Logs]
	n := uint64(0)
	for i := range 7 {
		files = append(files, newWriter(t, signal.Logs, rotate.Options{Dir: dir, Prefix: string(rune('a' + i))}))
	}
	r := start(t, testConfig(dir, func(c *Config) { c.Limits.MaxOpenFiles = 3 }), to, nil)
	for range 20 {
		for _, w := range files {
			require.NoError(t, w.put(numbered(n+1, n+5)))
			n += 5
		}
		r.idle()
		require.LessOrEqual(t, r.sum("otelcol_receiver_steffile_files_open"), int64(3))
	}
	to.requireOnce(int(n))
}

// Errors of the storage are counted, and do not stop the delivery.
func TestStorageFails(t *testing.T) {
	dir := t.TempDir()
	to, store := &collected{t: t}, &memory{}
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir})
	r := start(t, testConfig(dir), to, store)
	store.mu.Lock()
	store.fail = errStore
	store.mu.Unlock()
	require.NoError(t, w.put(numbered(1, 10)))
	to.requireOnce(10)
	require.Eventually(t, func() bool { return r.errors("storage") > 0 }, time.Minute, time.Millisecond)
	r.stop()

	part, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), func() *Config {
		c := testConfig(dir)
		c.StorageID = r.part.(*follower[plog.Logs]).config.StorageID
		return c
	}(), to)
	require.NoError(t, err)
	require.ErrorIs(t, part.Start(context.Background(), testHost{store: store}), errStore)
	require.ErrorContains(t, part.Start(context.Background(), componenttest.NewNopHost()), "add an extension of this name to service::extensions")
	require.NoError(t, part.Shutdown(context.Background()))
}

// Files that cannot be moved stay in the folder, are reported, and are not delivered again.
func TestMoveFails(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	blocker := filepath.Join(dir, "blocker")
	require.NoError(t, os.WriteFile(blocker, nil, 0o600))
	w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, MaxBytes: 1})
	require.NoError(t, w.put(numbered(1, 10)))
	r := start(t, testConfig(dir, func(c *Config) { c.OnFinished, c.MoveTo = Move, filepath.Join(blocker, "done") }), to, nil)
	r.requireFinished(complete, 1)
	require.Eventually(t, func() bool { return r.errors("finish") > 2 }, time.Minute, time.Millisecond)
	require.Len(t, names(t, dir), 2)
	require.NoError(t, os.Remove(blocker))
	require.Eventually(t, func() bool { return len(names(t, dir)) == 1 }, time.Minute, time.Millisecond)
	to.requireOnce(10)
	require.EqualValues(t, 1, r.finished(complete))
}

// A file with a frame over the size limit counts as damaged. The records before this frame are
// delivered.
func TestFileLimits(t *testing.T) {
	dir := t.TempDir()
	to := &collected{t: t}
	path := filepath.Join(dir, rotate.Name{Prefix: "x", Signal: "logs", PID: 1, Sequence: 1}.String())
	file := growing(t, path)
	file.put(numbered(1, 10))
	large := numbered(11, 11)
	large.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().SetStr(strings.Repeat("x", 2*mib))
	file.put(large)
	r := start(t, testConfig(dir, func(c *Config) { c.Limits.MaxFrameMiB = 1 }), to, nil)
	r.requireFinished(damaged, 1)
	to.requireOnce(10)

	// A batch has at most max_batch_items items.
	most := 0
	to = &collected{t: t, answer: func(_ context.Context, ld plog.Logs) error {
		most = max(most, ld.LogRecordCount())
		return nil
	}}
	path = filepath.Join(dir, rotate.Name{Prefix: "y", Signal: "logs", PID: 1, Sequence: 1}.String())
	growing(t, path).put(numbered(1, 1000))
	r = start(t, testConfig(dir, func(c *Config) { c.MaxBatchItems, c.Include = 30, []string{path} }), to, nil)
	r.requireFinished(complete, 1)
	to.requireOnce(1000)
	require.Equal(t, 30, most)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// When a file reaches MaxBytes, the next file begins. All files in the order of their names have every
// record once, in the order of the writes.
func TestRotatesBySize(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	w := open(t, Options{Dir: dir, MaxBytes: 4 << 10})
	require.NoDirExists(t, dir, "a program that writes nothing creates nothing")
	const batches, each = 40, 50
	for i := range uint64(batches) {
		require.NoError(t, writeLogs(w, i*each+1, (i+1)*each))
	}
	active := 0
	for _, name := range names(t, dir) {
		n, ok := ParseName(name)
		require.True(t, ok, name)
		require.Equal(t, name, n.String())
		require.Equal(t, []any{"telemetry", "logs", os.Getpid()}, []any{n.Prefix, n.Signal, n.PID})
		if n.Active {
			active++
		}
	}
	require.LessOrEqual(t, active, 1)
	require.NoError(t, w.Close())
	require.Equal(t, upTo(batches*each), readAll(t, dir))
	bytes := int64(0)
	list := names(t, dir)
	require.Greater(t, len(list), 5)
	require.True(t, slices.IsSorted(list))
	for i, name := range list {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, i == len(list)-1 || info.Size() >= 4<<10)
		require.Zero(t, info.Mode().Perm()&^defaultPerm)
		bytes += info.Size()
	}
	require.Equal(t, Stats{Records: batches * each, Bytes: bytes, Opened: uint64(len(list)), Finished: uint64(len(list)), Errors: map[Kind]uint64{}}, w.Stats())
	require.NoError(t, w.Close())
	require.ErrorIs(t, writeLogs(w, 1, 1), ErrClosed)
	require.ErrorIs(t, w.Flush(), ErrClosed)
	require.ErrorIs(t, w.Rotate(), ErrClosed)
}

// A file is finished when it reaches MaxAge, even if no Write follows.
func TestRotatesByAge(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, MaxAge: 30 * time.Millisecond, MaxBytes: -1})
	require.NoError(t, writeLogs(w, 1, 3))
	require.True(t, strings.HasSuffix(names(t, dir)[0], ActiveSuffix))
	eventually(t, func() bool { return w.Stats().Finished == 1 })
	require.NoError(t, writeLogs(w, 4, 5))
	eventually(t, func() bool { return w.Stats().Finished == 2 })
	require.Equal(t, upTo(5), readAll(t, dir))
	require.NoError(t, w.Rotate()) // no file is active
	require.Len(t, names(t, dir), 2)
}

// TestSignals tests every signal in the full schema, and in the compact schema without and with zstd.
func TestSignals(t *testing.T) {
	testSignal(t, "traces", otelstef.CompactSpans(), otelstef.NewSpansWriter, (*otelstef.SpansWriter).Write, otelstef.NewSpansReader, (*otelstef.SpansReader).Next)
	testSignal(t, "metrics", otelstef.CompactMetrics(), otelstef.NewMetricsWriter, (*otelstef.MetricsWriter).Write, otelstef.NewMetricsReader, (*otelstef.MetricsReader).Next)
	testSignal(t, "logs", otelstef.CompactLogs(), otelstef.NewLogsWriter, (*otelstef.LogsWriter).Write, otelstef.NewLogsReader, (*otelstef.LogsReader).Next)
}

func testSignal[W Stream, R interface {
	Err() error
	Close()
}](t *testing.T, signal string, compact stef.WriterOption,
	start func(io.Writer, ...stef.WriterOption) (W, error), write func(W) error,
	read func(io.Reader, ...stef.ReaderOption) (R, error), next func(R) bool,
) {
	for name, options := range map[string][]stef.WriterOption{
		"full": nil, "compact": {compact}, "zstd": {compact, stef.WithCompression(stef.Zstd)},
	} {
		t.Run(signal+"/"+name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := New(Options{Dir: dir, Signal: signal, MaxBytes: 1 << 10}, func(dst io.Writer) (W, error) { return start(dst, options...) })
			require.NoError(t, err)
			for range 20 {
				require.NoError(t, w.Write(func(s W) error {
					for range 100 {
						if err := write(s); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			require.NoError(t, w.Close())
			total := 0
			for _, name := range names(t, dir) {
				b, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				r, err := read(bytes.NewReader(b))
				require.NoError(t, err)
				for next(r) {
					total++
				}
				require.NoError(t, r.Err())
				r.Close()
			}
			require.Equal(t, 2000, total)
		})
	}
}

func TestRetention(t *testing.T) {
	dir := t.TempDir()
	// Files with other names, prefixes or signals are kept.
	others := []string{"notes.txt", "telemetry-20200101T000000.000000000Z-0000001-000001-traces.stef", "telemetry-x-20200101T000000.000000000Z-0000001-000001-logs.stef"}
	for _, name := range others {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	w := open(t, Options{Dir: dir, MaxBytes: 1, MaxFiles: 3})
	for i := uint64(1); i <= 10; i++ {
		require.NoError(t, writeLogs(w, i, i))
	}
	require.Len(t, names(t, dir), 3+len(others))
	require.EqualValues(t, 7, w.Stats().Removed)
	require.NoError(t, w.Close())
	for _, name := range others {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	require.Equal(t, []uint64{8, 9, 10}, readAll(t, dir))
	size := int64(0)
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		size = max(size, info.Size())
	}
	w = open(t, Options{Dir: dir, MaxBytes: 1, MaxTotalBytes: 2*size + size/2})
	require.Len(t, names(t, dir), 2, "New obeys the limits too")
	require.NoError(t, writeLogs(w, 11, 11))
	require.Equal(t, []uint64{10, 11}, readAll(t, dir))
}

// If the clock was set back before New, the names of new files must still sort after those of existing
// files. Otherwise the new files would be removed first, and readers would read them first.
func TestClockSetBack(t *testing.T) {
	for _, end := range []string{Suffix, ActiveSuffix} {
		dir := t.TempDir()
		w := open(t, Options{Dir: dir})
		require.NoError(t, writeLogs(w, 1, 1))
		require.NoError(t, w.Close())
		ahead := Name{Prefix: "telemetry", Time: time.Now().Add(time.Hour), PID: 1, Sequence: 1, Signal: "logs"}.String()
		require.NoError(t, os.Rename(filepath.Join(dir, names(t, dir)[0]), filepath.Join(dir, strings.TrimSuffix(ahead, Suffix)+end)))
		w = open(t, Options{Dir: dir, MaxBytes: 1, MaxFiles: 2})
		require.NoError(t, writeLogs(w, 2, 2))
		require.Equal(t, upTo(2), readAll(t, dir))
		require.NoError(t, writeLogs(w, 3, 3))
		require.Equal(t, []uint64{2, 3}, readAll(t, dir))
	}
}

func TestFlushInterval(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, FlushInterval: 20 * time.Millisecond})
	require.NoError(t, writeLogs(w, 1, 7))
	eventually(t, func() bool { return w.Stats().Records == 7 })
	require.Equal(t, upTo(7), readAll(t, dir))
	slow := open(t, Options{Dir: dir, Prefix: "slow", FlushInterval: time.Hour})
	require.NoError(t, writeLogs(slow, 1, 2))
	require.Zero(t, slow.Stats().Records)
	require.NoError(t, slow.Flush())
	require.EqualValues(t, 2, slow.Stats().Records)
	require.NoError(t, writeLogs(slow, 3, 3))
	require.NoError(t, slow.Close())
	require.EqualValues(t, 3, slow.Stats().Records)
}

// If a file has reached MaxBytes, a delayed flush or a call of Flush finishes it, even if no Write follows.
// The file has one frame.
func TestFlushRotatesBySize(t *testing.T) {
	f := func(interval time.Duration, flush func(*Writer[*otelstef.LogsWriter])) {
		t.Helper()
		dir := t.TempDir()
		w := open(t, Options{Dir: dir, MaxBytes: 4 << 10, MaxAge: -1, MaxFiles: 2, FlushInterval: interval})
		for i := range uint64(3) {
			require.NoError(t, writeLogs(w, i*1000+1, i*1000+1000))
			flush(w)
			eventually(t, func() bool { return w.Stats().Finished == i+1 })
		}
		require.NoError(t, writeLogs(w, 3001, 3002)) // too few to finish the file
		require.NoError(t, w.Flush())
		list := names(t, dir)
		require.Len(t, list, 3)
		for i, name := range list {
			require.Equal(t, i == 2, strings.HasSuffix(name, ActiveSuffix))
			require.Equal(t, 1, framesOf(t, filepath.Join(dir, name)))
		}
		require.EqualValues(t, 1, w.Stats().Removed)
		require.NoError(t, w.Close())
		require.Equal(t, upTo(3002)[2000:], readAll(t, dir))
	}
	f(10*time.Millisecond, func(*Writer[*otelstef.LogsWriter]) {})
	f(time.Hour, func(w *Writer[*otelstef.LogsWriter]) { require.NoError(t, w.Flush()) })
}

// framesOf returns the number of frames of a file.
func framesOf(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	var frames Frames
	for ok := true; ok; {
		ok, err = frames.Next(file, info.Size())
		require.NoError(t, err)
	}
	return frames.Count()
}

// Each Write ends a frame. With FlushInterval, a Write does not end a frame, but a Flush does.
func TestFramesOfWrites(t *testing.T) {
	f := func(interval time.Duration, want int) {
		t.Helper()
		dir := t.TempDir()
		w := open(t, Options{Dir: dir, FlushInterval: interval})
		for n := range uint64(20) {
			require.NoError(t, writeLogs(w, n, n))
		}
		require.NoError(t, w.Flush())
		require.EqualValues(t, 20, w.Stats().Records)
		require.NoError(t, w.Close())
		require.Equal(t, want, framesOf(t, filepath.Join(dir, names(t, dir)[0])))
	}
	f(0, 20)
	f(time.Hour, 1)
}

// Write returns the error of fill, and keeps the records that fill wrote before the error.
func TestFillError(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	errOwn := errors.New("own")
	require.Equal(t, errOwn, w.Write(func(s *otelstef.LogsWriter) error {
		require.NoError(t, putLogs(s, 1, 2))
		return errOwn
	}))
	require.NoError(t, writeLogs(w, 3, 3))
	require.Panics(t, func() { _ = w.Write(func(*otelstef.LogsWriter) error { panic("fill") }) })
	require.NoError(t, writeLogs(w, 4, 4))
	require.NoError(t, w.Close())
	require.Equal(t, upTo(4), readAll(t, dir))
	require.Empty(t, w.Stats().Errors)

	w = open(t, Options{Dir: dir, MaxBytes: 1}) // the records exceed MaxBytes, so they end the file
	require.Equal(t, errOwn, w.Write(func(s *otelstef.LogsWriter) error {
		require.NoError(t, putLogs(s, 5, 5))
		return errOwn
	}))
	require.Equal(t, upTo(5), readAll(t, dir))
}

// After an error of the stream itself, the next Write uses a new file.
func TestStreamError(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	require.NoError(t, writeLogs(w, 1, 1))
	require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error { return nil }))
	err := w.Write(func(s *otelstef.LogsWriter) error {
		require.NoError(t, putLogs(s, 2, 2))
		return s.Close() // an early Close, which makes the stream fail
	})
	require.ErrorIs(t, err, stef.ErrClosed)
	require.NoError(t, writeLogs(w, 3, 3))
	require.NoError(t, w.Close())
	require.Equal(t, upTo(3), readAll(t, dir))
	require.Len(t, names(t, dir), 2)
	require.Equal(t, map[Kind]uint64{KindOther: 1}, w.Stats().Errors)
}

func TestManyGoroutinesAndWriters(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, Options{Dir: dir, MaxBytes: 2 << 10, FlushInterval: time.Millisecond}), open(t, Options{Dir: dir, MaxBytes: 2 << 10, Sync: SyncNone})
	const each = 500
	var wg sync.WaitGroup
	for i := range uint64(8) {
		wg.Go(func() {
			w := a
			if i%2 == 0 {
				w = b
			}
			for n := range uint64(each) {
				if err := writeLogs(w, i*each+n+1, i*each+n+1); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(a.Close(), b.Close()))
	got := readAll(t, dir)
	slices.Sort(got)
	require.Equal(t, upTo(8*each), got)
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"Options.Dir is empty":   {Signal: "logs"},
		"Options.Signal is \"\"": {Dir: "x"},
		"\"a-b\": use 1 to 100 letters, digits, '.' and '_', and no '.' at the start": {Dir: "x", Signal: "a-b"},
		"Options.Prefix is \"a/b\"":            {Dir: "x", Signal: "logs", Prefix: "a/b"},
		"Options.Prefix is \"..\"":             {Dir: "x", Signal: "logs", Prefix: ".."},
		"Options.Sync is 3":                    {Dir: "x", Signal: "logs", Sync: 3},
		"Options.MaxFiles (-1), MaxTotalBytes": {Dir: "x", Signal: "logs", MaxFiles: -1},
	} {
		_, err := New(o, startLogs)
		require.ErrorContains(t, err, want)
	}
	errStart := errors.New("bad options")
	_, err := New(Options{Dir: "x", Signal: "logs"}, func(io.Writer) (*otelstef.LogsWriter, error) { return nil, errStart })
	require.ErrorIs(t, err, errStart)
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "x", "telemetry-logs.stef", "-20261122T101548.123456789Z-0001234-000001-logs.stef", "a-20261322T101548.123456789Z-0001234-000001-logs.stef", "a-20261122T101548.123456789Z-0001234-000001-logs.stef.gz"} {
		_, ok := ParseName(name)
		require.False(t, ok, name)
	}
	n, ok := ParseName("my-app-20261122T101548.123456789Z-0001234-000001-logs.stef.active")
	require.True(t, ok)
	require.Equal(t, Name{"my-app", time.Date(2026, 11, 22, 10, 15, 48, 123456789, time.UTC), 1234, 1, "logs", true}, n)
}

// A nil function is an error, and the writer can still be used.
func TestNilFunctions(t *testing.T) {
	dir := t.TempDir()
	_, err := New[*otelstef.LogsWriter](Options{Dir: dir, Signal: "logs"}, nil)
	require.EqualError(t, err, "rotate: New: the function that begins streams is nil")
	_, err = New(Options{Dir: dir, Signal: "logs"}, func(io.Writer) (*otelstef.LogsWriter, error) { return nil, nil })
	require.EqualError(t, err, "rotate: New: the function start returned no stream")
	_, err = New(Options{Dir: dir, Signal: "metrics"}, func(io.Writer) (*otelstef.MetricsWriter, error) {
		return otelstef.NewMetricsWriter(io.Discard)
	})
	require.EqualError(t, err, "rotate: New: start wrote no header to dst: the stream that start returns must write to dst")
	_, err = New(Options{Dir: dir, Signal: "logs"}, func(io.Writer) (Stream, error) { return nil, nil })
	require.EqualError(t, err, "rotate: New: the function start returned no stream")
	w := open(t, Options{Dir: dir, Signal: "logs"})
	require.EqualError(t, w.Write(nil), "rotate: Write: the function that fills the stream is nil")
	require.NoError(t, writeLogs(w, 1, 2))
	require.NoError(t, w.Close())
}

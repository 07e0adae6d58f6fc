// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/diskfault"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// stubDisk replaces the file system. A test can limit its space and cause other faults.
type stubDisk struct {
	mu       sync.Mutex
	room     int // bytes until the disk is full
	syncs    int
	dirs     []string // folders in the order of their syncs
	onCreate error
	onSync   error
	stuck    chan struct{} // Sync waits for this channel, unless it is nil
}

func (d *stubDisk) create(path string, perm fs.FileMode) (diskFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onCreate != nil {
		return nil, d.onCreate
	}
	f, err := osDisk{}.create(path, perm)
	if err != nil {
		return nil, err
	}
	return stubFile{f, d}, nil
}

func (d *stubDisk) mkdir(dir string, perm fs.FileMode) error { return osDisk{}.mkdir(dir, perm) }

func (d *stubDisk) syncDir(dir string) { d.set(func() { d.dirs = append(d.dirs, dir) }) }

func (d *stubDisk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

type stubFile struct {
	diskFile
	disk *stubDisk
}

// Write writes as many bytes as the disk has space for, and then fails, as a file system does.
func (f stubFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	n, err := f.diskFile.Write(b[:min(len(b), f.disk.room)])
	f.disk.room -= n
	if err == nil && n < len(b) {
		err = &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return n, err
}

func (f stubFile) Sync() error {
	f.disk.mu.Lock()
	f.disk.syncs++
	err, stuck := f.disk.onSync, f.disk.stuck
	f.disk.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	return err
}

const plenty = 1 << 30

// For every amount of free space: if Write returned nil, its records are readable. Every file is complete,
// and writing continues when there is space again.
func TestDiskFull(t *testing.T) {
	step := 7
	if testing.Short() {
		step = 41
	}
	failures := uint64(1)
	for room := 0; failures > 0; room += step { // until all records fit
		dir := t.TempDir()
		d := &stubDisk{room: room}
		w := openOn(t, Options{Dir: dir, Sync: SyncNone}, d)
		want, lost := []uint64(nil), uint64(0)
		for i := uint64(1); i <= 30; i += 3 {
			err := writeLogs(w, i, i+2)
			if err == nil {
				want = append(want, i, i+1, i+2)
				continue
			}
			var full *Error
			require.ErrorAs(t, err, &full)
			require.Equal(t, KindFull, full.Kind(), "%v", err)
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.Contains(t, []string{"write", "create"}, full.Op)
			lost += full.Lost
		}
		failures = w.Stats().Errors[KindFull]
		require.True(t, failures > 0 || room > 500)
		d.set(func() { d.room = plenty })
		require.NoError(t, writeLogs(w, 100, 101))
		require.NoError(t, w.Close())
		require.Equal(t, append(want, 100, 101), readAll(t, dir))
		s := w.Stats()
		require.EqualValues(t, len(want)+2, s.Records)
		require.Equal(t, lost, s.Lost)
		require.Equal(t, failures, s.Errors[KindFull])
	}
}

// If a real file system is full, only the failed batch is lost, and Write works again when there is space.
// On a read-only file system the error has the Kind KindPermission.
func TestRealDisk(t *testing.T) {
	dir := diskfault.Small(t, 256<<10)
	w := open(t, Options{Dir: dir, Sync: SyncFlush})
	n, want := uint64(0), []uint64(nil)
	var err error
	for err == nil {
		require.Less(t, n, uint64(1<<20))
		if err = writeLogs(w, n+1, n+100); err == nil {
			for range 100 {
				n++
				want = append(want, n)
			}
		}
	}
	var full *Error
	require.ErrorAs(t, err, &full)
	require.Equal(t, KindFull, full.Kind(), "%v", err)
	require.EqualValues(t, 100, full.Lost)
	require.Equal(t, want, readAll(t, dir))
	require.Error(t, writeLogs(w, 1, 1000))
	require.NoError(t, os.Remove(filepath.Join(dir, names(t, dir)[0])))
	require.NoError(t, writeLogs(w, 1, 10))
	require.NoError(t, w.Close())
	require.Equal(t, upTo(10), readAll(t, dir))

	diskfault.MakeReadOnly(t, dir)
	w = open(t, Options{Dir: dir})
	require.ErrorAs(t, writeLogs(w, 1, 1), &full)
	require.Equal(t, KindPermission, full.Kind())
	require.Equal(t, "create", full.Op)
}

// Without permission for the folder every Write fails immediately. The first Write with permission succeeds.
func TestNoPermission(t *testing.T) {
	dir := t.TempDir()
	d := &stubDisk{room: plenty, onCreate: &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}}
	w := openOn(t, Options{Dir: dir}, d)
	for range 3 {
		var e *Error
		require.ErrorAs(t, writeLogs(w, 1, 1), &e)
		require.Equal(t, KindPermission, e.Kind())
		require.ErrorContains(t, e, "rotate: create "+dir+": permission denied")
	}
	require.Equal(t, map[Kind]uint64{KindPermission: 3}, w.Stats().Errors)
	d.set(func() { d.onCreate = nil })
	require.NoError(t, writeLogs(w, 1, 1))
	require.NoError(t, w.Close())
	require.Equal(t, upTo(1), readAll(t, dir))

	// The folder is a file.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	w = open(t, Options{Dir: file})
	var e *Error
	require.ErrorAs(t, writeLogs(w, 1, 1), &e)
	require.NotZero(t, w.Stats().Errors[KindOther])
}

// If another program removes the folder or the active file, a later Write creates it again.
func TestFolderRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove open files")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	var reported []error
	w := open(t, Options{Dir: dir, OnError: func(err error) { reported = append(reported, err) }})
	require.NoError(t, writeLogs(w, 1, 2))
	require.NoError(t, os.RemoveAll(filepath.Dir(dir)))
	time.Sleep(checkEvery)
	require.NoError(t, writeLogs(w, 3, 4))
	require.Equal(t, upTo(4)[2:], readAll(t, dir))
	require.Equal(t, map[Kind]uint64{KindRemoved: 1}, w.Stats().Errors)
	require.Len(t, reported, 1)
	require.ErrorIs(t, reported[0], errRemoved)
	require.EqualValues(t, 2, w.Stats().Lost)

	// If a file has the name of the folder, Write fails until this file is removed.
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	time.Sleep(checkEvery)
	var e *Error
	require.ErrorAs(t, writeLogs(w, 5, 6), &e)
	require.Equal(t, "create", e.Op)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, writeLogs(w, 7, 8))
	require.Equal(t, []uint64{7, 8}, readAll(t, dir))

	require.NoError(t, os.RemoveAll(dir))
	require.ErrorAs(t, w.Close(), &e)
	require.Equal(t, "finish", e.Op)
	require.Equal(t, KindRemoved, e.Kind())
	require.EqualValues(t, 2, e.Lost)
	require.EqualValues(t, 6, w.Stats().Lost)
	require.EqualValues(t, 6, w.Stats().Records)
}

// If the file was removed, Write does not return nil. Otherwise a server would acknowledge the lost records.
// The next Write uses a new file.
func TestRemovedWhileWriting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove open files")
	}
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	require.NoError(t, writeLogs(w, 1, 1))
	err := w.Write(func(s *otelstef.LogsWriter) error {
		require.NoError(t, os.Remove(filepath.Join(dir, names(t, dir)[0])))
		return putLogs(s, 2, 4)
	})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, KindRemoved, e.Kind())
	require.ErrorContains(t, err, "the file was removed or renamed (4 records lost)")
	require.NoError(t, writeLogs(w, 5, 6))
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	require.Equal(t, []uint64{5, 6}, readAll(t, dir))

	// The background goroutine has flushed already. So Flush writes nothing, but it still checks whether
	// the file exists.
	delayed := open(t, Options{Dir: t.TempDir(), FlushInterval: 20 * time.Millisecond})
	require.NoError(t, writeLogs(delayed, 1, 3))
	eventually(t, func() bool { return delayed.Stats().Records == 3 })
	require.NoError(t, os.RemoveAll(delayed.options.Dir))
	require.ErrorAs(t, delayed.Flush(), &e)
	require.EqualValues(t, 3, e.Lost)
	s := w.Stats()
	require.Equal(t, []uint64{3, 4, 1}, []uint64{s.Records, s.Lost, s.Errors[KindRemoved]})
}

// If Options.FlushInterval delays flushes, records can be lost after their Write has returned nil. The next
// Flush returns the error, even if another operation detected the loss. Later calls of Flush do not return
// it again.
func TestLostBeforeFlush(t *testing.T) {
	remove := func(dir string) {
		for _, name := range names(t, dir) {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	f := func(kind Kind, delay time.Duration, lose func(dir string, d *stubDisk), found func(w *Writer[*otelstef.LogsWriter])) {
		t.Helper()
		dir := t.TempDir()
		d := &stubDisk{room: plenty}
		w := openOn(t, Options{Dir: dir, FlushInterval: delay}, d)
		require.NoError(t, w.Write(func(*otelstef.LogsWriter) error { return nil })) // writes only the headers
		require.NoError(t, w.Write(func(s *otelstef.LogsWriter) error {
			lose(dir, d)
			return putLogs(s, 1, 3)
		}))
		found(w)
		d.set(func() { d.room = plenty })
		require.NoError(t, writeLogs(w, 4, 4))
		var e *Error
		require.ErrorAs(t, w.Flush(), &e)
		require.Equal(t, kind, e.Kind())
		require.EqualValues(t, 3, e.Lost)
		require.NoError(t, w.Flush())
		require.NoError(t, w.Close())
		require.Equal(t, []uint64{4}, readAll(t, dir))
		require.EqualValues(t, 3, w.Stats().Lost)
	}
	background := func(w *Writer[*otelstef.LogsWriter]) {
		eventually(t, func() bool { return w.Stats().Lost > 0 })
	}
	f(KindFull, 20*time.Millisecond, func(_ string, d *stubDisk) { d.set(func() { d.room = 0 }) }, background)
	if runtime.GOOS == "windows" {
		return // Windows does not remove open files
	}
	f(KindRemoved, 20*time.Millisecond, func(dir string, _ *stubDisk) { remove(dir) }, background)
	written := func(w *Writer[*otelstef.LogsWriter]) {
		eventually(t, func() bool { return w.Stats().Records == 3 })
		remove(w.options.Dir)
	}
	f(KindRemoved, 20*time.Millisecond, func(string, *stubDisk) {}, func(w *Writer[*otelstef.LogsWriter]) {
		written(w)
		time.Sleep(checkEvery)
	})
	f(KindRemoved, time.Hour, func(dir string, _ *stubDisk) { remove(dir) }, func(*Writer[*otelstef.LogsWriter]) { time.Sleep(checkEvery) })
}

func TestSync(t *testing.T) {
	count := func(d *stubDisk) (n int) {
		d.set(func() { n = d.syncs })
		return n
	}
	none := &stubDisk{room: plenty}
	w := openOn(t, Options{Dir: t.TempDir(), Sync: SyncNone, SyncEvery: time.Millisecond, MaxBytes: 1}, none)
	require.NoError(t, writeLogs(w, 1, 1))
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, w.Close())
	require.Zero(t, count(none))

	flush := &stubDisk{room: plenty}
	w = openOn(t, Options{Dir: t.TempDir(), Sync: SyncFlush}, flush)
	for i := uint64(1); i <= 5; i++ {
		require.NoError(t, writeLogs(w, i, i))
		require.EqualValues(t, i, count(flush))
	}
	flush.set(func() { flush.onSync = syscall.EIO })
	var e *Error
	require.ErrorAs(t, writeLogs(w, 6, 6), &e)
	require.Equal(t, "sync", e.Op)
	require.Equal(t, KindOther, e.Kind())

	// A disk that does not respond blocks the background goroutine, but not Write.
	interval := &stubDisk{room: plenty, stuck: make(chan struct{})}
	var mu sync.Mutex
	var reported []error
	w = openOn(t, Options{Dir: t.TempDir(), SyncEvery: 2 * time.Millisecond, OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	}}, interval)
	require.NoError(t, writeLogs(w, 1, 1))
	eventually(t, func() bool { return count(interval) == 1 })
	for i := uint64(2); i <= 100; i++ {
		require.NoError(t, writeLogs(w, i, i))
	}
	require.Equal(t, 1, count(interval))
	interval.set(func() { interval.onSync = syscall.EIO })
	close(interval.stuck)
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(reported) > 0
	})
	require.ErrorIs(t, reported[0], syscall.EIO)
	interval.set(func() { interval.onSync = nil })
	require.NoError(t, writeLogs(w, 101, 101)) // in a new file
	require.NoError(t, w.Close())
	require.EqualValues(t, 101, w.Stats().Records)
}

// While a delayed flush finishes a file that has reached MaxBytes, Write and Close wait. The file
// is finished once, and each record for which Write returned nil is in a file.
func TestSizeEndsFileAtClose(t *testing.T) {
	stuck := make(chan struct{})
	d := &stubDisk{room: plenty, stuck: stuck}
	dir := t.TempDir()
	w := openOn(t, Options{Dir: dir, Sync: SyncFlush, FlushInterval: 10 * time.Millisecond, MaxBytes: 200, MaxAge: -1}, d)
	require.NoError(t, writeLogs(w, 1, 100))
	eventually(t, func() (begun bool) {
		d.set(func() { begun = d.syncs == 1 })
		return begun
	})
	closed, wrote := make(chan error), make(chan error)
	go func() { closed <- w.Close() }()
	go func() { wrote <- writeLogs(w, 101, 101) }()
	time.AfterFunc(5*time.Millisecond, func() { close(stuck) })
	require.NoError(t, <-closed)
	want := uint64(100)
	if err := <-wrote; err == nil {
		want++
	} else {
		require.ErrorIs(t, err, ErrClosed)
	}
	require.Equal(t, upTo(want), readAll(t, dir))
	s := w.Stats()
	require.Equal(t, []uint64{want, want - 99, want - 99}, []uint64{s.Records, s.Opened, s.Finished})
	require.Empty(t, s.Errors)
}

// If a delayed flush finishes a file at MaxBytes and fails, OnError receives the error. If records were
// lost, the next Flush returns the error, too.
func TestDelayedFinishFails(t *testing.T) {
	f := func(o Options, d *stubDisk, op string, lost uint64) {
		t.Helper()
		reported := make(chan error, 10)
		o.Dir, o.FlushInterval, o.MaxBytes = t.TempDir(), 10*time.Millisecond, 200
		o.OnError = func(err error) { reported <- err }
		w := openOn(t, o, d)
		require.NoError(t, writeLogs(w, 1, 100))
		var e *Error
		require.ErrorAs(t, <-reported, &e)
		require.Equal(t, op, e.Op)
		require.Equal(t, lost, e.Lost)
		d.set(func() { d.room, d.onSync = plenty, nil })
		require.NoError(t, writeLogs(w, 101, 101))
		if err := w.Flush(); lost > 0 {
			require.Equal(t, error(e), err)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.Empty(t, reported)
		require.Equal(t, upTo(101)[lost:], readAll(t, o.Dir))
		require.Equal(t, map[Kind]uint64{e.Kind(): 1}, w.Stats().Errors)
	}
	f(Options{SyncEvery: time.Hour}, &stubDisk{room: plenty, onSync: syscall.EIO}, "finish", 0)
	f(Options{Sync: SyncNone}, &stubDisk{room: 180}, "write", 100)
}

// A sync of a new file does not sync its name in the folder, so a crash of the machine could lose the file
// with its synced records. To prevent this, the writer syncs the folder of the file and the parents of new
// folders after the first sync of the file.
func TestSyncFolders(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	d := &stubDisk{room: plenty}
	w := openOn(t, Options{Dir: dir, Sync: SyncFlush}, d)
	require.NoError(t, writeLogs(w, 1, 1))
	want := []string{dir, filepath.Join(top, "a"), top}
	require.Equal(t, want, d.dirs)
	require.NoError(t, writeLogs(w, 2, 2))
	require.Equal(t, want, d.dirs)
	require.NoError(t, w.Rotate()) // gives the file another name
	require.NoError(t, writeLogs(w, 3, 3))
	require.Equal(t, append(want, dir, dir), d.dirs)

	d = &stubDisk{room: plenty}
	w = openOn(t, Options{Dir: dir, SyncEvery: 2 * time.Millisecond}, d)
	require.NoError(t, writeLogs(w, 1, 1))
	synced := func(n int) (ok bool) {
		d.set(func() { ok = len(d.dirs) == n })
		return ok
	}
	eventually(t, func() bool { return synced(1) })
	require.NoError(t, writeLogs(w, 2, 2))
	eventually(t, func() (ok bool) {
		d.set(func() { ok = d.syncs == 2 })
		return ok
	})
	require.True(t, synced(1))

	d = &stubDisk{room: plenty}
	w = openOn(t, Options{Dir: filepath.Join(top, "c"), SyncEvery: time.Hour}, d)
	require.NoError(t, writeLogs(w, 1, 1))
	require.NoError(t, w.Close())
	require.Equal(t, []string{filepath.Join(top, "c"), top}, d.dirs)

	d = &stubDisk{room: plenty}
	w = openOn(t, Options{Dir: dir, Sync: SyncNone}, d)
	require.NoError(t, writeLogs(w, 1, 1))
	require.NoError(t, w.Close())
	require.Empty(t, d.dirs)
}

// If a sync in the background fails, the error is reported even if the file is finished during this sync.
// The operating system returns a fault only once, so the sync at the end of the file returns nil.
func TestSyncFailsWhileFinished(t *testing.T) {
	for _, finish := range []func(*Writer[*otelstef.LogsWriter]) error{(*Writer[*otelstef.LogsWriter]).Rotate, (*Writer[*otelstef.LogsWriter]).Close} {
		stuck := make(chan struct{})
		d := &stubDisk{room: plenty, stuck: stuck, onSync: syscall.EIO}
		reported := make(chan error, 10)
		w := openOn(t, Options{Dir: t.TempDir(), SyncEvery: 2 * time.Millisecond, OnError: func(err error) { reported <- err }}, d)
		require.NoError(t, writeLogs(w, 1, 1))
		eventually(t, func() (begun bool) {
			d.set(func() { begun = d.syncs == 1 })
			return begun
		})
		d.set(func() { d.stuck, d.onSync = nil, nil })
		time.AfterFunc(20*time.Millisecond, func() { close(stuck) })
		require.NoError(t, finish(w))
		select {
		case err := <-reported:
			var failed *Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, "sync", failed.Op)
			require.ErrorIs(t, err, syscall.EIO)
		case <-time.After(10 * time.Second):
			t.Fatal("the fault was not reported")
		}
		require.NoError(t, w.Close())
		require.Equal(t, map[Kind]uint64{KindOther: 1}, w.Stats().Errors)
		require.EqualValues(t, 1, w.Stats().Finished)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Op: "write", Path: "a/b", Lost: 3, Err: &fs.PathError{Op: "write", Path: "a/b", Err: syscall.ENOSPC}}
	require.EqualError(t, e, "rotate: write a/b: no space left on device (3 records lost)")
	require.True(t, errors.Is(e, syscall.ENOSPC))
	require.Equal(t, []string{"other", "disk_full", "permission", "removed"}, []string{KindOther.String(), KindFull.String(), KindPermission.String(), KindRemoved.String()})
	require.Equal(t, KindPermission, (&Error{Err: syscall.EROFS}).Kind())
	require.Equal(t, KindOther, (&Error{Err: syscall.EIO}).Kind())
	require.Equal(t, KindRemoved, (&Error{Err: &fs.PathError{Op: "open", Err: syscall.ENOENT}}).Kind())
	require.Equal(t, KindOther, (&Error{Op: "create", Err: &fs.PathError{Op: "mkdir", Path: "/proc/no", Err: syscall.ENOENT}}).Kind())
}

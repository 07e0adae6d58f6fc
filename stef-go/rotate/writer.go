// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	stef "github.com/otelstef/stef/stef-go"
)

// Stream writes records to one file. The generated writers, such as
// otelstef.SpansWriter, are streams; a type that embeds one can add an encoder.
//
// Generated writers have a method ContinueFrom(previous any), which copies the record
// of the last file to the stream of a new file. A type has the method if it embeds a
// generated writer. Without it, for example if the writer is in a named field, each
// file begins with an empty record.
type Stream interface {
	// Flush writes the unfinished frame.
	Flush() error
	// Close flushes and releases the memory of the stream.
	Close() error
	// Stats returns counts of what was written.
	Stats() stef.WriterStats
}

// Writer writes records to files. It is safe for use by several goroutines at once.
type Writer[S Stream] struct {
	options Options
	start   func(dst io.Writer) (S, error)
	disk    disk
	done    chan struct{} // closed by Close
	ended   chan struct{} // closed when the background goroutine ends

	mu           sync.Mutex
	closed       bool
	active       bool // file and stream are in use
	file         activeFile
	stream       S
	last         Name
	sequence     int
	flushed      uint64 // records of the active file that are already in stats
	acknowledged uint64 // records of the file for which a Write that flushes, or a Flush, returned nil
	pending      error  // a loss in the background, for the next Flush, Rotate or Close
	stats        Stats
	failures     [kinds]uint64
	reports      []error // errors to pass to Options.OnError after the lock is released
}

// Stats are counts of what a Writer did.
type Stats struct {
	Records   uint64 // records that reached a file
	Lost      uint64 // the sum of Error.Lost; if a file was removed, its records of earlier calls are in Records, too
	Bytes     int64  // bytes of whole frames and headers that reached a file
	Opened    uint64 // files that were created
	Finished  uint64 // files with their final name
	Recovered uint64 // files of killed processes that were finished
	Removed   uint64 // finished files that Options.MaxFiles or MaxTotalBytes removed
	// Errors counts the errors by class. Classes without errors are absent.
	Errors map[Kind]uint64
}

// continuer is a stream whose record can continue the record of another stream.
type continuer interface{ ContinueFrom(previous any) }

// New returns a Writer, and finishes the active files of killed processes. start begins the stream of
// each file. The record of the stream then gets the values of the last record, except for the fields that
// start changes: such a field, for example the scope, keeps the value of start with all its parts. A
// field is not changed if start sets it to the value that it has in a new record, such as 0, or if start
// writes the record afterwards. Set such fields in the function that Write calls. To check start, New
// calls it once with a destination that discards everything. It returns the error of start, or an error
// if start returns no stream, or a stream that does not write to this destination. New does not return
// faults of the file system: see Stats. The Writer runs one goroutine until Close.
func New[S Stream](options Options, start func(dst io.Writer) (S, error)) (*Writer[S], error) {
	return newWriter(options, start, osDisk{})
}

// discard is a destination that keeps nothing. It is true after something was written.
type discard bool

func (d *discard) Write(b []byte) (int, error) {
	*d = true
	return len(b), nil
}

func newWriter[S Stream](options Options, start func(dst io.Writer) (S, error), d disk) (*Writer[S], error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if start == nil {
		return nil, errors.New("rotate: New: the function that begins streams is nil")
	}
	begin := func(dst io.Writer) (S, error) {
		stream, err := start(dst)
		if v := reflect.ValueOf(stream); err == nil && (!v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()) {
			err = errors.New("rotate: New: the function start returned no stream")
		}
		return stream, err
	}
	var header discard
	probe, err := begin(&header)
	if err != nil {
		return nil, err
	}
	if err := probe.Close(); err != nil {
		return nil, err
	}
	if !header {
		return nil, errors.New("rotate: New: start wrote no header to dst: the stream that start returns must write to dst")
	}
	w := &Writer[S]{options: options, start: begin, disk: d, done: make(chan struct{}), ended: make(chan struct{})}
	_ = w.locked(func() error {
		w.stats.Recovered = options.recover(w.report)
		w.stats.Removed = options.retain(w.report)
		w.last.Time = options.latest()
		return nil
	})
	go w.background()
	return w, nil
}

// Write calls fill with the stream of the active file, and flushes what fill wrote
// unless Options.FlushInterval is set. The record keeps its values from one call to the
// next, even in another file, so fill sets only what changed. fill must not keep the
// stream.
//
// No two calls of fill run at the same time. So several goroutines, such as the handlers of a
// server, can copy the records of their readers to the record of the stream with CopyFrom. The
// shared values of these records must not be set in another writer: see package stef.
//
// Without FlushInterval each call ends a frame, so write a whole batch in one call.
// Servers that write single records set FlushInterval, and call Flush before they
// acknowledge them.
//
// Write returns an error of fill unchanged, unless the file caused it; records that fill
// wrote before the error are kept. An *Error says how many records are lost, and the next Write
// uses a new file. If Write cannot create a file, it does not call fill. If Write flushes and
// returns nil, its records were in a file of Options.Dir when it returned.
func (w *Writer[S]) Write(fill func(S) error) error {
	if fill == nil {
		return errors.New("rotate: Write: the function that fills the stream is nil")
	}
	return w.locked(func() error {
		if w.closed {
			return ErrClosed
		}
		err := w.ready()
		if err != nil {
			return err
		}
		fillErr := fill(w.stream)
		if w.file.err != nil {
			return w.fail("write", w.file.err)
		}
		switch {
		case w.options.FlushInterval == 0:
			err = w.flushAcknowledged()
		case fillErr != nil:
			err = w.flush() // finds out whether the stream has failed
		default:
			err = w.confirm()
		}
		return join(fillErr, w.limitSize(err))
	})
}

// join joins two errors, but returns one error unchanged if the other is nil.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// Flush ends the frame and writes it to the file. It finishes a file that has reached
// Options.MaxBytes. If records of an earlier Write were lost in the background, the next call of
// Flush, Rotate or Close returns the first such error. Only one call returns it. So if several
// goroutines call Write and Flush, each must read the field Lost of Stats before its Write, and
// acknowledge records only if the field is the same after its Flush.
func (w *Writer[S]) Flush() error {
	return w.locked(func() error {
		if w.closed {
			return ErrClosed
		}
		return w.withPending(w.limitSize(w.flushAcknowledged()))
	})
}

// flushAcknowledged flushes for a caller that will acknowledge the records. It checks the file even if
// the background goroutine has already written everything.
func (w *Writer[S]) flushAcknowledged() error {
	w.file.confirmed = -1
	err := w.flush()
	if err == nil {
		w.acknowledged = w.flushed
	}
	return err
}

// withPending adds the pending error to the error of a call, and clears the pending error.
func (w *Writer[S]) withPending(err error) error {
	pending := w.pending
	w.pending = nil
	return join(pending, err)
}

// Rotate finishes the active file, if there is one. The next Write begins another file.
func (w *Writer[S]) Rotate() error {
	return w.locked(func() error {
		if w.closed {
			return ErrClosed
		}
		return w.withPending(w.finish())
	})
}

// Close finishes the active file. Closing a closed Writer does nothing.
func (w *Writer[S]) Close() error {
	err := w.locked(func() error {
		if w.closed {
			return nil
		}
		w.closed = true
		close(w.done)
		return w.withPending(w.finish())
	})
	<-w.ended
	return err
}

// Stats returns counts of what was written so far.
func (w *Writer[S]) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if w.active {
		s.Bytes += w.file.size
	}
	s.Errors = map[Kind]uint64{}
	for kind, n := range w.failures {
		if n > 0 {
			s.Errors[Kind(kind)] = n
		}
	}
	return s
}

// locked runs f with the lock held. Then it releases the lock and passes the reported errors
// to OnError.
func (w *Writer[S]) locked(f func() error) error {
	reports, err := func() ([]error, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		err := f()
		reports := w.reports
		w.reports = nil
		return reports, err
	}()
	for _, r := range reports {
		w.options.OnError(r)
	}
	return err
}

// count counts an error.
func (w *Writer[S]) count(err *Error) *Error {
	w.failures[err.Kind()]++
	w.stats.Lost += err.Lost
	return err
}

// report counts an error that no call returns.
func (w *Writer[S]) report(err *Error) { w.reports = append(w.reports, w.count(err)) }

// keep stores an error for the next Flush, Rotate or Close if a fault lost records that were not
// acknowledged. Records are acknowledged when a Flush, or a Write that flushes, returns nil.
func (w *Writer[S]) keep(err *Error) {
	if w.pending == nil && (err.Lost > w.acknowledged || err.Lost > 0 && err.Kind() != KindRemoved) {
		w.pending = err
	}
}

// checkEvery is the minimum time between two checks of the name of the active file. Write checks
// the name before it calls fill, so that it replaces a removed file without losing new records.
const checkEvery = 100 * time.Millisecond

// ready opens a file if none is active, or if another process removed the active file.
func (w *Writer[S]) ready() error {
	now := time.Now()
	if w.active && now.Sub(w.file.checked) >= checkEvery {
		w.file.checked = now
		if !w.file.file.at(w.file.path) {
			err := w.abandon("write", errRemoved)
			w.report(err)
			w.keep(err)
		}
	}
	if w.active {
		return nil
	}
	fail := func(err error) error { return w.count(&Error{Op: "create", Path: w.options.Dir, Err: err}) }
	if err := w.file.create(w.disk, w.options.Dir, w.options.Perm, w.next); err != nil {
		return fail(err)
	}
	w.file.opened, w.file.checked, w.file.synced, w.file.flushed = now, now, now, now
	stream, err := w.start(&w.file)
	if err != nil {
		_ = w.file.finish(false, false)
		return fail(err)
	}
	if next, ok := any(stream).(continuer); ok && w.stats.Opened > 0 {
		next.ContinueFrom(w.stream) // w.stream is the stream of the last file, which is closed
	}
	w.stream, w.active, w.flushed, w.acknowledged, w.file.confirmed = stream, true, 0, 0, 0
	w.stats.Opened++
	return nil
}

// next returns the name of the next file. Names sort by creation, even if the clock was set back,
// even before New. Otherwise, MaxFiles would remove the new files before the older ones.
func (w *Writer[S]) next() Name {
	now := time.Now().UTC()
	if !now.After(w.last.Time) {
		// Another Writer of the folder may have chosen the next names already.
		if at := w.options.latest(); at.After(w.last.Time) {
			w.last.Time = at
		}
		now = w.last.Time.Add(1)
	}
	w.sequence++
	w.last = Name{Prefix: w.options.Prefix, Time: now, PID: os.Getpid(), Sequence: w.sequence, Signal: w.options.Signal, Active: true}
	return w.last
}

// flush writes the unfinished frame. With SyncFlush, it also syncs the file.
func (w *Writer[S]) flush() error {
	if !w.active {
		return nil
	}
	if err := w.stream.Flush(); err != nil {
		return w.fail("write", err)
	}
	if w.options.Sync == SyncFlush && w.file.dirty {
		w.file.dirty = false
		if err := w.file.file.Sync(); err != nil {
			return w.fail("sync", err)
		}
		syncFolders(w.disk, w.file.folders)
		w.file.folders = nil
	}
	return w.confirm()
}

// confirm checks, after a write, that no other process removed the file, and counts the records
// that the file has. So a call does not return nil for records in a removed file.
func (w *Writer[S]) confirm() error {
	if w.file.size != w.file.confirmed {
		if w.file.file.removed() {
			return w.fail("write", errRemoved)
		}
		w.file.confirmed = w.file.size
	}
	w.account()
	return nil
}

// account counts the records that reached the file since the last call.
func (w *Writer[S]) account() {
	s := w.stream.Stats()
	w.stats.Records += s.Flushed - w.flushed
	w.flushed = s.Flushed
}

// fail finishes the file after an error and returns the error.
func (w *Writer[S]) fail(op string, err error) error { return w.count(w.abandon(op, err)) }

// abandon ends the stream of a file after an error, and finishes the file with the frames
// that reached it.
func (w *Writer[S]) abandon(op string, err error) *Error {
	s := w.stream.Stats()
	failure := &Error{Op: op, Path: w.file.path, Lost: s.Records, Err: err}
	if !errors.Is(err, errRemoved) {
		w.account()
		failure.Lost -= s.Flushed
	}
	if w.file.err == nil {
		w.file.err = err // the stream writes nothing more
	}
	w.end()
	return failure
}

// finish ends the stream and gives the file its final name.
func (w *Writer[S]) finish() error {
	if err := w.flush(); err != nil || !w.active {
		return err
	}
	records := w.stream.Stats().Records
	err := w.end()
	if err == nil {
		return nil
	}
	failure := &Error{Op: "finish", Path: w.file.path, Err: err}
	if failure.Kind() == KindRemoved {
		failure.Lost = records
	}
	return w.count(failure)
}

// limitSize finishes a file that has reached Options.MaxBytes. It is called after each write,
// with the error of the write. If there is such an error, it only returns the error.
func (w *Writer[S]) limitSize(err error) error {
	if limit := w.options.MaxBytes; err != nil || limit < 0 || w.file.size < limit {
		return err
	}
	return w.finish()
}

// end closes the stream and finishes the file.
func (w *Writer[S]) end() error {
	useful := w.stream.Stats().Flushed > 0
	_ = w.stream.Close() // the stream was flushed, or has failed: the error is known
	err := w.file.finish(w.options.Sync != SyncNone, useful)
	w.active = false
	w.stats.Bytes += w.file.size
	if err == nil && useful {
		w.stats.Finished++
	}
	w.stats.Removed += w.options.retain(w.report)
	return err
}

// background rotates by age, flushes and syncs until Close.
func (w *Writer[S]) background() {
	defer close(w.ended)
	ticker := time.NewTicker(w.options.tick())
	defer ticker.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-ticker.C:
			w.work()
		}
	}
}

// work rotates, flushes and syncs the active file when each of these is due. It syncs
// without the lock, so that writers do not wait for the disk.
func (w *Writer[S]) work() {
	var unsynced diskFile
	var path string
	var folders []string
	note := func(err error) {
		if err == nil {
			return
		}
		w.reports = append(w.reports, err)
		if e := (*Error)(nil); errors.As(err, &e) {
			w.keep(e)
		}
	}
	_ = w.locked(func() error {
		o, now := &w.options, time.Now()
		if !w.active {
			return nil
		}
		if o.MaxAge > 0 && now.Sub(w.file.opened) >= o.MaxAge {
			note(w.finish())
			return nil
		}
		if o.FlushInterval > 0 && now.Sub(w.file.flushed) >= o.FlushInterval {
			w.file.flushed = now
			note(w.limitSize(w.flush()))
		}
		if w.active && o.Sync == SyncInterval && w.file.dirty && now.Sub(w.file.synced) >= o.SyncEvery {
			w.file.dirty, w.file.synced, unsynced, path = false, now, w.file.file, w.file.path
			w.file.folders, folders = nil, w.file.folders
		}
		return nil
	})
	if unsynced == nil {
		return
	}
	err := unsynced.Sync()
	syncFolders(w.disk, folders)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		_ = w.locked(func() error {
			if w.active && w.file.file == unsynced {
				note(w.fail("sync", err))
			} else {
				// The file was finished in the meantime, perhaps without an error: the system
				// returns the fault of a file only once.
				w.report(&Error{Op: "sync", Path: path, Err: err})
			}
			return nil
		})
	}
}

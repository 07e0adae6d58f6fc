// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	stef "github.com/otelstef/stef/stef-go"
)

// StaleAfter applies where the file system has no locks: a file counts as abandoned if
// it was not modified for this time.
const StaleAfter = time.Hour

// Abandoned reports whether no process writes a file any more. Use it for active files of any
// process: their names end with ActiveSuffix. For a finished file it returns true.
func Abandoned(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	abandoned, err := abandoned(f)
	return abandoned, errors.Join(err, f.Close())
}

// Lock marks a file as being written. Use it in programs that write files into a folder
// with a follower, but not with a Writer: the follower does not treat the file as
// finished until it is closed or the process ends. Lock reports false if another
// process has locked the file. It does nothing where the file system has no locks.
func Lock(f *os.File) bool {
	locked, known := lock(f)
	return locked || !known
}

// Locked reports whether a process has locked a file. It is false where the file system has no
// locks.
func Locked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	locked, known := lock(f)
	return known && !locked, f.Close()
}

// abandoned locks the file and reports whether no other process has locked it. Without
// locks, it decides by the age of the file.
func abandoned(f *os.File) (bool, error) {
	locked, known := lock(f)
	if known {
		return locked, nil
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	return time.Since(info.ModTime()) > StaleAfter, nil
}

// recover finishes the files that killed processes left, and returns their number.
func (o *Options) recover(report func(*Error)) (n uint64) {
	for _, e := range o.list(true, report) {
		path := filepath.Join(o.Dir, e.Name())
		done, err := recoverFile(path)
		if err != nil {
			report(&Error{Op: "recover", Path: path, Err: err})
		}
		if done {
			n++
		}
	}
	return n
}

// recoverFile finishes an active file that no process writes any more.
func recoverFile(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer f.Close()
	if ok, err := abandoned(f); !ok || err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	end, records, damage := wholeFrames(f, info.Size())
	if !renamesOpenFiles {
		_ = f.Close()
	}
	// The lock may be on a file that another process renamed in the meantime.
	if named, err := os.Stat(path); err != nil || !os.SameFile(named, info) {
		return false, ignoreMissing(err)
	}
	if !records {
		return false, cmp.Or(ignoreMissing(os.Remove(path)), damage)
	}
	if end < info.Size() {
		err = os.Truncate(path, end)
	}
	if renameErr := os.Rename(path, finalName(path)); renameErr != nil {
		return false, errors.Join(err, ignoreMissing(renameErr))
	}
	return true, cmp.Or(err, damage)
}

// wholeFrames returns the end of the last whole frame of a file, and whether the file may hold
// records. After a crash of the machine, the last frame can be incomplete. The file system may also have
// added zeros at the end of the file. If there are such zeros, damage is an error that says so. If other bytes
// follow the last whole frame, or the file cannot be read, wholeFrames returns size, true and the
// error. The caller then keeps the file unchanged, because a repair may want these bytes.
func wholeFrames(f io.ReaderAt, size int64) (end int64, records bool, damage error) {
	var frames Frames
	for {
		more, err := frames.Next(f, size)
		if more {
			continue
		}
		end, records = frames.End(), frames.Count() > 0
		rest := size - end
		switch {
		case err == nil:
			return end, records, nil
		case !zeros(f, end, rest):
			advice := ""
			if records && errors.Is(err, stef.ErrCorrupt) {
				advice = "; stef repair copies its whole frames"
			}
			return size, true, fmt.Errorf("the file is damaged and is kept unchanged%s: %w", advice, err)
		case !records:
			return end, false, fmt.Errorf("the file had no whole frame of records, only zeros, and was removed: %w", err)
		}
		return end, true, fmt.Errorf("the %d bytes after the last whole frame are zeros and were removed: %w", rest, err)
	}
}

// zeros reports whether n bytes of a file are all zero.
func zeros(f io.ReaderAt, from, n int64) bool {
	r := bufio.NewReader(io.NewSectionReader(f, from, n))
	for ; n > 0; n-- {
		if b, err := r.ReadByte(); err != nil || b != 0 {
			return false
		}
	}
	return true
}

// list returns the active or the finished files of this prefix and signal, the oldest
// first.
func (o *Options) list(active bool, report func(*Error)) []fs.DirEntry {
	entries, err := os.ReadDir(o.Dir)
	if ignoreMissing(err) != nil {
		report(&Error{Op: "list", Path: o.Dir, Err: err})
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		n, ok := ParseName(e.Name())
		return !ok || n.Active != active || n.Prefix != o.Prefix || n.Signal != o.Signal || !e.Type().IsRegular()
	})
}

// latest returns the latest time in the names of the files, or zero if there are none.
func (o *Options) latest() (at time.Time) {
	for _, active := range []bool{false, true} {
		for _, e := range o.list(active, func(*Error) {}) { // recover has reported the error
			if n, _ := ParseName(e.Name()); n.Time.After(at) {
				at = n.Time
			}
		}
	}
	return at
}

// retain removes the oldest finished files that exceed the limits, and returns their
// number.
func (o *Options) retain(report func(*Error)) (removed uint64) {
	if o.MaxFiles == 0 && o.MaxTotalBytes == 0 {
		return 0
	}
	count, total := 0, int64(0)
	for _, e := range slices.Backward(o.list(false, report)) {
		info, err := e.Info()
		if err != nil {
			continue // removed in the meantime
		}
		count++
		total += info.Size()
		if (o.MaxFiles == 0 || count <= o.MaxFiles) && (o.MaxTotalBytes == 0 || total <= o.MaxTotalBytes) {
			continue
		}
		path := filepath.Join(o.Dir, e.Name())
		switch err := os.Remove(path); {
		case err == nil:
			removed++
		case ignoreMissing(err) != nil:
			report(&Error{Op: "retain", Path: path, Err: err})
		}
	}
	return removed
}

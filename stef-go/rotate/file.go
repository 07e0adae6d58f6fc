// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// disk is the part of package os that writing needs; tests replace it.
type disk interface {
	create(path string, perm fs.FileMode) (diskFile, error)
	mkdir(dir string, perm fs.FileMode) error
	// syncDir forces the names in a folder to the disk.
	syncDir(dir string)
}

// diskFile is an open file.
type diskFile interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
	// lock reports false if another process locked the file first.
	lock() bool
	// at reports whether path still names this file.
	at(path string) bool
	// removed reports whether the file has no name any more. It is much faster than the method
	// at, so it is called after each write.
	removed() bool
}

type osDisk struct{}

func (osDisk) create(path string, perm fs.FileMode) (diskFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) mkdir(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

func (osDisk) syncDir(dir string) { syncDir(dir) }

type osFile struct{ *os.File }

func (f osFile) lock() bool { return Lock(f.File) }

func (f osFile) removed() bool { return removed(f.File) }

func (f osFile) at(path string) bool {
	named, err := os.Stat(path)
	if err != nil {
		// Report false only if the file is missing or its folder is now a file. A write
		// reports all other faults.
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	open, err := f.Stat()
	return err != nil || os.SameFile(named, open)
}

// activeFile is the file being written. It counts the bytes of complete chunks, and truncates what a
// failed write left in the file.
type activeFile struct {
	disk    disk
	file    diskFile
	path    string // path of the active file
	opened  time.Time
	checked time.Time // time of the last check that path names this file
	synced  time.Time // last sync in the background
	flushed time.Time // last flush in the background
	size    int64
	// confirmed is the size of the file at its last check after a write.
	confirmed int64
	dirty     bool // the file was written since the last sync
	// folders have new entries: the file, or new folders. A sync of the file does not sync folders,
	// so they are synced after the first sync of the file.
	folders []string
	err     error
}

// tries bounds how many names are tried for a new file.
const tries = 100

// create creates and locks the next active file.
func (o *activeFile) create(d disk, dir string, perm fs.FileMode, next func() Name) error {
	o.disk, o.folders = d, []string{dir}
	for missing := dir; missing != filepath.Dir(missing); missing = filepath.Dir(missing) {
		if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		o.folders = append(o.folders, filepath.Dir(missing))
	}
	if err := d.mkdir(dir, perm|perm>>2&0o111); err != nil {
		return err
	}
	var err error
	for range tries {
		o.path = filepath.Join(dir, next().String())
		if o.file, err = d.create(o.path, perm); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		// Before the file was locked, another process may have considered the file
		// abandoned and renamed it.
		locked := o.file.lock() && o.file.at(o.path)
		_, finished := os.Lstat(finalName(o.path)) // the rename of the new file would replace such a file
		if locked && finished != nil {
			o.size, o.dirty, o.err = 0, false, nil
			return nil
		}
		_ = o.file.Close()
		_ = os.Remove(o.path)
		err = errors.New("another process locked or renamed the new file")
		if locked {
			err = fmt.Errorf("%s exists", finalName(o.path))
		}
	}
	return fmt.Errorf("%d names were tried: %w", tries, err)
}

// Write appends a chunk of the stream. After an error it writes no further chunks.
func (o *activeFile) Write(chunk []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.file.Write(chunk)
	if err == nil && n < len(chunk) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = err
		_ = o.file.Truncate(o.size) // if it fails, readers detect the incomplete frame
		return n, err
	}
	o.size += int64(n)
	o.dirty = true
	return n, nil
}

// syncFolders syncs folders after the first sync of a file.
func syncFolders(d disk, folders []string) {
	for _, dir := range folders {
		d.syncDir(dir)
	}
}

// finish renames the file to its final name and closes it. A file without
// useful content is removed.
func (o *activeFile) finish(sync, useful bool) error {
	if !useful {
		err := o.file.Close()
		return errors.Join(err, ignoreMissing(os.Remove(o.path)))
	}
	var syncErr error
	if sync {
		syncErr = o.file.Sync()
	}
	// Keep the lock until the file has its final name, if the system renames open files.
	if !renamesOpenFiles {
		syncErr = errors.Join(syncErr, o.file.Close())
	}
	var renameErr error
	if o.file.at(o.path) {
		renameErr = os.Rename(o.path, finalName(o.path))
	} else {
		renameErr = errRemoved
	}
	if renamesOpenFiles {
		syncErr = errors.Join(syncErr, o.file.Close())
	}
	if sync && renameErr == nil {
		if o.folders == nil {
			o.folders = []string{filepath.Dir(o.path)} // the file has a new name there
		}
		syncFolders(o.disk, o.folders)
	}
	if renameErr != nil {
		return renameErr
	}
	return syncErr
}

func finalName(active string) string { return active[:len(active)-len(ActiveSuffix)] + Suffix }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

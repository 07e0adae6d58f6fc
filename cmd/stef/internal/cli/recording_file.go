// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/stef-go/rotate"
)

// recordingFile is the file to which stef record writes the batches of one signal.
type recordingFile struct {
	name   string
	file   *os.File
	w      *convert.BatchWriter
	items  uint64
	dirty  bool
	device bool // a pipe or a device, which cannot be synced
	// syncFolder syncs the folder of the file. It is nil after the first sync.
	syncFolder func(dir string)
}

// newRecordingFile creates a file and locks it, so that a steffile receiver does not delete it. With force,
// it overwrites an existing file.
func newRecordingFile(name string, s otlpfile.Signal, force bool) (*recordingFile, error) {
	f, err := createOrKeep(name, force)
	if err != nil {
		return nil, &file.Error{Name: name, Err: err}
	}
	t := &recordingFile{name: name, file: f, syncFolder: syncFolder}
	if err = lock(f); err == nil {
		err = t.empty()
	}
	if err == nil {
		t.w, err = convert.NewBatchWriter(f, name, s)
	}
	if err != nil {
		f.Close()
		return nil, &file.Error{Name: name, Err: err}
	}
	return t, nil
}

// createOrKeep opens a file for writing and keeps its content. Without force, it refuses an
// existing regular file. Such a file is new: the command has checked before the recording that the
// file does not exist, so another program has created it since. createOrKeep does not open the file
// for reading. Otherwise a pipe would always have a reader, the recorder, and writes would not fail.
func createOrKeep(name string, force bool) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE
	if !force && exists(name) {
		return nil, errAppeared
	}
	if _, err := os.Lstat(name); !force && errors.Is(err, os.ErrNotExist) {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if errors.Is(err, os.ErrExist) {
		err = errAppeared
	}
	return f, err
}

var errAppeared = errors.New("another program created the file after the recording began; --force overwrites it")

// empty truncates a regular file. The caller has locked it, so no other program writes it.
func (t *recordingFile) empty() error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if t.device = !info.Mode().IsRegular(); t.device {
		return nil
	}
	return t.file.Truncate(0)
}

// lock locks a file. It retries for a second, because a receiver locks a file for a moment to
// check whether the file is locked. On a busy machine this check may take long.
func lock(f *os.File) error {
	for range 1000 {
		if rotate.Lock(f) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("another process is writing the file: end it, or choose another name for OUT")
}

// inPlace returns an error if the file was removed or replaced.
func (t *recordingFile) inPlace() error {
	named, err := os.Stat(t.name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return &file.Error{Name: t.name, Err: err}
	}
	if open, e := t.file.Stat(); e != nil || err == nil && os.SameFile(named, open) {
		return nil
	}
	return &file.Error{Name: t.name, Err: errors.New("another program removed or replaced the file while it was recorded")}
}

func (t *recordingFile) sync() error {
	if !t.dirty {
		return nil
	}
	t.dirty = false
	return t.withName(t.toDisk())
}

// withName adds the name of the file to an error that has no name.
func (t *recordingFile) withName(err error) error {
	if err != nil && !errors.As(err, new(*file.Error)) {
		err = &file.Error{Name: t.name, Err: err}
	}
	return err
}

func (t *recordingFile) toDisk() error {
	if t.device {
		return nil
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	if t.syncFolder != nil { // a sync of a new file does not sync its name
		t.syncFolder(filepath.Dir(t.name))
		t.syncFolder = nil
	}
	return nil
}

func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // some file systems cannot sync a folder
		_ = d.Close()
	}
}

// close completes the file.
func (t *recordingFile) close() error {
	err := t.w.Close()
	for _, end := range []func() error{t.toDisk, t.inPlace, t.file.Close} {
		if e := end(); err == nil {
			err = e
		}
	}
	return t.withName(err)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otelstef/stef/stef-go/rotate"
)

// damagedSuffix marks damaged files. If on_finished is delete or move, the receiver appends it to the
// name of a file that it cannot read further, and removes the position of the file from its storage.
// The receiver never follows files with this suffix: without the position, it would deliver again the
// records before the damage.
const damagedSuffix = ".damaged"

// atEnd reports whether nothing more will be written to a file that was read up to
// its last whole frame. size is the size of the file when it was read.
func (f *follower[T]) atEnd(c candidate, p *checkpoint, size int64) bool {
	if size > c.info.Size() {
		return false // the file has grown since it was listed
	}
	if _, ours := rotate.ParseName(filepath.Base(c.path)); ours && !c.active {
		return true
	}
	if min(p.age(c.info.ModTime()), time.Since(p.grewAt)) < f.config.SettleTime {
		return false
	}
	if !c.active {
		locked, err := rotate.Locked(c.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.warn(c.key, "open", err)
		}
		return err == nil && !locked
	}
	gone, err := rotate.Abandoned(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.warn(c.key, "open", err)
	}
	return err == nil && gone
}

// finish ends the processing of a file that was delivered or is damaged.
func (f *follower[T]) finish(c candidate, t *openFile[T], damage error) {
	outcome, rest := complete, t.size-t.whole()
	if !beginsAsSTEF(t.File) { // a file of another format must not be deleted
		damage = otherFormat(t.File)
	}
	switch {
	case damage != nil:
		outcome = damaged
		f.log.Error("A file cannot be read further; the records up to this point were delivered", zap.String("file", c.path),
			zap.Uint64("records", t.checkpoint.delivered()), zap.Int64("unread_bytes", rest), zap.Error(damage))
	case rest > 0:
		outcome = cut
		f.log.Warn("A file ends within a frame; the frames before were delivered", zap.String("file", c.path),
			zap.Uint64("records", t.checkpoint.delivered()), zap.Int64("lost_bytes", rest))
	default:
		f.log.Debug("A file was delivered", zap.String("file", c.path), zap.Uint64("records", t.checkpoint.delivered()))
	}
	f.meter.finished(outcome)
	end := t.size
	if t.checkpoint.delivered() > 0 { // the writer may truncate the file to its whole frames later, see rotate.New
		end = cmp.Or(t.whole(), end)
	}
	if err := t.checkpoint.identify(t.File, end); err != nil {
		f.warn(c.key, "read", err)
	}
	t.checkpoint.setOutcome(outcome, c.info)
	f.save(f.config.OnFinished != Keep)
	f.close(c.key)
	f.dispose(c, t.checkpoint)
}

// lost ends the processing of a file that another process removed or replaced. The open file still
// has its data.
func (f *follower[T]) lost(key string, t *openFile[T]) {
	err := f.drain(t)
	if errors.Is(err, errStopped) {
		return
	}
	if err != nil {
		f.warn(key, "read", err)
	}
	f.meter.finished(removed)
	f.log.Warn("A file was removed or replaced while it was read", zap.String("file", key),
		zap.Uint64("records", t.checkpoint.delivered()), zap.Int64("unread_bytes", t.size-t.whole()))
	f.close(key)
}

// dispose applies on_finished to a finished file. If that fails, the next pass tries
// again. A file that was replaced or has grown since it was read is not touched: the
// next pass reads it.
func (f *follower[T]) dispose(c candidate, p *checkpoint) {
	if f.config.OnFinished == Keep {
		p.kept = true
		return
	}
	info, err := os.Stat(c.path)
	if err == nil && (!os.SameFile(info, c.info) || p.Outcome != damaged && info.Size() != p.Size) {
		return
	}
	switch {
	case err != nil:
	case f.config.OnFinished == Move:
		if err = f.config.outOfPlace(filepath.Dir(c.path)); err == nil {
			err = move(c.path, filepath.Join(f.config.MoveTo, filepath.Base(c.key)), p.Outcome == damaged)
		}
	case p.Outcome == damaged:
		err = move(c.path, c.key, true)
	default:
		err = os.Remove(c.path)
	}
	if err != nil {
		// Keep the stored checkpoint of a missing file: a program that started again may have renamed
		// the file.
		if !errors.Is(err, fs.ErrNotExist) {
			f.warn(c.key, "finish", err)
		}
		return
	}
	f.checkpoints.removeKey(c.key)
	f.save(true)
}

// outOfPlace returns an error if move_to is another path of a folder that include matches, for example
// because of a symbolic link. In such a folder, both names belong to the same file. rename would
// treat this as an interrupted move and remove the old name: the file would be lost.
func (c *Config) outOfPlace(folder string) error {
	to, err := os.Stat(c.MoveTo)
	if err != nil {
		return nil // the folder does not exist yet, or the move reports the error
	}
	if from, err := os.Stat(folder); err == nil && os.SameFile(from, to) {
		return fmt.Errorf("move_to is %q, which is the same folder as %q: include would match the moved files; use another folder", c.MoveTo, folder)
	}
	return nil
}

// checkMoveTo returns an error if include matches files in the folder move_to under another path.
// Validate compares only the texts of the paths.
func (c *Config) checkMoveTo() error {
	if c.OnFinished != Move {
		return nil
	}
	for _, pattern := range c.Include {
		folders, _ := filepath.Glob(filepath.Dir(pattern))
		for _, folder := range folders {
			if err := c.outOfPlace(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// move renames a file and does not overwrite another file, even if another receiver moves a file
// to the same name at the same time.
func move(from, to string, isDamaged bool) error {
	suffix := ""
	if isDamaged {
		suffix = damagedSuffix
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	name := to + suffix
	for i := 1; ; i++ {
		if err := rename(from, name); !errors.Is(err, fs.ErrExist) {
			return err
		}
		name = fmt.Sprintf("%s.%d%s", to, i, suffix)
	}
}

// renaming serialises renames of all receivers of the process, for file systems without hard links.
var renaming sync.Mutex

// rename renames a file. It returns fs.ErrExist if the new name is in use. It uses a hard link,
// which fails in this case. os.Rename would replace the other file.
func rename(from, to string) error {
	renaming.Lock()
	defer renaming.Unlock()
	old, err := os.Lstat(from)
	if err != nil {
		return err
	}
	named, err := os.Lstat(to)
	switch {
	case err == nil && os.SameFile(old, named): // a killed process did not remove the old name
		return os.Remove(from)
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if old.Mode().IsRegular() { // links to symbolic links differ between systems
		if err = os.Link(from, to); err == nil {
			return os.Remove(from)
		} else if errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.Rename(from, to)
}

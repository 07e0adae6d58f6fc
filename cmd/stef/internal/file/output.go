// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Temps are the temporary files of a command. The zero value has
// none. It is safe for concurrent use: a signal handler may remove a file that
// the command is still writing.
type Temps struct {
	mu    sync.Mutex        // held while a file is made, so that Abort also removes it
	paths map[string]string // from the path of a temporary file to the name of its output
}

// Remove removes all temporary files.
func (t *Temps) Remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeAll()
}

// Abort is Remove for a signal handler that ends the process next. Each later use of t or of an
// unfinished Output blocks, so that the command neither makes another file nor reports a removed
// file as an error. Abort returns the names of the unfinished outputs, sorted.
func (t *Temps) Abort() (outputs []string) {
	t.mu.Lock()
	outputs = slices.Sorted(maps.Values(t.paths))
	t.removeAll()
	return outputs
}

func (t *Temps) removeAll() {
	for path := range t.paths {
		_ = os.Remove(path) // the process ends, so nobody could handle the error
	}
	t.paths = nil
}

// open creates a temporary file of an output. The error is fs.ErrExist if the path exists.
func (t *Temps) open(path, output string) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if t.paths == nil {
		t.paths = map[string]string{}
	}
	t.paths[path] = output
	return f, nil
}

// remove removes one temporary file.
func (t *Temps) remove(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.paths, path)
	_ = os.Remove(path)
}

// errAppeared is the error of Commit if another program created a file with the name of the output.
var errAppeared = errors.New("another program created the file in the meantime; --force overwrites it")

// rename renames a temporary file to its final name. Without replace, it keeps a file that has
// this name already.
func (t *Temps) rename(path, name string, replace bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.paths[path]; !ok {
		return fs.ErrNotExist // a signal handler removed it first
	}
	if !replace {
		// A rename would replace an existing file. A hard link does not replace it.
		if os.Link(path, name) == nil {
			delete(t.paths, path)
			_ = os.Remove(path) // ignore the error: the output has its final name
			return nil
		}
		// The name exists, or the file system has no hard links. A symbolic link to a file that
		// does not exist is replaced.
		switch _, err := os.Stat(name); {
		case err == nil:
			return errAppeared
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if err := os.Rename(path, name); err != nil {
		return err
	}
	delete(t.paths, path)
	return nil
}

// Output is an unfinished file, or standard output. It is not safe for
// concurrent use.
type Output struct {
	// Name is the name of the file in messages.
	Name string

	w       io.Writer
	file    *os.File
	temps   *Temps
	path    string // the path after Commit; "" if the output has no temporary file
	replace bool   // whether Commit replaces a file with that path
	written int64
}

// Standard returns an Output that writes to w, which is standard output.
func Standard(w io.Writer) *Output { return &Output{Name: "standard output", w: w} }

// Create creates a file, or uses stdout for the name "-". The file is written
// under another name in the same folder until Commit. Anything that is not a
// regular file, such as a pipe or a device, is written directly. Without replace,
// Commit returns an error if a file with this name exists when Commit is called.
func (t *Temps) Create(name string, stdout io.Writer, replace bool) (*Output, error) {
	if name == "-" {
		return Standard(stdout), nil
	}
	o := &Output{Name: name, temps: t, replace: replace}
	mode := fs.FileMode(0)
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return nil, &Error{name, errors.New("is a folder")}
	case err == nil && !info.Mode().IsRegular():
		o.file, err = os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, &Error{name, err}
		}
		o.w = o.file
		return o, nil
	case err == nil:
		mode = info.Mode().Perm()
		// Replace the file that a link refers to, not the link.
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, &Error{o.Name, err}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, &Error{name, err}
	}
	if err := o.begin(name, mode); err != nil {
		dir := filepath.Dir(name)
		if _, e := os.Stat(dir); errors.Is(e, fs.ErrNotExist) {
			if remote(name) {
				return nil, &Error{name, errRemote}
			}
			return nil, &Error{name, fmt.Errorf("the folder %s does not exist", dir)}
		}
		return nil, &Error{o.Name, err}
	}
	return o, nil
}

// maxTempBase bounds the part of the output's name in the name of the temporary file. File systems allow
// names of 255 bytes, so a longer part would make an allowed name of an output fail.
const maxTempBase = 200

// begin creates the temporary file. If the output replaces a file, the temporary
// file has the permissions of that file.
func (o *Output) begin(path string, mode fs.FileMode) error {
	dir, base := filepath.Split(path)
	if len(base) > maxTempBase {
		base = strings.ToValidUTF8(base[:maxTempBase], "") // some file systems refuse half a character
	}
	for try := 0; ; try++ {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
		f, err := o.temps.open(temp, o.Name)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err != nil {
			return err
		}
		o.file, o.w, o.path = f, f, path
		if mode == 0 {
			return nil
		}
		if err := f.Chmod(mode); err != nil {
			o.Discard()
			return err
		}
		return nil
	}
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.written += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, &Error{o.Name, err}
	}
	return n, nil
}

// Written is the number of bytes written.
func (o *Output) Written() int64 { return o.written }

// Commit renames the complete file to its final name. Until then no file, or the previous file, has
// this name. Create describes what happens if another program creates a file with this name in the
// meantime.
func (o *Output) Commit() error {
	if o.file == nil {
		return nil
	}
	var err error
	if o.path != "" {
		// Without the sync, a crash of the machine could leave an incomplete
		// file under the name.
		err = o.file.Sync()
	}
	if e := o.file.Close(); err == nil {
		err = e
	}
	temp := o.file.Name()
	o.file = nil
	if err == nil && o.path != "" {
		err = o.temps.rename(temp, o.path, o.replace)
	}
	if err == nil {
		return nil
	}
	if o.path != "" {
		o.temps.remove(temp)
	}
	return &Error{o.Name, err}
}

// Discard removes the file. After Commit it does nothing.
func (o *Output) Discard() {
	if o.file == nil {
		return
	}
	temp := o.file.Name()
	o.file.Close()
	o.file = nil
	if o.path != "" {
		o.temps.remove(temp)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// names lists the files in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func create(t *testing.T, temps *file.Temps, path, text string) *file.Output {
	t.Helper()
	out, err := temps.Create(path, nil, true)
	require.NoError(t, err)
	n, err := io.WriteString(out, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	require.EqualValues(t, len(text), out.Written())
	return out
}

// No file has the final name before Commit, and Discard removes the temporary
// file.
func TestOutputAppearsComplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	temps := new(file.Temps)

	out := create(t, temps, path, "new")
	require.NotContains(t, names(t, dir), "out")
	out.Discard()
	out.Discard()
	require.Empty(t, names(t, dir))

	out = create(t, temps, path, "new")
	require.NoError(t, out.Commit())
	out.Discard()
	require.Equal(t, []string{"out"}, names(t, dir))
	require.Equal(t, "new", content(t, path))
	temps.Remove()
	require.Equal(t, "new", content(t, path))
}

func TestOutputReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	temps := new(file.Temps)

	create(t, temps, path, "new").Discard()
	require.Equal(t, "old", content(t, path))

	require.NoError(t, create(t, temps, link, "new").Commit())
	require.Equal(t, "new", content(t, path))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode())
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, path, target)
	require.Equal(t, []string{"link", "out"}, names(t, dir))
}

// Without replace, an output does not replace a file that another program created in the meantime.
// It does replace a link to a file that does not exist.
func TestOutputKeeps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	begin := func() *file.Output {
		out, err := new(file.Temps).Create(path, nil, false)
		require.NoError(t, err)
		_, err = io.WriteString(out, "new")
		require.NoError(t, err)
		return out
	}
	out := begin()
	require.NoError(t, os.WriteFile(path, []byte("other"), 0o666))
	err := out.Commit()
	var failed *file.Error
	require.ErrorAs(t, err, &failed)
	require.EqualError(t, err, path+": another program created the file in the meantime; --force overwrites it")
	require.Equal(t, "other", content(t, path))
	require.Equal(t, []string{"out"}, names(t, dir))

	require.NoError(t, os.Remove(path))
	require.NoError(t, begin().Commit())
	require.Equal(t, "new", content(t, path))

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(filepath.Join(dir, "none"), path))
	require.NoError(t, begin().Commit())
	require.Equal(t, []string{"out"}, names(t, dir))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
}

// An output can have the longest name that file systems allow, although the name of the temporary file
// has further characters.
func TestOutputLongestName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("n", 255), "n" + strings.Repeat("ä", 127)} {
		path := filepath.Join(dir, name)
		out := create(t, new(file.Temps), path, "new")
		require.True(t, utf8.ValidString(names(t, dir)[0]))
		require.NoError(t, out.Commit())
		require.Equal(t, []string{name}, names(t, dir))
		require.NoError(t, os.Remove(path))
	}
}

// A signal handler removes an incomplete file, and it is not created again.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	temps := new(file.Temps)
	out := create(t, temps, filepath.Join(dir, "out"), "new")
	require.Len(t, names(t, dir), 1)
	temps.Remove()
	require.Empty(t, names(t, dir))
	require.Error(t, out.Commit())
	require.Empty(t, names(t, dir))
}

// After Abort, a command that is about to create a file does not create it.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	temps := new(file.Temps)
	out := create(t, temps, filepath.Join(dir, "out"), "new")
	temps.Abort()
	require.Empty(t, names(t, dir))
	ended := make(chan string, 2)
	go func() {
		_, _ = temps.Create(filepath.Join(dir, "late"), nil, true)
		ended <- "Create"
	}()
	go func() {
		_ = out.Commit()
		ended <- "Commit"
	}()
	select {
	case what := <-ended:
		require.Fail(t, "after Abort, a call returned: "+what)
	case <-time.After(50 * time.Millisecond):
	}
	require.Empty(t, names(t, dir))
}

func TestCreateFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o666))
	f := func(path string) {
		t.Helper()
		_, err := new(file.Temps).Create(filepath.Join(dir, path), nil, true)
		var failed *file.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, filepath.Join(dir, path), failed.Name)
		require.Equal(t, []string{"file"}, names(t, dir))
	}
	f("")
	f("none/out")
	f("file/out")
}

func TestCommitFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	out := create(t, new(file.Temps), path, "new")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "full"), 0o777))
	err := out.Commit()
	var failed *file.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []string{"out"}, names(t, dir))
}

// failing accepts a number of bytes and then fails.
type failing struct {
	room int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	if n < len(b) {
		return n, f.err
	}
	return n, nil
}

func TestStandardOutput(t *testing.T) {
	var b bytes.Buffer
	out, err := new(file.Temps).Create("-", &b, false)
	require.NoError(t, err)
	_, err = io.WriteString(out, "text")
	require.NoError(t, err)
	require.NoError(t, out.Commit())
	require.Equal(t, "text", b.String())

	failure := errors.New("the pipe is closed")
	for _, err := range []error{failure, nil} {
		n, err := file.Standard(&failing{3, err}).Write([]byte("text"))
		require.Equal(t, 3, n)
		var failed *file.Error
		require.ErrorAs(t, err, &failed)
		require.Contains(t, err.Error(), "standard output: ")
	}
}

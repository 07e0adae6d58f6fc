// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
)

// executables are the first bytes of programs for Linux, macOS and Windows.
var executables = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "MZ"}

// programs returns the executables in a tree, except test binaries and ignored folders.
func programs(tree fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored[d.Name()]:
			return fs.SkipDir
		case !d.Type().IsRegular() || ignored[d.Name()] || path.Ext(name) == ".test":
			return nil
		}
		f, err := tree.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		head := make([]byte, 4)
		n, _ := f.Read(head) // the head of an empty file stays zero
		for _, magic := range executables {
			if bytes.HasPrefix(head[:n], []byte(magic)) {
				found = append(found, name)
			}
		}
		return nil
	})
	return found, err
}

// TestNoPrograms requires that the work tree has no executables. "go build ." leaves an
// executable there, and the next commit would include it.
func TestNoPrograms(t *testing.T) {
	found, err := programs(os.DirFS(teltest.Root(t)))
	require.NoError(t, err)
	none(t, found, "built here: remove them, or build with -o bin/NAME")

	found, err = programs(fstest.MapFS{
		"a/tool": {Data: []byte("\x7fELF\x02\x01")}, "tool.exe": {Data: []byte("MZ\x90\x00")}, "bin/tool": {Data: []byte("\x7fELF")},
		"a.test": {Data: []byte("\x7fELF")}, "a.go": {Data: []byte("package a\n")}, "empty": {},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a/tool", "tool.exe"}, found)
}

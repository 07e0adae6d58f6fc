// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
)

// module is the path of the root module. Nested modules are named after their
// folder below it, so folders and import paths match everywhere.
const module = "github.com/otelstef/stef"

type file struct {
	path string // slash-separated, from the root
	data []byte
}

// maxText bounds the size of files read as text; longer files are data.
const maxText = 1 << 20

// Names that git ignores; in a work tree .git is a file.
var ignored = map[string]bool{".git": true, ".tmp": true, "bin": true}

var generatedLine = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

// Reading through package os, not git, also works in an unpacked archive, and lets the go command
// see which files a cached test result depends on.
var repository = sync.OnceValues(func() ([]file, error) {
	return texts(os.DirFS(root))
})

var root string

func repo(t *testing.T) []file {
	t.Helper()
	if root == "" {
		root = teltest.Root(t)
	}
	files, err := repository()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// none fails the test if there are problems. The failure has a line for each problem.
func none(t *testing.T, problems []string, message ...any) {
	t.Helper()
	require.Empty(t, strings.Join(problems, "\n"), message...)
}

func texts(tree fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored[d.Name()]:
			return fs.SkipDir
		case !d.Type().IsRegular() || ignored[d.Name()]:
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxText {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err == nil && !bytes.ContainsRune(data, 0) {
			files = append(files, file{name, data})
		}
		return err
	})
	return files, err
}

// sample makes the files of a broken repository from pairs of path and content.
func sample(t *testing.T, pairs ...string) []file {
	t.Helper()
	tree := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		tree[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	files, err := texts(tree)
	require.NoError(t, err)
	return files
}

func (f file) dir() string     { return path.Dir(f.path) }
func (f file) goSource() bool  { return path.Ext(f.path) == ".go" }
func (f file) goTest() bool    { return strings.HasSuffix(f.path, "_test.go") }
func (f file) generated() bool { return generatedLine.Match(f.data) }
func (f file) lines() int      { return bytes.Count(f.data, []byte("\n")) }

// testdata reports whether the go command excludes the file from ./...
func (f file) testdata() bool {
	return strings.HasPrefix(f.path, "testdata/") || strings.Contains(f.path, "/testdata/")
}

func TestTextsLeaveOutDataAndIgnoredFolders(t *testing.T) {
	files := sample(t, "a.go", "package a\n", "bin/stef", "text", ".tmp/x", "text", "b.stef", "STEF\x00",
		"big.txt", strings.Repeat("x", maxText+1), "c/testdata/d.txt", "text")
	var got []string
	for _, f := range files {
		got = append(got, f.path)
	}
	require.Equal(t, []string{"a.go", "c/testdata/d.txt"}, got)
	require.True(t, files[1].testdata())
}

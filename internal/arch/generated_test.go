// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	compiler = "cmd/stefc"
	records  = "stef-go/otelstef"
)

// goCommand runs the go command at the root of the repository and returns its
// standard error.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Run(), "go %s:\n%s", strings.Join(args, " "), &stderr)
	return stderr.String()
}

// stale compares the generated files of a folder with freshly generated files.
func stale(have, fresh []file) []string {
	var problems []string
	old := map[string][]byte{}
	for _, f := range have {
		if strings.HasSuffix(f.path, ".stef.go") {
			old[path.Base(f.path)] = f.data
		}
	}
	for _, f := range fresh {
		name := path.Base(f.path)
		data, ok := old[name]
		delete(old, name)
		switch {
		case !ok:
			problems = append(problems, name+": missing")
		case !bytes.Equal(data, f.data):
			problems = append(problems, fmt.Sprintf("%s: differs from line %d on", name, firstDifference(data, f.data)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		problems = append(problems, name+": stefc no longer generates this file: remove it")
	}
	return problems
}

func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return bytes.Count(a[:n], []byte("\n")) + 1
}

// shape reports generated files that are not formatted, do not name their
// source, or declare types that do not match the file name. Each file has one
// type of the schema, with its codecs and the other declarations that carry its
// name.
func shape(t *testing.T, files []file) []string {
	t.Helper()
	var problems []string
	for _, f := range files {
		stem, ok := strings.CutSuffix(path.Base(f.path), ".stef.go")
		if !ok || f.testdata() {
			continue
		}
		if !f.generated() {
			problems = append(problems, f.path+`: no "Code generated" line`)
		}
		if tidy, err := format.Source(f.data); err != nil || !bytes.Equal(tidy, f.data) {
			problems = append(problems, f.path+": not formatted")
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.SkipObjectResolution)
		require.NoError(t, err)
		// The codec of a long type has a separate file.
		stem = strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(stem, "_codec"), "_", ""))
		for _, decl := range src.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				name := spec.(*ast.TypeSpec).Name.Name
				if !strings.HasPrefix(strings.ToLower(name), stem) {
					problems = append(problems, fmt.Sprintf("%s: type %s belongs elsewhere", f.path, name))
				}
			}
		}
	}
	return problems
}

// generateArgs returns the arguments of the go:generate line of the records,
// with dir as the output folder.
func generateArgs(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, records, "generate.go"))
	require.NoError(t, err)
	_, args, ok := strings.Cut(string(data), "//go:generate go run ../../"+compiler+" -out . ")
	require.True(t, ok, "no go:generate line that runs %s", compiler)
	args, _, _ = strings.Cut(args, "\n")
	return append([]string{"-out", dir}, strings.Fields(args)...)
}

// Two runs must produce the same bytes: if map order leaks into the output, two
// runs rarely agree.
func TestGeneratedIsCurrent(t *testing.T) {
	files := repo(t)
	stefc := filepath.Join(t.TempDir(), "stefc")
	goCommand(t, "build", "-o", stefc, "./"+compiler)
	generate := func() []file {
		dir := t.TempDir()
		cmd := exec.Command(stefc, generateArgs(t, dir)...)
		cmd.Dir = filepath.Join(root, records)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, string(out), "%s warns of the schema", compiler)
		fresh, err := texts(os.DirFS(dir))
		require.NoError(t, err)
		require.NotEmpty(t, fresh)
		return fresh
	}
	fresh := generate()
	require.Equal(t, fresh, generate(), "two runs of %s differ", compiler)

	var have []file
	for _, f := range files {
		if f.dir() == records {
			have = append(have, f)
		}
	}
	none(t, stale(have, fresh), "make generate makes %s current", records)
}

func TestGeneratedShape(t *testing.T) { none(t, shape(t, repo(t))) }

func TestStaleBites(t *testing.T) {
	f := func(want []string, have, fresh []file) {
		t.Helper()
		require.Equal(t, want, stale(have, fresh))
	}
	a := sample(t, "a.stef.go", "1\n2\n3\n")
	f(nil, a, a)
	f(nil, append(sample(t, "doc.go", "x\n"), a...), a)
	f([]string{"a.stef.go: missing"}, nil, a)
	f([]string{"a.stef.go: stefc no longer generates this file: remove it"}, a, nil)
	f([]string{"a.stef.go: differs from line 2 on"}, a, sample(t, "a.stef.go", "1\n4\n3\n"))
	f([]string{"a.stef.go: differs from line 4 on"}, a, sample(t, "a.stef.go", "1\n2\n3\n4\n"))
}

func TestShapeBites(t *testing.T) {
	f := func(want int, text string) {
		t.Helper()
		require.Len(t, shape(t, sample(t, "x/point_value.stef.go", text)), want)
	}
	const top = "// Code generated by stefc. DO NOT EDIT.\n\npackage x\n"
	f(0, top+"\ntype PointValue struct{}\n\ntype pointValueEncoder struct{}\n\ntype PointValueType uint8\n")
	f(1, top+"\ntype Point struct{}\n")
	f(1, top+"\ntype PointValue   struct{}\n")
	f(1, "package x\n\ntype PointValue struct{}\n")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"runtime/coverage"
	"strconv"
	"strings"
)

const module = "github.com/otelstef/stef/"

// class is the role of a function in a walk.
type class int

const (
	caller   class = iota // calls other functions of the walk: the path
	leaf                  // calls no other function of the walk: it computes a value
	accessor              // reads or sets a field of a record, or sets a field of pdata
	numClasses
)

func (c class) String() string { return [...]string{"caller", "leaf", "accessor"}[c] }

// function is a function that ran.
type function struct {
	file   string // relative to the root of the repository
	folder string
	line   int
	name   string // *Type.Method, or Function; methods of generic types have no Type
	class  class
}

// base returns the name of the function without its receiver.
func (f *function) base() string { return f.name[strings.LastIndexByte(f.name, '.')+1:] }

// covered returns the functions of this repository that ran since the counters were
// cleared.
func covered() (ran []*function, err error) {
	dir, err := os.MkdirTemp("", "walks")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := coverage.WriteMetaDir(dir); err != nil {
		return nil, err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "tool", "covdata", "func", "-i", dir).Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		// The format of a line of covdata is FILE:LINE: FUNCTION SHARE%.
		words := strings.Fields(line)
		place, ours := strings.CutPrefix(words[0], module)
		if len(words) != 3 || !ours || words[2] == "0.0%" || strings.HasPrefix(place, "internal/walks/") {
			continue
		}
		file, number, _ := strings.Cut(strings.TrimSuffix(place, ":"), ":")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("covdata printed %q: %w", line, err)
		}
		ran = append(ran, &function{file: file, folder: path.Dir(file), line: n, name: words[1]})
	}
	return ran, nil
}

func classify(ran []*function) error {
	names := map[string]bool{}
	for _, f := range ran {
		names[f.base()] = true
	}
	files := token.NewFileSet()
	parsed := map[string]*ast.File{}
	for _, f := range ran {
		if records(f) {
			f.class = accessor
			continue
		}
		src := parsed[f.file]
		if src == nil {
			var err error
			if src, err = parser.ParseFile(files, f.file, nil, parser.SkipObjectResolution); err != nil {
				return err
			}
			parsed[f.file] = src
		}
		if f.class = leaf; calls(declaration(files, src, f.line), names) {
			f.class = caller
		}
	}
	return nil
}

// records reports whether a function is of the class accessor: a method of a generated
// record or of a list, or a function that sets a field of pdata.
func records(f *function) bool {
	generated := strings.HasSuffix(f.file, ".stef.go") && !strings.HasSuffix(f.file, "_codec.stef.go")
	return generated && !strings.Contains(f.name, "Writer.") && !strings.Contains(f.name, "Reader.") ||
		f.folder == "stef-go/list" || f.folder == "stef-pdata/internal/slab" && strings.HasPrefix(f.base(), "Set")
}

func declaration(files *token.FileSet, src *ast.File, line int) ast.Node {
	for _, d := range src.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && files.Position(fn.Pos()).Line == line {
			return fn
		}
	}
	return nil
}

// calls reports whether a function calls a function or method with one of these names.
func calls(fn ast.Node, names map[string]bool) (found bool) {
	if fn == nil {
		return false
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			found = found || names[f.Name]
		case *ast.SelectorExpr:
			found = found || names[f.Sel.Name]
		}
		return !found
	})
	return found
}

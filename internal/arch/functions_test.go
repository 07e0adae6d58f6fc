// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxFunction = 80

// product reports whether a file is handwritten Go source, without tests.
func (f file) product() bool {
	return f.goSource() && !f.goTest() && !f.testdata() && !f.generated()
}

func functions(t *testing.T, files []file) []string {
	t.Helper()
	var problems []string
	for _, f := range files {
		if !f.product() {
			continue
		}
		set := token.NewFileSet()
		src, err := parser.ParseFile(set, f.path, f.data, 0)
		require.NoError(t, err)
		for _, d := range src.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
			if n > maxFunction {
				problems = append(problems, fmt.Sprintf("%s: %s has %d lines, at most %d", f.path, fn.Name.Name, n, maxFunction))
			}
		}
	}
	return problems
}

// undocumented reports exported names without a comment, in packages that users
// can import.
func undocumented(t *testing.T, files []file) []string {
	t.Helper()
	var problems []string
	for _, f := range files {
		if !f.product() || strings.HasPrefix(f.path, "benchmarks/") || strings.HasPrefix(f.path, "tools/") || strings.Contains("/"+f.path, "/internal/") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.ParseComments)
		require.NoError(t, err)
		if src.Name.Name == "main" {
			continue
		}
		for _, d := range src.Decls {
			for _, name := range withoutDoc(d) {
				problems = append(problems, fmt.Sprintf("%s: %s has no comment", f.path, name))
			}
		}
	}
	return problems
}

// withoutDoc returns the exported names in a declaration that have no comment.
// The comment of a group counts for all names in it.
func withoutDoc(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) && !wellKnown[d.Name.Name] {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// wellKnown methods need no comment: an interface of the standard library
// defines them.
var wellKnown = map[string]bool{"Error": true, "String": true, "Unwrap": true, "Is": true, "Len": true, "Less": true, "Swap": true}

func exportedReceiver(recv *ast.FieldList) bool {
	typ := recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

func TestFunctions(t *testing.T)  { none(t, functions(t, repo(t))) }
func TestDocumented(t *testing.T) { none(t, undocumented(t, repo(t))) }

func TestFunctionsBite(t *testing.T) {
	text := func(lines int) string { return "package a\n\nfunc f() {\n" + strings.Repeat("\n", lines-2) + "}\n" }
	require.Empty(t, functions(t, sample(t, "a/a.go", text(maxFunction))))
	require.Len(t, functions(t, sample(t, "a/a.go", text(maxFunction+1))), 1)
	require.Empty(t, functions(t, sample(t, "a/a_test.go", text(maxFunction+1))))
}

func TestDocumentedBites(t *testing.T) {
	f := func(want int, text string) {
		t.Helper()
		require.Len(t, undocumented(t, sample(t, "a/a.go", "package a\n\n"+text)), want)
	}
	f(0, "// F does it.\nfunc F() {}\nfunc g() {}\ntype t struct{}\nfunc (t) M() {}\n")
	f(1, "func F() {}\n")
	f(1, "// T is it.\ntype T struct{}\nfunc (*T) M() {}\nfunc (*T) String() string { return \"\" }\n")
	f(1, "type T[K any] struct{}\n")
	f(0, "// All of them.\nconst (\n\tA = 1\n\tB = 2\n)\n")
	require.Empty(t, undocumented(t, sample(t, "a/internal/a.go", "package a\n\nfunc F() {}\n")))
	f(2, "var (\n\tA, B = 1, 2\n\tC = 3 // the third\n)\n")
}

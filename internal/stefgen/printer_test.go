// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
)

// TestImportsAreUsed generates code for schemas whose package, or whose file, has the name of a
// package that generated code imports.
func TestImportsAreUsed(t *testing.T) {
	for _, name := range []string{"bits", "bytes", "codec", "io", "iter", "list", "math", "stef", "stefrt", "strconv", "unsafe"} {
		source, pkg := name+".Order.stef", name+".Shop"
		if name == "bytes" { // a keyword of the schema language
			pkg = "Shop"
		}
		s, err := idl.Parse(source, []byte("package "+pkg+"\nstruct Order root { ID uint64 }"))
		require.NoError(t, err)
		files, err := stefgen.Generate(s, stefgen.Options{Source: source})
		require.NoError(t, err)
		for _, f := range files {
			require.Empty(t, unused(t, f), "%s of package %s", f.Name, s.Package)
		}
	}
}

// unused returns the imports that a file does not use. Such a file does not compile.
func unused(t *testing.T, f stefgen.File) (names []string) {
	src, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.SkipObjectResolution)
	require.NoError(t, err)
	used := map[string]bool{}
	ast.Inspect(src, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, i := range src.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if !used[name] {
			names = append(names, name)
		}
	}
	return names
}

// TestChoicesAreNotTruncated: with 255 choices, a number in the stream has 9 bits, but 8 bits in Go.
func TestChoicesAreNotTruncated(t *testing.T) {
	var text strings.Builder
	text.WriteString("package a\nstruct Order root { Choice Choice }\noneof Choice {\n")
	for i := range 255 {
		fmt.Fprintf(&text, "C%d bool\n", i)
	}
	s, err := idl.Parse("a.stef", []byte(text.String()+"}"))
	require.NoError(t, err)
	files, err := stefgen.Generate(s, stefgen.Options{Source: "a.stef"})
	require.NoError(t, err)
	for _, f := range files {
		if f.Name == "choice_codec.stef.go" {
			require.Contains(t, string(f.Content), "choice := d.head.Read(d.head.Width)\n\tif choice > d.head.Choices {")
			return
		}
	}
	require.Fail(t, "no decoder")
}

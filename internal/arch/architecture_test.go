// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// architecturePage is the page that newcomers read first.
const architecturePage = "docs/architecture.md"

// declared lists the declarations of the product, as FOLDER.Name and
// FOLDER.Type.Method, and the folders themselves.
func declared(t *testing.T, files []file) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range files {
		if !f.goSource() || f.goTest() || f.testdata() {
			names[f.dir()] = true
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.SkipObjectResolution)
		require.NoError(t, err)
		names[f.dir()] = true
		for _, d := range src.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[f.dir()+"."+d.Name.Name] = true
					continue
				}
				typ := d.Recv.List[0].Type
				if star, ok := typ.(*ast.StarExpr); ok {
					typ = star.X
				}
				switch x := typ.(type) {
				case *ast.IndexExpr:
					typ = x.X
				case *ast.IndexListExpr:
					typ = x.X
				}
				if id, ok := typ.(*ast.Ident); ok {
					names[f.dir()+"."+id.Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						names[f.dir()+"."+s.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// named finds the names in backticks on a page that look like a folder of the
// product or a declaration in it.
var named = regexp.MustCompile("`((?:stef-|exporter/|receiver/|cmd/|internal/)[A-Za-z0-9/_.-]*)`")

// gone reports names on a page that the repository does not declare.
func gone(page string, names map[string]bool) []string {
	var problems []string
	for _, m := range named.FindAllStringSubmatch(page, -1) {
		if !names[m[1]] {
			problems = append(problems, fmt.Sprintf("%s names %s, which is not there: correct the page", architecturePage, m[1]))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// TestArchitecture checks the architecture page against the code: the packages and
// declarations that it names exist, and each package has a row, except the packages in known
// and inner.
func TestArchitecture(t *testing.T) {
	files := repo(t)
	at := slices.IndexFunc(files, func(f file) bool { return f.path == architecturePage })
	require.GreaterOrEqual(t, at, 0)
	page := string(files[at].data)
	require.Greater(t, len(named.FindAllString(page, -1)), 40)
	none(t, gone(page, declared(t, files)))

	var problems []string
	for _, dir := range slices.Sorted(maps.Keys(packages(t, files))) {
		if !strings.Contains(page, "`"+dir+"`") && !known[dir] && !inner.MatchString(dir) {
			problems = append(problems, architecturePage+" has no row for "+dir)
		}
	}
	none(t, problems)
}

// known packages need no row: the page describes them well enough.
var known = map[string]bool{"stef-go": true} // the terms and types that all other packages use

// inner matches the folders that need no row on the page: the metadata packages of the components,
// and all folders below the folders in the list.
var inner = regexp.MustCompile(`/internal/metadata|^(cmd|sdk|lake|benchmarks|tools|internal/(teltest|fixtures|interop|enginetest|stefgen))/`)

func TestArchitectureBites(t *testing.T) {
	names := declared(t, sample(t, "stef-go/x/x.go", "package x\n\ntype T struct{}\n\nfunc (*T) M() {}\nfunc F() {}\n"))
	require.Empty(t, gone("`stef-go/x` `stef-go/x.F` `stef-go/x.T.M` `stef-go/x.T` `make x`", names))
	require.Len(t, gone("`stef-go/y` `stef-go/x.G` `stef-go/x.T.N` `stef-go/x.T.N`", names), 3)
}

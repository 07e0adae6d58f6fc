// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/schema"
)

// warnOfBases warns if a root of the code in the folder was generated with a -base and
// gets another one: the flag was most likely forgotten.
func warnOfBases(stderr io.Writer, path, dir string, old *schema.Schema, files []stefgen.File) {
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			continue // a new root
		}
		was, is := basesIn(content), basesIn(f.Content)
		for _, root := range slices.Sorted(maps.Keys(is)) {
			r := old.Root(root)
			if r == nil || was[root] == nil || slices.Equal(was[root], is[root]) || slices.Equal(was[root], schema.WireOf(r)) {
				continue
			}
			fmt.Fprintf(stderr, "%s: warning: the code in %s was generated with -base %s=%s, the new code has the base %s: it cannot read all streams\n",
				path, filepath.Clean(dir), root, was[root].Text(), is[root].Text())
			fmt.Fprintf(stderr, "     | without a schema header that the old code reads. Pass this -base again, or ignore this if there are no such streams.\n")
		}
	}
}

// basesIn returns the wire schemas that the functions with the ending BaseSchema of a
// generated file return, by root.
func basesIn(content []byte) map[string]schema.WireSchema {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	bases := map[string]schema.WireSchema{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		root, ok := strings.CutSuffix(f.Name.Name, "BaseSchema")
		if !ok {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok {
				if count, err := strconv.Atoi(literal.Value); err == nil {
					bases[root] = append(bases[root], count)
				}
			}
			return true
		})
	}
	return bases
}

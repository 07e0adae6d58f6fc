// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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

// warnOfBases warns about a root whose option -base was most likely forgotten or wrong: the code in the
// folder was generated with a -base, and the new code has another one or none. It also warns about a -base
// for a root whose code in the folder was generated without one. old is the schema of the code
// in the folder. now is the schema of files, which are the new code.
func warnOfBases(stderr io.Writer, path, dir string, old, now *schema.Schema, files []stefgen.File) {
	was, is := basesOf(dir), map[string]schema.WireSchema{}
	for _, f := range files {
		maps.Copy(is, basesIn(f.Content))
	}
	renamed := renamedRoot(old, now)
	for _, root := range slices.Sorted(maps.Keys(is)) {
		before, name := root, "" // name is the new name and "=", for -base in the warning, if the root was renamed
		if root == renamed.is {
			before, name = renamed.was, root+"="
		}
		r := old.Root(before)
		if r == nil || was[before] == nil || slices.Equal(was[before], is[root]) {
			continue
		}
		if slices.Equal(was[before], schema.WireOf(r)) { // the code in the folder was generated without -base
			if n := now.Root(root); n != nil && !slices.Equal(is[root], schema.WireOf(n)) {
				fmt.Fprintf(stderr, "%s: warning: the code in %s was generated without -base, the new code has the base %s=%s: it cannot read streams that the old code wrote\n",
					path, filepath.Clean(dir), root, is[root].Text())
				fmt.Fprintf(stderr, "     | without a schema header. If there are such streams, leave -base out. For streams of an older version, keep a package of that version.\n")
			}
			continue
		}
		fmt.Fprintf(stderr, "%s: warning: the code in %s was generated with -base %s=%s, the new code has the base %s%s: it cannot read some streams that the old code can read:\n",
			path, filepath.Clean(dir), before, was[before].Text(), name, is[root].Text())
		fmt.Fprintf(stderr, "     | those without a schema header. Pass -base %s=%s, or ignore this if there are no such streams.\n",
			root, was[before].Text())
	}
}

// meantRoot returns advice for a -base with an unknown name, as the end of a message. It names
// the root that differs from name only in case, or the root that was renamed from name, or
// else all roots of s.
func meantRoot(dir string, s *schema.Schema, name string) string {
	var names []string
	for _, r := range s.Roots() {
		if strings.EqualFold(r.Name, name) {
			return fmt.Sprintf(", did you mean %s?", r.Name)
		}
		names = append(names, r.Name)
	}
	if old := generatedSchema(dir); old != nil {
		if renamed := renamedRoot(old.plain, s); renamed.was == name {
			return fmt.Sprintf(", did you mean %s?", renamed.is)
		}
	}
	if len(names) == 1 {
		return ": its root is " + names[0]
	}
	return ": its roots are " + strings.Join(names, ", ")
}

// basesOf returns the results of basesIn for all generated files in a folder. Files that are not
// generated any more count, too: they contain the former names of renamed roots.
func basesOf(dir string) map[string]schema.WireSchema {
	bases := map[string]schema.WireSchema{}
	entries, _ := os.ReadDir(dir) // the function write returns this error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".stef.go") {
			continue
		}
		if content, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && bytes.Contains(content, []byte("BaseSchema()")) {
			maps.Copy(bases, basesIn(content))
		}
	}
	return bases
}

// basesIn returns, by root, the wire schemas of the functions of a generated file whose names
// end in BaseSchema.
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// maxChanges is the maximum number of breaking changes that are listed: a field that is
// inserted at the front moves all others.
const maxChanges = 3

// warnOfChanges warns if the generated files cannot read the streams that the package in
// the folder writes. It is the only moment at which both schemas are known: a stream
// has the number of fields, not their types, so readers cannot tell all such streams.
func warnOfChanges(stderr io.Writer, path, dir string, files []stefgen.File) {
	at := slices.IndexFunc(files, func(f stefgen.File) bool { return f.Name == stefgen.SchemaFile })
	before, err := os.ReadFile(filepath.Join(dir, stefgen.SchemaFile))
	if err != nil || at < 0 {
		return // the first run in this folder
	}
	old, now := schemaIn(before), schemaIn(files[at].Content)
	if old == nil || now == nil {
		return // a file of another hand
	}
	changes := schema.CompatibleSchemas(old, now)
	if changes == nil {
		return
	}
	list := changes.(interface{ Unwrap() []error }).Unwrap()
	fmt.Fprintf(stderr, "%s: warning: the new code cannot read the streams that the code in %s has written so far:\n", path, filepath.Clean(dir))
	for _, change := range list[:min(len(list), maxChanges)] {
		fmt.Fprintf(stderr, "     | %v\n", change)
	}
	if n := len(list) - maxChanges; n > 0 {
		fmt.Fprintf(stderr, "     | and %d more\n", n)
	}
	fmt.Fprintln(stderr, "     | Append to structs and oneofs instead. If there are no such streams, ignore this.")
}

// schemaIn returns the schema, with that of the other form if there is one, that the
// constants of a generated file hold, or nil.
func schemaIn(content []byte) *schema.Schema {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	texts := map[string]string{}
	for _, d := range file.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			value := spec.(*ast.ValueSpec)
			if len(value.Values) != 1 {
				continue
			}
			if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					texts[value.Names[0].Name] = text
				}
			}
		}
	}
	plain, err := idl.Parse("", []byte(texts["schemaText"]))
	if err != nil {
		return nil
	}
	text, ok := texts["formText"]
	if !ok {
		return plain
	}
	form, err := idl.Parse("", []byte(text))
	if err != nil {
		return nil
	}
	return schema.Extend(plain, form)
}

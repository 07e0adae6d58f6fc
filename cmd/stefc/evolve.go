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

// warnOfChanges warns if the generated files misread the streams that the package in
// the folder writes. It is the only moment at which both schemas are known: a stream
// has the number of fields, not their types nor the names of enum values, so readers
// cannot tell all such streams.
func warnOfChanges(stderr io.Writer, path, dir string, files []stefgen.File) {
	at := slices.IndexFunc(files, func(f stefgen.File) bool { return f.Name == stefgen.SchemaFile })
	old := generatedSchema(dir)
	if old == nil || at < 0 {
		return
	}
	_, now := schemasIn(files[at].Content)
	if now == nil {
		return
	}
	warn := func(what string, list []error, advice string) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(stderr, "%s: warning: the new code reads streams of the code in %s %s:\n", path, filepath.Clean(dir), what)
		for _, change := range list[:min(len(list), maxChanges)] {
			fmt.Fprintf(stderr, "     | %v\n", change)
		}
		if n := len(list) - maxChanges; n > 0 {
			fmt.Fprintf(stderr, "     | and %d more\n", n)
		}
		fmt.Fprintf(stderr, "     | %s If there are no such streams, ignore this.\n", advice)
	}
	if changes := schema.CompatibleSchemas(old.whole, now); changes != nil {
		warn("wrongly or not at all", changes.(interface{ Unwrap() []error }).Unwrap(), "Append to structs and oneofs instead.")
	}
	warn("with other names of enum values", enumChanges(old.whole, now), "Keep the number of each value, and give new values new numbers.")
}

// generated is the schema of generated code: without the fields of the other form, and
// with them.
type generated struct{ plain, whole *schema.Schema }

// generatedSchema returns the schema of the generated code in a folder, or nil if there
// is none.
func generatedSchema(dir string) *generated {
	content, err := os.ReadFile(filepath.Join(dir, stefgen.SchemaFile))
	if err != nil {
		return nil
	}
	if plain, whole := schemasIn(content); whole != nil {
		return &generated{plain, whole}
	}
	return nil // a file of another hand
}

// generatedBase returns the wire schema of a root in the generated code in a folder, as
// the end of a message, or "" if it is that of now.
func generatedBase(dir string, now *schema.Struct) string {
	old := generatedSchema(dir)
	if old == nil {
		return ""
	}
	root := old.plain.Root(now.Name)
	if root == nil || slices.Equal(schema.WireOf(root), schema.WireOf(now)) {
		return ""
	}
	return fmt.Sprintf(", that of the code in %s is %s=%s", filepath.Clean(dir), root.Name, schema.WireOf(root).Text())
}

// schemasIn returns the schema that the constants of a generated file hold, without and
// with the fields of the other form, or nil.
func schemasIn(content []byte) (plain, whole *schema.Schema) {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
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
	plain, err = idl.Parse("", []byte(texts["schemaText"]))
	if err != nil {
		return nil, nil
	}
	text, ok := texts["formText"]
	if !ok {
		return plain, plain
	}
	form, err := idl.Parse("", []byte(text))
	if err != nil {
		return nil, nil
	}
	return plain, schema.Extend(plain, form)
}

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
	"strings"

	"github.com/otelstef/stef/internal/stefgen"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// warnOfChanges warns if the new code misreads the streams that the code in the folder writes.
// Readers cannot detect all such streams: a stream contains the number of fields, but neither
// their types nor the names of enum values. Here both schemas are known.
func warnOfChanges(stderr io.Writer, path, dir string, old, now *schema.Schema) {
	for _, f := range findings(old, now) {
		fmt.Fprintf(stderr, "%s: warning: the new code reads streams of the code in %s %s:\n", path, filepath.Clean(dir), f.effect)
		f.print(stderr, " If there are no such streams, ignore this.")
	}
}

// renaming is the old and the new name of a renamed root. It is empty if no root was renamed.
type renaming struct{ was, is string }

// renamedRoot returns the renaming if exactly one root has another name.
func renamedRoot(old, now *schema.Schema) renaming {
	was, is := schema.RenamedRoot(old, now)
	return renaming{was, is}
}

// warn prints a warning about a renamed root: files stay readable, but gRPC sends the
// name. A removed root is reported as a finding instead.
func (r renaming) warn(stderr io.Writer, path string) {
	if r == (renaming{}) {
		return
	}
	fmt.Fprintf(stderr, "%s: warning: the root %s is now named %s. Files stay readable, but gRPC sends the name, and a server\n", path, r.was, r.is)
	fmt.Fprintf(stderr, "     | refuses clients with another name. A server can handle both names: see Rename a root in the README of stefc.\n")
}

// against compares now, the new schema, with the schema in the file oldPath. It reports findings as
// errors and returns the exit code. It warns about a renamed root, and returns the old schema and
// the renaming. form is the schema of -form, or nil; its fields are added to the old schema.
func against(stderr io.Writer, path, oldPath string, form, now *schema.Schema) (*schema.Schema, renaming, int) {
	read, _, code := parse(oldPath, stderr)
	if code != 0 {
		return nil, renaming{}, code
	}
	old := read
	if len(old.Roots()) == 0 {
		fmt.Fprintf(stderr, "stefc: -against: %s has no root struct, so there is nothing to compare\n", oldPath)
		return nil, renaming{}, exitSchema
	}
	if form != nil {
		old = schema.Extend(withMultimaps(old, form), withoutNewRoots(form, old))
	}
	list := findings(old, now)
	for _, f := range list {
		fmt.Fprintf(stderr, "%s: the new code reads streams of %s %s:\n", path, oldPath, f.effect)
		f.print(stderr, "")
	}
	if len(list) > 0 {
		return nil, renaming{}, exitSchema
	}
	root := renamedRoot(old, now)
	root.warn(stderr, path)
	return read, root, 0
}

// withMultimaps returns s with the multimaps of form that s does not have, because
// schema.Extend expects them in s.
func withMultimaps(s, form *schema.Schema) *schema.Schema {
	more := *s
	more.Multimaps = slices.Clone(s.Multimaps)
	for _, m := range form.Multimaps {
		if !slices.ContainsFunc(s.Multimaps, func(own *schema.Multimap) bool { return own.Name == m.Name }) {
			more.Multimaps = append(more.Multimaps, m)
		}
	}
	return &more
}

// withoutNewRoots returns form without the roots that s does not have: there are no streams
// of such roots.
func withoutNewRoots(form, s *schema.Schema) *schema.Schema {
	less := *form
	less.Structs = slices.DeleteFunc(slices.Clone(form.Structs), func(st *schema.Struct) bool { return st.Root && s.Root(st.Name) == nil })
	return &less
}

// finding is a group of changes that have the same effect on streams of the old schema.
type finding struct {
	effect  string
	advice  []string // one line for each element
	changes []*schema.ChangeError
}

var advice = map[schema.ChangeKind]string{
	schema.LayoutChange: "Append to structs and oneofs instead, and rename what is not used any more, such as to Unused1.",
	schema.RootChange:   "Keep each root. If roots got other names, rename one at a time, in a step that neither adds nor removes a root.",
	schema.EnumChange:   "Keep the enum of each field and the number of each value, and give new values new numbers. Rename an enum and its values in two steps.",
}

// findings returns the changes because of which the code of now misreads streams of old.
func findings(old, now *schema.Schema) []finding {
	layout, enums := finding{effect: "wrongly or not at all"}, finding{effect: "with other names of enum values"}
	for _, change := range schema.Changes(old, now) {
		f := &layout
		if change.Kind == schema.EnumChange {
			f = &enums
		}
		f.changes = append(f.changes, change)
		if line := advice[change.Kind]; !slices.Contains(f.advice, line) {
			f.advice = append(f.advice, line)
		}
	}
	return slices.DeleteFunc([]finding{layout, enums}, func(f finding) bool { return len(f.changes) == 0 })
}

func (f finding) print(stderr io.Writer, more string) {
	for _, change := range f.changes[:min(len(f.changes), maxShown)] {
		fmt.Fprintf(stderr, "     | %v\n", change)
	}
	if n := len(f.changes) - maxShown; n > 0 {
		fmt.Fprintf(stderr, "     | and %d more\n", n)
	}
	fmt.Fprintf(stderr, "     | %s%s\n", strings.Join(f.advice, "\n     | "), more)
}

// otherRoots returns an error if the folder has code, but none of its roots is in the new schema.
// It is most likely the code of another schema, and the new code would replace it.
func otherRoots(path, dir string, old *generated, now *schema.Schema) error {
	if old == nil {
		return nil
	}
	var names []string
	for _, root := range old.whole.Roots() {
		if now.Root(root.Name) != nil {
			return nil
		}
		names = append(names, root.Name)
	}
	if len(names) == 0 {
		return nil
	}
	what := "root "
	if len(names) > 1 {
		what = "roots "
	}
	return fmt.Errorf("%s has the code of %s, which %s does not define, so the files of this code would be removed: use another -out for each schema; to remove the files, or if you renamed the root, pass -replace",
		filepath.Clean(dir), what+strings.Join(names, ", "), path)
}

// generated is the schema of generated code: without the fields of -form, and with them.
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
	return nil // stefc did not generate the file
}

// generatedBase returns a text to append to the error about a wrong -base. The text names the wire schema
// of the root in the generated code in the folder dir. generatedBase returns "" if this code has no such
// root, or if the wire schema of the root has not changed.
func generatedBase(dir string, now *schema.Struct) string {
	old := generatedSchema(dir)
	if old == nil {
		return ""
	}
	root := old.plain.Root(now.Name)
	if root == nil || slices.Equal(schema.WireOf(root), schema.WireOf(now)) {
		return ""
	}
	return fmt.Sprintf(", the base of the code in %s is %s=%s", filepath.Clean(dir), root.Name, schema.WireOf(root).Text())
}

// schemasIn returns the schema in the constants of a generated file, without and with the
// fields of -form. It returns nil if there is none.
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

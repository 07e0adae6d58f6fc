// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// formFile is the schema file of -form: a form, which adds fields to structs of the main schema that
// programs do not use (see stefgen.Options.Form). The file is a complete schema: it repeats the
// multimaps and enums of the main schema that its fields use.
type formFile struct {
	path   string
	src    []byte
	schema *schema.Schema
}

// formCheck finds definitions that a form must not add to a schema.
type formCheck struct {
	path string // of the schema
	base *schema.Schema
	form *formFile
	list idl.Diagnostics
}

func checkForm(path string, base *schema.Schema, form *formFile) idl.Diagnostics {
	c := &formCheck{path: path, base: base, form: form}
	if form.schema.Package != base.Package {
		c.refuse(form.schema.Package, packagePos(form.src, form.schema.Package), "the package is "+base.Package+" in "+path+": a form must have the same package")
	}
	for _, s := range form.schema.Structs {
		c.structDef(s)
	}
	for _, m := range form.schema.Multimaps {
		if own := find(base.Multimaps, func(own *schema.Multimap) bool { return own.Name == m.Name }); own == nil {
			c.refuse(m.Name, m.Pos, m.Name+" is not in "+path+": a form cannot add multimaps")
		} else if own.Key.String() != m.Key.String() || own.Value.String() != m.Value.String() {
			c.refuse(m.Name, m.Pos, m.Name+" is a different multimap in "+path+": repeat it without a change, or choose another name")
		}
	}
	for _, e := range form.schema.Enums {
		own := find(base.Enums, func(own *schema.Enum) bool { return own.Name == e.Name })
		if own == nil && c.defined(e.Name) {
			c.refuse(e.Name, e.Pos, e.Name+" is of another kind in "+path+": choose another name")
		} else if own != nil && !slices.EqualFunc(own.Values, e.Values, func(a, b schema.EnumValue) bool { return a.Name == b.Name && a.Value == b.Value }) {
			c.refuse(e.Name, e.Pos, e.Name+" has other values in "+path+": repeat it without a change, or choose another name")
		}
	}
	if len(c.list) == 0 {
		c.unused()
	}
	slices.SortStableFunc(c.list, func(a, b idl.Diagnostic) int { return a.Pos.Line - b.Pos.Line })
	return c.list
}

// checkWhole checks the schema with the fields of the form: two valid files can exceed limits
// together, or form a cycle. It returns the text of this schema, which the error refers to.
func checkWhole(path string, base *schema.Schema, form *formFile) ([]byte, error) {
	whole := schema.Extend(base, form.schema)
	for _, e := range form.schema.Enums {
		if find(base.Enums, func(own *schema.Enum) bool { return own.Name == e.Name }) == nil {
			whole.Enums = append(slices.Clip(whole.Enums), e)
		}
	}
	text := schema.Print(whole)
	_, err := idl.Parse(path+" with "+form.path, text)
	return text, err
}

func (c *formCheck) refuse(name string, pos schema.Pos, message string) {
	c.list = append(c.list, idl.Diagnostic{Filename: c.form.path, Pos: pos, Width: utf8.RuneCountInString(name), Message: message})
}

// structDef checks a struct or oneof of the form against the definition that it extends.
func (c *formCheck) structDef(s *schema.Struct) {
	own := find(c.base.Structs, func(own *schema.Struct) bool { return own.Name == s.Name })
	switch {
	case own == nil && !s.Root && !c.defined(s.Name):
		return // unused reports a misspelled name
	case s.Root && (own == nil || !own.Root):
		c.refuse(s.Name, s.Pos, s.Name+" is no root in "+c.path+": a form adds fields to the roots of the schema and has no roots of its own")
		return
	case own == nil || own.Oneof != s.Oneof:
		c.refuse(s.Name, s.Pos, s.Name+" is of another kind in "+c.path+": use the same kind to add to it, or choose another name")
		return
	case s.Dict != "" && s.Dict != own.Dict:
		c.refuse(s.Name, s.Pos, s.Name+" has no dictionary in "+c.path+", and a form cannot change that")
	}
	for _, f := range s.Fields {
		if slices.ContainsFunc(own.Fields, func(g *schema.Field) bool { return g.Name == f.Name }) {
			c.refuse(f.Name, f.Pos, s.Name+"."+f.Name+" is already in "+c.path+": a form must have only the fields that it adds")
		}
	}
}

func (c *formCheck) defined(name string) bool {
	return slices.ContainsFunc(c.base.Structs, func(s *schema.Struct) bool { return s.Name == name }) ||
		slices.ContainsFunc(c.base.Multimaps, func(m *schema.Multimap) bool { return m.Name == name }) ||
		slices.ContainsFunc(c.base.Enums, func(e *schema.Enum) bool { return e.Name == name })
}

// unused refuses definitions that no root of the schema with the form uses: a definition
// with a misspelled name would have no effect.
func (c *formCheck) unused() {
	used := map[string]bool{}
	var visit func(t *schema.Type)
	fields := func(s *schema.Struct) {
		for _, f := range s.Fields {
			visit(&f.Type)
		}
	}
	visit = func(t *schema.Type) {
		if t.Kind == schema.KindArray {
			t = t.Elem
		}
		if t.Name == "" || used[t.Name] {
			return
		}
		used[t.Name] = true
		switch t.Kind {
		case schema.KindStruct, schema.KindOneof:
			fields(t.Struct)
		case schema.KindMultimap:
			visit(&t.Multimap.Key)
			visit(&t.Multimap.Value)
		}
	}
	for _, root := range schema.Extend(c.base, c.form.schema).Roots() {
		used[root.Name] = true
		fields(root)
	}
	check := func(name string, pos schema.Pos) {
		if !used[name] {
			c.refuse(name, pos, "no root of "+c.path+" uses "+name+", even with the fields of the form")
		}
	}
	for _, s := range c.form.schema.Structs {
		check(s.Name, s.Pos)
	}
	for _, m := range c.form.schema.Multimaps {
		check(m.Name, m.Pos)
	}
	for _, e := range c.form.schema.Enums {
		check(e.Name, e.Pos)
	}
}

func find[T any](list []*T, fits func(*T) bool) *T {
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i]
	}
	return nil
}

// packagePos returns the position of the name of the package, or zero if the name is not in
// the line of the keyword.
func packagePos(src []byte, name string) schema.Pos {
	for i, line := range bytes.Split(src, []byte("\n")) {
		rest, found := strings.CutPrefix(strings.TrimSpace(string(line)), "package")
		if found && strings.HasPrefix(strings.TrimSpace(rest), name) {
			return schema.Pos{Line: i + 1, Column: utf8.RuneCount(line[:bytes.Index(line, []byte("package"))]) + len("package") + strings.Index(rest, name) + 1}
		}
	}
	return schema.Pos{}
}

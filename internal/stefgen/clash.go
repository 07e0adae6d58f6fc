// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// clashes reports names that the generated code declares twice. A field X has the
// methods X, SetX, HasX and more, and another field can have such a name. The names of
// types, constants and functions are combined from several names. clashes checks the
// generated code, not the schema, so that no naming rule is forgotten.
func (p *plan) clashes(files []File) error {
	c := clashFinder{names: map[string]string{}, plan: p}
	names := map[string]bool{}
	for _, f := range files {
		if names[f.Name] {
			from, also := twoLongest(p.typesIn(fold(strings.TrimSuffix(f.Name, ".stef.go"))))
			if f.Name == SchemaFile {
				return from.refuse("%s would be generated into %s, the file with the text of the schema: rename %s", from, f.Name, from)
			}
			if fold(from.name) == fold(also.name) {
				return from.refuse("%s and %s would be generated into the same file, %s: rename one of them", from, also, f.Name)
			}
			// A root S also has the types SWriter and SReader, and others, each in its own file.
			return from.refuse("%s and a type of the root %s would be generated into the same file, %s: rename %s", from, also.name, f.Name, from)
		}
		names[f.Name] = true
		src, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range src.Decls {
			if err := c.declaration(decl, f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// clashFinder maps declared names to their files.
type clashFinder struct {
	names map[string]string
	plan  *plan
}

func (c clashFinder) add(name, file string) error {
	if other, taken := c.names[name]; taken {
		where := file
		if other != file {
			where = other + " and " + file
		}
		from, also := twoLongest(c.plan.origins(name))
		switch {
		case also.name == "":
			return from.refuse("the schema generates %s twice in %s: rename %s", name, where, from)
		case also.of == "" && from.of != "":
			return from.refuse("the schema generates %s twice in %s, for %s and for %s itself: rename the %s", name, where, from, also, from.what)
		}
		return from.refuse("the schema generates %s twice in %s, for %s and %s: rename one of them", name, where, from, also)
	}
	c.names[name] = file
	return nil
}

// origin is a part of the schema from which a generated name may be made.
type origin struct {
	what, of, name string // of is the type of a field, choice or value; "" for types
	getter         string // the getter of a field, if its name differs from that of the field
	pos            schema.Pos
	form           bool
	size           int // length of the part of the generated name that this origin explains
}

// String names the part.
func (o origin) String() string {
	if o.of == "" {
		return o.what + " " + o.name
	}
	return o.what + " " + o.of + "." + o.name
}

func (o origin) refuse(format string, args ...any) error {
	return inForm(refuse(o.name, o.pos, format, args...), o.form)
}

// twoLongest returns the two parts of the schema that cover most of a generated name. A type
// and its member count as one part, unless there are no other parts.
func twoLongest(all []origin) (first, second origin) {
	for _, o := range all {
		if o.size > first.size {
			first = o
		}
	}
	for _, o := range all {
		if o.size > second.size && o != first && (o.of != "" || o.name != first.of) && (first.of != "" || o.of != first.name) {
			second = o
		}
	}
	for _, o := range all {
		if second.name == "" && o != first && o.of == "" {
			second = o
		}
	}
	return first, second
}

// fold returns a name in lower case and without underscores. Combined names and file names can
// differ from the names in the schema in case and in underscores.
func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// origins returns the parts of the schema that may be the source of a generated name. For a
// method these are its type and the members of the type. For other names these are the types
// whose names are in the generated name, and the members whose constant has the generated
// name.
func (p *plan) origins(generated string) []origin {
	typ, method, ok := strings.Cut(generated, ".")
	if ok {
		var ends, begins []origin
		for _, m := range p.membersOf(typ) {
			if m.size = len(m.name); strings.HasSuffix(fold(method), fold(m.name)) || m.getter == method {
				ends = append(ends, m)
			} else if strings.HasPrefix(fold(method), fold(m.name)) {
				begins = append(begins, m)
			}
		}
		if len(ends) < 2 {
			ends = append(ends, begins...)
		}
		for _, t := range p.types() {
			if t.name == typ {
				ends = append(ends, t)
			}
		}
		return ends
	}
	list := p.typesIn(fold(generated))
	for _, t := range p.types() {
		rest, ok := strings.CutPrefix(fold(generated), fold(t.name))
		for _, m := range p.membersOf(t.name) {
			infix := map[string]string{"field": "field", "choice": "type"}[m.what]
			if m.size = len(t.name) + len(m.name); ok && m.of == t.name && rest == infix+fold(m.name) {
				list = append(list, m)
			}
		}
	}
	return list
}

// typesIn returns the types that a folded name begins with. For names that begin with new or
// initial, it returns the type whose name is the rest.
func (p *plan) typesIn(folded string) (list []origin) {
	for _, t := range p.types() {
		name := fold(t.name)
		if t.size = len(t.name); strings.HasPrefix(folded, name) || folded == "new"+name || folded == "initial"+name {
			list = append(list, t)
		}
	}
	return list
}

func (p *plan) types() (list []origin) {
	add := func(what, name string, pos schema.Pos) {
		list = append(list, origin{what: what, name: name, pos: pos, form: p.typeOfForm(name)})
	}
	for _, s := range p.structs {
		if s.Oneof {
			add("oneof", s.Name, s.Pos)
		} else {
			add("struct", s.Name, s.Pos)
		}
	}
	for _, m := range p.multimaps {
		add("multimap", m.Name, m.Pos)
	}
	for _, e := range p.enums {
		add("enum", e.Name, e.Pos)
	}
	return list
}

// membersOf returns the fields, choices or values of a type. A multimap has setters for
// the choices of its values.
func (p *plan) membersOf(typ string) (list []origin) {
	for _, s := range p.structs {
		if s.Name != typ {
			continue
		}
		what := "field"
		if s.Oneof {
			what = "choice"
		}
		for i, f := range s.Fields {
			list = append(list, origin{what: what, of: s.Name, name: f.Name, getter: Renamed(exported(f.Name), f.Type.Kind), pos: f.Pos, form: p.ofForm(s, i)})
		}
	}
	for _, m := range p.multimaps {
		if m.Name == typ && m.Value.Kind == schema.KindOneof {
			list = append(list, p.membersOf(m.Value.Name)...)
		}
	}
	for _, e := range p.enums {
		if e.Name != typ {
			continue
		}
		for _, v := range e.Values {
			list = append(list, origin{what: "value", of: e.Name, name: v.Name, pos: v.Pos, form: p.typeOfForm(e.Name)})
		}
	}
	return list
}

func (c clashFinder) declaration(decl ast.Decl, file string) error {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		switch {
		case d.Recv != nil:
			return c.add(receiver(d)+"."+d.Name.Name, file)
		case d.Name.Name != "init":
			return c.add(d.Name.Name, file)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if err := c.spec(spec, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c clashFinder) spec(spec ast.Spec, file string) error {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if err := c.add(name.Name, file); err != nil {
				return err
			}
		}
	case *ast.TypeSpec:
		if err := c.add(s.Name.Name, file); err != nil {
			return err
		}
		if st, ok := s.Type.(*ast.StructType); ok {
			return c.fields(s.Name.Name, st, file)
		}
	}
	return nil
}

// fields adds the fields of a struct, which are in one name space with its methods.
func (c clashFinder) fields(typ string, st *ast.StructType, file string) error {
	for _, field := range st.Fields.List {
		for _, name := range field.Names {
			if err := c.add(typ+"."+name.Name, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

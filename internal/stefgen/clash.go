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

// clashes reports names that the generated code declares twice. The methods of a
// field X are X, SetX, HasX and more, and another field can have such a name; the
// names of types, constants and functions are combined from several names. It checks
// the generated code, not the schema, so that no naming rule is forgotten.
func (p *plan) clashes(files []File) error {
	c := clashFinder{names: map[string]string{}, plan: p}
	names := map[string]bool{}
	for _, f := range files {
		if names[f.Name] {
			name, pos := p.origin(strings.TrimSuffix(f.Name, ".stef.go"))
			return refuse(name, pos, "two types would be generated into the file %s: rename one of them", f.Name)
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
		from, pos := c.plan.origin(name)
		return refuse(from, pos, "the schema generates %s twice in %s: rename one of the fields or types it comes from", name, where)
	}
	c.names[name] = file
	return nil
}

// origin returns the name and the place in the schema from which a generated name is
// made: a field for the methods of a type, otherwise the type whose name it begins with.
func (p *plan) origin(generated string) (name string, pos schema.Pos) {
	typ, method, _ := strings.Cut(generated, ".")
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	closest := func(typeName string, at schema.Pos) {
		if strings.HasPrefix(fold(typ), fold(typeName)) && len(typeName) >= len(name) {
			name, pos = typeName, at
		}
	}
	var of *schema.Struct
	for _, s := range p.structs {
		closest(s.Name, s.Pos)
		if s.Name == typ {
			of = s
		}
	}
	for _, m := range p.multimaps {
		closest(m.Name, m.Pos)
	}
	for _, e := range p.enums {
		closest(e.Name, e.Pos)
	}
	if of == nil || method == "" {
		return name, pos
	}
	length := 0
	for _, f := range of.Fields {
		if goName := exported(f.Name); strings.HasSuffix(strings.ToLower(method), strings.ToLower(goName)) && len(goName) > length {
			name, pos, length = f.Name, f.Pos, len(goName)
		}
	}
	return name, pos
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

// receiver returns the name of the receiver type of a method.
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

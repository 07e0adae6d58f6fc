// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import "github.com/otelstef/stef/stef-go/schema"

// reachable returns the types that a root uses, directly or indirectly, and the names of the text
// dictionaries of these types, in the order of the first visit. types has the names of the structs,
// oneofs and multimaps; structs has the structs and oneofs.
func reachable(r *schema.Struct) (structs []*schema.Struct, types, dicts []string) {
	seen := map[string]bool{}
	first := func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		return true
	}
	var visit func(t *schema.Type)
	visit = func(t *schema.Type) {
		if t.Kind == schema.KindString && t.Dict != "" && first("dict "+t.Dict) {
			dicts = append(dicts, t.Dict)
		}
		if !t.Kind.Composite() || t.Kind != schema.KindArray && !first(t.Name) {
			return
		}
		if t.Kind != schema.KindArray {
			types = append(types, t.Name)
		}
		if t.Kind == schema.KindStruct || t.Kind == schema.KindOneof {
			structs = append(structs, t.Struct)
		}
		for _, part := range parts(t) {
			visit(part)
		}
	}
	visit(structType(r))
	return structs, types, dicts
}

// printFields prints the types that record which fields the schema of a stream has.
func (p *plan) printFields(pr *printer, r *schema.Struct) {
	n := r.Name
	structs, _, _ := reachable(r)
	pr.Decl("// %sFields describes the schema of a stream of %s records: for each struct its", n, n)
	pr.P("// fields, as bits of Modified, and for each oneof the last of its choices. The value is 0")
	pr.P("// for a type that the stream does not use.")
	pr.P("type %sFields struct {", n)
	var decls []declaration
	for _, s := range structs {
		typ := "uint64"
		if s.Oneof {
			typ = s.Name + "Type"
		}
		decls = append(decls, declaration{s.Name, typ})
	}
	pr.Fields(decls)
	pr.P("}")
	pr.Decl("func (f *%sFields) set(counts *stefrt.FieldCounts) {", n)
	for _, s := range structs {
		if s.Oneof {
			pr.P("f.%s = %sType(counts.Last(%q))", s.Name, s.Name, s.Name)
		} else {
			pr.P("f.%s = counts.Mask(%q)", s.Name, s.Name)
		}
	}
	pr.P("}")
}

// printDicts prints the type that holds the text dictionaries of a writer.
func (p *plan) printDicts(pr *printer, r *schema.Struct) {
	n := r.Name
	_, _, dicts := reachable(r)
	pr.Decl("// %sDicts are the dictionaries of text of a stream of %s records. A setter that", n, n)
	pr.P("// receives a reference to an entry does not look up the text. A dictionary that the schema of")
	pr.P("// the stream does not use is nil, and has no entries.")
	pr.P("type %sDicts struct {", n)
	var decls []declaration
	for _, d := range dicts {
		decls = append(decls, declaration{exported(d), "*stef.TextDict"})
	}
	pr.Fields(decls)
	pr.P("}")
	pr.Decl("func (d *%sDicts) set(b *stefrt.EncoderBuilder) {", n)
	for _, d := range dicts {
		pr.P("d.%s = b.TextDict(%q)", exported(d), d)
	}
	pr.P("}")
}

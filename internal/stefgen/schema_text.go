// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// printSchema prints the functions that return the roots of the schema. They
// parse its text when they are first called: a struct literal of a recursive
// schema would be longer and would run at the start of every program.
func (p *plan) printSchema(pr *printer) {
	for _, r := range p.schema.Roots() {
		pr.Decl("// %sRoot returns the root struct of %s in the complete schema. It is shared: do not change it.", r.Name, r.Name)
		pr.P("func %sRoot() *schema.Struct { return parsedSchema().Root(%q) }", r.Name, r.Name)
		_, types, _ := reachable(p.plain.Root(r.Name))
		pr.Decl("// %sConstructors returns the constructors of the types of a %s record, for package steftest.", r.Name, r.Name)
		pr.P("func %sConstructors() []any {\nreturn []any{New%s}\n}", r.Name, strings.Join(types, ", New"))
		if p.hasForm(r) {
			pr.Decl("// %sCompactRoot returns the root struct of %s with the fields of the compact form. It is", r.Name, r.Name)
			pr.P("// shared: do not change it.")
			pr.P("func %sCompactRoot() *schema.Struct { return parsedForm().Root(%q) }", r.Name, r.Name)
		}
	}
	pr.Decl("var parsedSchema = sync.OnceValue(func() *schema.Schema { return idl.MustParse(%q, schemaText) })", p.options.Source)
	pr.Decl("// schemaText is the schema without comments, with one type per line.")
	pr.P("const schemaText = `%s`", withoutComments(schema.Print(p.plain)))
	if p.options.Form != nil {
		pr.Decl("var parsedForm = sync.OnceValue(func() *schema.Schema {")
		pr.P("return schema.Extend(parsedSchema(), idl.MustParse(%q, formText))\n})", p.options.Source)
		pr.Decl("// formText is the part of the schema that the compact form adds.")
		pr.P("const formText = `%s`", withoutComments(schema.Print(p.options.Form)))
	}
}

// withoutComments removes comments and puts every type on one line.
func withoutComments(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "//"):
		case trimmed == "}" || strings.HasPrefix(trimmed, "package "):
			b.WriteString(trimmed + "\n")
		default:
			b.WriteString(trimmed + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

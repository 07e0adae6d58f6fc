// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import "github.com/otelstef/stef/stef-go/schema"

// holdsShared reports whether a value of t can contain a shared value, at any depth. t itself
// does not count.
func holdsShared(t *schema.Type) bool {
	return contains(t, isDictStruct, map[string]bool{})
}

func structType(s *schema.Struct) *schema.Type {
	kind := schema.KindStruct
	if s.Oneof {
		kind = schema.KindOneof
	}
	return &schema.Type{Kind: kind, Name: s.Name, Struct: s}
}

// sharedKept returns the sentence about shared values for the comment of CopyFrom in a oneof or
// multimap.
func (p *plan) sharedKept(t *schema.Type) string {
	if holdsShared(t) {
		return " Shared values are shared, not copied."
	}
	return ""
}

// printUnshare prints the method Unshare of a type that can contain shared values. body
// prints its statements.
func (p *plan) printUnshare(pr *printer, t *schema.Type, recv string, body func()) {
	if !holdsShared(t) {
		return
	}
	pr.Decl("// Unshare replaces the shared values in %s by copies, at any depth. See package stef.", recv)
	pr.P("func (%s *%s) Unshare() {", recv, t.Name)
	pr.P("%s.node.RefuseShared()", recv)
	body()
	pr.P("}")
}

// unshare returns the statement that unshares a part of a value, or "" if the part contains
// no shared values.
func (p *plan) unshare(t *schema.Type, x string) string {
	switch {
	case !holdsShared(t):
		return ""
	case t.Kind == schema.KindArray:
		return "for i := range " + x + ".Len() {\n" + x + ".At(i).Unshare()\n}"
	}
	return x + ".Unshare()"
}

// printStructUnshare prints Unshare of a struct. It includes absent fields, because they may
// have shared values, too: those of an earlier record.
func (p *plan) printStructUnshare(pr *printer, s *schema.Struct, fields []*field) {
	p.printUnshare(pr, structType(s), "s", func() {
		for _, f := range fields {
			x := "s." + f.priv
			pr.If(f.class == classShared, "%s = %s.edit(&s.node, %s)", x, x, f.bit)
			statement := p.unshare(f.t, x)
			if statement == "" {
				continue
			}
			if f.lazy {
				statement = "if " + x + " != nil {\n" + statement + "\n}"
			}
			pr.P("%s", statement)
		}
	})
}

func (p *plan) printOneofUnshare(pr *printer, s *schema.Struct, fields []*field) {
	p.printUnshare(pr, structType(s), "v", func() {
		eachChoice(pr, "v.typ", fields, func(f *field) string { return p.unshare(f.t, slot(f, "v")) })
	})
}

func (p *plan) printMultimapUnshare(pr *printer, m *schema.Multimap) {
	p.printUnshare(pr, multimapType(m), "m", func() {
		pr.P("for _, p := range m.pairs {")
		k, v := partsOf(m)
		for _, part := range []part{k, v} {
			if statement := p.unshare(part.t, "p."+part.priv); statement != "" {
				pr.P("%s", statement)
			}
		}
		pr.P("}")
	})
}

func multimapType(m *schema.Multimap) *schema.Type {
	return &schema.Type{Kind: schema.KindMultimap, Name: m.Name, Multimap: m}
}

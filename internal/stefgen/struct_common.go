// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// guarded prints a statement about a field of the struct s. If the field is optional, the statement
// runs only if the field is present.
func guarded(pr *printer, f *field, statement string) {
	if f.present == "" {
		pr.P("%s", statement)
		return
	}
	pr.P("if s.present&(%s) != 0 {\n%s\n}", f.present, statement)
}

// printStructCommon prints the methods of every struct.
func (p *plan) printStructCommon(pr *printer, s *schema.Struct, fields []*field) {
	name := s.Name
	pr.Decl("// Modified returns the fields that changed; see package stef.")
	pr.P("func (s *%s) Modified() uint64 { return s.node.Modified() }", name)

	p.printStructInit(pr, s, fields)
	p.printStructClear(pr, s, fields)
	p.printStructCopy(pr, s, fields)
	p.printStructUnshare(pr, s, fields)
	p.printStructMarkAll(pr, s, fields)
}

func (p *plan) printStructInit(pr *printer, s *schema.Struct, fields []*field) {
	name := s.Name
	pr.Decl("func (s *%s) init(parent *stefrt.Node, bit uint64) {", name)
	pr.P("s.node.Init(parent, bit)")
	for _, f := range fields {
		switch {
		case f.class == classShared:
			pr.P("s.%s, s.%sSent = New%s(), initial%s\ns.%s.node.Init(&s.node, %s)", f.priv, f.priv, f.t.Name, f.t.Name, f.priv, f.bit)
		case f.class == classNode && !f.lazy:
			pr.P("%s", initStatement(f.t, "s."+f.priv, "&s.node", f.bit))
		}
	}
	pr.P("}")
}

// printStructClear prints the methods that set the initial value.
func (p *plan) printStructClear(pr *printer, s *schema.Struct, fields []*field) {
	name := s.Name
	pr.Decl("// clear sets the initial value and clears the marks.")
	pr.P("func (s *%s) clear() {", name)
	pr.P("s.node.SetModified(0)")
	pr.If(optionalMask(fields) != "0", "s.present, s.sentPresent = 0, 0")
	var left, right []string
	for _, f := range fields {
		if f.class == classScalar || f.class == classBytes {
			left = append(left, "s."+f.priv)
			right = append(right, zero(f.t, "s."+f.priv))
		}
	}
	pr.If(left != nil, "%s = %s", strings.Join(left, ", "), strings.Join(right, ", "))
	for _, f := range fields {
		switch f.class {
		case classShared:
			pr.P("s.%s, s.%sSent = New%s(), initial%s\ns.%s.node.Init(&s.node, %s)", f.priv, f.priv, f.t.Name, f.t.Name, f.priv, f.bit)
		case classNode:
			if f.lazy {
				pr.P("s.%s = nil", f.priv)
			} else {
				pr.P("s.%s.%s()", f.priv, method(f.t, "Clear"))
			}
		}
	}
	pr.P("}")

	pr.Decl("var initial%s = New%s()", name, name)
	pr.Decl("// Reset sets the initial value.")
	pr.P("func (s *%s) Reset() { s.%s(initial%s) }", name, p.copyMethod(structType(s)), name)
}

func (p *plan) printStructCopy(pr *printer, s *schema.Struct, fields []*field) {
	name := s.Name
	pr.Decl("// CopyFrom copies the value of src to s. Shared values are shared, not copied.")
	p.printCopyFrom(pr, structType(s), "s")
	// In a zero value these pointers are nil. Check only one pointer, because init sets all of them.
	if i := slices.IndexFunc(fields, func(f *field) bool { return f.class == classShared && f.present == "" }); i >= 0 {
		pr.P("stefrt.NotZero(src.%s == nil, %q)", fields[i].priv, name)
	}
	for _, f := range fields {
		p.printCopy(pr, f)
		if f.present != "" && p.shared[name] {
			p.printCopyAbsent(pr, f)
		}
	}
	pr.P("}")

	pr.Decl("// Equal reports whether s and o have the same value; floats are compared bit by bit.")
	pr.P("func (s *%s) Equal(o *%s) bool {", name, name)
	p.printEqual(pr, fields)
	pr.P("}")
}

func (p *plan) printStructMarkAll(pr *printer, s *schema.Struct, fields []*field) {
	name := s.Name
	pr.Decl("// markAll marks all of s as changed.")
	pr.P("func (s *%s) markAll(c *stefrt.Check) {", name)
	mask := "0"
	if n := len(fields); n > 0 {
		mask = fmt.Sprintf("^uint64(0) >> %d", 64-n)
	}
	pr.P("c.Mark(&s.node, %s)", mask)
	var texts []string
	for _, f := range fields {
		if hasText(f.t) && f.present == "" {
			texts = append(texts, fmt.Sprintf("len(s.%s)", f.priv))
		}
	}
	pr.If(texts != nil, "c.Text += %s", strings.Join(texts, " + "))
	for _, f := range fields {
		switch {
		case hasText(f.t) && f.present != "":
			guarded(pr, f, fmt.Sprintf("c.Text += len(s.%s)", f.priv))
		case f.class == classNode:
			guarded(pr, f, fmt.Sprintf("s.%s.%s(c)", f.priv, method(f.t, "MarkAll")))
		case f.class == classShared:
			in := "c.Shared"
			if f.present != "" {
				in += fmt.Sprintf(" && s.present&(%s) != 0", f.present)
			}
			pr.P("if %s {\ns.%s.markAll(c)\n}", in, f.priv)
			pr.P("if !c.Measure {\ns.%sSent = nil\n}", f.priv)
			pr.P("if %s && !c.Measure {\ns.%s.clean()\n}", in, f.priv)
		}
	}
	pr.P("}")
}

func (p *plan) printCopy(pr *printer, f *field) {
	switch {
	case f.class == classNode && f.present != "":
		pr.P("if src.Has%s() {\n%s\n} else {\ns.Unset%s()\n}", f.name, p.copyAdded(f.t, "s.Add"+f.name+"()", "s."+f.priv, f.ref("src")), f.name)
	case f.class == classNode:
		pr.P("s.%s.%s(&src.%s)", f.priv, p.copyMethod(f.t), f.priv)
	case f.class == classShared:
		copied := fmt.Sprintf("if src.%s.node.Frozen() {\ns.Set%s(src.%s)\n} else {\ns.Edit%s().%s(src.%s)\n}",
			f.priv, f.name, f.priv, f.name, p.copyMethod(f.t), f.priv)
		if f.present != "" {
			pr.P("if src.Has%s() {\n%s\n} else {\ns.Unset%s()\n}", f.name, copied, f.name)
			return
		}
		pr.P("%s", copied)
	case f.present != "":
		pr.P("s.SetOptional%s(src.%s, src.Has%s())", f.name, f.priv, f.name)
	default:
		pr.P("s.Set%s(src.%s)", f.name, f.priv)
	}
}

// printCopyAbsent prints code that copies the last value of an absent field. A reader needs this value:
// if the field becomes present again without its modified bit, it has this value. A new value of a
// dictionary struct begins as a copy of an earlier value, so the copy must include this field.
//
// spec: #struct
func (p *plan) printCopyAbsent(pr *printer, f *field) {
	var statement string
	switch {
	case f.lazy:
		statement = fmt.Sprintf("if src.%s != nil {\n%s\ns.Unset%s()\n}", f.priv, p.copyAdded(f.t, "s.Add"+f.name+"()", "s."+f.priv, "src."+f.priv), f.name)
	case f.class == classNode:
		statement = fmt.Sprintf("s.%s.%s(&src.%s)", f.priv, p.copyMethod(f.t), f.priv)
	case f.class == classShared:
		statement = fmt.Sprintf("if src.%s.node.Frozen() {\ns.%s = src.%s\n}", f.priv, f.priv, f.priv)
	default:
		statement = assign(f.t, "s."+f.priv, "src."+f.priv)
	}
	pr.P("if !src.Has%s() {\n%s\n}", f.name, statement)
}

func (p *plan) printEqual(pr *printer, fields []*field) {
	var terms []string
	if optionalMask(fields) != "0" {
		terms = append(terms, "s.present == o.present")
	}
	for _, f := range fields {
		terms = append(terms, equalTerm(f))
	}
	if terms == nil {
		pr.P("return true")
		return
	}
	pr.P("return %s", strings.Join(terms, " &&\n"))
}

// equalTerm returns the condition that a field is equal in s and o, given that it is
// present in both or absent in both.
func equalTerm(f *field) string {
	a, b := "s."+f.priv, "o."+f.priv
	var term string
	switch {
	case f.lazy:
		term = fmt.Sprintf("%s.Equal(%s)", a, b)
	case f.class == classNode:
		term = fmt.Sprintf("%s.Equal(&%s)", a, b)
	case f.class == classShared:
		term = fmt.Sprintf("(%s == %s || %s.Equal(%s))", a, b, a, b)
	default:
		term = same(f.t, a, b)
	}
	if f.present != "" {
		term = fmt.Sprintf("(s.present&(%s) == 0 || %s)", f.present, term)
	}
	return term
}

// printStructShared prints the additional methods of a struct that is a dictionary struct or occurs
// inside one. The methods clear marks, compare with the previous value, and compute the hash and the size.
// For a dictionary struct, they also share and copy its values.
func (p *plan) printStructShared(pr *printer, s *schema.Struct, fields []*field) {
	pr.Decl("// clean clears all marks in s.")
	pr.P("func (s *%s) clean() {", s.Name)
	pr.P("s.node.SetModified(0)")
	for _, f := range fields {
		switch f.class {
		case classNode:
			guarded(pr, f, fmt.Sprintf("s.%s.%s()", f.priv, method(f.t, "Clean")))
		case classShared:
			pr.P("if !s.%s.node.Frozen() {\ns.%s.clean()\n}", f.priv, f.priv)
		}
	}
	pr.P("}")
	if s.Dict != "" {
		p.printSharing(pr, s, fields)
	}
	p.printStructDiff(pr, s, fields)
	p.printStructHash(pr, s, fields)
}

func (p *plan) printStructDiff(pr *printer, s *schema.Struct, fields []*field) {
	pr.Decl("// markDiff marks what differs from held, and reports whether anything differs.")
	pr.P("func (s *%s) markDiff(held *%s) bool {", s.Name, s.Name)
	pr.P("var mask uint64")
	for _, f := range fields {
		a, b := "s."+f.priv, "held."+f.priv
		var differ string
		switch f.class {
		case classNode:
			ref := "&" + b
			if f.lazy {
				ref = b
			}
			differ = fmt.Sprintf("%s.%s(%s)", a, method(f.t, "MarkDiff"), ref)
		case classShared:
			pr.P("s.%sSent = held.%s", f.priv, f.priv)
			pr.If(f.present != "", "if held.present&(%s) == 0 {\ns.%sSent = initial%s\n}", f.present, f.priv, f.t.Name)
			differ = fmt.Sprintf("%s != %s && !%s.Equal(%s)", a, b, a, b)
		default:
			differ = different(f.t, a, b)
		}
		if f.present != "" {
			p.printOptionalDiff(pr, f, differ)
			continue
		}
		pr.P("mask |= stefrt.If(%s, %s)", differ, f.bit)
	}
	pr.P("s.node.SetModified(mask)")
	pr.P("return mask != 0\n}")
}

// printStructHash prints the hash and the size of a dictionary entry.
func (p *plan) printStructHash(pr *printer, s *schema.Struct, fields []*field) {
	pr.Decl("func (s *%s) hash(h *codec.Hash) {", s.Name)
	pr.If(optionalMask(fields) != "0", "h.Uint64(s.present)")
	for _, f := range fields {
		guarded(pr, f, hash(f.t, "s."+f.priv))
	}
	pr.P("}")

	pr.Decl("// size returns the memory of s as a dictionary entry or a part of one.")
	pr.P("func (s *%s) size() int {", s.Name)
	pr.If(s.Dict != "", "if n := s.slot.Size(); n != 0 {\nreturn n\n}")
	numbers := 0
	for _, f := range fields {
		if size(f.t, "") == "" {
			numbers++
		}
	}
	terms := []string{fmt.Sprint(8 * numbers)}
	for _, f := range fields {
		if expr := size(f.t, "s."+f.priv); expr != "" && f.present == "" {
			terms = append(terms, expr)
		}
	}
	pr.P("n := %s", strings.Join(terms, " + "))
	for _, f := range fields {
		if expr := size(f.t, "s."+f.priv); expr != "" && f.present != "" {
			guarded(pr, f, "n += "+expr)
		}
	}
	pr.P("return n\n}")
}

// printOptionalDiff prints the comparison of an optional field. A field is also different if only its
// presence changed. A value that becomes present is marked completely, because the reader decodes it
// relative to the initial value.
func (p *plan) printOptionalDiff(pr *printer, f *field, differ string) {
	pr.P("switch now, was := s.present&(%s), held.present&(%s); {", f.present, f.present)
	pr.P("case now != was:")
	pr.P("mask |= %s", f.bit)
	pr.If(f.class == classNode, "if now != 0 {\ns.%s.%s(new(stefrt.Check))\n}", f.priv, method(f.t, "MarkAll"))
	pr.P("case now != 0 && (%s):", differ)
	pr.P("mask |= %s\n}", f.bit)
}

// printSharing prints the methods for values of a dictionary struct that records share: freeze
// and share make a value shared, edit returns a copy of a shared value that can be changed.
func (p *plan) printSharing(pr *printer, s *schema.Struct, fields []*field) {
	copyMethod := p.copyMethod(structType(s))
	pr.Decl("// freeze makes s shared.")
	pr.P("func (s *%s) freeze() {", s.Name)
	pr.P("s.clean()\ns.node.Freeze()")
	for _, f := range fields {
		pr.If(f.class == classShared, "if !s.%s.node.Frozen() {\ns.%s.freeze()\n}", f.priv, f.priv)
	}
	pr.P("}")
	pr.Decl("// share makes s shared and returns it, or returns a shared copy if s is part of a record.")
	pr.P("func (s *%s) share(user *stefrt.Node) *%s {", s.Name, s.Name)
	pr.P("stefrt.NotNil(s == nil, %q)", s.Name)
	pr.P("if s.node.Frozen() {\nuser.Inherit(&s.node)\nreturn s\n}")
	pr.P("v := s")
	pr.P("if !s.node.Free() {\nv = New%s()\nv.%s(s)\n}", s.Name, copyMethod)
	pr.P("user.Inherit(&v.node)")
	pr.P("v.freeze()\nreturn v\n}")
	pr.Decl("// edit returns s, or a copy that is part of a record if s is shared.")
	pr.P("func (s *%s) edit(parent *stefrt.Node, bit uint64) *%s {", s.Name, s.Name)
	pr.P("if !s.node.Frozen() {\nreturn s\n}")
	pr.P("v := New%s()\nv.%s(s)\nv.clean()\nv.node.Init(parent, bit)\nreturn v\n}", s.Name, copyMethod)
}

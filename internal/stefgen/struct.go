// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

type field struct {
	*schema.Field
	t       *schema.Type
	class   class
	name    string // the exported name
	priv    string // the Go field
	bit     string // the constant of its mark
	present string // the bit in the presence mask, or "" if the field is not optional
	// lazy fields are pointers that are allocated when they are first present:
	// optional fields whose type contains itself.
	lazy bool
	// form fields are only in the compact form of the records.
	form bool
}

// formDoc prints a comment above a field of the compact form, in which a writer sends differences instead of values.
// Only writers and readers use such a field, so the comment warns programs not to use it.
func (f *field) formDoc(pr *printer) {
	pr.If(f.form, "// It belongs to the compact form: the writer sets it. Programs must not use it.")
}

// ofForm says whether field i of a struct is added by the form of the schema.
func (p *plan) ofForm(s *schema.Struct, i int) bool {
	if p.options.Form == nil {
		return false
	}
	for _, plain := range p.plain.Structs {
		if plain.Name == s.Name {
			return i >= len(plain.Fields)
		}
	}
	return true
}

// ref returns the Go expression of a pointer to the value of the field: a struct, oneof, multimap or
// array.
func (f *field) ref(recv string) string {
	if f.lazy {
		return recv + "." + f.priv
	}
	return "&" + recv + "." + f.priv
}

func (p *plan) fieldsOf(s *schema.Struct) []*field {
	var out []*field
	optional := 0
	for i, sf := range s.Fields {
		f := &field{form: p.ofForm(s, i), Field: sf, t: &sf.Type, class: classOf(&sf.Type), name: exported(sf.Name), priv: fieldName(sf.Name)}
		f.bit = s.Name + "Field" + f.name
		if sf.Optional {
			f.present = fmt.Sprintf("1<<%d", optional)
			optional++
			f.lazy = f.class == classNode && p.cyclic[key(f.t)]
		}
		out = append(out, f)
	}
	return out
}

func optionalMask(fields []*field) string {
	var bits []string
	for i, f := range fields {
		if f.present != "" {
			bits = append(bits, fmt.Sprintf("1<<%d", i))
		}
	}
	if bits == nil {
		return "0"
	}
	return strings.Join(bits, "|")
}

func (p *plan) printStruct(pr *printer, s *schema.Struct) {
	fields := p.fieldsOf(s)
	hasOptional := optionalMask(fields) != "0"
	pr.P("")
	pr.Doc(docOr(s.Doc, s.Name+" is a struct."))
	pr.If(p.absent[s.Name], "// The getters of a nil value return zero or nil.")
	// This is a separate paragraph, because a comment of the schema may end with a list.
	pr.P("//\n// Create it with New%s and copy it with CopyFrom. Neither the zero value nor a copy of the struct", s.Name)
	pr.P("// can be used.")
	pr.P("type %s struct {", s.Name)
	pr.P("node stefrt.Node")
	if hasOptional {
		pr.P("present uint64 // a bit for every optional field")
		pr.P("sentPresent uint64")
	}
	var decls []declaration
	for _, f := range fields {
		typ := goType(f.t)
		if f.lazy {
			typ = "*" + typ
		}
		decls = append(decls, declaration{f.priv, typ})
		if f.class == classShared {
			decls = append(decls, declaration{f.priv + "Sent", typ})
		}
	}
	pr.Fields(decls)
	pr.If(s.Dict != "", "slot stefrt.Slot")
	pr.P("}")
	if len(fields) > 0 {
		pr.Decl("// The fields of %s, as bits of Modified.", s.Name)
		pr.P("const (")
		for i, f := range fields {
			if i == 0 {
				pr.P("%s uint64 = 1 << iota", f.bit)
			} else {
				pr.P("%s", f.bit)
			}
		}
		pr.P(")")
	}
	pr.Decl("// New%s returns an initial value that is not part of a record.", s.Name)
	pr.P("func New%s() *%s { return stefrt.New((*%s).init) }", s.Name, s.Name, s.Name)
	for _, f := range fields {
		p.printAccessors(pr, s, f)
	}
	p.printStructText(pr, s, fields)
	p.printStructCommon(pr, s, fields)
	if p.shared[s.Name] {
		p.printStructShared(pr, s, fields)
	}
}

func (p *plan) printStructCodec(pr *printer, s *schema.Struct) {
	fields := p.fieldsOf(s)
	p.printStructEncoder(pr, s, fields)
	p.printStructDecoder(pr, s, fields)
}

func (p *plan) printAccessors(pr *printer, s *schema.Struct, f *field) {
	pr.P("")
	stale := f.present != "" && (f.class == classNode || f.class == classShared)
	pr.Doc(getterDoc(getter(f), f.Name, f.Doc))
	f.formDoc(pr)
	if stale { // print a separate paragraph: users of other fields need not call Has
		pr.P("//\n// Call Has%s before reading: if it is absent, this may be the value of an earlier record.", f.name)
		pr.If(f.class == classNode, "// Call Add%s before setting: changes of an absent value are not written.", f.name)
	}
	pr.If(f.present != "" && !stale, "// It is the zero value if it is absent.")
	switch value := "s." + f.priv; {
	case f.class == classNode && f.lazy:
		pr.P("// It is nil before it is present for the first time.")
		p.printGetter(pr, s, f, getterType(f.t), view(f.t, "s."+f.priv))
	case f.class == classNode:
		p.printGetter(pr, s, f, getterType(f.t), view(f.t, "&s."+f.priv))
	case f.class == classBytes:
		pr.P("// The value belongs to the record; copy it to keep it.")
		p.printGetter(pr, s, f, "[]byte", f.ifPresent(value))
	case f.class == classShared:
		pr.P("// It must not be changed once it is shared: see Edit%s and Set%s.", f.name, f.name)
		p.printGetter(pr, s, f, getterType(f.t), value)
	default:
		p.printGetter(pr, s, f, getterType(f.t), f.ifPresent(value))
	}
	if f.present != "" {
		pr.Decl("// Has%s reports whether %s is present.", f.name, f.name)
		some := ""
		if p.absent[s.Name] {
			some = "s != nil && "
		}
		pr.P("func (s *%s) Has%s() bool { return %ss.present&(%s) != 0 }", s.Name, f.name, some, f.present)
	}
	switch f.class {
	case classScalar, classBytes:
		p.printSetter(pr, s, f)
	case classShared:
		p.printSharedSetter(pr, s, f)
	case classNode:
		if f.present != "" {
			p.printAdder(pr, s, f)
		}
	}
	if f.present != "" {
		pr.Decl("// Unset%s makes %s absent.", f.name, f.name)
		pr.P("func (s *%s) Unset%s() {", s.Name, f.name)
		pr.P("if s.present&(%s) != 0 {\ns.node.Mark(%s)\ns.present &^= %s\n}\n}", f.present, f.bit, f.present)
	}
}

// printGetter prints the getter of a field. If the struct may be absent, the getter accepts a
// nil receiver and returns zero or nil for it.
func (p *plan) printGetter(pr *printer, s *schema.Struct, f *field, typ, value string) {
	if !p.absent[s.Name] {
		pr.P("func (s *%s) %s() %s { return %s }", s.Name, getter(f), typ, value)
		return
	}
	none := "nil"
	if f.class == classScalar {
		none = zero(f.t, "")
	}
	pr.P("func (s *%s) %s() %s {\nif s == nil {\nreturn %s\n}\nreturn %s\n}", s.Name, getter(f), typ, none, value)
}

// ifPresent returns a Go expression with the value of a field. If the field is optional and absent,
// the expression is the zero value, although the record still stores the value: readers need it
// for later records.
func (f *field) ifPresent(value string) string {
	if f.present == "" {
		return value
	}
	return fmt.Sprintf("stefrt.IfPresent(s.present&(%s), %s)", f.present, value)
}

func (p *plan) printSetter(pr *printer, s *schema.Struct, f *field) {
	condition := different(f.t, "s."+f.priv, "v")
	pr.P("")
	if f.present == "" {
		pr.P("// Set%s sets %s.", f.name, f.name)
		f.formDoc(pr)
		pr.P("func (s *%s) Set%s(v %s) {", s.Name, f.name, goType(f.t))
		if f.class == classBytes {
			pr.P("if stefrt.SetBytes(&s.%s, v, &s.node, %s) && len(v) >= stefrt.LargeText {\ns.node.SetLarge()\n}\n}", f.priv, f.bit)
			return
		}
		pr.P("if %s {\ns.node.Mark(%s)\n%s%s\n}\n}", condition, f.bit, large(f.t, "s.node", "v"), assign(f.t, "s."+f.priv, "v"))
		return
	}
	pr.P("// Set%s makes %s present and sets it.", f.name, f.name)
	pr.P("func (s *%s) Set%s(v %s) {", s.Name, f.name, goType(f.t))
	pr.P("if s.present&(%s) == 0 || %s {", f.present, condition)
	pr.P("s.node.Mark(%s)\n%ss.present |= %s\n%s\n}\n}", f.bit, large(f.t, "s.node", "v"), f.present, assign(f.t, "s."+f.priv, "v"))
	pr.Decl("// SetOptional%s sets %s, or makes it absent if present is false.", f.name, f.name)
	pr.P("func (s *%s) SetOptional%s(v %s, present bool) {", s.Name, f.name, goType(f.t))
	pr.P("if present {\ns.Set%s(v)\nreturn\n}\ns.Unset%s()\n}", f.name, f.name)
}

func (p *plan) printAdder(pr *printer, s *schema.Struct, f *field) {
	pr.Decl("// Add%s makes %s present, with the initial value if it was absent, and", f.name, f.name)
	pr.P("// returns it. A present value keeps its content.")
	pr.P("func (s *%s) Add%s() %s {", s.Name, f.name, getterType(f.t))
	pr.P("if s.present&(%s) == 0 {", f.present)
	pr.P("s.node.Mark(%s)", f.bit)
	if f.lazy {
		pr.P("if s.%s == nil {\ns.%s = new(%s)\n%s\n}", f.priv, f.priv, goType(f.t),
			initStatement(f.t, "s."+f.priv, "&s.node", f.bit))
	}
	pr.P("if s.sentPresent&(%s) != 0 {\ns.%s.Reset()\n} else {\ns.%s.%s()\n}", f.present, f.priv, f.priv, method(f.t, "Clear"))
	pr.P("s.present |= %s\n}", f.present)
	pr.P("return %s\n}", view(f.t, f.ref("s")))
}

// printSharedSetter prints the setters of a dictionary struct.
func (p *plan) printSharedSetter(pr *printer, s *schema.Struct, f *field) {
	add := ""
	if f.present != "" {
		// While the value was absent, checks of the record's size did not see it, so request a new
		// check.
		add = fmt.Sprintf("if s.present&(%s) == 0 {\ns.node.Mark(%s)\ns.present |= %s\nif v == s.%s {\ns.node.SetLarge()\n}\n}\n",
			f.present, f.bit, f.present, f.priv)
	}
	pr.Decl("// Set%s sets %s to a value, which becomes shared; see package stef.", f.name, f.name)
	pr.P("// Writers of different goroutines must not share a value: use one value for each.")
	pr.P("func (s *%s) Set%s(v *%s) {", s.Name, f.name, f.t.Name)
	pr.P("%sif v == s.%s {\nreturn\n}", add, f.priv)
	pr.P("v = v.share(&s.node)")
	condition := fmt.Sprintf("v == s.%sSent", f.priv)
	if f.present != "" {
		condition += fmt.Sprintf(" && s.sentPresent&(%s) != 0", f.present)
	}
	pr.P("if %s {\ns.node.Unmark(%s)\n} else {\ns.node.Mark(%s)\n}", condition, f.bit, f.bit)
	pr.P("s.%s = v\n}", f.priv)
	pr.Decl("// Edit%s returns %s to be changed. If it is shared, a copy replaces it first.", f.name, f.name)
	pr.If(f.present != "", "// If it was absent, it has the initial value.")
	pr.P("func (s *%s) Edit%s() *%s {", s.Name, f.name, f.t.Name)
	if f.present != "" {
		pr.P("if s.present&(%s) == 0 {", f.present)
		pr.P("s.node.Mark(%s)", f.bit)
		pr.P("s.%s = New%s()\ns.%s.node.Init(&s.node, %s)", f.priv, f.t.Name, f.priv, f.bit)
		pr.P("s.present |= %s\nreturn s.%s\n}", f.present, f.priv)
	}
	pr.P("s.%s = s.%s.edit(&s.node, %s)\nreturn s.%s\n}", f.priv, f.priv, f.bit, f.priv)
}

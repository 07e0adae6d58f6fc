// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

func (p *plan) printCoderType(pr *printer, s *schema.Struct, fields []*field, role string) {
	pr.Decl("type %s%s struct {", private(s.Name), role)
	kind := "Struct"
	if s.Oneof {
		kind = "Oneof"
	}
	pr.P("head stefrt.%s%s", kind, role)
	if s.Dict != "" {
		container := map[string]string{"Encoder": "StructDict", "Decoder": "StructTable"}[role]
		pr.P("dict *stefrt.%s[%s]", container, s.Name)
	}
	var decls []declaration
	for _, f := range fields {
		decls = append(decls, declaration{f.priv, p.coder(f.t, role)})
	}
	pr.Fields(decls)
	pr.P("}")
	pr.P("")
	recv := map[string]string{"Encoder": "e", "Decoder": "d"}[role]
	pr.P("func (%s *%s%s) register(b *stefrt.%sBuilder, name string) {", recv, private(s.Name), role, role)
	if s.Dict != "" {
		source := map[string]string{"Encoder": "EncoderDict", "Decoder": "DecoderTable"}[role]
		pr.P("%s.dict = stefrt.%s[%s](b, %q)", recv, source, s.Name, s.Dict)
	}
	optional := optionalMask(fields)
	if s.Oneof {
		pr.P("b.Oneof(name, %q, &%s.head,", s.Name, recv)
	} else {
		pr.P("b.Struct(name, %q, &%s.head, %s,", s.Name, recv, optional)
	}
	for _, f := range fields {
		pr.P("%s,", p.register(f.t, f.Name, recv+"."+f.priv, role))
	}
	pr.P(")\n}")
}

// sent returns the Go condition under which an encoder writes the field or a decoder reads it: the
// modified mask has the field, and an optional field is present.
func (f *field) sent() string {
	condition := fmt.Sprintf("mask&%s != 0", f.bit)
	if f.present != "" {
		condition += fmt.Sprintf(" && s.present&(%s) != 0", f.present)
	}
	return condition
}

func (p *plan) printStructEncoder(pr *printer, s *schema.Struct, fields []*field) {
	p.printCoderType(pr, s, fields, "Encoder")
	name := private(s.Name) + "Encoder"
	if s.Dict != "" {
		p.printDictEncode(pr, s)
		pr.Decl("func (e *%s) encodeFields(s *%s) {", name, s.Name)
	} else {
		pr.Decl("func (e *%s) Encode(s *%s) {", name, s.Name)
	}
	if len(fields) == 0 {
		pr.P("s.node.SetModified(0)\n}")
		return
	}
	pr.P("mask := s.node.Take() & e.head.Mask")
	pr.P("e.head.Write(mask, e.head.Fields)")
	if optionalMask(fields) != "0" {
		pr.P("s.sentPresent = s.present & e.head.OptionalMask")
		pr.P("e.head.Write(s.sentPresent, e.head.Optional)")
	}
	for _, f := range fields {
		statement := encode(f.t, "e."+f.priv, "s."+f.priv)
		switch {
		case f.lazy:
			statement = fmt.Sprintf("e.%s.Encode(s.%s)", f.priv, f.priv)
		case f.class == classShared:
			statement = fmt.Sprintf("s.%sSent = e.%s.Encode(s.%s, s.%sSent)", f.priv, f.priv, f.priv, f.priv)
			if f.present != "" {
				// In the reader, a field that becomes present begins with the initial value.
				pr.P("if s.present&(%s) == 0 {\ns.%sSent = initial%s\n}", f.present, f.priv, f.t.Name)
			}
		}
		pr.P("if %s {\n%s\n}", f.sent(), statement)
	}
	pr.P("}")
}

// printDictEncode prints the encoding of a dictionary struct: a reference if the value
// is in the dictionary, and the full value if not.
func (p *plan) printDictEncode(pr *printer, s *schema.Struct) {
	n := s.Name
	pr.Decl("// Encode writes v, or a reference to an equal value written before, and")
	pr.P("// returns the shared value that the reader has afterwards. held is the value that the")
	pr.P("// reader had before, or nil if that is unknown.")
	pr.P("func (e *%sEncoder) Encode(v, held *%s) *%s {", private(n), n, n)
	pr.P("if ref, ok := e.dict.Known(&v.slot); ok {\ne.head.Reference(ref)\nreturn v\n}")
	pr.P("entry, ref, sum := e.dict.Find(v, (*%s).hash, (*%s).Equal)", n, n)
	pr.P("if entry != nil {")
	pr.P("e.head.Reference(ref)")
	pr.P("if v.node.Frozen() {\ne.dict.Remember(&v.slot, ref)\n} else {\nv.clean()\n}")
	pr.P("return entry\n}")
	pr.P("if !v.node.Frozen() {")
	pr.P("private := v\nv = New%s()\nv.%s(private)\nv.freeze()\nprivate.clean()\n}", n, p.copyMethod(structType(s)))
	pr.P("if held != nil {\nv.markDiff(held)\n} else {\nv.markAll(new(stefrt.Check))\n}")
	pr.P("e.head.Write(1, 1)")
	pr.P("e.encodeFields(v)")
	pr.P("v.clean() // fields that the stream lacks are still marked, and their setters would not panic")
	pr.P("size := v.size()")
	pr.P("v.slot.KeepSize(size)")
	pr.P("e.dict.Remember(&v.slot, e.dict.Insert(sum, v, size))")
	pr.P("return v\n}")
}

func (p *plan) printStructDecoder(pr *printer, s *schema.Struct, fields []*field) {
	p.printCoderType(pr, s, fields, "Decoder")
	name := private(s.Name) + "Decoder"
	n := s.Name
	pr.P("")
	if s.Dict != "" {
		copyMethod := p.copyMethod(structType(s))
		pr.P("// Decode returns an entry of the dictionary, which may be new. held is the")
		pr.P("// previous value.")
		pr.P("func (d *%s) Decode(held *%s) *%s {", name, n, n)
		pr.P("if d.head.Read(1) == 0 {")
		pr.P("if entry := d.dict.Entry(&d.head.BitsIn); entry != nil {\nreturn entry\n}")
		pr.P("return held\n}")
		pr.P("s := New%s()", n)
		pr.P("s.%s(held)", copyMethod)
		pr.P("d.decodeFields(s)")
		pr.P("size := s.size()")
		pr.P("owned := d.dict.Owned(s)")
		pr.P("if d.dict.Spacious(size, owned) {")
		pr.P("large := s\ns = New%s()\ns.%s(large)\nowned = d.dict.Owned(s)\n}", n, copyMethod)
		pr.P("if size >= stefrt.LargeText {\ns.node.SetLarge()\n}")
		pr.P("s.freeze()")
		pr.P("s.slot.KeepSize(size)")
		pr.P("d.dict.Append(&d.head.BitsIn, s, size, owned)")
		pr.P("return s\n}")
		pr.Decl("func (d *%s) decodeFields(s *%s) {", name, n)
	} else {
		pr.P("func (d *%s) Decode(s *%s) {", name, n)
	}
	pr.If(p.cyclic[n], "if !stefrt.Enter(d.head.Alloc, &d.head) {\nreturn\n}")
	p.printMasks(pr, fields)
	for _, f := range fields {
		statement := decode(f.t, "d."+f.priv, "s."+f.priv)
		if f.lazy {
			statement = fmt.Sprintf("d.%s.Decode(s.%s)", f.priv, f.priv)
			p.printOpen(pr, s, f)
		}
		if f.present != "" && f.class == classNode {
			statement = fmt.Sprintf("if was&(%s) == 0 {\ns.%s.%s()\n}\n", f.present, f.priv, method(f.t, "Clear")) + statement
		}
		if f.present != "" && f.class == classShared {
			statement = fmt.Sprintf("if was&(%s) == 0 {\ns.%s = initial%s\n}\n", f.present, f.priv, f.t.Name) + statement
		}
		pr.P("if %s {\n%s\n}", f.sent(), statement)
	}
	pr.If(p.cyclic[n], "stefrt.Leave(d.head.Alloc)")
	pr.P("}")
}

// printMasks prints the decoding of the modified mask and the presence mask. A field whose presence
// changes is modified, even if the writer did not set its bit.
//
// spec: #struct
func (p *plan) printMasks(pr *printer, fields []*field) {
	if len(fields) == 0 {
		return
	}
	pr.P("mask := d.head.Read(d.head.Fields)")
	if optionalMask(fields) == "0" {
		pr.P("s.node.SetModified(mask)")
		return
	}
	pr.P("was := s.present")
	pr.P("s.present = d.head.Read(d.head.Optional)")
	pr.P("s.node.SetModified(mask | %s)", presenceMarks(fields, "was^s.present"))
}

// presenceMarks returns an expression that converts presence, the expression of a presence mask,
// to a modified mask: each bit moves to the place of its field among all fields. Neighbouring
// fields share a shift.
func presenceMarks(fields []*field, presence string) string {
	var shifts []int
	present := map[int][]string{}
	optional := 0
	for i, f := range fields {
		if f.present == "" {
			continue
		}
		shift := i - optional
		optional++
		if present[shift] == nil {
			shifts = append(shifts, shift)
		}
		present[shift] = append(present[shift], f.present)
	}
	var terms []string
	for _, shift := range shifts {
		term := "(" + presence + ")"
		if len(shifts) > 1 {
			term += "&(" + strings.Join(present[shift], "|") + ")"
		}
		if shift > 0 {
			term += fmt.Sprintf("<<%d", shift)
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, " | ")
}

// printOpen prints the allocation of a lazy field in the decoder. A field
// must be allocated whenever it is present, and its memory counts against the limit of
// the record.
func (p *plan) printOpen(pr *printer, s *schema.Struct, f *field) {
	leave := ""
	if p.cyclic[s.Name] {
		leave = "stefrt.Leave(d.head.Alloc)\n"
	}
	pr.P("if s.present&(%s) != 0 && s.%s == nil {", f.present, f.priv)
	pr.P("if !stefrt.Take(d.head.Alloc, &d.head, int(unsafe.Sizeof(*s.%s))%s) {\ns.present = 0\n%sreturn\n}", f.priv, p.initialSize(f.t), leave)
	pr.P("s.%s = new(%s)\n%s\n}", f.priv, goType(f.t), initStatement(f.t, "s."+f.priv, "&s.node", f.bit))
}

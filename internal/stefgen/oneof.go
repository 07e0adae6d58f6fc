// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/schema"
)

// A oneof stores its value in slots that choices share: num for all numbers; str for
// text, with its dictionary reference in num; and a box for everything larger, which
// is allocated when it is first needed. So a oneof is small, and can contain itself.

// slot returns the Go expression of the slot in which a oneof stores the value of a choice.
func slot(f *field, recv string) string {
	switch {
	case f.t.Kind == schema.KindString:
		return recv + ".str"
	case f.class == classScalar:
		return recv + ".num"
	}
	return recv + ".box." + f.priv
}

// toSlot and fromSlot convert between a Go value and the content of its slot.
func toSlot(t *schema.Type, v string) string {
	switch t.Kind {
	case schema.KindBool:
		return "stefrt.BoolBits(" + v + ")"
	case schema.KindFloat64:
		return "math.Float64bits(" + v + ")"
	case schema.KindInt64, schema.KindEnum:
		return "uint64(" + v + ")"
	}
	return v
}

func fromSlot(t *schema.Type, v string) string {
	switch t.Kind {
	case schema.KindBool:
		return v + " != 0"
	case schema.KindFloat64:
		return "math.Float64frombits(" + v + ")"
	case schema.KindInt64:
		return "int64(" + v + ")"
	case schema.KindEnum:
		return t.Name + "(" + v + ")"
	}
	return v
}

func slotsOf(fields []*field) (num, str, box bool) {
	for _, f := range fields {
		switch {
		case f.t.Kind == schema.KindString:
			str, num = true, num || inDict(f.t)
		case f.class == classScalar:
			num = true
		default:
			box = true
		}
	}
	return num, str, box
}

func (p *plan) printOneof(pr *printer, s *schema.Struct) {
	fields := p.choicesOf(s)
	n := s.Name
	num, str, box := slotsOf(fields)
	pr.P("")
	pr.Doc(docOr(s.Doc, n+" is a oneof."))
	pr.P("type %s struct {", n)
	pr.P("node stefrt.Node")
	pr.P("typ, sent %sType", n)
	pr.If(num, "num uint64")
	pr.If(str, "str string")
	pr.If(box, "box *%sBox", private(n))
	pr.P("}")
	if box {
		pr.Decl("// %sBox holds the choices that are not a number or text.", private(n))
		pr.P("type %sBox struct {", private(n))
		for _, f := range fields {
			pr.If(f.class != classScalar, "%s %s", f.priv, goType(f.t))
		}
		pr.P("}")
	}
	pr.Decl("// %sType is a choice of the oneof %s.", n, n)
	pr.P("type %sType uint8", n)
	pr.Decl("// The choices of %s.", n)
	pr.P("const (")
	pr.P("// %sTypeNone means that there is no value.", n)
	pr.P("%sTypeNone %sType = iota", n, n)
	for _, f := range fields {
		pr.Doc(prefixed(n+"Type", f.Name, f.Doc))
		pr.P("%s", f.bit)
	}
	pr.P(")")
	p.printChoiceText(pr, n, fields)
	pr.Decl("// New%s returns an empty value that is not part of a record.", n)
	pr.P("func New%s() *%s { return stefrt.New((*%s).init) }", n, n, n)
	p.printOneofAccess(pr, n, fields, box)
	p.printOneofText(pr, n, fields)
	p.printOneofCommon(pr, s, fields, num, str)
}

func (p *plan) printChoiceText(pr *printer, n string, fields []*field) {
	pr.Decl("// String returns the name of the choice: None, or the name in the schema.")
	pr.P("func (t %sType) String() string {", n)
	pr.P("switch t {")
	pr.P("case %sTypeNone:\nreturn \"None\"", n)
	for _, f := range fields {
		pr.P("case %s:\nreturn %q", f.bit, f.Name)
	}
	pr.P("}")
	pr.P("return \"%sType(\" + strconv.Itoa(int(t)) + \")\"\n}", n)
}

// printOneofCodec prints the encoder and the decoder of a oneof. If a dictionary struct contains the
// oneof, printOneofCodec also prints the methods that dictionaries call, such as hash.
func (p *plan) printOneofCodec(pr *printer, s *schema.Struct) {
	fields := p.choicesOf(s)
	_, _, box := slotsOf(fields)
	if p.shared[s.Name] {
		p.printOneofShared(pr, s.Name, fields)
	}
	p.printOneofEncoder(pr, s, fields)
	p.printOneofDecoder(pr, s, fields, box)
}

// choicesOf returns the choices of a oneof as fields. bit of each field is the constant of the choice.
func (p *plan) choicesOf(s *schema.Struct) []*field {
	fields := p.fieldsOf(s)
	for _, f := range fields {
		f.bit = s.Name + "Type" + f.name
		f.present = ""
	}
	return fields
}

func (p *plan) printOneofAccess(pr *printer, n string, fields []*field, box bool) {
	pr.Decl("// Type returns the choice. The getters of the other choices return zero or nil. A nil")
	pr.P("// value, such as the result of a search without a match, has no choice.")
	pr.P("func (v *%s) Type() %sType {\nif v == nil {\nreturn %sTypeNone\n}\nreturn v.typ\n}", n, n, n)
	pr.Decl("// SetType sets the choice. A new choice has its initial value. An unknown choice is set as None.")
	pr.P("func (v *%s) SetType(typ %sType) {", n, n)
	last := n + "TypeNone"
	for _, f := range fields {
		last = f.bit
	}
	pr.If(len(fields) < math.MaxUint8, "if typ > %s {\ntyp = %sTypeNone\n}", last, n)
	pr.P("if v.typ == typ {\nreturn\n}")
	pr.P("v.node.Mark(1)")
	pr.P("v.typ = typ")
	p.printChoiceInit(pr, fields)
	pr.P("}")
	if box {
		pr.Decl("// open allocates the box, which stores large choices.")
		pr.P("func (v *%s) open() {", n)
		pr.P("if v.box != nil {\nreturn\n}")
		pr.P("v.box = new(%sBox)", private(n))
		for _, f := range fields {
			pr.If(f.class == classNode, "%s", initStatement(f.t, slot(f, "v"), "&v.node", "1"))
		}
		pr.P("}")
	}
	for _, f := range fields {
		p.printChoice(pr, n, f)
	}
	if i := slices.IndexFunc(fields, func(f *field) bool { return inDict(f.t) }); i >= 0 {
		pr.Decl("func (v *%s) setText(typ %sType, x string, ref stef.TextRef) {", n, n)
		pr.P("if v.typ == typ && codec.SameText(v.str, stef.TextRef(v.num), x, ref) {")
		pr.P("if ref != 0 {\nv.num = uint64(ref)\n}\nreturn\n}")
		pr.P("v.node.Mark(1)\n%sv.typ = typ\nv.str, v.num = x, uint64(ref)\n}", large(fields[i].t, "v.node", "x"))
	}
}

// printChoiceInit prints the switch that sets a new choice to its initial value.
func (p *plan) printChoiceInit(pr *printer, fields []*field) {
	num, str, box := slotsOf(fields)
	if box {
		pr.P("switch typ {")
		for _, f := range fields {
			switch f.class {
			case classNode:
				pr.P("case %s:", f.bit)
				pr.P("v.open()")
				// If the reader has this choice, the choice must get its initial value in the reader,
				// too. So the code calls Reset, which marks the changes.
				pr.P("if v.sent == typ {\n%s.Reset()\n} else {\n%s.%s()\n}", slot(f, "v"), slot(f, "v"), method(f.t, "Clear"))
			case classBytes:
				pr.P("case %s:", f.bit)
				pr.P("v.open()\n%s = %s[:0]", slot(f, "v"), slot(f, "v"))
			}
		}
		pr.P("}")
	}
	pr.If(num, "v.num = 0")
	pr.If(str, `v.str = ""`)
}

func (p *plan) printChoice(pr *printer, n string, f *field) {
	pr.P("")
	pr.Doc(getterDoc(getter(f), f.Name, f.Doc))
	otherwise := map[class]string{classNode: "nil", classBytes: "nil"}[f.class]
	if otherwise == "" {
		otherwise = zero(f.t, "")
	}
	pr.P("// It is %s unless Type is %s.", otherwise, f.bit)
	pr.P("func (v *%s) %s() %s {", n, getter(f), getterType(f.t))
	result := fromSlot(f.t, slot(f, "v"))
	if f.class == classNode {
		result = view(f.t, "&"+slot(f, "v"))
	}
	pr.P("if v == nil || v.typ != %s {\nreturn %s\n}\nreturn %s\n}", f.bit, otherwise, result)
	if f.class == classNode {
		pr.Decl("// Set%s sets the choice to %s and returns its value, which keeps its content if %s is chosen already.", f.name, f.name, f.name)
		pr.P("func (v *%s) Set%s() %s {\nv.SetType(%s)\nreturn %s\n}", n, f.name, getterType(f.t), f.bit, view(f.t, "&"+slot(f, "v")))
		return
	}
	pr.Decl("// Set%s sets the value.", f.name)
	if inDict(f.t) {
		pr.P("func (v *%s) Set%s(x string) { v.Set%sRef(x, 0) }", n, f.name, f.name)
		pr.Decl("// Set%sRef is Set%s with the reference to the text in the writer's dictionary, or 0.", f.name, f.name)
		pr.P("func (v *%s) Set%sRef(x string, ref stef.TextRef) {", n, f.name)
		// Callers inline this comparison, so most unchanged values cost no call.
		pr.P("if ref == 0 || v.num != uint64(ref) || v.typ != %s {\nv.setText(%s, x, ref)\n}\n}", f.bit, f.bit)
		return
	}
	pr.P("func (v *%s) Set%s(x %s) {", n, f.name, goType(f.t))
	if f.class == classBytes {
		pr.P("if v.typ != %s || !bytes.Equal(%s, x) {", f.bit, slot(f, "v"))
		pr.P("v.node.Mark(1)\n%sv.open()\nv.typ = %s\n%s = append(%s[:0], x...)\n}\n}", large(f.t, "v.node", "x"), f.bit, slot(f, "v"), slot(f, "v"))
		return
	}
	x := toSlot(f.t, "x")
	if x != "x" {
		pr.P("b := %s", x)
		x = "b"
	}
	pr.P("if v.typ != %s || %s != %s {", f.bit, slot(f, "v"), x)
	pr.P("v.node.Mark(1)\n%sv.typ = %s\n%s = %s\n}\n}", large(f.t, "v.node", x), f.bit, slot(f, "v"), x)
}

// eachChoice prints a switch statement; on is the expression of the switch. The switch has a case
// for each choice whose statement is not empty.
func eachChoice(pr *printer, on string, fields []*field, statement func(f *field) string) {
	cases := false
	for _, f := range fields {
		if st := statement(f); st != "" {
			if !cases {
				pr.P("switch %s {", on)
				cases = true
			}
			pr.P("case %s:\n%s", f.bit, st)
		}
	}
	if cases {
		pr.P("}")
	}
}

func (p *plan) printOneofCommon(pr *printer, s *schema.Struct, fields []*field, num, str bool) {
	n := s.Name
	pr.Decl("func (v *%s) init(parent *stefrt.Node, bit uint64) { v.node.Init(parent, bit) }", n)
	pr.Decl("// clear sets the initial value and clears the marks.")
	pr.P("func (v *%s) clear() {", n)
	pr.P("v.node.SetModified(0)\nv.typ, v.sent = 0, 0")
	pr.If(str, `v.str = ""`)
	pr.P("}")
	pr.Decl("// Reset removes the value.")
	pr.P("func (v *%s) Reset() { v.SetType(%sTypeNone) }", n, n)
	pr.Decl("// CopyFrom copies the value of src to v.%s", p.sharedKept(structType(s)))
	p.printCopyFrom(pr, structType(s), "v")
	pr.P("switch src.typ {")
	pr.P("case %sTypeNone:\nv.SetType(%sTypeNone)", n, n)
	for _, f := range fields {
		pr.P("case %s:", f.bit)
		if f.class == classNode {
			pr.P("%s", p.copyAdded(f.t, "v.Set"+f.name+"()", slot(f, "v"), "&"+slot(f, "src")))
		} else {
			pr.P("v.Set%s(%s)", f.name, fromSlot(f.t, slot(f, "src")))
		}
	}
	pr.P("}\n}")
	pr.Decl("// Equal reports whether v and o have the same value; floats are compared bit by bit.")
	pr.P("func (v *%s) Equal(o *%s) bool {", n, n)
	pr.P("if v.typ != o.typ {\nreturn false\n}")
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		a, b := slot(f, "v"), slot(f, "o")
		switch {
		case f.class == classNode:
			return fmt.Sprintf("return %s.Equal(&%s)", a, b)
		case f.class == classBytes:
			return fmt.Sprintf("return bytes.Equal(%s, %s)", a, b)
		case f.t.Kind == schema.KindString:
			return fmt.Sprintf("return %s == %s", a, b)
		}
		return ""
	})
	if num {
		pr.P("return v.typ == %sTypeNone || v.num == o.num\n}", n)
	} else {
		pr.P("return true\n}")
	}
	p.printOneofUnshare(pr, s, fields)
	pr.Decl("// markAll marks all of v as changed.")
	pr.P("func (v *%s) markAll(c *stefrt.Check) {", n)
	pr.P("c.Mark(&v.node, 1)")
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		if f.class == classNode {
			return fmt.Sprintf("%s.%s(c)", slot(f, "v"), method(f.t, "MarkAll"))
		}
		if hasText(f.t) {
			return fmt.Sprintf("c.Text += len(%s)", slot(f, "v"))
		}
		return ""
	})
	pr.P("}")
}

func (p *plan) printOneofShared(pr *printer, n string, fields []*field) {
	pr.Decl("// clean clears all marks in v.")
	pr.P("func (v *%s) clean() {", n)
	pr.P("v.node.SetModified(0)")
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		if f.class == classNode {
			return fmt.Sprintf("%s.%s()", slot(f, "v"), method(f.t, "Clean"))
		}
		return ""
	})
	pr.P("}")
	pr.Decl("// markDiff marks what differs from held, and reports whether anything differs.")
	pr.P("func (v *%s) markDiff(held *%s) bool {", n, n)
	pr.P("if v.Equal(held) {\nv.node.SetModified(0)\nreturn false\n}")
	pr.P("v.node.SetModified(1)")
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		if f.class == classNode {
			return fmt.Sprintf("if held.typ == v.typ {\n%s.%s(&%s)\n} else {\n%s.%s(new(stefrt.Check))\n}",
				slot(f, "v"), method(f.t, "MarkDiff"), slot(f, "held"), slot(f, "v"), method(f.t, "MarkAll"))
		}
		return ""
	})
	pr.P("return true\n}")
	pr.Decl("func (v *%s) hash(h *codec.Hash) {", n)
	pr.P("h.Uint64(uint64(v.typ))")
	num, _, _ := slotsOf(fields)
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		if f.class == classScalar && f.t.Kind != schema.KindString {
			return ""
		}
		return hash(f.t, slot(f, "v")) + "\nreturn"
	})
	pr.If(num, "if v.typ != %sTypeNone {\nh.Uint64(v.num)\n}", n)
	pr.P("}")
	pr.Decl("// size returns the memory of v as a part of a dictionary entry.")
	pr.P("func (v *%s) size() int {", n)
	eachChoice(pr, "v.typ", fields, func(f *field) string {
		if expr := size(f.t, slot(f, "v")); expr != "" {
			return "return 8 + " + expr
		}
		return ""
	})
	pr.P("return 8\n}")
}

func (p *plan) printOneofEncoder(pr *printer, s *schema.Struct, fields []*field) {
	p.printCoderType(pr, s, fields, "Encoder")
	pr.Decl("func (e *%sEncoder) Encode(v *%s) {", private(s.Name), s.Name)
	pr.P("v.node.SetModified(0)")
	pr.P("typ := v.typ")
	pr.P("if uint64(typ) > e.head.Choices {\ntyp = %sTypeNone // the schema of the stream lacks the choice\n}", s.Name)
	pr.P("v.sent = typ")
	pr.P("e.head.Write(uint64(typ), e.head.Width)")
	eachChoice(pr, "typ", fields, func(f *field) string {
		if inDict(f.t) {
			return fmt.Sprintf("v.num = uint64(e.%s.EncodeRef(v.str, stef.TextRef(v.num)))", f.priv)
		}
		return encode(f.t, "e."+f.priv, fromSlotEncode(f))
	})
	pr.P("}")
}

// fromSlotEncode returns the Go expression of the value in a slot, as the function encode expects it.
// For an enum this is the number in the slot, not the value of the enum type.
func fromSlotEncode(f *field) string {
	if f.t.Kind == schema.KindEnum {
		return slot(f, "v")
	}
	return fromSlot(f.t, slot(f, "v"))
}

func (p *plan) printOneofDecoder(pr *printer, s *schema.Struct, fields []*field, box bool) {
	p.printCoderType(pr, s, fields, "Decoder")
	n := s.Name
	pr.Decl("func (d *%sDecoder) Decode(v *%s) {", private(n), n)
	// With 255 choices, the number of a choice is sent in 9 bits, but the Go type of the choice has
	// only 8 bits. So the number is compared with the maximum before it is converted.
	pr.P("choice := d.head.Read(d.head.Width)")
	pr.P("if choice > d.head.Choices {\nd.head.NoSuchChoice()\nreturn\n}")
	pr.P("typ := %sType(choice)", n)
	eachChoice(pr, "typ", fields, func(f *field) string {
		c := "d." + f.priv
		switch f.class {
		case classScalar:
			if f.t.Kind == schema.KindString {
				if inDict(f.t) {
					return fmt.Sprintf("v.str, v.num = %s.Decode(), 0", c)
				}
				return fmt.Sprintf("v.str = %s.Decode()", c)
			}
			if f.t.Kind == schema.KindEnum {
				return fmt.Sprintf("v.num = %s.Decode()", c)
			}
			return fmt.Sprintf("v.num = %s", toSlot(f.t, c+".Decode()"))
		case classBytes:
			return "if !d.open(v) {\nreturn\n}\n" + decode(f.t, c, slot(f, "v"))
		}
		enter, leave := "", ""
		if p.cyclic[n] {
			enter = "if !stefrt.Enter(d.head.Alloc, &d.head) {\nreturn\n}\n"
			leave = "\nstefrt.Leave(d.head.Alloc)"
		}
		return fmt.Sprintf("if !d.open(v) {\nreturn\n}\nif v.typ != typ {\n%s.%s()\n}\n%s%s%s",
			slot(f, "v"), method(f.t, "Clear"), enter, decode(f.t, c, slot(f, "v")), leave)
	})
	pr.P("v.typ = typ\n}")
	if box {
		pr.Decl("// open allocates the box of v. It returns false if the memory would exceed the limit of the record.")
		pr.P("func (d *%sDecoder) open(v *%s) bool {", private(n), n)
		pr.P("if v.box == nil {")
		var choices []*schema.Type
		for _, f := range fields {
			choices = append(choices, f.t)
		}
		pr.P("if !stefrt.Take(d.head.Alloc, &d.head, int(unsafe.Sizeof(%sBox{}))%s) {\nreturn false\n}", private(n), p.initialSize(choices...))
		pr.P("v.open()\n}\nreturn true\n}")
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

func getter(f *field) string {
	if other := Renamed(f.name, f.t.Kind); other != "" {
		return other
	}
	return f.name
}

// Renamed returns the name of the getter of a field, or "" if the getter has the name of the field.
// The method String prints the whole value. With a method Error or GoString of type string, package
// fmt would print only this field, and with Error the value could be passed as an error.
func Renamed(name string, kind schema.Kind) string {
	switch {
	case name == "String":
		return "Str"
	case name == "Error" && kind == schema.KindString:
		return "Err"
	case name == "GoString" && kind == schema.KindString:
		return "GoStr"
	}
	return ""
}

// printJSONOf returns a Go statement that prints a value of type t as JSON. All other arguments
// are Go expressions: v is the value, ref is its address, and on is the printer that prints it.
func printJSONOf(t *schema.Type, on, v, ref string) string {
	switch {
	case t.Kind == schema.KindEnum && len(t.Enum.Values) > 0:
		return fmt.Sprintf("%s.Name(%s.String())", on, v)
	case t.Kind == schema.KindEnum:
		return fmt.Sprintf("%s.Any(uint64(%s))", on, v)
	case t.Kind == schema.KindArray && t.Elem.Kind.Composite():
		return fmt.Sprintf("stefrt.PrintArray(%s, %s, (*%s).json)", on, ref, t.Elem.Name)
	case t.Kind == schema.KindArray && t.Elem.Kind == schema.KindBytes:
		return fmt.Sprintf("%s.Any(%s.Decoding())", on, v)
	case t.Kind == schema.KindArray && t.Elem.Kind == schema.KindEnum && len(t.Elem.Enum.Values) > 0:
		return fmt.Sprintf("stefrt.PrintNames[%s](%s, %s.Values())", t.Elem.Enum.Name, on, v)
	case t.Kind == schema.KindArray:
		return fmt.Sprintf("%s.Any(%s.Values())", on, v)
	case t.Kind.Composite():
		return fmt.Sprintf("%s.json(%s)", v, on)
	}
	return fmt.Sprintf("%s.Any(%s)", on, v)
}

// printMarshal prints the methods for encoding/json. Without them, encoding/json would find no
// exported fields.
func printMarshal(pr *printer, receiver, typ string) {
	pr.Decl("// MarshalJSON returns %s for encoding/json, with the names of the schema.", receiver)
	pr.P("func (%s *%s) MarshalJSON() ([]byte, error) { return stefrt.Marshal(%s.json) }", receiver, typ, receiver)
	pr.Decl("// UnmarshalJSON returns an error: the JSON of MarshalJSON cannot be read.")
	pr.P("func (*%s) UnmarshalJSON([]byte) error { return stefrt.Unmarshal(%q) }", typ, typ)
	pr.P("")
}

func (p *plan) printStructText(pr *printer, s *schema.Struct, fields []*field) {
	pr.Decl("// String returns s as JSON for human readers.")
	pr.P("func (s *%s) String() string { return stefrt.StringOf(s.json) }", s.Name)
	printMarshal(pr, "s", s.Name)
	pr.P("func (s *%s) json(j *stefrt.JSON) {", s.Name)
	pr.P("j.Open('{')")
	for _, f := range fields {
		guarded(pr, f, printJSONOf(f.t, fmt.Sprintf("j.Field(%q)", f.Name), "s."+f.priv, f.ref("s")))
	}
	pr.P("j.Close('}')\n}")
}

func (p *plan) printOneofText(pr *printer, n string, fields []*field) {
	pr.Decl("// String returns the value for human readers: text unchanged, bytes as base64,")
	pr.P("// composite values as JSON. It is empty if there is no value.")
	pr.P("func (v *%s) String() string {", n)
	pr.P("switch v.Type() {\ncase %sTypeNone:\nreturn \"\"", n)
	for _, f := range fields {
		pr.If(f.t.Kind == schema.KindOneof, "case %s:\nreturn %s.String()", f.bit, slot(f, "v"))
		if f.class == classNode {
			continue
		}
		x := fromSlot(f.t, slot(f, "v"))
		switch {
		case f.t.Kind == schema.KindString:
		case f.t.Kind == schema.KindEnum && len(f.t.Enum.Values) > 0:
			x += ".String()"
		case f.t.Kind == schema.KindEnum:
			x = fmt.Sprintf("stefrt.Plain(uint64(%s))", x)
		default:
			x = fmt.Sprintf("stefrt.Plain(%s)", x)
		}
		pr.P("case %s:\nreturn %s", f.bit, x)
	}
	pr.P("}\nreturn stefrt.StringOf(v.json)\n}")
	printMarshal(pr, "v", n)
	pr.P("func (v *%s) json(j *stefrt.JSON) {", n)
	pr.P("switch v.typ {")
	for _, f := range fields {
		x := slot(f, "v")
		if f.class != classNode {
			x = fromSlot(f.t, x)
		}
		pr.P("case %s:\n%s", f.bit, printJSONOf(f.t, "j", x, "&"+x))
	}
	pr.P("default:\nj.Null()\n}\n}")
}

// printMultimapText prints a multimap as an object if its keys are text and differ,
// otherwise as an array of pairs.
func (p *plan) printMultimapText(pr *printer, n string, k, v part) {
	pr.Decl("// String returns m as JSON for human readers.")
	pr.P("func (m *%s) String() string { return stefrt.StringOf(m.json) }", n)
	printMarshal(pr, "m", n)
	pr.P("func (m *%s) json(j *stefrt.JSON) {", n)
	value := printJSONOf(v.t, "j", "p."+v.priv, "&p."+v.priv)
	if k.t.Kind == schema.KindString {
		pr.P("stefrt.PrintPairs(j, m.pairs, func(p *%sPair) string { return p.%s }, func(p *%sPair) { %s })\n}", private(n), k.priv, private(n), value)
		return
	}
	pr.P("j.Open('[')\nfor _, p := range m.pairs {\nj.Item()\nj.Open('[')\nj.Item()\n%s\nj.Item()\n%s\nj.Close(']')\n}\nj.Close(']')\n}",
		printJSONOf(k.t, "j", "p."+k.priv, "&p."+k.priv), value)
}

// printMultimapLookup prints the methods that add, find and delete pairs by key.
func (p *plan) printMultimapLookup(pr *printer, n string, k, v part) {
	result, ref := goType(v.t), "p."+v.priv
	if v.class == classNode {
		result, ref = getterType(v.t), view(v.t, "&p."+v.priv)
	}
	if k.class == classScalar {
		pr.Decl("// All returns an iterator over the keys and values.")
		pr.P("func (m *%s) All() iter.Seq2[%s, %s] {", n, goType(k.t), result)
		pr.P("return func(yield func(%s, %s) bool) {", goType(k.t), result)
		pr.P("if m == nil {\nreturn\n}")
		pr.P("for _, p := range m.pairs {\nif !yield(p.key, %s) {\nreturn\n}\n}\n}\n}", ref)
		pr.P("")
		if v.class == classNode {
			pr.P("// Get returns the value of the first pair with that key, or nil if there is none. Setters of nil panic.")
			if v.t.Kind == schema.KindOneof {
				pr.P("// The getters of a nil value return zero or nil, and a nil list or map has no elements for")
				pr.P("// Len, All and Get.")
			}
			pr.P("func (m *%s) Get(key %s) %s {\nif m == nil {\nreturn nil\n}", n, goType(k.t), result)
			pr.P("for _, p := range m.pairs {\nif %s {\nreturn %s\n}\n}\nreturn nil\n}", same(k.t, "p.key", "key"), ref)
			pr.Decl("// Append adds a pair and returns its initial value. Pairs of the previous record remain until Reset.")
			pr.P("func (m *%s) Append(key %s) %s {", n, goType(k.t), result)
			pr.P("i := len(m.pairs)\nm.SetLen(i + 1)\nm.SetKey(i, key)\nreturn m.Value(i)\n}")
		} else {
			pr.P("// Get returns the value of the first pair with that key, and whether there is one.")
			pr.P("func (m *%s) Get(key %s) (value %s, ok bool) {\nif m == nil {\nreturn value, false\n}", n, goType(k.t), result)
			pr.P("for _, p := range m.pairs {\nif %s {\nreturn p.value, true\n}\n}\nreturn value, false\n}", same(k.t, "p.key", "key"))
			pr.Decl("// Append adds a pair. Pairs of the previous record remain until Reset.")
			pr.P("func (m *%s) Append(key %s, value %s) {", n, goType(k.t), result)
			pr.P("i := len(m.pairs)\nm.SetLen(i + 1)\nm.Set(i, key, value)\n}")
		}
	}
	pr.Decl("// Delete deletes the pairs from i up to but not including j. The contents of later pairs")
	pr.P("// move to lower indexes.")
	pr.P("func (m *%s) Delete(i, j int) {", n)
	pr.P("_ = m.pairs[i:j]")
	pr.P("for to, p := range m.pairs[j:] {")
	for _, part := range []part{k, v} {
		if part.class == classNode {
			pr.P("m.pairs[i+to].%s.%s(&p.%s)", part.priv, p.copyMethod(part.t), part.priv)
		} else {
			pr.P("m.Set%s(i+to, p.%s)", part.name, part.priv)
		}
	}
	pr.P("}\nm.SetLen(len(m.pairs) - (j - i))\n}")
	if k.class == classScalar && v.t.Kind == schema.KindOneof {
		for _, f := range p.fieldsOf(v.t.Struct) {
			pr.P("")
			if f.class == classNode {
				pr.P("// Append%s adds a pair with that key and returns its value, see Append.", f.name)
				pr.P("func (m *%s) Append%s(key %s) %s { return m.Append(key).Set%s() }", n, f.name, goType(k.t), getterType(f.t), f.name)
				continue
			}
			pr.P("// Append%s adds a pair with that key and value, see Append.", f.name)
			pr.P("func (m *%s) Append%s(key %s, value %s) { m.Append(key).Set%s(value) }", n, f.name, goType(k.t), goType(f.t), f.name)
		}
	}
}

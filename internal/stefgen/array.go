// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// printArray prints the declarations that arrays of a composite type need.
func (p *plan) printArray(pr *printer, t *schema.Type) {
	elem := t.Elem
	n, name := elem.Name, private(elem.Name)
	pr.P("")
	// The generated variable is set in a function init: an initial value in its declaration would be an
	// initialization cycle if a type contains arrays of itself.
	pr.P("// %sElem has the functions of %s that arrays call. It is set at start-up.", name, n)
	pr.P("var %sElem stefrt.Elem[%s]", name, n)
	pr.Decl("func init() {")
	pr.P("%sElem = stefrt.Elem[%s]{", name, n)
	pr.P("Init: (*%s).init, Clear: (*%s).clear, Reset: (*%s).Reset,\nCopyFrom: (*%s).%s, Equal: (*%s).Equal, MarkAll: (*%s).markAll,", n, n, n, n, p.copyMethod(elem), n, n)
	pr.If(p.shared[elem.Name], "Clean: (*%s).clean, Hash: (*%s).hash, Size: (*%s).size,\nMarkDiff: func(v, held *%s) { v.markDiff(held) },", n, n, n, n)
	if extra := p.initialSize(elem); extra != "" {
		pr.P("Extra: %s,", strings.TrimPrefix(extra, "+"))
	}
	pr.P("}\n}")
	for _, role := range []string{"Encoder", "Decoder"} {
		recv := map[string]string{"Encoder": "e", "Decoder": "d"}[role]
		pr.Decl("type %sArray%s struct {\nlength stefrt.Length%s\nelem %s\n}", name, role, role, p.coder(elem, role))
		pr.Decl("func (%s *%sArray%s) register(b *stefrt.%sBuilder, name string) {", recv, name, role, role)
		pr.P("b.Array(name, &%s.length, %s)\n}", recv, p.register(elem, "[]", recv+".elem", role))
	}
	pr.Decl("func (e *%sArrayEncoder) Encode(a *stefrt.Array[%s]) {", name, n)
	pr.P("n := a.BeginEncode()")
	pr.P("e.length.Encode(n)")
	pr.P("for i := range n {\ne.elem.Encode(a.At(i))\n}\n}")
	pr.Decl("func (d *%sArrayDecoder) Decode(a *stefrt.Array[%s]) {", name, n)
	if p.cyclic[key(t)] {
		pr.P("if !stefrt.Enter(d.length.Alloc, &d.length) {\nreturn\n}")
		pr.P("defer stefrt.Leave(d.length.Alloc)")
	}
	pr.P("n := d.length.Decode(d.elem.head.Room())")
	pr.P("if !a.BeginDecode(n, d.length.Alloc) {\nd.length.TooLarge()\nreturn\n}")
	pr.P("for i := range n {\nd.elem.Decode(a.At(i))\n}\n}")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// part is the key or the value of a multimap.
type part struct {
	t     *schema.Type
	class class
	name  string // Key, Value
	priv  string // key, value
	bit   string // the mark of a change at index i
}

// ref reports whether the part is text that can be in a dictionary.
func (part *part) ref() bool { return inDict(part.t) }

// encode returns the statement that encodes the part of pair p.
func (part *part) encode() string {
	x := "p." + part.priv
	if part.ref() {
		return fmt.Sprintf("%sRef = e.%s.EncodeRef(%s, %sRef)", x, part.priv, x, x)
	}
	return encode(part.t, "e."+part.priv, x)
}

func (part *part) decode() string {
	x := "p." + part.priv
	if part.ref() {
		return decode(part.t, "d."+part.priv, x) + fmt.Sprintf("\n%sRef = 0", x)
	}
	return decode(part.t, "d."+part.priv, x)
}

func (p *plan) printMultimap(pr *printer, m *schema.Multimap) {
	n := m.Name
	k, v := partsOf(m)
	pr.P("")
	pr.Doc(docOr(m.Doc, n+" is a multimap: a list of keys and values."))
	pr.P("//")
	pr.P("// It has at most stef.MaxPairs pairs when it is written. A pointer to a part of pair i")
	pr.P("// stays valid. After Delete it points to the part of the pair that has index i then.")
	pr.P("type %s struct {", n)
	pr.P("node stefrt.Node")
	pr.P("pairs []*%sPair // all pairs up to the capacity are allocated", private(n))
	pr.P("sent int // the number of pairs that was last written\n}")
	pr.Decl("type %sPair struct {", private(n))
	for _, part := range []part{k, v} {
		pr.P("%s %s", part.priv, goType(part.t))
		pr.If(part.ref(), "%sRef stef.TextRef // 0 if it is not known", part.priv)
	}
	pr.P("}")
	p.printMultimapAccess(pr, n, k, v)
	for _, part := range []part{k, v} {
		p.printPart(pr, n, part)
	}
	if k.class == classScalar && v.t.Kind == schema.KindOneof {
		p.printPairSetters(pr, n, k, v)
	} else if k.class != classNode && v.class != classNode {
		pr.Decl("// Set sets pair i. It panics if i is not below Len.")
		pr.P("func (m *%s) Set(i int, key %s, value %s) {\nm.SetKey(i, key)\nm.SetValue(i, value)\n}", n, goType(k.t), goType(v.t))
	}
	p.printMultimapLookup(pr, n, k, v)
	p.printMultimapText(pr, n, k, v)
	p.printMultimapCommon(pr, m, k, v)
	if p.shared[n] {
		p.printMultimapShared(pr, n, k, v)
	}
}

func (p *plan) printMultimapCodec(pr *printer, m *schema.Multimap) {
	k, v := partsOf(m)
	p.printMultimapEncoder(pr, m.Name, k, v)
	p.printMultimapDecoder(pr, m.Name, k, v)
}

func partsOf(m *schema.Multimap) (key, value part) {
	return part{&m.Key, classOf(&m.Key), "Key", "key", "stefrt.FullBit"},
		part{&m.Value, classOf(&m.Value), "Value", "value", "stefrt.PairBit(i)"}
}

func (p *plan) printMultimapAccess(pr *printer, n string, k, v part) {
	pr.Decl("// New%s returns an empty value that is not part of a record.", n)
	pr.P("func New%s() *%s { return new(%s) }", n, n, n)
	pr.Decl("// Len returns the number of pairs. A nil multimap has none.")
	pr.P("func (m *%s) Len() int {\nif m == nil {\nreturn 0\n}\nreturn len(m.pairs)\n}", n)
	pr.Decl("// SetLen sets the number of pairs to n. New pairs have initial keys and values.")
	pr.P("func (m *%s) SetLen(n int) {", n)
	pr.P("old := len(m.pairs)")
	pr.P("if n == old {\nreturn\n}\nstefrt.NotNegative(n)")
	pr.P("m.node.Mark(stefrt.FullBit)")
	pr.P("m.grow(n)")
	pr.P("for i := old; i < n; i++ {")
	pr.P("p := m.pairs[i]")
	for _, part := range []part{k, v} {
		x := "p." + part.priv
		if part.class != classNode {
			pr.P("%s = %s", x, zero(part.t, x))
			pr.If(part.ref(), "%sRef = 0", x)
			continue
		}
		// If the reader already has this pair, the pair must get its initial value in the reader, too. So
		// the code calls Reset, which marks the changes.
		pr.P("if i < m.sent {\n%s.Reset()\n} else {\n%s.%s()\n}", x, x, method(part.t, "Clear"))
	}
	pr.P("}")
	pr.P("if n > stef.MaxPairs {\nm.node.SetOversize(true)\n}\n}")
	pr.Decl("// grow sets the number of pairs to n. New pairs may still have the contents of removed pairs.")
	pr.P("func (m *%s) grow(n int) {", n)
	pr.P("if old := cap(m.pairs); n > old {")
	pr.P("pairs := make([]*%sPair, max(n, 2*old))", private(n))
	pr.P("slab := make([]%sPair, len(pairs)-copy(pairs, m.pairs[:old]))", private(n))
	pr.P("for i := range slab {")
	for _, part := range []part{k, v} {
		if part.class == classNode {
			bit := "stefrt.FullBit"
			if part.priv == "value" {
				bit = "stefrt.PairBit(old+i)"
			}
			pr.P("%s", initStatement(part.t, "slab[i]."+part.priv, "&m.node", bit))
		}
	}
	pr.P("pairs[old+i] = &slab[i]\n}")
	pr.P("m.pairs = pairs\n}")
	pr.P("m.pairs = m.pairs[:n]\n}")
}

func (p *plan) printPart(pr *printer, n string, part part) {
	pr.P("")
	switch part.class {
	case classNode:
		pr.P("// %s returns the %s of pair i. It panics if i is not below Len.", part.name, part.priv)
		pr.P("func (m *%s) %s(i int) %s { return %s }", n, part.name, getterType(part.t), view(part.t, "&m.pairs[i]."+part.priv))
		return
	case classBytes:
		pr.P("// %s returns the %s of pair i, which belongs to m. It panics if i is not", part.name, part.priv)
		pr.P("// below Len.")
	default:
		pr.P("// %s returns the %s of pair i. It panics if i is not below Len.", part.name, part.priv)
	}
	pr.P("func (m *%s) %s(i int) %s { return m.pairs[i].%s }", n, part.name, goType(part.t), part.priv)
	pr.Decl("// Set%s sets the %s of pair i. It panics if i is not below Len.", part.name, part.priv)
	x := "p." + part.priv
	if part.ref() {
		pr.P("func (m *%s) Set%s(i int, %s string) { m.Set%sRef(i, %s, 0) }", n, part.name, part.priv, part.name, part.priv)
		pr.Decl("// Set%sRef is Set%s with the reference to the text in the writer's dictionary, or 0.", part.name, part.name)
		pr.P("func (m *%s) Set%sRef(i int, %s string, ref stef.TextRef) {", n, part.name, part.priv)
		pr.P("p := m.pairs[i]")
		pr.P("if codec.SameText(%s, %sRef, %s, ref) {\nif ref != 0 {\n%sRef = ref\n}\nreturn\n}", x, x, part.priv, x)
		pr.P("m.node.Mark(%s)\n%s%s, %sRef = %s, ref\n}", part.bit, large(part.t, "m.node", part.priv), x, x, part.priv)
		return
	}
	pr.P("func (m *%s) Set%s(i int, %s %s) {", n, part.name, part.priv, goType(part.t))
	pr.P("p := m.pairs[i]")
	pr.P("if %s {\nm.node.Mark(%s)\n%s%s\n}\n}", different(part.t, x, part.priv), part.bit, large(part.t, "m.node", part.priv), assign(part.t, x, part.priv))
}

// printPairSetters prints, for each choice of the value, one setter for key and
// value together. This halves the number of calls, and sets each pair completely.
func (p *plan) printPairSetters(pr *printer, n string, k, v part) {
	for _, f := range p.fieldsOf(v.t.Struct) {
		if f.class == classNode {
			continue
		}
		pr.Decl("// Set%s sets pair i to a key and a value. It panics if i is not below Len.", f.name)
		pr.P("func (m *%s) Set%s(i int, key %s, value %s) {", n, f.name, goType(k.t), goType(f.t))
		pr.P("m.SetKey(i, key)\nm.pairs[i].value.Set%s(value)\n}", f.name)
		if inDict(f.t) && k.ref() {
			p.printTextSetter(pr, n, f)
		}
	}
}

// printTextSetter prints the setter that replaces all pairs. The keys are text, and the values
// are the text choice f.
func (p *plan) printTextSetter(pr *printer, n string, f *field) {
	pr.Decl("// Set%ss replaces all pairs. keys and values must have equal lengths. Pass references", f.name)
	pr.P("// of the writer's dictionaries to skip lookups, otherwise 0. Without references use Set%s.", f.name)
	pr.P("func (m *%s) Set%ss(keys, values []stef.Text) {", n, f.name)
	pr.P("m.SetLen(len(keys))")
	pr.P("for i, p := range m.pairs {")
	pr.P("k, v := &keys[i], &values[i]")
	pr.P("if k.Ref == 0 || k.Ref != p.keyRef {\nm.SetKeyRef(i, k.Text, k.Ref)\n}")
	pr.P("p.value.Set%sRef(v.Text, v.Ref)\n}\n}", f.name)
}

func (p *plan) printMultimapCommon(pr *printer, m *schema.Multimap, k, v part) {
	n := m.Name
	parts := []part{k, v}
	pr.Decl("func (m *%s) init(parent *stefrt.Node, bit uint64) { m.node.Init(parent, bit) }", n)
	pr.Decl("// clear removes all pairs and clears the marks.")
	pr.P("func (m *%s) clear() {\nm.node.SetModified(0)\nm.pairs, m.sent = m.pairs[:0], 0\n}", n)
	pr.Decl("// Reset removes all pairs.")
	pr.P("func (m *%s) Reset() { m.SetLen(0) }", n)
	pr.Decl("// CopyFrom replaces the pairs of m by copies of those of src.%s", p.sharedKept(multimapType(m)))
	p.printCopyFrom(pr, multimapType(m), "m")
	pr.P("m.SetLen(len(src.pairs))")
	pr.P("for i, p := range src.pairs {")
	for _, part := range parts {
		if part.class == classNode {
			pr.P("m.pairs[i].%s.%s(&p.%s)", part.priv, p.copyMethod(part.t), part.priv)
		} else {
			pr.P("m.Set%s(i, p.%s)", part.name, part.priv)
		}
	}
	pr.P("}\n}")
	pr.Decl("// Equal reports whether m and o have the same pairs in the same order; floats are")
	pr.P("// compared bit by bit.")
	pr.P("func (m *%s) Equal(o *%s) bool {", n, n)
	pr.P("if len(m.pairs) != len(o.pairs) {\nreturn false\n}")
	pr.P("for i, p := range m.pairs {\nq := o.pairs[i]")
	pr.P("if %s || %s {\nreturn false\n}\n}", differParts(k), differParts(v))
	pr.P("return true\n}")
	p.printMultimapUnshare(pr, m)
	pr.Decl("// markAll marks all of m as changed.")
	pr.P("func (m *%s) markAll(c *stefrt.Check) {", n)
	pr.P("c.Saw(%q, len(m.pairs))", n)
	pr.P("c.Mark(&m.node, stefrt.FullBit)")
	for _, part := range parts {
		pr.If(hasText(part.t), "for _, p := range m.pairs {\nc.Text += len(p.%s)\n}", part.priv)
	}
	p.eachNodePart(pr, parts, func(part part, x string) string { return fmt.Sprintf("%s.%s(c)", x, method(part.t, "MarkAll")) })
	pr.P("}")
}

func differParts(part part) string {
	if part.class == classNode {
		return fmt.Sprintf("!p.%s.Equal(&q.%s)", part.priv, part.priv)
	}
	return different(part.t, "p."+part.priv, "q."+part.priv)
}

// eachNodePart prints a loop over the pairs with a statement for each part (key or value) that
// is a node. It prints nothing if neither is a node.
func (p *plan) eachNodePart(pr *printer, parts []part, statement func(part part, x string) string) {
	var lines []string
	for _, part := range parts {
		if part.class == classNode {
			lines = append(lines, statement(part, "p."+part.priv))
		}
	}
	if lines == nil {
		return
	}
	pr.P("for _, p := range m.pairs {")
	for _, l := range lines {
		pr.P("%s", l)
	}
	pr.P("}")
}

func (p *plan) printMultimapShared(pr *printer, n string, k, v part) {
	parts := []part{k, v}
	pr.Decl("// clean clears all marks in m.")
	pr.P("func (m *%s) clean() {", n)
	pr.P("m.node.SetModified(0)")
	p.eachNodePart(pr, parts, func(part part, x string) string { return fmt.Sprintf("%s.%s()", x, method(part.t, "Clean")) })
	pr.P("}")
	pr.Decl("// markDiff marks what differs from held, and reports whether anything differs.")
	pr.P("func (m *%s) markDiff(held *%s) bool {", n, n)
	pr.P("mask := uint64(0)")
	pr.P("if len(m.pairs) != len(held.pairs) {\nmask = stefrt.FullBit\n}")
	pr.P("for i, p := range m.pairs {")
	pr.P("if i >= len(held.pairs) {")
	for _, part := range parts {
		pr.If(part.class == classNode, "p.%s.%s(new(stefrt.Check))", part.priv, method(part.t, "MarkAll"))
	}
	pr.P("continue\n}")
	pr.P("q := held.pairs[i]")
	for _, part := range parts {
		differ := ""
		if part.class == classNode {
			differ = fmt.Sprintf("p.%s.%s(&q.%s)", part.priv, method(part.t, "MarkDiff"), part.priv)
		} else {
			differ = different(part.t, "p."+part.priv, "q."+part.priv)
		}
		pr.P("if %s {\nmask |= %s\n}", differ, part.bit)
	}
	pr.P("}")
	pr.P("m.node.SetModified(mask)")
	pr.P("return mask != 0\n}")
	pr.Decl("func (m *%s) hash(h *codec.Hash) {", n)
	pr.P("h.Uint64(uint64(len(m.pairs)))")
	pr.P("for _, p := range m.pairs {\n%s\n%s\n}\n}", hash(k.t, "p.key"), hash(v.t, "p.value"))
	pr.Decl("// size returns the memory of m as a part of a dictionary entry.")
	pr.P("func (m *%s) size() int {", n)
	pr.P("n := stefrt.PairSize * len(m.pairs)")
	var terms []string
	for _, part := range parts {
		if expr := size(part.t, "p."+part.priv); expr != "" {
			terms = append(terms, expr)
		}
	}
	pr.If(terms != nil, "for _, p := range m.pairs {\nn += %s\n}", strings.Join(terms, " + "))
	pr.P("return n\n}")
}

func (p *plan) printMultimapCoder(pr *printer, n string, k, v part, role, recv string) {
	pr.Decl("type %s%s struct {\nhead stefrt.Multimap%s\nkey %s\nvalue %s\n}", private(n), role, role, p.coder(k.t, role), p.coder(v.t, role))
	pr.Decl("func (%s *%s%s) register(b *stefrt.%sBuilder, name string) {", recv, private(n), role, role)
	pr.P("b.Multimap(name, &%s.head,\n%s,\n%s,\n)\n}", recv,
		p.register(k.t, "key", recv+".key", role), p.register(v.t, "value", recv+".value", role))
}

func (p *plan) printMultimapEncoder(pr *printer, n string, k, v part) {
	p.printMultimapCoder(pr, n, k, v, "Encoder", "e")
	pr.Decl("func (e *%sEncoder) Encode(m *%s) {", private(n), n)
	pr.P("changed := m.node.Take()")
	pr.P("pairs := m.pairs")
	// An empty multimap is always sent in full.
	pr.P("if changed&stefrt.FullBit == 0 && uint(len(pairs)-1) < stefrt.MaxValueBits {")
	// Callers that kept removed pairs can still change them, so drop the marks of removed pairs.
	pr.P("changed &= 1<<len(pairs) - 1")
	pr.P("e.head.Write(changed << 1)")
	pr.P("for ; changed != 0; changed &= changed - 1 {")
	if v.ref() {
		pr.P("p := pairs[bits.TrailingZeros64(changed)]")
		pr.P("%s\n}\nreturn\n}", v.encode())
	} else {
		pr.P("%s\n}\nreturn\n}", encode(v.t, "e.value", "pairs[bits.TrailingZeros64(changed)].value"))
	}
	pr.P("m.sent = len(pairs)")
	pr.P("e.head.Full(len(pairs))")
	pr.P("for _, p := range pairs {\n%s\n%s\n}\n}", k.encode(), v.encode())
}

func (p *plan) printMultimapDecoder(pr *printer, n string, k, v part) {
	p.printMultimapCoder(pr, n, k, v, "Decoder", "d")
	pr.Decl("func (d *%sDecoder) Decode(m *%s) {", private(n), n)
	if p.cyclic[n] {
		pr.P("if !stefrt.Enter(d.head.Alloc, &d.head) {\nreturn\n}")
		pr.P("defer stefrt.Leave(d.head.Alloc)")
	}
	pr.P("h := d.head.Uvarint()")
	pr.P("if h&1 == 0 {")
	pr.P("changed := h >> 1")
	pr.P("m.node.SetModified(changed)")
	pr.P("if bits.Len64(changed) > len(m.pairs) {\nd.head.NoSuchPair()\nreturn\n}")
	pr.P("for ; changed != 0; changed &= changed - 1 {")
	pr.P("p := m.pairs[bits.TrailingZeros64(changed)]")
	pr.P("%s\n}\nreturn\n}", v.decode())
	pr.P("m.node.SetModified(stefrt.FullBit)")
	pr.P("if !d.resize(m, h) {\nreturn\n}")
	pr.P("for _, p := range m.pairs {\n%s\n%s\n}\n}", k.decode(), v.decode())
	pr.Decl("// resize sets the number of pairs to the number in the header, if it is within the limits.")
	pr.P("func (d *%sDecoder) resize(m *%s, h uint64) bool {", private(n), n)
	nodes := k.class == classNode || v.class == classNode
	pr.If(nodes, "old := len(m.pairs)")
	pr.P("n, ok := d.head.Pairs(h, cap(m.pairs), int(unsafe.Sizeof(%sPair{}))%s)", private(n), p.initialSize(k.t, v.t))
	pr.P("m.grow(n)")
	if nodes {
		pr.P("for i := old; i < n; i++ {")
		for _, part := range []part{k, v} {
			pr.If(part.class == classNode, "m.pairs[i].%s.%s()", part.priv, method(part.t, "Clear"))
		}
		pr.P("}")
	}
	pr.P("return ok\n}")
}

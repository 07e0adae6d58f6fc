// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// Print returns s as the text of a .stef file in canonical layout, with the
// documentation comments. Parsing the text returns a schema equal to s. Printing a
// file that is in canonical layout reproduces it.
//
// Definitions are in order of position if the positions are known. If not, structs and
// oneofs are first, then multimaps, then enums.
//
// spec: #schema-language
func Print(s *Schema) []byte {
	p := &printer{}
	p.doc("", s.Doc)
	p.line("package %s", s.Package)
	structs, multimaps, enums := s.Structs, s.Multimaps, s.Enums
	// Each iteration prints the first of the remaining definitions of the file. The
	// order within a list does not change.
	for len(structs)+len(multimaps)+len(enums) > 0 {
		p.line("")
		switch {
		case len(structs) > 0 && !headBefore(multimaps, structs[0].Pos) && !headBefore(enums, structs[0].Pos):
			p.structDef(structs[0])
			structs = structs[1:]
		case len(multimaps) > 0 && !headBefore(enums, multimaps[0].Pos):
			p.multimapDef(multimaps[0])
			multimaps = multimaps[1:]
		default:
			p.enumDef(enums[0])
			enums = enums[1:]
		}
	}
	return []byte(p.String())
}

// String returns t in the syntax of a .stef file.
func (t *Type) String() string {
	var text string
	switch {
	case t.Kind == KindArray:
		return "[]" + t.Elem.String()
	case t.Name != "":
		text = t.Name
	default:
		text = t.Kind.String()
	}
	return text + dictModifier(t.Dict)
}

type printer struct{ strings.Builder }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

func (p *printer) doc(indent, doc string) {
	if doc == "" {
		return
	}
	// A carriage return also ends a comment; text after it would be parsed as a
	// definition.
	doc = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(doc)
	for text := range strings.SplitSeq(doc, "\n") {
		p.line("%s", strings.TrimRight(indent+"// "+text, " \t"))
	}
}

func (p *printer) structDef(s *Struct) {
	p.doc("", s.Doc)
	keyword, modifier := "struct", dictModifier(s.Dict)
	if s.Oneof {
		keyword = "oneof"
	}
	if s.Root {
		modifier = " root"
	}
	p.line("%s %s%s {", keyword, s.Name, modifier)
	for _, f := range s.Fields {
		p.doc("  ", f.Doc)
		optional := ""
		if f.Optional {
			optional = " optional"
		}
		p.line("  %s %s%s", f.Name, &f.Type, optional)
	}
	p.line("}")
}

func (p *printer) multimapDef(m *Multimap) {
	p.doc("", m.Doc)
	p.line("multimap %s {", m.Name)
	p.line("  key %s", &m.Key)
	p.line("  value %s", &m.Value)
	p.line("}")
}

func (p *printer) enumDef(e *Enum) {
	p.doc("", e.Doc)
	p.line("enum %s {", e.Name)
	for _, v := range e.Values {
		p.doc("  ", v.Doc)
		p.line("  %s = %d", v.Name, v.Value)
	}
	p.line("}")
}

func dictModifier(dict string) string {
	if dict == "" {
		return ""
	}
	return " dict(" + dict + ")"
}

// headBefore reports whether the first of defs is before pos in the file.
func headBefore[T positioned](defs []T, pos Pos) bool {
	return len(defs) > 0 && defs[0].position().before(pos)
}

type positioned interface{ position() Pos }

func (m *Multimap) position() Pos { return m.Pos }
func (e *Enum) position() Pos     { return e.Pos }

func (p Pos) before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

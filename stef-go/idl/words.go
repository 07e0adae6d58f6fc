// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"fmt"
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// cause is the likely cause of an error that the parser finds later. The cause is a missing type,
// or a word of another language that the parser reads as a name, because the word is a legal name.
type cause struct {
	at      span
	message string
}

// foreignWord returns what to write instead of word, at a field of the given name and
// type, if word is a keyword of other schema languages. Otherwise it returns "".
func foreignWord(word, name, typ string) string {
	switch strings.ToLower(word) {
	case "repeated":
		return `there is no "repeated": an array is written ` + quoted(name+" []"+strings.TrimPrefix(typ, "[]"))
	case "required":
		return `there is no "required": fields without "optional" always have a value`
	case "optional": // Optional or OPTIONAL: the parser does not read the keyword as a name
		return `"optional" comes after the type, in lower case: ` + quoted(name+" "+typ+" optional")
	case "nullable":
		return "there is no " + quoted(word) + ": a field that may be absent is " + quoted(name+" "+typ+" optional")
	case "deprecated":
		return quoted(word) + " is not a word of the language: put it into the comment above the field"
	}
	return ""
}

// blame stores the likely cause of a later error, unless a cause is stored already. The parser
// deletes the cause when it has read a field that is certainly in the right place.
func (p *parser) blame(at span, message string) {
	if message != "" && p.cause.message == "" {
		p.cause = cause{at, message}
	}
}

// aloneOnLine reports whether the field that was just read is alone on its line. If so, no earlier extra
// word can be the reason that the parser reads a name as a type, or a type as a name.
func (p *parser) aloneOnLine(name, typ token) bool {
	return name.first && !typ.first && (p.tok.first || p.tok.kind == "}" || p.tok.kind == endOfFile)
}

// blameBehind blames the name of a field if it is a word that other languages write
// after the type of the previous field, on the same line.
func (p *parser) blameBehind(name token, before []*schema.Field) {
	if len(before) == 0 || name.first {
		return
	}
	if last := before[len(before)-1]; last.Pos.Line == name.pos.Line {
		p.blame(name.span, foreignWord(name.text, last.Name, last.Type.String()))
		if word := strings.ToLower(name.text); word == "opt" || word == "option" || misspelled(word, "optional") {
			p.blame(name.span, "expected a field, found "+quoted(name.text)+`, did you mean "optional"?`)
		}
	}
}

// blameFront blames a word that other languages write in front of a field or of a type,
// such as "repeated". It is called after a name and a type were read as a field. Either can
// be such a word if one more word or type follows on the line.
func (p *parser) blameFront(name, typ token) {
	_, primitive := primitives[p.tok.kind]
	if p.tok.first || p.tok.kind != identifier && !primitive && p.tok.kind != "[" {
		return
	}
	next := p.tok.text
	if p.tok.kind == "[" {
		next = "Type"
	}
	p.blame(typ.span, foreignWord(typ.text, name.text, next))
	switch {
	case typ.kind == "[":
		p.blame(name.span, foreignWord(name.text, "Name", "Type"))
	case typ.kind == identifier && (primitive || p.tok.kind == "["):
		p.blame(name.span, foreignWord(name.text, typ.text, next))
	case typ.kind == identifier:
		p.blame(name.span, foreignWord(name.text, "Name", "Type"))
	default:
		p.blame(name.span, foreignWord(name.text, next, typ.text))
	}
}

// noType returns the likely cause of a later error if the type of a field, or the type of its
// elements, is a name on another line.
func (p *parser) noType(f *schema.Field, name, typ token) cause {
	switch {
	case typ.kind == identifier && typ.first:
		return cause{name.span, fmt.Sprintf("field %s has no type: the name on the next line was read as its type", quoted(f.Name))}
	case f.Type.Kind == schema.KindArray && f.Type.Elem.Name != "" && p.places[f.Type.Elem].name.pos.Line > typ.pos.Line:
		return cause{span{typ.pos, 2}, `"[]" needs the type of the elements: the name on the next line was read as this type`}
	}
	return cause{}
}

// qualified refuses a type with a package in front.
func (p *parser) qualified(at span) bool {
	last := ""
	for p.tok.kind == "." && !p.tok.first {
		p.next()
		if p.tok.kind != identifier || p.tok.first {
			break
		}
		at.width += 1 + p.tok.width
		last = p.next().text
	}
	hint := ""
	switch known := foreignTypes[strings.ToLower(last)]; {
	case known == "uint64" && strings.Contains(strings.ToLower(last), "time"):
		hint = "; for a time use uint64"
	case known != "":
		hint = ": write " + quoted(known)
	case last != "":
		hint = ": write " + quoted(last)
	}
	return p.fail(at, "a type is one name without package%s", hint)
}

// typeDefinition reports a definition that starts with the word type, as in Go and SQL.
func (p *parser) typeDefinition() bool {
	at := p.next().span
	name := p.tok
	if name.kind != identifier || name.first {
		return p.fail(at, `expected struct, oneof, multimap or enum, found "type", did you mean "struct"?`)
	}
	p.next()
	_, primitive := primitives[p.tok.kind]
	if !p.tok.first && (primitive || p.tok.kind == identifier || p.tok.kind == "=") {
		if primitive {
			return p.fail(at, "there are no type aliases: use %s at the field", p.tok.text)
		}
		return p.fail(at, "there are no type aliases: use the type itself at the field")
	}
	return p.fail(at, `expected struct, oneof, multimap or enum, found "type": write %s`, quoted("struct "+name.text+" {"))
}

// definitionWord returns the end of a message about a misspelled word at the start of a
// definition: the keyword that is similar to the word. It returns "" if no keyword is similar.
func definitionWord(word string) string {
	if len(word) > maxSuggestRunes {
		return ""
	}
	for _, keyword := range []string{"struct", "oneof", "multimap", "enum"} {
		if distance(strings.ToLower(word), keyword) <= max(1, len(keyword)/4) {
			return ", did you mean " + quoted(keyword) + "?"
		}
	}
	return ""
}

// misspelled reports whether word is keyword with one wrong letter.
func misspelled(word, keyword string) bool {
	return len(word) <= maxSuggestRunes && distance(strings.ToLower(word), keyword) == 1
}

// openHint returns the end of a message about a word that stands where the opening brace of a
// definition is expected: what is wrong with the word. It returns "" if it has no hint.
func openHint(word string) string {
	switch strings.ToLower(word) {
	case "root": // "root" itself is a keyword, so word has an upper case letter
		return `, did you mean "root"?`
	case "extends", "extend", "inherits":
		return ": a struct cannot extend another, use a field"
	}
	for _, modifier := range []string{"root", "dict"} {
		if misspelled(word, modifier) {
			return ", did you mean " + quoted(modifier) + "?"
		}
	}
	return ""
}

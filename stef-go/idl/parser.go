// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"strings"

	"github.com/otelstef/stef/stef-go/schema"
)

// parser builds definitions from tokens by recursive descent with one token of
// lookahead. A parse method returns false after it reports an error; the enclosing
// body or file then skips to a place where parsing can continue.
type parser struct {
	lex  *lexer
	list *reports
	// tok is the next token, which is not consumed yet. count is the number of consumed tokens.
	tok   token
	count int
	// suspect is a missing type: the parser read the name on the next line as the type of a
	// field, or of its elements. If a syntax error follows in the body, the missing type is
	// its likely cause.
	suspect cause
	// cause is a word of another language that was read as a name. If a syntax error
	// follows in the body, the word is its likely cause.
	cause cause

	schema *schema.Schema
	places places
}

// places stores where the parts of types are in the file. The schema does not keep these
// positions.
type places map[*schema.Type]place

type place struct{ name, dict span }

func newParser(src []byte, list *reports) *parser {
	p := &parser{lex: newLexer(src, list), list: list, schema: &schema.Schema{}, places: places{}}
	p.tok = p.lex.next()
	return p
}

func (p *parser) next() token {
	t := p.tok
	p.tok = p.lex.next()
	p.count++
	return t
}

func (p *parser) accept(kind tokenKind) bool {
	if p.tok.kind != kind {
		return false
	}
	p.next()
	return true
}

// fail reports a syntax error, or its likely cause if one is stored, and returns false.
func (p *parser) fail(at span, format string, args ...any) bool {
	if c := p.cause; c.message != "" {
		p.suspect, p.cause = cause{}, cause{}
		p.list.errorf(c.at, "%s", c.message)
		return false
	}
	if c := p.suspect; c.message != "" {
		p.suspect = cause{}
		p.list.errorf(c.at, "%s", c.message)
		return false
	}
	p.list.errorf(at, format, args...)
	return false
}

// expect consumes a token of the given kind, or fails.
func (p *parser) expect(kind tokenKind, where string) bool {
	if p.accept(kind) {
		return true
	}
	return p.fail(p.tok.span, "expected %s %s, found %s%s", quoted(string(kind)), where, p.tok.describe(), endHint(kind))
}

// name consumes an identifier, or fails.
func (p *parser) name(what string) (token, bool) {
	if p.tok.kind == identifier {
		return p.next(), true
	}
	if isKeyword(p.tok.text) {
		return p.tok, p.fail(p.tok.span, "expected %s, found %s, which cannot be a name%s", what, p.tok.describe(), p.keywordHint(what))
	}
	return p.tok, p.fail(p.tok.span, "expected %s, found %s%s", what, p.tok.describe(), p.nameHint(what))
}

// file parses Package , Definition , { Definition }.
func (p *parser) file() {
	if !p.packageClause() {
		if foreignFile(p.tok.text) || definitionHint(p.tok.text) != "" && p.tok.kind == identifier {
			return // the file is in another language, and one error is enough
		}
		p.skipToDefinition()
	}
	if p.tok.kind == endOfFile && !p.list.failed() {
		p.fail(p.tok.span, "the file has no definition")
	}
	for p.tok.kind != endOfFile {
		other := foreignFile(p.tok.text)
		if p.definition() {
			continue
		}
		if other {
			return
		}
		p.skipToDefinition()
	}
}

func (p *parser) packageClause() bool {
	p.schema.Doc = p.tok.doc
	if !p.accept("package") {
		hint := ""
		if foreignFile(p.tok.text) {
			hint = definitionHint(p.tok.text)
		}
		return p.fail(p.tok.span, "a schema file starts with its package, such as \"package com.example.shop\", found %s%s", p.tok.describe(), hint)
	}
	var names []string
	for {
		t, ok := p.name(packageName)
		if !ok {
			return false
		}
		names = append(names, t.text)
		if !p.accept(".") {
			break
		}
	}
	p.schema.Package = strings.Join(names, ".")
	return !p.list.failed() // after an unknown character, file skips to the next definition
}

// skipToDefinition skips to a line that starts with a definition.
func (p *parser) skipToDefinition() {
	for p.tok.kind != endOfFile && !(p.tok.first && p.tok.kind.startsDefinition()) {
		p.next()
	}
}

func (p *parser) definition() bool {
	if p.tok.text == "type" {
		return p.typeDefinition()
	}
	if !p.tok.kind.startsDefinition() {
		hint := definitionHint(p.tok.text)
		if hint == "" && p.tok.kind == identifier {
			hint = definitionWord(p.tok.text)
		}
		if p.tok.kind == "{" && len(p.schema.Structs)+len(p.schema.Multimaps)+len(p.schema.Enums) == 0 {
			hint = ": the package is a line of its own, without braces"
		}
		return p.fail(p.tok.span, "expected struct, oneof, multimap or enum, found %s%s", p.tok.describe(), hint)
	}
	return p.definitionOf(p.next())
}

// definitionOf parses a definition after its keyword.
func (p *parser) definitionOf(keyword token) bool {
	name, ok := p.name("the name of the " + string(keyword.kind))
	if !ok {
		return false
	}
	switch keyword.kind {
	case "struct", "oneof":
		return p.structDef(keyword, name)
	case "multimap":
		return p.multimapDef(keyword, name)
	default:
		return p.enumDef(keyword, name)
	}
}

// structDef parses [ "root" | Dict ] , "{" , { Field } , "}".
func (p *parser) structDef(keyword, name token) bool {
	s := &schema.Struct{Name: name.text, Oneof: keyword.kind == "oneof", Doc: keyword.doc, Pos: name.pos}
	p.schema.Structs = append(p.schema.Structs, s)
	if !p.structModifier(s) {
		return false
	}
	return p.body(keyword, name, func() bool { return p.field(s) })
}

func (p *parser) structModifier(s *schema.Struct) bool {
	at := p.tok.span
	for p.tok.kind == "root" || p.tok.kind == "dict" {
		modifier := p.tok
		switch {
		case s.Oneof && modifier.kind == "root":
			return p.fail(modifier.span, "a oneof cannot be a root: put it into a struct")
		case s.Oneof:
			return p.fail(modifier.span, "a oneof cannot have a dictionary: put it into a struct")
		case s.Root || s.Dict != "":
			return p.fail(at, "%s", secondModifier(s, modifier.kind))
		case modifier.kind == "root":
			p.next()
			s.Root = true
		default:
			dict, at, ok := p.dict()
			if !ok {
				return false
			}
			if dict != s.Name {
				p.list.laterf(at, "the dictionary of struct %s must have the name of the struct, not %s",
					quoted(s.Name), quoted(dict))
			}
			s.Dict = dict
		}
	}
	return true
}

// secondModifier returns what is wrong with a second modifier of a struct.
func secondModifier(s *schema.Struct, second tokenKind) string {
	switch {
	case s.Root && second == "root":
		return `"root" is written twice`
	case s.Dict != "" && second == "dict":
		return "a struct has only one dictionary"
	}
	return "a struct is a root or has a dictionary, not both: remove dict, because records of a root are never shared"
}

// body parses "{" , { entry } , "}". After an error in an entry it continues on the
// next line.
func (p *parser) body(keyword, name token, entry func() bool) bool {
	what := string(keyword.kind) + " " + quoted(name.text)
	if p.lex.generic == name.pos.Line && p.tok.kind != "{" {
		return false // the lexer has reported the type parameters
	}
	if hint := openHint(p.tok.text); hint != "" && p.tok.kind == identifier {
		return p.fail(p.tok.span, "expected \"{\" to open %s, found %s%s", what, p.tok.describe(), hint)
	}
	if !p.expect("{", "to open "+what) {
		return false
	}
	outer := p.lex.separated
	p.lex.separated = separated(keyword.kind)
	p.suspect, p.cause = cause{}, cause{}
	defer func() {
		p.suspect, p.cause, p.lex.separated = cause{}, cause{}, outer
	}()
	for p.tok.kind != "}" {
		if p.tok.kind.startsDefinition() && p.suspect.message == "" && (!p.tok.first || p.tok.pos.Column > keyword.pos.Column) {
			p.nested(keyword)
			continue
		}
		if p.tok.kind == endOfFile || p.tok.first && p.tok.kind.startsDefinition() {
			return p.fail(p.tok.span, "expected \"}\" to close %s of line %d, found %s",
				what, name.pos.Line, p.tok.describe())
		}
		start := p.count
		if !entry() {
			p.skipEntry(start)
		}
	}
	p.lex.separated = outer
	p.next()
	return true
}

// separated returns the noun for the elements of a definition, which only white space separates. Messages use it.
func separated(definition tokenKind) string {
	switch definition {
	case "enum":
		return "values"
	case "oneof":
		return "choices"
	case "multimap":
		return "key and value"
	}
	return "fields"
}

// nested reports a definition inside the body of another definition, and parses it.
func (p *parser) nested(outer token) {
	start := p.count
	if what := map[tokenKind]string{"struct": fieldName, "oneof": choiceName}[outer.kind]; what != "" && p.lex.typeFollows() {
		p.name(what)
		p.skipEntry(start)
		return
	}
	keyword := p.next()
	part := "field"
	if outer.kind == "oneof" {
		part = "choice"
	}
	switch name := p.tok; {
	case outer.kind == "enum" || outer.kind == "multimap":
		p.fail(keyword.span, "a definition cannot be inside another one: define the %s outside", keyword.kind)
	case name.kind == identifier:
		p.fail(keyword.span, "a definition cannot be inside another one: define the %s outside, then write the %s %s",
			keyword.kind, part, quoted(name.text+" "+name.text))
	default:
		p.fail(keyword.span, "a definition cannot be inside another one: define the %s outside, with a name, and use the name as the type of a %s",
			keyword.kind, part)
		p.skipEntry(start)
		return
	}
	if !p.definitionOf(keyword) {
		p.skipEntry(start)
	}
}

// skipEntry skips to the next line or the end of the body. It also skips lines inside nested
// braces, but stops at a line that starts a definition. start is p.count at the start of the entry:
// if no token of the entry was consumed, skipEntry skips the first token, so that parsing makes
// progress.
func (p *parser) skipEntry(start int) {
	depth := 0
	for p.tok.kind != endOfFile {
		if p.tok.first && p.count > start && (depth == 0 || p.tok.kind.startsDefinition()) {
			return
		}
		switch p.tok.kind {
		case "{":
			depth++
		case "}":
			if depth == 0 {
				return
			}
			depth--
		}
		p.next()
	}
}

// Messages contain these texts if the name of a field or choice is missing.
const (
	fieldName  = "a field name"
	choiceName = "the name of a choice"
)

// packageName is the text in messages if a part of the package's name is missing.
const packageName = "a package name"

// field parses Ident , Type , { "optional" }.
func (p *parser) field(s *schema.Struct) bool {
	what := fieldName
	if s.Oneof {
		what = choiceName
	}
	name, ok := p.name(what)
	if !ok {
		return false
	}
	f := &schema.Field{Name: name.text, Doc: name.doc, Pos: name.pos}
	s.Fields = append(s.Fields, f)
	typeName := p.tok
	if name.text == "reserved" && typeName.kind == number {
		return p.fail(name.span, "fields have no numbers to reserve: keep a field that is no longer used, and rename it")
	}
	if name.text == "default" && !name.first && !typeName.first && literal(typeName) {
		remove := quoted("default " + typeName.text)
		if typeName.kind == text {
			remove = "default " + typeName.text // the text has its own quotes
		}
		return p.fail(name.span, "fields have no default values: remove %s; a field that was not set is zero or empty, an optional one is absent", remove)
	}
	if p.tok.kind == "(" && !name.first {
		return p.fail(name.span, "expected a field, found %s and a bracket, did you mean \"dict\"?", quoted(name.text))
	}
	p.blameBehind(name, s.Fields[:len(s.Fields)-1])
	if !p.typeOf(&f.Type, "field "+quoted(name.text), name.span) {
		return false
	}
	if p.suspect.message == "" {
		p.suspect = p.noType(f, name, typeName)
	}
	p.blameFront(name, typeName)
	p.optional(s, f)
	if p.tok.kind == "dict" {
		if !f.Optional {
			return p.fail(p.tok.span, "a type has only one dictionary")
		}
		return p.fail(p.tok.span, "dict belongs to the type: it comes before optional")
	}
	if p.aloneOnLine(name, typeName) {
		p.suspect, p.cause = cause{}, cause{}
	}
	return true
}

// optional parses { "optional" }.
func (p *parser) optional(s *schema.Struct, f *schema.Field) {
	for p.tok.kind == "optional" {
		word := p.next()
		switch {
		case s.Oneof:
			p.list.warnf(word.span, "optional has no effect in a oneof: a choice is absent unless it is chosen")
		case word.first && p.tok.kind == identifier && !p.tok.first:
			// This is legal, but in other languages "optional" belongs to the next
			// name.
			p.list.warnf(word.span, `"optional" belongs to field %s above, because it comes after the type; if %s is meant, write it after the type of %s`,
				quoted(f.Name), quoted(p.tok.text), quoted(p.tok.text))
		case word.first:
			p.list.warnf(word.span, `"optional" belongs to field %s above; write it on the same line`, quoted(f.Name))
		case f.Optional:
			p.list.warnf(word.span, "field %s is already optional", quoted(f.Name))
		}
		f.Optional = f.Optional || !s.Oneof
	}
}

// multimapDef parses "{" , "key" , Type , [ Dict ] , "value" , Type , [ Dict ] , "}".
func (p *parser) multimapDef(keyword, name token) bool {
	m := &schema.Multimap{Name: name.text, Doc: keyword.doc, Pos: name.pos}
	p.schema.Multimaps = append(p.schema.Multimaps, m)
	expected := []tokenKind{"key", "value"}
	reported := false // whether keywords in upper case were reported
	ok := p.body(keyword, name, func() bool {
		if len(expected) == 0 {
			return p.fail(p.tok.span, "a multimap has one key and one value, found %s", p.tok.describe())
		}
		part := p.tok
		if cased := tokenKind(strings.ToLower(part.text)); part.kind == identifier && cased == expected[0] {
			if !reported {
				p.list.laterf(part.span, `"key" and "value" are keywords in lower case: write "key string value string"`)
			}
			reported = true
			part.kind = cased
		}
		if part.kind != expected[0] {
			hint := `write "key string value string"`
			if part.kind == "key" || part.kind == "value" {
				hint = "the key comes first, then the value"
			}
			return p.fail(part.span, "expected %q of multimap %s, found %s: %s", expected[0], quoted(name.text), part.describe(), hint)
		}
		p.next()
		expected = expected[1:]
		t := &m.Key
		if part.kind == "value" {
			t = &m.Value
		}
		return p.multimapPart(t, part)
	})
	if ok && len(expected) > 0 && !p.list.failed() {
		return p.fail(name.span, "multimap %s has no %s", quoted(name.text), expected[0])
	}
	return ok
}

func (p *parser) multimapPart(t *schema.Type, part token) bool {
	if !p.typeOf(t, "the "+string(part.kind), part.span) {
		return false
	}
	target := t
	if t.Kind == schema.KindArray {
		target = t.Elem
	}
	if p.tok.kind == "optional" {
		return p.fail(p.tok.span, "the %s of a multimap cannot be optional", part.kind)
	}
	if p.tok.kind != "dict" {
		return true
	}
	first := target.Dict
	if !p.dictOf(target) {
		return false
	}
	if first != "" {
		p.list.warnf(p.places[target].dict, "dictionary %s replaces %s", quoted(target.Dict), quoted(first))
	}
	return true
}

// enumDef parses "{" , { Ident , "=" , Number } , "}".
func (p *parser) enumDef(keyword, name token) bool {
	e := &schema.Enum{Name: name.text, Doc: keyword.doc, Pos: name.pos}
	p.schema.Enums = append(p.schema.Enums, e)
	return p.body(keyword, name, func() bool {
		name, ok := p.name("the name of an enum value")
		if !ok {
			return false
		}
		if p.tok.kind == "}" || p.tok.kind == identifier || p.tok.first {
			next := uint64(0)
			if !p.list.full() {
				for _, v := range e.Values {
					next = max(next, v.Value+1)
				}
			}
			e.Values = append(e.Values, schema.EnumValue{Name: name.text, Value: next, Pos: name.pos})
			return p.fail(name.span, "enum value %s has no number: write \"%s = %d\"", quoted(name.text), name.text, next)
		}
		if !p.expect("=", "after "+quoted(name.text)) {
			return false
		}
		if p.tok.kind != number {
			return p.fail(p.tok.span, "expected the number of %s, found %s", quoted(name.text), p.tok.describe())
		}
		if digits := p.tok.text[min(2, len(p.tok.text)):]; p.tok.value > 9 && strings.ContainsAny(digits, "ABCDEFacdef") {
			p.list.warnf(p.tok.span, notPortable, "hexadecimal numbers with the digits A to F, a, c to f")
		}
		e.Values = append(e.Values, schema.EnumValue{
			Name: name.text, Value: p.next().value, Doc: name.doc, Pos: name.pos,
		})
		return true
	})
}

// typeOf parses [ "[" , "]" ] , ( Primitive | Ident ) , [ Dict ] into t. Names
// are linked to definitions later.
func (p *parser) typeOf(t *schema.Type, owner string, ownerAt span) bool {
	if p.tok.kind == "[" {
		bracket := p.next().span
		if p.tok.kind == number {
			return p.fail(p.tok.span, "an array has no fixed length: write \"[]Type\"")
		}
		if !p.expect("]", "after \"[\"") {
			return false
		}
		if p.tok.kind == "[" {
			return p.fail(p.tok.span, "arrays of arrays are not possible: put the inner array into a struct")
		}
		if kind := p.tok.kind; kind == "}" || kind == endOfFile || kind == "dict" || kind == "optional" {
			return p.fail(span{bracket.pos, 2}, `"[]" needs the type of the elements`)
		}
		t.Kind, t.Elem = schema.KindArray, &schema.Type{}
		t = t.Elem
	}
	at := p.tok.span
	switch kind, primitive := primitives[p.tok.kind]; {
	case primitive:
		t.Kind = kind
	case p.tok.kind == identifier:
		t.Name = p.tok.text
	case p.tok.kind == "}" || p.tok.kind == endOfFile || p.tok.first:
		return p.fail(ownerAt, "%s has no type", owner)
	default:
		return p.fail(at, "expected the type of %s, found %s%s", owner, p.tok.describe(), typeHint(p.tok.kind))
	}
	p.next()
	p.places[t] = place{name: at}
	if hint := foreignConstructs[strings.ToLower(t.Name)]; hint != "" && p.tok.kind == "[" && !p.tok.first {
		return p.fail(at, "unknown type %s: %s", quoted(t.Name), hint)
	}
	if t.Name != "" && p.tok.kind == "." && !p.tok.first {
		return p.qualified(at)
	}
	if p.tok.kind == "dict" {
		return p.dictOf(t)
	}
	return true
}

// dictOf parses a Dict into t.
func (p *parser) dictOf(t *schema.Type) bool {
	dict, at, ok := p.dict()
	if !ok {
		return false
	}
	switch t.Kind {
	case schema.KindBool, schema.KindInt64, schema.KindUint64, schema.KindFloat64:
		p.list.laterf(at, "%s cannot have a dictionary%s", t.Kind, whatCan)
		return true
	}
	t.Dict = dict
	p.places[t] = place{name: p.places[t].name, dict: at}
	return true
}

// dict parses "dict" , "(" , Ident , ")" and returns the identifier.
func (p *parser) dict() (name string, at span, ok bool) {
	at = p.next().span
	if p.tok.kind != "(" {
		return "", span{}, p.fail(at, "dict needs a name: write dict(Name)")
	}
	p.next()
	t, ok := p.name("the name of a dictionary")
	if !ok {
		return "", span{}, false
	}
	return t.text, t.span, p.expect(")", "after the name of the dictionary")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otelstef/stef/stef-go/schema"
)

// foreignTypes are the names that other schema languages use for a primitive,
// in lower case.
var foreignTypes = map[string]string{
	"int": "int64", "int8": "int64", "int16": "int64", "int32": "int64", "integer": "int64", "long": "int64",
	"short": "int64", "sint32": "int64", "sint64": "int64", "sfixed32": "int64", "sfixed64": "int64",
	"i8": "int64", "i16": "int64", "i32": "int64", "i64": "int64",
	"uint": "uint64", "uint8": "uint64", "uint16": "uint64", "uint32": "uint64", "ulong": "uint64",
	"fixed32": "uint64", "fixed64": "uint64", "u8": "uint64", "u16": "uint64", "u32": "uint64", "u64": "uint64",
	"float": "float64", "float32": "float64", "double": "float64", "f32": "float64", "f64": "float64",
	"timestamp": "uint64", "time": "uint64", "datetime": "uint64", "duration": "int64",
	"boolean": "bool",
	"str":     "string", "text": "string", "varchar": "string",
	"byte": "bytes", "blob": "bytes", "binary": "bytes", "uuid": "bytes",
}

// foreignConstructs are the names that other schema languages use for constructs that have
// another syntax here. Each value says what to write instead.
var foreignConstructs = map[string]string{
	"map":      `define a type with "multimap Name { key string value string }" and use its name`,
	"list":     `an array of strings is "[]string"`,
	"array":    `an array of strings is "[]string"`,
	"vector":   `an array of strings is "[]string"`,
	"repeated": `an array of strings is "[]string", without "repeated"`,
	"decimal":  `use int64 in the smallest unit, such as cents`,
	"money":    `use int64 in the smallest unit, such as cents`,
	"numeric":  `use int64 in the smallest unit, such as cents`,
	"date":     `use int64, the days since 1970-01-01`,
	"any":      `define a type with "oneof Name { ... }" and use its name`,
	"union":    `define a type with "oneof Name { ... }" and use its name`,
	"required": `a field without "optional" always has a value`,
	"optional": `"optional" comes after the type, in lower case`,
	"json":     `use string or bytes`,
	"jsonb":    `use string or bytes`,
	"number":   `use int64 or float64`,
	"char":     `use string`,
	"error":    `use string`,
}

// suggestion returns what to write instead of an unknown type name, as the end
// of a message, or "" if nothing is similar.
func (c *checker) suggestion(name string) string {
	if c.list.full() {
		return ""
	}
	if guess := c.guess(name); guess != "" {
		return ", did you mean " + quoted(guess) + "?"
	}
	if hint := foreignConstructs[strings.ToLower(name)]; hint != "" {
		return ": " + hint
	}
	if guess := c.closest(name); guess != "" {
		return ", did you mean " + quoted(guess) + "?"
	}
	return ""
}

// guess returns the defined type or the primitive that differs from an unknown name only in
// case. If there is none, it returns the primitive that has this name in another language, or "".
func (c *checker) guess(name string) string {
	for _, defined := range c.defined() {
		if strings.EqualFold(defined, name) {
			return defined
		}
	}
	lower := strings.ToLower(name)
	if primitives[tokenKind(lower)] != schema.KindInvalid {
		return lower
	}
	return foreignTypes[lower]
}

// defined returns the names of all definitions: structs and oneofs, then multimaps,
// then enums.
func (c *checker) defined() []string {
	var names []string
	for _, s := range c.schema.Structs {
		names = append(names, s.Name)
	}
	for _, m := range c.schema.Multimaps {
		names = append(names, m.Name)
	}
	for _, e := range c.schema.Enums {
		names = append(names, e.Name)
	}
	return names
}

// foreignDefinitions are the words that other languages start a definition
// with, and the keyword to write instead.
var foreignDefinitions = map[string]string{
	"message": "struct", "record": "struct", "table": "struct", "class": "struct", "type": "struct",
	"union": "oneof", "map": "multimap",
}

// definitionHint returns what to write instead of word at the start of a definition, as
// the end of a message, or "" if it has no hint.
func definitionHint(word string) string {
	switch word {
	case "import", "include":
		return ": a schema is one file"
	case "package":
		return ": a file has one package"
	case "root":
		return `: "root" comes after the name, as in "struct Order root {"`
	case "typedef", "using", "alias":
		return ": there are no type aliases, use the type itself"
	case "service", "rpc":
		return ": a schema describes records only"
	case "syntax", "edition":
		return ": stefc does not read proto files"
	case "option", "namespace", "reserved":
		return ": remove the line, it has no meaning here"
	}
	if keyword := foreignDefinitions[word]; keyword != "" {
		return ", did you mean " + quoted(keyword) + "?"
	}
	return ""
}

// foreignFile reports whether a line with this first word is in another language, whose
// syntax would only cause more errors.
func foreignFile(word string) bool {
	switch word {
	case "import", "include", "syntax", "edition":
		return true
	}
	return false
}

// literal reports whether t is a value in other languages.
func literal(t token) bool {
	return t.kind == number || t.kind == text || t.text == "true" || t.text == "false"
}

// typeHint returns advice for a message about a token of this kind in the place of a
// type, as the end of the message. It returns "" if it has no advice.
func typeHint(kind tokenKind) string {
	switch {
	case kind.startsDefinition():
		return ": define the " + string(kind) + " outside and use its name as the type"
	case kind == "optional":
		return `: "optional" comes after the type`
	case kind == "dict":
		return `: "dict(Name)" comes after the type`
	}
	return ""
}

// endHint returns advice for a message about a missing token of this kind, as the end of the message.
func endHint(kind tokenKind) string {
	if kind == "]" {
		return `: an array is written "[]Type"`
	}
	return ""
}

// nameHint returns what to write instead of the next token where a field is
// expected, or "" if it has no hint.
func (p *parser) nameHint(what string) string {
	if what != fieldName && what != choiceName {
		return ""
	}
	return fieldHint(p.tok.kind)
}

// keywordHint returns a hint for a keyword in a place where a name is expected: what to write
// instead. The keyword is the next token. It returns "" if there is no hint.
func (p *parser) keywordHint(what string) string {
	text := string(p.tok.kind)
	write := ": write " + quoted(strings.ToUpper(text[:1])+text[1:])
	if (what == fieldName || what == choiceName) && p.tok.kind != "optional" && p.lex.typeFollows() {
		return write
	}
	hint := p.nameHint(what)
	modifier := p.tok.kind == "root" && !p.tok.first
	if modifier && what != fieldName && what != choiceName {
		return definitionHint("root")
	}
	if hint != "" || modifier || p.tok.kind.startsDefinition() || what == packageName {
		return hint
	}
	return write
}

// typeFollows reports whether the next word of the line is a primitive type, or an array.
func (l *lexer) typeFollows() bool {
	rest := bytes.TrimLeft(l.src[l.offset:], " \t")
	return bytes.HasPrefix(rest, []byte("[]")) || slices.ContainsFunc(primitiveNames, func(name string) bool {
		after, ok := bytes.CutPrefix(rest, []byte(name))
		return ok && (len(after) == 0 || !isWordRune(rune(after[0])))
	})
}

// fieldHint returns what is wrong with a token of this kind at the start of a field, as the end of
// a message. It returns "" if it has no hint.
func fieldHint(kind tokenKind) string {
	switch {
	case kind == "optional":
		return `: "optional" comes after the type`
	case kind == "=":
		return ": fields have no numbers and no default values, their order is the format"
	case kind == "[":
		return `: an array is written "Name []Type"`
	case primitives[kind] != schema.KindInvalid:
		return ": the name of a field comes before its type"
	}
	return ""
}

// The time to compare names is quadratic in their length and linear in their number. So
// names over the first limit and schemas over the second get no suggestion.
const (
	maxSuggestRunes = 64
	maxSuggestNames = 1000
)

// primitiveNames are the primitives in a fixed order.
var primitiveNames = []string{"bool", "int64", "uint64", "float64", "string", "bytes"}

// closest returns the type from which name differs in the fewest letters: at most one letter, or
// a quarter of its letters. It returns "" if no type is so similar, or if name has fewer than
// three letters.
func (c *checker) closest(name string) string {
	length := utf8.RuneCountInString(name)
	candidates := append(c.defined(), primitiveNames...)
	if length > maxSuggestRunes || len(candidates) > maxSuggestNames {
		return ""
	}
	best, bound := "", max(1, length/4)
	if length < 3 {
		return ""
	}
	for _, candidate := range candidates {
		if diff := utf8.RuneCountInString(candidate) - length; diff > bound || -diff > bound {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d <= bound {
			best, bound = candidate, d-1
		}
	}
	return best
}

// distance is the number of runes to insert, delete, replace or swap with the
// next rune to turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

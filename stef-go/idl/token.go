// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package idl

import "github.com/otelstef/stef/stef-go/schema"

// tokenKind is the text of a keyword or a punctuation mark, or one of the kinds
// below.
type tokenKind string

const (
	endOfFile  tokenKind = "end of file"
	identifier tokenKind = "identifier"
	number     tokenKind = "number"
	text       tokenKind = "text" // in quotes; the grammar has no such token
)

// span is a piece of one line of the file.
type span struct {
	pos schema.Pos
	// width is in runes.
	width int
}

type token struct {
	kind tokenKind
	text string
	span
	// value is the value of a number.
	value uint64
	// first says that only white space precedes the token on its line.
	first bool
	// doc is the comment directly above a token that is first on its line.
	doc string
}

// describe returns the text that messages use for t.
func (t token) describe() string {
	switch {
	case t.kind == endOfFile:
		return "the end of the file"
	case t.kind == number || t.kind == text:
		return string(t.kind) + " " + t.text
	case isKeyword(t.text):
		return "keyword " + quoted(t.text)
	default:
		return quoted(t.text)
	}
}

// keywords cannot be names, not even of fields or packages.
var keywords = map[string]bool{
	"package": true, "struct": true, "oneof": true, "multimap": true, "enum": true,
	"optional": true, "root": true, "dict": true, "key": true, "value": true,
	"bool": true, "int64": true, "uint64": true, "float64": true, "string": true, "bytes": true,
}

func isKeyword(text string) bool { return keywords[text] }

// startsDefinition reports whether only a definition can start with k.
func (k tokenKind) startsDefinition() bool {
	switch k {
	case "struct", "oneof", "multimap", "enum":
		return true
	}
	return false
}

// primitives are the types that are keywords.
var primitives = map[tokenKind]schema.Kind{
	"bool":    schema.KindBool,
	"int64":   schema.KindInt64,
	"uint64":  schema.KindUint64,
	"float64": schema.KindFloat64,
	"string":  schema.KindString,
	"bytes":   schema.KindBytes,
}

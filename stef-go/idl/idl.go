// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package idl reads the schema language: it converts a .stef file into a
// schema.Schema, or into a list of errors with their positions in the file.
//
//	package shop
//
//	// Order is the record of the stream.
//	struct Order root {
//	  ID uint64
//	  Customer string dict(Customer)
//	  Note string optional
//	  Items []Item
//	}
//
//	struct Item { Name string dict(Item) Count uint64 }
//
// A file is processed in three steps. The lexer splits the file into tokens, and keeps
// the comments. The parser builds definitions from the tokens. The checker links type
// names to definitions, and refuses what cannot work. All three add to one list of
// diagnostics. They continue after an error if possible, so one run shows as many
// errors as possible.
//
// spec: #schema-language
package idl

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

// MaxSourceBytes is the maximum size of a schema file in bytes.
const MaxSourceBytes = 1 << 20

// Parse reads the text of a schema file. The error, if any, is a Diagnostics with
// all errors found. The file name is used in messages only.
func Parse(filename string, src []byte) (*schema.Schema, error) {
	s, _, err := ParseWithWarnings(filename, src)
	return s, err
}

// MustParse parses text that is part of the program, such as that of generated code. It
// panics if the text is not a valid schema.
func MustParse(filename, src string) *schema.Schema {
	s, err := Parse(filename, []byte(src))
	if err != nil {
		panic(err)
	}
	return s
}

// ParseWithWarnings is like Parse, but also returns warnings about definitions that
// are legal but suspicious, such as a type that no root uses. It returns the warnings even
// if there is an error; the error does not contain them.
func ParseWithWarnings(filename string, src []byte) (s *schema.Schema, warnings Diagnostics, err error) {
	list := &reports{filename: filename}
	if len(src) > MaxSourceBytes {
		list.errorf(span{}, "the file has %d bytes, the limit is %d", len(src), MaxSourceBytes)
		return nil, nil, list.failure()
	}
	p := newParser(src, list)
	p.file()
	// Definitions with syntax errors would be reported again as unknown types.
	broken := list.failed()
	list.flush()
	if !broken {
		check(p.schema, p.places, list)
	}
	if list.failed() {
		return nil, list.warnings(), list.failure()
	}
	return p.schema, list.warnings(), nil
}

// quoted returns a name from the file in quotation marks, for messages.
func quoted(name string) string { return fmt.Sprintf("%q", name) }

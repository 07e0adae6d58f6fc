// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package idl reads the schema language: it turns a .stef file into a
// schema.Schema, or into a list of errors that each name a place in the file.
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
// The way of a file through the package: the lexer cuts it into tokens and
// keeps the comment above a line, the parser makes definitions of them, the
// checker links type names to definitions and refuses what cannot work. All
// three add to one list of diagnostics and go on after an error where that
// makes sense, so one run shows as many mistakes as possible.
//
// spec: #schema-language
package idl

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/schema"
)

// MaxSourceSize is the greatest size of a schema file in bytes.
const MaxSourceSize = 1 << 20

// Parse reads the text of a schema file. The error, if any, is a Diagnostics
// with all that was found. The file name is used in messages only.
func Parse(filename string, src []byte) (*schema.Schema, error) {
	s, _, err := ParseWithWarnings(filename, src)
	return s, err
}

// MustParse is Parse for text that is part of the program, such as that of
// generated code: it panics if the text is no schema.
func MustParse(filename, src string) *schema.Schema {
	s, err := Parse(filename, []byte(src))
	if err != nil {
		panic(err)
	}
	return s
}

// ParseWithWarnings is Parse that also returns what is legal but suspicious,
// such as a type that no root uses. Warnings are returned with an error too;
// the error holds none of them.
func ParseWithWarnings(filename string, src []byte) (s *schema.Schema, warnings Diagnostics, err error) {
	list := &reports{filename: filename}
	if len(src) > MaxSourceSize {
		list.errorf(span{}, "the file has %d bytes, the limit is %d", len(src), MaxSourceSize)
		return nil, nil, list.failure()
	}
	p := newParser(src, list)
	p.file()
	// Definitions that were not understood would be reported once more as
	// unknown types.
	if !list.failed() {
		check(p.schema, p.places, list)
	}
	if list.failed() {
		return nil, list.warnings(), list.failure()
	}
	return p.schema, list.warnings(), nil
}

// quoted is how messages show a name from the file.
func quoted(name string) string { return fmt.Sprintf("%q", name) }

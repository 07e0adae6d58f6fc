// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefgen generates Go code from a schema: one file per type, with the
// record, its encoder and its decoder (two files if one would be long); four files
// per root, with the writer, the reader, and the fields and dictionaries of a
// stream; and one file with the text of the schema.
//
// The steps from schema to code:
//
//	plan.go      which types to generate, what they are part of, what contains itself
//	value.go     how a value of a type is declared, compared, encoded, ...
//	check.go     schemas that Go code cannot express
//	clash.go     names that the code declares twice
//	names.go     Go names
//	printer.go   a file being printed; finds its imports
//	struct*.go   oneof.go multimap.go array.go enum.go root.go   one kind each
//	copy.go      methods that copy values
//	unshare.go   methods that replace shared values by copies
//	text.go      methods that print values as text and JSON
//	stream.go    the types and dictionaries that a root reaches
//	doc_text.go, schema_text.go   comments; the text of the schema
//
// Go functions print the code, not templates: nearly every printed line depends on
// the kind of a field, and one function per piece is clearer than nested conditions
// in a template. gofmt formats the result. The output depends only on the schema and
// the options, so equal input produces the same bytes.
package stefgen

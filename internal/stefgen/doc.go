// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefgen turns a schema into Go: one file a type, with the record,
// its encoder and its decoder, and two files a root, the writer and the reader.
//
// The way from schema to code:
//
//	plan.go      which types to make, what they are part of, what contains itself
//	value.go     how a value of a type is declared, compared, encoded, ...
//	check.go     what Go code cannot be made of, and clash.go: names made twice
//	names.go     Go names
//	printer.go   a file being printed; finds its imports
//	struct*.go   oneof.go multimap.go array.go enum.go root.go   one kind each
//
// The code is printed by Go functions rather than templates: what is printed
// depends on the kind of a field in nearly every line, and a function per
// piece says so more plainly than nested conditions in a template. gofmt
// arranges the result. Printing depends on the schema alone, so the same
// schema gives the same bytes.
package stefgen

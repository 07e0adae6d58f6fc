// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema holds the types of a STEF schema and everything that can be derived
// from them without data: the order of the columns, the wire schema (the field
// counts that a stream announces) and the rules of compatibility.
//
// Package idl creates a Schema from a .stef file; a program can also build one. A
// Schema is plain data: read-only once it is complete, and safe to share between
// goroutines.
//
// A root Struct determines its column tree (Columns) and its wire schema (WireOf).
// With the wire schema of a stream it also determines which part of the root that
// stream carries (Keep, Compare).
//
// spec: #schema-language
package schema

// Kind is the kind of a Type.
type Kind uint8

// The kinds of a type. Enum is a uint64 on the wire.
const (
	KindInvalid Kind = iota
	KindBool
	KindInt64
	KindUint64
	KindFloat64
	KindString
	KindBytes
	KindEnum
	KindStruct
	KindOneof
	KindMultimap
	KindArray
)

// Schema is one parsed .stef file.
type Schema struct {
	// Package is the dotted package name of the file, such as "otel.stef".
	Package string
	// Doc is the comment above the package clause, without slashes.
	Doc string
	// Structs holds structs and oneofs in order of declaration.
	Structs   []*Struct
	Multimaps []*Multimap
	Enums     []*Enum
}

// Type is the type of a field, an array element, or a multimap key or value. Only
// the pointer that belongs to Kind is set.
type Type struct {
	Kind Kind
	// Name is the name of the struct, oneof, multimap or enum, as written.
	Name     string
	Struct   *Struct   // KindStruct and KindOneof
	Multimap *Multimap // KindMultimap
	Enum     *Enum     // KindEnum
	Elem     *Type     // KindArray
	// Dict names the dictionary of a string or bytes type; "" is none. For an
	// array it is set on Elem. The dictionary of a struct is Struct.Dict.
	Dict string
}

// Struct is a struct or a oneof: for the schema, both are lists of fields. The
// fields of a oneof are its choices, numbered from 1 in order.
type Struct struct {
	Name  string
	Oneof bool
	// Root marks a struct whose values are the records of a stream.
	Root bool
	// Dict names the struct dictionary; "" is none.
	Dict   string
	Fields []*Field
	// Doc is the comment above the definition, without slashes.
	Doc string
	Pos Pos
}

// Field is a field of a struct or a choice of a oneof.
type Field struct {
	Name     string
	Type     Type
	Optional bool
	Doc      string
	Pos      Pos
}

// Multimap is an ordered list of key and value pairs; keys may repeat.
type Multimap struct {
	Name  string
	Key   Type
	Value Type
	Doc   string
	Pos   Pos
}

// Enum names values of a uint64. Unlisted values are legal on the wire.
type Enum struct {
	Name   string
	Values []EnumValue
	Doc    string
	Pos    Pos
}

// EnumValue is one named value of an Enum.
type EnumValue struct {
	Name  string
	Value uint64
	Doc   string
	Pos   Pos
}

// Pos is a position in a schema file. Line and Column count from 1, Column in runes;
// the zero Pos means "unknown".
type Pos struct {
	Line, Column int
}

// Composite reports whether values of kind k own further columns.
func (k Kind) Composite() bool { return k >= KindStruct }

// String returns the name of k; for the primitives, the keyword of the
// language.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Root returns the root struct with the given name, or nil if no root has it.
func (s *Schema) Root(name string) *Struct {
	for _, st := range s.Structs {
		if st.Root && st.Name == name {
			return st
		}
	}
	return nil
}

// Roots returns the root structs in order of declaration.
func (s *Schema) Roots() []*Struct {
	var roots []*Struct
	for _, st := range s.Structs {
		if st.Root {
			roots = append(roots, st)
		}
	}
	return roots
}

var kindNames = [...]string{
	KindInvalid:  "invalid",
	KindBool:     "bool",
	KindInt64:    "int64",
	KindUint64:   "uint64",
	KindFloat64:  "float64",
	KindString:   "string",
	KindBytes:    "bytes",
	KindEnum:     "enum",
	KindStruct:   "struct",
	KindOneof:    "oneof",
	KindMultimap: "multimap",
	KindArray:    "array",
}

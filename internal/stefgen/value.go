// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/otelstef/stef/stef-go/schema"
)

// class groups types by how generated code treats their values.
type class int

const (
	classScalar class = iota // bool, numbers, enums, text: compared and assigned
	classBytes               // bytes: compared and copied
	classNode                // struct, oneof, multimap, array: part of the record, with marks
	classShared              // dictionary struct: held by pointer
)

func classOf(t *schema.Type) class {
	switch {
	case t.Kind == schema.KindBytes:
		return classBytes
	case isDictStruct(t):
		return classShared
	case t.Kind.Composite():
		return classNode
	}
	return classScalar
}

func goType(t *schema.Type) string {
	switch t.Kind {
	case schema.KindBytes:
		return "[]byte"
	case schema.KindEnum, schema.KindOneof, schema.KindMultimap:
		return t.Name
	case schema.KindStruct:
		if isDictStruct(t) {
			return "*" + t.Name
		}
		return t.Name
	case schema.KindArray:
		switch {
		case t.Elem.Kind.Composite():
			return "stefrt.Array[" + t.Elem.Name + "]"
		case t.Elem.Kind == schema.KindFloat64:
			return "stefrt.Float64s"
		case t.Elem.Kind == schema.KindBytes:
			return "stefrt.ByteRuns"
		}
		return "stefrt.Scalars[" + scalar(t.Elem.Kind) + "]"
	}
	return scalar(t.Kind)
}

// scalar returns the Go type of a primitive kind. An enum has the type of its number.
func scalar(k schema.Kind) string {
	switch k {
	case schema.KindBool:
		return "bool"
	case schema.KindInt64:
		return "int64"
	case schema.KindFloat64:
		return "float64"
	case schema.KindString:
		return "string"
	case schema.KindBytes:
		return "[]byte"
	}
	return "uint64"
}

// codecName returns the name of the codec of a primitive type, such as codec.Bool. With the suffix
// Encoder or Decoder it is the name of a type.
func codecName(t *schema.Type) string {
	name := map[schema.Kind]string{
		schema.KindBool: "Bool", schema.KindInt64: "Int64", schema.KindUint64: "Uint64", schema.KindEnum: "Uint64",
		schema.KindFloat64: "Float64", schema.KindString: "String", schema.KindBytes: "Bytes",
	}[t.Kind]
	if t.Dict != "" {
		name += "Dict"
	}
	return "codec." + name
}

// coder returns the type of the encoder or decoder of a value: role is
// "Encoder" or "Decoder".
func (p *plan) coder(t *schema.Type, role string) string {
	switch {
	case t.Kind == schema.KindArray && !t.Elem.Kind.Composite():
		elem := codecName(t.Elem) + role
		if t.Elem.Kind == schema.KindBytes && role == "Decoder" {
			return fmt.Sprintf("codec.BytesArrayDecoder[%s, *%s]", elem, elem)
		}
		return fmt.Sprintf("codec.Array%s[%s, %s, *%s]", role, scalar(t.Elem.Kind), elem, elem)
	case t.Kind.Composite():
		name := coderBase(t) + role
		if p.cyclic[key(t)] {
			return "*" + name
		}
		return name
	}
	return codecName(t) + role
}

// coderBase returns the first part of the names of the encoder and the decoder of a composite type:
// the part before Encoder or Decoder.
func coderBase(t *schema.Type) string {
	if t.Kind == schema.KindArray {
		return private(t.Elem.Name) + "Array"
	}
	return private(t.Name)
}

// register returns the expression that registers c, the encoder or decoder of a field, with an
// EncoderBuilder or DecoderBuilder. c must be addressable.
func (p *plan) register(t *schema.Type, name, c, role string) string {
	switch {
	case t.Kind == schema.KindArray && !t.Elem.Kind.Composite():
		return fmt.Sprintf("stefrt.Primitives%s(%q, &%s, %q)", role, name, c, t.Elem.Dict)
	case t.Kind.Composite() && p.cyclic[key(t)]:
		typ := coderBase(t) + role
		return fmt.Sprintf("func(b *stefrt.%sBuilder) { %s = stefrt.Share%s(b, %q, %q, (*%s).register) }",
			role, c, role, key(t), name, typ)
	case t.Kind.Composite():
		return fmt.Sprintf("stefrt.%sOf(%q, %s.register)", role, name, c)
	}
	return fmt.Sprintf("stefrt.Primitive%s(%q, &%s, %q)", role, name, c, t.Dict)
}

func inDict(t *schema.Type) bool { return t.Kind == schema.KindString && t.Dict != "" }

// different returns the Go condition that two scalars or two values of bytes differ.
func different(t *schema.Type, a, b string) string {
	switch t.Kind {
	case schema.KindFloat64:
		return fmt.Sprintf("!stefrt.SameFloat(%s, %s)", a, b)
	case schema.KindBytes:
		return fmt.Sprintf("!bytes.Equal(%s, %s)", a, b)
	}
	return a + " != " + b
}

// same returns the Go condition that two scalars or two values of bytes are equal.
func same(t *schema.Type, a, b string) string {
	switch t.Kind {
	case schema.KindFloat64, schema.KindBytes:
		return different(t, a, b)[1:]
	}
	return a + " == " + b
}

func assign(t *schema.Type, dst, v string) string {
	if t.Kind == schema.KindBytes {
		return fmt.Sprintf("%s = append(%s[:0], %s...)", dst, dst, v)
	}
	return dst + " = " + v
}

// zero returns the initial value of a scalar or of bytes. For bytes it is dst without content,
// so that the memory is reused.
func zero(t *schema.Type, dst string) string {
	switch t.Kind {
	case schema.KindBool:
		return "false"
	case schema.KindString:
		return `""`
	case schema.KindBytes:
		return dst + "[:0]"
	}
	return "0"
}

// encode returns the statement that encodes v, a scalar, bytes, or the
// pointer to a node.
func encode(t *schema.Type, coder, v string) string {
	switch {
	case t.Kind == schema.KindEnum:
		return fmt.Sprintf("%s.Encode(uint64(%s))", coder, v)
	case t.Kind == schema.KindArray && !t.Elem.Kind.Composite():
		return fmt.Sprintf("%s.Encode(%s.Encoding())", coder, v)
	case classOf(t) == classNode:
		return fmt.Sprintf("%s.Encode(&%s)", coder, v)
	}
	return fmt.Sprintf("%s.Encode(%s)", coder, v)
}

func decode(t *schema.Type, coder, dst string) string {
	switch {
	case t.Kind == schema.KindEnum:
		return fmt.Sprintf("%s = %s(%s.Decode())", dst, t.Name, coder)
	case t.Kind == schema.KindBytes:
		return fmt.Sprintf("%s = %s.Decode(%s[:0])", dst, coder, dst)
	case t.Kind == schema.KindArray && t.Elem.Kind == schema.KindBytes:
		return fmt.Sprintf("%s.Decoded(%s.Decode(%s.Decoding()))", dst, coder, dst)
	case t.Kind == schema.KindArray && !t.Elem.Kind.Composite():
		return fmt.Sprintf("%s.Decoded(%s.Decode(%s.Encoding()))", dst, coder, dst)
	case classOf(t) == classNode:
		return fmt.Sprintf("%s.Decode(&%s)", coder, dst)
	case classOf(t) == classShared:
		return fmt.Sprintf("%s = %s.Decode(%s)", dst, coder, dst)
	}
	return fmt.Sprintf("%s = %s.Decode()", dst, coder)
}

// method returns the name of an internal method of a node. It is private in
// generated types, and exported in the containers of stefrt.
func method(t *schema.Type, name string) string {
	if t.Kind == schema.KindArray {
		return name
	}
	return private(name)
}

func hash(t *schema.Type, v string) string {
	switch t.Kind {
	case schema.KindBool:
		return fmt.Sprintf("h.Bool(%s)", v)
	case schema.KindInt64, schema.KindEnum:
		return fmt.Sprintf("h.Uint64(uint64(%s))", v)
	case schema.KindUint64:
		return fmt.Sprintf("h.Uint64(%s)", v)
	case schema.KindFloat64:
		return fmt.Sprintf("h.Float64(%s)", v)
	case schema.KindString:
		return fmt.Sprintf("h.String(%s)", v)
	case schema.KindBytes:
		return fmt.Sprintf("h.Bytes(%s)", v)
	}
	return fmt.Sprintf("%s.%s(h)", v, method(t, "Hash"))
}

// size returns the expression for the bytes that v adds to the size of a dictionary entry. It
// returns "" for bools, numbers and enums: each of them adds 8 bytes, which the caller counts.
//
// spec: #limits
func size(t *schema.Type, v string) string {
	switch t.Kind {
	case schema.KindString, schema.KindBytes:
		return fmt.Sprintf("16 + len(%s)", v)
	}
	if t.Kind.Composite() {
		return fmt.Sprintf("%s.%s()", v, method(t, "Size"))
	}
	return ""
}

// getterType returns the type that a getter returns. For arrays that is a type of
// package list, without the methods that only generated code may call.
func getterType(t *schema.Type) string {
	switch {
	case t.Kind == schema.KindArray:
		return "*" + listType(t.Elem)
	case classOf(t) == classNode:
		return "*" + goType(t)
	}
	return goType(t)
}

func listType(elem *schema.Type) string {
	switch {
	case elem.Kind.Composite():
		return "list.Of[" + elem.Name + "]"
	case elem.Kind == schema.KindFloat64:
		return "list.Floats"
	case elem.Kind == schema.KindBytes:
		return "list.Bytes"
	}
	return "list.Values[" + scalar(elem.Kind) + "]"
}

// view returns the Go expression that a getter returns for a struct, oneof, multimap or array. ptr is
// the expression of a pointer to the value.
func view(t *schema.Type, ptr string) string {
	if t.Kind == schema.KindArray {
		return fmt.Sprintf("(%s)(%s)", getterType(t), ptr)
	}
	return ptr
}

// initStatement returns the statement that sets the parent of a node.
func initStatement(t *schema.Type, v, parent, bit string) string {
	if t.Kind == schema.KindArray && t.Elem.Kind.Composite() {
		return fmt.Sprintf("%s.Init(&%sElem, %s, %s)", v, private(t.Elem.Name), parent, bit)
	}
	return fmt.Sprintf("%s.%s(%s, %s)", v, method(t, "Init"), parent, bit)
}

// hasText reports whether a type is text or bytes. Their length can make a record too large.
func hasText(t *schema.Type) bool { return t.Kind == schema.KindString || t.Kind == schema.KindBytes }

// large returns the statement that requests a check of the record's size if v is long. It
// returns "" for types of a fixed size.
func large(t *schema.Type, node, v string) string {
	if !hasText(t) {
		return ""
	}
	return fmt.Sprintf("if len(%s) >= stefrt.LargeText {\n%s.SetLarge()\n}\n", v, node)
}

// initialSize returns the expression of the memory that initial values of the types allocate: a
// dictionary struct is a separate object, even while it is initial. The expression begins with a
// plus sign. It is empty if nothing is allocated.
func (p *plan) initialSize(types ...*schema.Type) string {
	counts := map[string]int{}
	var visit func(t *schema.Type)
	visit = func(t *schema.Type) {
		if t.Kind != schema.KindStruct {
			return // oneofs, multimaps and arrays are empty
		}
		if isDictStruct(t) {
			counts[t.Name]++
		}
		for _, f := range p.fieldsOf(t.Struct) {
			if !f.lazy {
				visit(f.t)
			}
		}
	}
	for _, t := range types {
		visit(t)
	}
	expr := ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		expr += fmt.Sprintf("+%d*int(unsafe.Sizeof(%s{}))", counts[name], name)
	}
	return expr
}

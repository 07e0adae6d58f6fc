// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math/bits"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
	"github.com/otelstef/stef/stef-go/schema"
)

// StructEncoder encodes the column of a struct: masks of changed and present fields.
//
// spec: #struct
type StructEncoder struct {
	codec.Bits
	// Fields is the number of kept fields. Mask has a bit for each kept field.
	Fields uint
	Mask   uint64
	// Optional is the number of kept optional fields. OptionalMask has a bit for
	// each of them.
	Optional     uint
	OptionalMask uint64
}

// Reference appends the reference to a dictionary entry.
//
// spec: #struct-dict
func (e *StructEncoder) Reference(ref uint64) {
	e.Write(0, 1)
	e.WriteCompact(ref)
}

// OneofEncoder encodes the column of a oneof: choice numbers.
//
// spec: #oneof
type OneofEncoder struct {
	codec.Bits
	// Choices is the number of kept choices, Width the number of bits of a choice.
	Choices uint64
	Width   uint
}

// elementEstimate is the estimated size in a frame of an element of an array of composite values, or of a
// pair of a multimap, without its text.
const elementEstimate = 32

// LengthEncoder encodes the column of an array of composite values: its length.
//
// spec: #array
type LengthEncoder struct {
	codec.Bits
	usage *codec.Usage
}

// Encode appends a length.
func (e *LengthEncoder) Encode(n int) {
	e.usage.Frame += elementEstimate * n
	e.WriteCompact(uint64(n))
}

// MultimapEncoder encodes the column of a multimap: headers.
//
// spec: #multimap
type MultimapEncoder struct {
	codec.Headers
	usage *codec.Usage
}

// Full appends the header of a multimap that sends n pairs with their keys.
func (e *MultimapEncoder) Full(n int) {
	e.usage.Frame += elementEstimate * n
	e.Write(uint64(n)<<1 | 1)
}

// EncoderBuilder collects the columns of a writer in the order of the schema. Every
// encoder registers itself once, when the stream begins.
type EncoderBuilder struct {
	tree  *column.WriteTree
	usage *codec.Usage
	// Fields has the field counts of the stream.
	Fields FieldCounts
	// Roots returns the schema of the package. It is nil if the package has only one
	// root. Errors use it to name the root that another schema belongs to.
	Roots func() *schema.Schema
	sharedCoders[encoderDict]
}

// An EncoderField registers the encoder of a field.
type EncoderField func(b *EncoderBuilder)

// Struct registers a struct and as many of its fields as the stream keeps.
// optional has a bit for every optional field.
func (b *EncoderBuilder) Struct(name, typ string, e *StructEncoder, optional uint64, fields ...EncoderField) {
	n := b.Fields.of(typ, len(fields))
	e.Fields, e.Mask = uint(n), maskOf(n)
	e.Optional = uint(bits.OnesCount64(optional & e.Mask))
	e.OptionalMask = maskOf(int(e.Optional))
	b.fields(name, e, fields[:n])
}

// Oneof registers a oneof and as many of its choices as the stream keeps.
func (b *EncoderBuilder) Oneof(name, typ string, e *OneofEncoder, choices ...EncoderField) {
	n := b.Fields.of(typ, len(choices))
	e.Choices, e.Width = uint64(n), OneofWidth(n)
	b.fields(name, e, choices[:n])
}

// Array registers an array of composite values.
func (b *EncoderBuilder) Array(name string, e *LengthEncoder, elem EncoderField) {
	e.usage = b.usage
	b.fields(name, e, []EncoderField{elem})
}

// Multimap registers a multimap.
func (b *EncoderBuilder) Multimap(name string, e *MultimapEncoder, key, value EncoderField) {
	e.usage = b.usage
	b.fields(name, e, []EncoderField{key, value})
}

func (b *EncoderBuilder) fields(name string, w column.Writer, fields []EncoderField) {
	b.tree.Open(name, w)
	for _, register := range fields {
		register(b)
	}
	b.tree.Close()
}

// EncoderOf returns a field whose type is composite. The function register adds its encoder.
func EncoderOf(name string, register func(b *EncoderBuilder, name string)) EncoderField {
	return func(b *EncoderBuilder) { register(b, name) }
}

// PrimitiveEncoder returns the field of a primitive type. dict names its dictionary;
// "" means none.
func PrimitiveEncoder(name string, e column.Writer, dict string) EncoderField {
	return func(b *EncoderBuilder) {
		b.connect(e, dict)
		b.tree.Add(name, e)
	}
}

// PrimitivesEncoder returns the field of an array of primitive values.
func PrimitivesEncoder(name string, e interface {
	Init(*codec.Usage)
	Columns() (length, elem column.Writer)
}, dict string) EncoderField {
	return func(b *EncoderBuilder) {
		e.Init(b.usage)
		length, elem := e.Columns()
		b.fields(name, length, []EncoderField{PrimitiveEncoder("[]", elem, dict)})
	}
}

func (b *EncoderBuilder) connect(e column.Writer, dict string) {
	switch e := e.(type) {
	case interface{ Init(*codec.Usage) }:
		e.Init(b.usage)
	case interface{ Init(*codec.StringDict) }:
		d := dictOf[codec.StringDict](&b.sharedCoders, "text "+dict)
		d.Init(b.usage)
		e.Init(d)
	case interface{ Init(*codec.BytesDict) }:
		d := dictOf[codec.BytesDict](&b.sharedCoders, "bytes "+dict)
		d.Init(b.usage)
		e.Init(d)
	}
}

// encoderDict is a dictionary of a writer.
type encoderDict interface {
	// Restart empties the dictionary.
	Restart()
	// Release empties the dictionary and releases its memory.
	Release()
}

// EncoderDict returns the struct dictionary of that name, shared by all
// encoders of the stream.
func EncoderDict[T any](b *EncoderBuilder, name string) *StructDict[T] {
	d := dictOf[StructDict[T]](&b.sharedCoders, "struct "+name)
	d.init(b.usage)
	return d
}

// TextDict returns the dictionary of text of that name, or nil if no column of the
// stream uses it.
func (b *EncoderBuilder) TextDict(name string) *stef.TextDict {
	d, _ := b.dicts["text "+name].(*codec.StringDict)
	return (*stef.TextDict)(d)
}

// ShareEncoder returns the encoder of a type that can contain itself. If an enclosing value
// has the same type, it returns the encoder of that value. Otherwise it creates an encoder
// and calls register for it.
//
// spec: #column-order
func ShareEncoder[E any](b *EncoderBuilder, typ, name string, register func(e *E, b *EncoderBuilder, name string)) *E {
	return coderOf(&b.sharedCoders, typ, func(e *E) { register(e, b, name) })
}

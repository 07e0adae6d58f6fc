// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math/bits"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
)

// StructDecoder decodes the column of a struct.
//
// spec: #struct
type StructDecoder struct {
	codec.BitsIn
	// Fields is the number of kept fields, and Optional the number of kept optional
	// fields.
	Fields   uint
	Optional uint
	Alloc    *codec.Alloc
}

// NoSuchForm fails the stream: a record in the compact form (see ReadState) has values that no valid
// record has.
func (d *StructDecoder) NoSuchForm() { d.Fail(bitio.FaultForm) }

// TooMuchState fails the stream: the state of the compact form (see ReadState) exceeds the limit.
func (d *StructDecoder) TooMuchState() { d.Fail(bitio.FaultState) }

// Room returns an upper bound of the number of values that the unread data can hold.
func (d *StructDecoder) Room() int {
	if d.Fields == 0 {
		return maxEmpty // a struct without fields needs no bits
	}
	return d.Left()
}

// maxEmpty bounds arrays of structs without fields.
const maxEmpty = 1 << 16

// OneofDecoder decodes the column of a oneof.
//
// spec: #oneof
type OneofDecoder struct {
	codec.BitsIn
	// Choices is the number of kept choices, Width the number of bits of a choice.
	Choices uint64
	Width   uint
	Alloc   *codec.Alloc
}

// grantedBits is the number of zero bits that readers of the reference implementation supply after the
// end of a bit column. In some streams the last oneofs are None only because of these bits. Zero bits
// cannot add a value to a oneof, so this reader supplies them to oneof columns.
//
// spec: #interop-reader
const grantedBits = 56

// Reset makes d read data.
func (d *OneofDecoder) Reset(data []byte) {
	d.BitsIn.Reset(data)
	if len(data) > 0 {
		d.Grant(grantedBits)
	}
}

// NoSuchChoice fails the stream: its schema has no choice with the number that was read.
func (d *OneofDecoder) NoSuchChoice() { d.Fail(bitio.FaultChoice) }

// Room returns an upper bound of the number of values that the unread data can hold.
func (d *OneofDecoder) Room() int { return d.Left() }

// LengthDecoder decodes the column of an array of composite values.
//
// spec: #array
type LengthDecoder struct {
	codec.BitsIn
	Alloc *codec.Alloc
}

// Decode returns a length. A length greater than room, the number of elements that
// the unread data can hold, is a fault.
func (d *LengthDecoder) Decode(room int) int {
	n := d.ReadCompact()
	if n > uint64(room) {
		d.Fail(bitio.FaultElements)
		return 0
	}
	return int(n)
}

// TooLarge fails the stream: a record needs too much memory.
func (d *LengthDecoder) TooLarge() { d.Fail(bitio.FaultRecordSize) }

// MultimapDecoder decodes the column of a multimap.
//
// spec: #multimap
type MultimapDecoder struct {
	codec.HeadersIn
	Alloc *codec.Alloc
}

// Room returns an upper bound of the number of values that the unread data can hold.
func (d *MultimapDecoder) Room() int { return d.Left() }

// Pairs returns the number of pairs in the header of a multimap, or 0 and false if it exceeds the limits.
// held is the number of pairs that are already allocated, size the memory of one pair.
func (d *MultimapDecoder) Pairs(header uint64, held, size int) (n int, ok bool) {
	if header>>1 > stef.MaxPairs {
		d.Fail(bitio.FaultPairs)
		return 0, false
	}
	n = int(header >> 1)
	if n > held && !Take(d.Alloc, d, n*size) {
		return 0, false
	}
	return n, true
}

// NoSuchPair fails the stream: a header changes a pair that does not exist.
func (d *MultimapDecoder) NoSuchPair() { d.Fail(bitio.FaultPair) }

// Take counts n bytes of memory that the record newly allocates, and reports whether
// they are within the limit.
func Take(alloc *codec.Alloc, s interface{ Fail(bitio.FaultCode) }, n int) bool {
	if !alloc.Take(n) {
		s.Fail(bitio.FaultRecordSize)
		return false
	}
	return true
}

// Enter counts one more level of a type that contains itself and reports whether it
// is within the limit. Leave is the inverse.
func Enter(alloc *codec.Alloc, s interface{ Fail(bitio.FaultCode) }) bool {
	alloc.Depth--
	if alloc.Depth < 0 {
		s.Fail(bitio.FaultDepth)
		alloc.Depth++
		return false
	}
	return true
}

// Leave is the inverse of Enter.
func Leave(alloc *codec.Alloc) { alloc.Depth++ }

// DecoderBuilder collects the columns of a reader in the order of the schema. Every
// decoder registers itself once, when the stream begins.
type DecoderBuilder struct {
	tree  *column.ReadTree
	alloc *codec.Alloc
	limit *codec.DictLimit
	// Fields has the field counts of the stream.
	Fields FieldCounts
	sharedCoders[interface{ Restart() }]
}

// A DecoderField registers the decoder of a field.
type DecoderField func(b *DecoderBuilder)

// Struct registers a struct and as many of its fields as the stream has.
// optional has a bit for every optional field.
func (b *DecoderBuilder) Struct(name, typ string, d *StructDecoder, optional uint64, fields ...DecoderField) {
	n := b.Fields.of(typ, len(fields))
	d.Alloc = b.alloc
	d.Fields = uint(n)
	d.Optional = uint(bits.OnesCount64(optional & maskOf(n)))
	b.fields(name, d, fields[:n])
}

// Oneof registers a oneof and as many of its choices as the stream has.
func (b *DecoderBuilder) Oneof(name, typ string, d *OneofDecoder, choices ...DecoderField) {
	n := b.Fields.of(typ, len(choices))
	d.Alloc = b.alloc
	d.Choices, d.Width = uint64(n), OneofWidth(n)
	b.fields(name, d, choices[:n])
}

// Array registers an array of composite values.
func (b *DecoderBuilder) Array(name string, d *LengthDecoder, elem DecoderField) {
	d.Alloc = b.alloc
	b.fields(name, d, []DecoderField{elem})
}

// Multimap registers a multimap.
func (b *DecoderBuilder) Multimap(name string, d *MultimapDecoder, key, value DecoderField) {
	d.Alloc = b.alloc
	b.fields(name, d, []DecoderField{key, value})
}

func (b *DecoderBuilder) fields(name string, r column.Reader, fields []DecoderField) {
	b.tree.Open(name, r)
	for _, register := range fields {
		register(b)
	}
	b.tree.Close()
}

// DecoderOf returns a field whose type is composite. The function register adds its decoder.
func DecoderOf(name string, register func(b *DecoderBuilder, name string)) DecoderField {
	return func(b *DecoderBuilder) { register(b, name) }
}

// PrimitiveDecoder returns the field of a primitive type. dict names its dictionary;
// "" means none.
func PrimitiveDecoder(name string, d column.Reader, dict string) DecoderField {
	return func(b *DecoderBuilder) {
		switch d := d.(type) {
		case interface{ Init(*codec.StringTable) }:
			t := dictOf[codec.StringTable](&b.sharedCoders, "text "+dict)
			t.Init(b.limit)
			d.Init(t)
		case interface{ Init(*codec.BytesTable) }:
			t := dictOf[codec.BytesTable](&b.sharedCoders, "bytes "+dict)
			t.Init(b.limit, b.alloc)
			d.Init(t)
		}
		b.tree.Add(name, d)
	}
}

// PrimitivesDecoder returns the field of an array of primitive values.
func PrimitivesDecoder(name string, d interface {
	Init(*codec.Alloc)
	Columns() (length, elem column.Reader)
}, dict string) DecoderField {
	return func(b *DecoderBuilder) {
		d.Init(b.alloc)
		length, elem := d.Columns()
		b.fields(name, length, []DecoderField{PrimitiveDecoder("[]", elem, dict)})
	}
}

// DecoderTable returns the struct dictionary of that name, shared by all
// decoders of the stream.
func DecoderTable[T any](b *DecoderBuilder, name string) *StructTable[T] {
	t := dictOf[StructTable[T]](&b.sharedCoders, "struct "+name)
	t.init(b.limit)
	return t
}

// ShareDecoder returns the decoder of a type that can contain itself. If an enclosing value
// has the same type, it returns the decoder of that value. Otherwise it creates a decoder
// and calls register for it.
//
// spec: #column-order
func ShareDecoder[D any](b *DecoderBuilder, typ, name string, register func(d *D, b *DecoderBuilder, name string)) *D {
	return coderOf(&b.sharedCoders, typ, func(d *D) { register(d, b, name) })
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"math"
	"math/bits"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/column"
)

// ArrayEncoder writes arrays of primitive values: the length to a column of its own, and
// then every element. T is the Go type of an element, and E is the encoder of an element.
//
// spec: #array
type ArrayEncoder[T any, E any, P interface {
	*E
	column.Writer
	Encode(T)
}] struct {
	Length Bits
	Elem   E
	usage  *Usage
}

// Init sets the counters of the stream, which Encode updates.
func (e *ArrayEncoder[T, E, P]) Init(usage *Usage) { e.usage = usage }

// Columns returns the columns of the array.
func (e *ArrayEncoder[T, E, P]) Columns() (length, elem column.Writer) {
	return &e.Length, P(&e.Elem)
}

// Encode appends v.
func (e *ArrayEncoder[T, E, P]) Encode(v []T) {
	e.Length.WriteCompact(uint64(len(v)))
	e.usage.Frame += 10 * len(v)
	elem := P(&e.Elem)
	for i := range v {
		elem.Encode(v[i])
	}
}

// ArrayDecoder reads what ArrayEncoder writes.
type ArrayDecoder[T any, D any, P interface {
	*D
	column.Reader
	Decode() T
	Left() int
}] struct {
	Length BitsIn
	Elem   D
	alloc  *Alloc
}

// Init sets the allowance that limits the memory of new elements.
func (d *ArrayDecoder[T, D, P]) Init(alloc *Alloc) { d.alloc = alloc }

// Columns returns the columns of the array.
func (d *ArrayDecoder[T, D, P]) Columns() (length, elem column.Reader) {
	return &d.Length, P(&d.Elem)
}

// Decode replaces dst by the next value and reuses its memory if it is large enough.
// If the length exceeds the data, Decode fails the stream before it allocates memory.
func (d *ArrayDecoder[T, D, P]) Decode(dst []T) []T {
	n := d.Length.ReadCompact()
	elem := P(&d.Elem)
	if n > uint64(elem.Left()) {
		d.Length.Fail(bitio.FaultElements)
		return dst[:0]
	}
	if n > uint64(cap(dst)) {
		if !d.alloc.TakeEach(int(n), 16) {
			d.Length.Fail(bitio.FaultRecordSize)
			return dst[:0]
		}
		dst = make([]T, n)
	}
	dst = dst[:n]
	// Calls of methods of type parameters are indirect, so the most common elements
	// have a separate loop.
	if numbers, ok := any(elem).(*Uint64Decoder); ok {
		numbers.decodeAll(any(dst).([]uint64))
		return dst
	}
	for i := range dst {
		dst[i] = elem.Decode()
	}
	return dst
}

// BytesArrayDecoder reads what ArrayEncoder writes for elements of bytes.
type BytesArrayDecoder[D any, P interface {
	*D
	column.Reader
	Decode([]byte) []byte
	Left() int
}] struct {
	Length BitsIn
	Elem   D
	alloc  *Alloc
}

// Init sets the allowance that limits the memory of new elements.
func (d *BytesArrayDecoder[D, P]) Init(alloc *Alloc) { d.alloc = alloc }

// Columns returns the columns of the array.
func (d *BytesArrayDecoder[D, P]) Columns() (length, elem column.Reader) {
	return &d.Length, P(&d.Elem)
}

// Decode replaces dst by the next value and reuses its memory if it is large enough.
func (d *BytesArrayDecoder[D, P]) Decode(dst [][]byte) [][]byte {
	n := d.Length.ReadCompact()
	elem := P(&d.Elem)
	if n > uint64(elem.Left()) {
		d.Length.Fail(bitio.FaultElements)
		return dst[:0]
	}
	if n > uint64(cap(dst)) {
		if !d.alloc.TakeEach(int(n), 40) {
			d.Length.Fail(bitio.FaultRecordSize)
			return dst[:0]
		}
		dst = append(dst[:cap(dst)], make([][]byte, int(n)-cap(dst))...)
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = elem.Decode(dst[i][:0])
	}
	return dst
}

// Alloc bounds the memory that decoding one record may allocate for composite values. Reused memory
// does not count.
//
// spec: #limits
type Alloc struct {
	// Left is the number of bytes that the record may still allocate.
	Left int
	// Max is the value of Left at the start of every record.
	Max int
	// Depth is the number of further levels of recursive types that are allowed.
	Depth int
}

// TakeEach counts n values of size bytes each and reports whether they are within
// the limit. It returns false if n*size overflows an int.
func (a *Alloc) TakeEach(n, size int) bool {
	high, low := bits.Mul64(uint64(n), uint64(size))
	return high == 0 && low <= math.MaxInt && a.Take(int(low))
}

// Take counts n bytes and reports whether they are within the limit.
func (a *Alloc) Take(n int) bool {
	if n > a.Left {
		a.Left = -1 // so that smaller allocations of this record also fail
		return false
	}
	a.Left -= n
	return true
}

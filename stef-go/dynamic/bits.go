// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter collects the bits of a column, the most significant bit of a byte first. The last byte is
// filled with zero bits.
//
// spec: #notation
type bitWriter struct {
	data []byte
	n    int // bits written
}

func (w *bitWriter) bit(b bool) {
	if w.n%8 == 0 {
		w.data = append(w.data, 0)
	}
	if b {
		w.data[w.n/8] |= 0x80 >> (w.n % 8)
	}
	w.n++
}

// bits writes the lowest count bits of v, the most significant bit first.
func (w *bitWriter) bits(v uint64, count int) {
	for i := count - 1; i >= 0; i-- {
		w.bit(v>>i&1 == 1)
	}
}

// compact writes v as a compact number, in the shortest class that can hold it. A class is a number of
// zero bits, a 1 bit, and a number of payload bits: see compactBits.
//
// spec: #uvarint-compact
func (w *bitWriter) compact(v uint64) error {
	for zeros, size := range compactBits {
		if bits.Len64(v) <= size {
			w.bits(1, zeros+1)
			w.bits(v, size)
			return nil
		}
	}
	return fault(ErrLimit, "the number %d is 2^48 or more", v)
}

// compactBits has the number of payload bits of each class of compact numbers. The index
// is the number of 0 bits before the first 1 bit.
var compactBits = [...]int{0, 2, 5, 12, 19, 26, 33, 48}

// bitReader reads the bits of a column. A read beyond the stored bits fails, except in choice.
type bitReader struct {
	data []byte
	n    int // bits read
	// missing counts the missing bits that choice treated as zeros.
	missing int
	// base is the offset of data in the payload. traced is the number of bits that
	// already have an event; see tracer.
	base, traced int
}

func (r *bitReader) left() int { return 8*len(r.data) - r.n }

// bits reads count bits as a number, the most significant bit first.
func (r *bitReader) bits(count int) (uint64, error) {
	if count > r.left() {
		return 0, cutOff("bits")
	}
	var v uint64
	for range count {
		v = v<<1 | uint64(r.data[r.n/8]>>(7-r.n%8)&1)
		r.n++
	}
	return v, nil
}

// maxMissingBits is the maximum number of bits that may be missing at the end of a oneof column in one
// frame. A reader treats them as zeros.
//
// spec: #missing-choices
const maxMissingBits = 56

// choice reads count bits as the choice of a oneof. Bits that are missing at the end of a column count as
// zeros if the column is not empty, at most maxMissingBits are missing, and the choice is 0. The
// reference implementation has the same rule, and some streams need it.
func (r *bitReader) choice(count int) (uint64, error) {
	missing := max(count-r.left(), 0)
	if missing > 0 && len(r.data) == 0 || r.missing+missing > maxMissingBits {
		return 0, cutOff("choice")
	}
	v, err := r.bits(count - missing)
	if err == nil && missing > 0 && v != 0 {
		return 0, cutOff("choice")
	}
	r.missing += missing
	return v, err
}

// compact reads a compact number. A number may be in a larger class than it needs.
//
// spec: #uvarint-compact
func (r *bitReader) compact() (uint64, error) {
	for _, size := range compactBits {
		one, err := r.bits(1)
		if err != nil {
			return 0, err
		}
		if one == 1 {
			return r.bits(size)
		}
	}
	return 0, fault(ErrCorrupt, "a compact number begins with eight zero bits")
}

// end checks that all bits were read. The zero bits that fill the last byte may be unread.
func (r *bitReader) end() error {
	left := r.left()
	if left >= 8 {
		return fault(ErrCorrupt, "%d bits were not read", left)
	}
	if fill, err := r.bits(left); err != nil || fill != 0 {
		return fault(ErrCorrupt, "the bits that fill the last byte are not zero")
	}
	return nil
}

// byteReader reads the bytes of a column or of a header.
type byteReader struct {
	data []byte
	n    int // bytes read
	// base and traced are as in bitReader, but in bytes.
	base, traced int
}

func (r *byteReader) left() int { return len(r.data) - r.n }

// take reads count bytes. The result is memory of the column: a caller that keeps the result must copy
// it. what names the element in errors.
func (r *byteReader) take(count uint64, what string) ([]byte, error) {
	if count > uint64(r.left()) {
		return nil, cutOff(what)
	}
	b := r.data[r.n : r.n+int(count)]
	r.n += int(count)
	return b, nil
}

// ReadByte implements io.ByteReader.
func (r *byteReader) ReadByte() (byte, error) {
	b, err := r.take(1, "byte")
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (r *byteReader) uvarint(what string) (uint64, error) {
	return readUvarint(r.ReadByte, what)
}

// varint reads a zigzag coded number.
//
// spec: #varint
func (r *byteReader) varint(what string) (int64, error) {
	u, err := r.uvarint(what)
	return int64(u>>1) ^ -int64(u&1), err
}

func (r *byteReader) end() error {
	if r.left() > 0 {
		return fault(ErrCorrupt, "%d bytes were not read", r.left())
	}
	return nil
}

// readUvarint reads a number of up to 10 bytes. Longer forms than needed are
// legal, values of more than 64 bits are not.
//
// spec: #uvarint
func readUvarint(next func() (byte, error), what string) (uint64, error) {
	var v uint64
	for i := range binary.MaxVarintLen64 {
		b, err := next()
		if err != nil {
			return 0, sourceError(err, what)
		}
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, fault(ErrCorrupt, "%s overflows 64 bits", what)
}

// appendVarint appends v in zigzag code.
//
// spec: #varint
func appendVarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

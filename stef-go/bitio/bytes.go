// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

import "math/bits"

// Zigzag maps signed numbers to unsigned ones so that small magnitudes stay
// small: 0, -1, 1, -2 become 0, 1, 2, 3.
//
// spec: #varint
func Zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Unzigzag undoes Zigzag.
func Unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// AppendUvarint appends v as unsigned LEB128 in its shortest form.
//
// spec: #uvarint
func AppendUvarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// AppendVarint appends v zigzagged.
//
// spec: #varint
func AppendVarint(dst []byte, v int64) []byte { return AppendUvarint(dst, Zigzag(v)) }

// UvarintLen returns how many bytes AppendUvarint appends for v.
func UvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// Uvarint decodes a number from the start of b and returns it with the number
// of bytes used; 0 bytes means b ends too early, a negative number that the
// value does not fit 64 bits. Forms longer than the shortest are accepted, up
// to 10 bytes.
//
// spec: #uvarint
func Uvarint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 9 && c > 1 || i > 9 {
			return 0, -(i + 1)
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// ByteReader reads varints and runs of bytes. Like BitReader it latches a
// Fault on the first failure and returns zeros from then on.
type ByteReader struct {
	buf []byte
	pos int
	Source
}

// Reset makes r read data, which it does not copy.
func (r *ByteReader) Reset(data []byte) { r.buf, r.pos = data, 0 }

// Uvarint reads one number. It is a leaf that the compiler inlines.
func (r *ByteReader) Uvarint() uint64 {
	if r.pos < len(r.buf) {
		if b := r.buf[r.pos]; b < 0x80 {
			r.pos++
			return uint64(b)
		}
	}
	return r.uvarintSlow()
}

func (r *ByteReader) uvarintSlow() uint64 {
	v, n := Uvarint(r.buf[r.pos:])
	if n <= 0 {
		r.pos = len(r.buf)
		if n == 0 {
			r.Fail(FaultEnd)
		} else {
			r.Fail(FaultOverflow)
		}
		return 0
	}
	r.pos += n
	return v
}

// Varint reads one zigzagged number.
func (r *ByteReader) Varint() int64 { return Unzigzag(r.Uvarint()) }

// Next returns the next n bytes, which stay part of the column, and where in
// it they begin. It returns nil if there are not so many.
func (r *ByteReader) Next(n uint64) (run []byte, at int) {
	if n > uint64(len(r.buf)-r.pos) {
		r.pos = len(r.buf)
		r.Fail(FaultEnd)
		return nil, r.pos
	}
	at = r.pos
	r.pos += int(n)
	return r.buf[at:r.pos:r.pos], at
}

// Left returns the number of bytes not yet read.
func (r *ByteReader) Left() int { return len(r.buf) - r.pos }

// Done says whether everything was read.
func (r *ByteReader) Done() bool { return r.pos == len(r.buf) }

// ByteWriter is a byte column being written. The zero value is ready to use.
type ByteWriter struct {
	// Buf is what was written since the last Reset; codecs append to it.
	Buf []byte
}

// Len returns the number of bytes written since the last Reset.
func (w *ByteWriter) Len() int { return len(w.Buf) }

// AppendTo appends what was written to dst.
func (w *ByteWriter) AppendTo(dst []byte) []byte { return append(dst, w.Buf...) }

// Reset drops what was written and keeps the memory.
func (w *ByteWriter) Reset() { w.Buf = w.Buf[:0] }

// Grow makes room for n more bytes.
func (w *ByteWriter) Grow(n int) { w.Buf = grow(w.Buf, n) }

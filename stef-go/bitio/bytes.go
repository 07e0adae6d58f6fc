// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

import (
	"encoding/binary"
	"math/bits"
)

// Zigzag maps signed numbers to unsigned numbers so that small magnitudes stay
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

// AppendVarint appends v in zigzag code.
//
// spec: #varint
func AppendVarint(dst []byte, v int64) []byte { return AppendUvarint(dst, Zigzag(v)) }

// UvarintLen returns the number of bytes that AppendUvarint appends for v.
func UvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// Uvarint decodes a number from the start of b and returns it with the number n of
// bytes used. n is 0 if b ends too early, and negative if the value exceeds 64 bits.
// Uvarint accepts forms longer than the shortest, up to 10 bytes.
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

// ByteReader reads varints and runs of bytes. Like BitReader, it records the
// first failure in its Fault and returns zeros from then on.
type ByteReader struct {
	// Buf is the column, and Pos is the number of bytes read. Codecs that read one
	// value per call access them directly, to save the call of Uvarint.
	Buf []byte
	Pos int
	Source
}

// Reset makes r read data, which it does not copy.
func (r *ByteReader) Reset(data []byte) { r.Buf, r.Pos = data, 0 }

// Uvarint reads one number.
func (r *ByteReader) Uvarint() uint64 {
	if r.Pos < len(r.Buf) {
		if b := r.Buf[r.Pos]; b < 0x80 {
			r.Pos++
			return uint64(b)
		}
	}
	return r.UvarintLong()
}

// UvarintLong is like Uvarint, but faster if the number is longer than a byte.
func (r *ByteReader) UvarintLong() uint64 {
	if len(r.Buf)-r.Pos >= 8 {
		if v, n := uvarint8(binary.LittleEndian.Uint64(r.Buf[r.Pos:])); n > 0 {
			r.Pos += n
			return v
		}
	}
	v, n := Uvarint(r.Buf[r.Pos:])
	if n <= 0 {
		r.Pos = len(r.Buf)
		if n == 0 {
			r.Fail(FaultEnd)
		} else {
			r.Fail(FaultOverflow)
		}
		return 0
	}
	r.Pos += n
	return v
}

// uvarint8 decodes a number of at most 8 bytes from one little endian word, without a
// loop over the bytes. n is the number of bytes, or 0 if the number is longer.
func uvarint8(w uint64) (v uint64, n int) {
	const (
		tops = 0x8080808080808080
		sept = 0x7f7f7f7f7f7f7f7f
	)
	ends := ^w & tops
	if ends == 0 {
		return 0, 0
	}
	w &= (ends ^ (ends - 1)) & sept // up to the first byte without its top bit
	// Join groups of 7 bits to groups of 14, 28 and 56.
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
	return w, bits.TrailingZeros64(ends)/8 + 1
}

// Varint reads one number in zigzag code.
func (r *ByteReader) Varint() int64 { return Unzigzag(r.Uvarint()) }

// Next returns the next n bytes and their offset in the column. It does not copy the
// bytes. If fewer than n bytes are unread, it records FaultEnd and returns nil.
func (r *ByteReader) Next(n uint64) (run []byte, at int) {
	if n > uint64(len(r.Buf)-r.Pos) {
		r.Pos = len(r.Buf)
		r.Fail(FaultEnd)
		return nil, r.Pos
	}
	at = r.Pos
	r.Pos += int(n)
	return r.Buf[at:r.Pos:r.Pos], at
}

// Left returns the number of unread bytes.
func (r *ByteReader) Left() int { return len(r.Buf) - r.Pos }

// Done reports whether everything was read.
func (r *ByteReader) Done() bool { return r.Pos == len(r.Buf) }

// ByteWriter is a byte column being written. The zero value is ready to use.
type ByteWriter struct {
	// Buf has the bytes written since the last Reset. Codecs call Room and then
	// append to it.
	Buf  []byte
	hint int
}

// Room ensures capacity for n more bytes. It is a leaf that the compiler inlines.
func (w *ByteWriter) Room(n int) {
	if cap(w.Buf)-len(w.Buf) < n {
		w.Buf = grow(w.Buf, n, w.hint)
	}
}

// Uvarint appends v as AppendUvarint does. It is faster for numbers that are likely
// to be longer than a byte.
func (w *ByteWriter) Uvarint(v uint64) {
	w.Room(maxUvarint)
	n := len(w.Buf)
	if v < 0x80 {
		w.Buf = w.Buf[:n+1]
		w.Buf[n] = byte(v)
		return
	}
	if v >= 1<<56 {
		w.Buf = AppendUvarint(w.Buf, v)
		return
	}
	size := UvarintLen(v)
	// Split groups of 56, 28 and 14 bits into groups of 28, 14 and 7, one per byte.
	// Every byte but the last gets the continuation bit.
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	v |= 0x8080808080808080 & (1<<(8*(size-1)) - 1)
	binary.LittleEndian.PutUint64(w.Buf[n:n+8], v)
	w.Buf = w.Buf[:n+size]
}

const maxUvarint = 10

// Len returns the number of bytes written since the last Reset.
func (w *ByteWriter) Len() int { return len(w.Buf) }

// AppendTo appends the written bytes to dst.
func (w *ByteWriter) AppendTo(dst []byte) []byte { return append(dst, w.Buf...) }

// Reset discards the written bytes and keeps the memory.
func (w *ByteWriter) Reset() { w.Buf = w.Buf[:0] }

// Expect sets the number of bytes that the column is likely to need.
func (w *ByteWriter) Expect(n int) { w.hint = n }

// Release discards the written bytes and releases the memory.
func (w *ByteWriter) Release() {
	columns.Give(w.Buf)
	w.Buf = nil
}

// A column of at least startHint bytes grows to its expected size, but in one step at most by the
// factor hintFactor. Smaller columns grow in small steps, because the expected data may never
// arrive, for example if the stream is idle. The factor is limited because the expected size is
// that of another stream: after one frame of 60 MiB, a column of 20 KB must not take 60 MiB.
const (
	startHint  = 4 << 10
	hintFactor = 16
)

// smallest is the size below which buffers quadruple.
const smallest = 512

// grow returns b with capacity for n more bytes. It quadruples the smallest buffers,
// because the first frame of a stream has many of them. It doubles small buffers, and
// grows larger buffers towards the expected size. append would grow large columns only by a
// quarter, and so copy them many times.
func grow(b []byte, n, hint int) []byte {
	size := max(2*cap(b), len(b)+n, 64)
	if cap(b) < smallest {
		size = max(size, 4*cap(b))
	}
	if len(b) >= startHint {
		size = max(size, min(hint+hint/8, hintFactor*len(b)))
	}
	bigger := append(columns.Take(size), b...)
	columns.Give(b)
	return bigger
}

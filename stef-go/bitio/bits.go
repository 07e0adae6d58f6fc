// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

import (
	"encoding/binary"
	"math/bits"
)

// BitWriter appends bits to a growing buffer, most significant bit first. The
// zero value is ready to use.
//
//	buf: | 8 bytes | 8 bytes | ...      acc: |used bits, left aligned|  free  |
type BitWriter struct {
	buf  []byte
	acc  uint64
	used uint // bits in acc, 0..64
	hint int
}

// Write appends the n low bits of v, the highest of them first. n is at most 64, and
// v must be below 1<<n: higher bits would damage the bits before it.
//
// The compiler inlines it into generated code; a test in internal/arch checks that.
// The slow path is in spill.
func (w *BitWriter) Write(v uint64, n uint) {
	w.used += n
	if w.used <= 64 {
		w.acc |= v << (-w.used & 63)
		return
	}
	w.spill(v)
}

// spill does the work of Write if the bits do not fit in acc: it completes acc and appends it to
// buf. The other bits of v begin the next acc.
func (w *BitWriter) spill(v uint64) {
	rest := w.used - 64 // 1..64 bits of v belong to the next acc
	if cap(w.buf)-len(w.buf) < 8 {
		w.buf = grow(w.buf, 8, w.hint)
	}
	w.buf = binary.BigEndian.AppendUint64(w.buf, w.acc|v>>rest)
	w.acc = v << (-rest & 63)
	w.used = rest
}

// WriteCompact appends v, which must be at most MaxCompact, in the prefix code
// for sizes, lengths and references.
//
// spec: #uvarint-compact
func (w *BitWriter) WriteCompact(v uint64) {
	c := compactClasses[compactClass[bits.Len64(v)]]
	w.Write(1<<c.payload|v, uint(c.prefix)+uint(c.payload))
}

// BitLen returns the number of bits written since the last Reset.
func (w *BitWriter) BitLen() int { return len(w.buf)*8 + int(w.used) }

// Len returns the number of bytes that AppendTo would append.
func (w *BitWriter) Len() int { return len(w.buf) + int(w.used+7)/8 }

// AppendTo appends all written bits to dst. Zero bits fill the last byte.
func (w *BitWriter) AppendTo(dst []byte) []byte {
	dst = append(dst, w.buf...)
	for acc, n := w.acc, int(w.used); n > 0; n -= 8 {
		dst = append(dst, byte(acc>>56))
		acc <<= 8
	}
	return dst
}

// Reset discards the written bits and keeps the memory.
func (w *BitWriter) Reset() {
	w.buf, w.acc, w.used = w.buf[:0], 0, 0
}

// Expect sets the number of bytes that the column is likely to need.
func (w *BitWriter) Expect(n int) { w.hint = n }

// Release discards the written bits and releases the memory.
func (w *BitWriter) Release() {
	columns.Give(w.buf)
	w.buf, w.acc, w.used = nil, 0, 0
}

// BitReader reads bits, most significant first. It is strict: a read beyond
// the last byte records FaultEnd and returns 0, and every later read returns 0.
type BitReader struct {
	acc   uint64 // the low avail bits are unread
	avail uint   // 0..64
	rest  []byte // not yet loaded
	slack uint   // remaining zero bits that Grant allows after the last byte
	short bool
	Source
}

// Reset makes r read data, which it does not copy.
func (r *BitReader) Reset(data []byte) {
	r.acc, r.avail, r.rest = 0, 0, data
	r.slack, r.short = 0, false
}

// Grant allows reads of up to n bits beyond the end of the data. These bits are zeros.
// If a number that includes such bits is not zero, the read records FaultEnd.
func (r *BitReader) Grant(n uint) { r.slack = n }

// Short reports whether any of the bits that Grant allows were read.
func (r *BitReader) Short() bool { return r.short }

// Read returns the next n bits, at most 64, as a number.
//
// It is a leaf that the compiler inlines into generated code. Read does not shift acc:
// one more operation would exceed the inlining budget.
func (r *BitReader) Read(n uint) uint64 {
	if n > r.avail {
		return r.readSlow(n)
	}
	r.avail -= n
	return r.acc >> r.avail &^ (^uint64(0) << n)
}

// Peek2 returns the next 2 bits without reading them, or 0 if they are not loaded.
func (r *BitReader) Peek2() uint64 {
	if r.avail < 2 {
		return 0
	}
	return r.acc >> (r.avail - 2) & 3
}

// ReadAfter2 skips 2 bits and returns the next n bits, faster than two calls of Read.
// Call it only after Peek2 returned a value other than 0.
func (r *BitReader) ReadAfter2(n uint) uint64 {
	avail := r.avail - 2
	if n <= avail {
		r.avail = avail - n
		return r.acc >> r.avail &^ (^uint64(0) << n)
	}
	if len(r.rest) < 8 {
		r.avail = avail
		return r.readSlow(n)
	}
	word := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	need := n - avail // 1..64
	high := r.acc &^ (^uint64(0) << avail)
	r.acc, r.avail = word, 64-need
	return high<<need | word>>r.avail
}

// ReadWordAfter2 is like ReadAfter2 with n = 64. But it returns false, and reads
// nothing, if it cannot load 8 more bytes.
func (r *BitReader) ReadWordAfter2() (word uint64, ok bool) {
	if len(r.rest) < 8 {
		return 0, false
	}
	next := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	r.avail -= 2
	word = r.acc<<(64-r.avail) | next>>r.avail
	r.acc = next
	return word, true
}

func (r *BitReader) readSlow(n uint) uint64 {
	need := n - r.avail // 1..64 bits of the next word
	var word uint64
	have := uint(64)
	if len(r.rest) >= 8 {
		word = binary.BigEndian.Uint64(r.rest)
		r.rest = r.rest[8:]
	} else {
		word, have = lastWord(r.rest)
		r.rest = nil
	}
	high := r.acc &^ (^uint64(0) << r.avail)
	if need > have {
		// A number that begins in the data and ends in granted bits must be zero: the
		// missing bits of any other number are unknown.
		if need-have > r.slack || high|word != 0 {
			r.acc, r.avail = 0, 0
			r.Fail(FaultEnd)
			return 0
		}
		r.slack -= need - have
		r.short = true
		if r.fault != nil {
			r.fault.Short = true
		}
		word <<= need - have
		have = need
	}
	r.acc, r.avail = word, have-need
	return high<<need | word>>r.avail
}

// lastWord returns the bytes at the end of a column, fewer than 8, as one number, and
// the number of its bits. Most columns of small frames have only these bytes, so it
// loads them without a loop, in two parts that overlap.
func lastWord(b []byte) (word uint64, size uint) {
	n := uint(len(b))
	switch {
	case n >= 4:
		word = uint64(binary.BigEndian.Uint32(b))<<(8*n-32) | uint64(binary.BigEndian.Uint32(b[n-4:]))
	case n >= 2:
		word = uint64(binary.BigEndian.Uint16(b))<<(8*n-16) | uint64(binary.BigEndian.Uint16(b[n-2:]))
	case n == 1:
		word = uint64(b[0])
	}
	return word, 8 * n
}

// ReadCompact reads a number in the prefix code for sizes, lengths and references.
// Eight leading zero bits are invalid: the read records FaultBadCode.
//
// spec: #uvarint-compact
func (r *BitReader) ReadCompact() uint64 {
	// Fast path: all bits of nearly all numbers are already in acc.
	if class := uint(bits.LeadingZeros64(r.acc << (64 - r.avail))); class < uint(len(compactClasses)) {
		payload := uint(compactClasses[class].payload)
		if size := class + 1 + payload; size <= r.avail {
			r.avail -= size
			return r.acc >> r.avail &^ (^uint64(0) << payload)
		}
	}
	return r.readCompactSlow()
}

func (r *BitReader) readCompactSlow() uint64 {
	for class := range compactClasses {
		if r.Read(1) != 0 {
			return r.Read(uint(compactClasses[class].payload))
		}
	}
	r.Fail(FaultBadCode)
	return 0
}

// Left returns the number of unread bits, including padding and granted bits.
func (r *BitReader) Left() int { return int(r.avail+r.slack) + 8*len(r.rest) }

// Done reports whether only padding is unread: fewer than 8 bits, all zero.
func (r *BitReader) Done() bool {
	return len(r.rest) == 0 && r.avail < 8 && r.acc&^(^uint64(0)<<r.avail) == 0
}

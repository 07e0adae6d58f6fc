// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"math"
	"math/bits"

	"github.com/otelstef/stef/stef-go/bitio"
)

// Float64Encoder writes the XOR with the last value, in the window of its meaningful
// bits. It is the code of Facebook's Gorilla (Pelkonen et al., VLDB 2015, section
// 4.1.2) with another rule for reusing a window:
//
//	same value                    0
//	within the last window       10  | window bits |
//	new window                   11  | 5: leading zeros | 6: length-1 | length bits |
//
// The encoder reuses the last window if it holds all meaningful bits and wastes
// at most 11 bits: the description of a new window has 11 bits.
//
// spec: #float64
type Float64Encoder struct {
	bitio.BitWriter
	last        uint64
	lead, trail uint8
}

// BlockSize splits the column into zstd blocks of 4 KiB. The bits of floats rarely
// repeat, and the floats of some metrics compress better than those of other metrics. In
// one large block zstd usually stores all of them uncompressed. Small blocks save a tenth
// of the bytes of the floats in two recordings of real metrics.
func (e *Float64Encoder) BlockSize() int { return 4 << 10 }

// Encode appends v, bit for bit.
func (e *Float64Encoder) Encode(v float64) {
	b := math.Float64bits(v)
	x := b ^ e.last
	if x == 0 {
		e.Write(0, 1)
		return
	}
	e.last = b
	lead := uint8(min(bits.LeadingZeros64(x), 31))
	trail := uint8(bits.TrailingZeros64(x))
	size := 64 - uint(lead) - uint(trail)
	window := 64 - uint(e.lead) - uint(e.trail)
	if lead >= e.lead && trail >= e.trail && window <= size+11 {
		if window <= 62 {
			e.Write(0b10<<window|x>>e.trail, window+2)
			return
		}
		e.Write(0b10, 2)
		e.Write(x>>e.trail, window)
		return
	}
	e.lead, e.trail = lead, trail
	head := 0b11<<11 | uint64(lead)<<6 | uint64(size-1)
	if size <= 64-13 {
		e.Write(head<<size|x>>trail, size+13)
		return
	}
	e.Write(head, 13)
	e.Write(x>>trail, size)
}

// Restart forgets the last value and window.
func (e *Float64Encoder) Restart() { e.last, e.lead, e.trail = 0, 0, 0 }

// Float64Decoder reads what Float64Encoder writes.
type Float64Decoder struct {
	bitio.BitReader
	last        uint64
	lead, trail uint8
}

// Decode returns the next value.
func (d *Float64Decoder) Decode() float64 { return math.Float64frombits(d.DecodeBits()) }

// DecodeBits returns the bits of the next value. Use it if the value is not needed as a
// float: moving the bits to a floating-point register and back takes longer than most
// of the code below.
func (d *Float64Decoder) DecodeBits() uint64 {
	if d.Peek2() == 0b10 {
		if d.lead|d.trail == 0 { // a window of 64 bits, which most ids in the compact form of spans have
			if word, ok := d.ReadWordAfter2(); ok {
				d.last ^= word
				return d.last
			}
		}
		d.last ^= d.ReadAfter2(uint(64-d.lead-d.trail)) << d.trail
		return d.last
	}
	if d.Read(1) != 0 {
		if d.Read(1) != 0 {
			head := d.Read(11)
			lead, size := uint8(head>>6), uint8(head&63)+1
			if lead+size > 64 {
				d.Fail(bitio.FaultFloat)
				return 0
			}
			d.lead, d.trail = lead, 64-lead-size
		}
		d.last ^= d.Read(uint(64-d.lead-d.trail)) << d.trail
	}
	return d.last
}

// Restart forgets the last value and window.
func (d *Float64Decoder) Restart() { d.last, d.lead, d.trail = 0, 0, 0 }

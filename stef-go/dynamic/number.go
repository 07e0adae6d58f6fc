// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"math"
	"math/bits"
)

// deltaState is the state of the integer code. The delta is the difference between a value and the
// previous value of the column. The code sends the difference between two successive deltas. The
// arithmetic wraps.
//
// spec: #integers
type deltaState struct {
	last, delta uint64
}

func (s *deltaState) encode(dst []byte, v uint64) []byte {
	delta := v - s.last
	dst = appendVarint(dst, int64(delta-s.delta))
	s.last, s.delta = v, delta
	return dst
}

func (s *deltaState) decode(in *byteReader) (uint64, error) {
	change, err := in.varint("number")
	if err != nil {
		return 0, err
	}
	s.delta += uint64(change)
	s.last += s.delta
	return s.last, nil
}

// xorState is the state of the float code: the previous value in the column, and the
// last window. Only bits in the window may differ from the previous value. The window
// excludes the first lead bits and the last trail bits.
//
// spec: #float64
type xorState struct {
	last        uint64
	lead, trail int
}

func (s *xorState) encode(out *bitWriter, f float64) {
	v := math.Float64bits(f)
	x := v ^ s.last
	s.last = v
	if x == 0 {
		out.bit(false)
		return
	}
	out.bit(true)
	lead := min(bits.LeadingZeros64(x), 31)
	trail := bits.TrailingZeros64(x)
	size := 64 - lead - trail
	if lead >= s.lead && trail >= s.trail && 53-s.lead-s.trail <= size {
		out.bit(false)
		out.bits(x>>s.trail, 64-s.lead-s.trail)
		return
	}
	s.lead, s.trail = lead, trail
	out.bit(true)
	out.bits(uint64(lead), 5)
	out.bits(uint64(size-1), 6)
	out.bits(x>>trail, size)
}

func (s *xorState) decode(in *bitReader) (float64, error) {
	changed, err := in.bits(1)
	if err != nil || changed == 0 {
		return math.Float64frombits(s.last), err
	}
	window, err := in.bits(1)
	if err != nil {
		return 0, err
	}
	if window == 1 {
		sizes, err := in.bits(5 + 6)
		if err != nil {
			return 0, err
		}
		lead, size := int(sizes>>6), int(sizes&0x3f)+1
		if lead+size > 64 {
			return 0, fault(ErrCorrupt, "a float has %d leading zero bits and %d other bits, more than 64 in all", lead, size)
		}
		s.lead, s.trail = lead, 64-lead-size
	}
	x, err := in.bits(64 - s.lead - s.trail)
	if err != nil {
		return 0, err
	}
	s.last ^= x << s.trail
	return math.Float64frombits(s.last), nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import "math/bits"

// residual is the state of a residual field or a residual array, which carry signed differences
// from predictions (residuals).
//
// spec: #compact-residual
type residual struct {
	v, d uint64
}

// field returns the residual that a field with the value x carries.
func (s *residual) field(x uint64) int64 {
	e := x - s.v
	if e == 0 {
		return 0
	}
	r := e - s.d
	if r == 0 {
		r = -s.d
	}
	s.d, s.v = e, x
	return int64(r)
}

// elements returns the residuals that the elements of an array carry.
func (s *residual) elements(list []uint64) []uint64 {
	var residuals []uint64
	for _, x := range list {
		e := x - s.v
		residuals = append(residuals, e-s.d)
		s.d, s.v = e, x
	}
	return residuals
}

// far is the code of a time or difference that another field has in full.
const far = 2

// plainDifference returns the difference that a code with a unit stands for. It returns
// false for the codes from -3 to 3, whose meaning depends on the field.
//
// spec: #compact-unit
func plainDifference(code int64) (x uint64, ok bool) {
	m := magnitude(code)
	if m < 4 {
		return 0, false
	}
	x = m >> 2 * power(1000, int(m&3))
	if code < 0 {
		x = -x
	}
	return x, true
}

// habit is a unit habit: the unit u of recent differences, and the number n of
// differences in a row that had it.
//
// spec: #compact-unit
type habit struct {
	u, n int
}

// habitual is the number of differences in one unit after which codes omit the unit.
const habitual = 16

// difference returns the difference that a code stands for. It returns false for codes
// whose meaning depends on the field, such as far, and for codes without a meaning.
func (h *habit) difference(code int64) (x uint64, ok bool) {
	if code == 0 {
		return 0, true
	}
	if h.n < habitual {
		return plainDifference(code)
	}
	unit := power(1000, h.u)
	switch {
	case code < 0:
		return -magnitude(code) * unit, true
	case code > 2:
		return (uint64(code) - 2) * unit, true
	}
	return 0, false
}

// learn updates the habit after the difference x.
func (h *habit) learn(x uint64) {
	m := magnitude(int64(x))
	if x == 0 || h.n >= habitual && m%power(1000, h.u) == 0 {
		return
	}
	w := 2
	for m%power(1000, w) != 0 {
		w--
	}
	switch {
	case w != h.u:
		h.u, h.n = w, 1
	case h.n < habitual:
		h.n++
	}
}

// magnitude returns |x|.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func power(base uint64, exponent int) uint64 {
	p := uint64(1)
	for range exponent {
		p *= base
	}
	return p
}

func zigzag(x uint64) uint64 { return x<<1 ^ uint64(int64(x)>>63) }

// length is bits(x) of the specification: the number of bits without leading zeros.
func length(x uint64) int64 { return int64(bits.Len64(x)) }

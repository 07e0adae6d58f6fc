// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

// Codes of differences of times with a special meaning. All other codes of putUnit have a
// magnitude of at least four.
const (
	codeSame  = 0 // equal to the prediction
	codeOther = 1 // equal to the second prediction
	codeFar   = 2 // another field has the time or the difference itself
	codeThird = 3 // equal to the third prediction
)

// putUnit returns the code of a difference of times. It uses the coarsest unit of 1,
// 1e3, 1e6 and 1e9 ns that divides the difference. The code is the difference in this
// unit times four, plus the index of the unit, with the sign of the difference. ok
// is false if there is no code: for zero and for numbers that are too large.
//
// spec: #compact-unit
func putUnit(x uint64) (code uint64, ok bool) {
	negative := int64(x) < 0
	if negative {
		x = -x
	}
	c := uint64(0)
	for c < 3 && x%1000 == 0 {
		x /= 1000
		c++
	}
	if x-1 >= 1<<60 {
		return 0, false
	}
	x = x<<2 | c
	if negative {
		x = -x
	}
	return x, true
}

var units = [4]uint64{1, 1e3, 1e6, 1e9}

// takeUnit is the inverse of putUnit, in wrapping arithmetic. It has no branch on the sign,
// which would often be mispredicted.
func takeUnit(code uint64) uint64 {
	sign := uint64(int64(code) >> 63)
	code = (code ^ sign) - sign
	x := code >> 2 * units[code&3]
	return (x ^ sign) - sign
}

// habitUnit is the unit of the recent differences. After a run of differences in one
// unit the codes omit the unit.
type habitUnit struct {
	unit uint8
	run  uint8
}

// sureRun is the length of a run after which codes omit the unit.
const sureRun = 16

// maxSure bounds codes so that their differences fit in 64 bits in any unit.
const maxSure = 1 << 40

// put returns the code of a difference, and updates the unit. After sureRun differences in one
// unit, codes do not contain the unit.
func (h *habitUnit) put(x uint64) (code uint64, ok bool) {
	if x == 0 {
		return codeSame, true
	}
	if h.run < sureRun {
		h.learn(x)
		if code, ok = putUnit(x); !ok {
			code = codeFar
		}
		return code, ok
	}
	negative := int64(x) < 0
	if negative {
		x = -x
	}
	q, divisible := divide(x, h.unit)
	if !divisible {
		h.learn(x)
		return codeFar, false
	}
	if q >= 1<<61 {
		return codeFar, false
	}
	if negative {
		return -q, true
	}
	return q + codeFar, true
}

// value is the inverse of put for all codes but codeFar. It does not update the unit.
func (h *habitUnit) value(code uint64) uint64 {
	if h.run < sureRun {
		return takeUnit(code)
	}
	n := code - codeFar
	if int64(code) <= 0 { // a conditional move: a branch would often be mispredicted
		n = code
	}
	return n * units[h.unit]
}

// take is the inverse of put for all codes but codeFar. It updates the unit.
func (h *habitUnit) take(code uint64) uint64 {
	x := h.value(code)
	if h.run < sureRun || code+maxSure >= 2*maxSure {
		h.learn(x)
	}
	return x
}

// knows returns true only if the difference of a code is a multiple of the unit, so that learn
// would change nothing. It may also return false for such a code.
func (h *habitUnit) knows(code uint64) bool {
	return h.run >= sureRun && code+maxSure < 2*maxSure && code != codeOther && code != codeFar
}

// divide divides x by a unit, and reports whether the unit divides x. It divides by
// constants, which is faster than a division by a variable.
func divide(x uint64, unit uint8) (q uint64, divisible bool) {
	switch unit {
	case 0:
		return x, true
	case 1:
		q = x / 1e3
		return q, q*1e3 == x
	}
	q = x / 1e6
	return q, q*1e6 == x
}

func (h *habitUnit) learn(x uint64) {
	if x == 0 {
		return
	}
	if int64(x) < 0 {
		x = -x
	}
	if h.run >= sureRun {
		// Keep the known unit while it divides the differences, even if a coarser unit does too.
		if _, divisible := divide(x, h.unit); divisible {
			return
		}
	}
	unit := uint8(0)
	for unit < 2 && x%1000 == 0 {
		x /= 1000
		unit++
	}
	if unit == h.unit && h.run < sureRun {
		h.run++
	} else if unit != h.unit {
		h.unit, h.run = unit, 1
	}
}

func zigzag(x uint64) uint64   { return x<<1 ^ uint64(int64(x)>>63) }
func unzigzag(x uint64) uint64 { return x>>1 ^ -(x & 1) }

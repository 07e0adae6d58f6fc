// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import "math"

// maxExponent is the maximum number of decimal places.
const maxExponent = 12

var powers = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12}

// maxMantissa bounds mantissas to the integers that doubles represent exactly.
const maxMantissa = 1 << 53

// toDecimal returns the integer f * 10^e, if fromDecimal converts it back to f bit
// for bit.
//
// spec: #compact-decimal
func toDecimal(f float64, e uint) (m int64, ok bool) {
	x := f * powers[e]
	if !(x > -maxMantissa && x < maxMantissa) {
		return 0, false
	}
	m = int64(math.RoundToEven(x))
	// The product is off by at most half a unit in the last place. So this check rejects
	// most doubles that do not fit, and saves the division.
	if r := math.Abs(x - float64(m)); r > math.Abs(x)*0x1p-51 {
		return 0, false
	}
	return m, math.Float64bits(fromDecimal(m, e)) == math.Float64bits(f)
}

// firstDecimal returns f as a decimal with the smallest possible exponent. The argument from is the
// minimum of the exponent.
func firstDecimal(f float64, from uint) (m int64, e uint, ok bool) {
	if m, ok = toDecimal(f, from); ok {
		return m, from, true
	}
	// A decimal can also be written with more places, such as 1.5 as 1.500, as long as the mantissa
	// has a few spare bits: then the product rounds to the exact mantissa. So one check with the
	// maximum number of places rejects most doubles that are not decimals.
	most := uint(maxExponent)
	for most > from && !(math.Abs(f*powers[most]) < maxMantissa/8) {
		most--
	}
	if most > from {
		if _, ok = toDecimal(f, most); !ok {
			from = most
		}
	}
	for e = from + 1; e <= maxExponent; e++ {
		if m, ok = toDecimal(f, e); ok {
			return m, e, true
		}
	}
	return 0, 0, false
}

// fromDecimal is the inverse of toDecimal: a division, which IEEE 754 rounds
// correctly.
func fromDecimal(m int64, e uint) float64 { return float64(m) / powers[e] }

// rescale returns the mantissa of about the same value with another exponent, or 0 if the new
// mantissa exceeds the bounds.
func rescale(m int64, from, to uint) int64 {
	for ; from < to; from++ {
		if m > maxMantissa/10 || m < -maxMantissa/10 {
			return 0
		}
		m *= 10
	}
	for ; from > to; from-- {
		m /= 10
	}
	return m
}

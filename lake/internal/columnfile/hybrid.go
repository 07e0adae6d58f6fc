// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"encoding/binary"
	"math/bits"
)

// minRun is the smallest number of equal adjacent values that are written as a run. The
// format packs all other values in groups of eight.
const minRun = 8

// appendHybrid appends values of up to width bits in the hybrid encoding of Parquet: runs
// of one value, and groups of eight values with width bits each.
func appendHybrid[T uint8 | uint32](dst []byte, values []T, width int) []byte {
	packed := 0 // index of the first value that is not written yet
	for i := 0; i < len(values); {
		v, end := values[i], i+1
		for end < len(values) && values[end] == v {
			end++
		}
		from := i
		if i > packed { // the first values of the run complete the last group of eight
			from += (packed - i) & 7
		}
		if end-from < minRun {
			i = end
			continue
		}
		dst = appendPacked(dst, values[packed:from], width)
		dst = binary.AppendUvarint(dst, uint64(end-from)<<1)
		for b := 0; b < width; b += 8 {
			dst = append(dst, byte(uint32(v)>>b))
		}
		packed, i = end, end
	}
	return appendPacked(dst, values[packed:], width)
}

// appendPacked appends values in groups of eight. The last group is filled with zeros.
func appendPacked[T uint8 | uint32](dst []byte, values []T, width int) []byte {
	if len(values) == 0 {
		return dst
	}
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var acc uint64
	filled := 0
	for i := range groups * 8 {
		if i < len(values) {
			acc |= uint64(values[i]) << filled
		}
		filled += width
		for filled >= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
			filled -= 8
		}
	}
	return dst
}

// widthOf returns the number of bits that hold values up to limit.
func widthOf(limit int) int { return bits.Len(uint(limit)) }

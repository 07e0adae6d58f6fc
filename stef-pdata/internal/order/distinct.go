// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"math/bits"
	"slices"

	"github.com/otelstef/stef/stef-go/codec"
)

// Distinct counts different integers, without sorting them. The count can be too small, because two
// integers with the same hash count as one. Call Reset before the first Add.
type Distinct struct {
	seen  []uint64 // bitmap of hashes
	shift uint8    // 64 minus the bits of a hash
}

// Reset begins a new count of at most n integers.
func (d *Distinct) Reset(n int) {
	const perInteger = 8 // bits of the bitmap for each integer, so that few hashes are equal
	words := 1 << bits.Len(uint(n*perInteger/64))
	d.seen = slices.Grow(d.seen[:0], words)[:words]
	clear(d.seen)
	d.shift = uint8(64 - bits.Len(uint(words*64-1)))
}

// Add returns 1 if the hash of v is new, otherwise 0.
func (d *Distinct) Add(v uint64) int {
	bit := v * codec.GoldenRatio >> d.shift
	word := &d.seen[bit/64]
	isNew := ^*word >> (bit % 64) & 1
	*word |= 1 << (bit % 64)
	return int(isNew)
}

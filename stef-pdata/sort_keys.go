// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"slices"
)

// sortKey is what an entry is sorted by, its ranks packed into one number.
type sortKey struct {
	key   uint64
	entry uint32
}

const (
	// keyDigitBits is what a pass of the radix sort looks at.
	keyDigitBits = 11
	// fewKeys are sorted by comparison.
	fewKeys = 256
)

// sortKeys puts keys, which have no bits above width, in order; those that are
// equal stay in theirs. It returns the keys in one of the two slices and the
// other one.
func sortKeys(keys, spare []sortKey, width int) (sorted, other []sortKey) {
	byKey := func(a, b sortKey) int { return cmp.Compare(a.key, b.key) }
	if slices.IsSortedFunc(keys, byKey) {
		return keys, spare
	}
	if len(keys) < fewKeys {
		slices.SortStableFunc(keys, byKey)
		return keys, spare
	}
	spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
	for shift := 0; shift < width; shift += keyDigitBits {
		var starts [1 << keyDigitBits]uint32
		const mask = 1<<keyDigitBits - 1
		for i := range keys {
			starts[keys[i].key>>shift&mask]++
		}
		if starts[keys[0].key>>shift&mask] == uint32(len(keys)) {
			continue // the digit is the same everywhere
		}
		next := uint32(0)
		for i, n := range starts {
			starts[i] = next
			next += n
		}
		for i := range keys {
			at := &starts[keys[i].key>>shift&mask]
			spare[*at] = keys[i]
			*at++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}

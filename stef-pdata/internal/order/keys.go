// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"cmp"
	"slices"
)

// Key contains the ranks of an item, packed into one number for sorting.
type Key struct {
	Key  uint64
	Item uint32
}

const (
	// A pass of the radix sort processes at most keyDigitBits bits if there are at least manyKeys
	// keys, shortDigitBits bits if there are at least someKeys keys, and leastDigitBits bits for
	// fewer keys. A pass has a counter for each value of its bits: with few keys, many counters
	// would take most of the time.
	keyDigitBits   = 11
	manyKeys       = 1 << 12
	shortDigitBits = 9
	someKeys       = 1 << 9
	leastDigitBits = 7
	// Fewer than fewKeys keys are sorted by comparison.
	fewBits = 6
	fewKeys = 1 << fewBits
	// Keys with more than topDigits digits are first sorted by their highest topDigits digits only.
	topDigits = 2
)

// Sort sorts keys. Only the lowest width bits of a key may be set. Equal keys keep their order.
// Sort uses keys and spare as memory: it returns the one that has the sorted keys, and then the
// other one.
func Sort(keys, spare []Key, width int) (sorted, other []Key) {
	if inOrder(keys) {
		return keys, spare
	}
	spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
	if len(keys) < fewKeys {
		if width+fewBits > 64 {
			slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(a.Key, b.Key) })
			return keys, spare
		}
		sortFew(keys, spare)
		return spare, keys
	}
	if len(keys) >= manyKeys {
		var counts [1 << keyDigitBits]uint32
		return sortMany(keys, spare, width, keyDigitBits, counts[:])
	}
	digit := shortDigitBits
	if len(keys) < someKeys {
		digit = leastDigitBits
	}
	var counts [1 << shortDigitBits]uint32
	return sortMany(keys, spare, width, digit, counts[:])
}

// sortMany sorts keys by their digits.
func sortMany(keys, spare []Key, width, digit int, counts []uint32) (sorted, other []Key) {
	if width > topDigits*digit {
		// The highest bits separate most keys. The function insert then sorts keys with equal
		// highest bits.
		if keys, spare = radix(keys, spare, width-topDigits*digit, width, digit, counts); insert(keys) {
			return keys, spare
		}
	}
	return radix(keys, spare, 0, width, digit, counts)
}

// radix sorts keys by their bits, from the bit from up to the bit width-1.
func radix(keys, spare []Key, from, width, digit int, counts []uint32) (sorted, other []Key) {
	passes := (width - from + digit - 1) / digit
	digit = (width - from + passes - 1) / passes
	for shift := from; shift < width; shift += digit {
		starts := counts[:1<<digit]
		clear(starts)
		mask := uint64(len(starts) - 1)
		for i := range keys {
			starts[keys[i].Key>>shift&mask]++
		}
		if starts[keys[0].Key>>shift&mask] == uint32(len(keys)) {
			continue // the digit is the same in all keys
		}
		next := uint32(0)
		for i, n := range starts {
			starts[i] = next
			next += n
		}
		for i := range keys {
			at := &starts[keys[i].Key>>shift&mask]
			spare[*at] = keys[i]
			*at++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}

// insert sorts keys that are nearly in order. If this takes too many steps, it stops and
// returns false. Equal keys keep their order in both cases.
func insert(keys []Key) bool {
	left := 4 * len(keys)
	for i := 1; i < len(keys); i++ {
		k := keys[i]
		at := i
		for ; at > 0 && keys[at-1].Key > k.Key; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = k
		if left -= i - at; left < 0 {
			return false
		}
	}
	return true
}

func inOrder(keys []Key) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i].Key < keys[i-1].Key {
			return false
		}
	}
	return true
}

// sortFew writes the keys to the slice sorted, in order. It sorts numbers that contain a key
// and its index in keys.
func sortFew(keys, sorted []Key) {
	var packed [fewKeys]uint64
	for i := range keys {
		packed[i] = keys[i].Key<<fewBits | uint64(i)
	}
	slices.Sort(packed[:len(keys)])
	for i, p := range packed[:len(keys)] {
		sorted[i] = keys[p%fewKeys]
	}
}

// FewTimes is the largest number of different times in a batch that SortDigit
// handles.
const FewTimes = 32

// SortDigit is like Sort, but for keys below FewTimes.
func SortDigit(keys, spare []Key) (sorted, other []Key) {
	var starts [FewTimes]uint32
	for i := range keys {
		starts[keys[i].Key]++
	}
	next := uint32(0)
	for i, n := range starts {
		starts[i] = next
		next += n
	}
	spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
	for i := range keys {
		at := &starts[keys[i].Key]
		spare[*at] = keys[i]
		*at++
	}
	return spare, keys
}

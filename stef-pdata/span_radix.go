// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"slices"
)

const (
	digitBits = 11
	digits    = (64 + digitBits - 1) / digitBits
	// fewItems is how many items are sorted by comparing them.
	fewItems = 1 << 10
)

// sortItems sorts items by key, keeping the order of equal ones, and returns
// them and memory for the next call. It goes digit by digit from the last one,
// leaving out those in which all keys agree.
func sortItems(items, spare []spanItem) (sorted, rest []spanItem) {
	byKey := func(a, b spanItem) int { return cmp.Compare(a.key, b.key) }
	if slices.IsSortedFunc(items, byKey) {
		return items, spare
	}
	if len(items) < fewItems {
		slices.SortStableFunc(items, byKey)
		return items, spare
	}
	var counts [digits][1 << digitBits]uint32
	for i := range items {
		key := items[i].key
		for d := range counts {
			counts[d][key%(1<<digitBits)]++
			key >>= digitBits
		}
	}
	spare = slices.Grow(spare[:0], len(items))[:len(items)]
	for d := range counts {
		shift := d * digitBits
		if counts[d][items[0].key>>shift%(1<<digitBits)] == uint32(len(items)) {
			continue
		}
		at := uint32(0)
		for i, n := range counts[d] {
			counts[d][i] = at
			at += n
		}
		for i := range items {
			next := &counts[d][items[i].key>>shift%(1<<digitBits)]
			spare[*next] = items[i]
			*next++
		}
		items, spare = spare, items
	}
	return items, spare
}

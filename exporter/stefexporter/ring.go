// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"encoding/binary"
	"math/bits"
)

// Rendezvous hashing: each key belongs to the backend with the highest score for the key.
// When a backend leaves, only its keys move, and they spread evenly over the other backends.
// When the backend returns, exactly these keys move back. The scores are the same in every
// process, so all Collectors choose the same backend for a key.

// seedOf returns the seed of a backend: FNV-1a of its address, mixed.
func seedOf(address string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(address) {
		h = (h ^ uint64(address[i])) * 1099511628211
	}
	return mix(h)
}

// keyOfTrace returns the key of a trace id. It mixes all bytes, because ids may differ in only
// a few bytes.
func keyOfTrace(id [16]byte) uint64 {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	return mix(mix(high) ^ bits.RotateLeft64(low, 32))
}

func keyOfText(s string) uint64 { return seedOf(s) }

// mix is one step of SplitMix64, the increment and the finalizer: each bit of x changes about half
// of the result's bits. The increment makes mix(0) different from 0.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// choose returns the index of the seed with the highest score, or -1 if there are no seeds.
func choose(seeds []uint64, key uint64) int {
	best, highest := -1, uint64(0)
	for i, seed := range seeds {
		if score := mix(seed ^ key); best < 0 || score > highest {
			best, highest = i, score
		}
	}
	return best
}

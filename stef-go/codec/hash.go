// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"hash/maphash"
	"math"
	"math/bits"
	"unsafe"
)

// Hash computes the hash of a value from its texts and numbers. Its keys are random in
// every process, so that an attacker cannot construct values that collide. A collision
// costs only time: values of equal hash are always compared.
type Hash uint64

// Uint64 adds an integer.
func (h *Hash) Uint64(v uint64) { h.Pair(v, 0) }

// Pair adds two integers.
func (h *Hash) Pair(a, b uint64) { *h = Hash(HashPair(uint64(*h)^a, b)) }

// Float64 adds the bits of a float.
func (h *Hash) Float64(v float64) { h.Uint64(math.Float64bits(v)) }

// Bool adds a boolean.
func (h *Hash) Bool(v bool) {
	if v {
		h.Uint64(1)
		return
	}
	h.Uint64(0)
}

// String adds text.
func (h *Hash) String(v string) { h.Pair(HashText(v), 0) }

// Bytes adds bytes.
func (h *Hash) Bytes(v []byte) { h.String(unsafe.String(unsafe.SliceData(v), len(v))) }

// HashText returns the hash of a text.
func HashText(v string) uint64 {
	if len(v) > ShortText {
		return hashLong(v)
	}
	a, b := Words(v)
	return HashPair(a, b^uint64(len(v)))
}

// HashPair returns the hash of two integers. It is a step of wyhash (Wang Yi, public domain): XOR
// both with a key, multiply them, and fold the halves of the product. Package maphash would be
// slower: its setup alone takes longer than this function.
func HashPair(a, b uint64) uint64 { return fold(a^hashKeys[0], b^hashKeys[1]) }

// hashKeys are random in every process.
var hashKeys = func() (keys [2]uint64) {
	for i := range keys {
		keys[i] = maphash.String(maphash.MakeSeed(), "key")
	}
	return keys
}()

// GoldenRatio is 2^64 divided by the golden ratio: the multiplier of Fibonacci
// hashing, which spreads neighbouring numbers over the high bits of the product.
const GoldenRatio = 0x9e3779b97f4a7c15

// ShortText is the maximum length of a text that fits in two words.
const ShortText = 16

// Words returns two words of a text. Different texts of the same length have different
// words if they have at most ShortText bytes.
func Words(v string) (a, b uint64) {
	switch n := len(v); {
	case n >= 8:
		return Word64(v), Word64(v[n-8:])
	case n >= 4:
		return Word32(v), Word32(v[n-4:])
	case n > 0:
		return uint64(v[0]) | uint64(v[n>>1])<<8 | uint64(v[n-1])<<16, 0
	}
	return 0, 0
}

// PlaceOf returns the place of a text in a table of 1<<bits places. It hashes only the length and the
// words of the text, so use it only for tables that may evict texts.
func PlaceOf(first, last uint64, length, bits int) uint64 {
	return (first + 3*last + uint64(length)) * GoldenRatio >> (64 - bits)
}

// hashLong returns the hash of a text that does not fit in two words.
func hashLong(v string) uint64 {
	n := len(v)
	h := hashKeys[1] ^ uint64(n)
	for rest := v; len(rest) > 16; rest = rest[16:] {
		h = fold(Word64(rest)^hashKeys[0], Word64(rest[8:])^h)
	}
	return fold(Word64(v[n-16:])^hashKeys[0], Word64(v[n-8:])^h)
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Word64 returns the first 8 bytes as one number.
func Word64(s string) uint64 {
	s = s[:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Word32 returns the first 4 bytes as one number.
func Word32(s string) uint64 {
	s = s[:4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

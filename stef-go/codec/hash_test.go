// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/codec"
)

func TestHash(t *testing.T) {
	sums := map[codec.Hash]string{}
	f := func(name string, add func(h *codec.Hash)) {
		t.Helper()
		var h, again codec.Hash
		add(&h)
		add(&again)
		require.Equal(t, h, again, name)
		require.Empty(t, sums[h], "%s has the same hash as another value", name)
		sums[h] = name
	}
	f("nothing", func(*codec.Hash) {})
	f("1", func(h *codec.Hash) { h.Uint64(1) })
	f("2", func(h *codec.Hash) { h.Uint64(2) })
	f("1 2", func(h *codec.Hash) { h.Uint64(1); h.Uint64(2) })
	f("2 1", func(h *codec.Hash) { h.Uint64(2); h.Uint64(1) })
	f("0.5", func(h *codec.Hash) { h.Float64(0.5) })
	f("-0.0", func(h *codec.Hash) { h.Float64(math.Copysign(0, -1)) })
	f("text", func(h *codec.Hash) { h.String("text") })
	f("txet", func(h *codec.Hash) { h.String("txet") })
	f("text twice", func(h *codec.Hash) { h.String("text"); h.String("text") })
	f("run", func(h *codec.Hash) { h.Bytes([]byte("run")) })
	f("true after 3", func(h *codec.Hash) { h.Uint64(3); h.Bool(true) })
	f("false after 3", func(h *codec.Hash) { h.Uint64(3); h.Bool(false) })
	f("long", func(h *codec.Hash) { h.String("a text of more than two words, and its end") })
	f("long that differs at its begin", func(h *codec.Hash) { h.String("A text of more than two words, and its end") })
	f("long that differs within", func(h *codec.Hash) { h.String("a text of more than two words, And its end") })
}

// TestHashHasKeys flips the highest bit of integers and compares which bits of their hashes change: they
// must differ from hash to hash. Without secret keys, the flip would change the same bits of all hashes.
// An attacker could then construct collisions, with a next integer that undoes the change.
func TestHashHasKeys(t *testing.T) {
	const high = 1 << 63
	differences := map[codec.Hash]bool{}
	for i := range uint64(16) {
		v := i * codec.GoldenRatio // spread the numbers: those close to each other may have the same carries
		var a, b codec.Hash
		a.Uint64(v)
		b.Uint64(v ^ high)
		differences[a^b] = true
	}
	require.Greater(t, len(differences), 1)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/codec"
)

// Pairs have the references that the dictionaries tell, whatever these go through, and
// keys have numbers of their own.
func TestPairCache(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	keys, values := newDictEncoders(), newDictEncoders()
	var c codec.PairCache
	c.Init(&keys.textDict, &values.textDict)
	numbers, names := map[string]uint32{}, map[uint32]string{}
	pairs := make([]codec.Pair, 7)
	for round := range 6000 {
		for i := range pairs {
			p := &pairs[i]
			// Most come again, and are long or short alike.
			p.Key.Text, p.Value.Text = someText(rnd), someText(rnd)
			if rnd.IntN(3) > 0 {
				p.Key.Text, p.Value.Text = "key", strings.Repeat("v", rnd.IntN(40))
			}
			p.Key.Ref, p.Value.Ref = codec.Ref(rnd.Uint64()), codec.Ref(rnd.Uint64())
		}
		c.Resolve(pairs)
		for _, p := range pairs {
			require.Equal(t, keys.textDict.Ref(p.Key.Text), p.Key.Ref)
			if len(p.Value.Text) <= 256 {
				require.Equal(t, values.textDict.Ref(p.Value.Text), p.Value.Ref, "%q", p.Value.Text)
			} else {
				require.Zero(t, p.Value.Ref)
			}
			if number, ok := numbers[p.Key.Text]; ok {
				require.Equal(t, number, p.Number)
			} else {
				require.NotContains(t, names, p.Number)
				numbers[p.Key.Text], names[p.Number] = p.Number, p.Key.Text
			}
		}
		for _, p := range pairs[:rnd.IntN(3)] {
			keys.encode(0, p.Key.Text)
			values.encode(1, p.Value.Text)
		}
		require.Equal(t, len(numbers), c.Keys())
		switch {
		case round%900 == 899:
			keys.restart()
		case round%1000 == 999:
			values.restart()
		case round%1100 == 1099:
			c.Forget()
			clear(numbers)
			clear(names)
		}
	}
}

// Streams may have none of the dictionaries.
func TestPairCacheOfNothing(t *testing.T) {
	e := newDictEncoders()
	e.encode(0, "text")
	f := func(keys, values *codec.StringDict) {
		t.Helper()
		var c codec.PairCache
		c.Init(keys, values)
		for range 3 {
			pairs := []codec.Pair{{Key: codec.Text{Text: "text"}, Value: codec.Text{Text: "text"}}, {}, {Key: codec.Text{Text: "k"}}}
			c.Resolve(pairs)
			require.Equal(t, keys.Ref("text"), pairs[0].Key.Ref)
			require.Equal(t, values.Ref("text"), pairs[0].Value.Ref)
			require.Equal(t, []uint32{0, 1, 2}, []uint32{pairs[0].Number, pairs[1].Number, pairs[2].Number})
		}
	}
	f(nil, nil)
	f(&e.textDict, nil)
	f(nil, &e.textDict)
	f(&e.textDict, &e.textDict)
}

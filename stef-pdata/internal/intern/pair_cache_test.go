// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
)

// dictionary is a dictionary of a stream, with a column whose texts are added to it.
type dictionary struct {
	usage  codec.Usage
	dict   codec.StringDict
	column codec.StringDictEncoder
}

func newDictionary() *dictionary {
	d := new(dictionary)
	d.dict.Init(&d.usage)
	d.column.Init(&d.dict)
	return d
}

func (d *dictionary) view() *stef.TextDict { return (*stef.TextDict)(&d.dict) }

// someText returns one of a few texts, which differ only in single bytes and in
// length: most have the same first and last bytes.
func someText(rnd *rand.Rand) string {
	n := rnd.IntN(40)
	if rnd.IntN(50) == 0 {
		n = 200 + rnd.IntN(200)
	}
	b := []byte(strings.Repeat("a", n))
	if n > 0 {
		b[rnd.IntN(n)] = "ab"[rnd.IntN(2)]
	}
	return string(b)
}

// Resolve returns the same references as lookups in the dictionaries. This also holds after texts
// were added to the dictionaries, and after the dictionaries were restarted. Each key has its own
// number.
func TestPairCache(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	keys, values := newDictionary(), newDictionary()
	var c PairCache
	c.Init(keys.view(), values.view())
	numbers, names := map[string]uint32{}, map[uint32]string{}
	pairs := make([]Pair, 7)
	for round := range 6000 {
		for i := range pairs {
			p := &pairs[i]
			// Most pairs repeat, with values of many lengths.
			p.Key.Text, p.Value.Text = someText(rnd), someText(rnd)
			if rnd.IntN(3) > 0 {
				p.Key.Text, p.Value.Text = "key", strings.Repeat("v", rnd.IntN(40))
			}
			p.Key.Ref, p.Value.Ref = stef.TextRef(rnd.Uint64()), stef.TextRef(rnd.Uint64())
		}
		c.Resolve(pairs)
		for _, p := range pairs {
			require.Equal(t, keys.dict.Ref(p.Key.Text), p.Key.Ref)
			if len(p.Value.Text) <= 256 {
				require.Equal(t, values.dict.Ref(p.Value.Text), p.Value.Ref, "%q", p.Value.Text)
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
			keys.column.Encode(p.Key.Text)
			values.column.Encode(p.Value.Text)
		}
		require.Equal(t, len(numbers), c.Keys())
		switch {
		case round%900 == 899:
			keys.dict.Restart()
		case round%1000 == 999:
			values.dict.Restart()
		case round%1100 == 1099:
			c.Forget()
			clear(numbers)
			clear(names)
		}
	}
	require.Greater(t, len(c.slots), 1<<firstPairBits, "the cache has grown")
}

// A PairCache works for streams without a dictionary for keys, for values, or for both.
func TestPairCacheOfNothing(t *testing.T) {
	e := newDictionary()
	e.column.Encode("text")
	f := func(keys, values *stef.TextDict) {
		t.Helper()
		var c PairCache
		c.Init(keys, values)
		for range 3 {
			pairs := []Pair{{Key: stef.Text{Text: "text"}, Value: stef.Text{Text: "text"}}, {}, {Key: stef.Text{Text: "k"}}}
			c.Resolve(pairs)
			require.Equal(t, keys.Ref("text"), pairs[0].Key.Ref)
			require.Equal(t, values.Ref("text"), pairs[0].Value.Ref)
			require.Equal(t, []uint32{0, 1, 2}, []uint32{pairs[0].Number, pairs[1].Number, pairs[2].Number})
		}
	}
	f(nil, nil)
	f(e.view(), nil)
	f(nil, e.view())
	f(e.view(), e.view())
}

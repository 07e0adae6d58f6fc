// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
	"github.com/otelstef/stef/stef-go/codec"
)

// The first line of the output of benchmarks names their data.
var _ = benchdata.Name("synthetic: texts of the test")

// someText returns a random text from a small set. The texts differ only in their length
// and in one byte, so most of them have the same first and last bytes.
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

func TestTextIndex(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	var x codec.TextIndex
	for round := range 12 {
		want := map[string]uint32{}
		for range rnd.IntN(3000) {
			v := []byte(someText(rnd))
			number, known := want[string(v)]
			got, ok := x.Find(string(v))
			require.Equal(t, known, ok, "%q", v)
			require.Equal(t, number, got)
			if !known {
				number = uint32(len(want))
				want[string(v)] = number
			}
			got, fresh := x.Number(string(v))
			require.Equal(t, !known, fresh)
			require.Equal(t, number, got)
			clear(v) // the index has a copy
			require.Equal(t, len(want), x.Len())
		}
		for v, number := range want {
			got, ok := x.Find(v)
			require.True(t, ok)
			require.Equal(t, number, got)
		}
		if round%3 == 0 {
			x.Release()
		} else {
			x.Reset()
		}
		require.Zero(t, x.Len())
	}
}

// Resolve looks up several texts. It first compares each with a guess. Even if guesses are wrong, it sets
// the numbers that Number returns for the texts.
func TestResolveNumbers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	var one, all codec.TextIndex
	for range 300 {
		texts := make([]codec.Text, rnd.IntN(20))
		for i := range texts {
			texts[i] = codec.Text{Text: someText(rnd), Ref: codec.Ref(rnd.Uint64() >> rnd.IntN(64))}
		}
		all.Resolve(texts)
		for _, text := range texts {
			number, _ := one.Number(text.Text)
			require.Equal(t, codec.Ref(number), text.Ref)
		}
	}
}

func TestDictRefs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	e, other := newDictEncoders(), newDictEncoders()
	dict := &e.textDict
	entries := map[string]bool{}
	var old []codec.Ref
	check := func(texts []codec.Text) {
		t.Helper()
		dict.Resolve(texts)
		for _, x := range texts {
			ref := dict.Ref(x.Text)
			require.Equal(t, entries[x.Text], ref != 0, "%q", x.Text)
			require.Equal(t, ref != 0, dict.Holds(ref))
			require.False(t, other.textDict.Holds(ref))
			if len(x.Text) <= 256 || x.Ref != 0 {
				require.Equal(t, ref, x.Ref)
			}
		}
	}
	for n := range 3000 {
		v := someText(rnd)
		guess := codec.Ref(rnd.Uint64())
		if len(old) > 0 {
			guess = old[rnd.IntN(len(old))]
		}
		check([]codec.Text{{Text: v, Ref: guess}, {Text: someText(rnd)}, {Text: someText(rnd), Ref: guess}})
		ref := e.text[0].EncodeRef(v, dict.Ref(v))
		e.raw[0].Encode([]byte(v))
		if len(v) >= codec.MinEntry {
			entries[v] = true
			require.NotZero(t, ref)
			old = append(old, ref)
		}
		require.Equal(t, dict.Ref(v), ref)
		require.Equal(t, len(entries), e.textDict.Len())
		if n%700 == 699 {
			e.column(t, 0)
			e.restart()
			require.False(t, dict.Holds(ref))
			clear(entries)
		}
	}
	e.column(t, 0)
	dict.Release()
	require.Zero(t, dict.Len())
	require.False(t, dict.Holds(old[len(old)-1]))

	var none *codec.StringDict
	require.Zero(t, none.Ref("text"))
	require.False(t, none.Holds(1))
	texts := []codec.Text{{Text: "text", Ref: 1}}
	none.Resolve(texts)
	require.Zero(t, texts[0].Ref)
}

// An encoder ignores a reference if its dictionary has restarted since, or if the reference belongs to
// another dictionary.
func TestDictForeignRefs(t *testing.T) {
	e, other := newDictEncoders(), newDictEncoders()
	foreign := other.text[0].EncodeRef("foreign", 0)
	ref := e.text[0].EncodeRef("text", foreign)
	require.NotEqual(t, foreign, ref)
	require.Equal(t, ref, e.text[0].EncodeRef("text", ref))
	e.restart()
	again := e.text[0].EncodeRef("text", ref)
	require.NotEqual(t, ref, again)
	require.Equal(t, unhex(t, "08 74 65 78 74 01 08 74 65 78 74"), e.text[0].AppendTo(nil))
}

func TestSameText(t *testing.T) {
	e, other := newDictEncoders(), newDictEncoders()
	one, two := e.text[0].EncodeRef("one", 0), e.text[0].EncodeRef("two", 0)
	foreign := other.text[0].EncodeRef("one", 0)
	f := func(want bool, a string, aRef codec.Ref, b string, bRef codec.Ref) {
		t.Helper()
		require.Equal(t, want, codec.SameText(a, aRef, b, bRef))
		require.Equal(t, want, codec.SameText(b, bRef, a, aRef))
	}
	f(true, "one", one, "one", one)
	f(false, "one", one, "two", two)
	f(true, "one", 0, "one", 0)
	f(false, "one", 0, "two", 0)
	f(true, "one", one, "one", 0)
	f(false, "one", one, "two", 0)
	f(true, "one", one, "one", foreign)
	f(false, "two", two, "one", foreign)
}

// BenchmarkStringDict encodes texts with a dictionary. Most of them are already in the dictionary, like
// attributes, or most are new, like parameters of log templates.
func BenchmarkStringDict(b *testing.B) {
	const total = 20_000
	for name, distinct := range map[string]int{"known": 200, "new": total} {
		b.Run(name, func(b *testing.B) {
			values := make([]string, total)
			for i := range values {
				values[i] = fmt.Sprintf("value %*d", 1+i%7, i%distinct)
			}
			var usage codec.Usage
			var dict codec.StringDict
			var e codec.StringDictEncoder
			dict.Init(&usage)
			e.Init(&dict)
			for b.Loop() {
				dict.Restart()
				e.Reset()
				for _, v := range values {
					e.Encode(v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/total, "ns/value")
		})
	}
}

// A reference is valid only until the dictionary restarts.
func TestStringDictIs(t *testing.T) {
	e := newDictEncoders()
	long := strings.Repeat("long text ", 5)
	for _, v := range []string{"short", long} {
		require.False(t, e.textDict.Is(0, v))
		e.encode(0, v)
		ref := e.textDict.Ref(v)
		require.True(t, e.textDict.Is(ref, v))
		require.False(t, e.textDict.Is(ref, v+"x"))
		require.False(t, e.textDict.Is(ref, "other"))
		require.False(t, e.textDict.Is(ref+5, v))
	}
	ref, epoch := e.textDict.Ref("short"), e.textDict.Epoch()
	e.textDict.Restart()
	require.NotEqual(t, epoch, e.textDict.Epoch())
	require.False(t, e.textDict.Is(ref, "short"))
	var none *codec.StringDict
	require.False(t, none.Is(ref, "short"))
	require.Zero(t, none.Epoch())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

type (
	intsEncoder  = codec.ArrayEncoder[uint64, codec.Uint64Encoder, *codec.Uint64Encoder]
	intsDecoder  = codec.ArrayDecoder[uint64, codec.Uint64Decoder, *codec.Uint64Decoder]
	boolsEncoder = codec.ArrayEncoder[bool, codec.BoolEncoder, *codec.BoolEncoder]
	boolsDecoder = codec.ArrayDecoder[bool, codec.BoolDecoder, *codec.BoolDecoder]
	wordsEncoder = codec.ArrayEncoder[string, codec.StringDictEncoder, *codec.StringDictEncoder]
	wordsDecoder = codec.ArrayDecoder[string, codec.StringDictDecoder, *codec.StringDictDecoder]
	runsEncoder  = codec.ArrayEncoder[[]byte, codec.BytesEncoder, *codec.BytesEncoder]
	runsDecoder  = codec.BytesArrayDecoder[codec.BytesDecoder, *codec.BytesDecoder]
)

func TestArray(t *testing.T) {
	f := func(length, elem string, values ...[]uint64) {
		t.Helper()
		var usage codec.Usage
		var e intsEncoder
		e.Init(&usage)
		for _, v := range values {
			e.Encode(v)
		}
		lengths, elems := e.Columns()
		require.Equal(t, unhex(t, length), lengths.AppendTo([]byte{}))
		require.Equal(t, unhex(t, elem), elems.AppendTo([]byte{}))

		var d intsDecoder
		d.Init(&codec.Alloc{Left: 1 << 20})
		in, elemsIn := d.Columns()
		faults := []*bitio.Fault{open(in, unhex(t, length)), open(elemsIn, unhex(t, elem))}
		var dst []uint64
		for _, v := range values {
			dst = d.Decode(dst)
			require.Equal(t, append([]uint64{}, v...), append([]uint64{}, dst...))
		}
		require.True(t, in.Done())
		require.True(t, elemsIn.Done())
		require.Equal(t, bitio.FaultNone, faults[0].Code)
		require.Equal(t, bitio.FaultNone, faults[1].Code)
	}
	f("80", "", nil)
	f("50", "0a", []uint64{5})
	f("67", "02 00 03 04 00", []uint64{1, 2}, []uint64{1, 2, 3})
	f("c0", "", nil, nil)
	f("24", "02 00 00 00", []uint64{1, 2, 3, 4})
}

func TestArrayOfWords(t *testing.T) {
	var usage codec.Usage
	var dict codec.StringDict
	dict.Init(&usage)
	var e wordsEncoder
	e.Init(&usage)
	e.Elem.Init(&dict)
	words := []string{"ab", "cd", "ab", "e", "e", ""}
	e.Encode(words)
	require.Equal(t, unhex(t, "26"), e.Length.AppendTo(nil))
	require.Equal(t, unhex(t, "04 61 62 04 63 64 01 02 65 02 65 00"), e.Elem.AppendTo(nil))

	var table codec.StringTable
	table.Init(&codec.DictLimit{Max: 1 << 20})
	var d wordsDecoder
	d.Init(&codec.Alloc{Left: 1 << 20})
	d.Elem.Init(&table)
	open(&d.Length, unhex(t, "26"))
	open(&d.Elem, e.Elem.AppendTo(nil))
	require.Equal(t, words, d.Decode(nil))
}

func TestArrayOfRuns(t *testing.T) {
	var usage codec.Usage
	var e runsEncoder
	e.Init(&usage)
	e.Elem.Init(&usage)
	var d runsDecoder
	d.Init(&codec.Alloc{Left: 1 << 20})
	runs := [][][]byte{{[]byte("ab"), nil}, {[]byte("cdefgh")}, nil, {[]byte("i"), []byte("jk"), []byte("l")}}
	for _, v := range runs {
		e.Encode(v)
	}
	in, elems := d.Columns()
	open(in, e.Length.AppendTo(nil))
	open(elems, e.Elem.AppendTo(nil))
	var dst [][]byte
	for _, v := range runs {
		dst = d.Decode(dst)
		require.Equal(t, fmt.Sprintf("%q", v), fmt.Sprintf("%q", dst))
	}
	require.True(t, in.Done())
	require.True(t, elems.Done())
}

// decodeInts decodes one array of integers into dst. The decoder may allocate left bytes.
func decodeInts(t *testing.T, length, elem string, dst []uint64, left int) ([]uint64, bitio.FaultCode, *codec.Alloc) {
	t.Helper()
	alloc := &codec.Alloc{Left: left}
	var d intsDecoder
	d.Init(alloc)
	fault := open(&d.Length, unhex(t, length))
	d.Elem.Attach(fault, 4)
	d.Elem.Reset(unhex(t, elem))
	return d.Decode(dst), fault.Code, alloc
}

func TestArrayReusesMemory(t *testing.T) {
	dst := make([]uint64, 0, 4)
	got, code, alloc := decodeInts(t, "24", "02 00 00 00", dst, 0)
	require.Equal(t, bitio.FaultNone, code)
	require.Equal(t, []uint64{1, 2, 3, 4}, got)
	require.Equal(t, &got[0], &dst[:1][0])
	require.Zero(t, alloc.Left)
}

func TestArrayRefuses(t *testing.T) {
	f := func(code bitio.FaultCode, length, elem string, left int) {
		t.Helper()
		dst := []uint64{9}
		got, have, _ := decodeInts(t, length, elem, dst, left)
		require.Equal(t, code, have)
		require.Empty(t, got)
		require.Equal(t, 1, cap(got), "nothing is allocated for a refused length")
	}
	const much = math.MaxInt32
	f(bitio.FaultEnd, "", "", much)
	f(bitio.FaultBadCode, "00", "", much)
	f(bitio.FaultElements, "50", "", much)
	f(bitio.FaultElements, "60", "02", much)
	f(bitio.FaultElements, "01 ff ff ff ff ff ff", "02 00 00", much)
	f(bitio.FaultRecordSize, "70", "02 00 00", 47)

	got, code, alloc := decodeInts(t, "70", "02 00 00", nil, 48)
	require.Equal(t, bitio.FaultNone, code)
	require.Equal(t, []uint64{1, 2, 3}, got)
	require.Zero(t, alloc.Left)

	// The length exceeds the 8 bits of data: each boolean needs one bit.
	var bools boolsDecoder
	bools.Init(&codec.Alloc{Left: 1 << 20})
	fault := open(&bools.Length, unhex(t, "29"))
	bools.Elem.Attach(fault, 4)
	bools.Elem.Reset([]byte{0xff})
	require.Empty(t, bools.Decode(nil))
	require.Equal(t, bitio.FaultElements, fault.Code)

	var runs runsDecoder
	runs.Init(&codec.Alloc{Left: 79})
	fault = open(&runs.Length, unhex(t, "60"))
	runs.Elem.Attach(fault, 4)
	runs.Elem.Reset([]byte{0, 0})
	require.Empty(t, runs.Decode(nil))
	require.Equal(t, bitio.FaultRecordSize, fault.Code)
	fault = open(&runs.Length, unhex(t, "70"))
	runs.Elem.Reset([]byte{0, 0})
	require.Empty(t, runs.Decode(nil))
	require.Equal(t, bitio.FaultElements, fault.Code)
}

func TestAlloc(t *testing.T) {
	a := codec.Alloc{Left: 10, Max: 10}
	require.True(t, a.Take(10))
	require.False(t, a.Take(1))
	a.Left = a.Max
	require.True(t, a.Take(0))
}

// TestUsage checks that encoding array elements adds at least their encoded size to Usage.Frame.
// Otherwise frames could become larger than intended.
func TestUsage(t *testing.T) {
	var usage codec.Usage
	var e boolsEncoder
	e.Init(&usage)
	e.Encode(make([]bool, 100))
	require.GreaterOrEqual(t, usage.Frame, e.Elem.Len())
	usage = codec.Usage{}
	var ints intsEncoder
	ints.Init(&usage)
	ints.Encode([]uint64{1 << 63, 5, 1 << 62, 3, 1 << 61})
	require.GreaterOrEqual(t, usage.Frame, ints.Elem.Len())
}

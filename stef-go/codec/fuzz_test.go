// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// maxFuzz is the maximum size of inputs in bytes. The simple implementations for comparison are slow.
const maxFuzz = 1 << 12

// Words splits data into numbers of 64 bits.
func Words(data []byte) []uint64 {
	var out []uint64
	for ; len(data) >= 8; data = data[8:] {
		out = append(out, binary.LittleEndian.Uint64(data))
	}
	return out
}

// runs splits data into texts. The byte before each text is its length.
func runs(data []byte) []string {
	var out []string
	for len(data) > 0 {
		n := min(int(data[0]%8), len(data)-1)
		out = append(out, string(data[1:1+n]))
		data = data[1+n:]
	}
	return out
}

// FuzzInts decodes the input as a column of integers. It also encodes the input as values.
func FuzzInts(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x14, 0, 0})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzz {
			return
		}
		var d codec.Uint64Decoder
		var e codec.Uint64Encoder
		fault := open(&d, data)
		var values []uint64
		for v := d.Decode(); fault.Code == bitio.FaultNone; v = d.Decode() {
			values = append(values, v)
			e.Encode(v)
		}
		// The input may contain varints that are longer than necessary.
		require.LessOrEqual(t, e.Len(), len(data))
		requireInts(t, e.AppendTo(nil), values)

		e = codec.Uint64Encoder{}
		values = Words(data)
		for _, v := range values {
			e.Encode(v)
		}
		require.Equal(t, naiveInts(values), e.AppendTo([]byte{}))
		requireInts(t, e.AppendTo(nil), values)
	})
}

func requireInts(t *testing.T, data []byte, values []uint64) {
	t.Helper()
	var d codec.Uint64Decoder
	fault := open(&d, data)
	for _, v := range values {
		require.Equal(t, v, d.Decode())
	}
	require.True(t, d.Done())
	require.Equal(t, bitio.FaultNone, fault.Code)
}

// FuzzFloats decodes the input as a column of floats. It also encodes the input as values.
func FuzzFloats(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\xc2\x74\x02\xfd\xc2\x67\x51\x13\x1a\xb5\xb3\x3b\x73\x33\x33\x33\x33\x33"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xe0\x3f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzz {
			return
		}
		var d codec.Float64Decoder
		fault := open(&d, data)
		var values []float64
		for v := d.Decode(); fault.Code == bitio.FaultNone; v = d.Decode() {
			values = append(values, v)
		}
		encoded, _ := encodeFloats(values)
		requireFloats(t, encoded, values)

		values = nil
		for _, w := range Words(data) {
			values = append(values, math.Float64frombits(w))
		}
		encoded, _ = encodeFloats(values)
		require.Equal(t, naiveFloats(values).bytes(), encoded)
		requireFloats(t, encoded, values)
	})
}

// FuzzText decodes the input as a column of text and as a column of bytes. It also encodes the input as
// values.
func FuzzText(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x04xy\x00\x02q"))
	f.Add([]byte("\x06ab"))
	f.Add([]byte("\x03ab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzz {
			return
		}
		var text codec.StringDecoder
		var raw codec.BytesDecoder
		textFault, rawFault := open(&text, data), open(&raw, data)
		var values []string
		for {
			v, b := text.Decode(), raw.Decode(nil)
			require.Equal(t, v, string(b))
			require.Equal(t, textFault, rawFault)
			if textFault.Code != bitio.FaultNone {
				break
			}
			values = append(values, v)
		}
		requirePlain(t, plain(t, values), values)
		values = runs(data)
		require.Equal(t, naiveText(values), plain(t, values))
		requirePlain(t, plain(t, values), values)
	})
}

// FuzzDict decodes the input as a column of text and as a column of bytes, both with a dictionary. It
// also encodes the input as values.
func FuzzDict(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x04ab\x02c\x01"))
	f.Add([]byte("\x04ab\x04cd\x01\x02e\x02e\x00"))
	f.Add([]byte("\x04ab\x04ab\x03\x05"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzz {
			return
		}
		const limit = 4 << 10
		texts, raws := newDictDecoders(limit), newDictDecoders(limit)
		textFault, _ := texts.open(0, data)
		_, rawFault := raws.open(0, data)
		var values []string
		for {
			v, b := texts.text[0].Decode(), raws.raw[0].Decode(nil)
			require.Equal(t, textFault, rawFault)
			if textFault.Code != bitio.FaultNone {
				require.Empty(t, v)
				require.Empty(t, b)
				break
			}
			require.Equal(t, v, string(b))
			require.LessOrEqual(t, texts.limit.Used, limit)
			values = append(values, v)
		}
		requireDict(t, values)
		requireDict(t, runs(data))
	})
}

func requireDict(t *testing.T, values []string) {
	t.Helper()
	e, d := newDictEncoders(), newDictDecoders(1<<30)
	for _, v := range values {
		e.encode(0, v)
	}
	data := e.column(t, 0)
	require.Equal(t, naiveDict(new([]string), values), data)
	text, raw := d.open(0, data)
	for _, v := range values {
		d.requireNext(t, 0, v)
	}
	require.True(t, d.text[0].Done())
	require.True(t, d.raw[0].Done())
	require.Equal(t, bitio.FaultNone, text.Code)
	require.Equal(t, bitio.FaultNone, raw.Code)
}

// FuzzArrays decodes arrays. One input is the column of their lengths, the other the column of their
// elements.
func FuzzArrays(f *testing.F) {
	f.Add([]byte{0x67}, []byte("\x02\x00\x03\x04\x00"))
	f.Add([]byte{0x26}, []byte("\x04ab\x04cd\x01\x02e\x02e\x00"))
	f.Add([]byte("\x01\xff\xff\xff\xff\xff\xff"), []byte{0})
	f.Fuzz(func(t *testing.T, length, elem []byte) {
		if len(length) > maxFuzz || len(elem) > maxFuzz {
			return
		}
		const left = 1 << 12
		alloc := &codec.Alloc{}
		var usage codec.Usage

		var ints intsDecoder
		var intsOut intsEncoder
		ints.Init(alloc)
		intsOut.Init(&usage)
		fault := open(&ints.Length, length)
		ints.Elem.Attach(fault, 4)
		ints.Elem.Reset(elem)
		total := 0
		for dst := []uint64(nil); ; {
			alloc.Left = left
			if dst = ints.Decode(dst); fault.Code != bitio.FaultNone {
				break
			}
			intsOut.Encode(dst)
			require.LessOrEqual(t, 16*len(dst), max(left, 16*len(elem)))
			total += len(dst)
		}
		require.LessOrEqual(t, total, len(elem))
		require.LessOrEqual(t, intsOut.Length.Len(), len(length))
		require.LessOrEqual(t, intsOut.Elem.Len(), len(elem))

		var byteRuns runsDecoder
		byteRuns.Init(alloc)
		fault = open(&byteRuns.Length, length)
		byteRuns.Elem.Attach(fault, 4)
		byteRuns.Elem.Reset(elem)
		for dst := [][]byte(nil); fault.Code == bitio.FaultNone; {
			alloc.Left = left
			dst = byteRuns.Decode(dst)
		}
	})
}

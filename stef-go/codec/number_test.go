// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

func TestUint64(t *testing.T) {
	f := func(want string, values ...uint64) {
		t.Helper()
		var e codec.Uint64Encoder
		for _, v := range values {
			e.Encode(v)
		}
		require.Equal(t, unhex(t, want), e.AppendTo([]byte{}))
		require.Equal(t, naiveInts(values), e.AppendTo([]byte{}))

		var d codec.Uint64Decoder
		fault := open(&d, unhex(t, want))
		for _, v := range values {
			require.Equal(t, v, d.Decode())
		}
		requireEnd(t, &d, fault, func() { d.Decode() })
	}
	f("00", 0)
	f("00 00 00", 0, 0, 0)
	f("14 00 00", 10, 20, 30)
	f("14 13", 10, 10)
	f("c8 01 c5 01", 100, 101)
	f("02 00 03 04 00", 1, 2, 1, 2, 3)
	f("02 00 00 20", 1, 2, 3, 20)
	f("01 04", math.MaxUint64, 0)
	f("ff ff ff ff ff ff ff ff ff 01 00", 1<<63, 0)
	f("fe ff ff ff ff ff ff ff ff 01 05", 1<<63-1, 1<<64-5)
}

func TestInt64(t *testing.T) {
	f := func(want string, values ...int64) {
		t.Helper()
		var e codec.Int64Encoder
		for _, v := range values {
			e.Encode(v)
		}
		require.Equal(t, unhex(t, want), e.AppendTo([]byte{}))
		var d codec.Int64Decoder
		fault := open(&d, unhex(t, want))
		for _, v := range values {
			require.Equal(t, v, d.Decode())
		}
		requireEnd(t, &d, fault, func() { d.Decode() })
	}
	f("01", -1)
	f("01 02", -1, -1)
	f("0a 09", 5, 5)
	f("ff ff ff ff ff ff ff ff ff 01", math.MinInt64)
	f("fe ff ff ff ff ff ff ff ff 01 fb ff ff ff ff ff ff ff ff 01", math.MaxInt64, math.MinInt64)
}

func TestIntsRestart(t *testing.T) {
	var e codec.Uint64Encoder
	e.Encode(100)
	e.Encode(101)
	e.Restart()
	e.Encode(101)
	require.Equal(t, unhex(t, "c8 01 c5 01 ca 01"), e.AppendTo([]byte{}))
	// The data of a column ends with the frame, but the state of the codec continues.
	e.Reset()
	e.Encode(102)
	require.Equal(t, unhex(t, "c7 01"), e.AppendTo([]byte{}))

	var d codec.Uint64Decoder
	fault := open(&d, unhex(t, "c8 01 c5 01"))
	require.Equal(t, uint64(100), d.Decode())
	require.Equal(t, uint64(101), d.Decode())
	d.Restart()
	d.Reset(unhex(t, "ca 01"))
	require.Equal(t, uint64(101), d.Decode())
	d.Reset(unhex(t, "c7 01"))
	require.Equal(t, uint64(102), d.Decode())
	require.Equal(t, bitio.FaultNone, fault.Code)
}

func TestIntsAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var e codec.Uint64Encoder
	var d codec.Uint64Decoder
	for range 200 {
		e.Reset()
		e.Restart()
		d.Restart()
		var values []uint64
		for range rnd.IntN(50) {
			v := rnd.Uint64() >> rnd.IntN(64)
			if rnd.IntN(2) == 0 && len(values) > 0 {
				v = values[len(values)-1] + rnd.Uint64N(300) - 150
			}
			values = append(values, v)
			e.Encode(v)
		}
		data := e.AppendTo([]byte{})
		require.Equal(t, naiveInts(values), data)
		fault := open(&d, data)
		for _, v := range values {
			require.Equal(t, v, d.Decode())
		}
		requireEnd(t, &d, fault, func() { d.Decode() })
	}
}

func TestIntsRefuse(t *testing.T) {
	f := func(code bitio.FaultCode, data string) {
		t.Helper()
		var d codec.Uint64Decoder
		fault := open(&d, unhex(t, data))
		d.Decode()
		require.Equal(t, bitio.Fault{Code: code, Column: 3}, *fault)
	}
	f(bitio.FaultEnd, "")
	f(bitio.FaultEnd, "80")
	f(bitio.FaultOverflow, "ff ff ff ff ff ff ff ff ff 02")
}

func encodeFloats(values []float64) (data []byte, size int) {
	var e codec.Float64Encoder
	for _, v := range values {
		e.Encode(v)
	}
	return e.AppendTo([]byte{}), e.BitLen()
}

// requireFloats decodes data and compares the bits of the floats with values.
func requireFloats(t *testing.T, data []byte, values []float64) {
	t.Helper()
	var d codec.Float64Decoder
	fault := open(&d, data)
	for i, v := range values {
		require.Equal(t, math.Float64bits(v), math.Float64bits(d.Decode()), "value %d", i)
	}
	requireEnd(t, &d, fault, func() { d.Decode() })
}

func TestFloat64(t *testing.T) {
	f := func(want string, values ...float64) {
		t.Helper()
		data, size := encodeFloats(values)
		require.Equal(t, unhex(t, want), data)
		require.Len(t, naiveFloats(values), size)
		require.Equal(t, naiveFloats(values).bytes(), data)
		requireFloats(t, data, values)
	}
	f("00", 0)
	f("00", 0, 0, 0)
	f("c4 4f fe", 1)
	f("c4 4f fa", 0.25)
	f("c4 57 ff c2 67 ff c0", 1.5, 2.5)
	f("c4 47 ff 60 10", 0.5, 0.75)
	f("90 02 48 7e d5 11 0b 46 00", math.Pi)
	f("c2 57 ff", math.Inf(1))
	f("9f fe 00 00 00 00 00 00 40", math.Float64frombits(0x7ff8000000000001))
	f("c0 04", math.Copysign(0, -1))
	f("c2 74 02 fd c2 67 51 13 1a b5 b3 3b 73 33 33 33 33 33", 15.5, 14.0625, 3.25, 8.625, 13.1)
}

func TestFloat64Restart(t *testing.T) {
	var e codec.Float64Encoder
	e.Encode(1)
	e.Restart()
	e.Encode(1)
	e.Encode(1)
	want := naiveFloats([]float64{1}) + naiveFloats([]float64{1, 1})
	require.Equal(t, want.bytes(), e.AppendTo([]byte{}))
	e.Reset()
	e.Encode(1)
	require.Equal(t, []byte{0}, e.AppendTo([]byte{}), "Reset keeps the last value")

	var d codec.Float64Decoder
	fault := open(&d, unhex(t, "c4 4f fe"))
	require.Equal(t, 1.0, d.Decode())
	d.Reset(unhex(t, "00"))
	require.Equal(t, 1.0, d.Decode())
	d.Restart()
	d.Reset(unhex(t, "00"))
	require.Equal(t, 0.0, d.Decode())
	require.Equal(t, bitio.FaultNone, fault.Code)
}

// floats returns n values. They are of all kinds that the codec encodes in different ways.
func floats(rnd *rand.Rand, n int) []float64 {
	var values []float64
	for range n {
		var v float64
		switch rnd.IntN(7) {
		case 0:
			v = math.Float64frombits(rnd.Uint64())
		case 1:
			v = math.Float64frombits(rnd.Uint64() >> rnd.IntN(64))
		case 2:
			v = math.Float64frombits(rnd.Uint64() << rnd.IntN(64))
		case 3:
			v = float64(rnd.IntN(1000))
		case 4:
			v = float64(rnd.IntN(1000)) / 10
		case 5:
			v = math.Float64frombits(1 << rnd.IntN(64))
		default:
			if len(values) > 0 {
				v = values[len(values)-1]
			}
			if rnd.IntN(2) == 0 {
				v = math.Float64frombits(math.Float64bits(v) ^ rnd.Uint64()>>rnd.IntN(64)<<rnd.IntN(64))
			}
		}
		values = append(values, v)
	}
	return values
}

func TestFloat64AgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		values := floats(rnd, rnd.IntN(60))
		data, _ := encodeFloats(values)
		require.Equal(t, naiveFloats(values).bytes(), data)
		requireFloats(t, data, values)
	}
}

// The codec of floats writes only a window of bits, without leading and trailing zeros.
// TestFloat64EveryWindow tests all pairs of leading and trailing zeros. The next value fits into the
// window or not.
func TestFloat64EveryWindow(t *testing.T) {
	for lead := range 64 {
		for size := 1; size <= 64-lead; size++ {
			x := uint64(1) << (63 - lead)
			x |= x >> (size - 1)
			for _, y := range []uint64{x, x >> 1, x << 1, x | 1, x ^ 1<<63, 1 << 32} {
				values := []float64{math.Float64frombits(x), math.Float64frombits(x ^ y), math.Float64frombits(y)}
				data, _ := encodeFloats(values)
				require.Equal(t, naiveFloats(values).bytes(), data)
				requireFloats(t, data, values)
			}
		}
	}
}

func TestFloat64Refuses(t *testing.T) {
	f := func(code bitio.FaultCode, s bitText) {
		t.Helper()
		var d codec.Float64Decoder
		fault := open(&d, s.bytes())
		d.Decode()
		require.Equal(t, code, fault.Code)
	}
	f(bitio.FaultEnd, "")
	f(bitio.FaultEnd, "10111111")
	f(bitio.FaultEnd, bitText("11").add(2, 5).add(63-2, 6).add(1, 5))
	f(bitio.FaultFloat, bitText("11").add(1, 5).add(63, 6).add(1, 63))
	f(bitio.FaultFloat, bitText("11").add(31, 5).add(33, 6).add(1, 63))
	// Windows that just fit into 64 bits cause no fault.
	f(bitio.FaultNone, bitText("11").add(31, 5).add(32, 6).add(1, 33))
	f(bitio.FaultNone, bitText("11").add(0, 5).add(63, 6).add(1, 64))
}

func TestBool(t *testing.T) {
	f := func(want string, values ...bool) {
		t.Helper()
		var e codec.BoolEncoder
		for _, v := range values {
			e.Encode(v)
		}
		e.Restart()
		require.Equal(t, unhex(t, want), e.AppendTo([]byte{}))
		var d codec.BoolDecoder
		fault := open(&d, unhex(t, want))
		d.Restart()
		for _, v := range values {
			require.Equal(t, v, d.Decode())
		}
		requireEnd(t, &d, fault, func() { d.Decode() })
	}
	f("80", true)
	f("00", false)
	f("80", true, false)
	f("a5 80", true, false, true, false, false, true, false, true, true)
}

// TestComposite tests the codecs Bits and Headers, whose values generated code computes.
func TestComposite(t *testing.T) {
	var b codec.Bits
	b.Write(0b101, 3)
	b.Restart()
	require.Equal(t, []byte{0xa0}, b.AppendTo(nil))
	var in codec.BitsIn
	fault := open(&in, []byte{0xa0})
	in.Restart()
	require.Equal(t, uint64(0b101), in.Read(3))

	var h codec.Headers
	h.Write(7)
	h.Write(127 * 2)
	h.Restart()
	require.Equal(t, unhex(t, "07 fe 01"), h.AppendTo(nil))
	var heads codec.HeadersIn
	fault2 := open(&heads, unhex(t, "07 fe 01"))
	heads.Restart()
	require.Equal(t, uint64(7), heads.Uvarint())
	require.Equal(t, uint64(254), heads.Uvarint())
	require.Equal(t, bitio.FaultNone, fault.Code)
	require.Equal(t, bitio.FaultNone, fault2.Code)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompact(t *testing.T) {
	f := func(v uint64, want string) {
		t.Helper()
		var w bitWriter
		require.NoError(t, w.compact(v))
		require.Equal(t, want, fmt.Sprintf("% x", w.data))
		r := bitReader{data: w.data}
		have, err := r.compact()
		require.NoError(t, err)
		require.Equal(t, v, have)
		require.Equal(t, w.n, r.n)
		require.NoError(t, r.end())
	}
	f(0, "80")
	f(1, "50")
	f(2, "60")
	f(3, "70")
	f(4, "24")
	f(31, "3f")
	f(32, "10 20")
	f(4095, "1f ff")
	f(4096, "08 10 00")
	f(1<<19-1, "0f ff ff")
	f(1<<19, "04 08 00 00")
	f(1<<26, "02 04 00 00 00")
	f(1<<33, "01 00 02 00 00 00 00")
	f(1<<48-1, "01 ff ff ff ff ff ff")

	var w bitWriter
	require.ErrorIs(t, w.compact(1<<48), ErrLimit)
	require.Empty(t, w.data)

	// Read the number 1 in a class with five payload bits, which is larger than necessary. Then read
	// invalid and truncated codes.
	r := bitReader{data: []byte{0x21}}
	v, err := r.compact()
	require.NoError(t, err)
	require.EqualValues(t, 1, v)
	for _, bad := range [][]byte{{0}, {0, 0xff}, {}, {1}, {0x01, 0xff}} {
		r := bitReader{data: bad}
		_, err := r.compact()
		require.ErrorIs(t, err, ErrCorrupt, "% x", bad)
	}
}

func TestBits(t *testing.T) {
	var w bitWriter
	w.bits(5, 3)
	w.bits(1, 5)
	require.Equal(t, []byte{0xa1}, w.data)
	w.bits(math.MaxUint64, 2) // the other bits are ignored
	w.bits(0, 3)
	w.bits(math.MaxUint64, 64)
	require.Equal(t, 77, w.n)
	r := bitReader{data: w.data}
	for _, want := range []struct {
		count int
		v     uint64
	}{{3, 5}, {5, 1}, {0, 0}, {2, 3}, {3, 0}, {64, math.MaxUint64}} {
		v, err := r.bits(want.count)
		require.NoError(t, err)
		require.Equal(t, want.v, v)
	}
	require.NoError(t, r.end())
	_, err := r.bits(4)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestVarint(t *testing.T) {
	f := func(v int64, want string) {
		t.Helper()
		b := appendVarint(nil, v)
		require.Equal(t, want, fmt.Sprintf("% x", b))
		r := byteReader{data: b}
		have, err := r.varint("number")
		require.NoError(t, err)
		require.Equal(t, v, have)
		require.NoError(t, r.end())
	}
	f(0, "00")
	f(-1, "01")
	f(1, "02")
	f(-2, "03")
	f(2, "04")
	f(1000, "d0 0f")
	f(math.MaxInt64, "fe ff ff ff ff ff ff ff ff 01")
	f(math.MinInt64, "ff ff ff ff ff ff ff ff ff 01")
}

// TestFloatWindow reads all codes of floats: an equal value, a new window of bits, the previous window,
// and a window of 64 bits.
func TestFloatWindow(t *testing.T) {
	values := []float64{0, 1, 1, 1.5, 1.25, 1, math.Pi, math.Pi + 1e-15, -math.Pi, math.NaN(), math.Copysign(0, -1),
		math.Float64frombits(1), math.Float64frombits(1 << 63), math.Float64frombits(math.MaxUint64)}
	var out bitWriter
	var enc, dec xorState
	var windows, sizes []int
	for _, v := range values {
		before := out.n
		enc.encode(&out, v)
		sizes = append(sizes, out.n-before)
		windows = append(windows, enc.lead)
	}
	in := bitReader{data: out.data}
	for i, v := range values {
		have, err := dec.decode(&in)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(v), math.Float64bits(have), "%d", i)
		require.Equal(t, windows[i], dec.lead)
	}
	require.NoError(t, in.end())
	require.Equal(t, 1, sizes[0])
	require.Equal(t, 13+10, sizes[1])
	require.Equal(t, 1, sizes[2])
	require.Contains(t, sizes, 66)
}

func TestReadExactly(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 50_000)
	b, err := readExactly(bytes.NewReader(data), nil, len(data), "data")
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, b))

	// Memory is allocated when data arrives, not for the announced size.
	b, err = readExactly(bytes.NewReader(data[:10]), nil, maxFrame, "data")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.LessOrEqual(t, cap(b), 2*readChunk)
}

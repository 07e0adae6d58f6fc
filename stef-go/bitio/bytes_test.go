// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

func TestUvarint(t *testing.T) {
	f := func(v uint64, want string) {
		t.Helper()
		b := unhex(t, want)
		require.Equal(t, b, bitio.AppendUvarint(nil, v))
		require.Equal(t, append([]byte{7}, b...), bitio.AppendUvarint([]byte{7}, v))
		w := bitio.ByteWriter{Buf: []byte{7}}
		w.Uvarint(v)
		require.Equal(t, append([]byte{7}, b...), w.Buf)
		require.Equal(t, len(b), bitio.UvarintLen(v))
		requireUvarint(t, v, b)
	}
	f(0, "00")
	f(1, "01")
	f(127, "7f")
	f(128, "80 01")
	f(300, "ac 02")
	f(1<<14-1, "ff 7f")
	f(1<<14, "80 80 01")
	f(1<<56-1, "ff ff ff ff ff ff ff 7f")
	f(1<<56, "80 80 80 80 80 80 80 80 01")
	f(1<<63-1, "ff ff ff ff ff ff ff ff 7f")
	f(1<<63, "80 80 80 80 80 80 80 80 80 01")
	f(math.MaxUint64, "ff ff ff ff ff ff ff ff ff 01")
}

// requireUvarint reads the number v from b with Uvarint and UvarintLong: from b alone, and from b
// followed by other bytes.
func requireUvarint(t *testing.T, v uint64, b []byte) {
	t.Helper()
	for _, behind := range []string{"", "\xff", "\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		data := append(append([]byte{}, b...), behind...)
		got, n := bitio.Uvarint(data)
		require.Equal(t, v, got)
		require.Equal(t, len(b), n)

		var fault bitio.Fault
		var r bitio.ByteReader
		r.Attach(&fault, 1)
		for _, read := range []func() uint64{r.Uvarint, r.UvarintLong} {
			r.Reset(data)
			require.Equal(t, v, read())
			require.Equal(t, len(behind), r.Left())
			require.Equal(t, behind == "", r.Done())
		}
		require.Equal(t, bitio.FaultNone, fault.Code)
	}
}

// TestUvarintEveryLength compares the encoding of the smallest and largest numbers of every length
// with the standard library.
func TestUvarintEveryLength(t *testing.T) {
	for bit := range 65 {
		for _, d := range []uint64{0, 1, 2} {
			v := uint64(1)<<bit - 1 + d
			want := binary.AppendUvarint(nil, v)
			require.Equal(t, want, bitio.AppendUvarint(nil, v))
			var w bitio.ByteWriter
			w.Uvarint(v)
			require.Equal(t, want, w.Buf)
			requireUvarint(t, v, want)
		}
	}
}

func TestUvarintReadsLongerForms(t *testing.T) {
	f := func(v uint64, data string) {
		t.Helper()
		requireUvarint(t, v, unhex(t, data))
	}
	f(0, "80 00")
	f(1, "81 80 00")
	f(0, "80 80 80 80 80 80 80 80 80 00")
	f(1, "81 80 80 80 80 80 80 80 80 00")
}

func TestUvarintRefuses(t *testing.T) {
	f := func(n int, code bitio.FaultCode, data string) {
		t.Helper()
		v, got := bitio.Uvarint(unhex(t, data))
		require.Zero(t, v)
		require.Equal(t, n, got)
		var fault bitio.Fault
		var r bitio.ByteReader
		r.Attach(&fault, 5)
		r.Reset(unhex(t, data))
		require.Zero(t, r.Uvarint())
		require.Equal(t, bitio.Fault{Code: code, Column: 5}, fault)
		require.True(t, r.Done())
		require.Zero(t, r.Uvarint(), "after a fault, Uvarint returns zeros")
	}
	f(0, bitio.FaultEnd, "")
	f(0, bitio.FaultEnd, "80")
	f(0, bitio.FaultEnd, "ff ff ff ff ff ff ff ff ff")
	f(-10, bitio.FaultOverflow, "ff ff ff ff ff ff ff ff ff 02")
	f(-10, bitio.FaultOverflow, "80 80 80 80 80 80 80 80 80 80")
	f(-10, bitio.FaultOverflow, "80 80 80 80 80 80 80 80 80 80 00")
}

func TestVarint(t *testing.T) {
	f := func(v int64, want string) {
		t.Helper()
		require.Equal(t, unhex(t, want), bitio.AppendVarint(nil, v))
		require.Equal(t, v, bitio.Unzigzag(bitio.Zigzag(v)))
		var r bitio.ByteReader
		r.Reset(unhex(t, want))
		require.Equal(t, v, r.Varint())
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

func TestByteReaderNext(t *testing.T) {
	var fault bitio.Fault
	var r bitio.ByteReader
	r.Attach(&fault, 2)
	r.Reset([]byte("abcde"))
	run, at := r.Next(2)
	require.Equal(t, "ab", string(run))
	require.Zero(t, at)
	require.Equal(t, 2, cap(run), "append to a run does not overwrite the bytes after it")
	run, at = r.Next(0)
	require.Empty(t, run)
	require.Equal(t, 2, at)
	run, at = r.Next(3)
	require.Equal(t, "cde", string(run))
	require.Equal(t, 2, at)
	require.True(t, r.Done())
	run, _ = r.Next(0)
	require.Empty(t, run)
	require.Equal(t, bitio.FaultNone, fault.Code)

	for _, n := range []uint64{6, 1 << 40, math.MaxUint64} {
		fault = bitio.Fault{}
		r.Reset([]byte("abcde"))
		run, _ = r.Next(n)
		require.Nil(t, run)
		require.Equal(t, bitio.Fault{Code: bitio.FaultEnd, Column: 2}, fault)
		require.True(t, r.Done())
	}
}

func TestByteWriter(t *testing.T) {
	var w bitio.ByteWriter
	require.Zero(t, w.Len())
	text := strings.Repeat("0123456789", 100)
	w.Expect(100)
	for i := range text {
		w.Room(1)
		require.GreaterOrEqual(t, cap(w.Buf)-len(w.Buf), 1)
		w.Buf = append(w.Buf, text[i])
	}
	require.Equal(t, len(text), w.Len())
	require.Equal(t, "x"+text, string(w.AppendTo([]byte("x"))))
	w.Reset()
	require.Zero(t, w.Len())
	require.Empty(t, w.AppendTo(nil))
	w.Room(5000)
	require.GreaterOrEqual(t, cap(w.Buf), 5000)
}

// The buffer of a column grows to the expected size in a few steps, but never to many times the size of
// its data.
func TestExpectedSize(t *testing.T) {
	const expected = 60 << 20
	var w bitio.ByteWriter
	w.Expect(expected)
	steps, last := 0, 0
	for len(w.Buf) < expected {
		w.Room(1 << 10)
		if cap(w.Buf) != last {
			require.LessOrEqual(t, cap(w.Buf), max(8<<10, 20*len(w.Buf)))
			steps, last = steps+1, cap(w.Buf)
		}
		w.Buf = w.Buf[:len(w.Buf)+1<<10]
	}
	require.Less(t, cap(w.Buf), 2*expected)
	require.LessOrEqual(t, steps, 8)
}

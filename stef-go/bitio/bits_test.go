// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

func writeBits(parts ...uint64) []byte {
	var w bitio.BitWriter
	for i := 0; i < len(parts); i += 2 {
		w.Write(parts[i], uint(parts[i+1]))
	}
	return w.AppendTo(nil)
}

func reader(data []byte) (*bitio.BitReader, *bitio.Fault) {
	r, fault := new(bitio.BitReader), new(bitio.Fault)
	r.Attach(fault, 7)
	r.Reset(data)
	return r, fault
}

func TestBitWriterOrder(t *testing.T) {
	f := func(want string, parts ...uint64) {
		t.Helper()
		require.Equal(t, unhex(t, want), append([]byte{}, writeBits(parts...)...))
	}
	f("")
	f("", 0, 0)
	f("a1", 5, 3, 1, 5)
	f("80", 1, 1)
	f("ff 80", 0xff, 8, 1, 1)
	f("01 23 45 67 89 ab cd ef", 0x0123456789abcdef, 64)
	f("80 91 a2 b3 c4 d5 e6 f7 80", 1, 1, 0x0123456789abcdef, 64)
	f("ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff", 1<<64-1, 64, 0, 0, 1<<64-1, 64)
}

func TestBitWriterCounts(t *testing.T) {
	var w bitio.BitWriter
	require.Zero(t, w.BitLen())
	require.Zero(t, w.Len())
	for n := 1; n <= 200; n++ {
		w.Write(1, 1)
		require.Equal(t, n, w.BitLen())
		require.Equal(t, (n+7)/8, w.Len())
		require.Len(t, w.AppendTo(nil), w.Len())
	}
	require.Equal(t, []byte{9, 0xff}, w.AppendTo([]byte{9})[:2], "AppendTo keeps the bytes of dst")
	w.Reset()
	require.Zero(t, w.BitLen())
	w.Write(0, 3)
	require.Equal(t, []byte{0}, w.AppendTo(nil))
}

// TestBitWidths writes and reads numbers of every width at every bit position of a word: all ones,
// one bit at each end, and a pattern.
func TestBitWidths(t *testing.T) {
	for at := uint(0); at < 65; at++ {
		for n := uint(0); n <= 64; n++ {
			for _, v := range []uint64{0, 1<<64 - 1, 1, 1 << 63, 0x9e3779b97f4a7c15} {
				if v >>= 64 - n; n == 0 {
					v = 0
				}
				var w bitio.BitWriter
				w.Write(0, min(at, 64))
				w.Write(0, at-min(at, 64))
				w.Write(v, n)
				w.Write(1, 1)
				want := naive("").add(0, int(at)).add(v, int(n)).add(1, 1)
				require.Equal(t, want.bytes(), w.AppendTo(nil), "%d bits at %d", n, at)

				r, fault := reader(w.AppendTo(nil))
				require.Zero(t, r.Read(min(at, 64)))
				require.Zero(t, r.Read(at-min(at, 64)))
				require.Equal(t, v, r.Read(n), "%d bits at %d", n, at)
				require.Equal(t, uint64(1), r.Read(1))
				require.True(t, r.Done())
				require.Equal(t, bitio.FaultNone, fault.Code)
			}
		}
	}
}

// TestBitsAgainstNaive writes random lists of numbers, each with a width in bits. It reads them with the
// same and with other widths, and compares all results with the type naive.
func TestBitsAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var w bitio.BitWriter
	for range 300 {
		w.Reset()
		if rnd.IntN(2) == 0 {
			w.Expect(rnd.IntN(1000))
		}
		var s naive
		for range rnd.IntN(60) {
			if rnd.IntN(3) == 0 {
				v := rnd.Uint64() >> 16 >> rnd.IntN(48)
				w.WriteCompact(v)
				s = s.compact(v)
				continue
			}
			n := rnd.IntN(65)
			v := rnd.Uint64() >> (64 - n)
			w.Write(v, uint(n))
			s = s.add(v, n)
		}
		require.Equal(t, len(s), w.BitLen())
		data := w.AppendTo(nil)
		require.Equal(t, s.bytes(), append([]byte{}, data...))

		r, fault := reader(data)
		for rest := bitsOf(data); rest != ""; {
			require.Equal(t, len(rest), r.Left())
			n := rnd.IntN(min(64, len(rest)) + 1)
			var want uint64
			want, rest = rest.take(n)
			require.Equal(t, want, r.Read(uint(n)))
		}
		require.Equal(t, bitio.FaultNone, fault.Code)
		require.Zero(t, r.Read(1))
		require.Equal(t, bitio.FaultEnd, fault.Code)
	}
}

// ReadAfter2 and ReadWordAfter2 return the bits that two calls of Read return, even at the end of
// the data.
func TestReadAfter2IsRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	words := 0
	for range 20_000 {
		data := make([]byte, rnd.IntN(30))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		one, oneFault := reader(data)
		two, twoFault := reader(data)
		for k := range 6 {
			skip := uint(rnd.IntN(65))
			if k == 0 {
				skip = min(skip, 1) // nearly all bits of the first word are then unread
			}
			require.Equal(t, two.Read(skip), one.Read(skip))
			code, n := one.Peek2(), uint(1+rnd.IntN(64))
			if code == 0 {
				continue
			}
			require.Equal(t, two.Read(2), code)
			if rnd.IntN(2) == 0 {
				n = 64
			}
			if word, ok := uint64(0), false; n == 64 {
				if word, ok = one.ReadWordAfter2(); ok {
					require.Equal(t, two.Read(64), word)
					words++
					continue
				}
			}
			require.Equal(t, two.Read(n), one.ReadAfter2(n))
			require.Equal(t, two.Left(), one.Left())
			require.Equal(t, two.Done(), one.Done())
			require.Equal(t, *twoFault, *oneFault)
		}
	}
	require.Greater(t, words, 1000)
}

func TestBitReaderEndIsStrict(t *testing.T) {
	for size := range 20 {
		data := make([]byte, size)
		for i := range data {
			data[i] = 0xff
		}
		for more := uint(1); more <= 64; more++ {
			r, fault := reader(data)
			// The last read begins in the data or directly after the data.
			left := size * 8
			for left > 20 {
				r.Read(19)
				left -= 19
			}
			if n := uint(left) + more; n <= 64 {
				require.Zero(t, r.Read(n), "%d bits more than the unread bits of %d bytes", more, size)
				require.Equal(t, bitio.Fault{Code: bitio.FaultEnd, Column: 7}, *fault)
				require.Zero(t, r.Read(3), "after a fault, Read returns zeros")
				require.Zero(t, r.Left())
			}
		}
	}
}

func TestBitReaderGrant(t *testing.T) {
	f := func(data string, grant uint, reads []uint, fault bitio.FaultCode, short bool) {
		t.Helper()
		r, got := reader(unhex(t, data))
		r.Grant(grant)
		for _, n := range reads {
			r.Read(n)
		}
		require.Equal(t, fault, got.Code)
		require.Equal(t, short, r.Short())
	}
	f("ff", 56, []uint{8}, bitio.FaultNone, false)
	f("ff", 56, []uint{8, 56}, bitio.FaultNone, true)
	f("ff", 56, []uint{8, 55, 1}, bitio.FaultNone, true)
	f("ff", 56, []uint{8, 56, 1}, bitio.FaultEnd, true)
	f("ff", 56, []uint{8, 57}, bitio.FaultEnd, false)
	f("f0", 56, []uint{4, 60}, bitio.FaultNone, true)
	// A grant of zeros beyond the end must not complete a number that has a one bit in the data.
	f("f1", 56, []uint{4, 60}, bitio.FaultEnd, false)
	f("ff", 56, []uint{9}, bitio.FaultEnd, false)
	f("", 3, []uint{3}, bitio.FaultNone, true)
	f("", 3, []uint{4}, bitio.FaultEnd, false)

	r, fault := reader([]byte{0xff})
	r.Grant(56)
	require.Equal(t, 64, r.Left())
	r.Read(8)
	require.Equal(t, 56, r.Left())
	require.True(t, r.Done())
	r.Reset([]byte{0xff})
	require.False(t, r.Short())
	r.Read(9)
	require.Equal(t, bitio.FaultEnd, fault.Code, "Reset ends the grant")
}

func TestBitReaderDone(t *testing.T) {
	f := func(want bool, data string, read uint) {
		t.Helper()
		r, _ := reader(unhex(t, data))
		for range read {
			r.Read(1)
		}
		require.Equal(t, want, r.Done())
	}
	f(true, "", 0)
	f(false, "00", 0)
	f(true, "00", 1)
	f(true, "00", 8)
	f(true, "80", 1)
	f(false, "c0", 1)
	f(false, "81", 1)
	f(false, "80 00", 1)
	f(false, "80 00", 8)
	f(true, "80 00", 9)
	f(false, "00 00 00 00 00 00 00 00 80", 64)
	f(true, "00 00 00 00 00 00 00 00 00", 65)
}

func TestFaultKeepsTheFirst(t *testing.T) {
	var fault bitio.Fault
	var a, b bitio.BitReader
	a.Attach(&fault, 3)
	b.Attach(&fault, 4)
	a.Reset(nil)
	b.Reset([]byte{0})
	b.ReadCompact()
	a.Read(1)
	a.Fail(bitio.FaultRef)
	require.Equal(t, bitio.Fault{Code: bitio.FaultBadCode, Column: 4}, fault)

	// A reader without a Fault records no failures.
	var loose bitio.BitReader
	loose.Reset(nil)
	require.Zero(t, loose.Read(1))
}

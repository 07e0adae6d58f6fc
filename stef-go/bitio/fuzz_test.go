// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

// FuzzBits reads numbers from data. The input script defines their widths in bits. The simple reader
// naive must read the same numbers. Writing the numbers must produce the same bits.
func FuzzBits(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add([]byte{0xa1}, []byte{3, 5, 1})
	f.Add([]byte("\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00"), []byte{0, 64, 1, 15, 63})
	f.Fuzz(func(t *testing.T, data, script []byte) {
		if len(data) > 1<<10 || len(script) > 1<<10 {
			return
		}
		r, fault := reader(data)
		var w bitio.BitWriter
		rest := bitsOf(data)
		for _, b := range script {
			n := int(b) % 65
			if n > len(rest) {
				require.Zero(t, r.Read(uint(n)))
				require.Equal(t, bitio.FaultEnd, fault.Code)
				return
			}
			var want uint64
			want, rest = rest.take(n)
			got := r.Read(uint(n))
			require.Equal(t, want, got)
			require.Equal(t, len(rest), r.Left())
			w.Write(got, uint(n))
		}
		require.Equal(t, bitio.FaultNone, fault.Code)
		used := bitsOf(data)[:w.BitLen()]
		require.Equal(t, used.bytes(), append([]byte{}, w.AppendTo(nil)...))
		padding, _ := rest.take(min(len(rest), 64))
		require.Equal(t, len(rest) < 8 && padding == 0, r.Done())
	})
}

// FuzzUvarint decodes any bytes with this package and with the standard library, and compares.
func FuzzUvarint(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x80, 0x00})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f\xff"))
	f.Add([]byte("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantN := binary.Uvarint(data)
		if wantN <= 0 && len(data) >= binary.MaxVarintLen64 {
			wantN = -10 // the tenth byte decides, whether or not another byte follows
		}
		v, n := bitio.Uvarint(data)
		require.Equal(t, wantN, n)
		require.Equal(t, want, v)

		var fault bitio.Fault
		var r bitio.ByteReader
		r.Attach(&fault, 0)
		r.Reset(data)
		require.Equal(t, want, r.Uvarint())
		require.Equal(t, wantN > 0, fault.Code == bitio.FaultNone)
		if n > 0 {
			require.Equal(t, len(data)-n, r.Left())
			shortest := bitio.AppendUvarint(nil, v)
			require.LessOrEqual(t, len(shortest), n)
			require.Equal(t, len(shortest), bitio.UvarintLen(v))
		}
	})
}

// FuzzCompact reads compact numbers from any bytes, and compares them with the table of their prefix
// code.
func FuzzCompact(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x00})
	f.Add([]byte{0x26, 0x26, 0x77, 0x52})
	f.Add([]byte("\x01\xff\xff\xff\xff\xff\xff\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<10 {
			return
		}
		r, fault := reader(data)
		for rest := bitsOf(data); fault.Code == bitio.FaultNone; {
			v := r.ReadCompact()
			if fault.Code != bitio.FaultNone {
				require.Zero(t, v)
				return
			}
			used := rest[:len(rest)-r.Left()]
			rest = rest[len(used):]
			var w bitio.BitWriter
			w.WriteCompact(v)
			require.Equal(t, naive("").compact(v).bytes(), w.AppendTo(nil))
			// The prefix code can have more bits than the number needs, so the new code may be shorter.
			require.LessOrEqual(t, w.BitLen(), len(used))
			if w.BitLen() == len(used) {
				require.Equal(t, naive("").compact(v), used)
			}
		}
	})
}

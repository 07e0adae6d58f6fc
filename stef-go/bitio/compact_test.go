// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

// The test expects the bytes that the reference implementation writes.
func TestCompact(t *testing.T) {
	f := func(v uint64, want string) {
		t.Helper()
		var w bitio.BitWriter
		w.WriteCompact(v)
		require.Equal(t, unhex(t, want), w.AppendTo(nil))
		require.Equal(t, len(naive("").compact(v)), w.BitLen())
		r, fault := reader(unhex(t, want))
		require.Equal(t, v, r.ReadCompact())
		require.True(t, r.Done())
		require.Equal(t, bitio.FaultNone, fault.Code)
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
	f(1<<26-1, "07 ff ff ff")
	f(1<<26, "02 04 00 00 00")
	f(1<<33-1, "03 ff ff ff ff")
	f(1<<33, "01 00 02 00 00 00 00")
	f(bitio.MaxCompact, "01 ff ff ff ff ff ff")
}

func TestCompactAtEveryPlace(t *testing.T) {
	for bit := range 49 {
		for _, v := range []uint64{1<<bit - 1, 1 << bit, 1<<bit + 1} {
			if v > bitio.MaxCompact {
				continue
			}
			for at := uint(0); at < 64; at++ {
				var w bitio.BitWriter
				w.Write(0, at)
				w.WriteCompact(v)
				w.WriteCompact(v)
				want := naive("").add(0, int(at)).compact(v).compact(v)
				require.Equal(t, want.bytes(), w.AppendTo(nil))
				r, fault := reader(w.AppendTo(nil))
				r.Read(at)
				require.Equal(t, v, r.ReadCompact())
				require.Equal(t, v, r.ReadCompact())
				require.Equal(t, bitio.FaultNone, fault.Code)
			}
		}
	}
}

func TestCompactReadsLongerClasses(t *testing.T) {
	f := func(v uint64, data string) {
		t.Helper()
		r, fault := reader(unhex(t, data))
		require.Equal(t, v, r.ReadCompact())
		require.Equal(t, bitio.FaultNone, fault.Code)
	}
	f(0, "40")
	f(1, "21")
	f(3, "10 03")
	f(0, "01 00 00 00 00 00 00")
	f(5, "01 00 00 00 00 00 05")
}

func TestCompactRefuses(t *testing.T) {
	f := func(code bitio.FaultCode, data string) {
		t.Helper()
		r, fault := reader(unhex(t, data))
		require.Zero(t, r.ReadCompact())
		require.Equal(t, code, fault.Code)
	}
	f(bitio.FaultEnd, "")
	f(bitio.FaultBadCode, "00")
	f(bitio.FaultBadCode, "00 ff")
	f(bitio.FaultEnd, "10")
	f(bitio.FaultEnd, "1f")
	f(bitio.FaultEnd, "01 ff ff ff ff ff")
}

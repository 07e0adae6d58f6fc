// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

func TestMemory(t *testing.T) {
	f := func(n, size int) {
		t.Helper()
		var m bitio.Memory[uint32]
		b := m.Take(n)
		require.Empty(t, b)
		require.Equal(t, size, cap(b))
		m.Give(append(b, make([]uint32, n)...))
		require.Equal(t, size, cap(m.Take(n)))
	}
	f(0, 0)
	f(1, 1)
	f(63, 63)
	f(64, 64)
	f(65, 80)
	f(4095, 4096)
	f(4096, 4096)
	f(4097, 5<<10)
	f(5<<10, 5<<10)
	f(5<<10+1, 6<<10)
	f(7<<10+1, 8<<10)
	f(8<<10+1, 10<<10)
	f(1<<24-1, 1<<24)
	f(1<<24, 1<<24)
	f(1<<24+1, 1<<24+1)
	for n := 64; n < 1<<21; n += 1 + n/16 {
		var m bitio.Memory[byte]
		size := cap(m.Take(n))
		require.GreaterOrEqual(t, size, n)
		require.LessOrEqual(t, size, n+n/4)
		require.Equal(t, size, cap(m.Take(size)), "the capacity of a class belongs to this class")
	}
}

// Give adds a buffer to the pool only if its size is one that Take allocates.
func TestMemoryOfOthers(t *testing.T) {
	var m bitio.Memory[byte]
	m.Give(nil)
	m.Give(make([]byte, 5000))
	m.Give(make([]byte, 1<<25))
	require.Equal(t, 5<<10, cap(m.Take(5000)))
}

// After its memory was released, a column is empty.
func TestReleasedColumns(t *testing.T) {
	var bits bitio.BitWriter
	var bytes bitio.ByteWriter
	for range 3 {
		for i := range 20_000 {
			bits.Write(uint64(i), 15)
			bytes.Uvarint(uint64(i))
		}
		require.Equal(t, 37_500, bits.Len())
		require.Equal(t, 128+(16_384-128)*2+(20_000-16_384)*3, bytes.Len())
		require.Equal(t, []byte{0, 0, 0, 4}, bits.AppendTo(nil)[:4])
		bits.Release()
		bytes.Release()
		require.Zero(t, bits.Len())
		require.Zero(t, bytes.Len())
		require.Empty(t, bits.AppendTo(nil))
	}
}

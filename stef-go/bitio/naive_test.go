// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio_test

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive is a list of bits as a text of 0 and 1. Tests compare the results of the package with this
// simple implementation.
type naive string

func (s naive) add(v uint64, n int) naive {
	digits := strconv.FormatUint(v, 2)
	if v == 0 {
		digits = ""
	}
	return s + naive(strings.Repeat("0", n-len(digits))+digits)
}

func (s naive) take(n int) (v uint64, rest naive) {
	for _, c := range s[:n] {
		v = v<<1 | uint64(c-'0')
	}
	return v, s[n:]
}

// bytes returns the bits as bytes. It fills the last byte with zeros.
func (s naive) bytes() []byte {
	out := make([]byte, 0, len(s)/8+1)
	for s += naive(strings.Repeat("0", -len(s)&7)); s != ""; {
		var v uint64
		v, s = s.take(8)
		out = append(out, byte(v))
	}
	return out
}

// compact appends v as a compact number, by the table of the specification.
func (s naive) compact(v uint64) naive {
	for _, class := range []struct {
		prefix  naive
		payload int
	}{
		{"1", 0}, {"01", 2}, {"001", 5}, {"0001", 12}, {"00001", 19}, {"000001", 26}, {"0000001", 33}, {"00000001", 48},
	} {
		if v>>class.payload == 0 {
			return (s + class.prefix).add(v, class.payload)
		}
	}
	panic("a number over 48 bits")
}

func bitsOf(data []byte) naive {
	var s naive
	for _, b := range data {
		s = s.add(uint64(b), 8)
	}
	return s
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestNaive(t *testing.T) {
	require.Equal(t, naive("10100001"), naive("").add(5, 3).add(1, 5))
	require.Equal(t, []byte{0xa1, 0x80}, naive("101000011").bytes())
	require.Equal(t, naive("0010010001"), naive("").compact(4).compact(1)[:10])
	v, rest := naive("10111").take(3)
	require.Equal(t, uint64(5), v)
	require.Equal(t, naive("11"), rest)
}

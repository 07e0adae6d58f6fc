// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
)

// The following functions implement the specification step by step, without optimizations. Tests compare
// the codecs with them.

// bitText is a list of bits as a text of 0 and 1.
type bitText string

func (s bitText) add(v uint64, n int) bitText {
	digits := strconv.FormatUint(v, 2)
	if v == 0 {
		digits = ""
	}
	return s + bitText(strings.Repeat("0", n-len(digits))+digits)
}

// bytes returns the bits as bytes. It fills the last byte with zeros.
func (s bitText) bytes() []byte {
	s += bitText(strings.Repeat("0", -len(s)&7))
	out := []byte{}
	for i := 0; i < len(s); i += 8 {
		v, err := strconv.ParseUint(string(s[i:i+8]), 2, 8)
		if err != nil {
			panic(err)
		}
		out = append(out, byte(v))
	}
	return out
}

func naiveInts(values []uint64) []byte {
	out := []byte{}
	var last, delta uint64
	for _, v := range values {
		d := v - last
		out = binary.AppendVarint(out, int64(d-delta))
		last, delta = v, d
	}
	return out
}

func naiveFloats(values []float64) bitText {
	var s bitText
	last, lead, trail := uint64(0), 0, 0
	for _, v := range values {
		x := math.Float64bits(v) ^ last
		last = math.Float64bits(v)
		if x == 0 {
			s += "0"
			continue
		}
		l, t := min(bits.LeadingZeros64(x), 31), bits.TrailingZeros64(x)
		size := 64 - l - t
		if l >= lead && t >= trail && 53-lead-trail <= size {
			s = (s + "10").add(x>>trail, 64-lead-trail)
			continue
		}
		lead, trail = l, t
		s = (s+"11").add(uint64(l), 5).add(uint64(size-1), 6).add(x>>t, size)
	}
	return s
}

// naiveText returns the values encoded as a column of text or bytes without a dictionary.
func naiveText(values []string) []byte {
	out := []byte{}
	for _, v := range values {
		out = append(binary.AppendVarint(out, int64(len(v))), v...)
	}
	return out
}

// naiveDict returns the values encoded as a column of text or bytes with a dictionary. The dictionary
// already has entries, and naiveDict adds new ones.
func naiveDict(entries *[]string, values []string) []byte {
	out := []byte{}
next:
	for _, v := range values {
		for ref, e := range *entries {
			if e == v {
				out = binary.AppendVarint(out, int64(-ref-1))
				continue next
			}
		}
		out = append(binary.AppendVarint(out, int64(len(v))), v...)
		if len(v) >= 2 {
			*entries = append(*entries, v)
		}
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

type decoder interface {
	Attach(*bitio.Fault, int)
	Reset([]byte)
	Restart()
	Done() bool
}

// open makes a decoder read data. It returns the Fault in which the decoder records a failure.
func open(d decoder, data []byte) *bitio.Fault {
	fault := new(bitio.Fault)
	d.Attach(fault, 3)
	d.Reset(data)
	return fault
}

// requireEnd checks that a decoder has read all data, and that reading more values records
// FaultEnd.
func requireEnd(t *testing.T, d decoder, fault *bitio.Fault, more func()) {
	t.Helper()
	require.True(t, d.Done())
	require.Equal(t, bitio.FaultNone, fault.Code)
	for range 9 { // padding can contain values of one bit
		more()
	}
	require.Equal(t, bitio.Fault{Code: bitio.FaultEnd, Column: 3}, *fault)
}

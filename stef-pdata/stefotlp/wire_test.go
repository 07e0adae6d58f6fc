// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVarint(t *testing.T) {
	f := func(v uint64, want string) {
		t.Helper()
		b := appendVarint([]byte("x"), v)
		require.Equal(t, "x"+want, string(b))
		require.Equal(t, len(want), varintLen(v))
		for _, read := range []func([]byte, int) (uint64, int){varint, longVarint} {
			got, next := read(b, 1)
			require.Equal(t, v, got)
			require.Equal(t, len(b), next)
		}
		for cut := 1; cut < len(b); cut++ {
			_, next := longVarint(b[:cut], 1)
			require.Equal(t, -1, next)
		}
	}
	f(0, "\x00")
	f(1, "\x01")
	f(127, "\x7f")
	f(128, "\x80\x01")
	f(300, "\xac\x02")
	f(math.MaxUint32, "\xff\xff\xff\xff\x0f")
	f(math.MaxUint64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
}

func TestLongVarint(t *testing.T) {
	f := func(b string, want uint64, next int) {
		t.Helper()
		got, at := longVarint([]byte(b), 0)
		require.Equal(t, next, at)
		require.Equal(t, want, got)
	}
	f("\x81\x80\x00", 1, 3)
	f(strings.Repeat("\xff", 9)+"\x7f", math.MaxUint64, 10)
	f(strings.Repeat("\x80", 10)+"\x00", 0, -1)
	f("", 0, -1)
}

func TestZigzag(t *testing.T) {
	f := func(v int32, want uint64) {
		t.Helper()
		require.Equal(t, want, zigzag(int64(v)))
		require.Equal(t, v, zigzag32(want))
	}
	f(0, 0)
	f(-1, 1)
	f(1, 2)
	f(math.MaxInt32, math.MaxUint32-1)
	f(math.MinInt32, math.MaxUint32)
}

func TestFirmTag(t *testing.T) {
	f := func(b string, want uint64, next int) {
		t.Helper()
		tag, at := firmTag([]byte(b), 0)
		require.Equal(t, next, at)
		if next >= 0 {
			require.Equal(t, want, tag)
		}
	}
	f("\x0a", 10, 1)
	f("\x8a\x00", 10, 2)
	f("\x85\x01", 133, 2)
	f("\xff\xff\xff\xff\x0f", maxTag, 5)
	f("\x80\x80\x80\x80\x10", 0, -1) // over 32 bits
	f("\x02", 0, -1)                 // field 0
	f("\x8a", 0, -1)
}

func TestSkip(t *testing.T) {
	f := func(tag uint64, content string, want int) {
		t.Helper()
		require.Equal(t, want, skip([]byte(content), 0, tag))
	}
	const any = 40 << 3
	f(any|wireVarint, "\x80\x01rest", 2)
	f(any|wireVarint, "\x80", -1)
	f(any|wireFixed64, "12345678rest", 8)
	f(any|wireFixed64, "1234567", -1)
	f(any|wireFixed32, "1234rest", 4)
	f(any|wireFixed32, "123", -1)
	f(any|wireBytes, "\x03abcrest", 4)
	f(any|wireBytes, "\x03ab", -1)
	f(any|wireBytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1)
	f(any|wireEndGroup, "", -1)
	f(any|6, "12345678", -1)
	f(any|7, "12345678", -1)
	// Protobuf groups that are empty, contain fields and groups, end with another field number, or do
	// not end.
	group, open, end := uint64(1<<3|wireGroup), "\x0b", "\x0c"
	f(group, end+"rest", 1)
	f(group, "\x10\x05"+open+end+"\x1a\x01x"+end+"rest", 8)
	f(group, "\x14", -1)
	f(group, "\x10\x05", -1)
	f(group, "\x02"+end, -1)
	f(group, strings.Repeat(open, 99)+strings.Repeat(end, 100), 199)
	f(group, strings.Repeat(open, 100)+strings.Repeat(end, 101), -1)
}

func TestRooms(t *testing.T) {
	f := func(room, n int, want string) {
		t.Helper()
		dst, at := begin([]byte("x"), 0x0a, room)
		dst = append(dst, bytes.Repeat([]byte("y"), n)...)
		dst = end(dst, at, room)
		require.Equal(t, "x\x0a"+want+strings.Repeat("y", n), string(dst))
		from, to := bytesAt(dst, 2)
		require.Equal(t, []int{len(dst) - n, len(dst)}, []int{from, to})
	}
	f(roomPart, 0, "\x00")
	f(roomPart, 127, "\x7f")
	f(roomPart, 128, "\x80\x01")
	f(roomPart, 1<<21, "\x80\x80\x80\x01")
	f(roomItem, 5, "\x85\x00")
	f(roomItem, 1<<14-1, "\xff\x7f")
	f(roomItem, 1<<14, "\x80\x80\x01")
	f(roomContainer, 5, "\x85\x80\x80\x00")
}

func TestBackward(t *testing.T) {
	var w backward
	f := func(write func(), want string) {
		t.Helper()
		require.Equal(t, "x"+want, string(w.message([]byte("x"), 0x0a, write)))
	}
	f(func() {}, "\x0a\x00")
	f(func() {
		writeText(&w, tagString, "text")
		w.number(tagInt, 300)
		w.fixed64(tagDouble, 1)
		w.field(tagValue, 0)
	}, "\x0a\x14\x12\x12\x21\x01\x00\x00\x00\x00\x00\x00\x00\x18\xac\x02\x0a\x04text")
	long := strings.Repeat("long", maxKept)
	f(func() { writeText(&w, tagString, long) }, "\x0a\x85\x80\x80\x02\x0a\x80\x80\x80\x02"+long)
	require.Empty(t, w.buf, "a large buffer is not kept")
}

func TestTexts(t *testing.T) {
	var texts texts
	f := func(s string) {
		t.Helper()
		b := []byte(s)
		first := texts.text(b)
		second := texts.text(b)
		clear(b)
		require.Equal(t, s, first)
		require.Equal(t, s, second)
	}
	for n := range 3 * maxText / 2 {
		f(strings.Repeat("a", n))
		f(strings.Repeat("b", n))
	}
	b := []byte("a text")
	texts.text(b)
	require.Zero(t, testing.AllocsPerRun(10, func() { texts.text(b) }))
}

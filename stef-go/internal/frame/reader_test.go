// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

func TestFixedHeader(t *testing.T) {
	f := func(head string, compression stef.Compression) {
		t.Helper()
		r, err := frame.NewReader(bytes.NewReader(unhex(t, head+" 00 02 00 00")), stef.DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, compression, r.Compression())
		require.Zero(t, r.Frame())
		_, _, err = r.Next()
		require.Equal(t, io.EOF, err)
	}
	f(plainHead, stef.None)
	// A size whose varint is longer than necessary, and a larger size with additional bytes, which
	// are ignored.
	f("53544546 82 00 00 00", stef.None)
	f("53544546 82 80 80 80 80 80 80 80 80 00 00 00", stef.None)
	f("53544546 03 00 00 ff", stef.None)
	f("53544546 82 01 00 00"+strings.Repeat(" ff", 128), stef.None)
	// The high bits of the version and of the compression are ignored.
	f("53544546 02 f0 00", stef.None)
	f("53544546 02 00 fc", stef.None)
}

func TestFixedHeaderErrors(t *testing.T) {
	f := func(head string, kind error, text string) {
		t.Helper()
		_, err := frame.NewReader(bytes.NewReader(unhex(t, head)), stef.DefaultLimits())
		requireError(t, err, kind, 0, -1, text)
		require.ErrorContains(t, err, "stef: fixed header: ")
	}
	f("", stef.ErrCorrupt, "unexpected EOF")
	f("53 54 45", stef.ErrCorrupt, "unexpected EOF")
	f("53544547 02 00 00", stef.ErrCorrupt, `signature is "STEG"`)
	f("00000000 02 00 00", stef.ErrCorrupt, "signature")
	f("1f8b0800 02 00 00", stef.ErrCorrupt, `not "STEF": it is compressed with gzip, decompress it first`)
	f("28b52ffd 02 00 00", stef.ErrCorrupt, `not "STEF": it is compressed with zstd as a whole, decompress it first`)
	f("53544546", stef.ErrCorrupt, "unexpected EOF")
	f("53544546 82", stef.ErrCorrupt, "unexpected EOF")
	f("53544546 00 00 00", stef.ErrCorrupt, "the size field is 0, must be at least 2")
	f("53544546 01 00 00", stef.ErrCorrupt, "the size field is 1, must be at least 2")
	f("53544546 81 80 40 00 00", stef.ErrLimit, "the size field is 1048577, must be at most 1048576")
	f("53544546 ff ff ff ff ff ff ff ff ff 01 00 00", stef.ErrLimit, "at most 1048576")
	f("53544546 ff ff ff ff ff ff ff ff ff 02 00 00", stef.ErrCorrupt, "a number has more than 64 bits")
	f("53544546 80 80 80 80 80 80 80 80 80 80 00", stef.ErrCorrupt, "a number has more than 64 bits")
	f("53544546 02", stef.ErrCorrupt, "unexpected EOF")
	f("53544546 02 00", stef.ErrCorrupt, "unexpected EOF")
	f("53544546 02 01 00", stef.ErrVersion, "format version 1, this reader supports version 0")
	f("53544546 02 ff 00", stef.ErrVersion, "format version 15")
	f("53544546 02 00 02", stef.ErrVersion, "compression")
	f("53544546 02 00 03", stef.ErrVersion, "compression")
	f("53544546 04 00 00 ff", stef.ErrCorrupt, "unexpected EOF")
}

func TestHeaderLimit(t *testing.T) {
	limits := stef.DefaultLimits()
	limits.HeaderBytes = 10
	_, _, err := readAll(bytes.NewReader(unhex(t, "53544546 0b 00 00")), limits)
	requireError(t, err, stef.ErrLimit, 0, -1, "the size field is 11, must be at most 10")
	stream := join(unhex(t, plainHead), plainFrame(0, "\x00\x00"+strings.Repeat("x", 9)))
	_, _, err = readAll(bytes.NewReader(stream), limits)
	requireError(t, err, stef.ErrLimit, 7, 0, "the frame has 11 bytes, at most 10 are allowed (Limits.HeaderBytes of the reader, see stef.WithLimits)")
	stream = join(unhex(t, plainHead), plainFrame(0, "\x00\x00"+strings.Repeat("x", 8)), plainFrame(0, strings.Repeat("y", 11)))
	parts, _, err := readAll(bytes.NewReader(stream), limits)
	require.NoError(t, err, "the limit is for headers")
	require.Len(t, parts, 1)
}

func TestFrames(t *testing.T) {
	stream := join(unhex(t, plainHead), plainFrame(0, "\x00\x00"),
		plainFrame(0, "a"), plainFrame(7, "bc"), unhex(t, "05 82 00"), []byte("de"), plainFrame(2, strings.Repeat("f", 100_000)))
	parts, r, err := readAll(bytes.NewReader(stream), stef.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, []part{{0, "a"}, {7, "bc"}, {5, "de"}, {2, strings.Repeat("f", 100_000)}}, parts)
	require.Equal(t, int64(len(stream)), r.Offset())
	require.Equal(t, 4, r.Frame())
	_, _, err = r.Next()
	require.Equal(t, io.EOF, err)
}

func TestFrameErrors(t *testing.T) {
	f := func(frames string, kind error, offset int64, text string) {
		t.Helper()
		b := unhex(t, plainHead+"00 02 00 00 00 03 616263"+frames)
		parts, err := read(b)
		requireError(t, err, kind, offset, 2, text)
		require.Equal(t, []part{{0, "abc"}}, parts)
		require.ErrorContains(t, err, fmt.Sprintf("stef: frame 2 at offset %d: ", offset))
	}
	const at = 7 + 4 + 5
	for bit := 3; bit < 8; bit++ {
		f(fmt.Sprintf("%02x 01 61", 1<<bit), stef.ErrCorrupt, at, fmt.Sprintf("frame flags %#02x", 1<<bit))
	}
	f("53 54 45 46", stef.ErrCorrupt, at, "frame flags 0x53: a second stream may begin here, but a file holds one stream")
	f("00", stef.ErrCorrupt, at, "unexpected EOF")
	f("00 80", stef.ErrCorrupt, at, "unexpected EOF")
	f("00 00", stef.ErrCorrupt, at, "the frame has no content")
	f("00 02 61", stef.ErrCorrupt, at, "unexpected EOF")
	f("00 81 80 80 20", stef.ErrLimit, at, "the frame has 67108865 bytes, at most 67108864")
	f("00 ff ff ff ff ff ff ff ff ff 01", stef.ErrLimit, at, "at most 67108864")
	f("00 ff ff ff ff ff ff ff ff ff 02", stef.ErrCorrupt, at, "a number has more than 64 bits")
}

func TestVarHeaderFrameErrors(t *testing.T) {
	f := func(frames string, kind error, text string) {
		t.Helper()
		_, err := read(unhex(t, plainHead+frames))
		requireError(t, err, kind, 7, 0, text)
		require.ErrorContains(t, err, "stef: variable header at offset 7: ")
	}
	f("", stef.ErrCorrupt, "unexpected EOF")
	f("08 02 00 00", stef.ErrCorrupt, "unknown bits in the frame flags 0x08")
	f("00 00", stef.ErrCorrupt, "the frame has no content")
	f("00 02 00", stef.ErrCorrupt, "unexpected EOF")
	f("00 81 80 40", stef.ErrLimit, "the frame has 1048577 bytes, at most 1048576")
	f("00 01 00", stef.ErrCorrupt, "the number of user data pairs is cut off")
	// Flags of the variable header are ignored.
	_, err := read(unhex(t, plainHead+"07 02 00 00"))
	require.NoError(t, err)
}

// TestCutAtEveryOffset: a stream may end before a frame. An end at any other offset
// is an error, after the reader has returned the complete frames.
func TestCutAtEveryOffset(t *testing.T) {
	c := newCoder(t)
	for _, parts := range [][][]byte{
		{unhex(t, plainHead), plainFrame(0, "\x00\x00"), plainFrame(0, "first"), plainFrame(1, "second"), plainFrame(0, "third")},
		{unhex(t, zstdHead), c.flushed(0, "\x00\x00"), c.flushed(0, "first"), c.flushed(2, "second"), c.flushed(0, "third")},
		{unhex(t, zstdHead), c.complete(0, "\x00\x00"), c.complete(2, "first"), c.complete(2, "second"), c.complete(2, "third")},
	} {
		whole := join(parts...)
		ends := map[int]int{} // offset at which a stream may end -> number of data frames before it
		size := 0
		for i, p := range parts {
			if size += len(p); i > 0 {
				ends[size] = i - 1
			}
		}
		for n := range len(whole) + 1 {
			got, err := read(whole[:n])
			if frames, ok := ends[n]; ok {
				require.NoError(t, err, "%d bytes", n)
				require.Len(t, got, frames)
				continue
			}
			require.ErrorIs(t, err, stef.ErrCorrupt, "%d bytes", n)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
		}
	}
}

func TestSources(t *testing.T) {
	c := newCoder(t)
	long := strings.Repeat("0123456789", 3000)
	for _, stream := range [][]byte{
		join(unhex(t, plainHead), plainFrame(0, "\x00\x00"), plainFrame(0, "a"), plainFrame(0, long)),
		join(unhex(t, zstdHead), c.flushed(0, "\x00\x00"), c.flushed(0, "a"), c.flushed(0, long)),
	} {
		want := []part{{0, "a"}, {0, long}}
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"one byte":   iotest.OneByteReader,
			"half":       iotest.HalfReader,
			"data error": iotest.DataErrReader,
			"both":       func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
		} {
			got, _, err := readAll(wrap(bytes.NewReader(stream)), stef.DefaultLimits())
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
	}
}

var errBroken = errors.New("the line is broken")

// brokenSource returns some bytes, an error once, and then the end.
type brokenSource struct {
	data io.Reader
	told bool
}

func (s *brokenSource) Read(b []byte) (int, error) {
	n, err := s.data.Read(b)
	if err == io.EOF && !s.told {
		s.told = true
		err = errBroken
	}
	return n, err
}

// TestBrokenSource: if the source fails at any offset, the reader returns its error. If the source then
// returns io.EOF, the reader must not report a clean end of the stream.
func TestBrokenSource(t *testing.T) {
	c := newCoder(t)
	for _, stream := range [][]byte{
		join(unhex(t, plainHead), plainFrame(0, "\x00\x00"), plainFrame(0, "first"), plainFrame(1, "second")),
		join(unhex(t, zstdHead), c.flushed(0, "\x00\x00"), c.flushed(0, "first"), c.flushed(2, "second")),
	} {
		for n := range len(stream) + 1 {
			_, _, err := readAll(&brokenSource{data: bytes.NewReader(stream[:n])}, stef.DefaultLimits())
			require.ErrorIs(t, err, errBroken, "%d bytes", n)
			require.NotErrorIs(t, err, stef.ErrCorrupt)
			var at *stef.FormatError
			require.ErrorAs(t, err, &at)
		}
	}
}

// TestClaimedSizes: the reader allocates memory when bytes arrive, not for the size that a frame
// announces.
func TestClaimedSizes(t *testing.T) {
	const most = 20 << 20
	f := func(stream []byte) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(stream)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, stef.ErrCorrupt)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most))
	}
	f(unhex(t, plainHead+"00 80 80 40 00"))
	f(unhex(t, plainHead+"00 02 00 00 00 80 80 80 20 61"))
	c := newCoder(t)
	f(join(unhex(t, zstdHead), c.flushed(0, "\x00\x00"), unhex(t, "00 80 80 80 20 80 80 80 20 61")))
	// A frame announces 64 MiB, but the zstd data has one byte.
	short := c.flushed(0, "x")
	f(join(unhex(t, zstdHead), c.complete(0, "\x00\x00"), codedFrame(2, 64<<20, short[3:])))
}

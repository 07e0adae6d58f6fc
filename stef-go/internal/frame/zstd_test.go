// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
)

// TestReferenceStream reads two streams of the reference implementation. In the first
// stream, a single zstd frame begins in the variable header and never ends. In the
// second stream, the last frame restarts the compression and begins a second zstd
// frame.
func TestReferenceStream(t *testing.T) {
	f := func(second string) {
		t.Helper()
		parts, err := read(unhex(t, zstdHead+
			"00 02 0b 28b52ffd 04 68 100000 0000"+
			"00 0e 11 700000 01 03 69 3f f0 01 00 0c 68 65 6c 6c 6f 30"+second))
		require.NoError(t, err)
		require.Len(t, parts, 2)
		require.Equal(t, unhex(t, "01 03 69 3f f0 01 00 0c 68 65 6c 6c 6f 30"), []byte(parts[0].content))
		require.Equal(t, unhex(t, "01 03 69 3a fe 03 00 0c 68 65 6c 6c 6f 31 02"), []byte(parts[1].content))
	}
	f("00 0f 12 780000 01 03 69 3a fe 03 00 0c 68 65 6c 6c 6f 31 02")
	f("02 0f 18 28b52ffd 04 68 780000 01 03 69 3a fe 03 00 0c 68 65 6c 6c 6f 31 02")
}

// texts returns the contents of n frames. Each content repeats the earlier contents, so it
// compresses well only if the decoder still has the earlier contents.
func texts(n, size int) []string {
	rnd := rand.New(rand.NewPCG(7, 7))
	words := make([]string, 200)
	for i := range words {
		b := make([]byte, 12)
		for j := range b {
			b[j] = byte(rnd.IntN(256))
		}
		words[i] = string(b)
	}
	out := make([]string, n)
	for i := range out {
		var s strings.Builder
		for s.Len() < size {
			s.WriteString(words[rnd.IntN(len(words))])
		}
		out[i] = s.String()[:size]
	}
	return out
}

func TestZstdAcrossFrames(t *testing.T) {
	contents := texts(20, 1<<10)
	for name, write := range map[string]func(c *coder, i int, content string) []byte{
		"flushed":               func(c *coder, _ int, s string) []byte { return c.flushed(0, s) },
		"restarted always":      func(c *coder, _ int, s string) []byte { return c.flushed(2, s) },
		"restarted sometimes":   func(c *coder, i int, s string) []byte { return c.flushed(byte(i%3/2*2), s) },
		"complete and flagged":  func(c *coder, _ int, s string) []byte { return c.complete(2, s) },
		"complete and not said": func(c *coder, _ int, s string) []byte { return c.complete(0, s) },
		"complete, then flushed": func(c *coder, i int, s string) []byte {
			if i < 6 {
				return c.complete(0, s)
			}
			return c.flushed(byte(i/6%2*2), s)
		},
		"with flags beside":       func(c *coder, _ int, s string) []byte { return c.flushed(7, s) },
		"other flags, no restart": func(c *coder, _ int, s string) []byte { return c.flushed(5, s) },
	} {
		for _, checksum := range []bool{false, true} {
			c := newCoder(t, zstd.WithEncoderCRC(checksum))
			var head []byte
			if strings.HasPrefix(name, "complete") {
				head = c.complete(0, "\x00\x00")
			} else {
				head = c.flushed(0, "\x00\x00")
			}
			stream := append(unhex(t, zstdHead), head...)
			for i, s := range contents {
				stream = append(stream, write(c, i, s)...)
			}
			parts, err := read(stream)
			require.NoError(t, err, name)
			require.Len(t, parts, len(contents), name)
			for i, p := range parts {
				require.Equal(t, contents[i], p.content, name)
			}
		}
	}
}

// TestZstdNextFrameWithoutRestart: a zstd frame may end at the end of a STEF frame. Then the next STEF
// frame begins a new zstd frame, and need not have the flag RestartCompression.
func TestZstdNextFrameWithoutRestart(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		for _, first := range []func(c *coder, flags byte, s string) []byte{(*coder).complete, (*coder).flushedAndComplete} {
			c := newCoder(t, zstd.WithEncoderCRC(checksum))
			parts, err := read(join(unhex(t, zstdHead), c.complete(0, "\x00\x00"), first(c, 2, "first"), first(c, 0, "second"), first(c, 2, "third"), first(c, 0, "fourth")))
			require.NoError(t, err, "checksum %t", checksum)
			require.Equal(t, []part{{2, "first"}, {0, "second"}, {2, "third"}, {0, "fourth"}}, parts)
		}
	}
}

// TestZstdSkippable: skippable zstd frames of any size are allowed wherever a zstd frame may begin. This
// includes the end of a STEF frame, where they can be larger than the content of the frame.
func TestZstdSkippable(t *testing.T) {
	skip := func(size int) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{0x5a, 0x2a, 0x4d, 0x18}, uint32(size)), make([]byte, size)...)
	}
	for _, checksum := range []bool{false, true} {
		c := newCoder(t, zstd.WithEncoderCRC(checksum))
		for _, sizes := range [][]int{{0}, {8}, {9}, {30}, {0, 0, 0}, {5000, 1, 0}} {
			var frames []byte
			for _, n := range sizes {
				frames = append(frames, skip(n)...)
			}
			with := func(whole []byte, size int, before, after []byte) []byte {
				flags, coded := whole[0], whole[len(codedFrame(0, size, nil)):]
				return codedFrame(flags, size, join(before, coded, after))
			}
			stream := join(unhex(t, zstdHead), with(c.complete(0, "\x00\x00"), 2, frames, frames))
			want := []part{{0, "first"}, {0, "second"}, {2, "third"}, {2, "fourth"}}
			for i, p := range want {
				whole := c.complete(byte(p.flags), p.content)
				if i%2 == 1 {
					whole = c.flushedAndComplete(byte(p.flags), p.content)
				}
				stream = append(stream, with(whole, len(p.content), nil, frames)...)
			}
			parts, err := read(stream)
			require.NoError(t, err, "checksum %t, sizes %v", checksum, sizes)
			require.Equal(t, want, parts)

			stream[len(stream)-1-sizes[len(sizes)-1]]++ // the last skippable frame is longer than the rest
			if sizes[0] > 8 {
				_, err = read(stream)
				require.ErrorIs(t, err, stef.ErrCorrupt)
			}
		}
	}
}

// TestZstdHistory: a frame that continues a zstd stream cannot be decoded without the frames before it.
func TestZstdHistory(t *testing.T) {
	c := newCoder(t)
	contents := texts(2, 4<<10)
	stream := join(unhex(t, zstdHead), c.flushed(0, "\x00\x00"), c.flushed(0, contents[0]), c.flushed(0, contents[0]))
	parts, err := read(stream)
	require.NoError(t, err)
	require.Equal(t, contents[0], parts[1].content)
	require.Less(t, len(stream), 3<<10+len(contents[0]), "the second time costs next to nothing")

	// Without the flag RestartCompression, a missing frame in the middle is an error.
	c = newCoder(t)
	head, first, second := c.flushed(0, "\x00\x00"), c.flushed(0, contents[0]), c.flushed(0, contents[0])
	_, err = read(join(unhex(t, zstdHead), head, second))
	require.ErrorIs(t, err, stef.ErrCorrupt)
	_ = first
}

func TestZstdErrors(t *testing.T) {
	c := newCoder(t)
	head := join(unhex(t, zstdHead), c.complete(0, "\x00\x00"))
	at := int64(len(head))
	f := func(kind error, frame int, offset int64, text string, frames ...[]byte) {
		t.Helper()
		_, err := read(join(head, join(frames...)))
		requireError(t, err, kind, offset, frame, text)
	}
	coded := func(content string) []byte {
		b := c.complete(0, content)
		return b[len(codedFrame(0, len(content), nil)):]
	}
	hello := coded("hello, hello, hello")

	f(stef.ErrCorrupt, 1, at, "zstd failed after 0 of 5 bytes", codedFrame(2, 5, []byte("nozstd")))
	f(stef.ErrCorrupt, 1, at, "zstd failed after 0 of 5 bytes", codedFrame(2, 5, nil))
	f(stef.ErrCorrupt, 1, at, "zstd failed after 19 of 20 bytes", codedFrame(2, 20, hello))
	f(stef.ErrCorrupt, 1, at, "compressed bytes follow the content of the frame", codedFrame(2, 19, append(bytes.Clone(hello), make([]byte, 40)...)))
	f(stef.ErrCorrupt, 1, at, "compressed bytes follow the content of the frame", codedFrame(2, 19, append(bytes.Clone(hello), hello...)))
	f(stef.ErrLimit, 1, at, "the frame has 67108865 bytes", unhex(t, "02 01 81 80 80 20"))
	f(stef.ErrCorrupt, 1, at, "the frame has no content", unhex(t, "02 00 00"))

	// A STEF frame decompresses to more bytes than its size says. If its zstd data ends with a
	// checksum, the reader decompresses all data and returns the error immediately. Without a checksum,
	// it returns the error only at the next frame or at the end of the stream.
	const more = "frame 1 decompresses to more bytes than its size says"
	surplus := codedFrame(2, 18, hello)
	f(stef.ErrCorrupt, 1, at, more, surplus)
	plain := newCoder(t, zstd.WithEncoderCRC(false))
	surplus = plain.complete(2, "hello, hello, hello")
	surplus[1]--
	second := at + int64(len(surplus))
	f(stef.ErrCorrupt, 1, second, more, surplus)
	for _, flags := range []byte{0, 2} {
		f(stef.ErrCorrupt, 2, second, more, surplus, plain.complete(flags, "x"))
	}
	flushed := newCoder(t)
	long := flushed.flushed(2, "0123456789")
	long[1] = 9
	f(stef.ErrCorrupt, 2, at+int64(len(long)), more, long, flushed.flushed(0, "abc"))

	sum := newCoder(t, zstd.WithEncoderCRC(true))
	wrong := sum.complete(2, "hello")
	wrong[len(wrong)-1] ^= 1
	f(stef.ErrCorrupt, 1, at, "CRC check failed", wrong)
	wrong = sum.flushedAndComplete(2, "hello")
	wrong[len(wrong)-1] ^= 1
	f(stef.ErrCorrupt, 1, at, "CRC check failed", wrong)
	f(stef.ErrCorrupt, 1, at, "CRC check failed", wrong, sum.complete(2, "x"))
}

func TestZstdHeaderErrors(t *testing.T) {
	f := func(kind error, text string, frame []byte) {
		t.Helper()
		_, err := read(join(unhex(t, zstdHead), frame))
		requireError(t, err, kind, 7, 0, text)
	}
	c := newCoder(t)
	f(stef.ErrCorrupt, "zstd failed after 0 of 2 bytes", codedFrame(0, 2, []byte{0, 0}))
	f(stef.ErrCorrupt, "unexpected EOF", unhex(t, "00 02"))
	f(stef.ErrCorrupt, "follow the content of the frame", codedFrame(0, 2, append(c.complete(0, "\x00\x00")[3:], make([]byte, 40)...)))
	f(stef.ErrLimit, "the frame has 1048577 bytes", unhex(t, "00 81 80 40 02 00 00"))
}

func TestZstdWindow(t *testing.T) {
	content := texts(1, 100<<10)[0]
	limits := stef.DefaultLimits()
	limits.WindowBytes = 64 << 10
	f := func(window int, kind error) {
		t.Helper()
		c := newCoder(t, zstd.WithWindowSize(window))
		stream := join(unhex(t, zstdHead), newCoder(t, zstd.WithWindowSize(1<<10)).complete(0, "\x00\x00"), c.flushed(2, content))
		parts, _, err := readAll(bytes.NewReader(stream), limits)
		if kind == nil {
			require.NoError(t, err)
			require.Equal(t, content, parts[0].content)
			return
		}
		requireError(t, err, kind, 7+int64(len(stream)-7-len(c.flushed(2, content))), 1, "window size")
	}
	f(64<<10, nil)
	f(128<<10, stef.ErrLimit)
}

// TestZstdLargestWindow: a reader accepts every window up to Limits.WindowBytes, even if the window is
// larger than a frame can be.
func TestZstdLargestWindow(t *testing.T) {
	const window = 256 << 20
	limits := stef.DefaultLimits()
	limits.WindowBytes = window
	// A zstd frame with this window and a raw block of three bytes.
	coded := append(unhex(t, "28b52ffd 00 90 190000"), "abc"...)
	stream := join(unhex(t, zstdHead), newCoder(t).complete(0, "\x00\x00"), codedFrame(2, 3, coded))
	parts, _, err := readAll(bytes.NewReader(stream), limits)
	require.NoError(t, err)
	require.Equal(t, "abc", parts[0].content)

	limits.WindowBytes = window - 1
	_, _, err = readAll(bytes.NewReader(stream), limits)
	require.ErrorIs(t, err, stef.ErrLimit)
}

// TestZstdLongStream: the limits apply to each frame, not to the sum of all frames.
func TestZstdLongStream(t *testing.T) {
	const frames, size = 40, 4 << 20
	c := newCoder(t, zstd.WithEncoderLevel(zstd.SpeedFastest))
	stream := join(unhex(t, zstdHead), c.flushed(0, "\x00\x00"))
	content := strings.Repeat("x", size)
	for range frames {
		stream = append(stream, c.flushed(0, content)...)
	}
	parts, err := read(stream)
	require.NoError(t, err)
	require.Len(t, parts, frames)
}

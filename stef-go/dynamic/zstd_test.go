// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// zstdCase has the parts of an uncompressed stream. Tests compress the parts in valid and invalid ways
// that a Writer does not use, and join them to a stream.
type zstdCase struct {
	root     *schema.Struct
	recs     []*dynamic.Struct
	contents [][]byte
}

func newZstdCase(t *testing.T) zstdCase {
	root, recs, stream := someStream(t)
	c := zstdCase{root: root, recs: recs}
	list := frames(t, root, stream)
	c.contents = append(c.contents, stream[9:list[0].Offset])
	for _, f := range list {
		c.contents = append(c.contents, stream[f.Offset+2:][:f.UncompressedSize])
	}
	return c
}

// build joins frames. compress returns the flags, the announced size and the compressed
// content of frame i.
func (c zstdCase) build(compress func(i int, content []byte) (dynamic.FrameFlags, int, []byte)) []byte {
	stream := []byte("STEF\x02\x00\x01")
	for i, content := range c.contents {
		flags, size, data := compress(i, content)
		stream = append(stream, byte(flags))
		stream = binary.AppendUvarint(stream, uint64(size))
		stream = binary.AppendUvarint(stream, uint64(len(data)))
		stream = append(stream, data...)
	}
	return stream
}

func encoder(t *testing.T, opts ...zstd.EOption) *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, append(opts, zstd.WithEncoderConcurrency(1))...)
	require.NoError(t, err)
	return enc
}

// TestZstdWholeFrames reads one complete zstd frame per STEF frame, with and without
// the flag RestartCompression.
func TestZstdWholeFrames(t *testing.T) {
	c := newZstdCase(t)
	enc := encoder(t)
	for _, flags := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
		stream := c.build(func(_ int, content []byte) (dynamic.FrameFlags, int, []byte) {
			return flags, len(content), enc.EncodeAll(content, nil)
		})
		requireRecords(t, c.root, c.recs, read(t, c.root, stream))
	}
}

// TestZstdEndedFrames reads zstd frames that are flushed and then ended: an empty block
// and a checksum follow the last content byte.
func TestZstdEndedFrames(t *testing.T) {
	c := newZstdCase(t)
	for _, flags := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
		stream := c.build(func(_ int, content []byte) (dynamic.FrameFlags, int, []byte) {
			var out bytes.Buffer
			enc := encoder(t)
			enc.Reset(&out)
			_, err := enc.Write(content)
			require.NoError(t, err)
			require.NoError(t, enc.Flush())
			require.NoError(t, enc.Close())
			return flags, len(content), out.Bytes()
		})
		requireRecords(t, c.root, c.recs, read(t, c.root, stream))
	}
}

// TestZstdSkippable reads skippable frames of any size before and after a zstd frame. If the last
// of them is cut off, the stream is corrupt.
func TestZstdSkippable(t *testing.T) {
	c := newZstdCase(t)
	enc := encoder(t)
	skip := func(size int) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{0x5f, 0x2a, 0x4d, 0x18}, uint32(size)), make([]byte, size)...)
	}
	many := append(append(skip(5000), skip(0)...), skip(3000)...)
	for _, flags := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
		for _, after := range [][]byte{skip(0), skip(30), skip(2000), many, many[:len(many)-1]} {
			stream := c.build(func(i int, content []byte) (dynamic.FrameFlags, int, []byte) {
				return flags, len(content), append(enc.EncodeAll(content, skip(i)), after...)
			})
			if len(after) != len(many)-1 {
				requireRecords(t, c.root, c.recs, read(t, c.root, stream))
				continue
			}
			_, err := dynamic.NewReader(bytes.NewReader(stream), c.root)
			require.ErrorIs(t, err, dynamic.ErrCorrupt)
		}
	}
}

func TestZstdSizes(t *testing.T) {
	c := newZstdCase(t)
	enc := encoder(t)
	for _, flags := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
		for change := -3; change <= 3; change++ {
			for _, last := range []bool{false, true} {
				stream := c.build(func(i int, content []byte) (dynamic.FrameFlags, int, []byte) {
					size := len(content)
					if i == 2 && !last || i == len(c.contents)-1 && last {
						size += change
					}
					// The size is too small for the content. The reader must detect the bytes that
					// follow, although no record needs them.
					if size < len(content) {
						content = append(content[:size:size], "more"...)
					}
					return flags, size, enc.EncodeAll(content, nil)
				})
				r, err := dynamic.NewReader(bytes.NewReader(stream), c.root)
				require.NoError(t, err)
				for r.Next() {
				}
				if change == 0 {
					require.NoError(t, r.Err())
				} else {
					require.ErrorIs(t, r.Err(), dynamic.ErrCorrupt, "change %d, last %t", change, last)
				}
			}
		}
	}
}

// TestZstdMore adds data to a zstd frame whose content is already complete.
func TestZstdMore(t *testing.T) {
	c := newZstdCase(t)
	enc := encoder(t)
	for _, at := range []int{0, 2, len(c.contents) - 1} {
		for _, flags := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
			stream := c.build(func(i int, content []byte) (dynamic.FrameFlags, int, []byte) {
				more := content
				if i == at {
					more = append(content[:len(content):len(content)], 0)
				}
				return flags, len(content), enc.EncodeAll(more, nil)
			})
			r, err := dynamic.NewReader(bytes.NewReader(stream), c.root)
			require.NoError(t, err)
			for r.Next() {
			}
			require.ErrorIs(t, r.Err(), dynamic.ErrCorrupt, "at %d, flags %d", at, flags)
			require.EqualValues(t, min(at, len(c.recs)), r.Records())
		}
	}
}

func TestZstdBad(t *testing.T) {
	c := newZstdCase(t)
	enc := encoder(t)
	f := func(kind error, records int, compress func(i int, content, data []byte) []byte) {
		t.Helper()
		stream := c.build(func(i int, content []byte) (dynamic.FrameFlags, int, []byte) {
			return dynamic.RestartCompression, len(content), compress(i, content, enc.EncodeAll(content, nil))
		})
		r, err := dynamic.NewReader(bytes.NewReader(stream), c.root)
		require.NoError(t, err)
		for r.Next() {
		}
		require.ErrorIs(t, r.Err(), kind)
		requireTyped(t, r.Err())
		require.EqualValues(t, records, r.Records())
	}
	at := func(n int, change func(content, data []byte) []byte) func(int, []byte, []byte) []byte {
		return func(i int, content, data []byte) []byte {
			if i == n {
				return change(content, data)
			}
			return data
		}
	}
	// The content of the frame is not compressed or missing, or its checksum is wrong.
	f(dynamic.ErrCorrupt, 1, at(2, func(content, _ []byte) []byte { return content }))
	f(dynamic.ErrCorrupt, 1, at(2, func(_, _ []byte) []byte { return nil }))
	f(dynamic.ErrCorrupt, 1, at(2, func(_, data []byte) []byte {
		data[len(data)-1] ^= 1
		return data
	}))
	// Bytes follow the zstd data of the frame. If they are few, the reader finds them only in the
	// next frame, as invalid zstd data. If they are many, it finds them immediately.
	f(dynamic.ErrCorrupt, 2, at(2, func(_, data []byte) []byte { return append(data, "junk"...) }))
	f(dynamic.ErrCorrupt, 1, at(2, func(_, data []byte) []byte { return append(data, make([]byte, 5000)...) }))
	// The frame needs a window of 16 MiB.
	f(dynamic.ErrLimit, 1, at(2, func(content, _ []byte) []byte {
		var out bytes.Buffer
		enc := encoder(t, zstd.WithWindowSize(16<<20))
		enc.Reset(&out)
		_, err := enc.Write(content)
		require.NoError(t, err)
		require.NoError(t, enc.Flush())
		return out.Bytes()
	}))
}

// Writers with checksums flush the zstd data of a frame and then end it with a checksum.
// TestZstdChecksumBeforeRecords changes the checksum of such a frame: the reader must return no record of
// the frame. With the right checksum, the reader must return the records and continue.
func TestZstdChecksumBeforeRecords(t *testing.T) {
	c := newZstdCase(t)
	f := func(bad int, later dynamic.FrameFlags) *dynamic.Reader {
		t.Helper()
		stream := c.build(func(i int, content []byte) (dynamic.FrameFlags, int, []byte) {
			var out bytes.Buffer
			enc := encoder(t, zstd.WithEncoderCRC(true))
			enc.Reset(&out)
			_, err := enc.Write(content)
			require.NoError(t, err)
			require.NoError(t, enc.Flush())
			require.NoError(t, enc.Close())
			data := out.Bytes()
			flags := dynamic.RestartCompression
			if i == bad {
				data[len(data)-1] ^= 1
			} else if i > 1 {
				flags = later
			}
			return flags, len(content), data
		})
		r, err := dynamic.NewReader(bytes.NewReader(stream), c.root)
		require.NoError(t, err)
		for r.Next() {
		}
		return r
	}
	for bad := 1; bad < len(c.contents); bad++ {
		r := f(bad, dynamic.RestartCompression)
		require.ErrorIs(t, r.Err(), dynamic.ErrCorrupt)
		require.ErrorContains(t, r.Err(), "CRC check failed")
		require.EqualValues(t, bad-1, r.Records(), "frame %d", bad)
	}
	for _, later := range []dynamic.FrameFlags{0, dynamic.RestartCompression} {
		r := f(-1, later)
		require.NoError(t, r.Err())
		require.EqualValues(t, len(c.recs), r.Records())
	}
}

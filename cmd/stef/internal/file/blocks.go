// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// blocks follows the blocks of a compressed file. If the file has no end, blocks tells whether the
// file ends after a whole block or inside a block. A writer that flushed before it was killed leaves
// whole blocks. The content of an incomplete block is lost.
type blocks struct {
	zstd zstdBlocks
	tail []byte // the last bytes, at most 4
}

// flushed are the last bytes of a flush of gzip: an empty stored block.
var flushed = []byte{0, 0, 0xff, 0xff}

func (b *blocks) add(p []byte) {
	b.zstd.add(p)
	b.tail = append(b.tail, p[max(0, len(p)-len(flushed)):]...)
	b.tail = b.tail[max(0, len(b.tail)-len(flushed)):]
}

// whole reports whether the bytes so far end after a block that is not the last of its frame.
func (b *blocks) whole(packed string) bool {
	if packed == "gzip" {
		return bytes.Equal(b.tail, flushed)
	}
	return b.zstd.begun && b.zstd.skip == 0 && len(b.zstd.head) == 0
}

// zstdBlocks follows the headers of frames and blocks of zstd.
type zstdBlocks struct {
	head      []byte // incomplete header of a frame or a block
	skip      int64  // bytes until the next header
	inFrame   bool   // whether the next header is the header of a block
	begun     bool   // whether the frame has a block
	checksums bool
	failed    bool  // the bytes are not zstd
	beyond    int64 // number of bytes after head, if failed is set
}

func (z *zstdBlocks) add(p []byte) {
	for len(p) > 0 && !z.failed {
		if z.skip > 0 {
			n := min(z.skip, int64(len(p)))
			z.skip, p = z.skip-n, p[n:]
			continue
		}
		z.head, p = append(z.head, p[0]), p[1:]
		if z.inFrame {
			z.block()
		} else {
			z.frame()
		}
	}
	z.beyond += int64(len(p))
}

// trailing returns how many bytes follow the last frame without the beginning of another frame. The file must
// have been read to its end.
func (z *zstdBlocks) trailing() int64 {
	if z.inFrame || z.skip > 0 || len(z.head) == 0 || beginsFrame(z.head[:min(4, len(z.head))]) {
		return 0
	}
	return int64(len(z.head)) + z.beyond
}

// beginsFrame reports whether b, which has at most 4 bytes, is the beginning of a frame of zstd or of a
// skippable frame.
func beginsFrame(b []byte) bool {
	if bytes.HasPrefix(zstdMagic, b) {
		return true
	}
	return len(b) > 0 && b[0]&0xf0 == 0x50 && bytes.HasPrefix([]byte{0x2a, 0x4d, 0x18}, b[1:])
}

func (z *zstdBlocks) frame() {
	var h zstd.Header
	if err := h.Decode(z.head); err != nil {
		z.failed = !errors.Is(err, io.ErrUnexpectedEOF)
		return
	}
	z.head = z.head[:0]
	if h.Skippable {
		z.skip = int64(h.SkippableSize)
		return
	}
	z.inFrame, z.checksums = true, h.HasCheckSum
}

func (z *zstdBlocks) block() {
	if len(z.head) < 3 {
		return
	}
	const rle = 1 // the data of such a block is one byte
	z.begun = true
	h := uint32(z.head[0]) | uint32(z.head[1])<<8 | uint32(z.head[2])<<16
	z.head, z.skip = z.head[:0], int64(h>>3)
	if h>>1&3 == rle {
		z.skip = 1
	}
	if h&1 == 0 {
		return
	}
	z.inFrame, z.begun = false, false
	if z.checksums {
		z.skip += 4
	}
}

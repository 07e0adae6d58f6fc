// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/column"
	"github.com/otelstef/stef/stef-go/internal/config"
)

// headRoom is the maximum size of a frame header: flags and two sizes below 2^28.
const headRoom = 1 + 4 + 4

// blockColumn is the minimum size of a column that has zstd blocks of its own, in frames of
// blockFrame or more. The literals of a large column then have their own entropy tables, which take
// time to build. The literals of one column of texts resemble those of another. So at LevelFastest,
// a column of texts has blocks of its own only in two cases: it has blockText bytes or more in a
// frame of blockTextFrame or more, or it has half of the bytes of the frame. This makes steady
// streams of logs up to 0.5 % larger, and their encoding 1 to 10 % faster.
const (
	blockColumn    = 3 << 10
	blockFrame     = 8 << 10
	blockText      = 6 << 10
	blockTextFrame = 16 << 10
)

// A large column that zstd compresses to sharedBytes or less has few literals, so its
// own entropy tables save nothing. It shares blocks with its neighbours for the next
// sharedFrames frames, which saves the time of up to two blocks per frame. After these
// frames the column gets its own blocks once, to measure its size again.
const (
	sharedBytes  = 192
	sharedFrames = 7
)

// sharedColumn is a column that shares blocks with its neighbours for some more frames.
type sharedColumn struct {
	column.Writer
	frames int
}

// Writer writes the headers and frames of one stream, each with one call of dst.Write.
type Writer struct {
	dst         io.Writer
	compression stef.Compression
	setting     encoderSetting
	largest     int            // maximum of a window that adapt chooses; 0: the window is fixed
	auto, large bool           // whether the level is LevelAuto, and whether a large frame was written
	zstd        *zstd.Encoder  // nil until the first frame with data
	out         []byte         // headRoom bytes for the head, then the frame being built
	column      []byte         // a column before compression
	head        []byte         // the headers, the same for each stream
	shared      []sharedColumn // large columns that share blocks
	literals    literals
}

// NewWriter writes the fixed header and the variable header.
func NewWriter(dst io.Writer, c *config.Writer, header *VarHeader) (*Writer, error) {
	w := &Writer{compression: stef.Compression(c.Compression), setting: encoderSetting{level: stef.Level(c.Level), window: c.WindowBytes, dict: c.ZstdDict, crc: c.Checksums}}
	w.auto = w.setting.level == stef.LevelAuto
	if c.WindowLimit > 0 {
		w.largest = w.setting.window
	}
	content, err := header.Append(nil)
	if err != nil {
		return nil, err
	}
	if len(content) > stef.MaxHeaderBytes {
		return nil, fmt.Errorf("%w: the variable header has %d bytes, at most %d are allowed", stef.ErrLimit, len(content), stef.MaxHeaderBytes)
	}
	w.head = appendFixedHeader(nil, w.compression)
	w.out = append(w.out, make([]byte, headRoom)...)
	if w.compression == stef.Zstd {
		// A separate zstd frame lets the stream be idle without an encoder. The
		// first data frame then restarts the compression.
		w.out = appendRawZstd(w.out, content)
	} else {
		w.out = append(w.out, content...)
	}
	frame, err := w.finish(0, len(content))
	if err != nil {
		return nil, err
	}
	w.head = append(w.head, frame...)
	w.out = nil
	return w, w.Reset(dst)
}

// fixedHeader is the size of the fixed header.
const fixedHeader = len(signature) + 1 + fixedSize

// Reset writes the same headers to dst, for another stream. It reuses small buffers of the
// last stream and returns everything else to the pools.
func (w *Writer) Reset(dst io.Writer) error {
	column, out := w.column, w.out
	if cap(column) > largestKept {
		column = nil
	}
	if cap(out) < readBuffer {
		w.out = nil // reuse the small buffer: Close must not return it to the pool
	} else {
		out = nil
	}
	w.Close()
	w.large = false
	w.column, w.out = column, out
	w.dst = dst
	if err := w.write(w.head[:fixedHeader]); err != nil {
		return err
	}
	return w.write(w.head[fixedHeader:])
}

// Frame writes a frame: its record count and the columns of the tree. It returns the
// number of bytes written.
//
// spec: #data-frame
func (w *Writer) Frame(flags stef.FrameFlags, records uint64, tree *column.WriteTree) (int, error) {
	head, first := w.out, w.out == nil
	if first {
		head = smallBuffer() // the size of the frame is not known yet
	}
	head = append(head[:0], make([]byte, headRoom)...)
	head = bitio.AppendUvarint(head, records)
	head, data := tree.AppendSizes(head)
	size := len(head) - headRoom + data
	if size > stef.MaxFrameBytes {
		return 0, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", stef.ErrFrameTooLarge, size, stef.MaxFrameBytes)
	}
	w.out = head
	if first && size > smallestBuffer {
		// Earlier frames enlarged their buffers with append, perhaps to twice the necessary size.
		// So look for a buffer of up to twice the size.
		w.out = append(takeBuffer(2*size), head...)
		releaseBuffer(head)
	}
	if w.compression == stef.Zstd {
		if err := w.compress(&flags, tree, size); err != nil {
			return 0, err
		}
	} else {
		flags &^= stef.RestartCompression
		err := tree.Each(func(c column.Writer, _ int) error {
			w.out = c.AppendTo(w.out)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	frame, err := w.finish(flags, size)
	if err != nil {
		return 0, err
	}
	return len(frame), w.write(frame)
}

// compress compresses the content of a frame into out. The content consists of the record count and
// the size table, which out contains before the call, and of the columns of tree. size is the size
// of the content.
func (w *Writer) compress(flags *stef.FrameFlags, tree *column.WriteTree, size int) error {
	w.column = append(w.column[:0], w.out[headRoom:]...)
	w.out = w.out[:headRoom]
	w.adapt(size)
	w.setLevel(size)
	if raw := w.literals.before(*flags, w.setting.level, size); raw != w.setting.raw {
		w.drop()
		w.setting.raw = raw
	}
	if w.zstd == nil || w.setting.crc {
		*flags |= stef.RestartCompression
	}
	if *flags&stef.RestartCompression != 0 {
		w.shared = w.shared[:0] // measure again: without history, columns compress to more bytes
	}
	if w.zstd == nil {
		var err error
		if w.zstd, err = w.setting.encoder((*appender)(&w.out)); err != nil {
			return err
		}
	} else if *flags&stef.RestartCompression != 0 {
		w.zstd.Reset((*appender)(&w.out))
	}
	if _, err := w.zstd.Write(w.column); err != nil {
		return err
	}
	err := tree.Each(func(c column.Writer, n int) error {
		w.column = c.AppendTo(w.column[:0])
		if n < blockColumn || size < blockFrame || w.setting.raw || w.smallText(c, n, size) || w.shares(c) {
			_, err := w.zstd.Write(w.column)
			return err
		}
		return w.blocks(c)
	})
	if err != nil {
		return err
	}
	if w.setting.crc {
		return w.zstd.Close() // writes the checksum; Reset begins a new zstd stream
	}
	if err := w.zstd.Flush(); err != nil {
		return err
	}
	if *flags&(stef.RestartCompression|stef.RestartDictionaries) == 0 {
		w.literals.after(w.out[headRoom:], size)
	}
	return nil
}

// drop returns the encoder to its pool. The next frame begins a zstd stream.
func (w *Writer) drop() {
	if w.zstd != nil {
		w.setting.release(w.zstd)
		w.zstd = nil
	}
}

// smallText reports whether c is a column of texts that is too small for zstd blocks of its own.
// The column has n bytes, in a frame of size bytes.
func (w *Writer) smallText(c column.Writer, n, size int) bool {
	if w.setting.level != stef.LevelFastest || n >= blockText && size >= blockTextFrame || n >= size/2 {
		return false
	}
	_, text := c.(interface{ Texts() })
	return text
}

// shares reports whether a large column shares blocks in this frame.
func (w *Writer) shares(c column.Writer) bool {
	for i := range w.shared {
		s := &w.shared[i]
		if s.Writer != c {
			continue
		}
		if s.frames--; s.frames >= 0 {
			return true
		}
		w.shared = slices.Delete(w.shared, i, i+1)
		return false
	}
	return false
}

// adapt chooses a window that holds adaptFrames frames of the current size. The first frame
// of a stream is usually larger than later frames, because it contains texts that later
// frames only refer to. So the first window holds only adaptFirst frames of the first size.
// smallestWindow is the minimum in bytes.
const (
	adaptFirst     = 2
	adaptFrames    = 16
	smallestWindow = 16 << 10
)

// adapt enlarges the window for a frame of the given size, unless the window is fixed.
// The choice depends only on the sizes of frames, so the same records produce the same
// bytes.
func (w *Writer) adapt(size int) {
	if w.largest == 0 || w.zstd != nil && w.setting.window >= w.largest {
		return
	}
	frames := adaptFrames
	if w.zstd == nil {
		frames = adaptFirst
	}
	window := min(smallestWindow, w.largest)
	for window < w.largest && window/frames < size {
		window *= 2
	}
	if w.zstd == nil {
		w.setting.window = window
	} else if window > w.setting.window {
		w.drop()
		w.setting.window = window
	}
}

// smallFrame is the size, before compression, of the largest frames for which LevelAuto is
// LevelFastest.
const smallFrame = 64 << 10

// setLevel sets the level of LevelAuto for a frame of size bytes before compression.
// After a large frame it stays at LevelDefault.
func (w *Writer) setLevel(size int) {
	if !w.auto {
		return
	}
	w.large = w.large || size > smallFrame
	level := stef.LevelFastest
	if w.large {
		level = stef.LevelDefault
	}
	if level != w.setting.level {
		w.drop()
	}
	w.setting.level = level
}

// blocks compresses a large column in blocks of its own.
func (w *Writer) blocks(c column.Writer) error {
	step := len(w.column)
	if small, ok := c.(interface{ BlockSize() int }); ok {
		step = small.BlockSize()
	}
	if err := w.zstd.Flush(); err != nil {
		return err
	}
	before := len(w.out)
	for rest := w.column; len(rest) > 0; {
		n := min(step, len(rest))
		if _, err := w.zstd.Write(rest[:n]); err != nil {
			return err
		}
		if err := w.zstd.Flush(); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(w.out)-before <= sharedBytes {
		w.shared = append(w.shared, sharedColumn{c, sharedFrames})
	}
	return nil
}

// finish writes the frame header in front of the content in out, and returns the frame.
func (w *Writer) finish(flags stef.FrameFlags, size int) ([]byte, error) {
	var head [headRoom]byte
	h := append(head[:0], byte(flags))
	h = bitio.AppendUvarint(h, uint64(size))
	if w.compression == stef.Zstd {
		compressed := len(w.out) - headRoom
		if compressed > stef.MaxFrameBytes {
			return nil, fmt.Errorf("%w: it has %d compressed bytes, at most %d are allowed", stef.ErrFrameTooLarge, compressed, stef.MaxFrameBytes)
		}
		h = bitio.AppendUvarint(h, uint64(compressed))
	}
	frame := w.out[headRoom-len(h):]
	copy(frame, h)
	return frame, nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.dst.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// Close returns the encoder to its pool. It writes nothing: a stream has no end
// mark.
func (w *Writer) Close() {
	w.drop()
	w.literals, w.setting.raw = literals{}, false
	releaseBuffer(w.out)
	w.out, w.column = nil, nil
	clear(w.shared[:cap(w.shared)])
	w.shared = w.shared[:0]
}

type appender []byte

func (a *appender) Write(b []byte) (int, error) {
	*a = append(*a, b...)
	return len(b), nil
}

// maxRawBlock is the maximum size of a zstd block.
const maxRawBlock = 128 << 10

// appendRawZstd appends a complete zstd frame that holds b uncompressed.
//
//	| magic | descriptor: single segment, 4 byte size | size | raw blocks |
//
// RFC 8878, sections 3.1.1 and 3.1.1.2.
func appendRawZstd(dst, b []byte) []byte {
	const (
		magic         = 0xfd2fb528
		singleSegment = 1 << 5
		size4         = 2 << 6
	)
	dst = binary.LittleEndian.AppendUint32(dst, magic)
	if len(b) < 256 {
		dst = append(dst, singleSegment, byte(len(b)))
	} else {
		dst = append(dst, singleSegment|size4)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	}
	for {
		block := b[:min(len(b), maxRawBlock)]
		b = b[len(block):]
		head := uint32(len(block)) << 3 // type 0: raw
		if len(b) == 0 {
			head |= 1 // the last block
		}
		dst = append(dst, byte(head), byte(head>>8), byte(head>>16))
		dst = append(dst, block...)
		if len(b) == 0 {
			return dst
		}
	}
}

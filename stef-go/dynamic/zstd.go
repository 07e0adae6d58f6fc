// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// MaxWindowBytes is the maximum zstd window of a stream that a Reader accepts. It
// bounds the memory of the Reader.
const MaxWindowBytes = 8 << 20

// maxCarry limits the number of compressed bytes of a frame that follow its content and are carried over
// to the next frame, such as an empty block or the end of a zstd frame. Skippable frames do not count.
const maxCarry = 1 << 10

// decompressor decompresses the frames of a stream. One zstd stream continues from frame to frame until a
// frame restarts it. The zstd stream does not end with a frame. So after the content of a frame, no more
// bytes may be read from the decoder: it would report that the compressed bytes end, and would return
// this error for all later frames.
//
// spec: #compression
type decompressor struct {
	dec *zstd.Decoder
	in  compressed
	// ended is true after a frame with a verified checksum. The decoder is then at its
	// end, and needs a reset before it reads the next zstd frame.
	ended bool
}

// compressed is the source of the decoder: the compressed bytes that the previous
// frame did not use, followed by the bytes of the current frame.
type compressed struct {
	carry []byte
	src   io.Reader
	left  int
	// head is the start of the zstd stream, at most as many bytes as a frame header of
	// zstd can have.
	head []byte
	// fresh says whether bytes of the current frame were read.
	fresh bool
	// cut says whether src ended before all bytes of the frame were read.
	cut bool
	// err is the error of src, or nil if src did not fail.
	err error
}

// Read implements io.Reader. It returns io.EOF at the end of each frame.
func (c *compressed) Read(p []byte) (int, error) {
	if len(c.carry) > 0 {
		n := copy(p, c.carry)
		c.carry = c.carry[n:]
		return n, nil
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	c.fresh = true
	n, err := c.src.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.head = append(c.head, p[:min(n, zstd.HeaderMaxSize-len(c.head))]...)
	switch {
	case err == io.EOF && c.left > 0:
		c.cut, err = true, io.ErrUnexpectedEOF
	case err != nil && err != io.EOF:
		c.err = err
	}
	return n, err
}

func (z *decompressor) frame(src io.Reader, f Frame, restart bool) ([]byte, error) {
	if restart {
		if err := z.finish(); err != nil {
			return nil, err
		}
	}
	if restart || z.ended {
		if err := z.restart(); err != nil {
			return nil, err
		}
	}
	z.in.src, z.in.left, z.in.fresh = src, f.CompressedSize, false
	content, err := readExactly(z.dec, nil, 1, "compressed content")
	if err == nil && !z.in.fresh {
		return nil, errMore
	}
	if err == nil {
		content, err = readExactly(z.dec, content, f.UncompressedSize-1, "compressed content")
	}
	if err != nil {
		return nil, z.kind(err)
	}
	z.in.carry, err = readExactly(src, z.in.carry, z.in.left, frameContent)
	z.in.left = 0
	if n := len(z.in.carry); err == nil && n > maxCarry {
		if z.in.dropSkippable(); len(z.in.carry) > maxCarry {
			return nil, fault(ErrCorrupt, "%d compressed bytes follow the content of the frame", n)
		}
	}
	if err == nil && restart && z.in.checksumLeft() {
		z.ended = true
		err = z.finish()
	}
	return content, err
}

// dropSkippable removes the skippable frames at the end of the carry, the compressed bytes after
// the content of a frame. The first of them must begin in the first maxCarry bytes.
func (c *compressed) dropSkippable() {
	const magic, head = "\x2a\x4d\x18", 8 // the byte before magic is 0x50 to 0x5f
	begins := func(b []byte) bool { return len(b) >= head && b[0]>>4 == 5 && string(b[1:4]) == magic }
	for start := range maxCarry {
		rest := c.carry[start:]
		if !begins(rest) {
			continue
		}
		for begins(rest) {
			size := uint64(binary.LittleEndian.Uint32(rest[4:]))
			if size > uint64(len(rest)-head) {
				return
			}
			rest = rest[head+size:]
		}
		if len(rest) == 0 {
			c.carry = bytes.Clone(c.carry[:start]) // releases the skippable frames
		}
		return
	}
}

// checksumLeft reports whether the carry, the compressed bytes after the content, is
// the end of a zstd frame with a checksum. If so, the decoder can verify the checksum now,
// before the records of the frame are used.
//
// spec: #compression
func (c *compressed) checksumLeft() bool {
	var h zstd.Header
	if h.Decode(c.head) != nil || h.Skippable || !h.HasCheckSum {
		return false
	}
	// The end is an empty last block (1, 0, 0) and the checksum. RFC 8878, section 3.1.1.
	const checksum = 4
	rest, ok := bytes.CutPrefix(c.carry, []byte{1, 0, 0})
	return ok && len(rest) == checksum
}

func (z *decompressor) restart() error {
	z.in, z.ended = compressed{}, false
	if z.dec != nil {
		return z.dec.Reset(&z.in)
	}
	dec, err := zstd.NewReader(&z.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(MaxWindowBytes))
	z.dec = dec
	return err
}

var errMore = fault(ErrCorrupt, "a frame decompresses to more bytes than its size says")

// finish checks that nothing is unread in the zstd stream when it ends.
func (z *decompressor) finish() error {
	if z.dec == nil {
		return nil
	}
	_, err := io.ReadFull(z.dec, make([]byte, 1))
	switch {
	case err == nil:
		return errMore
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	}
	return z.kind(err)
}

func (z *decompressor) close() {
	if z.dec != nil {
		z.dec.Close()
	}
}

// kind wraps an error of the decoder with its kind, such as ErrCorrupt. It returns an error of the source
// as it is.
func (z *decompressor) kind(err error) error {
	switch {
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return ErrZstdDict
	case z.in.cut:
		return cutOff(frameContent)
	case z.in.err != nil, errors.Is(err, ErrCorrupt):
		return err
	case errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fault(ErrLimit, "%v", err)
	}
	return fault(ErrCorrupt, "%v", err)
}

// compressor compresses the frames of a stream into one zstd stream. At the end of a frame, the zstd
// stream is flushed, but does not end.
//
// spec: #compression
type compressor struct {
	enc *zstd.Encoder
	out bytes.Buffer
}

func newCompressor(level, window int) (*compressor, error) {
	opts := []zstd.EOption{zstd.WithEncoderConcurrency(1)}
	if level != 0 {
		opts = append(opts, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
	}
	if window != 0 {
		opts = append(opts, zstd.WithWindowSize(window))
	}
	z := &compressor{}
	enc, err := zstd.NewWriter(&z.out, opts...)
	z.enc = enc
	return z, err
}

// frame returns the compressed bytes for content. They are valid until the next
// call.
func (z *compressor) frame(content []byte) ([]byte, error) {
	z.out.Reset()
	if _, err := z.enc.Write(content); err != nil {
		return nil, err
	}
	if err := z.enc.Flush(); err != nil {
		return nil, err
	}
	return z.out.Bytes(), nil
}

func (z *compressor) restart() { z.enc.Reset(&z.out) }

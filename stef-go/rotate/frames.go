// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	stef "github.com/otelstef/stef/stef-go"
)

// signature begins each stream.
//
// spec: #fixed-header
const signature = "STEF"

// Frames finds where the whole frames of a file end, without decoding them. Use it to
// read a file that grows: a frame can be read when Frames has found its end. It
// checks the heads of frames only. The zero value is at the beginning of a file. It
// is not safe for use by several goroutines at once.
type Frames struct {
	end    int64
	header bool // the fixed header was read
	frames int
	zstd   bool
}

// End returns the offset after the last complete header or frame.
func (f *Frames) End() int64 { return f.end }

// Count returns the number of complete frames, without the variable header. It returns
// -1 until the variable header is complete.
func (f *Frames) Count() int { return f.frames - 1 }

// Next moves past the next header or frame if all of it is in the first size bytes
// of r, and reports whether it moved. Errors wrap stef.ErrCorrupt, stef.ErrLimit,
// stef.ErrVersion or the error of r. After an error, Next can be called again; it returns
// the same error if the file did not change.
func (f *Frames) Next(r io.ReaderAt, size int64) (bool, error) {
	var head [32]byte
	n, err := r.ReadAt(head[:min(int64(len(head)), max(size-f.end, 0))], f.end)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	var length int64
	zstd := f.zstd
	if f.header {
		length, err = f.frame(head[:n])
	} else {
		length, zstd, err = fixedHeader(head[:n])
	}
	if err != nil {
		return false, fmt.Errorf("offset %d: %w", f.end, err)
	}
	if length == 0 || f.end+length > size {
		return false, nil
	}
	if f.header {
		f.frames++
	}
	f.end, f.zstd, f.header = f.end+length, zstd, true
	return true, nil
}

// fixedHeader returns the length of the fixed header, or 0 if more bytes are needed.
//
// spec: #fixed-header
func fixedHeader(b []byte) (length int64, zstd bool, err error) {
	if n := min(len(b), len(signature)); string(b[:n]) != signature[:n] {
		return 0, false, fmt.Errorf("%w: signature is %q, not %q", stef.ErrCorrupt, b[:n], signature)
	}
	if len(b) <= len(signature) {
		return 0, false, nil
	}
	size, n, err := number(b[len(signature):], stef.MaxHeaderBytes)
	at := len(signature) + n
	if n == 0 || err != nil {
		return 0, false, err
	}
	if size < 2 {
		return 0, false, fmt.Errorf("%w: the fixed header has %d bytes, at least 2 are required", stef.ErrCorrupt, size)
	}
	if len(b) < at+2 {
		return 0, false, nil
	}
	if version := b[at] & 0x0f; version != 0 {
		return 0, false, fmt.Errorf("%w: unknown format version %d", stef.ErrVersion, version)
	}
	compression := stef.Compression(b[at+1] & 3)
	if compression > stef.Zstd {
		return 0, false, fmt.Errorf("%w: unknown compression %d", stef.ErrVersion, compression)
	}
	return int64(at) + int64(size), compression == stef.Zstd, nil
}

// frame returns the length of a frame, or 0 if more bytes are needed.
//
// spec: #frame
func (f *Frames) frame(b []byte) (int64, error) {
	if len(b) < 1 {
		return 0, nil
	}
	if flags := stef.FrameFlags(b[0]); !flags.Valid() {
		if b[0] == signature[0] {
			return 0, fmt.Errorf("%w: unknown bits in the frame flags %#x: a second stream may begin here, but a file holds one stream", stef.ErrCorrupt, b[0])
		}
		return 0, fmt.Errorf("%w: unknown bits in the frame flags %#x", stef.ErrCorrupt, b[0])
	}
	limit := uint64(stef.MaxFrameBytes)
	if f.frames == 0 {
		limit = stef.MaxHeaderBytes
	}
	at := 1
	size, n, err := number(b[at:], limit)
	if n == 0 || err != nil {
		return 0, err
	}
	if size == 0 {
		return 0, fmt.Errorf("%w: the frame has no content", stef.ErrCorrupt)
	}
	at += n
	if f.zstd {
		if size, n, err = number(b[at:], stef.MaxFrameBytes); n == 0 || err != nil {
			return 0, err
		}
		at += n
	}
	return int64(at) + int64(size), nil
}

// number reads a varint up to limit. n is 0 if more bytes are needed.
func number(b []byte, limit uint64) (v uint64, n int, err error) {
	v, n = binary.Uvarint(b)
	if n < 0 {
		return 0, 0, fmt.Errorf("%w: a size has more than 64 bits", stef.ErrCorrupt)
	}
	if n > 0 && v > limit {
		return 0, 0, fmt.Errorf("%w: a size is %d bytes, at most %d are allowed", stef.ErrLimit, v, limit)
	}
	return v, n, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// Tap keeps the bytes that a record reader reads through it, from the last
// requested frame on. The record reader reports where frames begin; Tap returns
// their bytes.
type Tap struct {
	src  io.Reader
	kept []byte
	// base is the offset of the first kept byte in the stream.
	base int64
	cut  bool // the source is compressed and was cut
	// broken says that the source is compressed, and that its compression is damaged.
	broken bool
}

// NewTap returns a tap that reads from src.
func NewTap(src io.Reader) *Tap { return &Tap{src: src} }

// Read reads from the source.
func (t *Tap) Read(b []byte) (int, error) {
	n, err := t.src.Read(b)
	t.kept = append(t.kept, b[:n]...)
	t.cut = t.cut || errors.Is(err, io.ErrUnexpectedEOF)
	return n, err
}

// End is the offset after the last byte read.
func (t *Tap) End() int64 { return t.base + int64(len(t.kept)) }

var errLost = errors.New("the position of a frame does not match the bytes read")

// Size reads the rest of the source without keeping it, and returns the total
// number of bytes. A truncated or damaged compressed file is not an error.
func (t *Tap) Size() (int64, error) {
	n, err := io.Copy(io.Discard, t.src)
	t.base += int64(len(t.kept)) + n
	t.kept = nil
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		t.cut, err = true, nil
	case errors.As(err, new(*file.UnpackError)):
		t.broken, err = true, nil
	}
	return t.base, err
}

// Frame returns the head and the compressed content of a frame, and drops the
// bytes before the frame. The slices are valid until the next read.
//
// spec: #frame
func (t *Tap) Frame(f *dynamic.Frame, c dynamic.Compression) (head, content []byte, err error) {
	head, content, err = t.find(f, c)
	if err == nil {
		t.take(f.Offset)
	}
	return head, content, err
}

// find is like Frame, but does not drop bytes.
func (t *Tap) find(f *dynamic.Frame, c dynamic.Compression) (head, content []byte, err error) {
	kept, n, _ := t.head(f.Offset, c)
	if n == 0 || len(kept)-n < f.CompressedSize {
		return nil, nil, errLost
	}
	return kept[:n], kept[n : n+f.CompressedSize], nil
}

// head returns the kept bytes from an offset on. It also returns the size of the head and the size of
// the content of the frame that begins at this offset. The size of the head is 0 if the head is
// incomplete.
func (t *Tap) head(offset int64, c dynamic.Compression) (kept []byte, head int, content uint64) {
	skip := offset - t.base
	if skip < 0 || skip > int64(len(t.kept)) {
		return nil, 0, 0
	}
	kept = t.kept[skip:]
	numbers := 1
	if c == dynamic.Zstd {
		numbers = 2
	}
	head = 1
	for range numbers {
		v, size := binary.Uvarint(kept[min(head, len(kept)):])
		if size <= 0 {
			return kept, 0, 0
		}
		content, head = v, head+size
	}
	return kept, head, content
}

// begins reports whether a stream begins at an offset of the kept bytes.
func (t *Tap) begins(offset int64) bool {
	at := offset - t.base
	return at >= 0 && at < int64(len(t.kept)) && bytes.HasPrefix(t.kept[at:], []byte("STEF"))
}

// noFrame reports whether the kept bytes at an offset cannot be a frame.
func (t *Tap) noFrame(offset int64) bool {
	at := offset - t.base
	if at < 0 || at >= int64(len(t.kept)) {
		return false
	}
	head := t.kept[at:]
	return !stef.FrameFlags(head[0]).Valid() || len(head) > 1 && head[1] == 0 // a frame has content
}

// announced returns the end offset that the head of a frame announces. It returns
// math.MaxInt64 if the head is incomplete or announces more than stef.MaxFrameBytes.
func (t *Tap) announced(offset int64, c dynamic.Compression) int64 {
	_, head, content := t.head(offset, c)
	if head == 0 || content > stef.MaxFrameBytes {
		return math.MaxInt64
	}
	return offset + int64(head) + int64(content)
}

// take returns the bytes before an offset and drops them.
func (t *Tap) take(end int64) []byte {
	n := end - t.base
	b := t.kept[:n]
	t.kept, t.base = t.kept[n:], end
	return b
}

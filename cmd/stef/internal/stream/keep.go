// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// Whole counts the whole frames at the beginning of a stream. A frame is whole if all of its
// records can be decoded. In the compact form, this includes the codes that stand for plain values.
type Whole struct {
	Frames  int
	Records uint64
	// Bytes is the total size of the headers and the whole frames.
	Bytes int64
	// Damage is the error in the next frame, the one after the whole frames. It is nil if the
	// stream ends after the whole frames. Lost is the number of bytes after the whole frames.
	Damage error
	Lost   int64
	// OverLimit says that the stream may be undamaged in spite of the error in Damage: the next
	// record or dictionary exceeds a limit of the reader, or the next frame needs a zstd
	// dictionary.
	OverLimit bool
	// Cut says that the stream ends inside the next frame, as after a crash of
	// its writer, and has no other damage.
	Cut bool
	// Unended says that a compressed file ends without the end of its compression. Its content
	// ends after a whole frame, so it is unknown whether further frames are lost.
	Unended bool
	// Broken says that the compression of a compressed file is damaged. Lost does not count what
	// cannot be decompressed.
	Broken bool
	// NoFrame says that the bytes after the whole frames cannot be the beginning of a frame.
	NoFrame bool
	// Checksums says that every frame with records ends with a checksum.
	Checksums bool
	// Concatenated says that another stream begins after the whole frames.
	Concatenated bool
}

// frameEnd is a frame whose records are being read.
type frameEnd struct {
	end           int64
	records, left uint64
}

// Counter determines which frames are whole while a reader reads their records.
// Call Frame when a frame begins and Record after each record.
type Counter struct {
	Whole
	last        frameEnd
	compression dynamic.Compression
}

// Begin records the headers and their end.
func (c *Counter) Begin(h *dynamic.Header, end int64) { c.Bytes, c.compression = end, h.Compression }

// Frame begins a frame. end is the offset of its end, and records is its number of records. It
// returns true if the frame has no records and is therefore whole already.
func (c *Counter) Frame(end int64, records uint64) bool {
	c.last = frameEnd{end, records, records}
	return c.whole()
}

// Record counts a record and reports whether it completes its frame.
func (c *Counter) Record() bool {
	c.last.left--
	return c.whole()
}

func (c *Counter) whole() bool {
	if c.last.left > 0 {
		return false
	}
	c.Frames++
	c.Records += c.last.records
	c.Bytes = c.last.end
	return true
}

// End records the error that ended the reading, or nil, and counts the lost bytes. If
// the source failed, End returns this error, because it is not damage of the stream.
func (c *Counter) End(damage error, tap *Tap) error {
	if damage == nil {
		return nil
	}
	next := tap.announced(c.Bytes, c.compression)
	c.Concatenated = tap.begins(c.Bytes)
	c.NoFrame = tap.noFrame(c.Bytes)
	size, err := tap.Size()
	c.Damage, c.Lost, c.Broken = damage, size-c.Bytes, tap.broken
	c.Cut = next > size && !c.NoFrame && !c.Broken
	c.Unended = tap.cut && c.Lost == 0
	c.OverLimit = errors.Is(damage, dynamic.ErrReaderLimit) || errors.Is(damage, dynamic.ErrZstdDict)
	return err
}

// Keep copies the headers and the whole frames of a stream, byte for byte. It
// returns an error if the headers are damaged, because then there is nothing to
// keep.
func Keep(dst io.Writer, src io.Reader, root *Root) (*Whole, error) {
	tap := NewTap(src)
	c := &Counter{}
	var failed error
	c.Checksums = true
	keep := func(whole bool) {
		if whole && failed == nil {
			_, failed = dst.Write(tap.take(c.Bytes))
		}
	}
	compression := dynamic.None
	end := func(f *dynamic.Frame) int64 {
		head, content, err := tap.find(f, compression)
		failed = errors.Join(failed, err)
		if f.Records > 0 {
			c.Checksums = c.Checksums && Checksummed(content)
		}
		return f.Offset + int64(len(head)+len(content))
	}
	r, err := root.PlainRecords(tap, dynamic.WithFrameFunc(func(f *dynamic.Frame) { keep(c.Frame(end(f), f.Records)) }))
	if err != nil {
		return nil, err
	}
	compression = r.Header().Compression
	c.Begin(r.Header(), end(&r.Header().Frame))
	keep(true)
	for failed == nil && r.Next() {
		keep(c.Record())
	}
	if failed == nil {
		failed = c.End(r.Err(), tap)
	}
	if failed != nil {
		return nil, failed
	}
	c.Checksums = c.Checksums && c.Frames > 0
	return &c.Whole, nil
}

// Checksummed reports whether the content of a frame is one zstd frame that ends with a
// checksum.
func Checksummed(content []byte) bool {
	var h zstd.Header
	return h.Decode(content) == nil && h.HasCheckSum
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// maxFrame limits the uncompressed and the compressed size of a frame, in bytes.
//
// spec: #limits
const maxFrame = 64 << 20

// FrameFlags select the state that is reset at the start of a frame.
//
// spec: #frame-flags
type FrameFlags uint8

// The flags of a frame.
const (
	// RestartDictionaries empties all dictionaries.
	RestartDictionaries FrameFlags = 1 << iota
	// RestartCompression begins a new compressed stream. It has no effect without
	// compression.
	RestartCompression
	// RestartCodecs resets the codecs of numbers.
	RestartCodecs

	// RestartAll has all flags. A Writer makes frames with these flags
	// self-contained.
	RestartAll = RestartDictionaries | RestartCompression | RestartCodecs
)

// String returns the names of the flags, joined by "|", or "none".
func (f FrameFlags) String() string {
	var names []string
	for i, name := range []string{"RestartDictionaries", "RestartCompression", "RestartCodecs"} {
		if f>>i&1 == 1 {
			names = append(names, name)
		}
	}
	if rest := f &^ RestartAll; rest != 0 {
		names = append(names, fmt.Sprintf("%#02x", uint8(rest)))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "|")
}

// Frame describes a frame of a stream.
type Frame struct {
	// Index counts the data frames from 1. The frame of the variable header has index 0.
	Index int
	// Offset is the start of the frame in the stream.
	Offset int64
	Flags  FrameFlags
	// UncompressedSize is the size of the content, CompressedSize its size in the
	// stream. Both are equal without compression.
	UncompressedSize, CompressedSize int
	// Records is the number of records.
	Records uint64
	// SizesSize is the size of the size table of the columns.
	SizesSize int
	// Columns has all columns of the schema of the stream, in order.
	Columns []Column
}

// Column is the part of a column in a frame.
type Column struct {
	// Path names the column, such as "Metrics.Point.Exemplars[].Value.Int64".
	Path string
	// Bits says whether the column consists of bits, not of bytes.
	Bits bool
	// Offset counts from the start of the content of the frame, uncompressed.
	// Size is in bytes.
	Offset, Size int
}

// frameContent is what errors call the content of a frame. Most truncated streams end there.
const frameContent = "content of a frame"

// readFrameHeader reads the header of a frame, before its content. The error is
// io.EOF only if the stream ends where a frame could begin.
//
// spec: #frame
func readFrameHeader(src *source, c Compression, trace *tracer) (Frame, error) {
	f := Frame{Offset: src.offset}
	flags, err := src.ReadByte()
	if err == io.EOF {
		return f, err
	}
	if err != nil {
		return f, sourceError(err, "frame header")
	}
	f.Flags = FrameFlags(flags)
	trace.field(-1, "flags", f.Flags)
	switch {
	case flags == signature[0]: // it may begin the signature of a stream that was appended to the file
		return f, fault(ErrCorrupt, "unknown bits in the frame flags %#02x: a second stream may begin here, but a file holds one stream", flags)
	case f.Flags&^RestartAll != 0:
		return f, fault(ErrCorrupt, "unknown bits in the frame flags %#02x", flags)
	}
	if f.UncompressedSize, err = readFrameSize(src, "uncompressed size", trace); err != nil {
		return f, err
	}
	f.CompressedSize = f.UncompressedSize
	if c == Zstd {
		if f.CompressedSize, err = readFrameSize(src, "compressed size", trace); err != nil {
			return f, err
		}
	}
	if f.UncompressedSize == 0 {
		return f, fault(ErrCorrupt, "the frame has no content")
	}
	return f, nil
}

func readFrameSize(src *source, what string, trace *tracer) (int, error) {
	size, err := readUvarint(src.ReadByte, what)
	if err != nil {
		return 0, err
	}
	trace.field(-1, what, size)
	if size > maxFrame {
		return 0, fault(ErrLimit, "%s is %d bytes, the limit is %d", what, size, maxFrame)
	}
	return int(size), nil
}

func appendFrameHeader(dst []byte, f Frame, c Compression) []byte {
	dst = binary.AppendUvarint(append(dst, byte(f.Flags)), uint64(f.UncompressedSize))
	if c == Zstd {
		dst = binary.AppendUvarint(dst, uint64(f.CompressedSize))
	}
	return dst
}

// split splits the content of a data frame: it sets the remaining fields of f and gives each column its
// data.
//
// spec: #data-frame
func (t *columns) split(content []byte, f *Frame) error {
	in := &byteReader{data: content}
	var err error
	if f.Records, err = in.uvarint("record count"); err != nil {
		t.trace.rest(in)
		return err
	}
	t.trace.bytes(in, TraceField{"records", f.Records})
	size, err := in.uvarint("size of the size table")
	if err != nil {
		t.trace.rest(in)
		return err
	}
	t.trace.bytes(in, TraceField{"size of the size table", size})
	b, err := in.take(size, "size table of the columns")
	if err != nil {
		t.trace.rest(in)
		return err
	}
	f.SizesSize = len(b)
	in.traced = in.n
	if err := t.cut(&bitReader{data: b, base: in.n - len(b)}, in); err != nil {
		t.empty()
		t.trace.rest(in)
		return err
	}
	f.Columns = nil
	for _, c := range t.all {
		f.Columns = append(f.Columns, Column{Path: c.path, Bits: c.isBits(),
			Offset: c.bitIn.base + c.byteIn.base, Size: len(c.bitIn.data) + len(c.byteIn.data)})
	}
	t.trace.columns(f)
	// Each record has at least one bit in the root column.
	if f.Records > uint64(t.root.bitIn.left()) {
		return inColumn(t.root, fault(ErrCorrupt, "the frame announces %d records, which do not fit into %d bits", f.Records, t.root.bitIn.left()))
	}
	return nil
}

func (t *columns) empty() {
	for _, c := range t.all {
		c.bitIn, c.byteIn = bitReader{}, byteReader{}
	}
}

func (t *columns) cut(sizes *bitReader, data *byteReader) error {
	t.empty()
	err := t.cutColumn(t.root, sizes, data)
	if err == nil {
		if err = sizes.end(); err != nil {
			err = fmt.Errorf("size table of the columns: %w", err)
		}
	}
	t.trace.restOfBits(nil, sizes)
	if err != nil {
		return err
	}
	if err := data.end(); err != nil {
		return fmt.Errorf("after the columns: %w", err)
	}
	return nil
}

// cutColumn reads the size of c, takes the bytes of c from the start of data, and continues with the
// columns below. Columns below an empty column have no sizes.
//
// spec: #column-omission
func (t *columns) cutColumn(c *column, sizes *bitReader, data *byteReader) error {
	size, err := sizes.compact()
	if err != nil {
		return inColumn(c, fmt.Errorf("size of the column: %w", err))
	}
	if t.trace != nil {
		t.trace.value(c, nil, sizes, nil, TraceSize{size})
	}
	if size == 0 {
		return nil
	}
	columnData, err := data.take(size, "column")
	if err != nil {
		return inColumn(c, err)
	}
	if c.isBits() {
		c.bitIn = bitReader{data: columnData, base: data.n - len(columnData)}
	} else {
		c.byteIn = byteReader{data: columnData, base: data.n - len(columnData)}
	}
	for _, below := range c.owned {
		if err := t.cutColumn(below, sizes, data); err != nil {
			return err
		}
	}
	return nil
}

// end checks that the records consumed all columns.
//
// spec: #strictness #missing-choices
func (t *columns) end() error {
	for _, c := range t.all {
		if c.bitIn.missing > 0 {
			return nil // the missing choices could have consumed the unread data
		}
	}
	for _, c := range t.all {
		err := c.byteIn.end()
		if c.isBits() {
			err = c.bitIn.end()
		}
		if err != nil {
			return inColumn(c, err)
		}
	}
	return nil
}

// join builds the content of a data frame from the columns, and empties them.
//
// spec: #data-frame
func (t *columns) join(records uint64) ([]byte, error) {
	var sizes bitWriter
	var allData []byte
	if err := joinColumn(t.root, &sizes, &allData); err != nil {
		return nil, err
	}
	content := binary.AppendUvarint(nil, records)
	content = binary.AppendUvarint(content, uint64(len(sizes.data)))
	content = append(content, sizes.data...)
	for _, c := range t.all {
		c.bitOut, c.byteOut = bitWriter{}, nil
	}
	return append(content, allData...), nil
}

func joinColumn(c *column, sizes *bitWriter, allData *[]byte) error {
	columnData := c.byteOut
	if c.isBits() {
		columnData = c.bitOut.data
	}
	if err := sizes.compact(uint64(len(columnData))); err != nil || len(columnData) == 0 {
		return inColumn(c, err)
	}
	*allData = append(*allData, columnData...)
	for _, below := range c.owned {
		if err := joinColumn(below, sizes, allData); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"io"

	"github.com/otelstef/stef/stef-go/schema"
)

// ErrClosed is the error of writing to a Writer after Close.
var ErrClosed = errors.New("writer is closed")

// Writer writes records into a stream. It is not safe for concurrent use.
type Writer struct {
	dst        io.Writer
	cfg        writerConfig
	root       *schema.Type
	normalizer normalizer
	columns    *columns
	encoder    encoder
	zstd       *compressor

	// held is the record that was written last, which is also the last record of a reader. It is nil if
	// the next record must be written in full, as if the reader had no record.
	held any
	// flags are the flags of the frame being filled.
	flags   FrameFlags
	frames  int
	offset  int64
	pending uint64
	err     error
}

// NewWriter writes the headers of a stream to dst. The Writer calls dst.Write once for
// each header and each frame.
func NewWriter(dst io.Writer, root *schema.Struct, opts ...WriterOption) (*Writer, error) {
	cfg := writerConfig{frameBytes: DefaultFrameBytes, dictBytes: DefaultDictBytes}
	if dst == nil {
		return nil, errors.New("stef: the destination is nil")
	}
	if err := applyOptions(&cfg, opts); err != nil {
		return nil, err
	}
	if err := checkSchema(root); err != nil {
		return nil, err
	}
	wire := cfg.wire
	if wire == nil {
		wire = schema.WireOf(root)
	}
	kept, err := schema.Keep(root, wire)
	if err != nil {
		return nil, fault(ErrSchema, "%v", err)
	}
	w := &Writer{
		dst:        dst,
		cfg:        cfg,
		root:       &schema.Type{Kind: schema.KindStruct, Name: root.Name, Struct: root},
		normalizer: normalizer{kept: kept, maxBytes: maxWriteBytes},
	}
	w.encoder.dicts.reset()
	if w.columns, err = newColumns(root, kept); err != nil {
		return nil, err
	}
	w.normalizer.recursive = w.columns.recursive
	w.held = w.columns.root.initial
	return w, w.writeHeaders(wire)
}

func (w *Writer) writeHeaders(wire schema.WireSchema) error {
	if !w.cfg.recordWire {
		wire = nil
	}
	content, err := appendVarHeader(nil, wire, w.cfg.userData)
	if err != nil {
		return err
	}
	if len(content) > maxVarHeader {
		return fault(ErrLimit, "the variable header has %d bytes, the limit is %d", len(content), maxVarHeader)
	}
	if w.cfg.compression == Zstd {
		if w.zstd, err = newCompressor(w.cfg.level, w.cfg.window); err != nil {
			return fault(ErrLimit, "%v", err)
		}
	}
	if err := w.write(appendFixedHeader(nil, w.cfg.compression)); err != nil {
		return err
	}
	return w.writeFrame(0, content)
}

// maxWriteFrame is the maximum size of a frame of several records. It leaves space for the size
// table, and for the overhead of zstd if the records do not compress.
const maxWriteFrame = maxFrame - 1<<20

// Write adds a record to the current frame and ends the frame if it is large enough.
// A record that does not fit the schema or a limit is refused and does not change
// the stream; after any other error the stream is unusable. Write keeps the strings
// and bytes of rec, so they must not be modified later. It keeps nothing else.
func (w *Writer) Write(rec *Struct) error {
	if w.err != nil {
		return w.err
	}
	v, err := w.normalize(rec)
	if err != nil {
		return err
	}
	// The size of a record is at least its size in the frame.
	if size := sizeOf(v); w.pending > 0 && w.encoder.frameBits/8+size > maxWriteFrame {
		if err := w.endFrame(w.cfg.restart); err != nil {
			return err
		}
	}
	if err := w.encoder.encode(w.columns.root, w.held, v); err != nil {
		w.err = withPlace(err, w.offset, w.frames, 0)
		return w.err
	}
	w.held = v
	w.pending++
	next := w.cfg.restart
	full := w.encoder.dicts.size >= w.cfg.dictBytes
	if full {
		next |= RestartDictionaries
	}
	if full || w.encoder.frameBits >= 8*w.cfg.frameBytes {
		return w.endFrame(next)
	}
	return nil
}

// normalize normalizes a record. It refuses a record whose dictionary entries selfContained exceed the default
// limit of a Reader. It restarts the dictionaries if they exceed this limit together with the entries of
// the record.
func (w *Writer) normalize(rec *Struct) (any, error) {
	f := &w.normalizer
	f.entries = 0
	v, err := f.normalize(w.root, w.root.Name, rec)
	room := int64(DefaultMaxDictBytes - w.encoder.dicts.size)
	if err != nil || f.entries <= room {
		return v, err
	}
	f.entries, f.seen = 0, map[string]bool{} // count again: slower, but entries of equal values count once
	v, err = f.normalize(w.root, w.root.Name, rec)
	f.seen = nil
	switch {
	case err != nil || f.entries <= room:
	case f.entries > DefaultMaxDictBytes:
		err = fault(ErrLimit, "the dictionary entries of the record take more than %d bytes", DefaultMaxDictBytes)
	case w.pending > 0:
		err = w.endFrame(w.cfg.restart | RestartDictionaries)
	default:
		w.begin(w.flags | RestartDictionaries)
	}
	return v, err
}

// Flush ends the current frame, so that a reader can read all records so far. It
// does nothing if the frame has no records.
func (w *Writer) Flush() error {
	if w.err != nil || w.pending == 0 {
		return w.err
	}
	return w.endFrame(w.cfg.restart)
}

// Close flushes. The stream has no end mark, and Close does not close the io.Writer.
// After Close all methods but Close fail.
func (w *Writer) Close() error {
	if errors.Is(w.err, ErrClosed) {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	w.err = ErrClosed
	return nil
}

// endFrame writes the frame and starts the next one with the flags next.
//
// spec: #restart
func (w *Writer) endFrame(next FrameFlags) error {
	content, err := w.columns.join(w.pending)
	if err == nil {
		err = w.writeFrame(w.flags, content)
	}
	if err != nil {
		w.err = err
		return err
	}
	w.frames++
	w.pending, w.encoder.frameBits = 0, 0
	w.begin(next)
	return nil
}

// begin begins a frame with the flags.
func (w *Writer) begin(next FrameFlags) {
	w.flags = next
	if next&RestartDictionaries != 0 {
		w.encoder.dicts.reset()
	}
	if next&RestartCodecs != 0 {
		w.columns.restart()
	}
	if next&RestartCompression != 0 && w.zstd != nil {
		w.zstd.restart()
	}
	if w.selfContained(next) {
		w.held = nil
	}
}

// selfContained reports whether a frame with these flags must be self-contained: its first record is then
// written in full.
//
// spec: #self-contained
func (w *Writer) selfContained(flags FrameFlags) bool {
	need := RestartDictionaries | RestartCodecs
	if w.zstd != nil {
		need |= RestartCompression
	}
	return flags&need == need
}

func (w *Writer) writeFrame(flags FrameFlags, content []byte) error {
	f := Frame{Flags: flags, UncompressedSize: len(content), CompressedSize: len(content)}
	if w.zstd != nil {
		var err error
		if content, err = w.zstd.frame(content); err != nil {
			return err
		}
		f.CompressedSize = len(content)
	}
	return w.write(append(appendFrameHeader(nil, f, w.cfg.compression), content...))
}

func (w *Writer) write(b []byte) error {
	n, err := w.dst.Write(b)
	w.offset += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"bytes"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// alonePiece is the number of bytes of a column that are compressed together:
// the zstd window of a writer.
const alonePiece = stef.DefaultWindowBytes

// meter adds up the sizes of the parts of frames.
type meter struct {
	report  *Report
	tap     *stream.Tap
	whole   stream.Counter
	zstd    inflater
	pending pending
	dicts   *dicts
	// pieces are the bytes of each column that are not compressed yet.
	pieces  [][]byte
	alone   *zstd.Encoder
	scratch []byte
	err     error
}

// begin measures the headers.
func (m *meter) begin(r *dynamic.Reader) error {
	m.report.Header = *r.Header()
	columns := schema.Columns(m.report.Root.Wire, r.Kept())
	for _, c := range columns {
		m.report.Columns = append(m.report.Columns, &Column{Path: c.Path(), Type: c.Type.String(), Meaning: m.report.Root.Meaning(c.Path())})
	}
	m.pieces = make([][]byte, len(columns))
	m.dicts = newDicts(r, columns)

	f := &r.Header().Frame
	m.report.FixedHeader = f.Offset
	head, content, err := m.tap.Frame(f, r.Header().Compression)
	if err != nil {
		return err
	}
	m.report.VarHeader = int64(len(head) + len(content))
	m.whole.Begin(r.Header(), m.report.FixedHeader+m.report.VarHeader)
	if r.Header().Compression == dynamic.Zstd {
		if _, err := m.zstd.content(content, f.UncompressedSize, true); err != nil {
			return err
		}
	}
	m.alone, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(alonePiece))
	return err
}

// pending is a frame whose records are being decoded. It is counted when all of
// them are decoded.
type pending struct {
	frame   *dynamic.Frame
	head    int
	packed  int
	content []byte
	// checksum says that the frame ends with a checksum.
	checksum bool
}

// frame registers a frame before its records are decoded.
func (m *meter) frame(f *dynamic.Frame) {
	if m.err == nil {
		m.err = m.begun(f)
	}
}

func (m *meter) begun(f *dynamic.Frame) error {
	head, packed, err := m.tap.Frame(f, m.report.Header.Compression)
	if err != nil {
		return err
	}
	content, compressed := packed, m.report.Header.Compression == dynamic.Zstd
	if compressed {
		content, err = m.zstd.content(packed, f.UncompressedSize, f.Flags&dynamic.RestartCompression != 0)
		if err != nil {
			return err
		}
	}
	m.pending = pending{f, len(head), len(packed), append(m.pending.content[:0], content...), compressed && stream.Checksummed(packed)}
	if f.Flags&dynamic.RestartDictionaries != 0 {
		m.dicts.restart()
	}
	if m.whole.Frame(f.Offset+int64(len(head)+len(packed)), f.Records) {
		m.add()
	}
	return nil
}

// record counts a record. If it is the last record of its frame, record measures the frame.
func (m *meter) record() {
	if m.whole.Record() {
		m.add()
	}
}

// add adds the pending frame to the report.
func (m *meter) add() {
	r, f := m.report, m.pending.frame
	r.Frames = append(r.Frames, Frame{f.Offset, f.Flags, f.Records, f.UncompressedSize, m.pending.packed, m.pending.checksum})
	r.Heads += int64(m.pending.head)
	r.Packed += int64(m.pending.packed)
	r.Sizes += int64(f.SizesSize)
	columns := 0
	for _, c := range f.Columns {
		columns += c.Size
	}
	// The remaining bytes are the record count and the size of the size table.
	before := f.UncompressedSize - columns
	r.Counts += int64(before - f.SizesSize)

	rest := bytes.NewBuffer(m.pending.content[before:])
	for i, c := range f.Columns {
		data := rest.Next(c.Size)
		r.Columns[i].Plain += int64(len(data))
		m.dicts.texts(i, data)
		m.compress(i, data)
	}
	m.dicts.structs()
}

// compress compresses full pieces of a column.
func (m *meter) compress(i int, data []byte) {
	m.pieces[i] = append(m.pieces[i], data...)
	for len(m.pieces[i]) >= alonePiece {
		m.piece(i, alonePiece)
	}
}

func (m *meter) piece(i, n int) {
	m.scratch = m.alone.EncodeAll(m.pieces[i][:n], m.scratch[:0])
	m.report.Columns[i].Alone += int64(len(m.scratch))
	m.pieces[i] = append(m.pieces[i][:0], m.pieces[i][n:]...)
}

// end compresses the last piece of each column.
func (m *meter) end() {
	for i := range m.pieces {
		if n := len(m.pieces[i]); n > 0 {
			m.piece(i, n)
		}
	}
	m.alone.Close()
	m.zstd.close()
	m.report.Dicts = m.dicts.list
}

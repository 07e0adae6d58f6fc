// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"io"
	"slices"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// Report is the result of a measurement. Sizes are in bytes.
type Report struct {
	Root   *stream.Root
	Header dynamic.Header
	// Size is the size of the stream. Records and Frames describe its content.
	Size    int64
	Records uint64
	Frames  []Frame
	// FixedHeader and VarHeader are the sizes of the headers. VarHeader includes
	// the head of its frame. Heads is the size of the heads of the data frames.
	FixedHeader, VarHeader, Heads int64
	// Counts and Sizes are the bytes before the columns of a frame: its record
	// count and the sizes of the columns. Together with Columns they are the content of the frames
	// before compression. Packed is the size of this content in the stream: after compression if
	// the stream is compressed.
	Counts, Sizes, Packed int64
	Columns               []*Column
	Dicts                 []*Dict
	// Whole describes the whole frames that the report covers, up to the end or
	// to the damage.
	Whole stream.Whole
	// DamageText is the text of Whole.Damage in JSON. The default is the text of the error.
	DamageText string
	// Requests counts the OTLP requests that the records could be sent in. OTLP is the
	// size of these requests, and OTLPZstd is their size if each request is compressed
	// alone. The values are 0 if they are not known.
	Requests       int
	OTLP, OTLPZstd int64
	// Source is the format of the file if the stream was converted from another format, otherwise
	// "".
	Source string
}

// Frame is one frame of data.
type Frame struct {
	Offset        int64
	Flags         dynamic.FrameFlags
	Records       uint64
	Plain, Packed int
	// Checksum says that the frame ends with a checksum.
	Checksum bool
}

// Column is a column over all frames.
type Column struct {
	Path string
	Type string
	// Meaning explains a column that only streams in the compact form have.
	Meaning string
	// Plain is the size of the column. Alone is its size when it is compressed alone.
	Plain, Alone int64
}

// Plain is the size of the content of the frames before compression.
func (r *Report) Plain() int64 {
	return r.Counts + r.Sizes + r.columnBytes()
}

// columnBytes is the size of all columns before compression.
func (r *Report) columnBytes() int64 {
	var n int64
	for _, c := range r.Columns {
		n += c.Plain
	}
	return n
}

// Alone is the sum of the sizes of the columns if each column is compressed alone.
func (r *Report) Alone() int64 {
	var n int64
	for _, c := range r.Columns {
		n += c.Alone
	}
	return n
}

// Restarts counts the frames that have a flag.
func (r *Report) Restarts(flag dynamic.FrameFlags) int {
	n := 0
	for _, f := range r.Frames {
		if f.Flags&flag != 0 {
			n++
		}
	}
	return n
}

// Checksums returns the number of frames with records (all), and how many of them end with a
// checksum (with).
func (r *Report) Checksums() (with, all int) {
	for _, f := range r.Frames {
		if f.Records > 0 {
			all++
			if f.Checksum {
				with++
			}
		}
	}
	return with, all
}

// Measure reads a stream to its end or to the first damaged frame. In the
// second case the report covers the frames before the damage and says so.
// Measure returns only errors of the headers and of the source.
func Measure(src io.Reader, root *stream.Root) (*Report, error) {
	m := &meter{report: &Report{Root: root}, tap: stream.NewTap(src)}
	r, err := root.PlainRecords(m.tap, dynamic.WithFrameFunc(m.frame))
	if err != nil {
		return nil, err
	}
	if err := m.begin(r.Sent()); err != nil {
		return nil, err
	}
	for r.Next() {
		m.record()
	}
	if m.err != nil {
		return nil, m.err
	}
	if err := m.whole.End(r.Err(), m.tap); err != nil {
		return nil, err
	}
	m.end()
	w := m.whole.Whole
	m.report.Size, m.report.Records, m.report.Whole = w.Bytes, w.Records, w
	return m.report, nil
}

// sorted orders columns by size, larger first.
func sorted(columns []*Column, size func(*Column) int64) []*Column {
	columns = slices.Clone(columns)
	slices.SortStableFunc(columns, func(a, b *Column) int { return int(size(b) - size(a)) })
	return columns
}

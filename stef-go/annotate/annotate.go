// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotate prints the bytes of a STEF stream with their meaning. It is used
// for debugging, the vectors of the specification and the file tool.
//
// Every element of the stream has its own line: a part of a header, the size of a
// column, or one code in a column:
//
//	OFFSET: BYTES # MEANING
//
// This is a frame of three records, with the column of the root and two other columns:
//
//	# frame 1
//	     11: 00                                    # flags none
//	     12: 11                                    # uncompressed size 17
//	     13: 03                                    # records 3
//	     14: 03                                    # size of the size table 3
//	     15.0: 01 01                               # 1 byte: Visit
//	     15.4: 001 00110                           # 6 bytes: Visit.Page
//	     16.4: 001 00101                           # 5 bytes: Visit.Time
//	     17.4: 0000                                # padding
//	# Visit: struct Visit in bits, 1 byte
//	     18.0: 11                                  # r1: modified Page Time
//	     18.2: 10                                  # r2: modified Time
//	     18.4: 10                                  # r3: modified Time
//	     18.6: 00                                  # padding
//	# Visit.Page: string dict(Page) in bytes, 6 bytes
//	     19: 0a 2f 68 6f 6d 65                     # r1: "/home", becomes Page[0]
//	# Visit.Time: int64 in bytes, 5 bytes
//	     25: d0 0f                                 # r1: 1000 (dod 1000, delta 1000)
//	     27: bb 0f                                 # r2: 1010 (dod -990, delta 10)
//	     29: 0a                                    # r3: 1025 (dod 5, delta 15)
//
// Offsets are decimal and count bytes from the start of the stream. In columns of
// bits, the number of the bit in its byte follows; 0 is the most significant bit. An
// offset with a plus sign counts from the start of the payload of its frame: the
// payload is compressed, so it is not in the stream itself.
//
// Frames are listed as they are stored, column by column, in the order of the size
// table. The codes in a column state their record (r1 is the first record of the
// stream) and, in brackets, the element of the enclosing arrays and the pair of the
// enclosing multimaps. For integers, dod is the delta of deltas. A line without bytes is
// not an element; it describes an event at that point of the column.
//
// WithRecords adds the records of each frame below its columns. In the compact form of
// OpenTelemetry, columns contain differences. The records are then printed in the full
// schema, with plain values.
//
// Package annotate has no decoder: it prints the events that package dynamic passes to
// a trace function. So it shows a stream as dynamic reads it. It does not use the
// packages that decode columns and frames for the generated code. Tests compare the
// generated code with dynamic.
package annotate

import (
	"errors"
	"io"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/dynamic/plain"
	"github.com/otelstef/stef/stef-go/schema"
)

// DefaultFrameTextBytes is the default of WithFrameTextBytes.
const DefaultFrameTextBytes = 64 << 20

// Option changes how Stream works.
type Option func(*config)

type config struct {
	reader    []dynamic.ReaderOption
	frameText int
	notes     func(path string) string
	records   bool
	frames    int
}

// WithAssumedSchema sets the schema that is assumed for streams that do not announce a
// wire schema. The default is all fields of the root.
func WithAssumedSchema(w schema.WireSchema) Option {
	return WithReaderOptions(dynamic.WithAssumedSchema(w))
}

// WithReaderOptions passes options to the reader of the stream, such as limits.
func WithReaderOptions(options ...dynamic.ReaderOption) Option {
	return func(c *config) { c.reader = append(c.reader, options...) }
}

// WithFrameTextBytes limits the text that is held in memory about the columns of one
// frame to about n bytes. Values after the limit, and further bytes of the value that
// reaches the limit, are counted but not shown. The default is DefaultFrameTextBytes,
// enough for some 800,000 values a frame.
func WithFrameTextBytes(n int) Option {
	return func(c *config) { c.frameText = n }
}

// WithColumnNotes adds a line below the heading of each column for which f returns a
// text. f receives the path of the column, such as Visit.Page.
func WithColumnNotes(f func(path string) string) Option {
	return func(c *config) { c.notes = f }
}

// WithRecords adds a line for each record, below the columns of its frame. The line has
// the number of the record and its JSON, as dynamic.AppendPlainJSON prints it. Package
// plain converts the records of a stream in the compact form to the full schema, and
// the heading says so:
//
//	# plain records
//	# r1: {"point":{"timestamp":1700000000000000000,"value":100}}
//
// Other streams have the heading "# records". WithFrameTextBytes limits these lines too.
func WithRecords() Option {
	return func(c *config) { c.records = true }
}

// WithMaxFrames ends the text after n frames of data. Errors in later frames are not returned.
// The default is 0, which prints all frames.
func WithMaxFrames(n int) Option {
	return func(c *config) { c.frames = n }
}

// Stream reads a stream from r and prints it to w. root is the type of its records. If
// the stream is damaged or truncated, Stream prints the elements before the damage
// and the damaged bytes. It then returns the error of the reader, of type
// *dynamic.Error. If w fails, Stream returns the error of w. A nil argument or option is
// an error too.
func Stream(w io.Writer, r io.Reader, root *schema.Struct, opts ...Option) error {
	c := config{frameText: DefaultFrameTextBytes}
	if w == nil {
		return errors.New("stef: the destination is nil")
	}
	for _, opt := range opts {
		if opt == nil {
			return errors.New("stef: an option is nil")
		}
		opt(&c)
	}
	p := newPrinter(w, c.frameText)
	p.notes, p.frames = c.notes, c.frames
	if root != nil {
		p.wire.root = root
	}
	options := append(c.reader, dynamic.WithTrace(p.event))
	reader, err := dynamic.NewReader(r, root, options...)
	if err == nil && c.records {
		err = p.withRecords(plain.NewReader(reader))
	} else if err == nil {
		for p.err == nil && !p.over && reader.Next() {
		}
		err = reader.Err()
	}
	if at := (*dynamic.Error)(nil); errors.As(err, &at) && p.beyond(at.Frame) {
		err = nil
	}
	return p.finish(err)
}

// withRecords reads all records, and prints them below the columns of their frame.
func (p *printer) withRecords(reader *plain.Reader) error {
	p.heading = "# records\n"
	if reader.Compact() {
		p.heading = "# plain records\n"
	}
	for p.err == nil && reader.Next() && !p.over {
		p.record(reader.Root(), reader.Record())
	}
	return reader.Err()
}

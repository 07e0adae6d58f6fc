// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of error a stream can have, for errors.Is.
var (
	// ErrCorrupt means that a stream breaks the rules of the format, or ends inside a
	// header or a frame. If the stream ends there, the error also wraps
	// io.ErrUnexpectedEOF.
	ErrCorrupt = errors.New("corrupt stream")
	// ErrLimit means that a stream, or a record to be written, exceeds a limit.
	ErrLimit = errors.New("limit exceeded")
	// ErrFrameTooLarge means that a record made a frame larger than MaxFrameBytes. The writer
	// found this only after it had encoded the record. So, unlike after ErrLimit, the records
	// of the frame are not written, and the writer cannot be used any more.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrSchema means that a reader cannot read the wire schema of a stream, or that a
	// writer cannot write the wire schema of WithSchema.
	ErrSchema = errors.New("incompatible schema")
	// ErrVersion means that a stream has a format version or a compression that this
	// package does not know.
	ErrVersion = errors.New("unsupported version")
	// ErrZstdDict means that a stream needs a zstd dictionary that the reader does not
	// have: see WithZstdDicts.
	ErrZstdDict = errors.New("missing zstd dictionary")
	// ErrClosed is the error of writing to a closed writer.
	ErrClosed = errors.New("writer is closed")
)

// FormatError reports an error and its place in a stream.
type FormatError struct {
	// Offset is the offset in the stream of the header or frame that holds
	// the error, in bytes.
	Offset int64
	// Frame is the number of the frame: 0 for the variable header, and -1 for the
	// fixed header.
	Frame int
	// Record is the number of the record in the stream, counted from 1. It is 0 if
	// the error is not in a record.
	Record uint64
	// Column is the path of the column, from the root down. It is "" if the error is
	// not in a column.
	Column string
	// Err is the error. It wraps ErrCorrupt, ErrLimit, ErrSchema, ErrVersion,
	// ErrZstdDict or the error of the source.
	Err error
}

// Error returns the description and the location of the error.
func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString("stef: ")
	switch {
	case e.Frame < 0:
		b.WriteString("fixed header")
	case e.Frame == 0:
		fmt.Fprintf(&b, "variable header at offset %d", e.Offset)
	default:
		fmt.Fprintf(&b, "frame %d at offset %d", e.Frame, e.Offset)
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, ", record %d", e.Record)
	}
	if e.Column != "" {
		b.WriteString(", column " + e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the error without its location.
func (e *FormatError) Unwrap() error { return e.Err }

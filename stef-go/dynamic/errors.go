// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The kinds of an Error. Callers branch with errors.Is.
var (
	// ErrCorrupt: the bytes are not a STEF stream, or are damaged or truncated.
	ErrCorrupt = errors.New("corrupt stream")
	// ErrLimit: the stream or the value exceeds a limit.
	ErrLimit = errors.New("limit exceeded")
	// ErrReaderLimit: the stream exceeds a limit of the reader, set by WithMaxRecordBytes,
	// WithMaxDictBytes or WithMaxDepth, and not a limit of the format. A reader with other
	// options may read the stream. ErrReaderLimit wraps ErrLimit.
	ErrReaderLimit = fmt.Errorf("%w", ErrLimit)
	// ErrSchema: the stream or the value does not fit the schema, or the schema
	// itself cannot be used.
	ErrSchema = errors.New("schema mismatch")
	// ErrVersion: the stream has an unknown version or an unknown compression.
	ErrVersion = errors.New("unknown version")
	// ErrZstdDict: the stream needs a zstd dictionary. This package cannot read such streams.
	ErrZstdDict = errors.New("missing zstd dictionary")
)

// Error reports what is wrong with a stream and where. Err wraps one of the errors
// above, or is the error of the io.Reader or io.Writer.
type Error struct {
	// Offset is the start in the stream of the header or frame that contains the
	// error.
	Offset int64
	// Frame is 0 in the headers and counts the data frames from 1.
	Frame int
	// Record counts the records of the stream from 1. It is 0 if the error is in no record.
	Record uint64
	// Column is the path of the column, or "" if the error is in no column.
	Column string
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stef: offset %d", e.Offset)
	if e.Frame > 0 {
		fmt.Fprintf(&b, ", frame %d", e.Frame)
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, ", record %d", e.Record)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %s", e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// fault returns an error of the given kind. A caller that knows the offset and the record wraps it in an
// Error.
func fault(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
}

// cutOff returns the error of a stream that ends inside an element. what names the element.
func cutOff(what string) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, what, io.ErrUnexpectedEOF)
}

// sourceError returns the error of a failed read of an element. what names the element. It
// returns cutOff at the end of the source, otherwise the error of the source.
func sourceError(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return cutOff(what)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}

// inColumn adds the path of c to err, unless err already names a column.
func inColumn(c *column, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Column: c.path, Err: err}
}

// withPlace returns err as an Error and sets its place in the stream.
func withPlace(err error, offset int64, frame int, record uint64) error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	e.Offset, e.Frame, e.Record = offset, frame, record
	return e
}

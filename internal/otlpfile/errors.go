// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"errors"
	"fmt"
	"strings"
)

// Causes that callers distinguish. A truncated file has the cause
// io.ErrUnexpectedEOF. Every cause except ErrRead is about the content of the
// file.
var (
	// ErrCorrupt: the content is not valid OTLP of the format and signal.
	ErrCorrupt = errors.New("corrupt")
	// ErrTooLarge: a part is over the limit of the reader, or values are nested
	// too deeply.
	ErrTooLarge = errors.New("over the limit")
	// ErrFormat: the format is unknown and cannot be guessed.
	ErrFormat = errors.New("unknown format")
	// ErrSignal: the signal is unknown and cannot be guessed, or it is not the
	// requested signal.
	ErrSignal = errors.New("signal")
	// ErrProfiles: the file holds profiles. Its text is the end of a sentence that begins with, for
	// example, "it holds profiles,".
	ErrProfiles = errors.New("which STEF does not support: use OTLP for them")
	// ErrRead: the source failed, not its content.
	ErrRead = errors.New("cannot read")
)

// An Error says where in a file reading failed. Fields that do not apply are
// zero.
type Error struct {
	Format Format
	Signal Signal
	Part   int // the number of the part, JSON message or top-level entry, from 1
	Line   int // the line of JSON, from 1
	// OneLine is the line of the message with the error. It is 0 if the file does not seem to
	// have one JSON message per line, or if its other lines do not seem to be OTLP.
	OneLine int
	Offset  int64 // bytes before the error, in the uncompressed content
	// Unpacked says that the file is compressed, so that Offset is no offset in the file.
	Unpacked bool
	// Cut reports whether the file ends too early. The part or message that begins at Offset
	// is then not whole.
	Cut bool
	// Found is the signal of the content if it differs from Signal. Err is then ErrSignal.
	Found Signal
	Err   error
}

// Error returns one line of text.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("otlpfile: ")
	if e.Format != FormatUnknown {
		fmt.Fprintf(&b, "%s ", e.Format)
	}
	if e.Signal != SignalUnknown {
		fmt.Fprintf(&b, "%s ", e.Signal)
	}
	if e.Part > 0 {
		fmt.Fprintf(&b, "%s %d, ", [...]string{"part", "part", "entry", "message"}[min(e.Format, JSON)], e.Part)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, ", e.Line)
	}
	of := ""
	if e.Unpacked {
		of = " of the decompressed content"
	}
	fmt.Fprintf(&b, "byte %d%s: %v", e.Offset, of, e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

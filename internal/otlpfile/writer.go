// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxWritten is the size of a message above which a Writer divides a batch. It is less than
// DefaultMaxPart. The length of a part of at least 160 MiB can begin with the byte 0x0a. If a file began
// with such a part, GuessFormat would return the format of a file of one message.
const maxWritten = 160<<20 - 1

// A Writer writes batches to a file. It is not safe for concurrent use.
type Writer struct {
	format Format
	signal Signal
	out    *bufio.Writer
	most   int // maxWritten; tests have a smaller limit
	parts  int
	err    error
}

var errClosed = errors.New("otlpfile: the writer is closed")

// NewWriter begins a file of a format and a signal.
func NewWriter(w io.Writer, f Format, s Signal) (*Writer, error) {
	if f == FormatUnknown || f > JSON {
		return nil, fmt.Errorf("otlpfile: NewWriter: %w", ErrFormat)
	}
	if s == SignalUnknown || s > Logs {
		return nil, fmt.Errorf("otlpfile: NewWriter: %w is not metrics, traces or logs", ErrSignal)
	}
	return &Writer{format: f, signal: s, out: bufio.NewWriterSize(w, 64<<10), most: maxWritten}, nil
}

// Write appends a batch: a part, a line of JSON, or, in a file of one message, more
// entries of this message. If the batch has the bytes of its message, Write writes
// these bytes. If the message is larger than a Reader accepts, Write divides the batch: it writes
// several messages. It omits single items that are larger than that, and returns an *ItemsError.
// After any other error the file is unusable, and Write returns the same error again.
func (w *Writer) Write(b Batch) error {
	if w.err != nil {
		return w.err
	}
	if b.Signal != w.signal {
		return fmt.Errorf("otlpfile: %w: a batch of %s cannot be written to a file of %s", ErrSignal, b.Signal, w.signal)
	}
	var omitted ItemsError
	if err := w.write(b, &omitted); err != nil {
		w.err = fmt.Errorf("otlpfile: writing %s %s: %w", w.format, w.signal, err)
		return w.err
	}
	if omitted.Err != nil {
		omitted.Err = fmt.Errorf("otlpfile: writing %s %s: %w", w.format, w.signal, omitted.Err)
		return &omitted
	}
	return nil
}

// An ItemsError says that a Writer has written all items of a batch except some that no Reader would
// accept.
type ItemsError struct {
	Items int   // the number of omitted items
	Err   error // the error of the first one
}

// Error returns the error of the first item.
func (e *ItemsError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the first item.
func (e *ItemsError) Unwrap() error { return e.Err }

// Parts returns how many messages were written. In a file of one message these are its pieces.
func (w *Writer) Parts() int { return w.parts }

// write writes a batch, and adds the items that it omits to omitted.
func (w *Writer) write(b Batch, omitted *ItemsError) error {
	message, err := w.message(b)
	if err != nil {
		return err
	}
	copied := w.format != JSON && b.OTLP != nil // bytes that a Reader has read
	if len(message) > DefaultMaxPart || len(message) > w.most && !copied {
		if !b.HasPdata() {
			if b, err = Unmarshal(b.Signal, b.OTLP); err != nil {
				return err
			}
		}
		if n := b.Items(); n > 1 {
			if err := w.write(b.part(0, n/2), omitted); err != nil {
				return err
			}
			return w.write(b.part(n/2, n), omitted)
		}
	}
	if len(message) > DefaultMaxPart {
		omitted.Items += b.Items()
		if omitted.Err == nil {
			omitted.Err = fmt.Errorf("%w: a message of one item has %d bytes, and readers accept at most %d", ErrTooLarge, len(message), DefaultMaxPart)
		}
		return nil
	}
	w.parts++
	if w.format == Parts {
		if _, err := w.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(message)))); err != nil {
			return err
		}
	}
	if _, err = w.out.Write(message); err != nil || w.format != JSON {
		return err
	}
	return w.out.WriteByte('\n')
}

// message returns the message of a batch in the format of the file.
func (w *Writer) message(b Batch) ([]byte, error) {
	if w.format == JSON {
		return b.JSON()
	}
	return b.Marshal()
}

// Flush passes the written content to the underlying writer.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// Close ends the file. It does not close the underlying writer. A second Close does nothing.
func (w *Writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	err := w.err
	if err == nil {
		err = w.out.Flush()
	}
	w.err = errClosed
	if err != nil {
		return fmt.Errorf("otlpfile: closing %s %s: %w", w.format, w.signal, err)
	}
	return nil
}

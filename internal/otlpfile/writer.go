// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A Writer writes batches to a file. It is not safe for concurrent use.
type Writer struct {
	format Format
	signal Signal
	out    *bufio.Writer
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
	return &Writer{format: f, signal: s, out: bufio.NewWriterSize(w, 64<<10)}, nil
}

// Write appends a batch: a part, a line of JSON, or, in a file of one message, more
// entries of this message. If the batch has the bytes of its message, Write writes
// these bytes. After an error the file is unusable, and Write returns the same error again.
func (w *Writer) Write(b Batch) error {
	if w.err != nil {
		return w.err
	}
	if b.Signal != w.signal {
		return fmt.Errorf("otlpfile: %w: a batch of %s cannot be written to a file of %s", ErrSignal, b.Signal, w.signal)
	}
	if err := w.write(b); err != nil {
		w.err = fmt.Errorf("otlpfile: writing %s %s: %w", w.format, w.signal, err)
	}
	return w.err
}

func (w *Writer) write(b Batch) error {
	if w.format == JSON {
		text, err := b.JSON()
		if err != nil {
			return err
		}
		if _, err := w.out.Write(text); err != nil {
			return err
		}
		return w.out.WriteByte('\n')
	}
	otlp, err := b.Marshal()
	if err != nil {
		return err
	}
	if w.format == Parts {
		if uint64(len(otlp)) > math.MaxUint32 {
			return fmt.Errorf("%w: a part of %d bytes", ErrTooLarge, len(otlp))
		}
		if _, err := w.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(otlp)))); err != nil {
			return err
		}
	}
	_, err = w.out.Write(otlp)
	return err
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

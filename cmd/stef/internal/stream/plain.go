// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"io"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// PlainReader reads the records of a stream as if it were in the full schema.
type PlainReader struct {
	*dynamic.Reader
	converted *remembered // nil if the stream is read as it is
}

// Err returns the error that ended the reading. Its offset is that of the stream, also
// where the records are read from a conversion of it.
func (r *PlainReader) Err() error {
	err := r.Reader.Err()
	if err != nil && r.converted != nil && r.converted.err != nil {
		return r.converted.err
	}
	return err
}

// remembered keeps the error of a source, because the reader above it adds its own
// offset.
type remembered struct {
	src io.Reader
	err error
}

func (s *remembered) Read(b []byte) (int, error) {
	n, err := s.src.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// PlainRecords is Records for callers that print records. It reads a stream in
// the compact form as if it were in the full schema, with the same frames. Callers
// call stop when they need no more records; it ends the conversion at its next frame.
func (r *Root) PlainRecords(src io.Reader) (records *PlainReader, stop func(), err error) {
	var seen bytes.Buffer
	head, err := r.Records(io.TeeReader(src, &seen))
	src = io.MultiReader(&seen, src)
	if err != nil || r.plain == nil || !slices.Equal(head.Header().Wire, schema.WireOf(r.Wire)) {
		as, err := dynamic.NewReader(src, r.Struct, r.ReaderOptions()...)
		return &PlainReader{Reader: as}, func() {}, err
	}
	from, to := io.Pipe()
	l := r.limit()
	limits := stef.Limits{RecordBytes: l.MemoryBytes, DictBytes: l.MemoryBytes, Depth: l.Depth}
	go func() { to.CloseWithError(r.plain(src, to, limits)) }()
	stop = func() { from.Close() }
	converted := &remembered{src: from}
	as, err := dynamic.NewReader(converted, r.Struct, r.ReaderOptions()...)
	if err != nil {
		stop()
		if converted.err != nil {
			err = converted.err
		}
	}
	return &PlainReader{as, converted}, stop, err
}

// record is a pointer to a generated record.
type record[R any] interface {
	*R
	CopyFrom(*R)
}

// reader and writer are the generated readers and writers of records R.
type reader[R any] interface {
	Next() bool
	Record() *R
	BufferedRecords() uint64
	Err() error
	Close()
}

type writer[R any] interface {
	Record() *R
	Write() error
	Flush() error
	Close() error
}

// plain returns a function that copies a stream of records R into the full schema.
func plain[R any, P record[R], In reader[R], Out writer[R]](
	newReader func(io.Reader, ...stef.ReaderOption) (In, error), newWriter func(io.Writer, ...stef.WriterOption) (Out, error),
) func(in io.Reader, out io.Writer, limits stef.Limits) error {
	return func(in io.Reader, out io.Writer, limits stef.Limits) error {
		r, err := newReader(in, stef.WithLimits(limits))
		if err != nil {
			return err
		}
		defer r.Close()
		w, err := newWriter(out, stef.WithSchemaHeader())
		if err != nil {
			return err
		}
		for r.Next() {
			P(w.Record()).CopyFrom(r.Record())
			if err := w.Write(); err != nil {
				return err
			}
			if r.BufferedRecords() == 0 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
		return r.Err()
	}
}

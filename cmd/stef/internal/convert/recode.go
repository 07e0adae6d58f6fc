// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
)

// recognise returns the requested root. If no root is requested, it returns the root of the
// stream. It returns an error if the stream clearly has another root than the requested
// root.
func recognise(in *file.Input, o *Options) (*stream.Root, io.Reader, error) {
	root, src, err := rootOf(in, o)
	if err == nil && o.Root != nil && root != o.Root {
		return nil, nil, otherSignal(in.Name, root, o)
	}
	return root, src, err
}

// rootOf is like recognise, but if the stream clearly has another root than the requested root,
// it returns the root of the stream without an error.
func rootOf(in *file.Input, o *Options) (*stream.Root, io.Reader, error) {
	if o.Root == nil {
		return stream.Recognise(in)
	}
	other, src := stream.Roots().Other(in, o.Root)
	return cmp.Or(other, o.Root), src, nil
}

// otherSignal is the error of an input that is of another root than the flags say.
func otherSignal(name string, root *stream.Root, o *Options) error {
	return &file.ContentError{Name: name, Err: OtherSignal(root.Signal.String(), o.Root.Signal, o.RootFlag)}
}

// recode converts STEF to STEF.
func recode(in *file.Input, out io.Writer, o *Options) (*Result, error) {
	root, src, err := recognise(in, o)
	if err != nil {
		return nil, err
	}
	res := &Result{From: o.From, To: o.To, Root: root}
	return res, conversions[root.Signal].recode(src, out, o, res)
}

// reader and writer are implemented by the generated types that read and write records R.
type reader[R any] interface {
	Next() bool
	Record() *R
	Err() error
	BufferedRecords() uint64
	Stats() stef.ReaderStats
	Schema() schema.WireSchema
	UserData() map[string]string
	Close()
}

type writer[R any] interface {
	Record() *R
	Write() error
	Flush() error
	Close() error
	Stats() stef.WriterStats
	Schema() schema.WireSchema
}

// record is a pointer to a generated record.
type record[R any] interface {
	*R
	CopyFrom(*R)
}

// pass copies the records of r to w and ends frames where r's frames end. If
// the streams have different schemas and reshape is not nil, it converts a copy
// of each record from the input schema to the output schema.
func pass[R any, P record[R]](r reader[R], w writer[R], copied P, reshape func(P) error, res *Result, o *Options) error {
	defer r.Close()
	if slices.Equal(r.Schema(), w.Schema()) {
		reshape = nil
	}
	for r.Next() {
		rec := r.Record()
		if reshape != nil {
			// Use a copy, not the record of the writer. The writer compares
			// values with the values of the last record, and must not see a
			// value that changes and then changes back.
			copied.CopyFrom(rec)
			if err := reshape(copied); err != nil {
				err = fmt.Errorf("record %d: %w", r.Stats().Records, err)
				if err := res.skip(o, 1, err); err != nil {
					return err
				}
				continue
			}
			rec = copied
		}
		P(w.Record()).CopyFrom(rec)
		if err := w.Write(); err != nil {
			return err
		}
		if r.BufferedRecords() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if err := r.Err(); err != nil && !res.cut(o, err, r.Stats().Records) {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	res.Items, res.PartsIn, res.PartsOut = w.Stats().Records, wholeFrames(r.Stats().Frames, r.Err()), w.Stats().Frames
	return res.complete(r.Stats().Records)
}

// shape converts records P from one schema to another, and describes what the records lose.
type shape[P any] interface {
	reshape(P) error
	losses() []string
}

// recodes returns the function that copies the records of a stream of a signal. newShape
// is nil for a signal that has one schema only.
func recodes[R any, P record[R], In reader[R], Out writer[R]](s otlpfile.Signal, newRecord func() P,
	newReader func(io.Reader, ...stef.ReaderOption) (In, error), newWriter func(io.Writer, ...stef.WriterOption) (Out, error),
	newShape func(root *stream.Root, from, to schema.WireSchema) (shape[P], error)) recoder {
	return func(in io.Reader, out io.Writer, o *Options, res *Result) error {
		r, err := newReader(in, o.readerOptions()...)
		if err != nil {
			return err
		}
		opts, err := o.writerOptions(s, stef.WithUserData(r.UserData()))
		if err != nil {
			return err
		}
		w, err := newWriter(out, opts...)
		if err != nil {
			return err
		}
		if newShape == nil {
			return pass(r, w, newRecord(), nil, res, o)
		}
		shape, err := newShape(res.Root, r.Schema(), w.Schema())
		if err != nil {
			return err
		}
		err = pass(r, w, newRecord(), shape.reshape, res, o)
		res.Losses = shape.losses()
		return err
	}
}

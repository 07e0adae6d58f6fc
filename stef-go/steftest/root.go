// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// Writer has the common methods of generated writers of records R.
type Writer[R any] interface {
	Record() R
	Write() error
	Flush() error
	Close() error
	Stats() stef.WriterStats
	Schema() schema.WireSchema
	ContinueFrom(previous any)
}

// Reader has the common methods of generated readers of records R.
type Reader[R any] interface {
	Next() bool
	Record() R
	Err() error
	BufferedRecords() uint64
	Run(fields uint64) int
	Stats() stef.ReaderStats
	Schema() schema.WireSchema
	UserData() map[string]string
	Close()
}

// Root connects a root struct with its generated code.
type Root struct {
	// Schema is the root struct.
	Schema *schema.Struct
	// Base is the wire schema of streams that announce no schema.
	Base schema.WireSchema
	// Known is the wire schema of all fields that the generated code knows, if it knows
	// more than Schema has.
	Known schema.WireSchema
	// NewWriter and NewReader call the functions of the generated code. Their records
	// have the type any.
	NewWriter func(io.Writer, ...stef.WriterOption) (Writer[any], error)
	NewReader func(io.Reader, ...stef.ReaderOption) (Reader[any], error)

	make map[reflect.Type]reflect.Value
	// names returns the names of all roots of the generated code, or nil if there is only one.
	names func() ([]string, error)
}

// NewRoot connects a root struct with its generated writer and reader. base is the wire
// schema of streams that announce no schema; nil means all fields of root. constructors are
// the generated constructors, such as otelstef.NewResource, of all structs, oneofs and
// multimaps below root; otelstef.MetricsConstructors and similar functions return them.
// Mutators need constructors to make values that are not part of a record: Mutate,
// SelfContained and NewMutator fail if a constructor is missing.
func NewRoot[R any, W Writer[R], D Reader[R]](root *schema.Struct, base schema.WireSchema,
	newWriter func(io.Writer, ...stef.WriterOption) (W, error),
	newReader func(io.Reader, ...stef.ReaderOption) (D, error), constructors ...any) *Root {
	if base == nil {
		base = schema.WireOf(root)
	}
	r := &Root{Schema: root, Base: base, make: map[reflect.Type]reflect.Value{}}
	r.NewWriter = func(w io.Writer, options ...stef.WriterOption) (Writer[any], error) {
		x, err := newWriter(w, options...)
		if err != nil {
			return nil, err
		}
		return anyWriter[R]{x}, nil
	}
	r.NewReader = func(src io.Reader, options ...stef.ReaderOption) (Reader[any], error) {
		x, err := newReader(src, options...)
		if err != nil {
			return nil, err
		}
		return anyReader[R]{x}, nil
	}
	r.names = func() ([]string, error) {
		var empty bytes.Buffer
		w, err := newWriter(&empty)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, err
		}
		d, err := newReader(&empty)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return rootNames(d)
	}
	for _, c := range constructors {
		f := reflect.ValueOf(c)
		if f.Kind() != reflect.Func || f.Type().NumIn() != 0 || f.Type().NumOut() != 1 {
			panic(fmt.Sprintf("steftest: a %s is not a constructor", f.Type()))
		}
		r.make[f.Type().Out(0)] = f
	}
	return r
}

// rootNames returns the names of the roots of the generated code of a reader.
func rootNames(reader any) ([]string, error) {
	if v := reflect.Indirect(reflect.ValueOf(reader)); v.Kind() == reflect.Struct {
		if f := v.FieldByName("ReadStream"); f.IsValid() && f.CanAddr() {
			if s, ok := f.Addr().Interface().(*stefrt.ReadStream); ok {
				return stefrt.RootNames(s), nil
			}
		}
	}
	return nil, fmt.Errorf("%T is not a generated reader", reader)
}

type anyWriter[R any] struct{ Writer[R] }

func (w anyWriter[R]) Record() any { return w.Writer.Record() }

func (w anyWriter[R]) ContinueFrom(previous any) {
	w.Writer.ContinueFrom(typed[R]{previous.(Writer[any]).Record().(R)})
}

// typed gives a record the method Record, which returns the record with its type.
type typed[R any] struct{ record R }

func (t typed[R]) Record() R { return t.record }

type anyReader[R any] struct{ Reader[R] }

func (r anyReader[R]) Record() any { return r.Reader.Record() }

// free returns a new value of the pointer type v that is not part of a record. It needs a
// constructor of v: call complete first, which checks that there is one.
func (r *Root) free(v reflect.Type) reflect.Value { return r.make[v].Call(nil)[0] }

// Write writes records with the generated writer.
func (r *Root) Write(recs []*dynamic.Struct, options ...stef.WriterOption) ([]byte, error) {
	var out bytes.Buffer
	w, err := r.NewWriter(&out, options...)
	if err != nil {
		return nil, err
	}
	for i, rec := range recs {
		Set(w.Record(), r.Schema, rec)
		if err := w.Write(); err != nil {
			return out.Bytes(), fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// Read reads records with the generated reader until the end of the stream or
// an error.
func (r *Root) Read(src io.Reader, options ...stef.ReaderOption) ([]*dynamic.Struct, error) {
	d, err := r.NewReader(src, options...)
	if err != nil {
		return nil, err
	}
	var recs []*dynamic.Struct
	for d.Next() {
		recs = append(recs, Value(d.Record(), r.Schema, nil))
	}
	return recs, d.Err()
}

// ReadDynamic reads records with package dynamic until the end of the stream
// or an error.
func (r *Root) ReadDynamic(src io.Reader, options ...dynamic.ReaderOption) ([]*dynamic.Struct, error) {
	d, err := dynamic.NewReader(src, r.Schema, append([]dynamic.ReaderOption{dynamic.WithAssumedSchema(r.Base)}, options...)...)
	if err != nil {
		return nil, err
	}
	var recs []*dynamic.Struct
	for d.Next() {
		recs = append(recs, d.Record())
	}
	return recs, d.Err()
}

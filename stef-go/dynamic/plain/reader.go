// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Reader reads plain records: the records of a stream in the full schema. It is not safe for
// concurrent use.
type Reader struct {
	in   *dynamic.Reader
	root *schema.Struct
	// form undoes the compact form; nil for other streams.
	form     form
	restarts uint64
	record   *dynamic.Struct
	err      error
}

// form undoes the compact form of the records of one root.
type form interface {
	// reset empties the state.
	reset()
	// plain returns the record of the full schema. rec is not modified.
	plain(rec view) (*dynamic.Struct, error)
}

// NewReader returns a Reader of the records of in, which must not have read a record
// yet. If the stream is not in the compact form, the Reader only removes the fields of
// the compact form from the records.
func NewReader(in *dynamic.Reader) *Reader {
	r := &Reader{in: in, restarts: in.Restarts()}
	r.root, r.form = recognise(in.Root(), in.Kept())
	return r
}

// Root returns the struct of the plain records: the root of the dynamic.Reader without
// the fields of the compact form.
func (r *Reader) Root() *schema.Struct { return r.root }

// Compact reports whether the stream is in the compact form.
//
// spec: #compact-schema
func (r *Reader) Compact() bool { return r.form != nil }

// Next reads the next record. It returns false at the end of the stream and after an
// error; see Err.
func (r *Reader) Next() bool {
	if r.err != nil || !r.in.Next() {
		return false
	}
	rec := view{r.in.Root(), r.in.Record()}
	if r.form == nil {
		r.record = r.withoutForm(rec)
		return true
	}
	if n := r.in.Restarts(); n != r.restarts {
		r.restarts = n
		r.form.reset()
	}
	plain, err := r.form.plain(rec)
	if err != nil {
		frame := r.in.Frame()
		r.err = &dynamic.Error{Offset: frame.Offset, Frame: frame.Index, Record: r.in.Records(), Err: err}
		return false
	}
	r.record = plain
	return true
}

// Record returns the plain record that Next read last. It shares parts with other records
// and must not be modified, but can be kept.
func (r *Reader) Record() *dynamic.Struct { return r.record }

// Err returns the error that ended the reading, nil at the end of the stream. It is of
// type *dynamic.Error.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.in.Err()
}

// withoutForm returns rec without the fields of the compact form.
func (r *Reader) withoutForm(rec view) *dynamic.Struct {
	if r.root == rec.typ {
		return rec.val
	}
	fields := map[string]any{}
	for _, name := range extended {
		if indexOf(r.root, name) >= 0 {
			fields[name] = rec.sub(name).with(structOf(r.root, name), nil)
		}
	}
	return rec.with(r.root, fields)
}

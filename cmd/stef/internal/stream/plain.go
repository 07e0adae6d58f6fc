// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"io"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/dynamic/plain"
	"github.com/otelstef/stef/stef-go/schema"
)

// PlainReader reads the records of a stream as if the stream were in the full schema.
type PlainReader struct {
	*plain.Reader
	in   *dynamic.Reader
	root *schema.Struct
}

// PlainRecords is like Records, but reads a stream in the compact form as if the stream were in the
// full schema. Callers print these records, or check that other readers can read the stream: the
// codes of the compact form can be damaged although Records returns no error.
func (r *Root) PlainRecords(src io.Reader, opts ...dynamic.ReaderOption) (*PlainReader, error) {
	in, err := r.Records(src, opts...)
	if err != nil {
		return nil, err
	}
	p := &PlainReader{plain.NewReader(in), in, r.Struct}
	if r.Struct == r.Wire {
		p.root = p.Reader.Root()
	}
	return p, nil
}

// Root returns the struct of the records. It is Root.Struct, unless a schema of the user has
// the fields of the compact form.
func (r *PlainReader) Root() *schema.Struct { return r.root }

// Records returns how many records were read.
func (r *PlainReader) Records() uint64 { return r.in.Records() }

// Sent returns the reader of the records as they are sent. Do not call its method Next.
func (r *PlainReader) Sent() *dynamic.Reader { return r.in }

// Header returns the contents of the headers.
func (r *PlainReader) Header() *dynamic.Header { return r.in.Header() }

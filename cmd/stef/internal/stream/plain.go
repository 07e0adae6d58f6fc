// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"io"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// PlainRecords is Records for callers that print records. It reads a stream in
// the compact form as if it were in the full schema, with the same frames. Callers
// call stop when they need no more records; it ends the conversion at its next frame.
func (r *Root) PlainRecords(src io.Reader) (records *dynamic.Reader, stop func(), err error) {
	var seen bytes.Buffer
	head, err := r.Records(io.TeeReader(src, &seen))
	src = io.MultiReader(&seen, src)
	if err != nil || r.plain == nil || !slices.Equal(head.Header().Wire, schema.WireOf(r.Wire)) {
		records, err = dynamic.NewReader(src, r.Struct, dynamic.WithAssumedWire(r.Base))
		return records, func() {}, err
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(r.plain(src, to)) }()
	stop = func() { from.Close() }
	records, err = dynamic.NewReader(from, r.Struct, dynamic.WithAssumedWire(r.Base))
	if err != nil {
		stop()
	}
	return records, stop, err
}

// copyable is a pointer to a record.
type copyable[R any] interface {
	*R
	CopyFrom(*R)
}

// copyRecords copies a stream.
func copyRecords[R any, P copyable[R]](r interface {
	Next() bool
	Record() *R
	Buffered() uint64
	Err() error
	Close()
}, w interface {
	Record() *R
	Write() error
	Flush() error
	Close() error
}) error {
	defer r.Close()
	for r.Next() {
		P(w.Record()).CopyFrom(r.Record())
		if err := w.Write(); err != nil {
			return err
		}
		if r.Buffered() == 0 {
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

func plainMetrics(in io.Reader, out io.Writer) error {
	r, err := otelstef.NewMetricsReader(in)
	if err != nil {
		return err
	}
	w, err := otelstef.NewMetricsWriter(out, stef.WithSchemaHeader())
	if err != nil {
		return err
	}
	return copyRecords(r, w)
}

func plainSpans(in io.Reader, out io.Writer) error {
	r, err := otelstef.NewSpansReader(in)
	if err != nil {
		return err
	}
	w, err := otelstef.NewSpansWriter(out, stef.WithSchemaHeader())
	if err != nil {
		return err
	}
	return copyRecords(r, w)
}

func plainLogs(in io.Reader, out io.Writer) error {
	r, err := otelstef.NewLogsReader(in)
	if err != nil {
		return err
	}
	w, err := otelstef.NewLogsWriter(out, stef.WithSchemaHeader())
	if err != nil {
		return err
	}
	return copyRecords(r, w)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package plain reads streams in the compact form as records of the full schema.
//
// In the compact form of OpenTelemetry, a stream has times, values and ids as
// differences from earlier records. Package dynamic decodes such a stream by its
// schema, so its records have these differences. A Reader of this package restores the
// times, values and ids:
//
//	in, err := dynamic.NewReader(src, root) // root has the fields of compact.stef
//	r := plain.NewReader(in)
//	for r.Next() {
//		fmt.Println(r.Record()) // of the full schema, r.Root()
//	}
//	err = r.Err()
//
// It is a second, slow and simple implementation of the reading side of the form. It was
// written from the text of chapter 17 of the specification, not from the code of the
// generated readers of package otelstef, and shares no code with them. Tests read the
// same streams with both.
//
// # Files
//
// reader.go passes records to the form of their root: logs.go, spans.go or metrics.go. recognise.go
// decides whether a stream is in the compact form, view.go accesses the fields of its records, and
// errors.go has the errors. The other files restore parts of records:
//
//	residual.go    codes of numbers and times
//	ids.go         traces and ids
//	references.go  texts that refer to the record
//	series.go      tables of series
//	points.go      points
//	values.go      parts of a value
//	exemplars.go   repeated exemplars
//
// # Limits
//
// A Reader refuses with dynamic.ErrCorrupt what the form requires it to refuse, and with
// ErrUndefined content that no writer sends. If a stream exceeds a limit that writers must keep,
// the error is dynamic.ErrLimit. A Reader has no options: the options of the dynamic.Reader limit
// the records before they are restored.
//
// spec: #compact
package plain

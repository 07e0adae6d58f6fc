// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package plain reads streams in the compact form as records of the full schema.
//
// A stream of OpenTelemetry in the compact form has times, values and ids as differences
// from earlier records. Package dynamic decodes such a stream by its schema, so its
// records have the fields as they are sent. A Reader of this package undoes the form:
//
//	in, err := dynamic.NewReader(src, root) // root has the fields of compact.stef
//	r := plain.NewReader(in)
//	for r.Next() {
//		fmt.Println(r.Record()) // of the full schema, r.Root()
//	}
//	err = r.Err()
//
// It is a second, slow and simple implementation of the reading side of the form. It was
// written from the text of chapter 17 of the specification, without a look at the
// generated readers of package otelstef, and shares no code with them. Tests read the
// same streams with both.
//
// # Files
//
// reader.go passes records to the form of their root: logs.go, spans.go or metrics.go.
// recognise.go decides whether a stream is in the compact form. residual.go has the
// codes of numbers and times, ids.go traces and ids, references.go texts that refer to
// the record, series.go the tables of series, points.go the rules of a point, values.go
// the parts of a value, exemplars.go repeated exemplars.
//
// # Limits
//
// A Reader refuses what the form requires it to refuse, with dynamic.ErrCorrupt, and
// content that no writer sends, with ErrUndefined. Its state has the limits of the form;
// beyond those that a writer has to keep the error is dynamic.ErrLimit.
// It has no options of its own: those of the dynamic.Reader limit the records as they are
// sent.
//
// spec: #compact
package plain

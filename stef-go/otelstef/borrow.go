// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"strings"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// NextBorrowing is Next for who is done with a record before the next one. A text body
// then lies in memory of the reader, which saves a copy of all of them, and is good
// until NextBorrowing is called again; clone it to keep it. A stream that is read so
// must be read so to its end, or to a Reset.
func (r *LogsReader) NextBorrowing() bool {
	if body := &r.record.record.body; r.Buffered() == 0 && body.typ == LogBodyTypeString {
		body.str = strings.Clone(body.str) // the body of the next record may be the same
	}
	if !stefrt.BeginRead(&r.ReadStream) {
		return false
	}
	r.decoder.record.body.string.Borrow()
	if r.form.on {
		r.form.decode(r)
	} else {
		r.decoder.Decode(&r.record)
	}
	return stefrt.EndRead(&r.ReadStream)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"strings"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// NextBorrowing is like Next, but does not copy text bodies. Use it when each record is
// processed before the next record is read. A text body is then in memory of the reader,
// and is valid until the next call of NextBorrowing; clone it to keep it. Read the whole
// stream either with Next or with NextBorrowing; Reset begins a new stream.
func (r *LogsReader) NextBorrowing() bool {
	if body := &r.record.record.body; r.BufferedRecords() == 0 && body.typ == LogBodyTypeString {
		body.str = strings.Clone(body.str) // the next record may have the same body, but the memory of the frame is reused
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

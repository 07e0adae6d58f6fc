// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Budget bounds what a decoder puts into one batch. A short stream can refer to a
// large text many times: its memory is shared, but the batch as OTLP repeats it.
type Budget struct {
	// Spent is an upper estimate of both the size of the batch as OTLP and of its
	// memory. Text counts each time it is used.
	Spent int
	// Max is the bytes of a batch.
	Max  int
	dict int // bytes of the dictionaries at the first record of the batch
}

// maxRecordBytes is what one record may add to a batch, with the containers that
// it opens. Encoders refuse items and containers of over mapping.MaxItemBytes.
const maxRecordBytes = 4 * mapping.MaxItemBytes

// Full reports whether a batch must end before the record that follows record n.
// dict is the size of the dictionaries: what the batch adds to them counts, since
// records can add to them what is no part of the batch.
func (b *Budget) Full(n, dict int) bool {
	if n <= 1 || dict < b.dict {
		b.dict = dict
	}
	return b.Spent+dict-b.dict >= b.Max
}

// Check returns an error if the record that was just added to the batch is too
// large. before is what was spent before it.
func (b *Budget) Check(record uint64, before int) error {
	if n := b.Spent - before; n > maxRecordBytes {
		return fmt.Errorf("stefpdata: %w: record %d is about %d bytes as OTLP, at most %d", stef.ErrLimit, record, n, maxRecordBytes)
	}
	return nil
}

// Text counts a text that is set in the batch, and returns it.
func (b *Budget) Text(s string) string {
	b.Spent += len(s)
	return s
}

// DropLast removes the last element of a slice of pdata with n elements.
func DropLast[T any](n int, removeIf func(func(T) bool)) {
	i := 0
	removeIf(func(T) bool {
		i++
		return i == n
	})
}

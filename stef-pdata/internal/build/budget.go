// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Budget limits the size of one decoded batch. A short stream can refer to a large text many
// times. The references share the memory of the text, but OTLP repeats it.
type Budget struct {
	// Spent is an upper estimate of both the OTLP size and the memory of the batch.
	// Each use of a text counts.
	Spent int
	// Max is the maximum number of bytes of a batch.
	Max   int
	state int // memory of the reader at the first record of the batch
}

// Full reports whether a batch of n records must end. state is the memory of the reader.
// Its growth during the batch counts, because records can add dictionary entries and other
// data that are not part of the batch.
func (b *Budget) Full(n, state int) bool {
	if n <= 1 || state < b.state {
		b.state = state
	}
	return b.Spent+state-b.state >= b.Max
}

// Room returns how many more items the batch can have, but not more than most. Callers reserve
// space for this number only, because a short frame can contain millions of records.
func (b *Budget) Room(most int) int { return min(most, 1+(b.Max-b.Spent)/builtPointBytes) }

// Check returns an error if the record that was just added to the batch is too large.
// before is the value of Spent before that record.
func (b *Budget) Check(record uint64, before int) error {
	if n := b.Spent - before; n > mapping.MaxRecordBytes {
		return fmt.Errorf("stefpdata: %w: record %d takes about %d bytes as OTLP, at most %d are allowed", stef.ErrLimit, record, n, mapping.MaxRecordBytes)
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

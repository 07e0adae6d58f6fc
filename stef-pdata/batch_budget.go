// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
)

// batchBudget bounds what a decoder puts into one batch. A short stream can refer
// to a large text many times: its memory is shared, but the batch as OTLP repeats
// it.
type batchBudget struct {
	// spent is an upper estimate of both the size of the batch as OTLP and of its
	// memory. Text counts each time it is used.
	spent int
	max   int // bytes of a batch
	dict  int // bytes of the dictionaries at the first record of the batch
}

// maxRecordBytes is what one record may add to a batch, with the containers that
// it opens. Encoders refuse items and containers of over MaxItemBytes.
const maxRecordBytes = 4 * MaxItemBytes

// full reports whether a batch must end before the record that follows record n.
// dict is the size of the dictionaries: what the batch adds to them counts, since
// records can add to them what is no part of the batch.
func (b *batchBudget) full(n, dict int) bool {
	if n <= 1 || dict < b.dict {
		b.dict = dict
	}
	return b.spent+dict-b.dict >= b.max
}

// check returns an error if the record that was just added to the batch is too
// large. before is what was spent before it.
func (b *batchBudget) check(record uint64, before int) error {
	if n := b.spent - before; n > maxRecordBytes {
		return fmt.Errorf("stefpdata: %w: record %d is about %d bytes as OTLP, at most %d", stef.ErrLimit, record, n, maxRecordBytes)
	}
	return nil
}

// dropLast removes the last element of a slice of pdata with n elements.
func dropLast[T any](n int, removeIf func(func(T) bool)) {
	i := 0
	removeIf(func(T) bool {
		i++
		return i == n
	})
}

// text counts a text that is set in the batch, and returns it.
func (b *batchBudget) text(s string) string {
	b.spent += len(s)
	return s
}

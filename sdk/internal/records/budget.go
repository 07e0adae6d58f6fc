// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
)

// These are the limits of an item. Package stefpdata has the same limits. Every reader accepts
// items within these limits.
//
// spec: #limits
const (
	// MaxDepth is how deep lists and maps of a value may nest.
	MaxDepth = 200
	// MaxItemBytes is the maximum size of an item in bytes. It counts the bytes of text and
	// bytes values, bucketBytes for each bucket or bound, valueBytes for each attribute,
	// nested value or quantile, and partBytes for each exemplar, event or link.
	MaxItemBytes = 8 << 20

	valueBytes  = 256
	bucketBytes = 32
	partBytes   = 512
)

// OmittedError reports items of a batch that were left out, because they exceed a limit or because
// their metric has an unknown kind. All other items of the batch were written.
type OmittedError struct {
	// Items is how many items were left out.
	Items int
	// Err is why the first of these items was left out. It wraps stef.ErrLimit or ErrUnknown.
	Err error
}

// Error implements error.
func (e *OmittedError) Error() string {
	if e.Items == 1 {
		return fmt.Sprintf("1 item left out: %v", e.Err)
	}
	return fmt.Sprintf("%d items left out, the first: %v", e.Items, e.Err)
}

// Unwrap returns the reason.
func (e *OmittedError) Unwrap() error { return e.Err }

type omitted struct {
	items int
	first error
}

func (o *omitted) add(items int, err error) {
	o.items += items
	if o.first == nil {
		o.first = err
	}
}

func (o *omitted) err() error {
	if o.items == 0 {
		return nil
	}
	return &OmittedError{Items: o.items, Err: o.first}
}

// budget counts the bytes that an item may still use.
type budget struct{ left int }

func (b *budget) begin() { b.left = MaxItemBytes }

func (b *budget) take(n int) error {
	if b.left -= n; b.left < 0 {
		return fmt.Errorf("%w: an item takes more than %d bytes", stef.ErrLimit, MaxItemBytes)
	}
	return nil
}

// takePairs subtracts a list of n pairs from the budget. It does not subtract the bytes of texts in
// keys and values.
func (b *budget) takePairs(n int) error {
	if n > stef.MaxPairs {
		return fmt.Errorf("%w: a list has %d attributes, at most %d are allowed", stef.ErrLimit, n, stef.MaxPairs)
	}
	return b.take(n * valueBytes)
}

// takeList subtracts a list of n values from the budget, without the bytes of texts. depth is the
// number of lists and maps around the values.
func (b *budget) takeList(n, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: values are nested more than %d levels deep", stef.ErrLimit, MaxDepth)
	}
	return b.take(n * valueBytes)
}

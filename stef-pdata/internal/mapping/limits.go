// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
)

// Limits of an item. Readers bound the memory and the nesting of a record. A record
// beyond these bounds would end the stream, so encoders omit such items.
//
// spec: #limits
const (
	// MaxDepth is how deep arrays and maps of a value may nest.
	MaxDepth = 200
	// MaxItemBytes is the maximum size of a container or an item. Text and bytes
	// values count with their bytes, each bucket and bound with BucketBytes, each
	// attribute, nested value and quantile with ValueBytes, and each exemplar, event
	// and link with PartBytes.
	MaxItemBytes = 8 << 20
	// MaxRecordBytes is the maximum number of bytes of OTLP that a decoder makes from one
	// record: its item, and a resource, scope and metric if the record begins them. A record
	// of a few bytes can refer to a large text of a dictionary very often.
	MaxRecordBytes = 4*MaxItemBytes + recordOverhead
	// recordOverhead is an allowance for the objects of a record without their content.
	// Decoders count these objects, encoders do not.
	recordOverhead = 4 << 10

	// BucketBytes is the size that counts for each bucket or bound. A reader of the compact form
	// needs as much memory: 16 bytes in the record, and 16 bytes in the list of changed numbers.
	BucketBytes = 32
	ValueBytes  = 256
	PartBytes   = 512
)

// Budget counts the bytes that an item may still use.
type Budget struct {
	// Left is negative if the item is too large. Callers may subtract from it
	// and check later, by Take(0).
	Left int
}

// Begin starts a new item.
func (b *Budget) Begin() { b.Left = MaxItemBytes }

// Spent returns the bytes that the item uses.
func (b *Budget) Spent() int { return MaxItemBytes - b.Left }

// Take counts n bytes.
func (b *Budget) Take(n int) error {
	if b.Left -= n; b.Left < 0 {
		return TooLarge()
	}
	return nil
}

// TakePairs counts a map of n pairs, without keys and values.
func (b *Budget) TakePairs(n int) error {
	if n > stef.MaxPairs {
		return tooManyPairs(n)
	}
	return b.Take(n * ValueBytes)
}

// TooLarge returns the error for an item over MaxItemBytes.
func TooLarge() error {
	return fmt.Errorf("%w: an item takes more than %d bytes", stef.ErrLimit, MaxItemBytes)
}

func tooManyPairs(n int) error {
	return fmt.Errorf("%w: there are %d attributes, at most %d are allowed", stef.ErrLimit, n, stef.MaxPairs)
}

// CheckDepth checks the depth of an array or map. The value of an attribute has depth
// 1.
func CheckDepth(depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: arrays and maps are nested more than %d levels deep", stef.ErrLimit, MaxDepth)
	}
	return nil
}

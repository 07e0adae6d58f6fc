// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package same tells whether telemetry is still the same after a conversion.
//
// What counts are the items: data points, spans and log records, each with all
// that is true of it from its resource down. How they are grouped does not, nor
// do containers without items. A Set adds up the items of one side:
//
//	var a, b same.Set
//	err := a.Add(batch)
//	...
//	same.Items(&a, &b)  // in any order
//	same.Order(&a, &b)  // in the same order
//
// Items are told apart by a hash over their protobuf bytes, so a number of
// another type, the sign of a zero, or an absent field makes another item.
package same

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Set has the items of any number of batches. The zero value is empty.
type Set struct {
	// SortAttributes makes the order of attributes meaningless, but for those of
	// equal keys. Set it before the first Add.
	SortAttributes bool

	items map[id]int
	count uint64
	order hash.Hash
}

type id [sha256.Size]byte

// Add adds the items of a batch. It does not change the batch.
func (s *Set) Add(b otlpfile.Batch) error {
	if s.items == nil {
		s.items, s.order = map[id]int{}, sha256.New()
	}
	switch b.Signal {
	case otlpfile.Metrics:
		return s.addMetrics(b.Metrics)
	case otlpfile.Traces:
		return s.addTraces(b.Traces)
	case otlpfile.Logs:
		return s.addLogs(b.Logs)
	}
	return fmt.Errorf("a batch of signal %s", b.Signal)
}

// Len returns how many items were added.
func (s *Set) Len() uint64 { return s.count }

// add adds an item: the message it has alone, below a context.
func (s *Set) add(context id, item []byte) {
	h := sha256.New()
	h.Write(context[:])
	h.Write(item)
	key := id(h.Sum(nil))
	s.items[key]++
	s.count++
	s.order.Write(key[:])
}

// Items returns how many items only a has, and only b.
func Items(a, b *Set) (onlyA, onlyB int) {
	return a.without(b), b.without(a)
}

func (s *Set) without(other *Set) int {
	n := 0
	for key, count := range s.items {
		n += max(count-other.items[key], 0)
	}
	return n
}

// Order says whether a and b have the same items in the same order.
func Order(a, b *Set) bool {
	if a.count == 0 || b.count == 0 {
		return a.count == b.count
	}
	return id(a.order.Sum(nil)) == id(b.order.Sum(nil))
}

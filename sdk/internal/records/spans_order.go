// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// spanSorter puts spans in the order that makes streams small: traces in the order
// in which they arrive, and the spans of a trace by start, so that parents precede
// their children. The SDK delivers spans as they end, children first.
type spanSorter struct {
	traces map[trace.TraceID]int32
	keys   []spanKey
	sorted []sdktrace.ReadOnlySpan
}

type spanKey struct {
	start        int64
	trace, index int32
}

// sort returns the spans in order, without nil spans. The result is valid until reset.
func (s *spanSorter) sort(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	if len(spans) == 1 && spans[0] != nil {
		return spans // the usual case with a simple processor
	}
	if s.traces == nil {
		s.traces = map[trace.TraceID]int32{}
	}
	var last trace.TraceID
	at, inOrder := int32(-1), true
	for i, span := range spans {
		if span == nil {
			continue
		}
		if id := span.SpanContext().TraceID(); at < 0 || id != last {
			last = id
			at = s.number(id)
		}
		key := spanKey{span.StartTime().UnixNano(), at, int32(i)}
		if n := len(s.keys); n > 0 && compareSpans(s.keys[n-1], key) > 0 {
			inOrder = false
		}
		s.keys = append(s.keys, key)
	}
	if !inOrder {
		slices.SortFunc(s.keys, compareSpans)
	}
	for _, key := range s.keys {
		s.sorted = append(s.sorted, spans[key.index])
	}
	return s.sorted
}

// number returns the number of a trace, in the order of arrival.
func (s *spanSorter) number(id trace.TraceID) int32 {
	n, ok := s.traces[id]
	if !ok {
		n = int32(len(s.traces))
		s.traces[id] = n
	}
	return n
}

func compareSpans(a, b spanKey) int {
	if c := cmp.Compare(a.trace, b.trace); c != 0 {
		return c
	}
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c
	}
	return cmp.Compare(a.index, b.index)
}

func (s *spanSorter) reset() {
	clear(s.traces)
	clear(s.sorted)
	s.keys, s.sorted = s.keys[:0], s.sorted[:0]
}

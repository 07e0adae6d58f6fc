// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

// spanKept is what a stream of spans carries of what the published schema
// lacks.
type spanKept struct {
	entityRefs    bool // Resource.EntityRefs
	rawIDs        bool // any field of Span beyond the published ones
	droppedEvents bool // Span.DroppedEventsCount
	droppedLinks  bool // Span.DroppedLinksCount
}

// Fields of the full schema, counted as wire schemas count them.
const (
	spanDroppedEvents = 15
	spanDroppedLinks  = 16
)

// spanKeptOf reads a wire schema of spans, which names the fields of each struct
// at its first visit: Spans, Envelope, Resource, AnyValue where the first
// attributes are, EntityRef, Scope, Span and what only it leads to.
//
// spec: #wire-schema
func spanKeptOf(wire []int) spanKept {
	next := func() int {
		if len(wire) == 0 {
			return 0
		}
		n := wire[0]
		wire = wire[1:]
		return n
	}
	seenValue := false
	value := func(seen bool) {
		if seen && !seenValue {
			seenValue = true
			next()
		}
	}
	var k spanKept
	fields := next()
	if fields > 0 {
		next() // Envelope
	}
	if fields > 1 {
		n := next()
		value(n >= resourceAttributes)
		if k.entityRefs = n >= resourceEntityRefs; k.entityRefs {
			next()
		}
	}
	if fields > 2 {
		value(next() >= scopeAttributes)
	}
	if fields > 3 {
		n := next()
		k.droppedEvents = n >= spanDroppedEvents
		k.droppedLinks = n >= spanDroppedLinks
		k.rawIDs = k.droppedEvents
	}
	return k
}

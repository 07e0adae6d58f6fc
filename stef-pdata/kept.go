// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

// kept is what a stream of metrics carries of what the published schema lacks.
type kept struct {
	flags      bool // Point.Flags
	entityRefs bool // Resource.EntityRefs
}

// Fields of the full schema, counted as wire schemas count them.
const (
	metricMetadata     = 5
	resourceAttributes = 2
	resourceEntityRefs = 4
	scopeAttributes    = 4
	pointFlags         = 5
)

// keptOf reads a wire schema of metrics, which names the fields of each struct
// at its first visit: Metrics, Envelope, Metric, AnyValue where the first
// attributes are, Resource, EntityRef, Scope, Point and what only it leads to.
//
// spec: #wire-schema
func keptOf(wire []int) kept {
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
	var k kept
	fields := next()
	if fields > 0 {
		next() // Envelope
	}
	if fields > 1 {
		value(next() >= metricMetadata)
	}
	if fields > 2 {
		n := next()
		value(n >= resourceAttributes)
		k.entityRefs = n >= resourceEntityRefs
		if k.entityRefs {
			next()
		}
	}
	if fields > 3 {
		value(next() >= scopeAttributes)
	}
	value(fields > 4)
	k.flags = fields > 5 && next() >= pointFlags
	return k
}

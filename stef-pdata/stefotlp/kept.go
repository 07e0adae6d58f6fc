// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

// kept is what a stream carries of what the published schema lacks.
type kept struct {
	entityRefs    bool // Resource.EntityRefs
	flags         bool // Point.Flags
	rawIDs        bool // any field of Span beyond the published ones
	droppedEvents bool // Span.DroppedEventsCount
	droppedLinks  bool // Span.DroppedLinksCount
}

// The numbers of the fields that matter, counted from 1.
const (
	metricMetadata     = 5
	resourceAttributes = 2
	resourceEntityRefs = 4
	scopeAttributes    = 4
	pointFlags         = 5
	spanDroppedEvents  = 15
	spanDroppedLinks   = 16
)

// visits walks a wire schema, which has the number of kept fields of each
// struct and oneof at its first visit.
//
// spec: #wire-schema
type visits struct {
	counts []int
	value  bool // AnyValue was visited
}

func (v *visits) next() int {
	if len(v.counts) == 0 {
		return 0
	}
	n := v.counts[0]
	v.counts = v.counts[1:]
	return n
}

// attributes visits AnyValue if attributes are kept.
func (v *visits) attributes(kept bool) {
	if kept && !v.value {
		v.value = true
		v.next()
	}
}

// resource and scope visit those if they are kept.
func (v *visits) resource(kept bool) (entityRefs bool) {
	if !kept {
		return false
	}
	n := v.next()
	v.attributes(n >= resourceAttributes)
	if n >= resourceEntityRefs {
		v.next()
	}
	return n >= resourceEntityRefs
}

func (v *visits) scope(kept bool) {
	if kept {
		v.attributes(v.next() >= scopeAttributes)
	}
}

func (v *visits) envelope(kept bool) {
	if kept {
		v.next()
	}
}

// metricsKept reads a wire schema of metrics.
func metricsKept(wire []int) (k kept) {
	v := visits{counts: wire}
	fields := v.next()
	v.envelope(fields > 0)
	if fields > 1 {
		v.attributes(v.next() >= metricMetadata)
	}
	k.entityRefs = v.resource(fields > 2)
	v.scope(fields > 3)
	v.attributes(fields > 4)
	k.flags = fields > 5 && v.next() >= pointFlags
	return k
}

// spansKept reads a wire schema of spans.
//
// spec: #otlp-common
func spansKept(wire []int) (k kept) {
	v := visits{counts: wire}
	fields := v.next()
	v.envelope(fields > 0)
	k.entityRefs = v.resource(fields > 1)
	v.scope(fields > 2)
	if fields > 3 {
		n := v.next()
		k.droppedEvents = n >= spanDroppedEvents
		k.droppedLinks = n >= spanDroppedLinks
	}
	k.rawIDs = k.droppedEvents
	return k
}

// logsKept reads a wire schema of logs.
func logsKept(wire []int) (k kept) {
	v := visits{counts: wire}
	fields := v.next()
	v.envelope(fields > 0)
	k.entityRefs = v.resource(fields > 1)
	return k
}

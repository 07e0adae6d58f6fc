// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

// logsKept is what a stream of logs carries of what it may lack.
type logsKept struct {
	entityRefs    bool // Resource.EntityRefs
	observedDelta bool // LogRecord.ObservedDelta
	templates     bool // LogBody.Template, whole
}

// Fields and choices of the full schema, counted as wire schemas count them.
const (
	logRecordObservedDelta = 3
	logRecordBody          = 10
	logBodyTemplate        = 3
	bodyTemplateParams     = 2
)

// logsKeptOf reads a wire schema of logs, which names the fields of each struct
// at its first visit: Logs, Envelope, Resource, AnyValue where the first
// attributes are, EntityRef, Scope, LogRecord, LogBody, BodyValue, BodyTemplate.
//
// spec: #wire-schema
func logsKeptOf(wire []int) logsKept {
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
	var k logsKept
	fields := next()
	if fields > 0 {
		next() // Envelope
	}
	if fields > 1 {
		n := next()
		value(n >= resourceAttributes)
		k.entityRefs = n >= resourceEntityRefs
		if k.entityRefs {
			next()
		}
	}
	if fields > 2 {
		value(next() >= scopeAttributes)
	}
	if fields > 3 {
		n := next()
		k.observedDelta = n >= logRecordObservedDelta
		if n >= logRecordBody && next() >= logBodyTemplate {
			next() // BodyValue
			k.templates = next() >= bodyTemplateParams
		}
	}
	return k
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"bytes"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// copyFlat makes e equal to src, an exemplar without nested attributes, and marks only what
// changes. CopyFrom would take twice the time: its setters mark each value in all values
// around it.
func (e *Exemplar) copyFlat(src *Exemplar) {
	mask := stefrt.If(e.timestamp != src.timestamp, ExemplarFieldTimestamp)
	e.timestamp = src.timestamp
	changed := stefrt.BoolBits((e.value.num^src.value.num)|uint64(e.value.typ^src.value.typ) != 0)
	e.value.typ, e.value.num = src.value.typ, src.value.num
	e.value.node.SetModified(changed)
	mask |= changed * ExemplarFieldValue
	if !bytes.Equal(e.spanID, src.spanID) {
		e.spanID = append(e.spanID[:0], src.spanID...)
		mask |= ExemplarFieldSpanID
	}
	if !bytes.Equal(e.traceID, src.traceID) {
		e.traceID = append(e.traceID[:0], src.traceID...)
		mask |= ExemplarFieldTraceID
	}
	if e.filteredAttributes.copyFlat(&src.filteredAttributes) {
		mask |= ExemplarFieldFilteredAttributes
	}
	e.node.SetModified(0)
	if mask != 0 {
		e.node.Mark(mask)
	}
}

// copyFlat makes m equal to src, which has no nested values. It marks only what changes,
// and reports whether anything does.
func (m *Attributes) copyFlat(src *Attributes) bool {
	mask := uint64(0)
	if old, n := len(m.pairs), len(src.pairs); old != n {
		mask = stefrt.FullBit
		m.grow(n)
		for i := old; i < n; i++ {
			m.pairs[i].value.clear()
		}
	}
	for i, p := range src.pairs {
		q := m.pairs[i]
		if !sameText(q.key, p.key) {
			q.key, q.keyRef = p.key, 0
			mask |= stefrt.FullBit
		}
		if q.value.copyFlat(&p.value) {
			mask |= stefrt.PairBit(i)
		}
	}
	m.node.SetModified(mask)
	return mask != 0
}

// copyFlat makes v equal to src, which is not nested, and reports whether it changes.
func (v *AnyValue) copyFlat(src *AnyValue) bool {
	changed := v.typ != src.typ
	if src.typ == AnyValueTypeString {
		if !sameText(v.str, src.str) {
			v.str = src.str
			changed = true
		}
		v.num = 0 // the reference of the text
	} else {
		changed = changed || v.num != src.num && v.typ != AnyValueTypeNone
		v.num = src.num
	}
	v.typ = src.typ
	v.node.SetModified(stefrt.BoolBits(changed))
	return changed
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"bytes"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// copyFlat makes e equal to src, an exemplar without nested attributes, and marks only what
// changes. CopyFrom would take twice the time, because each of its setters also marks all
// values that contain the changed value.
func (e *Exemplar) copyFlat(src *Exemplar) {
	mask := stefrt.If(e.timestamp != src.timestamp, ExemplarFieldTimestamp)
	e.timestamp = src.timestamp
	changed := stefrt.BoolBits((e.value.num^src.value.num)|uint64(e.value.typ^src.value.typ) != 0)
	e.value.typ, e.value.num = src.value.typ, src.value.num
	e.value.node.SetModified(changed)
	mask |= changed * ExemplarFieldValue
	if len(e.spanID) == 8 && len(src.spanID) == 8 {
		if id, from := (*[8]byte)(e.spanID), (*[8]byte)(src.spanID); *id != *from {
			*id = *from
			mask |= ExemplarFieldSpanID
		}
	} else if !bytes.Equal(e.spanID, src.spanID) {
		e.spanID = append(e.spanID[:0], src.spanID...)
		mask |= ExemplarFieldSpanID
	}
	if len(e.traceID) == 16 && len(src.traceID) == 16 {
		if id, from := (*[16]byte)(e.traceID), (*[16]byte)(src.traceID); *id != *from {
			*id = *from
			mask |= ExemplarFieldTraceID
		}
	} else if !bytes.Equal(e.traceID, src.traceID) {
		e.traceID = append(e.traceID[:0], src.traceID...)
		mask |= ExemplarFieldTraceID
	}
	if len(src.filteredAttributes.pairs)|len(e.filteredAttributes.pairs) == 0 {
		e.filteredAttributes.node.SetModified(0)
	} else if e.filteredAttributes.copyFlat(&src.filteredAttributes) {
		mask |= ExemplarFieldFilteredAttributes
	}
	e.node.SetModified(0)
	if mask != 0 {
		e.node.Mark(mask)
	}
}

// copyFlat makes m equal to src, which has no nested values. It marks only what changes,
// and reports whether anything changes.
func (m *Attributes) copyFlat(src *Attributes) bool {
	mask := m.resizeFlat(len(src.pairs))
	pairs := m.pairs
	for i, p := range src.pairs {
		if i >= len(pairs) {
			break // never happens: without this check, the compiler would add bounds checks
		}
		q := pairs[i]
		if q.value.typ == AnyValueTypeString && p.value.typ == AnyValueTypeString &&
			sameText(q.key, p.key) && sameText(q.value.str, p.value.str) {
			q.value.num = 0 // for a text, num is the dictionary reference; 0 means no reference
			q.value.node.SetModified(0)
			continue
		}
		mask |= m.setFlat(i, p.key, p.value.str, p.value.num, p.value.typ)
	}
	m.node.SetModified(mask)
	return mask != 0
}

// resizeFlat sets the number of pairs. It returns FullBit if the number changes, otherwise 0.
func (m *Attributes) resizeFlat(n int) (marks uint64) {
	old := len(m.pairs)
	if old == n {
		return 0
	}
	m.grow(n)
	for i := old; i < n; i++ {
		m.pairs[i].value.clear()
	}
	return stefrt.FullBit
}

// setFlat sets a pair to a value that is not nested. It returns the marks of what changes: FullBit
// for the key, and the bit of the pair for its value.
func (m *Attributes) setFlat(i int, key, text string, num uint64, typ AnyValueType) (marks uint64) {
	q := m.pairs[i]
	if !sameText(q.key, key) {
		q.key, q.keyRef = key, 0
		marks = stefrt.FullBit
	}
	v := &q.value
	changed := v.typ != typ
	switch typ {
	case AnyValueTypeString:
		if !sameText(v.str, text) {
			v.str = text
			changed = true
		}
		v.num = 0 // for a text, num is the dictionary reference; 0 means no reference
	case AnyValueTypeNone:
	default:
		changed = changed || v.num != num
		v.num = num
	}
	v.typ = typ
	v.node.SetModified(stefrt.BoolBits(changed))
	return marks | stefrt.If(changed, stefrt.PairBit(i))
}

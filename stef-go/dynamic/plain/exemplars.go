// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"math/bits"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// The maximum number of exemplars that a series keeps, and the maximum size of the
// exemplars of all series.
//
// spec: #compact-exemplars
const (
	maxKept         = 62
	maxExemplarSize = 8_388_608
)

// delta is the AggregationTemporality whose points repeat no exemplars.
const delta = 1

// exemplarsOf returns the exemplars of the point, and updates those of the series.
//
// spec: #compact-exemplars
func (m *metrics) exemplarsOf(rec view, x *series) ([]any, error) {
	point := rec.sub("Point")
	c := m.exemplars.field(point.number("CompactExemplars"))
	if !x.shares {
		c = ^c
	}
	list, repeated, err := merge(c, x.exemplars, point.elems("Exemplars"))
	if err != nil || !x.listed {
		return list, err
	}
	if len(x.exemplars) > 0 {
		x.shares = repeated
	}
	if c == 0 {
		return list, nil
	}
	m.tables.exemplars -= x.exemplarSize
	x.exemplars, x.exemplarSize = nil, 0
	if rec.sub("Metric").number("AggregationTemporality") == delta || len(list) > maxKept {
		return list, nil
	}
	size := 0
	for _, e := range list {
		n, ok := exemplarSize(view{elemOf(point.typ, "Exemplars"), e.(*dynamic.Struct)})
		if !ok {
			return list, nil
		}
		size += n
	}
	if m.tables.exemplars+size <= maxExemplarSize {
		x.exemplars, x.exemplarSize = list, size
		m.tables.exemplars += size
	}
	return list, nil
}

// merge returns the exemplars of a point. held are the exemplars that its series keeps, sent
// are the exemplars in the record, and the code c says which exemplars of held are repeated.
// repeated says whether the result has an exemplar of held.
func merge(c int64, held, sent []any) (list []any, repeated bool, err error) {
	if c == 0 {
		return held, len(held) > 0, nil
	}
	// mark has a bit for each exemplar that is repeated or replaced.
	mark := uint64(c)
	if c < 0 {
		mark = ^mark
	}
	if bits.Len64(mark) > len(held) {
		return nil, false, corrupt("the code %d of exemplars refers to more exemplars than the series has: %d", c, len(held))
	}
	places := len(held)
	if c < 0 {
		// The list holds exactly the sent and the repeated exemplars, so its length is the sum
		// of both.
		places = len(sent) + bits.OnesCount64(mark)
	}
	used := 0
	for i := range places {
		marked := i < 64 && mark>>i&1 == 1
		switch {
		case marked == (c < 0):
			list, repeated = append(list, held[i]), true
		case used < len(sent):
			list = append(list, sent[used])
			used++
		default:
			return nil, false, corrupt("the record has %d exemplars, fewer than its code %d has places for", len(sent), c)
		}
	}
	if used < len(sent) {
		return nil, false, corrupt("the record has %d exemplars, more than its code %d has places for", len(sent), c)
	}
	return list, repeated, nil
}

// exemplarSize returns how many bytes of the limit an exemplar uses. ok is false if a
// series does not keep the exemplar.
func exemplarSize(e view) (size int, ok bool) {
	trace, span := len(e.raw("TraceID")), len(e.raw("SpanID"))
	if trace != 0 && trace != 16 || span != 0 && span != 8 {
		return 0, false
	}
	size = 80
	typ := valueOf(e.typ, "FilteredAttributes")
	for _, p := range e.pairs("FilteredAttributes") {
		name, value := choice(typ, p.Value)
		size += 48 + len(p.Key.(string))
		switch name {
		case "Array", "KVList", "Bytes":
			return 0, false
		case "String":
			size += len(value.(string))
		}
	}
	return size, true
}

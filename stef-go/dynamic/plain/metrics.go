// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// metrics is the state of a stream of points.
//
// spec: #compact-points
type metrics struct {
	root *schema.Struct // of the full schema
	// repeats says that the stream has the field CompactExemplars.
	repeats bool

	// The states of the residual fields and of the residual array.
	time, start, form, number, exemplars, words residual
	// bits is the last value of Bits that was used, floats the last element of Floats.
	bits, floats uint64

	tables tables
	clock  clock

	// last and the following fields are the state s of the specification.
	last struct {
		time, start, bits, before uint64
		form                      int64
		tick                      int
		known                     bool
	}
	first, interval uint64
	firstTick       int
	own             bool
}

func (m *metrics) reset() {
	*m = metrics{root: m.root, repeats: m.repeats, tables: newTables()}
}

// point is the state of one point while the Reader restores it.
type point struct {
	timeCode, startCode int64
	form, mantissa      int64
	// far are the times that are sent in Words.
	far []uint64

	forecast, time, start uint64
	parts
}

func (m *metrics) plain(rec view) (*dynamic.Struct, error) {
	x, home := m.tables.find(rec)
	compact := rec.sub("Compact")
	p := &point{timeCode: m.time.field(compact.number("Time")), startCode: m.start.field(compact.number("Start"))}
	if p.timeCode == 3 {
		return nil, corrupt("the code 3 of Time is not defined")
	}
	if err := m.formOf(compact, x, p); err != nil {
		return nil, err
	}
	if err := m.scalarOf(rec, x, p); err != nil {
		return nil, err
	}
	if err := m.listsOf(compact, x, p); err != nil {
		return nil, err
	}
	if err := m.timesOf(x, home, p); err != nil {
		return nil, err
	}
	old := rec.sub("Point")
	value, err := p.oneof(structOf(old.typ, "Value"))
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"StartTimestamp": p.start, "Timestamp": p.time, "Value": value}
	m.update(x, home, p)
	if m.tables.elements > maxHeld {
		return nil, fmt.Errorf("%w: all series together have %d words and floats, the limit is %d", dynamic.ErrLimit, m.tables.elements, maxHeld)
	}
	if m.repeats {
		exemplars, err := m.exemplarsOf(rec, x)
		if err != nil {
			return nil, err
		}
		fields["Exemplars"] = &dynamic.Array{Elems: exemplars}
	}
	return rec.with(m.root, map[string]any{"Point": old.with(structOf(m.root, "Point"), fields)}), nil
}

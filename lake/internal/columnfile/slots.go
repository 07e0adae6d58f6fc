// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// slots are the entries of a column: their repetition and definition levels, and the
// indexes of their values in an array, or -1 for entries without a value.
type slots struct {
	rep, def []uint8
	at       []int32
}

// arena keeps the memory of released slots for reuse. It is not safe for use by several
// goroutines at once.
type arena []slots

func (m *arena) get(n int) (s slots) {
	if last := len(*m) - 1; last >= 0 {
		s = (*m)[last]
		*m = (*m)[:last]
	}
	return slots{slices.Grow(s.rep[:0], n), slices.Grow(s.def[:0], n), slices.Grow(s.at[:0], n)}
}

// put stores the memory of slots, so that get reuses it.
func (m *arena) put(s slots) { *m = append(*m, s) }

// rows returns one slot for each row.
func (m *arena) rows(rows int) slots {
	s := m.get(rows)
	for i := range rows {
		s.rep, s.def, s.at = append(s.rep, 0), append(s.def, 0), append(s.at, int32(i))
	}
	return s
}

func (m *arena) clone(s slots) slots {
	c := m.get(len(s.at))
	return slots{append(c.rep, s.rep...), append(c.def, s.def...), append(c.at, s.at...)}
}

// present raises the definition level of slots whose value is not null, and removes the
// values of all other slots.
func (s slots) present(a arrow.Array) {
	nulls := a.NullN()
	for i, at := range s.at {
		switch {
		case at < 0:
		case nulls > 0 && a.IsNull(int(at)):
			s.at[i] = -1
		default:
			s.def[i]++
		}
	}
}

// elements returns the slots of the elements of lists.
func (m *arena) elements(s slots, a array.ListLike, level uint8) slots {
	n := len(s.at)
	for _, at := range s.at {
		if at >= 0 {
			from, to := a.ValueOffsets(int(at))
			n += max(int(to-from)-1, 0)
		}
	}
	e := m.get(n)
	for i, at := range s.at {
		from, to := int64(0), int64(0)
		if at >= 0 {
			from, to = a.ValueOffsets(int(at))
		}
		if from == to {
			e.rep, e.def, e.at = append(e.rep, s.rep[i]), append(e.def, s.def[i]), append(e.at, -1)
			continue
		}
		rep := s.rep[i]
		for ; from < to; from++ {
			e.rep, e.def, e.at = append(e.rep, rep), append(e.def, s.def[i]+1), append(e.at, int32(from))
			rep = level
		}
	}
	return e
}

// repeat returns the slots with row i repeated runs[i] times.
func (m *arena) repeat(s slots, runs []int) slots {
	n, row := 0, 0
	eachRow(s.rep, func(from, to int) {
		n += (to - from) * runs[row]
		row++
	})
	e := m.get(n)
	row = 0
	eachRow(s.rep, func(from, to int) {
		for range runs[row] {
			e.rep, e.def, e.at = append(e.rep, s.rep[from:to]...), append(e.def, s.def[from:to]...), append(e.at, s.at[from:to]...)
		}
		row++
	})
	return e
}

// eachRow calls f once for each row. from and to are the range of the slots of the row.
func eachRow(rep []uint8, f func(from, to int)) {
	for from := 0; from < len(rep); {
		to := from + 1
		for to < len(rep) && rep[to] > 0 {
			to++
		}
		f(from, to)
		from = to
	}
}

// leaves calls f for each leaf of a column, in the order of the format, and passes the values
// and slots of the leaf. It returns the memory of s to the arena.
func (m *arena) leaves(field arrow.Field, a arrow.Array, s slots, level uint8, f func(arrow.Array, slots)) {
	if field.Nullable {
		s.present(a)
	}
	switch t := field.Type.(type) {
	case *arrow.StructType:
		fields := a.(*array.Struct)
		for i, child := range t.Fields() {
			m.leaves(child, fields.Field(i), m.clone(s), level, f)
		}
	case *arrow.MapType:
		pairs := a.(*array.Map)
		e := m.elements(s, pairs, level+1)
		m.leaves(t.KeyField(), pairs.Keys(), m.clone(e), level+1, f)
		m.leaves(t.ItemField(), pairs.Items(), e, level+1, f)
	case *arrow.ListType:
		list := a.(*array.List)
		m.leaves(t.ElemField(), list.ListValues(), m.elements(s, list, level+1), level+1, f)
	default:
		f(a, s)
	}
	m.put(s)
}

// leafTypes appends the types of the leaves of a column, in the order of the format.
func leafTypes(t arrow.DataType, list []arrow.DataType) []arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		for _, child := range t.Fields() {
			list = leafTypes(child.Type, list)
		}
		return list
	case *arrow.MapType:
		return leafTypes(t.ItemType(), leafTypes(t.KeyType(), list))
	case *arrow.ListType:
		return leafTypes(t.Elem(), list)
	}
	return append(list, t)
}

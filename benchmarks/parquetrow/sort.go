// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// SortPoints sorts points by metric, attributes, resource, scope and time:
// series by series, as scans and compression need. Containers of equal content
// get the same number.
func SortPoints(rows []Point) {
	in := newInterner()
	keys := make([]order, len(rows))
	for i := range rows {
		r := &rows[i]
		resource, scope := in.container(&r.Resource, &r.Scope)
		r.Metric.ID = in.id(func(b []byte) []byte {
			b = text(text(text(b, r.Metric.Name), r.Metric.Description), r.Metric.Unit)
			b = binary.AppendVarint(b, int64(r.Metric.Type))
			b = append(binary.AppendVarint(b, int64(r.Metric.Temporality)), flag(r.Metric.Monotonic))
			return attributes(b, r.Metric.Metadata)
		})
		attrs := in.id(func(b []byte) []byte { return attributes(b, r.Attributes) })
		keys[i] = order{r.Metric.Name, [4]int32{r.Metric.ID, resource, scope, attrs}, r.Time, int32(i)}
	}
	arrange(rows, keys)
}

// SortSpans sorts spans by resource, scope, trace and start.
func SortSpans(rows []Span) {
	in := newInterner()
	keys := make([]order, len(rows))
	for i := range rows {
		r := &rows[i]
		resource, scope := in.container(&r.Resource, &r.Scope)
		trace := in.id(func(b []byte) []byte { return append(append(b, 't'), r.TraceID[:]...) })
		keys[i] = order{"", [4]int32{resource, scope, trace}, r.Start, int32(i)}
	}
	arrange(rows, keys)
}

// SortLogs sorts log records by resource, scope, event and time.
func SortLogs(rows []Log) {
	in := newInterner()
	keys := make([]order, len(rows))
	for i := range rows {
		r := &rows[i]
		resource, scope := in.container(&r.Resource, &r.Scope)
		event := in.id(func(b []byte) []byte { return text(append(b, 'e'), r.EventName) })
		keys[i] = order{"", [4]int32{resource, scope, event}, r.Time, int32(i)}
	}
	arrange(rows, keys)
}

// order is the sort key of rows. The name is first for points, whose ids have
// no meaningful order.
type order struct {
	name string
	ids  [4]int32
	time int64
	at   int32
}

func arrange[T any](rows []T, keys []order) {
	slices.SortFunc(keys, func(a, b order) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		if c := slices.Compare(a.ids[:], b.ids[:]); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.at, b.at))
	})
	sorted := make([]T, len(rows))
	for i, k := range keys {
		sorted[i] = rows[k.at]
	}
	copy(rows, sorted)
}

// interner numbers contents in order of first appearance. The existing numbers
// of containers show when their content must be compared.
type interner struct {
	ids             map[string]int32
	scratch         []byte
	resource, scope map[int32]int32
}

func newInterner() *interner {
	return &interner{ids: map[string]int32{}, resource: map[int32]int32{}, scope: map[int32]int32{}}
}

func (in *interner) id(content func([]byte) []byte) int32 {
	in.scratch = content(in.scratch[:0])
	id, ok := in.ids[string(in.scratch)]
	if !ok {
		id = int32(len(in.ids))
		in.ids[string(in.scratch)] = id
	}
	return id
}

func (in *interner) container(r *Resource, s *Scope) (resource, scope int32) {
	resource, ok := in.resource[r.ID]
	if !ok {
		resource = in.id(func(b []byte) []byte {
			return attributes(binary.AppendUvarint(text(append(b, 'r'), r.SchemaURL), uint64(r.Dropped)), r.Attributes)
		})
		in.resource[r.ID] = resource
	}
	scope, ok = in.scope[s.ID]
	if !ok {
		scope = in.id(func(b []byte) []byte {
			b = text(text(text(append(b, 's'), s.SchemaURL), s.Name), s.Version)
			return attributes(binary.AppendUvarint(b, uint64(s.Dropped)), s.Attributes)
		})
		in.scope[s.ID] = scope
	}
	r.ID, s.ID = resource, scope
	return resource, scope
}

func text(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func attributes(b []byte, attrs Attributes) []byte {
	b = binary.AppendUvarint(b, uint64(len(attrs.Texts)))
	for i := range attrs.Texts {
		b = text(text(b, attrs.Texts[i].Key), attrs.Texts[i].Value)
	}
	for i := range attrs.Others {
		o := &attrs.Others[i]
		b = append(text(b, o.Key), byte(o.Kind))
		b = binary.AppendVarint(b, o.Int)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(deref(o.Double)))
		b = text(b, string(o.Bytes))
	}
	return b
}

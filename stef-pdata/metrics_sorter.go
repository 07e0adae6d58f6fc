// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// sorter collects the points of a batch to write them in sorted order.
type sorter struct {
	sets     intern.Sets
	written  uint32 // id of the attribute set that the record has
	now      ids
	entries  []entry
	keys     []order.Key
	spare    []order.Key
	together []order.Key // copy of keys, to undo a sort
	times    order.Distinct
	sources  []source
}

type ids struct{ metric, resource, scope, set uint32 }

// entry is a point. It holds the value of a simple number point or, for any other point,
// the index in sources.
type entry struct {
	ids
	start, time uint64
	value       uint64
	flags       uint32
	kind        entryKind
}

type entryKind uint8

const (
	entryNone entryKind = iota
	entryInt
	entryFloat
	entrySource
)

// source is a point that is read from pdata when it is written.
type source struct {
	at          mapping.Place
	number      pmetric.NumberDataPoint
	histogram   pmetric.HistogramDataPoint
	exponential pmetric.ExponentialHistogramDataPoint
	summary     pmetric.SummaryDataPoint
	typ         otelstef.MetricType
}

func (e *MetricsEncoder) collect(d *intern.Descriptor, id uint32) {
	s := &e.sorter
	s.now.metric = id
	s.entries = slices.Grow(s.entries, d.Points)
	context := id << 12 // context of the attribute set of the first point
	switch d.Typ {
	case otelstef.MetricTypeGauge:
		e.collectNumbers(d.Gauge().DataPoints(), context)
	case otelstef.MetricTypeSum:
		e.collectNumbers(d.Sum().DataPoints(), context)
	case otelstef.MetricTypeHistogram:
		e.collectHistograms(d.Histogram().DataPoints(), id, context)
	case otelstef.MetricTypeExpHistogram:
		for i, p := range d.ExponentialHistogram().DataPoints().All() {
			if x := e.entry(i, p.Attributes(), context); x != nil {
				x.start, x.time = uint64(p.StartTimestamp()), uint64(p.Timestamp())
				s.later(x, source{at: e.at, typ: d.Typ, exponential: p})
			}
		}
	case otelstef.MetricTypeSummary:
		for i, p := range d.Summary().DataPoints().All() {
			if x := e.entry(i, p.Attributes(), context); x != nil {
				x.start, x.time = uint64(p.StartTimestamp()), uint64(p.Timestamp())
				s.later(x, source{at: e.at, typ: d.Typ, summary: p})
			}
		}
	}
}

func (e *MetricsEncoder) collectHistograms(ps pmetric.HistogramDataPointSlice, base, context uint32) {
	for i, p := range ps.All() {
		variant, err := e.metrics.WithBounds(base, p.ExplicitBounds())
		if err != nil {
			e.rejectItem(i, err)
			continue
		}
		e.sorter.now.metric = variant
		if x := e.entry(i, p.Attributes(), context); x != nil {
			x.start, x.time = uint64(p.StartTimestamp()), uint64(p.Timestamp())
			e.sorter.later(x, source{at: e.at, typ: otelstef.MetricTypeHistogram, histogram: p})
		}
	}
}

func (e *MetricsEncoder) collectNumbers(ps pmetric.NumberDataPointSlice, context uint32) {
	for i := range ps.Len() {
		p := ps.At(i)
		x := e.entry(i, p.Attributes(), context)
		if x == nil {
			continue
		}
		x.start, x.time, x.flags = uint64(p.StartTimestamp()), uint64(p.Timestamp()), uint32(p.Flags())
		if p.Exemplars().Len() > 0 || x.flags != 0 && !e.features.Flags {
			e.sorter.later(x, source{at: e.at, typ: otelstef.MetricTypeGauge, number: p})
			continue
		}
		switch p.ValueType() {
		case pmetric.NumberDataPointValueTypeInt:
			x.kind, x.value = entryInt, uint64(p.IntValue())
		case pmetric.NumberDataPointValueTypeDouble:
			x.kind, x.value = entryFloat, math.Float64bits(p.DoubleValue())
		default:
			x.kind, x.value = entryNone, 0
			if !e.features.Flags {
				e.losses.Unvalued++
			}
		}
	}
}

// entry adds an entry for point i of the metric, or reports why its attributes cannot
// be written.
func (e *MetricsEncoder) entry(i int, m pcommon.Map, context uint32) *entry {
	s := &e.sorter
	id, err := s.sets.Find(&e.write.Copier, m, context+uint32(i))
	if err != nil {
		e.rejectItem(i, err)
		return nil
	}
	e.at.Item = i
	n := len(s.entries)
	s.entries = s.entries[:n+1]
	x := &s.entries[n]
	x.ids = s.now
	x.set = id
	return x
}

// later marks x as an entry whose point is read from src only when the entry is written.
func (s *sorter) later(x *entry, src source) {
	x.kind, x.value = entrySource, uint64(len(s.sources))
	s.sources = append(s.sources, src)
}

func (e *MetricsEncoder) writeSorted() error {
	s := &e.sorter
	e.sort()
	var now ids
	for _, k := range s.keys {
		x := &s.entries[k.Item]
		if x.metric != now.metric {
			e.rec.SetMetric(e.metrics.Value(x.metric))
		}
		if x.resource != now.resource {
			e.rec.SetResource(e.resources.Value(x.resource))
		}
		if x.scope != now.scope {
			e.rec.SetScope(e.scopes.Value(x.scope))
		}
		if x.set != s.written {
			s.sets.Change(e.rec.Attributes(), s.written, x.set)
			s.written = x.set
		}
		now = x.ids
		if !e.point(x) {
			continue
		}
		if err := e.w.Write(); err != nil {
			return err
		}
	}
	s.end()
	return nil
}

// reset drops the attribute sets of a stream.
func (s *sorter) reset() {
	s.end()
	s.sets.Reset()
	s.written, s.now = 0, ids{}
}

// end discards the batch. It keeps the memory for the next batch, unless the memory was
// allocated for a much larger batch.
func (s *sorter) end() {
	clear(s.sources)
	if c := cap(s.entries); c > 1<<15 && len(s.entries) < c/8 {
		s.entries, s.keys, s.spare, s.together, s.sources = nil, nil, nil, nil, nil
		s.times = order.Distinct{}
	}
	s.entries, s.sources = s.entries[:0], s.sources[:0]
}

// point sets the point of an entry. If this fails, it reports the reason and returns false.
func (e *MetricsEncoder) point(x *entry) bool {
	point := e.rec.Point()
	if s := &e.sorter; x.kind == entrySource {
		src := &s.sources[x.value]
		e.write.Begin()
		e.write.Left -= s.sets.Bytes(x.set) // the attributes, which writeSorted has set
		if err := e.source(point, src); err != nil {
			e.at = src.at
			e.reject("", err, 1)
			return false
		}
		return true
	}
	point.SetStartTimestamp(x.start)
	point.SetTimestamp(x.time)
	switch x.kind {
	case entryInt:
		point.Value().SetInt64(int64(x.value))
	case entryFloat:
		point.Value().SetFloat64(math.Float64frombits(x.value))
	default:
		point.Value().SetType(otelstef.PointValueTypeNone)
	}
	if e.features.Flags {
		point.SetFlags(uint64(x.flags))
	}
	if point.Exemplars().Len() > 0 {
		point.Exemplars().SetLen(0)
	}
	return true
}

func (e *MetricsEncoder) source(point *otelstef.Point, src *source) error {
	switch src.typ {
	case otelstef.MetricTypeHistogram:
		return e.write.Histogram(point, src.histogram)
	case otelstef.MetricTypeExpHistogram:
		return e.write.Exponential(point, src.exponential)
	case otelstef.MetricTypeSummary:
		return e.write.Summary(point, src.summary)
	}
	return e.write.Number(point, src.number)
}

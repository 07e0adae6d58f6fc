// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// sorter collects the points of a batch, to be written in another order.
type sorter struct {
	sets    setPool
	written uint32 // the set that the record has
	now     ids
	entries []entry
	keys    []sortKey
	spare   []sortKey
	sources []source
}

// ids are the ids of what an entry belongs to.
type ids struct{ metric, resource, scope, set uint32 }

// entry is a point. It holds the value of simple number points and the index
// of the source of all others.
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
	at          place
	number      pmetric.NumberDataPoint
	histogram   pmetric.HistogramDataPoint
	exponential pmetric.ExponentialHistogramDataPoint
	summary     pmetric.SummaryDataPoint
	typ         otelstef.MetricType
}

// collect adds the points of a metric.
func (e *MetricsEncoder) collect(d *descriptor, id uint32) {
	s := &e.sorter
	s.now.metric = id
	s.entries = slices.Grow(s.entries, d.points)
	context := id << 12 // of the attribute set of the first point
	switch d.typ {
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
				s.later(x, source{at: e.at, typ: d.typ, exponential: p})
			}
		}
	case otelstef.MetricTypeSummary:
		for i, p := range d.Summary().DataPoints().All() {
			if x := e.entry(i, p.Attributes(), context); x != nil {
				x.start, x.time = uint64(p.StartTimestamp()), uint64(p.Timestamp())
				s.later(x, source{at: e.at, typ: d.typ, summary: p})
			}
		}
	}
}

func (e *MetricsEncoder) collectHistograms(ps pmetric.HistogramDataPointSlice, base, context uint32) {
	for i, p := range ps.All() {
		variant, err := e.metrics.withBounds(base, p.ExplicitBounds())
		if err != nil {
			e.rejectPoint(i, err)
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
		if p.Exemplars().Len() > 0 || x.flags != 0 && !e.kept.flags {
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
			if !e.kept.flags {
				e.losses.Unvalued++
			}
		}
	}
}

// entry adds an entry for point i of the metric, or reports its attributes.
func (e *MetricsEncoder) entry(i int, m pcommon.Map, context uint32) *entry {
	s := &e.sorter
	id, err := s.sets.find(&e.copier, m, context+uint32(i))
	if err != nil {
		e.rejectPoint(i, err)
		return nil
	}
	e.at.point = i
	n := len(s.entries)
	s.entries = s.entries[:n+1]
	x := &s.entries[n]
	x.ids = s.now
	x.set = id
	return x
}

// later makes an entry one that is read when it is written.
func (s *sorter) later(x *entry, src source) {
	x.kind, x.value = entrySource, uint64(len(s.sources))
	s.sources = append(s.sources, src)
}

// writeSorted writes what was collected.
func (e *MetricsEncoder) writeSorted() error {
	s := &e.sorter
	e.sort()
	var now ids
	for _, k := range s.keys {
		x := &s.entries[k.entry]
		if x.metric != now.metric {
			e.rec.SetMetric(e.metrics.entries[x.metric].value)
		}
		if x.resource != now.resource {
			e.rec.SetResource(e.resources.entries[x.resource].value)
		}
		if x.scope != now.scope {
			e.rec.SetScope(e.scopes.entries[x.scope].value)
		}
		if x.set != s.written {
			s.sets.change(e.rec.Attributes(), s.written, x.set)
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

// end forgets the batch. It keeps the memory for the next one, unless a much
// larger batch than this one left it behind.
func (s *sorter) end() {
	clear(s.sources)
	if c := cap(s.entries); c > 1<<15 && len(s.entries) < c/8 {
		s.entries, s.keys, s.spare, s.sources = nil, nil, nil, nil
	}
	s.entries, s.sources = s.entries[:0], s.sources[:0]
}

// point sets the point of an entry, or reports it.
func (e *MetricsEncoder) point(x *entry) bool {
	point := e.rec.Point()
	if x.kind == entrySource {
		src := &e.sorter.sources[x.value]
		e.begin()
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
	if e.kept.flags {
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
		return e.histogram(point, src.histogram)
	case otelstef.MetricTypeExpHistogram:
		return e.exponential(point, src.exponential)
	case otelstef.MetricTypeSummary:
		return e.summary(point, src.summary)
	}
	return e.number(point, src.number)
}

// rank ranks all ids by value.
func (e *MetricsEncoder) rank() {
	e.metrics.rank(e.metrics.size(), func(a, b uint32) int {
		return compareMetrics(e.metrics.entries[a].value, e.metrics.entries[b].value)
	})
	e.resources.rank(e.resources.size(), func(a, b uint32) int {
		return compareResources(e.resources.entries[a].value, e.resources.entries[b].value)
	})
	e.scopes.rank(e.scopes.size(), func(a, b uint32) int {
		return compareScopes(e.scopes.entries[a].value, e.scopes.entries[b].value)
	})
	sets := &e.sorter.sets
	sets.rank(sets.size(), func(a, b uint32) int {
		return compareSets(sets.entries[a].byKey, sets.entries[b].byKey)
	})
}

// sort fills keys with the entries in order: by metric, attributes, start time,
// resource, scope and time. Where hardly any series has several points, time
// comes first of all.
//
// Ranks follow values, so the order is that of the batch before, and columns
// repeat from frame to frame.
func (e *MetricsEncoder) sort() {
	e.rank()
	s := &e.sorter
	scopeBits := bits.Len32(e.scopes.top)
	pairBits := scopeBits + bits.Len32(e.resources.top)
	setBits := pairBits + bits.Len32(s.sets.top)
	s.keys = slices.Grow(s.keys[:0], len(s.entries))[:len(s.entries)]
	for i := range s.entries {
		x := &s.entries[i]
		s.keys[i] = sortKey{uint64(e.scopes.ranks[x.scope]) |
			uint64(e.resources.ranks[x.resource])<<scopeBits |
			uint64(s.sets.ranks[x.set])<<pairBits |
			uint64(e.metrics.ranks[x.metric])<<setBits, uint32(i)}
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, setBits+bits.Len32(e.metrics.top))
	if series := s.sortRuns(pairBits); 4*len(s.keys) < 5*series {
		s.sortByTime()
	}
}

// sortRuns sorts the points of equal metric and attributes, which the lower bits
// of a key do not tell apart, by start time, then by what is left of the key
// and by time. It returns the number of different keys.
func (s *sorter) sortRuns(lower int) (series int) {
	order := func(a, b sortKey) int {
		x, y := &s.entries[a.entry], &s.entries[b.entry]
		if c := cmp.Compare(x.start, y.start); c != 0 {
			return c
		}
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		if c := cmp.Compare(x.time, y.time); c != 0 {
			return c
		}
		return cmp.Compare(a.entry, b.entry)
	}
	for from := 0; from < len(s.keys); {
		ordered := true
		series++
		to := from + 1
		for ; to < len(s.keys) && s.keys[to].key>>lower == s.keys[from].key>>lower; to++ {
			if s.keys[to].key != s.keys[to-1].key {
				series++
			}
			ordered = ordered && order(s.keys[to-1], s.keys[to]) <= 0
		}
		if !ordered {
			slices.SortFunc(s.keys[from:to], order)
		}
		from = to
	}
	return series
}

// sortByTime puts keys in the order of time; those of the same time stay in
// theirs. A batch mostly has few times.
func (s *sorter) sortByTime() {
	var times [fewTimes]uint64
	n, at := 0, 0
	for i := range s.keys {
		time := s.entries[s.keys[i].entry].time
		if n == 0 || times[at] != time {
			at = slices.Index(times[:n], time)
			if at < 0 && n == fewTimes {
				s.sortByManyTimes()
				return
			}
			if at < 0 {
				at = n
				times[at] = time
				n++
			}
		}
		s.keys[i].key = uint64(at)
	}
	var order [fewTimes]sortKey
	for i := range n {
		order[i] = sortKey{times[i], uint32(i)}
	}
	slices.SortFunc(order[:n], func(a, b sortKey) int { return cmp.Compare(a.key, b.key) })
	var ranks [fewTimes]uint64
	for rank, x := range order[:n] {
		ranks[x.entry] = uint64(rank)
	}
	for i := range s.keys {
		s.keys[i].key = ranks[s.keys[i].key]
	}
	s.keys, s.spare = sortDigit(s.keys, s.spare)
}

// fewTimes is how many times have numbers of their own.
const fewTimes = 32

func (s *sorter) sortByManyTimes() {
	first, last := ^uint64(0), uint64(0)
	for i := range s.entries {
		first, last = min(first, s.entries[i].time), max(last, s.entries[i].time)
	}
	for i := range s.keys {
		s.keys[i].key = s.entries[s.keys[i].entry].time - first
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, bits.Len64(last-first))
}

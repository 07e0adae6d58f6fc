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
	typ         pmetric.MetricType
}

// collect adds the n points of a metric.
func (e *MetricsEncoder) collect(m pmetric.Metric, id uint32, n int) {
	s := &e.sorter
	s.now.metric = id
	s.entries = slices.Grow(s.entries, n)
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		e.collectNumbers(m.Gauge().DataPoints(), id)
	case pmetric.MetricTypeSum:
		e.collectNumbers(m.Sum().DataPoints(), id)
	case pmetric.MetricTypeHistogram:
		for i, p := range m.Histogram().DataPoints().All() {
			variant, err := e.metrics.withBounds(id, p.ExplicitBounds())
			if err != nil {
				e.rejectPoint(i, err)
				continue
			}
			s.now.metric = variant
			e.collectSource(i, id, p.Attributes(), uint64(p.Timestamp()), source{typ: m.Type(), histogram: p})
		}
	case pmetric.MetricTypeExponentialHistogram:
		for i, p := range m.ExponentialHistogram().DataPoints().All() {
			e.collectSource(i, id, p.Attributes(), uint64(p.Timestamp()), source{typ: m.Type(), exponential: p})
		}
	case pmetric.MetricTypeSummary:
		for i, p := range m.Summary().DataPoints().All() {
			e.collectSource(i, id, p.Attributes(), uint64(p.Timestamp()), source{typ: m.Type(), summary: p})
		}
	}
}

// set finds the attribute set of point i of a metric, which is likely to be
// that of the same point last time.
func (e *MetricsEncoder) set(i int, base uint32, m pcommon.Map) bool {
	metric := &e.metrics.entries[base]
	likely := uint32(0)
	if i < len(metric.sets) {
		likely = metric.sets[i]
	}
	id, err := e.sorter.sets.find(&e.copier, m, likely)
	if err != nil {
		e.rejectPoint(i, err)
		return false
	}
	e.sorter.now.set = id
	switch {
	case i < len(metric.sets):
		metric.sets[i] = id
	case i == len(metric.sets) && i < maxSetsOfMetric:
		metric.sets = append(metric.sets, id)
	}
	return true
}

// maxSetsOfMetric is how many sets a metric remembers.
const maxSetsOfMetric = 1 << 10

func (e *MetricsEncoder) collectSource(i int, base uint32, m pcommon.Map, time uint64, src source) {
	if !e.set(i, base, m) {
		return
	}
	s := &e.sorter
	src.at = e.at
	src.at.point = i
	s.entries = append(s.entries, entry{ids: s.now, time: time, value: uint64(len(s.sources)), kind: entrySource})
	s.sources = append(s.sources, src)
}

func (e *MetricsEncoder) collectNumbers(ps pmetric.NumberDataPointSlice, base uint32) {
	s := &e.sorter
	for i := range ps.Len() {
		p := ps.At(i)
		if p.Exemplars().Len() > 0 || p.Flags() != 0 && !e.kept.flags {
			e.collectSource(i, base, p.Attributes(), uint64(p.Timestamp()), source{typ: pmetric.MetricTypeGauge, number: p})
			continue
		}
		if !e.set(i, base, p.Attributes()) {
			continue
		}
		x := entry{ids: s.now, start: uint64(p.StartTimestamp()), time: uint64(p.Timestamp()), flags: uint32(p.Flags())}
		switch p.ValueType() {
		case pmetric.NumberDataPointValueTypeInt:
			x.kind, x.value = entryInt, uint64(p.IntValue())
		case pmetric.NumberDataPointValueTypeDouble:
			x.kind, x.value = entryFloat, math.Float64bits(p.DoubleValue())
		default:
			if !e.kept.flags {
				e.losses.Unvalued++
			}
		}
		s.entries = append(s.entries, x)
	}
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
		if x.set != now.set {
			writeSet(e.rec.Attributes(), s.sets.entries[x.set].byKey)
		}
		now = x.ids
		if !e.point(x) {
			continue
		}
		if err := e.w.Write(); err != nil {
			return err
		}
	}
	clear(s.sources)
	s.entries, s.sources = s.entries[:0], s.sources[:0]
	return nil
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
	point.Exemplars().SetLen(0)
	return true
}

func (e *MetricsEncoder) source(point *otelstef.Point, src *source) error {
	switch src.typ {
	case pmetric.MetricTypeHistogram:
		return e.histogram(point, src.histogram)
	case pmetric.MetricTypeExponentialHistogram:
		return e.exponential(point, src.exponential)
	case pmetric.MetricTypeSummary:
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
		return cmp.Compare(x.time, y.time)
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
			slices.SortStableFunc(s.keys[from:to], order)
		}
		from = to
	}
	return series
}

// sortByTime puts keys in the order of time; those of the same time stay in
// theirs.
func (s *sorter) sortByTime() {
	first, last := ^uint64(0), uint64(0)
	for i := range s.entries {
		first, last = min(first, s.entries[i].time), max(last, s.entries[i].time)
	}
	for i := range s.keys {
		s.keys[i].key = s.entries[s.keys[i].entry].time - first
	}
	s.keys, s.spare = sortKeys(s.keys, s.spare, bits.Len64(last-first))
}

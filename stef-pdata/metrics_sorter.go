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

// sorter collects the points of a batch, to be written by metric, resource,
// scope, attributes and time.
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

// sortKey is the packed ranks of an entry.
type sortKey struct {
	key   uint64
	entry uint32
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

// sort fills keys with the entries in order.
func (e *MetricsEncoder) sort() {
	s := &e.sorter
	e.metrics.rank(e.metrics.size(), func(a, b uint32) int {
		return compareMetrics(e.metrics.entries[a].value, e.metrics.entries[b].value)
	})
	e.resources.rank(e.resources.size(), func(a, b uint32) int {
		return compareResources(e.resources.entries[a].value, e.resources.entries[b].value)
	})
	e.scopes.rank(e.scopes.size(), func(a, b uint32) int {
		return compareScopes(e.scopes.entries[a].value, e.scopes.entries[b].value)
	})
	s.sets.rank(s.sets.size(), func(a, b uint32) int {
		return compareSets(s.sets.entries[a].byKey, s.sets.entries[b].byKey)
	})
	setBits := bits.Len32(s.sets.top)
	scopeBits := setBits + bits.Len32(e.scopes.top)
	resourceBits := scopeBits + bits.Len32(e.resources.top)
	s.keys = s.keys[:0]
	for i := range s.entries {
		x := &s.entries[i]
		key := uint64(s.sets.ranks[x.set]) |
			uint64(e.scopes.ranks[x.scope])<<setBits |
			uint64(e.resources.ranks[x.resource])<<scopeBits |
			uint64(e.metrics.ranks[x.metric])<<resourceBits
		s.keys = append(s.keys, sortKey{key, uint32(i)})
	}
	slices.SortStableFunc(s.keys, func(a, b sortKey) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(s.entries[a.entry].time, s.entries[b.entry].time)
	})
}

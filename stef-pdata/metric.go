// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// metricPool holds the metrics seen. A metric of OTLP is a base entry without
// bounds; each list of bounds that its histograms come with is a variant.
//
// spec: #otlp-metrics
type metricPool struct {
	lineup
	entries []metricEntry // by id
	spare   []float64
}

type metricEntry struct {
	value    *otelstef.Metric
	metadata *otelstef.Attributes // as they came
	base     uint32               // 0 for a base
	bounds   uint32               // of a base: the variant used last
}

// descriptor is what identifies a metric, apart from bounds.
type descriptor struct {
	pmetric.Metric
	typ         otelstef.MetricType
	temporality otelstef.AggregationTemporality
	monotonic   bool
	points      int
}

// describe returns the descriptor of m. A metric without a type has no points.
func describe(m pmetric.Metric) descriptor {
	d := descriptor{Metric: m}
	var temporality pmetric.AggregationTemporality
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		d.points = m.Gauge().DataPoints().Len()
	case pmetric.MetricTypeSum:
		sum := m.Sum()
		d.typ, d.points = otelstef.MetricTypeSum, sum.DataPoints().Len()
		d.monotonic, temporality = sum.IsMonotonic(), sum.AggregationTemporality()
	case pmetric.MetricTypeHistogram:
		histogram := m.Histogram()
		d.typ, d.points = otelstef.MetricTypeHistogram, histogram.DataPoints().Len()
		temporality = histogram.AggregationTemporality()
	case pmetric.MetricTypeExponentialHistogram:
		histogram := m.ExponentialHistogram()
		d.typ, d.points = otelstef.MetricTypeExpHistogram, histogram.DataPoints().Len()
		temporality = histogram.AggregationTemporality()
	case pmetric.MetricTypeSummary:
		d.typ, d.points = otelstef.MetricTypeSummary, m.Summary().DataPoints().Len()
	}
	// OTLP enums are signed.
	d.temporality = otelstef.AggregationTemporality(int64(temporality))
	return d
}

func (p *metricPool) reset() {
	p.lineup.reset()
	clear(p.entries)
	p.entries = p.entries[:0]
}

// find returns the id of a metric without bounds, which it adds if it is new.
func (p *metricPool) find(c *copier, d *descriptor) (uint32, error) {
	if id := p.guess(); id != 0 && p.same(id, d) {
		p.came(id)
		return id, nil
	}
	var h hash
	h.text(d.Name())
	for id := p.byHash[uint64(h)]; id != 0; id = p.chain[id] {
		if p.same(id, d) {
			p.came(id)
			return id, nil
		}
	}
	e, err := p.make(c, d)
	if err != nil {
		return 0, err
	}
	p.held += mapping.MaxItemBytes - c.Left
	id := p.insert(h, e)
	p.came(id)
	return id, nil
}

func (p *metricPool) insert(h hash, e metricEntry) uint32 {
	id := p.add(h)
	p.entries = append(slices.Grow(p.entries, 1)[:id], e)
	return id
}

func (p *metricPool) same(id uint32, d *descriptor) bool {
	e := &p.entries[id]
	return e.base == 0 &&
		e.value.Name() == d.Name() &&
		e.value.Type() == d.typ &&
		e.value.AggregationTemporality() == d.temporality &&
		e.value.Monotonic() == d.monotonic &&
		e.value.Unit() == d.Unit() &&
		e.value.Description() == d.Description() &&
		sameAttributes(e.metadata, d.Metadata())
}

func (p *metricPool) make(c *copier, d *descriptor) (metricEntry, error) {
	v := otelstef.NewMetric()
	c.Begin()
	v.SetName(d.Name())
	v.SetDescription(d.Description())
	v.SetUnit(d.Unit())
	if err := c.Take(len(d.Name()) + len(d.Description()) + len(d.Unit())); err != nil {
		return metricEntry{}, mapping.InField("name, description or unit", err)
	}
	v.SetType(d.typ)
	v.SetAggregationTemporality(d.temporality)
	v.SetMonotonic(d.monotonic)
	if err := c.attributes(v.Metadata(), d.Metadata()); err != nil {
		return metricEntry{}, mapping.InField("metadata", err)
	}
	if sameAttributes(v.Metadata(), d.Metadata()) {
		return metricEntry{value: v, metadata: v.Metadata()}, nil
	}
	metadata := otelstef.NewAttributes()
	asTheyCame := copier{}
	asTheyCame.Begin()
	return metricEntry{value: v, metadata: metadata}, asTheyCame.attributes(metadata, d.Metadata())
}

// withBounds returns the id of the variant of a base that has the bounds.
func (p *metricPool) withBounds(base uint32, bounds pcommon.Float64Slice) (uint32, error) {
	e := &p.entries[base]
	if id := e.bounds; id != 0 && sameFloats(p.entries[id].value.HistogramBounds().Values(), bounds) {
		return id, nil
	}
	n := bounds.Len()
	if n == 0 {
		return base, nil
	}
	if n > mapping.MaxItemBytes/8 {
		var c copier
		return 0, mapping.InField("explicit_bounds", c.Take(1))
	}
	h := hash(base)
	p.spare = p.spare[:0]
	for i := range n {
		b := bounds.At(i)
		p.spare = append(p.spare, b)
		h.float(b)
	}
	for id := p.byHash[uint64(h)]; id != 0; id = p.chain[id] {
		v := &p.entries[id]
		if v.base == base && slices.EqualFunc(v.value.HistogramBounds().Values(), p.spare, sameFloat) {
			e.bounds = id
			return id, nil
		}
	}
	v := otelstef.NewMetric()
	v.CopyFrom(e.value)
	v.HistogramBounds().SetValues(p.spare)
	p.held += mapping.ValueBytes + 8*n
	id := p.insert(h, metricEntry{value: v, base: base})
	p.entries[base].bounds = id
	return id, nil
}

func sameFloats(a []float64, b pcommon.Float64Slice) bool {
	if len(a) != b.Len() {
		return false
	}
	for i, x := range a {
		if !sameFloat(x, b.At(i)) {
			return false
		}
	}
	return true
}

func pointsIn(sms pmetric.ScopeMetricsSlice) int {
	n := 0
	for i := range sms.Len() {
		n += pointsInScope(sms.At(i))
	}
	return n
}

func pointsInScope(sm pmetric.ScopeMetrics) int {
	n := 0
	for i := range sm.Metrics().Len() {
		n += describe(sm.Metrics().At(i)).points
	}
	return n
}

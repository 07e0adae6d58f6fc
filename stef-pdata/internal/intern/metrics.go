// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/order"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Metrics caches metrics. A metric of OTLP is a base entry without bounds; each list
// of bounds of its histograms is a variant.
//
// The value of a variant is a copy of the value of its base, with all metadata. A batch can
// have a variant for each point, so variants have no values when the pool has too many bytes:
// Value then builds the value.
//
// spec: #otlp-metrics
type Metrics struct {
	pool[metricEntry]
	spare   []float64
	built   *otelstef.Metric // the value that Value built last
	builtOf uint32           // the id of built, or 0
}

type metricEntry struct {
	value   *otelstef.Metric     // nil for a variant without value
	arrival *otelstef.Attributes // attributes in their original order
	bounds  []float64            // bounds of a variant
	base    uint32               // 0 for a base
	variant uint32               // for a base: the last used variant
	held    int                  // for a base: its bytes in HeldBytes
}

// Descriptor is the identity of a metric, apart from bounds.
type Descriptor struct {
	pmetric.Metric
	Typ         otelstef.MetricType
	temporality otelstef.AggregationTemporality
	monotonic   bool
	Points      int
}

// Describe returns the descriptor of m. A metric without a type has no points.
func Describe(m pmetric.Metric) Descriptor {
	d := Descriptor{Metric: m}
	var temporality pmetric.AggregationTemporality
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		d.Points = m.Gauge().DataPoints().Len()
	case pmetric.MetricTypeSum:
		sum := m.Sum()
		d.Typ, d.Points = otelstef.MetricTypeSum, sum.DataPoints().Len()
		d.monotonic, temporality = sum.IsMonotonic(), sum.AggregationTemporality()
	case pmetric.MetricTypeHistogram:
		histogram := m.Histogram()
		d.Typ, d.Points = otelstef.MetricTypeHistogram, histogram.DataPoints().Len()
		temporality = histogram.AggregationTemporality()
	case pmetric.MetricTypeExponentialHistogram:
		histogram := m.ExponentialHistogram()
		d.Typ, d.Points = otelstef.MetricTypeExpHistogram, histogram.DataPoints().Len()
		temporality = histogram.AggregationTemporality()
	case pmetric.MetricTypeSummary:
		d.Typ, d.Points = otelstef.MetricTypeSummary, m.Summary().DataPoints().Len()
	}
	// OTLP enums are signed.
	d.temporality = otelstef.AggregationTemporality(int64(temporality))
	return d
}

// Reset empties the pool.
func (p *Metrics) Reset() {
	p.pool.Reset()
	p.built, p.builtOf = nil, 0
}

// Value returns the value of an id.
func (p *Metrics) Value(id uint32) *otelstef.Metric {
	e := &p.entries[id]
	if e.value != nil {
		return e.value
	}
	if p.builtOf != id {
		p.built, p.builtOf = withBounds(p.entries[e.base].value, e.bounds), id
	}
	return p.built
}

// withBounds returns a copy of a metric with other bounds.
func withBounds(base *otelstef.Metric, bounds []float64) *otelstef.Metric {
	v := otelstef.NewMetric()
	v.CopyFrom(base)
	v.HistogramBounds().SetValues(bounds)
	return v
}

// RankByValue ranks all ids by the order of their values, so that items can be sorted by rank.
func (p *Metrics) RankByValue() {
	p.Rank(p.Size(), func(a, b uint32) int {
		x, y := &p.entries[a], &p.entries[b]
		return order.CompareMetrics(p.baseOf(x), p.baseOf(y), x.bounds, y.bounds)
	})
}

// baseOf returns the value of the base of an entry (see Metrics), or the value of the entry if it
// is a base.
func (p *Metrics) baseOf(e *metricEntry) *otelstef.Metric {
	if e.base != 0 {
		e = &p.entries[e.base]
	}
	return e.value
}

// Find returns the id of a metric without bounds. It adds the metric if it is new.
func (p *Metrics) Find(c *values.Copier, d *Descriptor) (uint32, error) {
	if id := p.predict(); id != 0 && p.same(id, d) {
		p.observe(id)
		return id, nil
	}
	var h hash
	h.String(d.Name())
	h.String(d.Description())
	h.String(d.Unit())
	h.Pair(uint64(d.Typ), uint64(d.temporality))
	h.Bool(d.monotonic)
	h.attributes(d.Metadata())
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		if p.same(id, d) {
			p.observe(id)
			return id, nil
		}
	}
	e, err := p.make(c, d)
	if err != nil {
		return 0, err
	}
	e.held = mapping.MaxItemBytes - c.Left
	p.HeldBytes += e.held
	id := p.insert(h, e)
	p.observe(id)
	return id, nil
}

func (p *Metrics) same(id uint32, d *Descriptor) bool {
	e := &p.entries[id]
	return e.base == 0 &&
		e.value.Name() == d.Name() &&
		e.value.Type() == d.Typ &&
		e.value.AggregationTemporality() == d.temporality &&
		e.value.Monotonic() == d.monotonic &&
		e.value.Unit() == d.Unit() &&
		e.value.Description() == d.Description() &&
		values.SameAttributes(e.arrival, d.Metadata())
}

func (p *Metrics) make(c *values.Copier, d *Descriptor) (metricEntry, error) {
	v := otelstef.NewMetric()
	c.Begin()
	v.SetName(d.Name())
	v.SetDescription(d.Description())
	v.SetUnit(d.Unit())
	if err := c.Take(len(d.Name()) + len(d.Description()) + len(d.Unit())); err != nil {
		return metricEntry{}, mapping.InField("name, description or unit", err)
	}
	v.SetType(d.Typ)
	v.SetAggregationTemporality(d.temporality)
	v.SetMonotonic(d.monotonic)
	if err := c.Attributes(v.Metadata(), d.Metadata()); err != nil {
		return metricEntry{}, mapping.InField("metadata", err)
	}
	if values.SameAttributes(v.Metadata(), d.Metadata()) {
		return metricEntry{value: v, arrival: v.Metadata()}, nil
	}
	metadata := otelstef.NewAttributes()
	asTheyCame := values.Copier{}
	asTheyCame.Begin()
	return metricEntry{value: v, arrival: metadata}, asTheyCame.Attributes(metadata, d.Metadata())
}

// WithBounds returns the id of the metric that equals base but has these histogram bounds. It
// adds this metric if it is new. Without bounds it returns base.
func (p *Metrics) WithBounds(base uint32, bounds pcommon.Float64Slice) (uint32, error) {
	e := &p.entries[base]
	if id := e.variant; id != 0 && sameFloats(p.entries[id].bounds, bounds) {
		return id, nil
	}
	n := bounds.Len()
	if n == 0 {
		return base, nil
	}
	if e.held+mapping.BucketBytes*n > mapping.MaxItemBytes { // bounds are part of the metric
		var c values.Copier
		return 0, mapping.InField("explicit_bounds", c.Take(1))
	}
	h := hash{codec.Hash(base)}
	p.spare = p.spare[:0]
	for i := range n {
		b := bounds.At(i)
		p.spare = append(p.spare, b)
		h.Float64(b)
	}
	for id := p.byHash[h.Hash]; id != 0; id = p.chain[id] {
		v := &p.entries[id]
		if v.base == base && slices.EqualFunc(v.bounds, p.spare, values.SameFloat) {
			e.variant = id
			return id, nil
		}
	}
	v := metricEntry{base: base}
	full := p.HeldBytes > MaxHeldBytes
	if p.HeldBytes += mapping.ValueBytes + 8*n; full {
		v.bounds = slices.Clone(p.spare)
	} else {
		p.HeldBytes += e.held
		v.value = withBounds(e.value, p.spare)
		v.bounds = v.value.HistogramBounds().Values()
	}
	id := p.insert(h, v)
	p.entries[base].variant = id
	return id, nil
}

func sameFloats(a []float64, b pcommon.Float64Slice) bool {
	if len(a) != b.Len() {
		return false
	}
	for i, x := range a {
		if !values.SameFloat(x, b.At(i)) {
			return false
		}
	}
	return true
}

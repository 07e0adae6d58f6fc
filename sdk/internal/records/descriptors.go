// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"math"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/stef-go/otelstef"
)

const (
	// maxDescriptors bounds the metrics in the cache of an encoder, maxSets the attribute
	// sets, and maxPairs the pairs in the sets. When a bound is exceeded, the cache is
	// cleared.
	maxDescriptors = 1 << 12
	maxSets        = 1 << 16
	maxPairs       = 1 << 19
)

// metricKey is a metric without its points.
type metricKey struct {
	name, description, unit string
	typ                     otelstef.MetricType
	temporality             otelstef.AggregationTemporality
	monotonic               bool
}

// variant is a metric for all points with the same histogram bounds: a metric of STEF contains the
// bounds. A metric of the SDK usually has one variant, because the SDK uses the same bounds for all
// points of an instrument.
type variant struct {
	bounds []float64
	value  *otelstef.Metric
	err    error
	next   *variant
}

type descriptors struct {
	known map[metricKey]*variant
	n     int
}

func (d *descriptors) init() { d.known = map[metricKey]*variant{} }

// find returns the variant of a metric with these bounds, and creates it on a cache miss.
func (d *descriptors) find(key metricKey, bounds []float64) *variant {
	first := d.known[key]
	for v := first; v != nil; v = v.next {
		if sameBounds(v.bounds, bounds) {
			return v
		}
	}
	if d.n >= maxDescriptors {
		clear(d.known)
		d.n, first = 0, nil
	}
	d.n++
	v := newVariant(&key, bounds)
	v.next = first
	d.known[key] = v
	return v
}

func newVariant(key *metricKey, bounds []float64) *variant {
	m := otelstef.NewMetric()
	m.SetName(key.name)
	m.SetDescription(key.description)
	m.SetUnit(key.unit)
	m.SetType(key.typ)
	m.SetAggregationTemporality(key.temporality)
	m.SetMonotonic(key.monotonic)
	m.HistogramBounds().SetValues(bounds)
	var b budget
	b.begin()
	err := b.take(len(key.name) + len(key.description) + len(key.unit) + bucketBytes*len(bounds))
	return &variant{bounds: m.HistogramBounds().Values(), value: m, err: err}
}

func sameBounds(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// setEntry caches the attributes of a set as a slice, because reading a set allocates memory.
type setEntry struct {
	set   attribute.Set
	pairs []attribute.KeyValue
	order int
}

type sets struct {
	known map[attribute.Distinct]*setEntry
	pairs int
	last  int // setEntry.order of the newest entry
}

func (s *sets) init() { s.known = map[attribute.Distinct]*setEntry{} }

// find returns the entry of a set, and creates it on a cache miss.
func (s *sets) find(set *attribute.Set) *setEntry {
	id := set.Equivalent()
	found := s.known[id]
	// Two different sets can have the same Distinct, but this is rare.
	if found != nil && found.set == *set {
		return found
	}
	pairs := set.ToSlice()
	if s.pairs += len(pairs); len(s.known) >= maxSets || s.pairs > maxPairs {
		clear(s.known)
		s.pairs = len(pairs)
	}
	s.last++
	found = &setEntry{set: *set, pairs: pairs, order: s.last}
	s.known[id] = found
	return found
}

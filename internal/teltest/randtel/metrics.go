// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package randtel

import (
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// Random generates telemetry that covers every field and its edge cases. It draws from
// small sets, so that all content can repeat.
type Random struct{ *rand.Rand }

// New returns a generator. Equal seeds produce equal telemetry.
func New(seed uint64) Random { return Random{rand.New(rand.NewPCG(seed, 0))} }

// One returns true once in n times.
func (r Random) One(n int) bool { return r.IntN(n) == 0 }

// Pick returns one of the values.
func Pick[T any](r Random, values ...T) T { return values[r.IntN(len(values))] }

func (r Random) text() string {
	return Pick(r, "", "a", "b", "host.name", "host.id", "é", "\xff\xfe", "a\x00b", "long text that repeats, as texts do")
}

func (r Random) float() float64 {
	return Pick(r, 0, math.Copysign(0, -1), 1, 1.5, -2.25, math.Inf(1), math.Inf(-1), math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.NaN(), math.Float64frombits(0x7ff8000000001234), math.Float64frombits(0xfff0000000000001),
		r.NormFloat64())
}

func (r Random) int() int64 {
	return Pick(r, 0, 1, -1, 7, math.MaxInt64, math.MinInt64, r.Int64())
}

func (r Random) uint() uint64 { return Pick(r, 0, 1, 1<<32, math.MaxUint64, r.Uint64()) }

func (r Random) int32() int32 { return Pick(r, 0, 1, -1, math.MaxInt32, math.MinInt32, r.Int32()) }

func (r Random) time() pcommon.Timestamp {
	return Pick[pcommon.Timestamp](r, 0, 1, math.MaxUint64, pcommon.Timestamp(1_700_000_000_000_000_000+r.Int64N(1000)*1_000_000))
}

// attributes fills m. Keys may repeat and are not sorted.
func (r Random) attributes(m pcommon.Map) {
	if r.One(4) {
		return
	}
	var b xpdata.MapBuilder
	for range r.IntN(5) {
		r.value(b.AppendEmpty(r.text()), 3)
	}
	b.UnsafeIntoMap(m)
}

func (r Random) value(v pcommon.Value, depth int) {
	kinds := 6
	if depth > 0 {
		kinds = 8
	}
	switch r.IntN(kinds) {
	case 0:
		v.SetStr(r.text())
	case 1:
		v.SetInt(r.int())
	case 2:
		v.SetDouble(r.float())
	case 3:
		v.SetBool(r.One(2))
	case 4: // empty
	case 5:
		v.SetEmptyBytes().FromRaw([]byte(r.text()))
	case 6:
		list := v.SetEmptySlice()
		for range r.IntN(4) {
			r.value(list.AppendEmpty(), depth-1)
		}
	case 7:
		var b xpdata.MapBuilder
		for range r.IntN(4) {
			r.value(b.AppendEmpty(r.text()), depth-1)
		}
		b.UnsafeIntoMap(v.SetEmptyMap())
	}
}

// Metrics returns metrics that cover every field and its edge cases.
func (r Random) Metrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	for range r.IntN(4) {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.SetSchemaUrl(Pick(r, "", "https://opentelemetry.io/schemas/1.27.0"))
		r.resource(rm.Resource())
		for range r.IntN(4) {
			sm := rm.ScopeMetrics().AppendEmpty()
			sm.SetSchemaUrl(r.text())
			r.scope(sm.Scope())
			for range r.IntN(6) {
				r.metric(sm.Metrics().AppendEmpty())
			}
		}
	}
	return md
}

func (r Random) resource(to pcommon.Resource) {
	r.attributes(to.Attributes())
	to.SetDroppedAttributesCount(r.uint32())
	if r.One(3) {
		for range r.IntN(3) {
			ref := entity.ResourceEntityRefs(to).AppendEmpty()
			ref.SetType(r.text())
			ref.SetSchemaUrl(r.text())
			for range r.IntN(3) {
				ref.IdKeys().Append(r.text())
				ref.DescriptionKeys().Append(r.text())
			}
		}
	}
}

func (r Random) scope(to pcommon.InstrumentationScope) {
	to.SetName(r.text())
	to.SetVersion(r.text())
	r.attributes(to.Attributes())
	to.SetDroppedAttributesCount(r.uint32())
}

func (r Random) metric(m pmetric.Metric) {
	m.SetName(Pick(r, "", "requests", "latency", "latency"))
	m.SetDescription(Pick(r, "", "what it is"))
	m.SetUnit(Pick(r, "", "s"))
	if r.One(4) {
		r.attributes(m.Metadata())
	}
	temporality := Pick(r, pmetric.AggregationTemporalityCumulative, pmetric.AggregationTemporalityDelta,
		pmetric.AggregationTemporalityUnspecified, pmetric.AggregationTemporality(9), pmetric.AggregationTemporality(-1))
	n := r.IntN(5)
	switch r.IntN(6) {
	case 0: // no type
	case 1:
		r.numbers(m.SetEmptyGauge().DataPoints(), n)
	case 2:
		sum := m.SetEmptySum()
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(r.One(2))
		r.numbers(sum.DataPoints(), n)
	case 3:
		histogram := m.SetEmptyHistogram()
		histogram.SetAggregationTemporality(temporality)
		for range n {
			r.histogram(histogram.DataPoints().AppendEmpty())
		}
	case 4:
		histogram := m.SetEmptyExponentialHistogram()
		histogram.SetAggregationTemporality(temporality)
		for range n {
			r.exponential(histogram.DataPoints().AppendEmpty())
		}
	case 5:
		summary := m.SetEmptySummary()
		for range n {
			r.summary(summary.DataPoints().AppendEmpty())
		}
	}
}

func (r Random) flags() pmetric.DataPointFlags {
	return Pick[pmetric.DataPointFlags](r, 0, 0, 0, 1, 1, 2, 3, pmetric.DataPointFlags(math.MaxUint32))
}

func (r Random) numbers(ps pmetric.NumberDataPointSlice, n int) {
	for range n {
		p := ps.AppendEmpty()
		r.point(p)
		switch r.IntN(5) {
		case 0, 1:
			p.SetIntValue(r.int())
		case 2, 3:
			p.SetDoubleValue(r.float())
		}
		r.exemplars(p.Exemplars())
	}
}

func (r Random) point(p interface {
	Attributes() pcommon.Map
	SetStartTimestamp(pcommon.Timestamp)
	SetTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
}) {
	r.attributes(p.Attributes())
	p.SetStartTimestamp(r.time())
	p.SetTimestamp(r.time())
	p.SetFlags(r.flags())
}

// extrema sets the sum and the extrema of a histogram, or only some of these fields.
func (r Random) extrema(p interface {
	SetSum(float64)
	SetMin(float64)
	SetMax(float64)
}) {
	for _, set := range []func(float64){p.SetSum, p.SetMin, p.SetMax} {
		if r.One(2) {
			set(r.float())
		}
	}
}

func (r Random) histogram(p pmetric.HistogramDataPoint) {
	r.point(p)
	p.SetCount(Pick(r, 0, r.uint()))
	r.extrema(p)
	bounds := Pick(r, nil, []float64{1, 2, 5}, []float64{1, 2, 5, math.NaN()}, []float64{math.Copysign(0, -1)}, []float64{0})
	p.ExplicitBounds().FromRaw(bounds)
	if r.One(4) { // any number of counts
		bounds = bounds[:r.IntN(len(bounds)+1)]
	}
	for range len(bounds) {
		p.BucketCounts().Append(r.uint())
	}
	r.exemplars(p.Exemplars())
}

func (r Random) exponential(p pmetric.ExponentialHistogramDataPoint) {
	r.point(p)
	p.SetCount(r.uint())
	r.extrema(p)
	p.SetScale(r.int32())
	p.SetZeroCount(r.uint())
	p.SetZeroThreshold(r.float())
	for _, b := range []pmetric.ExponentialHistogramDataPointBuckets{p.Positive(), p.Negative()} {
		b.SetOffset(r.int32())
		for range r.IntN(4) {
			b.BucketCounts().Append(r.uint())
		}
	}
	r.exemplars(p.Exemplars())
}

func (r Random) summary(p pmetric.SummaryDataPoint) {
	r.point(p)
	p.SetCount(Pick(r, 0, r.uint()))
	p.SetSum(r.float())
	for range r.IntN(3) {
		q := p.QuantileValues().AppendEmpty()
		q.SetQuantile(r.float())
		q.SetValue(r.float())
	}
}

func (r Random) exemplars(es pmetric.ExemplarSlice) {
	if !r.One(3) {
		return
	}
	for range r.IntN(3) {
		e := es.AppendEmpty()
		e.SetTimestamp(r.time())
		switch r.IntN(3) {
		case 0:
			e.SetIntValue(r.int())
		case 1:
			e.SetDoubleValue(r.float())
		}
		e.SetTraceID(Pick(r, pcommon.TraceID{}, pcommon.TraceID{15: 1}, pcommon.TraceID{1, 2, 3}))
		e.SetSpanID(Pick(r, pcommon.SpanID{}, pcommon.SpanID{7: 1}, pcommon.SpanID{1, 2, 3}))
		r.attributes(e.FilteredAttributes())
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

type pointRows struct {
	*rows
	name, description, unit, typ, temporality textColumn
	monotonic                                 *array.BooleanBuilder
	metadata                                  *attributesColumn
	time, start                               *array.TimestampBuilder
	flags                                     *array.Uint32Builder
	int                                       *array.Int64Builder
	double, sum, min, max, zeroThreshold      *array.Float64Builder
	count, zeroCount                          *array.Uint64Builder
	scale, positiveOffset, negativeOffset     *array.Int32Builder
	bucketCounts, bounds, positive, negative  *array.ListBuilder
	quantiles, exemplars                      *array.ListBuilder
	quantile                                  struct {
		*array.StructBuilder
		quantile, value *array.Float64Builder
	}
	exemplar struct {
		*array.StructBuilder
		time            *array.TimestampBuilder
		int             *array.Int64Builder
		double          *array.Float64Builder
		traceID, spanID *array.FixedSizeBinaryBuilder
		attributes      *attributesColumn
	}

	metric pmetric.Metric
	shape  metricShape
	// ofMetric is the weight of the metadata of the metric.
	ofMetric weight
}

// metricShape contains the type, temporality and monotonicity of a metric, as rows have them.
type metricShape struct {
	typ, temporality string
	monotonic, sum   bool
}

func newPointRows(r *rows) *pointRows {
	f64 := func(name string) *array.Float64Builder { return r.col(name).(*array.Float64Builder) }
	u64 := func(name string) *array.Uint64Builder { return r.col(name).(*array.Uint64Builder) }
	i32 := func(name string) *array.Int32Builder { return r.col(name).(*array.Int32Builder) }
	list := func(name string) *array.ListBuilder { return r.col(name).(*array.ListBuilder) }
	p := &pointRows{
		rows: r, name: r.text("metric_name"), description: r.text("metric_description"), unit: r.text("metric_unit"), typ: r.text("metric_type"),
		temporality: r.text("aggregation_temporality"), monotonic: r.col("is_monotonic").(*array.BooleanBuilder), metadata: r.attributes("metric_metadata"),
		time: r.time("time"), start: r.time("start_time"), flags: r.u32("flags"), int: r.col("int_value").(*array.Int64Builder), double: f64("double_value"),
		count: u64("count"), sum: f64("sum"), min: f64("min"), max: f64("max"), bucketCounts: list("bucket_counts"), bounds: list("explicit_bounds"),
		scale: i32("scale"), zeroCount: u64("zero_count"), zeroThreshold: f64("zero_threshold"),
		positiveOffset: i32("positive_offset"), positive: list("positive_bucket_counts"),
		negativeOffset: i32("negative_offset"), negative: list("negative_bucket_counts"), quantiles: list("quantiles"), exemplars: list("exemplars"),
	}
	q := p.quantiles.ValueBuilder().(*array.StructBuilder)
	p.quantile.StructBuilder, p.quantile.quantile, p.quantile.value = q, q.FieldBuilder(0).(*array.Float64Builder), q.FieldBuilder(1).(*array.Float64Builder)
	e := p.exemplars.ValueBuilder().(*array.StructBuilder)
	p.exemplar.StructBuilder, p.exemplar.time = e, e.FieldBuilder(0).(*array.TimestampBuilder)
	p.exemplar.int, p.exemplar.double = e.FieldBuilder(1).(*array.Int64Builder), e.FieldBuilder(2).(*array.Float64Builder)
	p.exemplar.traceID, p.exemplar.spanID = e.FieldBuilder(3).(*array.FixedSizeBinaryBuilder), e.FieldBuilder(4).(*array.FixedSizeBinaryBuilder)
	p.exemplar.attributes = attributesOf(e.FieldBuilder(5), e.FieldBuilder(6))
	return p
}

// enter sets the metric of the rows that follow.
func (r *pointRows) enter(m pmetric.Metric) {
	r.metric, r.ofMetric = m, weight{}
	r.ofMetric.shared(m.Metadata())
	r.shape = metricShape{typ: metricTypes[m.Type()]}
	switch m.Type() {
	case pmetric.MetricTypeSum:
		r.shape.temporality = temporalities.of(int32(m.Sum().AggregationTemporality()))
		r.shape.sum, r.shape.monotonic = true, m.Sum().IsMonotonic()
	case pmetric.MetricTypeHistogram:
		r.shape.temporality = temporalities.of(int32(m.Histogram().AggregationTemporality()))
	case pmetric.MetricTypeExponentialHistogram:
		r.shape.temporality = temporalities.of(int32(m.ExponentialHistogram().AggregationTemporality()))
	}
}

type point interface {
	Attributes() pcommon.Map
	Timestamp() pcommon.Timestamp
	StartTimestamp() pcommon.Timestamp
	Flags() pmetric.DataPointFlags
}

func (r *pointRows) beginPoint(p point) {
	r.begin(p.Attributes())
	r.put(r.name, r.metric.Name())
	r.put(r.description, r.metric.Description())
	r.put(r.unit, r.metric.Unit())
	r.put(r.typ, r.shape.typ)
	r.put(r.temporality, r.shape.temporality)
	if r.shape.sum {
		r.monotonic.Append(r.shape.monotonic)
	} else {
		r.monotonic.AppendNull()
	}
	r.putAttributes(r.metadata, r.metric.Metadata())
	r.putTime(r.time, p.Timestamp())
	r.putTime(r.start, p.StartTimestamp())
	putCount(r.flags, uint32(p.Flags()))
}

func optional(b *array.Float64Builder, v float64, has bool) {
	if has {
		b.Append(v)
	} else {
		b.AppendNull()
	}
}

// noNumber, noDistribution, noBuckets and noExponential append null to columns that are only for points
// of other types.
func (r *pointRows) noNumber() {
	r.int.AppendNull()
	r.double.AppendNull()
}

func (r *pointRows) noDistribution() {
	r.count.AppendNull()
	r.sum.AppendNull()
	r.min.AppendNull()
	r.max.AppendNull()
}

func (r *pointRows) noBuckets() {
	r.bucketCounts.AppendNull()
	r.bounds.AppendNull()
}

func (r *pointRows) noExponential() {
	r.scale.AppendNull()
	r.zeroCount.AppendNull()
	r.zeroThreshold.AppendNull()
	r.positiveOffset.AppendNull()
	r.positive.AppendNull()
	r.negativeOffset.AppendNull()
	r.negative.AppendNull()
}

func (r *pointRows) addNumber(p pmetric.NumberDataPoint) error {
	r.beginPoint(p)
	switch p.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		r.int.Append(p.IntValue())
		r.double.AppendNull()
	case pmetric.NumberDataPointValueTypeDouble:
		r.int.AppendNull()
		r.double.Append(p.DoubleValue())
	default:
		r.noNumber()
	}
	r.noDistribution()
	r.noBuckets()
	r.noExponential()
	r.quantiles.AppendNull()
	r.addExemplars(p.Exemplars())
	return r.endPoint(func(m pmetric.Metric) {
		if m.Type() == pmetric.MetricTypeSum {
			p.CopyTo(m.Sum().DataPoints().AppendEmpty())
		} else {
			p.CopyTo(m.Gauge().DataPoints().AppendEmpty())
		}
	})
}

func (r *pointRows) addHistogram(p pmetric.HistogramDataPoint) error {
	r.beginPoint(p)
	r.noNumber()
	r.count.Append(p.Count())
	optional(r.sum, p.Sum(), p.HasSum())
	optional(r.min, p.Min(), p.HasMin())
	optional(r.max, p.Max(), p.HasMax())
	r.addCounts(r.bucketCounts, p.BucketCounts())
	r.bounds.Append(true)
	for _, b := range p.ExplicitBounds().All() {
		r.bounds.ValueBuilder().(*array.Float64Builder).Append(b)
		r.bytes += 8
	}
	r.noExponential()
	r.quantiles.AppendNull()
	r.addExemplars(p.Exemplars())
	return r.endPoint(func(m pmetric.Metric) { p.CopyTo(m.Histogram().DataPoints().AppendEmpty()) })
}

func (r *pointRows) addCounts(b *array.ListBuilder, counts pcommon.UInt64Slice) {
	b.Append(true)
	values := b.ValueBuilder().(*array.Uint64Builder)
	for _, n := range counts.All() {
		values.Append(n)
		r.bytes += 8
	}
}

func (r *pointRows) addExponential(p pmetric.ExponentialHistogramDataPoint) error {
	r.beginPoint(p)
	r.noNumber()
	r.count.Append(p.Count())
	optional(r.sum, p.Sum(), p.HasSum())
	optional(r.min, p.Min(), p.HasMin())
	optional(r.max, p.Max(), p.HasMax())
	r.noBuckets()
	r.scale.Append(p.Scale())
	r.zeroCount.Append(p.ZeroCount())
	r.zeroThreshold.Append(p.ZeroThreshold())
	r.positiveOffset.Append(p.Positive().Offset())
	r.addCounts(r.positive, p.Positive().BucketCounts())
	r.negativeOffset.Append(p.Negative().Offset())
	r.addCounts(r.negative, p.Negative().BucketCounts())
	r.quantiles.AppendNull()
	r.addExemplars(p.Exemplars())
	return r.endPoint(func(m pmetric.Metric) { p.CopyTo(m.ExponentialHistogram().DataPoints().AppendEmpty()) })
}

func (r *pointRows) addSummary(p pmetric.SummaryDataPoint) error {
	r.beginPoint(p)
	r.noNumber()
	r.count.Append(p.Count())
	r.sum.Append(p.Sum())
	r.min.AppendNull()
	r.max.AppendNull()
	r.noBuckets()
	r.noExponential()
	r.quantiles.Append(true)
	for _, q := range p.QuantileValues().All() {
		r.quantile.Append(true)
		r.quantile.quantile.Append(q.Quantile())
		r.quantile.value.Append(q.Value())
		r.bytes += 16
	}
	r.exemplars.AppendNull()
	return r.endPoint(func(m pmetric.Metric) { p.CopyTo(m.Summary().DataPoints().AppendEmpty()) })
}

func (r *pointRows) addExemplars(exemplars pmetric.ExemplarSlice) {
	if exemplars.Len() == 0 {
		r.exemplars.AppendNull()
		return
	}
	r.exemplars.Append(true)
	for _, e := range exemplars.All() {
		to := &r.exemplar
		to.Append(true)
		r.putTime(to.time, e.Timestamp())
		optional(to.double, e.DoubleValue(), e.ValueType() == pmetric.ExemplarValueTypeDouble)
		if e.ValueType() == pmetric.ExemplarValueTypeInt {
			to.int.Append(e.IntValue())
		} else {
			to.int.AppendNull()
		}
		traceID, spanID := e.TraceID(), e.SpanID()
		putID(to.traceID, traceID[:])
		putID(to.spanID, spanID[:])
		r.putAttributes(to.attributes, e.FilteredAttributes())
		r.bytes += 64
	}
}

// endPoint ends a row. add copies the point to a metric without points.
func (r *pointRows) endPoint(add func(pmetric.Metric)) error {
	return r.end(func() ([]byte, error) {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		r.resource.CopyTo(rm.Resource())
		rm.SetSchemaUrl(r.resourceSchemaURL)
		sm := rm.ScopeMetrics().AppendEmpty()
		r.scope.CopyTo(sm.Scope())
		sm.SetSchemaUrl(r.scopeSchemaURL)
		m := sm.Metrics().AppendEmpty()
		copyMetric(r.metric, m)
		add(m)
		return (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	})
}

// copyMetric sets dst to a copy of src without points.
func copyMetric(src, dst pmetric.Metric) {
	dst.SetName(src.Name())
	dst.SetDescription(src.Description())
	dst.SetUnit(src.Unit())
	src.Metadata().CopyTo(dst.Metadata())
	switch src.Type() {
	case pmetric.MetricTypeGauge:
		dst.SetEmptyGauge()
	case pmetric.MetricTypeSum:
		sum := dst.SetEmptySum()
		sum.SetAggregationTemporality(src.Sum().AggregationTemporality())
		sum.SetIsMonotonic(src.Sum().IsMonotonic())
	case pmetric.MetricTypeHistogram:
		dst.SetEmptyHistogram().SetAggregationTemporality(src.Histogram().AggregationTemporality())
	case pmetric.MetricTypeExponentialHistogram:
		dst.SetEmptyExponentialHistogram().SetAggregationTemporality(src.ExponentialHistogram().AggregationTemporality())
	case pmetric.MetricTypeSummary:
		dst.SetEmptySummary()
	}
}

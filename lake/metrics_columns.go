// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

type pointColumns struct {
	*columns
	name, description, unit, typ, temporality texts
	monotonic                                 *array.Boolean
	metadata                                  *attributesIn
	time, start                               times
	flags                                     *array.Uint32
	int                                       *array.Int64
	double, sum, min, max, zeroThreshold      *array.Float64
	count, zeroCount                          *array.Uint64
	scale, positiveOffset, negativeOffset     *array.Int32
	bucketCounts, bounds, positive, negative  *array.List
	quantiles, exemplars                      *array.List
	exemplar                                  struct {
		time            times
		int             *array.Int64
		double          *array.Float64
		traceID, spanID *array.FixedSizeBinary
		attributes      *attributesIn
	}

	into pmetric.Metrics
	rm   pmetric.ResourceMetrics
	sm   pmetric.ScopeMetrics
	m    pmetric.Metric
}

func newPointColumns(c *columns) *pointColumns {
	list := func(name string) *array.List { return c.col(name).(*array.List) }
	p := &pointColumns{
		columns: c, name: c.texts("metric_name"), description: c.texts("metric_description"), unit: c.texts("metric_unit"), typ: c.texts("metric_type"),
		temporality: c.texts("aggregation_temporality"), monotonic: c.col("is_monotonic").(*array.Boolean), metadata: c.attributes("metric_metadata"),
		time: c.times("time"), start: c.times("start_time"), flags: c.u32("flags"), int: c.col("int_value").(*array.Int64), double: c.f64("double_value"),
		count: c.u64("count"), sum: c.f64("sum"), min: c.f64("min"), max: c.f64("max"), bucketCounts: list("bucket_counts"), bounds: list("explicit_bounds"),
		scale: c.i32("scale"), zeroCount: c.u64("zero_count"), zeroThreshold: c.f64("zero_threshold"),
		positiveOffset: c.i32("positive_offset"), positive: list("positive_bucket_counts"),
		negativeOffset: c.i32("negative_offset"), negative: list("negative_bucket_counts"), quantiles: list("quantiles"), exemplars: list("exemplars"),
		into: pmetric.NewMetrics(),
	}
	e := p.exemplars.ListValues().(*array.Struct)
	p.exemplar.time, p.exemplar.int, p.exemplar.double = times{e.Field(0).(*array.Timestamp), "exemplars.time"}, e.Field(1).(*array.Int64), e.Field(2).(*array.Float64)
	p.exemplar.traceID, p.exemplar.spanID = e.Field(3).(*array.FixedSizeBinary), e.Field(4).(*array.FixedSizeBinary)
	p.exemplar.attributes = c.attributesFrom("exemplars.attributes", e.Field(5), e.Field(6))
	return p
}

func (c *columns) metrics() (pmetric.Metrics, error) {
	in := newPointColumns(c)
	for i := range c.n {
		if message := c.message(i, Metrics); message != nil {
			one, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(message)
			if err != nil {
				return in.into, c.atRow(i, invalid("otlp", "%v", err))
			}
			in.restoreZeros(i, one)
			one.ResourceMetrics().MoveAndAppendTo(in.into.ResourceMetrics())
			c.beginContainers()
			continue
		}
		if err := in.row(i); err != nil {
			return in.into, c.atRow(i, err)
		}
	}
	return in.into, nil
}

// restoreZeros restores -0 in a point: for some numbers, the OTLP encoding does not distinguish -0
// from 0. restoreZeros ignores all other numbers of the columns, because they may be edited.
func (c *pointColumns) restoreZeros(i int, one pmetric.Metrics) {
	if one.DataPointCount() != 1 {
		return
	}
	switch m := one.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0); m.Type() {
	case pmetric.MetricTypeExponentialHistogram:
		p := m.ExponentialHistogram().DataPoints().At(0)
		restoreZero(c.zeroThreshold, i, p.ZeroThreshold(), p.SetZeroThreshold)
	case pmetric.MetricTypeSummary:
		p := m.Summary().DataPoints().At(0)
		restoreZero(c.sum, i, p.Sum(), p.SetSum)
		if c.quantiles.IsNull(i) {
			return
		}
		from, to := c.span(c.quantiles.ValueOffsets(i))
		quantile, value := c.quantileValues()
		for j := range min(to-from, p.QuantileValues().Len()) {
			q := p.QuantileValues().At(j)
			restoreZero(quantile, from+j, q.Quantile(), q.SetQuantile)
			restoreZero(value, from+j, q.Value(), q.SetValue)
		}
	}
}

// restoreZero sets a number of a point to the value of a column if both are zeros. The argument now
// is the current number.
func restoreZero(a *array.Float64, i int, now float64, set func(float64)) {
	if now == 0 && a.IsValid(i) && a.Value(i) == 0 {
		set(a.Value(i))
	}
}

func (c *pointColumns) row(i int) error {
	last := c.last
	resource, scope := c.enter(i)
	if resource {
		c.rm = c.into.ResourceMetrics().AppendEmpty()
		c.rm.SetSchemaUrl(c.resourceURL.at(i))
		if err := c.setResource(i, c.rm.Resource()); err != nil {
			return err
		}
	}
	if scope {
		c.sm = c.rm.ScopeMetrics().AppendEmpty()
		c.sm.SetSchemaUrl(c.scopeURL.at(i))
		if err := c.setScope(i, c.sm.Scope()); err != nil {
			return err
		}
	}
	if scope || !c.sameMetric(i, last) {
		c.m = c.sm.Metrics().AppendEmpty()
		if err := c.setMetric(i); err != nil {
			return err
		}
	}
	switch c.m.Type() {
	case pmetric.MetricTypeGauge:
		return c.setNumber(i, c.m.Gauge().DataPoints().AppendEmpty())
	case pmetric.MetricTypeSum:
		return c.setNumber(i, c.m.Sum().DataPoints().AppendEmpty())
	case pmetric.MetricTypeHistogram:
		return c.setHistogram(i, c.m.Histogram().DataPoints().AppendEmpty())
	case pmetric.MetricTypeExponentialHistogram:
		return c.setExponential(i, c.m.ExponentialHistogram().DataPoints().AppendEmpty())
	}
	return c.setSummary(i, c.m.Summary().DataPoints().AppendEmpty())
}

func (c *pointColumns) sameMetric(i, j int) bool {
	return c.name.at(i) == c.name.at(j) && c.typ.at(i) == c.typ.at(j) && c.unit.at(i) == c.unit.at(j) &&
		c.description.at(i) == c.description.at(j) && c.temporality.at(i) == c.temporality.at(j) &&
		c.isMonotonic(i) == c.isMonotonic(j) && c.metadata.same(i, j)
}

func (c *pointColumns) isMonotonic(i int) bool { return c.monotonic.IsValid(i) && c.monotonic.Value(i) }

func (c *pointColumns) setMetric(i int) error {
	c.m.SetName(c.name.at(i))
	c.m.SetDescription(c.description.at(i))
	c.m.SetUnit(c.unit.at(i))
	n, err := temporalities.parse(c.temporality.at(i), "aggregation_temporality")
	if err != nil {
		return err
	}
	temporality := pmetric.AggregationTemporality(n)
	switch typ := c.typ.at(i); typ {
	case "gauge":
		c.m.SetEmptyGauge()
	case "sum":
		sum := c.m.SetEmptySum()
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(c.isMonotonic(i))
	case "histogram":
		c.m.SetEmptyHistogram().SetAggregationTemporality(temporality)
	case "exponential_histogram":
		c.m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
	case "summary":
		c.m.SetEmptySummary()
	default:
		return invalid("metric_type", "unknown type %q: use gauge, sum, histogram, exponential_histogram or summary", typ)
	}
	return c.metadata.set(i, c.m.Metadata())
}

type settablePoint interface {
	Attributes() pcommon.Map
	SetTimestamp(pcommon.Timestamp)
	SetStartTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
}

func (c *pointColumns) setPoint(i int, p settablePoint) error {
	if err := cmp.Or(c.time.pass(i, p.SetTimestamp), c.start.pass(i, p.SetStartTimestamp)); err != nil {
		return err
	}
	p.SetFlags(pmetric.DataPointFlags(u32Of(c.flags, i)))
	return c.itemAttributes.set(i, p.Attributes())
}

func (c *pointColumns) setNumber(i int, p pmetric.NumberDataPoint) error {
	switch {
	case c.int.IsValid(i):
		p.SetIntValue(c.int.Value(i))
	case c.double.IsValid(i):
		p.SetDoubleValue(c.double.Value(i))
	}
	if err := c.setExemplars(i, p.Exemplars()); err != nil {
		return err
	}
	return c.setPoint(i, p)
}

func countOf(a *array.Uint64, i int) uint64 {
	if a.IsNull(i) {
		return 0
	}
	return a.Value(i)
}

func (c *pointColumns) setHistogram(i int, p pmetric.HistogramDataPoint) error {
	p.SetCount(countOf(c.count, i))
	setOptional(c.sum, i, p.SetSum)
	setOptional(c.min, i, p.SetMin)
	setOptional(c.max, i, p.SetMax)
	if err := c.setCounts("bucket_counts", c.bucketCounts, i, p.BucketCounts()); err != nil {
		return err
	}
	from, to, err := c.elements("explicit_bounds", c.bounds, i)
	if err != nil {
		return err
	}
	bounds := c.bounds.ListValues().(*array.Float64)
	for j := from; j < to; j++ {
		p.ExplicitBounds().Append(bounds.Value(j))
	}
	if err := c.setExemplars(i, p.Exemplars()); err != nil {
		return err
	}
	return c.setPoint(i, p)
}

func setOptional(a *array.Float64, i int, set func(float64)) {
	if a.IsValid(i) {
		set(a.Value(i))
	}
}

func (c *columns) setCounts(name string, a *array.List, i int, dst pcommon.UInt64Slice) error {
	from, to, err := c.elements(name, a, i)
	if err != nil {
		return err
	}
	counts := a.ListValues().(*array.Uint64)
	dst.EnsureCapacity(to - from)
	for j := from; j < to; j++ {
		dst.Append(counts.Value(j))
	}
	return nil
}

func (c *pointColumns) setExponential(i int, p pmetric.ExponentialHistogramDataPoint) error {
	p.SetCount(countOf(c.count, i))
	setOptional(c.sum, i, p.SetSum)
	setOptional(c.min, i, p.SetMin)
	setOptional(c.max, i, p.SetMax)
	p.SetScale(i32Of(c.scale, i))
	p.SetZeroCount(countOf(c.zeroCount, i))
	setOptional(c.zeroThreshold, i, p.SetZeroThreshold)
	p.Positive().SetOffset(i32Of(c.positiveOffset, i))
	p.Negative().SetOffset(i32Of(c.negativeOffset, i))
	if err := c.setCounts("positive_bucket_counts", c.positive, i, p.Positive().BucketCounts()); err != nil {
		return err
	}
	if err := c.setCounts("negative_bucket_counts", c.negative, i, p.Negative().BucketCounts()); err != nil {
		return err
	}
	if err := c.setExemplars(i, p.Exemplars()); err != nil {
		return err
	}
	return c.setPoint(i, p)
}

func i32Of(a *array.Int32, i int) int32 {
	if a.IsNull(i) {
		return 0
	}
	return a.Value(i)
}

func (c *pointColumns) setSummary(i int, p pmetric.SummaryDataPoint) error {
	p.SetCount(countOf(c.count, i))
	setOptional(c.sum, i, p.SetSum)
	if err := c.setQuantiles(i, p); err != nil {
		return err
	}
	return c.setPoint(i, p)
}

func (c *pointColumns) setQuantiles(i int, p pmetric.SummaryDataPoint) error {
	from, to, err := c.elements("quantiles", c.quantiles, i)
	if err != nil {
		return err
	}
	quantile, value := c.quantileValues()
	if err := cmp.Or(noNulls("quantiles.quantile", quantile, from, to), noNulls("quantiles.value", value, from, to)); err != nil {
		return err
	}
	for j := from; j < to; j++ {
		q := p.QuantileValues().AppendEmpty()
		q.SetQuantile(quantile.Value(j))
		q.SetValue(value.Value(j))
	}
	return nil
}

func (c *pointColumns) quantileValues() (quantile, value *array.Float64) {
	values := c.quantiles.ListValues().(*array.Struct)
	return values.Field(0).(*array.Float64), values.Field(1).(*array.Float64)
}

func (c *pointColumns) setExemplars(i int, dst pmetric.ExemplarSlice) error {
	from, to, err := c.elements("exemplars", c.exemplars, i)
	if err != nil {
		return err
	}
	in := &c.exemplar
	for j := from; j < to; j++ {
		e := dst.AppendEmpty()
		if err := in.time.pass(j, e.SetTimestamp); err != nil {
			return err
		}
		switch {
		case in.int.IsValid(j):
			e.SetIntValue(in.int.Value(j))
		case in.double.IsValid(j):
			e.SetDoubleValue(in.double.Value(j))
		}
		e.SetTraceID(traceIDOf(in.traceID, j))
		e.SetSpanID(spanIDOf(in.spanID, j))
		if err := in.attributes.set(j, e.FilteredAttributes()); err != nil {
			return err
		}
	}
	return nil
}

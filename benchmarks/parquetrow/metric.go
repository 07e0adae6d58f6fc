// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package parquetrow

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Metric is the metric of a point.
type Metric struct {
	ID          int32      `parquet:"id,delta"`
	Name        string     `parquet:"name,dict"`
	Description string     `parquet:"description,optional,dict"`
	Unit        string     `parquet:"unit,optional,dict"`
	Metadata    Attributes `parquet:"metadata"`
	Type        int32      `parquet:"type,dict"`
	Temporality int32      `parquet:"temporality,optional"`
	Monotonic   bool       `parquet:"monotonic,optional"`
}

// Buckets are the buckets of one side of an exponential histogram.
type Buckets struct {
	Offset int32    `parquet:"offset,optional"`
	Counts []uint64 `parquet:"counts,dict"`
}

// Quantile is one value of a summary.
type Quantile struct {
	Quantile float64 `parquet:"quantile"`
	Value    float64 `parquet:"value"`
}

// Exemplar is an exemplar of a point.
type Exemplar struct {
	Time       int64      `parquet:"time"`
	Kind       int32      `parquet:"kind,dict"`
	Int        int64      `parquet:"int,optional"`
	Double     *float64   `parquet:"double,optional"`
	TraceID    [16]byte   `parquet:"trace_id"`
	SpanID     [8]byte    `parquet:"span_id"`
	Attributes Attributes `parquet:"attributes"`
}

// Point is a row of metrics: a data point of any type.
type Point struct {
	Resource   Resource   `parquet:"resource"`
	Scope      Scope      `parquet:"scope"`
	Metric     Metric     `parquet:"metric"`
	Attributes Attributes `parquet:"attributes"`
	Start      int64      `parquet:"start"`
	Time       int64      `parquet:"time"`
	Flags      uint32     `parquet:"flags,optional"`

	// Kind is the kind of the value of a number point.
	Kind   int32    `parquet:"kind,dict"`
	Int    int64    `parquet:"int,optional"`
	Double *float64 `parquet:"double,optional,split"`

	Count        uint64    `parquet:"count,optional,delta"`
	Sum          *float64  `parquet:"sum,optional"`
	Min          *float64  `parquet:"min,optional"`
	Max          *float64  `parquet:"max,optional"`
	BucketCounts []uint64  `parquet:"bucket_counts,dict"`
	Bounds       []float64 `parquet:"bounds,dict"`

	Scale         int32   `parquet:"scale,optional"`
	ZeroCount     uint64  `parquet:"zero_count,optional"`
	ZeroThreshold float64 `parquet:"zero_threshold,optional"`
	Positive      Buckets `parquet:"positive"`
	Negative      Buckets `parquet:"negative"`

	Quantiles []Quantile `parquet:"quantiles"`
	Exemplars []Exemplar `parquet:"exemplars"`
}

// Points returns the rows of metrics.
func Points(md pmetric.Metrics) []Point {
	c := &pointCollector{rows: make([]Point, 0, md.DataPointCount())}
	scopes, metrics := 0, 0
	for i, rm := range md.ResourceMetrics().All() {
		c.row.Resource = c.resource(i, rm.Resource(), rm.SchemaUrl())
		for _, sm := range rm.ScopeMetrics().All() {
			c.row.Scope = c.scope(scopes, sm.Scope(), sm.SchemaUrl())
			scopes++
			for _, m := range sm.Metrics().All() {
				c.row.Metric = Metric{ID: int32(metrics), Name: m.Name(), Description: m.Description(), Unit: m.Unit(),
					Metadata: c.attributes(m.Metadata()), Type: int32(m.Type())}
				metrics++
				c.metric(m)
			}
		}
	}
	return c.rows
}

// pointCollector collects rows. row has the containers of the next rows.
type pointCollector struct {
	slab
	rows []Point
	row  Point
}

func (c *pointCollector) metric(m pmetric.Metric) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		c.numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		c.row.Metric.Temporality = int32(m.Sum().AggregationTemporality())
		c.row.Metric.Monotonic = m.Sum().IsMonotonic()
		c.numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		c.row.Metric.Temporality = int32(m.Histogram().AggregationTemporality())
		c.histograms(m.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		c.row.Metric.Temporality = int32(m.ExponentialHistogram().AggregationTemporality())
		c.exponentials(m.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		c.summaries(m.Summary().DataPoints())
	}
}

// next begins a row.
func (c *pointCollector) next(attrs pcommon.Map, start, time pcommon.Timestamp, flags pmetric.DataPointFlags) *Point {
	c.rows = append(c.rows, Point{Resource: c.row.Resource, Scope: c.row.Scope, Metric: c.row.Metric,
		Attributes: c.attributes(attrs), Start: int64(start), Time: int64(time), Flags: uint32(flags)})
	return &c.rows[len(c.rows)-1]
}

func (c *pointCollector) numbers(points pmetric.NumberDataPointSlice) {
	for _, p := range points.All() {
		row := c.next(p.Attributes(), p.StartTimestamp(), p.Timestamp(), p.Flags())
		row.Kind = int32(p.ValueType())
		switch p.ValueType() {
		case pmetric.NumberDataPointValueTypeInt:
			row.Int = p.IntValue()
		case pmetric.NumberDataPointValueTypeDouble:
			row.Double = c.double(p.DoubleValue())
		}
		row.Exemplars = c.exemplars(p.Exemplars())
	}
}

func (c *pointCollector) optional(has bool, v float64) *float64 {
	if !has {
		return nil
	}
	return c.double(v)
}

func (c *pointCollector) histograms(points pmetric.HistogramDataPointSlice) {
	for _, p := range points.All() {
		row := c.next(p.Attributes(), p.StartTimestamp(), p.Timestamp(), p.Flags())
		row.Count = p.Count()
		row.Sum = c.optional(p.HasSum(), p.Sum())
		row.Min = c.optional(p.HasMin(), p.Min())
		row.Max = c.optional(p.HasMax(), p.Max())
		row.BucketCounts = p.BucketCounts().AsRaw()
		row.Bounds = p.ExplicitBounds().AsRaw()
		row.Exemplars = c.exemplars(p.Exemplars())
	}
}

func (c *pointCollector) exponentials(points pmetric.ExponentialHistogramDataPointSlice) {
	for _, p := range points.All() {
		row := c.next(p.Attributes(), p.StartTimestamp(), p.Timestamp(), p.Flags())
		row.Count = p.Count()
		row.Sum = c.optional(p.HasSum(), p.Sum())
		row.Min = c.optional(p.HasMin(), p.Min())
		row.Max = c.optional(p.HasMax(), p.Max())
		row.Scale, row.ZeroCount, row.ZeroThreshold = p.Scale(), p.ZeroCount(), p.ZeroThreshold()
		row.Positive = Buckets{p.Positive().Offset(), p.Positive().BucketCounts().AsRaw()}
		row.Negative = Buckets{p.Negative().Offset(), p.Negative().BucketCounts().AsRaw()}
		row.Exemplars = c.exemplars(p.Exemplars())
	}
}

func (c *pointCollector) summaries(points pmetric.SummaryDataPointSlice) {
	for _, p := range points.All() {
		row := c.next(p.Attributes(), p.StartTimestamp(), p.Timestamp(), p.Flags())
		row.Count, row.Sum = p.Count(), c.double(p.Sum())
		for _, q := range p.QuantileValues().All() {
			row.Quantiles = append(row.Quantiles, Quantile{q.Quantile(), q.Value()})
		}
	}
}

func (c *pointCollector) exemplars(exemplars pmetric.ExemplarSlice) []Exemplar {
	if exemplars.Len() == 0 {
		return nil
	}
	out := make([]Exemplar, 0, exemplars.Len())
	for _, e := range exemplars.All() {
		row := Exemplar{Time: int64(e.Timestamp()), Kind: int32(e.ValueType()), TraceID: e.TraceID(), SpanID: e.SpanID(),
			Attributes: c.attributes(e.FilteredAttributes())}
		switch e.ValueType() {
		case pmetric.ExemplarValueTypeInt:
			row.Int = e.IntValue()
		case pmetric.ExemplarValueTypeDouble:
			row.Double = c.double(e.DoubleValue())
		}
		out = append(out, row)
	}
	return out
}

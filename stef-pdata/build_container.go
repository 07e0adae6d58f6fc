// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"encoding/hex"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// What a record says is checked before anything is built from it. The checks
// return an error that names the field.

func notOTLP(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf("%w: %s", ErrRecord, fmt.Sprintf(format, args...))}
}

func fits32(field string, v uint64) error {
	if v > math.MaxUint32 {
		return notOTLP(field, "%d is over 32 bits", v)
	}
	return nil
}

func fitsSigned32(field string, v int64) error {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return notOTLP(field, "%d is over 32 bits", v)
	}
	return nil
}

func checkResource(r *otelstef.Resource) error {
	return fits32("Resource.DroppedAttributesCount", r.DroppedAttributesCount())
}

func checkScope(s *otelstef.Scope) error {
	return fits32("Scope.DroppedAttributesCount", s.DroppedAttributesCount())
}

func checkMetric(m *otelstef.Metric) error {
	if m.Type() > otelstef.MetricTypeSummary {
		return notOTLP("Metric.Type", "%d is no type of metric", uint64(m.Type()))
	}
	return fitsSigned32("Metric.AggregationTemporality", int64(m.AggregationTemporality()))
}

// checkPoint checks a point of a metric of the type.
func checkPoint(p *otelstef.Point, typ otelstef.MetricType) error {
	v := p.Value()
	fits := false
	switch v.Type() {
	case otelstef.PointValueTypeNone:
		fits = true
	case otelstef.PointValueTypeInt64, otelstef.PointValueTypeFloat64:
		fits = typ == otelstef.MetricTypeGauge || typ == otelstef.MetricTypeSum
	case otelstef.PointValueTypeHistogram:
		fits = typ == otelstef.MetricTypeHistogram
	case otelstef.PointValueTypeSummary:
		fits = typ == otelstef.MetricTypeSummary
	case otelstef.PointValueTypeExpHistogram:
		fits = typ == otelstef.MetricTypeExpHistogram
		if err := checkExponential(v.ExpHistogram()); err != nil {
			return err
		}
	}
	if !fits {
		return notOTLP("Point.Value", "choice %d does not suit a metric of type %v", v.Type(), typ)
	}
	if p.Exemplars().Len() > 0 {
		return checkExemplars(p)
	}
	if p.Flags() != 0 {
		return fits32("Point.Flags", p.Flags())
	}
	return nil
}

func checkExponential(h *otelstef.ExpHistogramValue) error {
	if err := fitsSigned32("Point.Value.ExpHistogram.Scale", h.Scale()); err != nil {
		return err
	}
	if err := fitsSigned32("Point.Value.ExpHistogram.PositiveBuckets.Offset", h.PositiveBuckets().Offset()); err != nil {
		return err
	}
	return fitsSigned32("Point.Value.ExpHistogram.NegativeBuckets.Offset", h.NegativeBuckets().Offset())
}

func checkExemplars(p *otelstef.Point) error {
	for i := range p.Exemplars().Len() {
		x := p.Exemplars().At(i)
		if _, ok := traceID(x.TraceID()); !ok {
			return notOTLP(fmt.Sprintf("Point.Exemplars[%d].TraceID", i), "%d bytes are no trace id", len(x.TraceID()))
		}
		if _, ok := spanID(x.SpanID()); !ok {
			return notOTLP(fmt.Sprintf("Point.Exemplars[%d].SpanID", i), "%d bytes are no span id", len(x.SpanID()))
		}
	}
	return fits32("Point.Flags", p.Flags())
}

// traceID returns the id that b holds: raw, as hexadecimal text, or unset.
//
// spec: #otlp-common
func traceID(b []byte) (id pcommon.TraceID, ok bool) {
	switch len(b) {
	case 0:
		return id, true
	case 16:
		copy(id[:], b)
		return id, true
	case 32:
		_, err := hex.Decode(id[:], b)
		return id, err == nil
	}
	return id, false
}

// spanID is traceID for span ids.
func spanID(b []byte) (id pcommon.SpanID, ok bool) {
	switch len(b) {
	case 0:
		return id, true
	case 8:
		copy(id[:], b)
		return id, true
	case 16:
		_, err := hex.Decode(id[:], b)
		return id, err == nil
	}
	return id, false
}

func (b *builder) resource(dst pcommon.Resource, src *otelstef.Resource) {
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
	refs := src.EntityRefs()
	if refs.Len() == 0 {
		return
	}
	to := entity.ResourceEntityRefs(dst)
	to.EnsureCapacity(refs.Len())
	for i := range refs.Len() {
		from, ref := refs.At(i), to.AppendEmpty()
		ref.SetSchemaUrl(from.SchemaURL())
		ref.SetType(from.Type())
		ref.IdKeys().FromRaw(from.IDKeys().Values())
		ref.DescriptionKeys().FromRaw(from.DescriptionKeys().Values())
		b.spent += builtValueBytes * (1 + from.IDKeys().Len() + from.DescriptionKeys().Len())
	}
}

func (b *builder) scope(dst pcommon.InstrumentationScope, src *otelstef.Scope) {
	dst.SetName(src.Name())
	dst.SetVersion(src.Version())
	b.attributes(dst.Attributes(), src.Attributes())
	dst.SetDroppedAttributesCount(uint32(src.DroppedAttributesCount()))
}

// points are the points of the metric being built, in the slice of its type.
type points struct {
	typ         otelstef.MetricType
	number      pmetric.NumberDataPointSlice
	histogram   pmetric.HistogramDataPointSlice
	exponential pmetric.ExponentialHistogramDataPointSlice
	summary     pmetric.SummaryDataPointSlice
}

// metric fills dst and returns its points, with room for n.
func (b *builder) metric(dst pmetric.Metric, src *otelstef.Metric, n int) points {
	dst.SetName(src.Name())
	dst.SetDescription(src.Description())
	dst.SetUnit(src.Unit())
	b.attributes(dst.Metadata(), src.Metadata())
	temporality := pmetric.AggregationTemporality(src.AggregationTemporality())
	p := points{typ: src.Type()}
	switch p.typ {
	case otelstef.MetricTypeGauge:
		p.number = dst.SetEmptyGauge().DataPoints()
		p.number.EnsureCapacity(n)
	case otelstef.MetricTypeSum:
		sum := dst.SetEmptySum()
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(src.Monotonic())
		p.number = sum.DataPoints()
		p.number.EnsureCapacity(n)
	case otelstef.MetricTypeHistogram:
		histogram := dst.SetEmptyHistogram()
		histogram.SetAggregationTemporality(temporality)
		p.histogram = histogram.DataPoints()
		p.histogram.EnsureCapacity(n)
	case otelstef.MetricTypeExpHistogram:
		histogram := dst.SetEmptyExponentialHistogram()
		histogram.SetAggregationTemporality(temporality)
		p.exponential = histogram.DataPoints()
		p.exponential.EnsureCapacity(n)
	case otelstef.MetricTypeSummary:
		p.summary = dst.SetEmptySummary().DataPoints()
		p.summary.EnsureCapacity(n)
	}
	return p
}

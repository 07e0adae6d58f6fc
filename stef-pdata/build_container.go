// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// traceID returns the id that b holds, which was checked.
func traceID(b []byte) (id pcommon.TraceID) {
	mapping.DecodeID(id[:], b)
	return id
}

// spanID is traceID for span ids.
func spanID(b []byte) (id pcommon.SpanID) {
	mapping.DecodeID(id[:], b)
	return id
}

func (b *builder) resource(dst pcommon.Resource, src *otelstef.Resource) {
	b.spent += builtContainerBytes
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
		ref.SetSchemaUrl(b.text(from.SchemaURL()))
		ref.SetType(b.text(from.Type()))
		b.texts(ref.IdKeys(), from.IDKeys().Values())
		b.texts(ref.DescriptionKeys(), from.DescriptionKeys().Values())
		b.spent += builtValueBytes
	}
}

func (b *builder) texts(dst pcommon.StringSlice, src []string) {
	dst.FromRaw(src)
	for _, text := range src {
		b.spent += builtValueBytes + len(text)
	}
}

func (b *builder) scope(dst pcommon.InstrumentationScope, src *otelstef.Scope) {
	b.spent += builtContainerBytes
	dst.SetName(b.text(src.Name()))
	dst.SetVersion(b.text(src.Version()))
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
	dst.SetName(b.text(src.Name()))
	dst.SetDescription(b.text(src.Description()))
	dst.SetUnit(b.text(src.Unit()))
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

// sort orders the attributes in m if the option SortAttributes is set. m must be a copy.
func (o Options) sort(m pcommon.Map) {
	if !o.SortAttributes {
		return
	}
	// The builder appends attributes; the methods of Map would drop equal keys.
	var b xpdata.MapBuilder
	b.EnsureCapacity(m.Len())
	for _, kv := range o.ordered(m) {
		kv.value.CopyTo(b.AppendEmpty(kv.key))
	}
	b.UnsafeIntoMap(m)
}

func (o Options) sortSpan(s ptrace.Span) {
	o.sort(s.Attributes())
	for _, e := range s.Events().All() {
		o.sort(e.Attributes())
	}
	for _, l := range s.Links().All() {
		o.sort(l.Attributes())
	}
}

func (o Options) sortMetric(m pmetric.Metric) {
	if !o.SortAttributes {
		return
	}
	o.sort(m.Metadata())
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		sortPoints(o, m.Gauge().DataPoints().All())
	case pmetric.MetricTypeSum:
		sortPoints(o, m.Sum().DataPoints().All())
	case pmetric.MetricTypeHistogram:
		sortPoints(o, m.Histogram().DataPoints().All())
	case pmetric.MetricTypeExponentialHistogram:
		sortPoints(o, m.ExponentialHistogram().DataPoints().All())
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			o.sort(p.Attributes())
		}
	}
}

func sortPoints[P interface {
	Attributes() pcommon.Map
	Exemplars() pmetric.ExemplarSlice
}](o Options, points iter.Seq2[int, P]) {
	for _, p := range points {
		o.sort(p.Attributes())
		for _, e := range p.Exemplars().All() {
			o.sort(e.FilteredAttributes())
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
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
	numbers := func(ps pmetric.NumberDataPointSlice) {
		for _, p := range ps.All() {
			o.sort(p.Attributes())
			o.sortExemplars(p.Exemplars())
		}
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			o.sort(p.Attributes())
			o.sortExemplars(p.Exemplars())
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			o.sort(p.Attributes())
			o.sortExemplars(p.Exemplars())
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			o.sort(p.Attributes())
		}
	}
}

func (o Options) sortExemplars(es pmetric.ExemplarSlice) {
	for _, e := range es.All() {
		o.sort(e.FilteredAttributes())
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/otlpfile"
)

// MergeMetrics joins all mds, in order. It merges adjacent resources, scopes and
// metrics of equal content, and drops containers without points.
func (o Options) MergeMetrics(mds ...pmetric.Metrics) pmetric.Metrics {
	g := metricsMerge{Options: o, out: pmetric.NewMetrics()}
	for _, md := range mds {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					if otlpfile.Points(m) > 0 {
						g.add(rm, sm, m)
					}
				}
			}
		}
	}
	return g.out
}

// A metricsMerge has the merged content, and the containers to which the next
// points may be added.
type metricsMerge struct {
	Options
	out                     pmetric.Metrics
	resource, scope, metric container
	rm                      pmetric.ResourceMetrics
	sm                      pmetric.ScopeMetrics
	m                       pmetric.Metric
}

func (g *metricsMerge) add(rm pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, m pmetric.Metric) {
	if !g.resource.same(g.content(func(t *text) { t.resource(rm.Resource(), rm.SchemaUrl()) })) {
		g.rm = g.out.ResourceMetrics().AppendEmpty()
		rm.Resource().CopyTo(g.rm.Resource())
		g.rm.SetSchemaUrl(rm.SchemaUrl())
		g.sort(g.rm.Resource().Attributes())
		g.scope.open = false
	}
	if !g.scope.same(g.content(func(t *text) { t.scope(sm.Scope(), sm.SchemaUrl()) })) {
		g.sm = g.rm.ScopeMetrics().AppendEmpty()
		sm.Scope().CopyTo(g.sm.Scope())
		g.sm.SetSchemaUrl(sm.SchemaUrl())
		g.sort(g.sm.Scope().Attributes())
		g.metric.open = false
	}
	c := pmetric.NewMetric()
	m.CopyTo(c)
	g.sortMetric(c)
	if g.metric.same(g.content(func(t *text) { t.descriptor(m) })) {
		appendPoints(c, g.m)
		return
	}
	g.m = g.sm.Metrics().AppendEmpty()
	c.MoveTo(g.m)
}

// appendPoints moves the points of a metric to another metric of the same type.
func appendPoints(from, to pmetric.Metric) {
	switch from.Type() {
	case pmetric.MetricTypeGauge:
		from.Gauge().DataPoints().MoveAndAppendTo(to.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		from.Sum().DataPoints().MoveAndAppendTo(to.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		from.Histogram().DataPoints().MoveAndAppendTo(to.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		from.ExponentialHistogram().DataPoints().MoveAndAppendTo(to.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		from.Summary().DataPoints().MoveAndAppendTo(to.Summary().DataPoints())
	}
}

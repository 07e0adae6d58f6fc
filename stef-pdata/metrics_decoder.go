// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"io"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsDecoder reads a stream of metrics into pdata. It serves one stream and
// is not safe for use by several goroutines at once.
type MetricsDecoder struct {
	r        *otelstef.MetricsReader
	maxItems int
	kept     features.Set
	builder

	group    metricGroup
	points   points
	read     uint64 // records read of the stream
	rejected RecordErrors
	err      error // that ended the stream
}

// metricGroup is the containers that points are added to. A container is made
// at its first point: until then its field made is false.
type metricGroup struct {
	md pmetric.Metrics
	rm pmetric.ResourceMetrics
	sm pmetric.ScopeMetrics

	resource *otelstef.Resource // of the last record
	scope    *otelstef.Scope
	metric   *otelstef.Metric
	made     struct{ resource, scope, metric bool }
	fault    error // why no point can be added here
}

// NewMetricsDecoder returns a decoder that reads from r, which nothing else may
// read from.
func NewMetricsDecoder(r *otelstef.MetricsReader, options ...DecoderOption) *MetricsDecoder {
	config := newDecoderConfig(options)
	d := &MetricsDecoder{r: r, maxItems: config.maxItems, kept: features.OfMetrics(r.Fields())}
	d.max = config.maxBytes
	return d
}

// Decode returns what is complete: the points of the records that are left of
// the frame, or of the next frame, up to the limits of items and bytes. At the end of the
// stream it returns io.EOF.
//
// Records that say what OTLP cannot say are left out and reported in
// RecordErrors; the points of the others are returned with it, and decoding can
// go on. Any other error ends the stream. If the stream breaks within a frame,
// the points before that are returned with the error, or with RecordErrors and
// the error comes next.
func (d *MetricsDecoder) Decode() (pmetric.Metrics, error) {
	md := pmetric.NewMetrics()
	if d.err != nil {
		return md, d.err
	}
	d.group = metricGroup{md: md}
	d.rejected, d.spent = nil, 0
	for n := 0; n < d.maxItems && (n == 0 || d.r.Buffered() > 0 && !d.full(n, d.r.DictBytes())); n++ {
		if !d.r.Next() {
			if d.err = d.r.Err(); d.err == nil {
				d.err = io.EOF
			}
			if len(d.rejected) > 0 {
				break // the error of the stream is for the next call
			}
			return md, d.err
		}
		d.read++
		before := d.spent
		d.add(d.r.Record())
		if d.err = d.check(d.read, before); d.err != nil {
			d.dropLast()
			break
		}
	}
	if len(d.rejected) > 0 {
		return md, d.rejected
	}
	return md, d.err
}

// add adds the point of a record.
func (d *MetricsDecoder) add(rec *otelstef.Metrics) {
	g := &d.group
	if rec.Metric() != g.metric || rec.Scope() != g.scope || rec.Resource() != g.resource {
		g.enter(rec)
	}
	err := g.fault
	if err == nil {
		err = mapping.CheckPoint(rec.Point(), rec.Metric().Type())
	}
	if err != nil {
		d.reject(err)
		return
	}
	if !g.made.metric {
		d.open()
	}
	d.point(rec)
}

// enter takes the containers of a record, and notes which ones have to be made.
// Containers of equal content are the same, and metrics are the same if all but
// their bounds is.
//
// spec: #otlp-metrics
func (g *metricGroup) enter(rec *otelstef.Metrics) {
	resource, scope, metric := rec.Resource(), rec.Scope(), rec.Metric()
	first := g.metric == nil
	if first || resource != g.resource && !resource.Equal(g.resource) {
		g.made.resource, g.made.scope, g.made.metric = false, false, false
	}
	if first || scope != g.scope && !scope.Equal(g.scope) {
		g.made.scope, g.made.metric = false, false
	}
	if first || metric != g.metric && !mapping.SameDescriptor(metric, g.metric) {
		g.made.metric = false
	}
	g.resource, g.scope, g.metric = resource, scope, metric
	g.fault = mapping.CheckContainers(resource, scope)
	if g.fault == nil {
		g.fault = mapping.CheckMetric(metric)
	}
}

// open makes the containers that are not made yet.
func (d *MetricsDecoder) open() {
	const container = otelstef.MetricsFieldResource | otelstef.MetricsFieldScope | otelstef.MetricsFieldMetric
	g := &d.group
	if !g.made.resource {
		g.rm = g.md.ResourceMetrics().AppendEmpty()
		g.rm.SetSchemaUrl(d.text(g.resource.SchemaURL()))
		d.resource(g.rm.Resource(), g.resource)
	}
	if !g.made.scope {
		g.sm = g.rm.ScopeMetrics().AppendEmpty()
		g.sm.SetSchemaUrl(d.text(g.scope.SchemaURL()))
		d.scope(g.sm.Scope(), g.scope)
	}
	d.points = d.metric(g.sm.Metrics().AppendEmpty(), g.metric, min(1+d.r.Run(container), d.maxItems))
	g.made.resource, g.made.scope, g.made.metric = true, true, true
	d.spent += builtContainerBytes
}

// dropLast removes the last point, and the containers that have no other.
func (d *MetricsDecoder) dropLast() {
	switch p := &d.points; p.typ {
	case otelstef.MetricTypeGauge, otelstef.MetricTypeSum:
		dropLast(p.number.Len(), p.number.RemoveIf)
	case otelstef.MetricTypeHistogram:
		dropLast(p.histogram.Len(), p.histogram.RemoveIf)
	case otelstef.MetricTypeExpHistogram:
		dropLast(p.exponential.Len(), p.exponential.RemoveIf)
	case otelstef.MetricTypeSummary:
		dropLast(p.summary.Len(), p.summary.RemoveIf)
	}
	g := &d.group
	metrics := g.sm.Metrics()
	metrics.RemoveIf(func(m pmetric.Metric) bool { return pointsOf(m) == 0 })
	if metrics.Len() == 0 {
		scopes := g.rm.ScopeMetrics()
		dropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := g.md.ResourceMetrics(); g.rm.ScopeMetrics().Len() == 0 {
		dropLast(resources.Len(), resources.RemoveIf)
	}
}

// pointsOf returns the number of points of a metric.
func pointsOf(m pmetric.Metric) int {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints().Len()
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints().Len()
	case pmetric.MetricTypeHistogram:
		return m.Histogram().DataPoints().Len()
	case pmetric.MetricTypeExponentialHistogram:
		return m.ExponentialHistogram().DataPoints().Len()
	case pmetric.MetricTypeSummary:
		return m.Summary().DataPoints().Len()
	}
	return 0
}

// reject notes that the record just read is left out.
func (d *MetricsDecoder) reject(err error) { d.rejected = mapping.AddRecord(d.rejected, d.read, err) }

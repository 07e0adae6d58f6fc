// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/build"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsDecoder reads a stream of metrics into pdata. It serves one stream and
// is not safe for use by several goroutines at once.
type MetricsDecoder struct {
	decoder
	records *otelstef.MetricsReader
	build   build.Metrics

	batch      pmetric.Metrics
	inResource pmetric.ResourceMetrics
	inScope    pmetric.ScopeMetrics

	metric      *otelstef.Metric // metric of the last record
	hasMetric   bool
	metricFault error
}

// NewMetricsDecoder returns a decoder that reads from r. Nothing else may read from
// r.
func NewMetricsDecoder(r *otelstef.MetricsReader, options ...DecoderOption) *MetricsDecoder {
	notNil(r == nil, "reader")
	d := &MetricsDecoder{records: r}
	d.init(r, &d.build.Budget, options)
	d.build.Features = features.OfMetrics(r.Fields())
	return d
}

// Reset prepares the decoder for the next stream of its reader, which must have been reset before.
// Afterwards the decoder returns the same batches as a new decoder. A batch may share memory with
// earlier batches, also with those of the previous stream.
func (d *MetricsDecoder) Reset() {
	d.reset()
	d.metric, d.hasMetric, d.metricFault = nil, false, nil
	d.build.Reset()
	d.build.Features = features.OfMetrics(d.records.Fields())
}

// Decode returns the points of the next records: the remaining records of the frame, or those
// of the next frame, up to the limits of items and bytes. At the end of the stream it returns
// io.EOF.
//
// If OTLP cannot express some of the records, Decode reports them in RecordErrors. It returns
// the points of the other records together with this error, and decoding can continue. Any
// other error ends the stream. See TracesDecoder.Decode for the batch that is returned with such an
// error or with io.EOF.
func (d *MetricsDecoder) Decode() (pmetric.Metrics, error) {
	d.batch = pmetric.NewMetrics()
	if d.err != nil {
		return d.batch, d.err
	}
	d.metric, d.hasMetric = nil, false
	err := d.decode(d.add, d.dropLast)
	d.build.EndBatch(d.detaches())
	batch := d.batch
	d.batch, d.inResource, d.inScope = pmetric.Metrics{}, pmetric.ResourceMetrics{}, pmetric.ScopeMetrics{} // the caller owns them now
	return batch, err
}

func (d *MetricsDecoder) add(room int) {
	rec := d.records.Record()
	if rec.Metric() != d.metric || rec.Scope() != d.scope || rec.Resource() != d.resource {
		d.enterMetric(rec)
	}
	err := d.fault
	if err == nil {
		err = d.metricFault
	}
	if err == nil {
		err = mapping.CheckPoint(rec.Point(), rec.Metric().Type())
	}
	if err != nil {
		d.reject(err)
		return
	}
	if !d.hasMetric {
		d.open(room)
	}
	d.build.Point(rec)
}

// enterMetric calls enter and makes the metric of rec the current metric. Metrics that differ
// only in their bounds count as the same metric.
//
// spec: #otlp-metrics
func (d *MetricsDecoder) enterMetric(rec *otelstef.Metrics) {
	metric := rec.Metric()
	d.enter(rec.Resource(), rec.Scope())
	if !d.hasScope || metric != d.metric && !mapping.SameDescriptor(metric, d.metric) {
		d.hasMetric = false
	}
	d.metric, d.metricFault = metric, mapping.CheckMetric(metric)
}

// open adds the current resource, scope and metric to the batch, unless the batch has them.
func (d *MetricsDecoder) open(room int) {
	const container = otelstef.MetricsFieldResource | otelstef.MetricsFieldScope | otelstef.MetricsFieldMetric
	if !d.hasResource {
		d.inResource = d.build.Resources.Append(d.batch.ResourceMetrics())
		d.inResource.SetSchemaUrl(d.build.Text(d.resource.SchemaURL()))
		d.build.Resource(d.inResource.Resource(), d.resource)
	}
	if !d.hasScope {
		d.inScope = d.build.Scopes.Append(d.inResource.ScopeMetrics())
		d.inScope.SetSchemaUrl(d.build.Text(d.scope.SchemaURL()))
		d.build.Scope(d.inScope.Scope(), d.scope)
	}
	d.build.Metric(d.inScope.Metrics(), d.metric, min(1+d.records.Run(container), room))
	d.hasResource, d.hasScope, d.hasMetric = true, true, true
}

// dropLast removes the last point, and its metric, scope and resource if they become empty.
func (d *MetricsDecoder) dropLast() {
	d.build.DropLastPoint()
	metrics := d.inScope.Metrics()
	if d.build.PointCount() == 0 {
		build.DropLast(metrics.Len(), metrics.RemoveIf)
	}
	if scopes := d.inResource.ScopeMetrics(); metrics.Len() == 0 {
		build.DropLast(scopes.Len(), scopes.RemoveIf)
	}
	if resources := d.batch.ResourceMetrics(); d.inResource.ScopeMetrics().Len() == 0 {
		build.DropLast(resources.Len(), resources.RemoveIf)
	}
}

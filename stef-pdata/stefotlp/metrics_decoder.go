// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsDecoder reads a stream of metrics into OTLP messages. It serves one
// stream and is not safe for use by several goroutines at once.
type MetricsDecoder struct {
	decoder
	records *otelstef.MetricsReader

	metric      *otelstef.Metric // metric of the previous record
	metricAt    int              // where the message of the metric begins, 0 if none is open
	dataAt      int              // where the message of the data of the metric begins
	metricFault error
	exemplars   []byte
}

// NewMetricsDecoder returns a decoder that reads from r. Nothing else may read from
// r.
func NewMetricsDecoder(r *otelstef.MetricsReader, options ...DecoderOption) *MetricsDecoder {
	notNil(r == nil, "reader")
	return &MetricsDecoder{decoder: newDecoder(r, features.OfMetrics(r.Fields()), options), records: r}
}

// AppendOTLP appends to dst a MetricsData message with the points of the next records: the
// remaining records of the frame, or those of the next frame, up to the limits. At the end of
// the stream it appends nothing and returns io.EOF. The bytes are also an
// ExportMetricsServiceRequest.
//
// Records that OTLP cannot express are omitted and reported in RecordErrors; the points of the
// other records are appended, and decoding can continue. Any other error ends the stream. If a
// frame is damaged, AppendOTLP appends the points before the damage and returns the error. If a
// frame is cut off, it appends no points of the frame. If a call has both RecordErrors and such
// an error, it returns the RecordErrors, and the next call returns the other error.
func (d *MetricsDecoder) AppendOTLP(dst []byte) ([]byte, error) {
	d.metric, d.metricAt, d.dataAt = nil, 0, 0
	return d.decode(dst, d.record, d.finish)
}

func (d *MetricsDecoder) finish() {
	d.endMetric()
	d.endResource()
	if cap(d.exemplars) > maxKept {
		d.exemplars = nil
	}
}

func (d *MetricsDecoder) endMetric() {
	d.endContainer(&d.dataAt)
	d.endContainer(&d.metricAt)
}

func (d *MetricsDecoder) record() {
	rec := d.records.Record()
	if rec.Modified()&otelstef.MetricsFieldAttributes != 0 {
		d.changed()
	}
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
	if d.metricAt == 0 {
		d.open()
		d.beginMetric(rec.Metric())
	}
	d.point(rec)
}

// enterMetric makes the resource, scope and metric of rec the current resource, scope and
// metric. If one of the three has changed, it ends the message of the previous metric. Metrics
// that differ only in their bounds count as the same metric.
//
// spec: #otlp-metrics
func (d *MetricsDecoder) enterMetric(rec *otelstef.Metrics) {
	metric := rec.Metric()
	same := d.metric != nil &&
		(rec.Resource() == d.resource || rec.Resource().Equal(d.resource)) &&
		(rec.Scope() == d.scope || rec.Scope().Equal(d.scope)) &&
		(metric == d.metric || mapping.SameDescriptor(metric, d.metric))
	if !same {
		d.endMetric()
		d.began = len(d.out)
	}
	if rec.Resource() != d.resource || rec.Scope() != d.scope {
		d.enter(rec.Resource(), rec.Scope())
	}
	d.metric = metric
	d.metricFault = mapping.CheckMetric(metric)
}

// dataTags has the tag of the field gauge, sum, … of a Metric, indexed by the type of the metric.
var dataTags = [...]byte{tagGauge, tagSum, tagHistogram, tagExponential, tagSummary}

// beginMetric begins the message of a metric and the message of its data.
func (d *MetricsDecoder) beginMetric(m *otelstef.Metric) {
	dst, at := begin(d.out, tagItems, roomContainer)
	d.metricAt = at
	dst = appendString(dst, tagMetricName, m.Name())
	dst = appendString(dst, tagMetricDescription, m.Description())
	dst = appendString(dst, tagMetricUnit, m.Unit())
	dst = d.appendAttributes(dst, tagMetadata, m.Metadata())
	typ := m.Type()
	dst, d.dataAt = begin(dst, dataTags[typ], roomContainer)
	if typ != otelstef.MetricTypeGauge && typ != otelstef.MetricTypeSummary {
		// OTLP enums are signed.
		dst = appendNumber(dst, tagTemporality, uint64(int64(m.AggregationTemporality())))
	}
	if typ == otelstef.MetricTypeSum {
		dst = appendNumber(dst, tagMonotonic, boolBit(m.Monotonic()))
	}
	d.out = dst
}

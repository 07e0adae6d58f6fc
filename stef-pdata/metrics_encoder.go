// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/items"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsEncoder writes metrics of pdata to a stream. It serves one stream and
// is not safe for use by several goroutines at once.
type MetricsEncoder struct {
	encoder
	w   *otelstef.MetricsWriter
	rec *otelstef.Metrics

	write   items.Points
	metrics intern.Metrics
	sorter  sorter
}

// NewMetricsEncoder returns an encoder that writes to w. Nothing else may write to w.
// The default mode is Sorted.
func NewMetricsEncoder(w *otelstef.MetricsWriter, options ...EncoderOption) *MetricsEncoder {
	notNil(w == nil, "writer")
	config := applyOptions(encoderConfig{mode: Sorted}, options)
	e := &MetricsEncoder{w: w, rec: w.Record()}
	e.init(config.mode, features.OfMetrics(w.Fields()))
	e.initWrite()
	e.write.ByKey = config.mode == Sorted
	return e
}

// Reset prepares the encoder for the next stream of its writer, which must have been
// reset before. The encoder writes the same bytes as a new encoder: it keeps memory, but no
// content. Losses counts from 0 again.
func (e *MetricsEncoder) Reset() {
	e.reset(features.OfMetrics(e.w.Fields()))
	e.initWrite()
	e.metrics.Reset()
	e.sorter.reset()
}

// initWrite sets the features and the dictionaries of the stream.
func (e *MetricsEncoder) initWrite() {
	e.write.Init(e.features, &e.losses)
	dicts := e.w.Dicts()
	e.sorter.sets.Init(dicts.AttributeKey, dicts.AnyValueString)
}

// Encode writes all points of md and does not change md. It does not flush the
// writer.
//
// Points that exceed a limit are omitted and reported in ItemErrors; all other points are
// written. Any other error comes from the writer, and neither the encoder nor the
// writer can continue after it.
func (e *MetricsEncoder) Encode(md pmetric.Metrics) error {
	e.trim()
	if e.mode == Sorted && e.sorter.entries == nil {
		e.sorter.entries = make([]entry, 0, md.DataPointCount())
	}
	err := e.encodeResources(md.ResourceMetrics())
	if e.mode == Sorted && err == nil {
		err = e.writeSorted()
	}
	return e.end(err)
}

// trim empties pools that have grown too large.
func (e *MetricsEncoder) trim() {
	if emptied := e.begin(); emptied || e.metrics.Full(intern.MaxContainers) {
		e.metrics.Reset()
	}
	if s := &e.sorter.sets; s.Full(intern.MaxSets) {
		s.Reset()
		e.sorter.written = 0
	}
}

func (e *MetricsEncoder) encodeResources(rms pmetric.ResourceMetricsSlice) error {
	for i := range rms.Len() {
		rm := rms.At(i)
		scopes := rm.ScopeMetrics()
		id, ok := e.enterResource(&e.write.Copier, i, rm.Resource(), rm.SchemaUrl(), scopes.Len(), func() int { return pointsIn(scopes) })
		if !ok {
			continue
		}
		e.sorter.now.resource = id
		if e.mode == Ordered {
			e.rec.SetResource(e.resources.Value(id))
		}
		if err := e.encodeScopes(scopes); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) encodeScopes(sms pmetric.ScopeMetricsSlice) error {
	for i := range sms.Len() {
		sm := sms.At(i)
		metrics := sm.Metrics()
		id, ok := e.enterScope(&e.write.Copier, i, sm.Scope(), sm.SchemaUrl(), metrics.Len(), func() int { return pointsInScope(sm) })
		if !ok {
			continue
		}
		e.sorter.now.scope = id
		if e.mode == Ordered {
			e.rec.SetScope(e.scopes.Value(id))
		}
		if err := e.encodeMetrics(metrics); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) encodeMetrics(ms pmetric.MetricSlice) error {
	for i := range ms.Len() {
		m := ms.At(i)
		e.at.Metric, e.at.Item = i, -1
		d := intern.Describe(m)
		if d.Points == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.metrics.Find(&e.write.Copier, &d)
		if err != nil {
			e.reject("metric.", err, d.Points)
			continue
		}
		if e.mode == Sorted {
			e.collect(&d, id)
			continue
		}
		e.rec.SetMetric(e.metrics.Value(id))
		if err := e.writePoints(m, id); err != nil {
			return err
		}
	}
	return nil
}

// writePoints writes the points of a metric in their order.
func (e *MetricsEncoder) writePoints(m pmetric.Metric, id uint32) error {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return e.writeNumbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		return e.writeNumbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		return e.writeHistograms(m.Histogram().DataPoints(), id)
	case pmetric.MetricTypeExponentialHistogram:
		return e.writeExponentials(m.ExponentialHistogram().DataPoints())
	}
	return e.writeSummaries(m.Summary().DataPoints())
}

func (e *MetricsEncoder) writeNumbers(ps pmetric.NumberDataPointSlice) error {
	point := e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		err := e.setAttributes(p.Attributes())
		if err == nil {
			err = e.write.Number(point, p)
		}
		if err := e.writeItem(i, err); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeHistograms(ps pmetric.HistogramDataPointSlice, base uint32) error {
	point := e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		id, err := e.metrics.WithBounds(base, p.ExplicitBounds())
		if err != nil {
			e.rejectItem(i, err)
			continue
		}
		e.rec.SetMetric(e.metrics.Value(id))
		err = e.setAttributes(p.Attributes())
		if err == nil {
			err = e.write.Histogram(point, p)
		}
		if err := e.writeItem(i, err); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeExponentials(ps pmetric.ExponentialHistogramDataPointSlice) error {
	point := e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		err := e.setAttributes(p.Attributes())
		if err == nil {
			err = e.write.Exponential(point, p)
		}
		if err := e.writeItem(i, err); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeSummaries(ps pmetric.SummaryDataPointSlice) error {
	point := e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		err := e.setAttributes(p.Attributes())
		if err == nil {
			err = e.write.Summary(point, p)
		}
		if err := e.writeItem(i, err); err != nil {
			return err
		}
	}
	return nil
}

// setAttributes begins a point and sets its attributes.
func (e *MetricsEncoder) setAttributes(m pcommon.Map) error {
	e.write.Begin()
	if err := e.write.Attributes(e.rec.Attributes(), m); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

// writeItem writes point i, or reports why it cannot be written.
func (e *MetricsEncoder) writeItem(i int, err error) error {
	if err != nil {
		e.rejectItem(i, err)
		return nil
	}
	return e.w.Write()
}

func pointsIn(sms pmetric.ScopeMetricsSlice) int {
	n := 0
	for i := range sms.Len() {
		n += pointsInScope(sms.At(i))
	}
	return n
}

func pointsInScope(sm pmetric.ScopeMetrics) int {
	n := 0
	for i := range sm.Metrics().Len() {
		n += intern.Describe(sm.Metrics().At(i)).Points
	}
	return n
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsEncoder writes metrics of pdata to a stream. It serves one stream and
// is not safe for use by several goroutines at once.
type MetricsEncoder struct {
	w    *otelstef.MetricsWriter
	rec  *otelstef.Metrics
	mode Mode
	pointWriter

	resources resourcePool
	scopes    scopePool
	metrics   metricPool
	sorter    sorter

	at       mapping.Place
	rejected ItemErrors
}

// NewMetricsEncoder returns an encoder that writes to w, which nothing else may
// write to. The default mode is Sorted.
func NewMetricsEncoder(w *otelstef.MetricsWriter, options ...EncoderOption) *MetricsEncoder {
	config := encoderConfig{mode: Sorted}
	for _, option := range options {
		option(&config)
	}
	e := &MetricsEncoder{w: w, rec: w.Record(), mode: config.mode}
	e.kept = features.OfMetrics(w.Fields())
	e.byKey = config.mode == Sorted
	e.resources.refs = e.kept.EntityRefs
	return e
}

// Losses returns what the schema of the stream could not carry so far.
func (e *MetricsEncoder) Losses() Losses { return e.losses }

// Encode writes all points of md, which it does not change. It does not flush
// the writer.
//
// Points that exceed a limit are left out and reported in ItemErrors, while the
// others are written. Any other error is that of the writer, and neither can go
// on after it.
func (e *MetricsEncoder) Encode(md pmetric.Metrics) error {
	e.rejected = nil
	e.trim()
	if e.mode == Sorted && e.sorter.entries == nil {
		e.sorter.entries = make([]entry, 0, md.DataPointCount())
	}
	err := e.encodeResources(md.ResourceMetrics())
	if e.mode == Sorted && err == nil {
		err = e.writeSorted()
	}
	if err != nil {
		return err
	}
	if len(e.rejected) > 0 {
		return e.rejected
	}
	return nil
}

// trim empties pools that have grown too large.
func (e *MetricsEncoder) trim() {
	if e.resources.full(maxContainers) || e.scopes.full(maxContainers) || e.metrics.full(maxContainers) {
		e.resources.reset()
		e.scopes.reset()
		e.metrics.reset()
	}
	if s := &e.sorter.sets; s.full(maxSets) {
		s.reset()
		e.sorter.written = 0
	}
}

func (e *MetricsEncoder) encodeResources(rms pmetric.ResourceMetricsSlice) error {
	for r := range rms.Len() {
		rm := rms.At(r)
		e.at = mapping.Place{Offset: -1, Resource: r, Scope: -1, Metric: -1, Item: -1}
		if rm.ScopeMetrics().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.resources.find(&e.copier, rm.Resource(), rm.SchemaUrl())
		if err != nil {
			e.reject("resource.", err, pointsIn(rm.ScopeMetrics()))
			continue
		}
		if !e.kept.EntityRefs {
			e.losses.EntityRefs += countEntityRefs(rm.Resource())
		}
		e.sorter.now.resource = id
		if e.mode == Ordered {
			e.rec.SetResource(e.resources.entries[id].value)
		}
		if err := e.encodeScopes(rm.ScopeMetrics()); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) encodeScopes(sms pmetric.ScopeMetricsSlice) error {
	for s := range sms.Len() {
		sm := sms.At(s)
		e.at.Scope, e.at.Metric, e.at.Item = s, -1, -1
		if sm.Metrics().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.scopes.find(&e.copier, sm.Scope(), sm.SchemaUrl())
		if err != nil {
			e.reject("scope.", err, pointsInScope(sm))
			continue
		}
		e.sorter.now.scope = id
		if e.mode == Ordered {
			e.rec.SetScope(e.scopes.entries[id].value)
		}
		if err := e.encodeMetrics(sm.Metrics()); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) encodeMetrics(ms pmetric.MetricSlice) error {
	for i := range ms.Len() {
		m := ms.At(i)
		e.at.Metric, e.at.Item = i, -1
		d := describe(m)
		if d.points == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.metrics.find(&e.copier, &d)
		if err != nil {
			e.reject("", err, d.points)
			continue
		}
		if e.mode == Sorted {
			e.collect(&d, id)
			continue
		}
		e.rec.SetMetric(e.metrics.entries[id].value)
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
	attributes, point := e.rec.Attributes(), e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		e.Begin()
		if err := e.attributes(attributes, p.Attributes()); err != nil {
			e.rejectPoint(i, mapping.InField("attributes", err))
		} else if err := e.number(point, p); err != nil {
			e.rejectPoint(i, err)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeHistograms(ps pmetric.HistogramDataPointSlice, base uint32) error {
	attributes, point := e.rec.Attributes(), e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		e.Begin()
		id, err := e.metrics.withBounds(base, p.ExplicitBounds())
		if err != nil {
			e.rejectPoint(i, err)
			continue
		}
		e.rec.SetMetric(e.metrics.entries[id].value)
		if err := e.attributes(attributes, p.Attributes()); err != nil {
			e.rejectPoint(i, mapping.InField("attributes", err))
		} else if err := e.histogram(point, p); err != nil {
			e.rejectPoint(i, err)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeExponentials(ps pmetric.ExponentialHistogramDataPointSlice) error {
	attributes, point := e.rec.Attributes(), e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		e.Begin()
		if err := e.attributes(attributes, p.Attributes()); err != nil {
			e.rejectPoint(i, mapping.InField("attributes", err))
		} else if err := e.exponential(point, p); err != nil {
			e.rejectPoint(i, err)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

func (e *MetricsEncoder) writeSummaries(ps pmetric.SummaryDataPointSlice) error {
	attributes, point := e.rec.Attributes(), e.rec.Point()
	for i := range ps.Len() {
		p := ps.At(i)
		e.Begin()
		if err := e.attributes(attributes, p.Attributes()); err != nil {
			e.rejectPoint(i, mapping.InField("attributes", err))
		} else if err := e.summary(point, p); err != nil {
			e.rejectPoint(i, err)
		} else if err := e.w.Write(); err != nil {
			return err
		}
	}
	return nil
}

// rejectPoint notes a point that is not written.
func (e *MetricsEncoder) rejectPoint(i int, err error) {
	e.at.Item = i
	e.reject("", err, 1)
}

// reject notes that n points where the encoder is are not written.
func (e *MetricsEncoder) reject(prefix string, err error, n int) {
	e.rejected = mapping.AddItems(e.rejected, e.at, prefix, err, n)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// MetricsEncoder writes OTLP messages of metrics to a stream. It serves one
// stream and is not safe for use by several goroutines at once.
type MetricsEncoder struct {
	encoder
	w   *otelstef.MetricsWriter
	rec *otelstef.Metrics

	metrics  pool[otelstef.Metric]
	variants pool[otelstef.Metric] // histograms with bounds
	base     *pooled[otelstef.Metric]

	positive, negative []extent
	counts             []uint64
	floats             []float64
}

// NewMetricsEncoder returns an encoder that writes to w. Nothing else may write to w.
func NewMetricsEncoder(w *otelstef.MetricsWriter) *MetricsEncoder {
	notNil(w == nil, "writer")
	e := &MetricsEncoder{w: w, rec: w.Record()}
	e.kept = features.OfMetrics(w.Fields())
	e.attrs.init(w.Dicts().AttributeKey, w.Dicts().AnyValueString)
	return e
}

// EncodeOTLP writes all points of b, a MetricsData or ExportMetricsServiceRequest
// message, in their order. It does not flush the writer, and keeps no reference
// to b.
//
// If the message is too long, has a truncated resource or is not of metrics, nothing of it
// is written, and the error is a *WireError. Points that are damaged, exceed a limit or have
// an id of a wrong length are omitted and reported in ItemErrors; all other points are
// written. Any other error comes from the writer, and neither the encoder nor the writer can
// continue after it.
func (e *MetricsEncoder) EncodeOTLP(b []byte) error {
	if err := e.start(b); err != nil {
		return err
	}
	if e.metrics.full() || e.variants.full() {
		e.metrics.empty()
		e.variants.empty()
	}
	before := e.w.Stats().Records
	err := e.items(e.rec, e.pointsIn, e.metric)
	e.positive, e.negative, e.counts, e.floats = reusable(e.positive), reusable(e.negative), reusable(e.counts), reusable(e.floats)
	return e.finish(&metricsSignal, e.w.Stats().Records-before, err)
}

// pointsIn returns how many points the ScopeMetrics in x has, up to its first damaged field.
func (e *MetricsEncoder) pointsIn(x extent) (n int) {
	if _, err := e.identify(x); err != nil {
		x.to = err.at
	}
	e.each(x, tagItems, func(_ int, m extent) error {
		d, _ := e.describe(m)
		n += d.points
		return nil
	})
	return n
}

// description is the content of a Metric except the fields that identify it, which are in e.key.
type description struct {
	kind        uint64 // the tag of the data, or 0
	data        extent
	points      int
	temporality int32
	monotonic   bool
}

// describe checks the Metric in x, except the content of its points, and returns the
// description. It writes the fields that identify the metric into e.key.
func (e *MetricsEncoder) describe(x extent) (d description, err error) {
	e.key = e.key[:0]
	if err := e.check(e.b, x, metricShape); err != nil {
		return d, err
	}
	b := e.b[:x.to]
	var shape *shape
	for at := x.from; at < x.to; {
		tag, start := varint(b, at)
		next := skip(b, start, tag)
		switch tag {
		case tagGauge, tagSum, tagHistogram, tagExponential, tagSummary:
			d.kind, shape = tag, dataShapes[tag>>3]
			d.data = extentAt(b, start)
		default:
			e.key = append(e.key, b[at:next]...)
		}
		at = next
	}
	b = e.b[:d.data.to]
	for at := d.data.from; at < d.data.to; {
		field := at
		if b[at] == tagPoint {
			d.points++
			_, at = bytesAt(b, at+1)
		} else if at, err = e.describeField(&d, b, at, shape); err != nil {
			return d, err
		}
		if at < 0 {
			return d, &damage{field, broken}
		}
	}
	return d, nil
}

// describeField handles a field of the gauge, sum or other data of a metric: a field other
// than a point, or a point whose tag has more bytes than necessary. It returns the offset
// after the field, or -1 if the field is damaged.
func (e *MetricsEncoder) describeField(d *description, b []byte, at int, s *shape) (int, error) {
	tag, start := firmTag(b, at)
	if start < 0 {
		return -1, nil
	}
	next := skip(b, start, tag)
	if next < 0 {
		return -1, nil
	}
	if err := e.check(b, extent{at, next}, s); err != nil {
		return -1, err
	}
	switch n, _ := longVarint(b, start); {
	case tag == tagPoint: // the tag has more bytes than necessary
		d.points++
	case tag == tagTemporality && d.kind != tagGauge && d.kind != tagSummary:
		d.temporality = int32(n)
	case tag == tagMonotonic && d.kind == tagSum:
		d.monotonic = n != 0
	}
	return next, nil
}

func (e *MetricsEncoder) metric(i int, x extent) error {
	e.at.Offset, e.at.Metric, e.at.Item = x.from, i, -1
	unknown := e.unknown
	d, err := e.describe(x)
	if err != nil {
		e.unknown = unknown
		e.reject("", err, d.points)
		return nil
	}
	if d.points == 0 {
		e.unknown = unknown
		e.losses.EmptyContainers++
		return nil
	}
	length := len(e.key)
	e.key = binary.LittleEndian.AppendUint32(e.key, uint32(d.temporality))
	e.key = append(e.key, byte(d.kind), byte(boolBit(d.monotonic)))
	e.base = e.metrics.find(e.key)
	if e.base == nil {
		v, described := otelstef.NewMetric(), e.unknown
		if err := e.inKey(func() error { return e.fillMetric(v, &d, length) }); err != nil {
			e.unknown = unknown
			e.reject("metric.", err, d.points)
			return nil
		}
		e.base = e.metrics.add(e.key, v, e.budget.Spent())
		e.base.held = e.budget.Spent()
		e.base.unknown = e.unknown - described
	} else {
		e.unknown += e.base.unknown
	}
	e.postpone(ofMetric, unknown)
	e.rec.SetMetric(e.base.value)
	return e.points(&d)
}

// fillMetric sets a metric from d and from the first length bytes of the key.
func (e *MetricsEncoder) fillMetric(v *otelstef.Metric, d *description, length int) error {
	switch d.kind {
	case tagSum:
		v.SetType(otelstef.MetricTypeSum)
	case tagHistogram:
		v.SetType(otelstef.MetricTypeHistogram)
	case tagExponential:
		v.SetType(otelstef.MetricTypeExpHistogram)
	case tagSummary:
		v.SetType(otelstef.MetricTypeSummary)
	}
	// OTLP enums are signed.
	v.SetAggregationTemporality(otelstef.AggregationTemporality(int64(d.temporality)))
	v.SetMonotonic(d.monotonic)
	e.pairs = e.pairs[:0]
	var texts [3]extent
	for at := 0; at < length; {
		var tag uint64
		tag, at = varint(e.b, at)
		switch tag {
		case tagMetricName, tagMetricDescription, tagMetricUnit:
			text := &texts[tag>>3-1]
			text.from, text.to = bytesAt(e.b, at)
			at = text.to
		case tagMetadata:
			at = collect(&e.pairs, e.b, at)
		default:
			at = skip(e.b, at, tag)
		}
	}
	v.SetName(e.text(texts[0]))
	v.SetDescription(e.text(texts[1]))
	v.SetUnit(e.text(texts[2]))
	if err := e.budget.Take(len(v.Name()) + len(v.Description()) + len(v.Unit())); err != nil {
		return mapping.InField("name, description or unit", err)
	}
	if err := e.attributes(v.Metadata()); err != nil {
		return mapping.InField("metadata", err)
	}
	return nil
}

// points writes the points of a metric in their order.
func (e *MetricsEncoder) points(d *description) error {
	b, item := e.b[:d.data.to], 0
	for at := d.data.from; at < d.data.to; {
		tag, start := varint(b, at)
		if tag != tagPoint {
			at = skip(b, start, tag)
			continue
		}
		x := extentAt(b, start)
		at = x.to
		if err := e.point(d.kind, x); err != nil {
			if !e.kept.Flags {
				e.losses.Flags, e.losses.Values, e.losses.Unvalued = e.before.Flags, e.before.Values, e.before.Unvalued
			}
			e.rejectItem(item, x, err)
		} else {
			e.countContainers()
			if err := e.w.Write(); err != nil {
				return err
			}
		}
		item++
	}
	return nil
}

func (e *MetricsEncoder) point(kind uint64, x extent) error {
	e.beginItem()
	if !e.kept.Flags {
		e.before.Flags, e.before.Values, e.before.Unvalued = e.losses.Flags, e.losses.Values, e.losses.Unvalued
	}
	switch kind {
	case tagHistogram:
		return e.histogram(x)
	case tagExponential:
		return e.exponential(x)
	case tagSummary:
		return e.summary(x)
	}
	return e.number(x)
}

// withBounds sets the metric of the record to the variant with these bounds, which are
// float64 numbers of 8 bytes.
func (e *MetricsEncoder) withBounds(bounds []byte) error {
	base := e.base
	switch {
	case len(bounds) == 0:
		e.rec.SetMetric(base.value)
		return nil
	case base.bound != nil && base.bounds == string(bounds):
		e.rec.SetMetric(base.bound.value)
		return nil
	case base.held+mapping.BucketBytes*(len(bounds)/8) > MaxItemBytes: // bounds are part of the metric
		e.budget.Left = 0
		return mapping.InField("explicit_bounds", e.budget.Take(1))
	}
	e.key = binary.LittleEndian.AppendUint64(e.key[:0], uint64(base.number))
	e.key = append(e.key, bounds...)
	found := e.variants.find(e.key)
	if found == nil {
		e.floats = e.floats[:0]
		for at := 0; at < len(bounds); at += 8 {
			e.floats = append(e.floats, float64At(bounds, at))
		}
		v := otelstef.NewMetric()
		v.CopyFrom(base.value)
		v.HistogramBounds().SetValues(e.floats)
		found = e.variants.add(e.key, v, len(bounds)+base.held)
	}
	base.bound, base.bounds = found, found.key[8:]
	e.rec.SetMetric(found.value)
	return nil
}

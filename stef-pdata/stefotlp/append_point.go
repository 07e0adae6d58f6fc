// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// point appends the point of a record that is already checked.
func (d *MetricsDecoder) point(rec *otelstef.Metrics) {
	switch rec.Metric().Type() {
	case otelstef.MetricTypeHistogram:
		d.histogram(rec)
	case otelstef.MetricTypeExpHistogram:
		d.exponential(rec)
	case otelstef.MetricTypeSummary:
		d.summary(rec)
	default:
		d.number(rec)
	}
}

// flags returns the flags of a point. If the schema has no flags, a missing value
// means "no recorded value".
//
// spec: #otlp-metrics
func (d *MetricsDecoder) flags(p *otelstef.Point) uint64 {
	if !d.kept.Flags && p.Value().Type() == otelstef.PointValueTypeNone {
		return 1
	}
	return p.Flags()
}

func (d *MetricsDecoder) number(rec *otelstef.Metrics) {
	attributes := d.encoded(tagNumberAttributes, rec.Attributes())
	p := rec.Point()
	d.exemplars = d.exemplars[:0]
	if p.Exemplars().Len() > 0 { // the length of the point includes the length of its exemplars
		d.exemplars = d.appendExemplars(d.exemplars, tagNumberExemplar, p)
	}
	start, time, flags := p.StartTimestamp(), p.Timestamp(), d.flags(p)
	n := len(attributes) + len(d.exemplars)
	if start != 0 {
		n += 9
	}
	if time != 0 {
		n += 9
	}
	v := p.Value()
	if v.Type() != otelstef.PointValueTypeNone {
		n += 9
	}
	if flags != 0 {
		n += 1 + varintLen(flags)
	}
	dst := appendVarint(append(slices.Grow(d.out, n+11), tagPoint), uint64(n))
	dst = appendTime(dst, tagStart, start)
	dst = appendTime(dst, tagTime, time)
	switch v.Type() {
	case otelstef.PointValueTypeFloat64:
		dst = appendFixed64(dst, tagNumberDouble, math.Float64bits(v.Float64()))
	case otelstef.PointValueTypeInt64:
		dst = appendFixed64(dst, tagNumberInt, uint64(v.Int64()))
	}
	if len(d.exemplars) > 0 {
		dst = append(dst, d.exemplars...)
	}
	dst = append(dst, attributes...)
	d.out = appendNumber(dst, tagNumberFlags, flags)
}

// beginPoint begins the point of a histogram, exponential histogram or summary, and
// appends its times and attributes.
func (d *MetricsDecoder) beginPoint(rec *otelstef.Metrics, attributesTag byte) (dst []byte, at int) {
	attributes := d.encoded(attributesTag, rec.Attributes())
	dst, at = begin(d.out, tagPoint, roomItem)
	dst = appendTime(dst, tagStart, rec.Point().StartTimestamp())
	dst = appendTime(dst, tagTime, rec.Point().Timestamp())
	return append(dst, attributes...), at
}

func appendOptional(dst []byte, tag byte, v float64, there bool) []byte {
	if !there {
		return dst
	}
	return appendFixed64(dst, tag, math.Float64bits(v))
}

func (d *MetricsDecoder) histogram(rec *otelstef.Metrics) {
	dst, at := d.beginPoint(rec, tagHistogramAttributes)
	p := rec.Point()
	if h := p.Value().Histogram(); h != nil {
		dst = appendTime(dst, tagHistogramCount, uint64(h.Count()))
		dst = appendOptional(dst, tagHistogramSum, h.Sum(), h.HasSum())
		dst = appendOptional(dst, tagHistogramMin, h.Min(), h.HasMin())
		dst = appendOptional(dst, tagHistogramMax, h.Max(), h.HasMax())
		if counts := h.BucketCounts().Values(); len(counts) > 0 {
			dst = appendVarint(append(dst, tagHistogramBucketCounts), uint64(8*len(counts)))
			for _, n := range counts {
				dst = binary.LittleEndian.AppendUint64(dst, n)
			}
		}
	}
	if bounds := rec.Metric().HistogramBounds().Values(); len(bounds) > 0 {
		dst = appendVarint(append(dst, tagHistogramBounds), uint64(8*len(bounds)))
		for _, bound := range bounds {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(bound))
		}
	}
	dst = d.appendExemplars(dst, tagHistogramExemplar, p)
	dst = appendNumber(dst, tagHistogramFlags, d.flags(p))
	d.out = end(dst, at, roomItem)
}

func (d *MetricsDecoder) exponential(rec *otelstef.Metrics) {
	dst, at := d.beginPoint(rec, tagExponentialAttributes)
	p := rec.Point()
	if h := p.Value().ExpHistogram(); h != nil {
		dst = appendTime(dst, tagExponentialCount, h.Count())
		dst = appendOptional(dst, tagExponentialSum, h.Sum(), h.HasSum())
		dst = appendNumber(dst, tagExponentialScale, zigzag(h.Scale()))
		dst = appendTime(dst, tagExponentialZeroCount, h.ZeroCount())
		dst = appendBuckets(dst, tagExponentialPositive, h.PositiveBuckets())
		dst = appendBuckets(dst, tagExponentialNegative, h.NegativeBuckets())
		dst = appendOptional(dst, tagExponentialMin, h.Min(), h.HasMin())
		dst = appendOptional(dst, tagExponentialMax, h.Max(), h.HasMax())
		dst = appendTime(dst, tagExponentialZeroThreshold, math.Float64bits(h.ZeroThreshold()))
	}
	dst = d.appendExemplars(dst, tagExponentialExemplar, p)
	dst = appendNumber(dst, tagExponentialFlags, d.flags(p))
	d.out = end(dst, at, roomItem)
}

// zigzag encodes a sint32.
func zigzag(v int64) uint64 { return uint64(uint32(v)<<1 ^ uint32(v>>31)) }

func appendBuckets(dst []byte, tag byte, buckets *otelstef.ExpHistogramBuckets) []byte {
	counts := buckets.BucketCounts().Values()
	if buckets.Offset() == 0 && len(counts) == 0 {
		return dst
	}
	dst, at := begin(dst, tag, roomPart)
	dst = appendNumber(dst, tagBucketsOffset, zigzag(buckets.Offset()))
	if len(counts) > 0 {
		var countsAt int
		dst, countsAt = begin(dst, tagBucketsCounts, roomPart)
		for _, n := range counts {
			dst = appendVarint(dst, n)
		}
		dst = end(dst, countsAt, roomPart)
	}
	return end(dst, at, roomPart)
}

func (d *MetricsDecoder) summary(rec *otelstef.Metrics) {
	dst, at := d.beginPoint(rec, tagSummaryAttributes)
	p := rec.Point()
	if s := p.Value().Summary(); s != nil {
		dst = appendTime(dst, tagSummaryCount, s.Count())
		dst = appendTime(dst, tagSummarySum, math.Float64bits(s.Sum()))
		for i := range s.QuantileValues().Len() {
			q, quantileAt := s.QuantileValues().At(i), 0
			dst, quantileAt = begin(dst, tagSummaryQuantile, roomPart)
			dst = appendTime(dst, tagQuantileQuantile, math.Float64bits(q.Quantile()))
			dst = appendTime(dst, tagQuantileValue, math.Float64bits(q.Value()))
			dst = end(dst, quantileAt, roomPart)
		}
	}
	dst = appendNumber(dst, tagSummaryFlags, d.flags(p))
	d.out = end(dst, at, roomItem)
}

// appendExemplars appends the exemplars of a point as fields with this tag.
func (d *MetricsDecoder) appendExemplars(dst []byte, tag byte, p *otelstef.Point) []byte {
	from := len(dst)
	for i := range p.Exemplars().Len() {
		x, at := p.Exemplars().At(i), 0
		dst, at = begin(dst, tag, roomPart)
		dst = appendTime(dst, tagExemplarTime, x.Timestamp())
		switch v := x.Value(); v.Type() {
		case otelstef.ExemplarValueTypeFloat64:
			dst = appendFixed64(dst, tagExemplarDouble, math.Float64bits(v.Float64()))
		case otelstef.ExemplarValueTypeInt64:
			dst = appendFixed64(dst, tagExemplarInt, uint64(v.Int64()))
		}
		dst = appendIDs(dst, tagExemplarTraceID, x.TraceID(), tagExemplarSpanID, x.SpanID())
		dst = d.appendAttributes(dst, tagExemplarAttributes, x.FilteredAttributes())
		if dst = end(dst, at, roomPart); d.tooLarge(len(dst) - from) {
			break
		}
	}
	return dst
}

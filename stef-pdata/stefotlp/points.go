// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

func float64At(b []byte, at int) float64 { return math.Float64frombits(fixed64(b, at)) }

// number sets the record from the NumberDataPoint in x. Most points are of this type,
// so they are checked while they are parsed.
//
// spec: #otlp-metrics
func (e *MetricsEncoder) number(x extent) error {
	var start, time, number, flags uint64
	typ := otelstef.PointValueTypeNone
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		field := at
		tag := b[at]
		at++
		switch tag {
		case tagNumberAttributes:
			at = e.itemPair(b, field)
		case tagStart, tagTime, tagNumberDouble, tagNumberInt:
			if x.to-at < 8 {
				return e.check(e.b, x, numberShape)
			}
			v := fixed64(b, at)
			at += 8
			switch tag {
			case tagStart:
				start = v
			case tagTime:
				time = v
			case tagNumberDouble:
				number, typ = v, otelstef.PointValueTypeFloat64
			default:
				number, typ = v, otelstef.PointValueTypeInt64
			}
		case tagNumberFlags:
			flags, at = longVarint(b, at)
		default:
			return e.unusualNumber(x)
		}
		if at < 0 {
			return e.check(e.b, x, numberShape)
		}
	}
	return e.setNumber(start, time, number, uint32(flags), typ)
}

// unusualNumber is like number, but for points with exemplars, unknown fields or tags in
// more bytes than necessary.
func (e *MetricsEncoder) unusualNumber(x extent) error {
	if err := e.check(e.b, x, numberShape); err != nil {
		return err
	}
	e.begin() // again, without the attributes that number has collected
	var start, time, number, flags uint64
	typ := otelstef.PointValueTypeNone
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		if tag == tagNumberAttributes {
			at = e.itemPair(b, at)
			continue
		}
		at = skip(b, field, tag)
		switch tag {
		case tagStart:
			start = fixed64(b, field)
		case tagTime:
			time = fixed64(b, field)
		case tagNumberDouble:
			number, typ = fixed64(b, field), otelstef.PointValueTypeFloat64
		case tagNumberInt:
			number, typ = fixed64(b, field), otelstef.PointValueTypeInt64
		case tagNumberFlags:
			flags, _ = varint(b, field)
		case tagNumberExemplar:
			e.parts = append(e.parts, extentAt(b, field))
		}
	}
	return e.setNumber(start, time, number, uint32(flags), typ)
}

// setNumber sets the record of a number point.
func (e *MetricsEncoder) setNumber(start, time, number uint64, flags uint32, typ otelstef.PointValueType) error {
	if err := e.itemAttributes(e.rec.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	dst := e.rec.Point()
	dst.SetStartTimestamp(start)
	dst.SetTimestamp(time)
	if e.flags(dst, flags, typ != otelstef.PointValueTypeNone) {
		typ = otelstef.PointValueTypeNone
	} else if typ == otelstef.PointValueTypeNone && !e.kept.Flags {
		e.losses.Unvalued++
	}
	switch typ {
	case otelstef.PointValueTypeFloat64:
		dst.Value().SetFloat64(math.Float64frombits(number))
	case otelstef.PointValueTypeInt64:
		dst.Value().SetInt64(int64(number))
	default:
		dst.Value().SetType(otelstef.PointValueTypeNone)
	}
	return e.exemplars(dst)
}

// flags sets the flags and reports whether the value is omitted because of them.
//
// spec: #otlp-metrics
func (e *MetricsEncoder) flags(dst *otelstef.Point, flags uint32, hasValue bool) (omit bool) {
	if e.kept.Flags {
		dst.SetFlags(uint64(flags))
		return false
	}
	if flags == 0 {
		return false
	}
	if flags != 1 {
		e.losses.Flags++
	}
	omit = flags&1 != 0
	if omit && hasValue {
		e.losses.Values++
	}
	return omit
}

type optional struct {
	number float64
	there  bool
}

func optionalAt(b []byte, at int) optional { return optional{float64At(b, at), true} }

// runs adds the field at b[at:] to have, a list of fixed64 numbers from earlier fields, and returns
// the list. As in pdata, a packed field replaces the list. next is the offset after the field.
func runs(have []byte, b []byte, at int, tag uint64) (bytes []byte, next int) {
	if tag&7 == wireBytes {
		from, to := bytesAt(b, at)
		return b[from:to:to], to
	}
	return append(have, b[at:at+8]...), at + 8
}

// histogram sets the record from the HistogramDataPoint in x.
func (e *MetricsEncoder) histogram(x extent) error {
	var start, time, count, flags uint64
	var sum, least, most optional
	var buckets, bounds []byte
	if err := e.check(e.b, x, histogramShape); err != nil {
		return err
	}
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		pair := at
		var tag uint64
		tag, at = varint(b, at)
		field := at
		switch tag {
		case tagHistogramAttributes:
			at = e.itemPair(b, pair)
			continue
		case tagHistogramExemplar:
			at = collect(&e.parts, b, at)
			continue
		case tagHistogramBucketCounts, tagHistogramBucketCount:
			buckets, at = runs(buckets, b, at, tag)
			continue
		case tagHistogramBounds, tagHistogramBound:
			bounds, at = runs(bounds, b, at, tag)
			continue
		}
		at = skip(b, at, tag)
		switch tag {
		case tagStart:
			start = fixed64(b, field)
		case tagTime:
			time = fixed64(b, field)
		case tagHistogramCount:
			count = fixed64(b, field)
		case tagHistogramSum:
			sum = optionalAt(b, field)
		case tagHistogramFlags:
			flags, _ = varint(b, field)
		case tagHistogramMin:
			least = optionalAt(b, field)
		case tagHistogramMax:
			most = optionalAt(b, field)
		}
	}
	if err := e.withBounds(bounds); err != nil {
		return err
	}
	if err := e.itemAttributes(e.rec.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	dst := e.rec.Point()
	dst.SetStartTimestamp(start)
	dst.SetTimestamp(time)
	hasValue := count != 0 || sum.there || least.there || most.there || len(buckets) > 0
	if e.flags(dst, uint32(flags), hasValue) {
		dst.Value().SetType(otelstef.PointValueTypeNone)
		return e.exemplars(dst)
	}
	h := dst.Value().SetHistogram()
	h.SetCount(int64(count))
	h.SetOptionalSum(sum.number, sum.there)
	h.SetOptionalMin(least.number, least.there)
	h.SetOptionalMax(most.number, most.there)
	if err := e.budget.Take(mapping.BucketBytes * (len(buckets) / 8)); err != nil {
		return mapping.InField("bucket_counts", err)
	}
	counts := h.BucketCounts()
	counts.SetLen(len(buckets) / 8)
	for i := range counts.Len() {
		counts.Set(i, fixed64(buckets, 8*i))
	}
	return e.exemplars(dst)
}

// exponential sets the record from the ExponentialHistogramDataPoint in x. The published
// schema cannot carry both a value and the flag "no recorded value". For that schema
// exponential omits the flag, because readers of that schema expect a value.
//
// spec: #interop-otlp
func (e *MetricsEncoder) exponential(x extent) error {
	if err := e.check(e.b, x, exponentialShape); err != nil {
		return err
	}
	dst := e.rec.Point()
	h := dst.Value().SetExpHistogram()
	var start, time, flags uint64
	var count, scale, zeroCount uint64
	var zeroThreshold float64
	var sum, least, most optional
	e.positive, e.negative = e.positive[:0], e.negative[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		if tag == tagExponentialAttributes {
			at = e.itemPair(b, at)
			continue
		}
		at = skip(b, field, tag)
		switch tag {
		case tagStart:
			start = fixed64(b, field)
		case tagTime:
			time = fixed64(b, field)
		case tagExponentialCount:
			count = fixed64(b, field)
		case tagExponentialSum:
			sum = optionalAt(b, field)
		case tagExponentialScale:
			scale, _ = varint(b, field)
		case tagExponentialZeroCount:
			zeroCount = fixed64(b, field)
		case tagExponentialPositive:
			collect(&e.positive, b, field)
		case tagExponentialNegative:
			collect(&e.negative, b, field)
		case tagExponentialFlags:
			flags, _ = varint(b, field)
		case tagExponentialExemplar:
			collect(&e.parts, b, field)
		case tagExponentialMin:
			least = optionalAt(b, field)
		case tagExponentialMax:
			most = optionalAt(b, field)
		case tagExponentialZeroThreshold:
			zeroThreshold = float64At(b, field)
		}
	}
	if err := e.itemAttributes(e.rec.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	dst.SetStartTimestamp(start)
	dst.SetTimestamp(time)
	if e.kept.Flags {
		dst.SetFlags(uint64(uint32(flags)))
	} else if uint32(flags) != 0 {
		e.losses.Flags++
	}
	h.SetCount(count)
	h.SetOptionalSum(sum.number, sum.there)
	h.SetOptionalMin(least.number, least.there)
	h.SetOptionalMax(most.number, most.there)
	h.SetScale(int64(zigzag32(scale)))
	h.SetZeroCount(zeroCount)
	h.SetZeroThreshold(zeroThreshold)
	if err := e.buckets(h.PositiveBuckets(), e.positive); err != nil {
		return mapping.InField("positive.bucket_counts", err)
	}
	if err := e.buckets(h.NegativeBuckets(), e.negative); err != nil {
		return mapping.InField("negative.bucket_counts", err)
	}
	return e.exemplars(dst)
}

// buckets sets buckets from a message that may consist of several pieces.
func (e *MetricsEncoder) buckets(dst *otelstef.ExpHistogramBuckets, pieces []extent) error {
	offset, n := int32(0), uint64(0)
	e.counts = e.counts[:0]
	for _, x := range pieces {
		b := e.b[:x.to]
		for at := x.from; at < x.to; {
			var tag uint64
			tag, at = varint(b, at)
			switch tag {
			case tagBucketsOffset:
				n, at = varint(b, at)
				offset = zigzag32(n)
			case tagBucketsCount:
				n, at = varint(b, at)
				e.counts = append(e.counts, n)
			case tagBucketsCounts:
				var to int
				for at, to = bytesAt(b, at); at < to; {
					n, at = varint(b, at)
					e.counts = append(e.counts, n)
				}
			default:
				at = skip(b, at, tag)
			}
		}
	}
	dst.SetOffset(int64(offset))
	if err := e.budget.Take(mapping.BucketBytes * len(e.counts)); err != nil {
		return err
	}
	dst.BucketCounts().SetValues(e.counts)
	return nil
}

// summary sets the record from the SummaryDataPoint in x.
func (e *MetricsEncoder) summary(x extent) error {
	if err := e.check(e.b, x, summaryShape); err != nil {
		return err
	}
	var start, time, flags, count uint64
	var sum float64
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		if tag == tagSummaryAttributes {
			at = e.itemPair(b, at)
			continue
		}
		at = skip(b, field, tag)
		switch tag {
		case tagStart:
			start = fixed64(b, field)
		case tagTime:
			time = fixed64(b, field)
		case tagSummaryCount:
			count = fixed64(b, field)
		case tagSummarySum:
			sum = float64At(b, field)
		case tagSummaryQuantile:
			collect(&e.parts, b, field)
		case tagSummaryFlags:
			flags, _ = varint(b, field)
		}
	}
	if err := e.itemAttributes(e.rec.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	dst := e.rec.Point()
	dst.SetStartTimestamp(start)
	dst.SetTimestamp(time)
	dst.Exemplars().SetLen(0)
	hasValue := count != 0 || math.Float64bits(sum) != 0 || len(e.parts) > 0
	if e.flags(dst, uint32(flags), hasValue) {
		dst.Value().SetType(otelstef.PointValueTypeNone)
		return nil
	}
	s := dst.Value().SetSummary()
	s.SetCount(count)
	s.SetSum(sum)
	if err := e.budget.Take(mapping.ValueBytes * len(e.parts)); err != nil {
		return mapping.InField("quantile_values", err)
	}
	s.QuantileValues().SetLen(len(e.parts))
	for i, x := range e.parts {
		e.quantile(s.QuantileValues().At(i), x)
	}
	return nil
}

func (e *MetricsEncoder) quantile(dst *otelstef.QuantileValue, x extent) {
	var quantile, value float64
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		at = skip(b, field, tag)
		switch tag {
		case tagQuantileQuantile:
			quantile = float64At(b, field)
		case tagQuantileValue:
			value = float64At(b, field)
		}
	}
	dst.SetQuantile(quantile)
	dst.SetValue(value)
}

// exemplars sets exemplars from the messages in e.parts.
func (e *MetricsEncoder) exemplars(dst *otelstef.Point) error {
	list := dst.Exemplars()
	n := len(e.parts)
	if n == 0 {
		list.SetLen(0)
		return nil
	}
	if err := e.budget.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("exemplars", err)
	}
	list.SetLen(n)
	for i, x := range e.parts {
		if err := e.exemplar(list.At(i), x); err != nil {
			return mapping.InField(fmt.Sprintf("exemplars[%d].", i), err)
		}
	}
	return nil
}

func (e *MetricsEncoder) exemplar(dst *otelstef.Exemplar, x extent) error {
	var time, number uint64
	var trace, span extent
	typ := otelstef.ExemplarValueTypeNone
	e.pairs = e.pairs[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, field := varint(b, at)
		at = skip(b, field, tag)
		switch tag {
		case tagExemplarTime:
			time = fixed64(b, field)
		case tagExemplarDouble:
			number, typ = fixed64(b, field), otelstef.ExemplarValueTypeFloat64
		case tagExemplarInt:
			number, typ = fixed64(b, field), otelstef.ExemplarValueTypeInt64
		case tagExemplarSpanID:
			span.from, span.to = bytesAt(b, field)
		case tagExemplarTraceID:
			trace.from, trace.to = bytesAt(b, field)
		case tagExemplarAttributes:
			collect(&e.pairs, b, field)
		}
	}
	dst.SetTimestamp(time)
	switch typ {
	case otelstef.ExemplarValueTypeFloat64:
		dst.Value().SetFloat64(math.Float64frombits(number))
	case otelstef.ExemplarValueTypeInt64:
		dst.Value().SetInt64(int64(number))
	default:
		dst.Value().SetType(otelstef.ExemplarValueTypeNone)
	}
	id, err := e.exemplarID(span, mapping.SpanIDBytes)
	if err != nil {
		return mapping.InField("span_id", err)
	}
	dst.SetSpanID(id)
	if id, err = e.exemplarID(trace, mapping.TraceIDBytes); err != nil {
		return mapping.InField("trace_id", err)
	}
	dst.SetTraceID(id)
	if err := e.attributes(dst.FilteredAttributes()); err != nil {
		return mapping.InField("filtered_attributes", err)
	}
	return nil
}

var noID [mapping.TraceIDBytes]byte

// exemplarID returns the raw id of an exemplar: n bytes, or none if it is unset. In the
// published schema, an unset id consists of zeros, because readers of that schema need all
// bytes of it.
//
// spec: #otlp-common
func (e *MetricsEncoder) exemplarID(x extent, n int) ([]byte, error) {
	id, err := e.id(nil, x, n, true)
	if len(id) == 0 && !e.kept.Flags {
		id = noID[:n]
	}
	return id, err
}

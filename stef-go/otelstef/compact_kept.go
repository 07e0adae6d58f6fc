// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

// keptMetrics computes the values that the reader has. A stream can be in the compact form and lack
// some fields or choices of the values on which the state of the compact form depends. The reader
// then has initial values in these places, so the writer must also compute the state from initial
// values.
//
// spec: #compact-state
type keptMetrics struct {
	fields MetricsFields
	// cutValues says that the stream lacks choices of attributes, cutExemplars that it lacks parts
	// of exemplars, and cutTemporality that it lacks the temporality of metrics.
	cutValues, cutExemplars, cutTemporality bool

	attributes Attributes
	point      Point
}

const allExemplar = ExemplarFieldTimestamp | ExemplarFieldValue | ExemplarFieldSpanID | ExemplarFieldTraceID | ExemplarFieldFilteredAttributes

func (k *keptMetrics) start(fields MetricsFields) {
	k.fields = fields
	k.cutValues = fields.AnyValue < AnyValueTypeBytes
	k.cutExemplars = k.cutValues || fields.Exemplar != allExemplar || fields.ExemplarValue < ExemplarValueTypeFloat64
	k.cutTemporality = fields.Metric&MetricFieldAggregationTemporality == 0
	if k.cutExemplars {
		k.point.init(nil, 0)
	}
}

// attributesOf returns the attributes that the reader has for src, valid until the next call.
func (k *keptMetrics) attributesOf(src *Attributes) *Attributes {
	k.copyAttributes(&k.attributes, src)
	return &k.attributes
}

// copyAttributes makes dst equal to the attributes that the reader has for src.
func (k *keptMetrics) copyAttributes(dst, src *Attributes) {
	dst.SetLen(len(src.pairs))
	for i, p := range src.pairs {
		dst.SetKey(i, p.key)
		if v := dst.Value(i); p.value.typ > k.fields.AnyValue {
			v.SetType(AnyValueTypeNone)
		} else {
			v.copyFrom(&p.value)
		}
	}
}

// exemplarsOf returns a point with the exemplars that the reader has for src, and with the flags
// of src. The result is valid until the next call.
func (k *keptMetrics) exemplarsOf(src *Point) *Point {
	k.point.flags = src.flags
	list, has := &k.point.exemplars, k.fields.Exemplar
	list.SetLen(src.exemplars.Len())
	for i := range list.Len() {
		e, from := list.At(i), src.exemplars.At(i)
		if has&ExemplarFieldTimestamp != 0 {
			e.SetTimestamp(from.timestamp)
		}
		if from.value.typ > k.fields.ExemplarValue {
			e.value.SetType(ExemplarValueTypeNone)
		} else {
			e.value.CopyFrom(&from.value)
		}
		if has&ExemplarFieldSpanID != 0 {
			e.SetSpanID(from.spanID)
		}
		if has&ExemplarFieldTraceID != 0 {
			e.SetTraceID(from.traceID)
		}
		if has&ExemplarFieldFilteredAttributes != 0 {
			k.copyAttributes(&e.filteredAttributes, &from.filteredAttributes)
		}
	}
	return &k.point
}

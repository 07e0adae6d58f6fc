// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Points sets points of records from points of pdata. It counts the content that the
// schema cannot carry.
type Points struct {
	values.Copier
	features features.Set
	losses   *mapping.Losses
}

// Init sets the features of the stream and where to count losses.
func (w *Points) Init(f features.Set, losses *mapping.Losses) { w.features, w.losses = f, losses }

// flags sets the flags and reports whether the value is omitted because of them.
//
// spec: #otlp-metrics
func (w *Points) flags(dst *otelstef.Point, flags pmetric.DataPointFlags) (omit bool) {
	if w.features.Flags {
		dst.SetFlags(uint64(flags))
		return false
	}
	return flags.NoRecordedValue()
}

// lose counts the losses of a point that has been set completely.
func (w *Points) lose(flags pmetric.DataPointFlags, hasValue bool) {
	if w.features.Flags || flags == 0 {
		return
	}
	if flags != 1 {
		w.losses.Flags++
	}
	if flags.NoRecordedValue() && hasValue {
		w.losses.Values++
	}
}

// Number sets all fields of a number point except its attributes.
func (w *Points) Number(dst *otelstef.Point, p pmetric.NumberDataPoint) error {
	dst.SetStartTimestamp(uint64(p.StartTimestamp()))
	dst.SetTimestamp(uint64(p.Timestamp()))
	typ := p.ValueType()
	omit := w.flags(dst, p.Flags())
	switch {
	case !omit && typ == pmetric.NumberDataPointValueTypeInt:
		dst.Value().SetInt64(p.IntValue())
	case !omit && typ == pmetric.NumberDataPointValueTypeDouble:
		dst.Value().SetFloat64(p.DoubleValue())
	default:
		dst.Value().SetType(otelstef.PointValueTypeNone)
	}
	if err := w.exemplars(dst, p.Exemplars()); err != nil {
		return err
	}
	hasValue := typ != pmetric.NumberDataPointValueTypeEmpty
	if !omit && !hasValue && !w.features.Flags {
		w.losses.Unvalued++
	}
	w.lose(p.Flags(), hasValue)
	return nil
}

func (w *Points) Histogram(dst *otelstef.Point, p pmetric.HistogramDataPoint) error {
	dst.SetStartTimestamp(uint64(p.StartTimestamp()))
	dst.SetTimestamp(uint64(p.Timestamp()))
	buckets := p.BucketCounts()
	hasValue := p.Count() != 0 || p.HasSum() || p.HasMin() || p.HasMax() || buckets.Len() > 0
	if w.flags(dst, p.Flags()) {
		dst.Value().SetType(otelstef.PointValueTypeNone)
	} else {
		h := dst.Value().SetHistogram()
		h.SetCount(int64(p.Count()))
		h.SetOptionalSum(p.Sum(), p.HasSum())
		h.SetOptionalMin(p.Min(), p.HasMin())
		h.SetOptionalMax(p.Max(), p.HasMax())
		counts := h.BucketCounts()
		if err := w.Take(mapping.BucketBytes * buckets.Len()); err != nil {
			return mapping.InField("bucket_counts", err)
		}
		counts.SetLen(buckets.Len())
		for i := range buckets.Len() {
			counts.Set(i, buckets.At(i))
		}
	}
	if err := w.exemplars(dst, p.Exemplars()); err != nil {
		return err
	}
	w.lose(p.Flags(), hasValue)
	return nil
}

// Exponential sets all fields of an exponential histogram point except its attributes.
// The published schema cannot carry both a value and the flag "no recorded value". For that
// schema Exponential omits the flag, because readers of that schema expect a value.
//
// spec: #interop-otlp
func (w *Points) Exponential(dst *otelstef.Point, p pmetric.ExponentialHistogramDataPoint) error {
	dst.SetStartTimestamp(uint64(p.StartTimestamp()))
	dst.SetTimestamp(uint64(p.Timestamp()))
	if w.features.Flags {
		dst.SetFlags(uint64(p.Flags()))
	}
	h := dst.Value().SetExpHistogram()
	h.SetCount(p.Count())
	h.SetOptionalSum(p.Sum(), p.HasSum())
	h.SetOptionalMin(p.Min(), p.HasMin())
	h.SetOptionalMax(p.Max(), p.HasMax())
	h.SetScale(int64(p.Scale()))
	h.SetZeroCount(p.ZeroCount())
	h.SetZeroThreshold(p.ZeroThreshold())
	if err := w.buckets(h.PositiveBuckets(), p.Positive()); err != nil {
		return mapping.InField("positive.bucket_counts", err)
	}
	if err := w.buckets(h.NegativeBuckets(), p.Negative()); err != nil {
		return mapping.InField("negative.bucket_counts", err)
	}
	if err := w.exemplars(dst, p.Exemplars()); err != nil {
		return err
	}
	if !w.features.Flags && p.Flags() != 0 {
		w.losses.Flags++
	}
	return nil
}

func (w *Points) buckets(dst *otelstef.ExpHistogramBuckets, src pmetric.ExponentialHistogramDataPointBuckets) error {
	dst.SetOffset(int64(src.Offset()))
	from, to := src.BucketCounts(), dst.BucketCounts()
	if err := w.Take(mapping.BucketBytes * from.Len()); err != nil {
		return err
	}
	to.SetLen(from.Len())
	for i := range from.Len() {
		to.Set(i, from.At(i))
	}
	return nil
}

func (w *Points) Summary(dst *otelstef.Point, p pmetric.SummaryDataPoint) error {
	dst.SetStartTimestamp(uint64(p.StartTimestamp()))
	dst.SetTimestamp(uint64(p.Timestamp()))
	dst.Exemplars().SetLen(0)
	quantiles := p.QuantileValues()
	hasValue := p.Count() != 0 || !values.SameFloat(p.Sum(), 0) || quantiles.Len() > 0
	if w.flags(dst, p.Flags()) {
		dst.Value().SetType(otelstef.PointValueTypeNone)
		w.lose(p.Flags(), hasValue)
		return nil
	}
	s := dst.Value().SetSummary()
	s.SetCount(p.Count())
	s.SetSum(p.Sum())
	if err := w.Take(mapping.ValueBytes * quantiles.Len()); err != nil {
		return mapping.InField("quantile_values", err)
	}
	s.QuantileValues().SetLen(quantiles.Len())
	for i := range quantiles.Len() {
		from, to := quantiles.At(i), s.QuantileValues().At(i)
		to.SetQuantile(from.Quantile())
		to.SetValue(from.Value())
	}
	w.lose(p.Flags(), hasValue)
	return nil
}

func (w *Points) exemplars(dst *otelstef.Point, src pmetric.ExemplarSlice) error {
	n := src.Len()
	list := dst.Exemplars()
	if n == 0 {
		if list.Len() > 0 {
			list.SetLen(0)
		}
		return nil
	}
	if err := w.Take(mapping.PartBytes * n); err != nil {
		return mapping.InField("exemplars", err)
	}
	list.SetLen(n)
	for i := range n {
		if err := w.exemplar(list.At(i), src.At(i)); err != nil {
			return mapping.InField(fmt.Sprintf("exemplars[%d].filtered_attributes", i), err)
		}
	}
	return nil
}

func (w *Points) exemplar(dst *otelstef.Exemplar, src pmetric.Exemplar) error {
	dst.SetTimestamp(uint64(src.Timestamp()))
	switch src.ValueType() {
	case pmetric.ExemplarValueTypeInt:
		dst.Value().SetInt64(src.IntValue())
	case pmetric.ExemplarValueTypeDouble:
		dst.Value().SetFloat64(src.DoubleValue())
	default:
		dst.Value().SetType(otelstef.ExemplarValueTypeNone)
	}
	span, trace := src.SpanID(), src.TraceID()
	dst.SetSpanID(w.id(span[:], span == pcommon.SpanID{}))
	dst.SetTraceID(w.id(trace[:], trace == pcommon.TraceID{}))
	return w.Attributes(dst.FilteredAttributes(), src.FilteredAttributes())
}

// id returns an id as an exemplar holds it. Readers of the published schema need the full
// id even if it is unset.
//
// spec: #otlp-common
func (w *Points) id(id []byte, unset bool) []byte {
	if unset && w.features.Flags {
		return nil
	}
	return id
}

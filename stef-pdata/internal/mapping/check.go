// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// Decoders check a record before they convert it. Each check returns an error
// that names the field. Attributes need no check: OTLP can hold all of them.

// Fits32 checks an unsigned number that has 32 bits in OTLP.
func Fits32(field string, v uint64) error {
	if v > math.MaxUint32 {
		return NotOTLP(field, "%d does not fit in 32 bits", v)
	}
	return nil
}

// FitsSigned32 checks a signed number that has 32 bits in OTLP.
func FitsSigned32(field string, v int64) error {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return NotOTLP(field, "%d does not fit in 32 bits", v)
	}
	return nil
}

// CheckContainers checks a resource and a scope.
func CheckContainers(r *otelstef.Resource, s *otelstef.Scope) error {
	if err := Fits32("Resource.DroppedAttributesCount", r.DroppedAttributesCount()); err != nil {
		return err
	}
	return Fits32("Scope.DroppedAttributesCount", s.DroppedAttributesCount())
}

// CheckMetric checks a metric.
func CheckMetric(m *otelstef.Metric) error {
	if m.Type() > otelstef.MetricTypeSummary {
		return NotOTLP("Metric.Type", "%d is not a type of metric", uint64(m.Type()))
	}
	return FitsSigned32("Metric.AggregationTemporality", int64(m.AggregationTemporality()))
}

// SameDescriptor reports whether two metrics are the same metric in OTLP: all their
// fields are equal except the bounds of histograms.
//
// spec: #otlp-metrics
func SameDescriptor(a, b *otelstef.Metric) bool {
	return a.Name() == b.Name() &&
		a.Type() == b.Type() &&
		a.AggregationTemporality() == b.AggregationTemporality() &&
		a.Monotonic() == b.Monotonic() &&
		a.Unit() == b.Unit() &&
		a.Description() == b.Description() &&
		a.Metadata().Equal(b.Metadata())
}

// CheckPoint checks a point of a metric of type typ.
func CheckPoint(p *otelstef.Point, typ otelstef.MetricType) error {
	v := p.Value()
	fits := false
	switch v.Type() {
	case otelstef.PointValueTypeNone:
		fits = true
	case otelstef.PointValueTypeInt64, otelstef.PointValueTypeFloat64:
		fits = typ == otelstef.MetricTypeGauge || typ == otelstef.MetricTypeSum
	case otelstef.PointValueTypeHistogram:
		fits = typ == otelstef.MetricTypeHistogram
	case otelstef.PointValueTypeSummary:
		fits = typ == otelstef.MetricTypeSummary
	case otelstef.PointValueTypeExpHistogram:
		fits = typ == otelstef.MetricTypeExpHistogram
		if err := checkExponential(v.ExpHistogram()); err != nil {
			return err
		}
	}
	if !fits {
		return NotOTLP("Point.Value", "a value of type %v does not suit a metric of type %v", v.Type(), typ)
	}
	if p.Exemplars().Len() > 0 {
		if err := checkExemplars(p); err != nil {
			return err
		}
	}
	if p.Flags() != 0 {
		return Fits32("Point.Flags", p.Flags())
	}
	return nil
}

func checkExponential(h *otelstef.ExpHistogramValue) error {
	if err := FitsSigned32("Point.Value.ExpHistogram.Scale", h.Scale()); err != nil {
		return err
	}
	if err := FitsSigned32("Point.Value.ExpHistogram.PositiveBuckets.Offset", h.PositiveBuckets().Offset()); err != nil {
		return err
	}
	return FitsSigned32("Point.Value.ExpHistogram.NegativeBuckets.Offset", h.NegativeBuckets().Offset())
}

func checkExemplars(p *otelstef.Point) error {
	for i := range p.Exemplars().Len() {
		x := p.Exemplars().At(i)
		if err := checkIDs(x.TraceID(), x.SpanID()); err != nil {
			return InField(fmt.Sprintf("Point.Exemplars[%d].", i), err)
		}
	}
	return nil
}

func checkIDs(trace, span []byte) error {
	if err := CheckID("TraceID", trace, TraceIDBytes); err != nil {
		return err
	}
	return CheckID("SpanID", span, SpanIDBytes)
}

// CheckSpan checks a span with its events and links.
//
// spec: #otlp-common
func CheckSpan(s *otelstef.Span) error {
	if err := checkIDs(s.TraceID(), s.SpanID()); err != nil {
		return InField("Span.", err)
	}
	if err := CheckID("Span.ParentSpanID", s.ParentSpanID(), SpanIDBytes); err != nil {
		return err
	}
	if err := FitsSigned32("Span.Kind", int64(s.Kind())); err != nil {
		return err
	}
	if err := FitsSigned32("Span.Status.Code", int64(s.Status().Code())); err != nil {
		return err
	}
	if s.Flags()|s.DroppedAttributesCount()|s.DroppedEventsCount()|s.DroppedLinksCount() > math.MaxUint32 {
		return checkSpanNumbers(s)
	}
	for i := range s.Events().Len() {
		if n := s.Events().At(i).DroppedAttributesCount(); n > math.MaxUint32 {
			return Fits32(fmt.Sprintf("Span.Events[%d].DroppedAttributesCount", i), n)
		}
	}
	for i := range s.Links().Len() {
		if err := checkLink(s.Links().At(i)); err != nil {
			return InField(fmt.Sprintf("Span.Links[%d].", i), err)
		}
	}
	return nil
}

// checkSpanNumbers checks the numbers that have 32 bits in OTLP.
func checkSpanNumbers(s *otelstef.Span) error {
	if err := Fits32("Span.Flags", s.Flags()); err != nil {
		return err
	}
	if err := Fits32("Span.DroppedAttributesCount", s.DroppedAttributesCount()); err != nil {
		return err
	}
	if err := Fits32("Span.DroppedEventsCount", s.DroppedEventsCount()); err != nil {
		return err
	}
	return Fits32("Span.DroppedLinksCount", s.DroppedLinksCount())
}

func checkLink(l *otelstef.Link) error {
	if err := checkIDs(l.TraceID(), l.SpanID()); err != nil {
		return err
	}
	if err := Fits32("Flags", l.Flags()); err != nil {
		return err
	}
	return Fits32("DroppedAttributesCount", l.DroppedAttributesCount())
}

// CheckLogRecord checks a log record except a template in its body.
func CheckLogRecord(r *otelstef.LogRecord) error {
	if err := FitsSigned32("Record.SeverityNumber", int64(r.SeverityNumber())); err != nil {
		return err
	}
	if err := Fits32("Record.Flags", r.Flags()); err != nil {
		return err
	}
	if err := Fits32("Record.DroppedAttributesCount", r.DroppedAttributesCount()); err != nil {
		return err
	}
	if err := CheckID("Record.TraceID", r.TraceID(), TraceIDBytes); err != nil {
		return err
	}
	return CheckID("Record.SpanID", r.SpanID(), SpanIDBytes)
}

// CheckTemplate checks the parameters of a template and returns the length of the
// joined text. places is the number of placeholders of the template.
//
// spec: #otlp-logs
func CheckTemplate(template string, places int, params *otelstef.BodyParams) (size int, err error) {
	if n := params.Len(); n != places {
		return 0, NotOTLP("Params", "the template has %[2]d placeholders, but there are %[1]d parameters", n, places)
	}
	size = len(template) - places
	for i := range places {
		size += len(params.Value(i))
	}
	if size > MaxItemBytes {
		return 0, NotOTLP("Params", "the body has %d bytes, at most %d are allowed", size, MaxItemBytes)
	}
	return size, nil
}

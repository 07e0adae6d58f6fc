// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package same

import (
	"crypto/sha256"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// addMetrics hashes each metric without its points as the context of these, and
// each point as the only one of a nameless metric.
func (s *Set) addMetrics(md pmetric.Metrics) error {
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			// A new message each time: what was not set stays absent.
			frame := pmetric.NewMetrics()
			resource := frame.ResourceMetrics().AppendEmpty()
			resource.SetSchemaUrl(rm.SchemaUrl())
			rm.Resource().CopyTo(resource.Resource())
			s.sort(resource.Resource().Attributes())
			scope := resource.ScopeMetrics().AppendEmpty()
			scope.SetSchemaUrl(sm.SchemaUrl())
			sm.Scope().CopyTo(scope.Scope())
			s.sort(scope.Scope().Attributes())
			for _, m := range sm.Metrics().All() {
				scope.Metrics().RemoveIf(func(pmetric.Metric) bool { return true })
				if err := s.addMetric(frame, m, scope.Metrics().AppendEmpty()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addMetric adds the points of m; bare is the metric of frame that takes its
// description.
func (s *Set) addMetric(frame pmetric.Metrics, m, bare pmetric.Metric) error {
	bare.SetName(m.Name())
	bare.SetDescription(m.Description())
	bare.SetUnit(m.Unit())
	m.Metadata().CopyTo(bare.Metadata())
	s.sort(bare.Metadata())
	context := func() (id, error) {
		b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(frame)
		return sha256.Sum256(b), err
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		bare.SetEmptyGauge()
		return s.addNumbers(context, m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		sum := bare.SetEmptySum()
		sum.SetAggregationTemporality(m.Sum().AggregationTemporality())
		sum.SetIsMonotonic(m.Sum().IsMonotonic())
		return s.addNumbers(context, m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		bare.SetEmptyHistogram().SetAggregationTemporality(m.Histogram().AggregationTemporality())
		return s.addHistograms(context, m.Histogram().DataPoints())
	case pmetric.MetricTypeExponentialHistogram:
		bare.SetEmptyExponentialHistogram().SetAggregationTemporality(m.ExponentialHistogram().AggregationTemporality())
		return s.addExponentials(context, m.ExponentialHistogram().DataPoints())
	case pmetric.MetricTypeSummary:
		bare.SetEmptySummary()
		return s.addSummaries(context, m.Summary().DataPoints())
	}
	return nil
}

// single is a message for one point.
type single struct {
	md pmetric.Metrics
	m  pmetric.Metric
}

func newSingle() single {
	md := pmetric.NewMetrics()
	return single{md, md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()}
}

func (s *Set) addSingle(context id, x single) error {
	b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(x.md)
	if err != nil {
		return err
	}
	s.add(context, b)
	return nil
}

func (s *Set) sortExemplars(list pmetric.ExemplarSlice) {
	for _, e := range list.All() {
		s.sort(e.FilteredAttributes())
	}
}

func (s *Set) addNumbers(context func() (id, error), points pmetric.NumberDataPointSlice) error {
	above, err := context()
	for i := 0; err == nil && i < points.Len(); i++ {
		x := newSingle()
		p := x.m.SetEmptyGauge().DataPoints().AppendEmpty()
		points.At(i).CopyTo(p)
		s.sort(p.Attributes())
		s.sortExemplars(p.Exemplars())
		err = s.addSingle(above, x)
	}
	return err
}

func (s *Set) addHistograms(context func() (id, error), points pmetric.HistogramDataPointSlice) error {
	above, err := context()
	for i := 0; err == nil && i < points.Len(); i++ {
		x := newSingle()
		p := x.m.SetEmptyHistogram().DataPoints().AppendEmpty()
		points.At(i).CopyTo(p)
		s.sort(p.Attributes())
		s.sortExemplars(p.Exemplars())
		err = s.addSingle(above, x)
	}
	return err
}

func (s *Set) addExponentials(context func() (id, error), points pmetric.ExponentialHistogramDataPointSlice) error {
	above, err := context()
	for i := 0; err == nil && i < points.Len(); i++ {
		x := newSingle()
		p := x.m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
		points.At(i).CopyTo(p)
		s.sort(p.Attributes())
		s.sortExemplars(p.Exemplars())
		err = s.addSingle(above, x)
	}
	return err
}

func (s *Set) addSummaries(context func() (id, error), points pmetric.SummaryDataPointSlice) error {
	above, err := context()
	for i := 0; err == nil && i < points.Len(); i++ {
		x := newSingle()
		p := x.m.SetEmptySummary().DataPoints().AppendEmpty()
		points.At(i).CopyTo(p)
		s.sort(p.Attributes())
		err = s.addSingle(above, x)
	}
	return err
}

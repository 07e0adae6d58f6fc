// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/teltest/randtel"
)

// random generates telemetry that covers every field and its edge cases.
type random struct{ randtel.Random }

func newRandom(seed uint64) random { return random{randtel.New(seed)} }

func pick[T any](r random, values ...T) T { return randtel.Pick(r.Random, values...) }

func (r random) one(n int) bool           { return r.One(n) }
func (r random) metrics() pmetric.Metrics { return r.Metrics() }
func (r random) traces() ptrace.Traces    { return r.Traces() }
func (r random) manySpans() ptrace.Traces { return r.ManySpans() }
func (r random) logs() plog.Logs          { return r.Logs() }

// fewLogs returns logs for fuzzing. No scope has more than three log records.
func fewLogs(seed uint64) plog.Logs {
	ld := newRandom(seed).logs()
	for _, rl := range ld.ResourceLogs().All() {
		rl.ScopeLogs().RemoveIf(func(sl plog.ScopeLogs) bool { return sl.LogRecords().Len() > 3 })
	}
	return ld
}

// scatter returns the points of md in random order, each in its own resource, scope and metric.
func (r random) scatter(md pmetric.Metrics) pmetric.Metrics {
	var single []pmetric.Metrics
	add := func(rm pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, m pmetric.Metric, keep func(pmetric.Metric)) {
		one := pmetric.NewMetrics()
		rmOut := one.ResourceMetrics().AppendEmpty()
		rmOut.SetSchemaUrl(rm.SchemaUrl())
		rm.Resource().CopyTo(rmOut.Resource())
		smOut := rmOut.ScopeMetrics().AppendEmpty()
		smOut.SetSchemaUrl(sm.SchemaUrl())
		sm.Scope().CopyTo(smOut.Scope())
		mOut := smOut.Metrics().AppendEmpty()
		m.CopyTo(mOut)
		keep(mOut)
		single = append(single, one)
	}
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				one := pmetric.NewMetrics()
				m.CopyTo(one.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty())
				for i := range one.DataPointCount() {
					add(rm, sm, m, func(m pmetric.Metric) { keepPoint(m, i) })
				}
			}
		}
	}
	r.Shuffle(len(single), func(i, j int) { single[i], single[j] = single[j], single[i] })
	return oneBatch(single)
}

// keepPoint removes all points except the point with this index.
func keepPoint(m pmetric.Metric, index int) {
	removePoints(m, func(i int) bool { return i != index })
}

// removePoints removes the points for whose index remove returns true.
func removePoints(m pmetric.Metric, remove func(i int) bool) {
	i := -1
	next := func() bool { i++; return remove(i) }
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		m.Gauge().DataPoints().RemoveIf(func(pmetric.NumberDataPoint) bool { return next() })
	case pmetric.MetricTypeSum:
		m.Sum().DataPoints().RemoveIf(func(pmetric.NumberDataPoint) bool { return next() })
	case pmetric.MetricTypeHistogram:
		m.Histogram().DataPoints().RemoveIf(func(pmetric.HistogramDataPoint) bool { return next() })
	case pmetric.MetricTypeExponentialHistogram:
		m.ExponentialHistogram().DataPoints().RemoveIf(func(pmetric.ExponentialHistogramDataPoint) bool { return next() })
	case pmetric.MetricTypeSummary:
		m.Summary().DataPoints().RemoveIf(func(pmetric.SummaryDataPoint) bool { return next() })
	}
}

// scatterLogs returns the log records of ld in random order, each in its own resource and scope.
func (r random) scatterLogs(ld plog.Logs) plog.Logs {
	var single []plog.Logs
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				one := plog.NewLogs()
				rlOut := one.ResourceLogs().AppendEmpty()
				rlOut.SetSchemaUrl(rl.SchemaUrl())
				rl.Resource().CopyTo(rlOut.Resource())
				slOut := rlOut.ScopeLogs().AppendEmpty()
				slOut.SetSchemaUrl(sl.SchemaUrl())
				sl.Scope().CopyTo(slOut.Scope())
				lr.CopyTo(slOut.LogRecords().AppendEmpty())
				single = append(single, one)
			}
		}
	}
	r.Shuffle(len(single), func(i, j int) { single[i], single[j] = single[j], single[i] })
	return oneBatchOfLogs(single)
}

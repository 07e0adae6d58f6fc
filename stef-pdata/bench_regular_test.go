// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
)

// The benchmarks of regular data compare the bytes of the two forms, with zstd, for data that
// takes almost no bytes in the full form:
//
//	BenchmarkRegular/metrics/values=V/batches=B/series=S
//	BenchmarkRegular/logs/batches=B
//
// xfull is the size of the compact form relative to the full form, both with the level default.
// For level-xfull, the compact form uses the level that the exporter selects for it.

func (f *formsOf[T]) regular(b *testing.B, parts []T) {
	var full, compact, auto int
	for b.Loop() {
		full = len(f.stream(b, parts))
		compact = len(f.stream(b, parts, append(f.defaults(), stef.WithCompressionLevel(stef.LevelDefault))...))
		auto = len(f.stream(b, parts, f.defaults()...))
	}
	b.ReportMetric(float64(full), "full-bytes")
	b.ReportMetric(float64(compact), "compact-bytes")
	b.ReportMetric(float64(compact)/float64(full), "xfull")
	b.ReportMetric(float64(auto)/float64(full), "level-xfull")
	b.ReportMetric(0, "ns/op")
}

const regularTime = 1_700_000_000_000_000_000

// regularMetrics returns batches of a counter with one point for each series. value returns the
// value of a point.
func regularMetrics(batches, series int, value func(batch, series int) int) (parts []pmetric.Metrics) {
	for batch := range batches {
		part := pmetric.NewMetrics()
		scope := part.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty()
		metric := scope.Metrics().AppendEmpty()
		metric.SetName("requests")
		sum := metric.SetEmptySum()
		sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
		sum.SetIsMonotonic(true)
		for i := range series {
			p := sum.DataPoints().AppendEmpty()
			p.Attributes().PutStr("host", fmt.Sprint("host-", i))
			p.SetStartTimestamp(regularTime)
			p.SetTimestamp(regularTime + 10_000_000_000*pcommon.Timestamp(batch+1))
			p.SetIntValue(int64(value(batch, i)))
		}
		parts = append(parts, part)
	}
	return parts
}

// regularLogs returns batches of 40 log records, with one record in each millisecond.
func regularLogs(batches int) (parts []plog.Logs) {
	for batch := range batches {
		part := plog.NewLogs()
		scope := part.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		for i := range 40 {
			rec := scope.LogRecords().AppendEmpty()
			rec.SetTimestamp(regularTime + 1_000_000*pcommon.Timestamp(40*batch+i))
			rec.SetObservedTimestamp(rec.Timestamp() + 100)
			rec.Body().SetStr("the same text")
		}
		parts = append(parts, part)
	}
	return parts
}

func BenchmarkRegular(b *testing.B) {
	for _, shape := range []struct{ batches, series int }{{1, 2000}, {20, 100}, {400, 5}} {
		for _, v := range []struct {
			name string
			of   func(batch, series int) int
		}{
			{"equal", func(int, int) int { return 7 }},
			{"own-steps", func(batch, series int) int { return (batch + 1) * (series + 1) }},
			{"consecutive", func(batch, series int) int { return batch*shape.series + series }},
		} {
			b.Run(fmt.Sprintf("metrics/values=%s/batches=%d/series=%d", v.name, shape.batches, shape.series), func(b *testing.B) {
				metricsForms.regular(b, regularMetrics(shape.batches, shape.series, v.of))
			})
		}
	}
	for _, batches := range []int{1, 50} {
		b.Run(fmt.Sprintf("logs/batches=%d", batches), func(b *testing.B) { logsForms.regular(b, regularLogs(batches)) })
	}
}

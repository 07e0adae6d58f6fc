// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
)

// The benchmarks of levels compare the settings of zstd for streams in the compact
// form. All settings encode in turn:
//
//	BenchmarkLevels/SIGNAL/set=S
//
// SETTING-bytes is the size with a setting, SETTING-xcpu the median of the ratio of
// its CPU time, conversion from pdata included, to that of the level default.

type levelSetting struct {
	name    string
	options []stef.WriterOption
}

var levelSettings = []levelSetting{
	{"default", nil},
	{"fastest", []stef.WriterOption{stef.WithLevel(stef.LevelFastest)}},
	{"better", []stef.WriterOption{stef.WithLevel(stef.LevelBetter)}},
	{"best", []stef.WriterOption{stef.WithLevel(stef.LevelBest)}},
	{"256K", []stef.WriterOption{stef.WithWindowBytes(256 << 10)}},
	{"4M", []stef.WriterOption{stef.WithWindowBytes(4 << 20)}},
}

func (f *formsOf[T]) levels(b *testing.B, name string, parts []T) {
	b.Run("set="+name, func(b *testing.B) {
		ratios := make([]runs, len(levelSettings))
		sizes := make([]int, len(levelSettings))
		for _, s := range levelSettings {
			f.stream(b, parts, append(s.options, f.compact())...)
		}
		b.ResetTimer()
		for b.Loop() {
			first := 0.0
			for i, s := range levelSettings {
				start := cpuTime()
				sizes[i] = len(f.stream(b, parts, append(s.options, f.compact())...))
				spent := float64(cpuTime() - start)
				if i == 0 {
					first = spent
				}
				ratios[i].add(spent / first)
			}
		}
		for i, s := range levelSettings {
			b.ReportMetric(float64(sizes[i]), s.name+"-bytes")
			b.ReportMetric(ratios[i].median(), s.name+"-xcpu")
		}
		b.ReportMetric(0, "ns/op")
	})
}

func BenchmarkLevels(b *testing.B) {
	holdBallast()
	b.Run("traces", func(b *testing.B) {
		f := &tracesForms
		f.readRecordings(b, "traces", func(name string, parts []ptrace.Traces) { f.levels(b, name, parts) })
		f.levels(b, "hipstershop", realTraces(b, hipstershopTraces))
	})
	b.Run("metrics", func(b *testing.B) {
		f := &metricsForms
		f.readRecordings(b, "metrics", func(name string, parts []pmetric.Metrics) { f.levels(b, name, parts) })
		for _, set := range []string{"hipstershop", "hostandcollector"} {
			f.levels(b, set, realMetrics(b, set+"-otelmetrics"))
		}
	})
	b.Run("logs", func(b *testing.B) {
		f := &logsForms
		f.readRecordings(b, "logs", func(name string, parts []plog.Logs) { f.levels(b, name, parts) })
		for _, set := range logSets {
			f.levels(b, set, unmarshalLogs(b, logParts(b, set)))
		}
	})
}

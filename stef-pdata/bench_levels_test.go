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

// The benchmarks of levels and windows compare settings of zstd for streams in the compact
// form. All settings encode in turn:
//
//	BenchmarkLevels/SIGNAL/set=S
//
// SETTING-bytes is the size of the stream with a setting. SETTING-xcpu is the CPU time relative to
// the first setting, the default: the median of the ratios. CPU times include the conversion from
// pdata.

type levelSetting struct {
	name    string
	options []stef.WriterOption
}

var levelSettings = []levelSetting{
	{"default", nil},
	{"fastest", []stef.WriterOption{stef.WithCompressionLevel(stef.LevelFastest)}},
	{"auto", []stef.WriterOption{stef.WithCompressionLevel(stef.LevelAuto)}},
	{"better", []stef.WriterOption{stef.WithCompressionLevel(stef.LevelBetter)}},
	{"best", []stef.WriterOption{stef.WithCompressionLevel(stef.LevelBest)}},
	{"256K", []stef.WriterOption{stef.WithWindowBytes(256 << 10)}},
	{"4M", []stef.WriterOption{stef.WithWindowBytes(4 << 20)}},
}

func (f *formsOf[T]) levels(b *testing.B, name string, parts []T, settings []levelSetting) {
	b.Run("set="+name, func(b *testing.B) {
		ratios := make([]runs, len(settings))
		sizes := make([]int, len(settings))
		for _, s := range settings {
			f.stream(b, parts, append(s.options, f.compact())...)
		}
		b.ResetTimer()
		for b.Loop() {
			first := 0.0
			for i, s := range settings {
				start := cpuTime()
				sizes[i] = len(f.stream(b, parts, append(s.options, f.compact())...))
				spent := float64(cpuTime() - start)
				if i == 0 {
					first = spent
				}
				ratios[i].add(spent / first)
			}
		}
		for i, s := range settings {
			b.ReportMetric(float64(sizes[i]), s.name+"-bytes")
			b.ReportMetric(ratios[i].median(), s.name+"-xcpu")
		}
		b.ReportMetric(0, "ns/op")
	})
}

// windowSettings compare sizes of the zstd window. The first setting is the default, 1 MiB. The
// last three settings use WithMaxWindowBytes: a writer has this option if its server, which has
// many streams, asks for smaller windows.
var windowSettings = []levelSetting{
	{"1M", nil},
	{"512K", []stef.WriterOption{stef.WithWindowBytes(512 << 10)}},
	{"256K", []stef.WriterOption{stef.WithWindowBytes(256 << 10)}},
	{"128K", []stef.WriterOption{stef.WithWindowBytes(128 << 10)}},
	{"64K", []stef.WriterOption{stef.WithWindowBytes(64 << 10)}},
	{"32K", []stef.WriterOption{stef.WithWindowBytes(32 << 10)}},
	{"upto1M", []stef.WriterOption{stef.WithMaxWindowBytes(1 << 20)}},
	{"upto64K", []stef.WriterOption{stef.WithMaxWindowBytes(64 << 10)}},
	{"upto32K", []stef.WriterOption{stef.WithMaxWindowBytes(32 << 10)}},
}

// BenchmarkLevels compares the levels of zstd. It also compares two other sizes of the zstd window
// with the default.
func BenchmarkLevels(b *testing.B) { benchmarkSettings(b, levelSettings) }

func BenchmarkWindows(b *testing.B) { benchmarkSettings(b, windowSettings) }

func benchmarkSettings(b *testing.B, settings []levelSetting) {
	holdBallast()
	b.Run("traces", func(b *testing.B) {
		f := &tracesForms
		f.readRecordings(b, "traces", func(name string, parts []ptrace.Traces) { f.levels(b, name, parts, settings) })
		f.levels(b, "hipstershop", realTraces(b, hipstershopTraces), settings)
	})
	b.Run("metrics", func(b *testing.B) {
		f := &metricsForms
		f.readRecordings(b, "metrics", func(name string, parts []pmetric.Metrics) { f.levels(b, name, parts, settings) })
		for _, set := range []string{"hipstershop", "hostandcollector"} {
			f.levels(b, set, realMetrics(b, set+"-otelmetrics"), settings)
		}
	})
	b.Run("logs", func(b *testing.B) {
		f := &logsForms
		f.readRecordings(b, "logs", func(name string, parts []plog.Logs) { f.levels(b, name, parts, settings) })
		for _, set := range logSets {
			f.levels(b, set, unmarshalLogs(b, logParts(b, set)), settings)
		}
	})
}

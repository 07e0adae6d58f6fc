// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package stefencodingextension

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkLevels reports the bytes and the CPU time per item for each zstd level and size of
// message. It measures the levels in turn and reports the minimum time of each level, so that
// other work on the machine has little influence.
func BenchmarkLevels(b *testing.B) {
	levels := []string{"fastest", "default", "better", "best"}
	encodings := make([]*stefEncoding, len(levels))
	for i, l := range levels {
		encodings[i] = newEncoding(b, fmt.Sprintf("{compression_level: %s}", l))
	}
	for _, s := range recordings(b) {
		for _, n := range messageItems[:4] {
			messages := s.cut(b, s.parts, n)
			items := 0
			for _, m := range messages {
				items += m.items
			}
			bytes, least := make([]int, len(levels)), make([]time.Duration, len(levels))
			repeat := max(1, 4000/items)
			for turn := range 7 {
				for i, e := range encodings {
					began := cpuTime(b)
					for range repeat {
						bytes[i] = 0
						for _, m := range messages {
							out, err := m.stef(e)
							require.NoError(b, err)
							bytes[i] += len(out)
						}
					}
					if took := cpuTime(b) - began; turn == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			for i, l := range levels {
				b.Run(fmt.Sprintf("set=%s/items=%d/level=%s", s.name, n, l), func(b *testing.B) {
					for b.Loop() {
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(bytes[i])/float64(items), "B/item")
					b.ReportMetric(float64(least[i].Nanoseconds())/float64(items*repeat), "cpu-ns/item")
				})
			}
		}
	}
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

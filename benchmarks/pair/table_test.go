// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// TestSpeedOfSummary checks that a summary of one set has its speed, and that the
// worst of several is not better than all together.
func TestSpeedOfSummary(t *testing.T) {
	var rs Results
	refs := dataset.Recorded()[:2]
	add := func(ref dataset.Ref, stef, otlp []time.Duration) {
		r := rs.Of(ref, Steady)
		for i := range stef {
			for v, cpu := range map[Variant]time.Duration{STEF: stef[i], OTLP: otlp[i], OTLPGzip: otlp[i]} {
				r.Rounds[v] = append(r.Rounds[v], Cost{Items: 1, CPU: cpu})
			}
		}
	}
	value := func(column string) any {
		s := rs.Summary()
		return s.Rows[0][slices.IndexFunc(s.Columns, func(c report.Column) bool { return c.Name == column })]
	}
	// The ratios of the rounds are 4, 1 and 4. The ratio of the medians is 2.
	add(refs[0], []time.Duration{10, 20, 5}, []time.Duration{40, 20, 20})
	require.InDelta(t, 4, value("speed"), 0)
	require.InDelta(t, 4, value("worst"), 0)
	// Together: 50/20, 30/30 and 30/15.
	add(refs[1], []time.Duration{10, 10, 10}, []time.Duration{10, 10, 10})
	require.InDelta(t, 2, value("speed"), 0)
	require.InDelta(t, 1, value("worst"), 0)
}

// TestWarnings checks which sets are called short or unsteady.
func TestWarnings(t *testing.T) {
	var rs Results
	add := func(ref dataset.Ref, age Age, items int, stef ...time.Duration) {
		r := rs.Of(ref, age)
		r.Items = items
		for _, cpu := range stef {
			for v, cpu := range map[Variant]time.Duration{STEF: cpu, OTLP: 12, OTLPGzip: 12} {
				r.Rounds[v] = append(r.Rounds[v], Cost{Items: 1, CPU: cpu})
			}
		}
	}
	mine := dataset.Ref{Name: "mine", Signal: otlpfile.Logs}
	add(dataset.Recorded()[0], First, 100, 6, 6, 6)
	add(mine, Steady, 8191, 6, 6, 5)
	require.Empty(t, rs.Warnings())
	add(mine, First, 8191, 6, 6, 6)
	require.Equal(t, []string{"These sets have fewer items than one full batch (8192), so their figures are of small batches and few of them; record longer: mine logs (8191)."}, rs.Warnings())
	// The ratios are 3, 2 and 1.5: half of the distance is 0.75, more than a quarter of 2.
	add(dataset.Ref{Name: "mine", Signal: otlpfile.Traces}, Steady, 8192, 4, 6, 8)
	require.Len(t, rs.Warnings(), 2)
	require.Contains(t, rs.Warnings()[1], "differ by more than 25 % (column spread): the machine is busy, or the set is small. Repeat with more rounds, -benchtime 10x: mine traces steady.")
	require.InDelta(t, 0.375, rs.Of(dataset.Ref{Name: "mine", Signal: otlpfile.Traces}, Steady).Spread(OTLP), 1e-9)
}

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

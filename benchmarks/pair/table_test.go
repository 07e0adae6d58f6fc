// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// TestSpreadOfOneRound checks that one round has no spread, and causes no warning.
func TestSpreadOfOneRound(t *testing.T) {
	rs := Results{made: true}
	r := rs.Of(dataset.Ref{Name: "lines", Signal: otlpfile.Logs}, First)
	r.Items = 10
	for v, cpu := range map[Variant]time.Duration{STEF: 1, OTLP: 12, OTLPGzip: 12} {
		r.Rounds[v] = []Cost{{Items: 1, CPU: cpu}}
	}
	require.True(t, math.IsNaN(r.Spread(OTLP)))
	require.Empty(t, rs.Warnings(), "generated sets have the size that was asked for")
	rs.made = false
	require.Len(t, rs.Warnings(), 2)
}

// TestSpeedOfSummary checks that the summary of one set has the speed of this set. The speed of
// several sets is a median over the rounds, and can be below the speed of the worst set.
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
	require.InDelta(t, 4, value("speed, zstd"), 0)
	require.InDelta(t, 4, value("worst"), 0)
	// The ratios of the sums over both sets are 50/20, 30/30 and 30/15.
	add(refs[1], []time.Duration{10, 10, 10}, []time.Duration{10, 10, 10})
	require.InDelta(t, 2, value("speed, zstd"), 0)
	require.InDelta(t, 1, value("worst"), 0)
	// Each of the two sets is slow in a different round, so the sums are slow in two of three rounds.
	rs = Results{}
	add(refs[0], []time.Duration{10, 10, 10}, []time.Duration{10, 20, 20})
	add(refs[1], []time.Duration{10, 10, 10}, []time.Duration{20, 20, 10})
	require.InDelta(t, 1.5, value("speed, zstd"), 0)
	require.InDelta(t, 2, value("worst"), 0)
}

// TestDiffers checks that a difference of speed is unclear if it is small, if there is only one
// round, or if the rounds are further apart than the difference. For example, three rounds of two
// variants that write equal bytes had a median ratio of 1.23.
func TestDiffers(t *testing.T) {
	require.Equal(t, "unclear", differs([]float64{1.5}))
	require.Equal(t, "unclear", differs([]float64{1.14, 1.14, 1.14}))
	require.Equal(t, "unclear", differs([]float64{1.05, 1.23, 1.50}))
	require.Equal(t, "yes", differs([]float64{1.20, 1.23, 1.30}))
	require.Equal(t, "yes", differs([]float64{0.40, 0.43, 0.45}))
	require.Equal(t, "unclear", differs([]float64{0.40, 0.60, 0.90}))
}

// TestGzipOfSummary checks that a summary has ratios to OTLP with gzip, too.
func TestGzipOfSummary(t *testing.T) {
	var rs Results
	r := rs.Of(dataset.Recorded()[0], Steady)
	for v, c := range map[Variant]Cost{STEF: {Items: 1, CPU: 10, Sent: 20}, OTLP: {Items: 1, CPU: 15, Sent: 30}, OTLPGzip: {Items: 1, CPU: 25, Sent: 80}} {
		r.Rounds[v] = []Cost{c}
	}
	s := rs.Summary()
	for column, want := range map[string]float64{"speed, zstd": 1.5, "speed, gzip": 2.5, "bytes, zstd": 2. / 3, "bytes, gzip": 0.25} {
		i := slices.IndexFunc(s.Columns, func(c report.Column) bool { return c.Name == column })
		require.InDelta(t, want, s.Rows[0][i], 1e-9, column)
	}
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
	rs.Of(mine, First).Time = 10 * time.Minute
	traces, metrics := dataset.Ref{Name: "mine", Signal: otlpfile.Traces}, dataset.Ref{Name: "mine", Signal: otlpfile.Metrics}
	add(traces, First, 131071, 6, 6, 6)
	add(metrics, First, 131072, 6, 6, 6)
	require.Equal(t, []string{
		"These sets are too small for 16 full batches (8192 items, as from a batch processor), so their batches are smaller, and first batches cost more. How long a recording with full batches takes is estimated from the times of the items: mine logs (8191 of 131072 items in 10 minutes; all in about 3 hours), mine traces (131071 of 131072 items).",
		"These have fewer items than one full batch, so their figures are of few items; record longer: mine logs.",
	}, rs.Warnings())
	// The ratios are 3, 2 and 1.5. Half of the distance between 3 and 1.5 is 0.75, which is more
	// than a quarter of the median 2.
	add(traces, Steady, 8192, 4, 6, 8)
	require.Len(t, rs.Warnings(), 3)
	require.Contains(t, rs.Warnings()[2], "differ by more than 25 % (column spread): the machine is busy, or the set is small. Repeat with more rounds, -benchtime 10x: mine traces steady.")
	require.InDelta(t, 0.375, rs.Of(traces, Steady).Spread(OTLP), 1e-9)
}

// TestFailures checks that a failed set is not in the tables and the means, even if a later run
// of this set passes (-count 2). A line must say how to repeat the failed measurement.
func TestFailures(t *testing.T) {
	var rs Results
	refs := dataset.Recorded()[:2]
	for i, ref := range refs {
		r := rs.Of(ref, Steady)
		for v, cpu := range map[Variant]time.Duration{STEF: 10, OTLP: 20, OTLPGzip: 20} {
			r.Rounds[v] = []Cost{{Items: 1, CPU: cpu * time.Duration(1+i)}}
		}
	}
	require.Empty(t, rs.Failures())
	for range 2 {
		rs.Fail(refs[1], Steady, "BenchmarkPair/"+nameOf(refs[1], Steady))
		require.Len(t, rs.Table().Rows, 1)
		require.Equal(t, refs[0].Label(), rs.Table().Rows[0][0])
		require.Equal(t, 1, rs.Summary().Rows[0][3], "sets of the mean")
	}
	require.Equal(t, `FAILED, so not in the tables and their means (the errors are above, at "--- FAIL"; after "deadline exceeded", the machine stood still or is too busy): `+
		"go metrics steady. Repeat with -bench 'Pair/set=go/signal=metrics/age=steady'.", rs.Failures())
}

// TestWarningOfManyRounds checks that no warning asks for more rounds if a run has many rounds.
func TestWarningOfManyRounds(t *testing.T) {
	var rs Results
	r := rs.Of(dataset.Recorded()[0], Steady)
	for i := range 10 {
		for v, cpu := range map[Variant]time.Duration{STEF: time.Duration(1 + i), OTLP: 12, OTLPGzip: 12} {
			r.Rounds[v] = append(r.Rounds[v], Cost{Items: 1, CPU: cpu})
		}
		if i < 9 {
			require.NotContains(t, strings.Join(rs.Warnings(), " "), "steadier", "after %d rounds", i+1)
		}
	}
	require.Len(t, rs.Warnings(), 1)
	require.Contains(t, rs.Warnings()[0], "The medians of so many rounds are steadier than the spread")
	require.NotContains(t, rs.Warnings()[0], "10x")
}

// TestSingle checks when the summary only repeats the table.
func TestSingle(t *testing.T) {
	var rs Results
	for _, signal := range otlpfile.Signals() {
		rs.Of(dataset.Ref{Name: "mine", Signal: signal}, First)
		rs.Of(dataset.Ref{Name: "mine", Signal: signal}, Steady)
		rs.Of(dataset.Ref{Name: "node", Signal: signal, Bundled: true}, Steady)
	}
	require.True(t, rs.Single())
	rs.Of(dataset.Ref{Name: "yours", Signal: otlpfile.Logs}, Steady)
	require.False(t, rs.Single())
}

func TestTimeOfItems(t *testing.T) {
	var r Result
	var batches []otlpfile.Batch
	for _, at := range []int64{3000, 1000, 2000} {
		b := single(otlpfile.Logs)
		b.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(at, 0)))
		batches = append(batches, b)
	}
	r.Sent(append(batches, single(otlpfile.Logs)))
	require.Equal(t, 2000*time.Second, r.Time)
	require.Equal(t, "33 minutes", rough(r.Time))
	require.Equal(t, "90 s", rough(90*time.Second))
	require.Equal(t, "8 hours", rough(8*time.Hour))
}

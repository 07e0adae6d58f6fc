// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-collector" { // measure starts this program again as the Collector
		if err := runCollector(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// Each span of a trace is sent once, and late parts are sent late.
func TestLoad(t *testing.T) {
	l := &load{random: rand.New(rand.NewPCG(1, 2)), late: time.Hour}
	now := time.Now()
	for range 1000 {
		l.begin(now)
	}
	td, n := l.batch(now.Add(time.Second), 1<<20)
	require.Equal(t, n, td.SpanCount())
	rest, m := l.batch(now.Add(2*time.Hour), 1<<20)
	require.Equal(t, m, rest.SpanCount())
	require.Equal(t, 1000*spansOf, n+m)
	require.InDelta(t, 1000*servicesPerTrace/200, m/spansPerService, 20)
	require.Positive(t, m)
	to := &sink{}
	require.NoError(t, to.consume(t.Context(), td))
	require.NoError(t, to.consume(t.Context(), rest))
	require.Equal(t, []int{1000 * spansOf, 0}, []int{to.got, to.twice})
}

// A short run accounts for every span. The processors hold traces longer than a loaded machine delays
// their spans, because groupbytrace loses spans that arrive while it releases their trace: see
// TestGroupByTraceLosesSpansDuringRelease.
func TestMeasure(t *testing.T) {
	r, err := measure(t.Context(), scenario{
		processors: []string{"groupbytrace", "tail_sampling"}, protocol: "stef",
		during: 3 * time.Second, rate: 2000, wait: 2 * time.Second, traces: 10_000,
	})
	require.NoError(t, err)
	require.Greater(t, r.acknowledged, 1000)
	require.Equal(t, r.offeredTraces*spansOf, r.acknowledged)
	require.Equal(t, []int{r.acknowledged, r.acknowledged}, []int{r.arrived, r.accepted})
	require.Equal(t, r.offeredTraces, r.whole)
	require.Positive(t, r.heap)
	require.Positive(t, r.cpu)
	require.Empty(t, r.losses)
	require.Equal(t, "-", r.lossText())
	require.Greater(t, len(r.series), 1)
	dir := t.TempDir()
	require.NoError(t, writeTable(filepath.Join(dir, "table.csv"), []*result{r}))
	require.NoError(t, writeSeries(filepath.Join(dir, "series.csv"), []*result{r}))
	for name, rows := range map[string]int{"table.csv": 2, "series.csv": 1 + len(r.series)} {
		file, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		got, err := csv.NewReader(file).ReadAll()
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Len(t, got, rows)
	}
}

// If few traces fit into groupbytrace, its counters explain the missing spans.
func TestLosses(t *testing.T) {
	r, err := measure(t.Context(), scenario{
		processors: []string{"groupbytrace"}, protocol: "otlp",
		during: time.Second, rate: 4000, wait: 2 * time.Second, traces: 20,
	})
	require.NoError(t, err)
	lost := r.acknowledged - r.arrived
	require.Positive(t, lost)
	require.Equal(t, lost, r.partly+r.wholly)
	require.Len(t, r.losses, 1, r.lossText())
	require.Equal(t, loss{"groupbytrace", lost, fmt.Sprintf("%d traces evicted", r.evicted)}, r.losses[0])
}

// account names each component that loses spans, and losses between two components.
func TestAccount(t *testing.T) {
	r := &result{scenario: scenario{processors: []string{"groupbytrace", "tail_sampling"}}, acknowledged: 100, accepted: 99, sent: 60, arrived: 58, twice: 1}
	final := map[string]float64{
		itemsOf(metricConsumed, "groupbytrace"): 99, itemsOf(metricProduced, "groupbytrace"): 90,
		itemsOf(metricConsumed, "tail_sampling"): 89, itemsOf(metricProduced, "tail_sampling"): 70,
		itemsOf(metricExported, "stef"): 70, metricTooEarly: 3,
	}
	losses := r.account(final)
	sum := 0
	for _, l := range losses {
		sum += l.spans
	}
	require.Equal(t, r.acknowledged-r.arrived, sum)
	require.Equal(t, []loss{
		{"receiver", 1, "no counter explains it"},
		{"groupbytrace", 9, "added to traces that were being released, no counter of its own"},
		{"before tail_sampling", 1, "not counted by it"},
		{"tail_sampling", 19, "3 traces evicted"},
		{"exporter", 10, "no counter explains it"},
		{"sink", 1, "no counter explains it"},
		{"sink", 1, "arrived twice"},
	}, losses)
}

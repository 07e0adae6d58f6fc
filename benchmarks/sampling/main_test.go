// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-collector" { // as measure starts it
		if err := runCollector(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// Each span of a trace is sent once, and late parts come late.
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

// A short run accounts for every span.
func TestMeasure(t *testing.T) {
	r, err := measure(t.Context(), scenario{
		processors: []string{"groupbytrace", "tail_sampling"}, protocol: "stef",
		during: time.Second, rate: 2000, wait: 200 * time.Millisecond, traces: 10_000,
	})
	require.NoError(t, err)
	require.Greater(t, r.acknowledged, 1000)
	require.Equal(t, r.offeredTraces*spansOf, r.acknowledged)
	require.Equal(t, []int{r.acknowledged, r.acknowledged}, []int{r.arrived, r.accepted})
	require.Equal(t, r.offeredTraces, r.whole)
	require.Positive(t, r.heap)
	require.Positive(t, r.cpu)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// turns returns the samples of one benchmark. lines has one line of its output for each turn.
func turns(t *testing.T, lines ...string) samples {
	t.Helper()
	s := side{name: "x"}
	for _, line := range lines {
		found, err := s.take(strings.NewReader("goos: linux\n" + line + "\nPASS\n"))
		require.NoError(t, err)
		require.Equal(t, 1, found)
	}
	return s.samples
}

// ten returns ten turns, each a nanosecond slower than the previous turn.
func ten(t *testing.T, nanos int, rest string) samples {
	t.Helper()
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("BenchmarkGuard/x 10 %d ns/op %s", nanos+i, rest))
	}
	return turns(t, lines...)
}

func TestCompare(t *testing.T) {
	f := func(want error, named string, base, head samples) {
		t.Helper()
		var out bytes.Buffer
		err := print(&out, "main", compare(base, head, 0.05))
		require.ErrorIs(t, err, want, out.String())
		require.Contains(t, out.String(), named)
	}
	same := ten(t, 1000, "64.5 B/item 3 allocs/op")
	f(nil, "nothing is slower or larger than in main", same, same)
	f(nil, "nothing is slower", same, ten(t, 1020, "64.5 B/item 3 allocs/op"))
	f(nil, "better", same, ten(t, 800, "60.5 B/item 3 allocs/op"))
	f(errWorse, "Guard/x: time +20.0 %", same, ten(t, 1201, "64.5 B/item 3 allocs/op"))
	f(errWorse, "Guard/x: bytes of the stream +0.8 %", same, ten(t, 1000, "65 B/item 3 allocs/op"))
	f(errWorse, "Guard/x: allocations +33.3 %", same, ten(t, 1000, "64.5 B/item 4 allocs/op"))
}

// TestControl checks that the report blames a busy machine if the figures of OTLP differ.
func TestControl(t *testing.T) {
	var base, head []string
	for i := range 10 {
		base = append(base, fmt.Sprintf("BenchmarkGuard/format=OTLP/op=x 10 %d ns/op", 1000+i))
		head = append(head, fmt.Sprintf("BenchmarkGuard/format=OTLP/op=x 10 %d ns/op", 2000+i))
	}
	var out bytes.Buffer
	require.ErrorIs(t, print(&out, "main", compare(turns(t, base...), turns(t, head...), 0.05)), errWorse)
	require.Contains(t, out.String(), "the machine was busy")
}

func TestNoise(t *testing.T) {
	// The median is a tenth slower, but the turns overlap: that may be chance.
	base := turns(t, "BenchmarkGuard/x 1 100 ns/op", "BenchmarkGuard/x 1 150 ns/op", "BenchmarkGuard/x 1 90 ns/op")
	head := turns(t, "BenchmarkGuard/x 1 110 ns/op", "BenchmarkGuard/x 1 95 ns/op", "BenchmarkGuard/x 1 160 ns/op")
	for _, c := range compare(base, head, 0.05) {
		require.False(t, c.worse)
		require.InDelta(t, 0.1, c.delta(), 1e-9)
	}
}

func TestCommonFieldsOnly(t *testing.T) {
	require.Empty(t, compare(turns(t, "BenchmarkGuard/old 1 100 ns/op"), turns(t, "BenchmarkGuard/new 1 100 ns/op"), 0.05))
}

func TestEnvironment(t *testing.T) {
	t.Setenv("STEF_DATA", "")
	require.Contains(t, environment(nil), "STEF_DATA=absent")
	t.Setenv("STEF_DATA", "somewhere")
	require.Empty(t, environment(nil))
}

func TestUsage(t *testing.T) {
	require.Error(t, guard([]string{"-nonsense"}, &bytes.Buffer{}))
	require.ErrorContains(t, guard([]string{"-base", "no-such-revision"}, &bytes.Buffer{}), "no-such-revision")
}

func TestNoRevision(t *testing.T) {
	require.EqualError(t, checkout("nope", t.TempDir()), "-base nope (BASE of make guard): no such revision; see git branch -a")
}

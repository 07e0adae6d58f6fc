// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/cputime"
)

func TestStats(t *testing.T) {
	require.True(t, math.IsNaN(Median(nil)))
	require.Equal(t, 3.0, Median([]float64{3}))
	require.Equal(t, 2.5, Median([]float64{4, 1, 2, 3}))
	require.Equal(t, 3.0, Median([]float64{5, 1, 3}))
	require.Zero(t, Spread([]float64{7, 7, 7}))
	require.InDelta(t, 1.0/3, Spread([]float64{1, 2, 3, 4, 5}), 1e-9)
}

func TestRatio(t *testing.T) {
	base := Result{Op: Op{Items: 10}, Turns: []Turn{{Nanos: 100}, {Nanos: 200}, {Nanos: 300}}}
	half := Result{Op: Op{Items: 5}, Turns: []Turn{{Nanos: 25}, {Nanos: 50}, {Nanos: 75}}}
	require.Equal(t, 0.5, half.Ratio(base), "a machine that gets slower does not change ratios")
	require.Equal(t, 20.0, base.PerItem())
}

var sink []byte

func spin(d time.Duration) {
	now := cputime.Used
	if cputime.Used() == 0 {
		begin := time.Now()
		now = func() time.Duration { return time.Since(begin) }
	}
	for begin := now(); now()-begin < d; {
	}
}

// With one processor, Interleave measures CPU time, so the time in which the process waits
// does not count. The test needs a system that reports CPU times.
func TestInterleaveMeasuresCPU(t *testing.T) {
	if cputime.Used() == 0 {
		t.Skip("this system does not report CPU times")
	}
	wait := []Op{{Name: "a", Items: 1, Run: func() error { time.Sleep(20 * time.Millisecond); return nil }}}
	results, err := Interleave(Config{Rounds: 3, Procs: 1}, wait)
	require.NoError(t, err)
	require.Less(t, results[0].Median(), 10e6)
	results, err = Interleave(Config{Rounds: 1, Procs: 2}, wait)
	require.NoError(t, err)
	require.GreaterOrEqual(t, results[0].Median(), 20e6)
}

func TestInterleave(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	var order []string
	op := func(name string, work func()) Op {
		return Op{Name: name, Items: 2, Run: func() error { order = append(order, name); work(); return nil }}
	}
	results, err := Interleave(Config{Rounds: 3, Procs: 1}, []Op{
		op("a", func() { spin(time.Millisecond) }),
		op("b", func() { sink = make([]byte, 1<<20) }),
	})
	require.NoError(t, err)
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	require.Equal(t, []string{"a", "a", "b", "b", "a", "b", "b", "a", "a", "b"}, order)
	require.Len(t, results[0].Turns, 3)
	require.GreaterOrEqual(t, results[0].Median(), 1e6)
	allocs, bytes := results[1].Allocs()
	require.GreaterOrEqual(t, allocs, 0.5)
	require.InDelta(t, 1<<19, bytes, 1<<14)

	broken := errors.New("broken")
	_, err = Interleave(Config{Rounds: 1}, []Op{{Name: "a", Items: 1, Run: func() error { return broken }}})
	require.ErrorIs(t, err, broken)
}

func TestBefore(t *testing.T) {
	prepared := 0
	results, err := Interleave(Config{Rounds: 2, Turn: time.Millisecond, Procs: 1}, []Op{{
		Name: "a", Items: 1,
		Before: func() error { prepared++; time.Sleep(20 * time.Millisecond); return nil },
		Run:    func() error { time.Sleep(time.Millisecond); return nil },
	}})
	require.NoError(t, err)
	require.Less(t, results[0].Median(), 15e6)
	require.GreaterOrEqual(t, prepared, 4)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure times operations in turns: all operations of a table take turns, round
// after round, each turn after a garbage collection. Comparisons are ratios of two turns of one
// round. Other work on the machine affects such a ratio less than it affects a time. But it does
// affect the ratio, so publish only figures of an idle machine.
//
//	results, err := measure.Interleave(config, ops)
//	results[1].Median()          // ns per operation
//	results[1].Ratio(results[0]) // median over rounds of the ratio within a round
package measure

import (
	"fmt"
	"runtime"
	"time"

	"github.com/otelstef/stef/internal/cputime"
)

// Op is an operation to measure.
type Op struct {
	Name string
	// Items is the number of items in one run.
	Items int
	Run   func() error
	// Before prepares a run and is not measured. It may be nil.
	Before func() error
}

// Config says how much to measure.
type Config struct {
	// Rounds is the number of turns of each operation.
	Rounds int
	// Turn is the minimum time of a turn. In each turn, the operation runs at
	// least once.
	Turn time.Duration
	// Procs is GOMAXPROCS during the measurement. If it is 1, times are CPU times of
	// the process, unless cputime.Used returns 0. They include the work of the garbage collector
	// and of other goroutines for the operation.
	Procs int
}

// Turn is the result of one turn, per run.
type Turn struct {
	Runs   int
	Nanos  float64
	Allocs float64
	Bytes  float64
}

// Result has the turns of an operation, one for each round.
type Result struct {
	Op
	Turns []Turn
}

// Interleave measures operations in turns.
func Interleave(c Config, ops []Op) ([]Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, c.Procs)))
	clock := cputime.Used
	if begin := time.Now(); c.Procs > 1 || cputime.Used() == 0 {
		clock = func() time.Duration { return time.Since(begin) }
	}
	results := make([]Result, len(ops))
	runs := make([]int, len(ops))
	for i, op := range ops {
		results[i].Op = op
		// The first run fills caches and pools. If the first run is short, a second run is timed to
		// estimate how many runs fit in a turn.
		var took time.Duration
		for range 2 {
			turn, err := take(op, 1, clock)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.Name, err)
			}
			took = time.Duration(turn.Nanos)
			if took > max(c.Turn, 50*time.Millisecond) {
				break
			}
		}
		runs[i] = 1 + int(c.Turn/max(took, time.Microsecond))
	}
	for round := range c.Rounds {
		for k := range ops {
			// Each round begins with a different operation, so that each
			// operation is sometimes the first.
			i := (k + round) % len(ops)
			turn, err := take(ops[i], runs[i], clock)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ops[i].Name, err)
			}
			results[i].Turns = append(results[i].Turns, turn)
		}
	}
	return results, nil
}

func take(op Op, runs int, clock func() time.Duration) (turn Turn, err error) {
	if op.Before == nil {
		turn, err = timed(op, runs, clock)
	} else {
		for range runs {
			if err := op.Before(); err != nil {
				return turn, err
			}
			once, err := timed(op, 1, clock)
			if err != nil {
				return turn, err
			}
			turn.Nanos += once.Nanos
			turn.Allocs += once.Allocs
			turn.Bytes += once.Bytes
		}
	}
	n := float64(runs)
	return Turn{runs, turn.Nanos / n, turn.Allocs / n, turn.Bytes / n}, err
}

// timed measures consecutive runs after a garbage collection, and returns the
// totals over all runs.
func timed(op Op, runs int, clock func() time.Duration) (Turn, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := clock()
	for range runs {
		if err := op.Run(); err != nil {
			return Turn{}, err
		}
	}
	took := clock() - begin
	runtime.ReadMemStats(&after)
	return Turn{runs, float64(took.Nanoseconds()), float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}, nil
}

func (r Result) nanos() []float64 {
	var all []float64
	for _, t := range r.Turns {
		all = append(all, t.Nanos)
	}
	return all
}

// Median returns the median time per run in nanoseconds.
func (r Result) Median() float64 { return Median(r.nanos()) }

// PerItem returns the median time per item in nanoseconds.
func (r Result) PerItem() float64 { return r.Median() / float64(r.Items) }

// Spread returns the relative spread of the times, as the function Spread defines it.
func (r Result) Spread() float64 { return Spread(r.nanos()) }

// Allocs returns the median of allocations and of allocated bytes per item.
func (r Result) Allocs() (allocs, bytes float64) {
	var a, b []float64
	for _, t := range r.Turns {
		a, b = append(a, t.Allocs), append(b, t.Bytes)
	}
	return Median(a) / float64(r.Items), Median(b) / float64(r.Items)
}

// Ratio returns the median over the rounds of a ratio: the time per item of r,
// divided by that of base in the same round.
func (r Result) Ratio(base Result) float64 {
	var ratios []float64
	for i := range min(len(r.Turns), len(base.Turns)) {
		ratios = append(ratios, r.Turns[i].Nanos/float64(r.Items)/(base.Turns[i].Nanos/float64(base.Items)))
	}
	return Median(ratios)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"

	"github.com/otelstef/stef/benchmarks/measure"
)

// change has the medians and spreads of a figure for both revisions, base and head, and the verdict.
type change struct {
	key
	base, head             float64
	baseSpread, headSpread float64
	p                      float64
	worse, better          bool
}

func (c change) delta() float64 {
	if c.base == c.head {
		return 0
	}
	return c.head/c.base - 1
}

// unlikely is the maximum probability that a difference is chance. With the usual limit of one in
// twenty, chance alone would make several of the many figures worse.
const unlikely = 0.01

// tolerance returns by which share the median of a figure may get worse. The share depends on the
// unit: bytes of streams and numbers of allocations vary little, but allocated bytes depend on when
// pools are emptied.
func tolerance(unit string, time float64) float64 {
	switch unit {
	case "B/item":
		return 0.001
	case "allocs/op", "wire-B/item": // frames of HTTP/2 and acknowledgements vary
		return 0.01
	case "B/op":
		return 0.03
	default:
		return time
	}
}

// compare returns all figures that both sides have, with a verdict for each.
func compare(base, head samples, time float64) []change {
	var changes []change
	for k, before := range base {
		after := head[k]
		if len(after) == 0 {
			continue
		}
		c := change{key: k, base: measure.Median(before), head: measure.Median(after), baseSpread: measure.Spread(before), headSpread: measure.Spread(after)}
		u := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(before), &benchmath.DefaultThresholds),
			benchmath.NewSample(slices.Clone(after), &benchmath.DefaultThresholds))
		c.p = u.P
		sure := c.p < unlikely || k.unit == "B/item" && c.base != c.head
		limit := tolerance(k.unit, time)
		c.worse = sure && c.delta() > limit
		c.better = sure && c.delta() < -limit
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.unit, b.unit), strings.Compare(a.bench, b.bench))
	})
	return changes
}

var names = map[string]string{"sec/op": "time", "B/item": "bytes of the stream", "B/op": "allocated bytes", "allocs/op": "allocations",
	"cpu-ns/item": "CPU of both ends, ns an item", "wire-B/item": "bytes on the wire"}

func shown(unit string, v float64) string {
	if unit == "sec/op" {
		return fmt.Sprintf("%.4g ms", v*1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

// control is part of the names of benchmarks whose figures should be equal on both sides.
const control = "format=OTLP/"

// print prints the figures whose unit is in the map names. If some are worse, it lists them and
// returns errWorse.
func print(out io.Writer, base string, changes []change) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "benchmark\tfigure\t%s\tspread\twork tree\tspread\tchange\tp\t\n", base)
	var worse []string
	for _, c := range changes {
		name, ok := names[c.unit]
		if !ok {
			continue
		}
		mark := ""
		switch {
		case c.worse:
			mark = "WORSE"
			worse = append(worse, fmt.Sprintf("%s: %s %+.1f %%", c.bench, name, 100*c.delta()))
		case c.better:
			mark = "better"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t±%.1f %%\t%s\t±%.1f %%\t%+.1f %%\t%.3f\t%s\n", c.bench, name, shown(c.unit, c.base), 100*zero(c.baseSpread),
			shown(c.unit, c.head), 100*zero(c.headSpread), 100*c.delta(), c.p, mark)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(worse) == 0 {
		_, err := fmt.Fprintf(out, "\nnothing is slower or larger than in %s\n", base)
		return err
	}
	if slices.ContainsFunc(worse, func(line string) bool { return strings.Contains(line, control) }) {
		if _, err := fmt.Fprintf(out, "\nOTLP is among what is worse: either pdata changed, or the machine was busy and the rest means little\n"); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "\nslower or larger than in %s:\n  %s\n", base, strings.Join(worse, "\n  ")); err != nil {
		return err
	}
	return errWorse
}

// zero returns spread, or 0 if spread is NaN. It is NaN if all figures are zero.
func zero(spread float64) float64 {
	if math.IsNaN(spread) {
		return 0
	}
	return spread
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks are the ticks of package plot with readable labels. If there would be few labels,
// small ticks are labelled too.
type ticks struct{}

const fewLabels, manyTicks = 4, 12

func (ticks) Ticks(least, most float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(least, most)
	labels, inside := 0, 0
	for _, t := range all {
		if t.Value < least || t.Value > most {
			continue
		}
		inside++
		if t.Label != "" {
			labels++
		}
	}
	for i, t := range all {
		if t.Label != "" || labels < fewLabels && inside <= manyTicks {
			all[i].Label = tickLabel(t.Value)
		}
	}
	slices.SortFunc(all, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return all
}

// tickLabel writes large numbers in groups of digits, and small numbers unchanged.
func tickLabel(v float64) string {
	if math.Abs(v) >= 1000 {
		return Whole(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// logTicks are the ticks of plot.LogTicks, with labels at 2 and 5 too if there
// is space.
type logTicks struct{}

func (logTicks) Ticks(least, most float64) []plot.Tick {
	// Package plot rounds the exponent of least towards 0. So it omits the labels just above
	// least if least is below 1. To prevent this, begin a decade lower.
	ticks := plot.LogTicks{Prec: -1}.Ticks(least/10, most)
	narrow := math.Log10(most/least) <= 4
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = tickLabel(t.Value)
		}
		first := math.Round(t.Value / math.Pow(10, math.Floor(math.Log10(t.Value)+1e-9)))
		if narrow && t.Label == "" && (first == 2 || first == 5) {
			ticks[i].Label = tickLabel(t.Value)
		}
	}
	return ticks
}

// nextTick returns a maximum for an axis from 0: the first labelled tick that leaves space
// above a value.
func nextTick(value float64) float64 {
	if value <= 0 {
		return value
	}
	step, last := 0.0, 0.0
	for _, t := range (plot.DefaultTicks{}).Ticks(0, value) {
		if t.Label != "" {
			step, last = t.Value-last, t.Value
		}
	}
	return step * math.Ceil(1.02*value/step)
}

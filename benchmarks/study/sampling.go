// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"math"

	"github.com/otelstef/stef/benchmarks/report"
)

// samplingCharts are the figures of the study of processors over time.
func samplingCharts(c *Context) ([]report.Part, error) {
	parts := []report.Part{report.Heading("Over time")}
	for _, run := range []struct{ file, name, title string }{
		{"sampling-long.csv", "sampling-long", "at a steady rate"},
		{"sampling-limit.csv", "sampling-limit", "at the limit of two cores"},
		{"sampling-saturated.csv", "sampling-saturated", "as fast as the Collector accepts"},
	} {
		list, err := c.timelines(run.file)
		if err != nil {
			return nil, err
		}
		for _, figure := range samplingFigures {
			chart := &report.Chart{Name: run.name + "-" + figure.name, Title: figure.title + ", " + run.title, X: "seconds", Y: figure.unit, Picture: figure.picture}
			for _, t := range list {
				chart.Series = append(chart.Series, t.over(figure.value))
			}
			parts = append(parts, chart)
		}
	}
	return parts, nil
}

type samplingFigure struct {
	name, title, unit string
	picture           bool
	value             func(t *timeline, i int) float64
}

var samplingFigures = []samplingFigure{
	{"accepted", "Accepted spans", "spans a second", false, rate("accepted")},
	{"sent", "Sent spans", "spans a second", false, rate("sent")},
	{"held", "Spans accepted and not at the sink: held or lost", "spans", true, func(t *timeline, i int) float64 {
		return t.columns["accepted"][i] - t.columns["arrived"][i]
	}},
	{"sampled", "Sampled traces", "traces a second", false, rate("sampled")},
	{"events", "Events in the queue of groupbytrace", "events", true, column("events in queue")},
	{"traces", "Traces in memory", "traces", false, column("traces in memory")},
	{"heap", "Heap of the Collector", "MiB", true, column("heap MiB")},
	{"cpu", "CPU of the Collector", "processors", true, rate("CPU seconds")},
}

func column(name string) func(*timeline, int) float64 {
	return func(t *timeline, i int) float64 { return t.columns[name][i] }
}

// rate returns the increase of a column per second. It is NaN in the first row.
func rate(name string) func(*timeline, int) float64 {
	return func(t *timeline, i int) float64 {
		if i == 0 || t.columns["second"][i] == t.columns["second"][i-1] {
			return math.NaN()
		}
		return (t.columns[name][i] - t.columns[name][i-1]) / (t.columns["second"][i] - t.columns["second"][i-1])
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

var columns = []string{"processors", "legs", "rate", "seconds", "traces held", "acknowledged", "accepted", "refused", "sent", "arrived", "lost", "where lost", "twice", "whole traces", "traces",
	"sampled", "evicted", "spans/s", "heap MiB", "CPU s/million spans"}

func (r *result) cells() []string {
	rate := strconv.Itoa(r.rate)
	if r.rate == 0 {
		rate = "full"
	}
	return []string{strings.Join(r.processors, "+"), r.protocol, rate, fmt.Sprintf("%.0f", r.during.Seconds()), strconv.Itoa(r.traces), strconv.Itoa(r.acknowledged), strconv.Itoa(r.accepted), strconv.Itoa(r.refused),
		strconv.Itoa(r.sent), strconv.Itoa(r.arrived), strconv.Itoa(r.acknowledged - r.arrived), r.lossText(), strconv.Itoa(r.twice), strconv.Itoa(r.whole), strconv.Itoa(r.offeredTraces),
		r.sampledText(), strconv.Itoa(r.evicted), fmt.Sprintf("%.0f", float64(r.arrived)/r.took.Seconds()), strconv.FormatInt(r.heap>>20, 10),
		fmt.Sprintf("%.1f", r.cpu.Seconds()/float64(max(r.arrived, 1))*1e6)}
}

func printTable(results []*result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| %s\t|\n|%s\n", strings.Join(columns, "\t| "), strings.Repeat("---\t|", len(columns)))
	for _, r := range results {
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(r.cells(), "\t| "))
	}
	return w.Flush()
}

// sampledText returns how often tail_sampling sampled a trace, or "-" if the run has no tail_sampling.
func (r *result) sampledText() string {
	if !slices.Contains(r.processors, "tail_sampling") {
		return "-"
	}
	return strconv.Itoa(r.sampled)
}

func writeTable(name string, results []*result) error {
	rows := [][]string{columns}
	for _, r := range results {
		rows = append(rows, r.cells())
	}
	return writeCSV(name, rows)
}

// writeSeries writes the samples over time. Counts of spans are totals since the start;
// sampled and evicted count traces.
func writeSeries(name string, results []*result) error {
	rows := [][]string{{"processors", "legs", "second", "accepted", "sent", "arrived", "sampled", "evicted", "heap MiB", "traces in memory", "events in queue", "CPU seconds", "refused"}}
	whole := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	for _, r := range results {
		for _, s := range r.series {
			m := s.metrics
			rows = append(rows, []string{strings.Join(r.processors, "+"), r.protocol, whole(s.at.Round(time.Second).Seconds()), whole(m[metricAccepted]), whole(m[metricSent]), strconv.Itoa(s.arrived),
				whole(m[metricSampled]), whole(m[metricEvicted] + m[metricTooEarly]), fmt.Sprintf("%.1f", m[metricHeap]/(1<<20)), whole(m[metricTraces] + m[metricTailTraces]),
				whole(m[metricEvents]), fmt.Sprintf("%.2f", s.cpu.Seconds()), whole(m[metricRefused])})
		}
	}
	return writeCSV(name, rows)
}

func writeCSV(name string, rows [][]string) error {
	if name == "" {
		return nil
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o600)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command sampling sends traces, whose spans arrive out of order and late, through a
// Collector with processors that hold traces in memory, over OTLP or STEF, and counts
// what becomes of them. The Collector is a process of its own, so that its memory and
// CPU time are its own. README.md has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	var (
		config     = flag.String("collector", "", "run a Collector with this configuration; the program starts itself with it")
		during     = flag.Duration("for", 15*time.Second, "how long each run sends")
		rate       = flag.Int("rate", 5000, "spans a second; 0 is as fast as possible")
		processors = flag.String("processors", "groupbytrace,tail_sampling,groupbytrace+tail_sampling", "processors to compare")
		protocols  = flag.String("protocols", "otlp,stef", "protocols to compare, for both legs")
		wait       = flag.Duration("wait", 2*time.Second, "how long the processors hold a trace")
		traces     = flag.Int("traces", 100_000, "how many traces the processors hold")
		series     = flag.String("series", "", "file for what the Collector reports each second, as CSV")
	)
	flag.Parse()
	if *config != "" {
		if err := runCollector(*config); err != nil {
			log.Fatal(err)
		}
		return
	}
	var results []*result
	for _, p := range strings.Split(*processors, ",") {
		for _, protocol := range strings.Split(*protocols, ",") {
			r, err := measure(context.Background(), scenario{processors: strings.Split(p, "+"), protocol: protocol, during: *during, rate: *rate, wait: *wait, traces: *traces})
			if err != nil {
				log.Fatal(fmt.Errorf("%s over %s: %w", p, protocol, err))
			}
			results = append(results, r)
			fmt.Fprintf(os.Stderr, "%s over %s: %d of %d spans arrived\n", p, protocol, r.arrived, r.acknowledged)
		}
	}
	if err := errors.Join(printTable(results), writeSeries(*series, results)); err != nil {
		log.Fatal(err)
	}
}

// printTable prints the results as a table of Markdown.
func printTable(results []*result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| processors\t| legs\t| acknowledged\t| accepted\t| sent\t| arrived\t| lost\t| twice\t| whole traces\t| sampled\t| evicted\t| spans/s overall\t| heap, peak\t| CPU/million spans\t|")
	fmt.Fprintln(w, "|---\t|---\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|")
	for _, r := range results {
		fmt.Fprintf(w, "| %s\t| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d of %d\t| %s\t| %d\t| %.0f\t| %d MiB\t| %.1f s\t|\n",
			strings.Join(r.processors, " + "), r.protocol, r.acknowledged, r.accepted, r.sent, r.arrived, r.acknowledged-r.arrived, r.twice,
			r.whole, r.offeredTraces, r.sampledText(), r.evicted, float64(r.arrived)/r.took.Seconds(), r.heap>>20, r.cpu.Seconds()/float64(max(r.arrived, 1))*1e6)
	}
	return w.Flush()
}

// sampledText returns how many times a trace was sampled, "-" without tail_sampling.
func (r *result) sampledText() string {
	if !slices.Contains(r.processors, "tail_sampling") {
		return "-"
	}
	return strconv.Itoa(r.sampled)
}

// writeSeries writes what was sampled each second.
func writeSeries(name string, results []*result) error {
	if name == "" {
		return nil
	}
	var b strings.Builder
	b.WriteString("processors,protocol,second,accepted,sent,heap_bytes,traces_in_memory,events_in_queue\n")
	for _, r := range results {
		for i, s := range r.series {
			fmt.Fprintf(&b, "%s,%s,%d,%.0f,%.0f,%.0f,%.0f,%.0f\n", strings.Join(r.processors, "+"), r.protocol, i,
				s[metricAccepted], s[metricSent], s[metricHeap], s[metricTraces]+s[metricTailTraces], s[metricEvents])
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o600)
}

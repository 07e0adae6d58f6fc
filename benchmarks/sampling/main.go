// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command sampling sends traces over OTLP or STEF through a Collector with processors
// that hold traces in memory. The spans arrive out of order and late. The command counts
// the arriving spans, and says where spans are lost. The Collector runs in a separate
// process, so that its memory and CPU time can be measured. README.md has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
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
		limit      = flag.Int("limit", 0, "memory of the Collector in MiB above which memory_limiter refuses spans; 0 is without it")
		table      = flag.String("table", "", "file for the results as CSV")
		series     = flag.String("series", "", "file for what the Collector reports over time, as CSV")
		every      = flag.Duration("every", time.Second, "time between the lines of -series")
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
			r, err := measure(context.Background(), scenario{processors: strings.Split(p, "+"), protocol: protocol, during: *during, rate: *rate, wait: *wait, traces: *traces, limit: *limit, every: *every})
			if err != nil {
				log.Fatal(fmt.Errorf("%s over %s: %w", p, protocol, err))
			}
			results = append(results, r)
			fmt.Fprintf(os.Stderr, "%s over %s: %d of %d spans arrived; lost: %s\n", p, protocol, r.arrived, r.acknowledged, r.lossText())
		}
	}
	if err := errors.Join(printTable(results), writeTable(*table, results), writeSeries(*series, results)); err != nil {
		log.Fatal(err)
	}
}

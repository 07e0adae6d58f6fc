// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Stefdemo runs the main job of STEF on this machine: an agent Collector that
// takes OTLP and sends STEF, and a backend Collector that takes STEF, both
// inside of this process, with recorded telemetry of real programs sent through
// them. It prints what arrived and what it took, beside the same path with OTLP
// under zstd.
//
//	stefdemo [-rounds n] [-serve]
//
// With -serve it leaves the pair running, for an OTLP client of one's own, until
// it is interrupted. Exit codes: 0 done, 1 something did not arrive or failed, 2
// the flags are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("stefdemo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 3, "how often the recordings are sent, each time later by an hour of their clock")
	serve := flags.Bool("serve", false, "leave agent and backend running for an OTLP client of one's own")
	otlp := flags.String("otlp", "localhost:4317", "with -serve: where the agent takes OTLP/gRPC")
	stef := flags.String("stef", "localhost:4320", "with -serve: where the backend takes STEF")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || *rounds < 1 {
		flags.Usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serve {
		err = serveUntil(ctx, stdout, *otlp, *stef)
	} else {
		err = compare(ctx, stdout, *rounds)
	}
	if err != nil {
		fmt.Fprintln(stderr, "stefdemo:", err)
		return 1
	}
	return 0
}

// compare sends the recordings over both paths and prints what it took.
func compare(ctx context.Context, out io.Writer, rounds int) error {
	var recordings [len(signals)]*recording
	for s := range signals {
		var err error
		if recordings[s], err = load(kind(s), rounds); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "OTLP client -> agent Collector -> backend Collector, %d rounds of recorded telemetry\n\n", rounds)
	stef, err := measure(ctx, "stef", &recordings)
	if err != nil {
		return err
	}
	otlp, err := measure(ctx, "otlp", &recordings)
	if err != nil {
		return err
	}
	return report(out, stef, otlp)
}

// serveUntil leaves a pair running and prints what arrives, until ctx ends.
func serveUntil(ctx context.Context, out io.Writer, otlp, stef string) error {
	p, err := startPair("auto", otlp, stef)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The agent takes OTLP/gRPC at %s and sends STEF to the backend at %s.\n", otlp, stef)
	fmt.Fprintln(out, "Set OTEL_EXPORTER_OTLP_ENDPOINT, or send to it with any OTLP/gRPC client. Interrupt to end.")
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	var last [len(signals)]int64
	for {
		select {
		case <-ctx.Done():
			return p.stop()
		case <-tick.C:
			if now := p.counts(); now != last {
				last = now
				fmt.Fprintf(out, "arrived: %d metric points, %d spans, %d log records; %d bytes on the wire\n",
					now[metrics], now[traces], now[logs], p.bytes())
			}
		}
	}
}

// freeAddress returns an address of the loopback interface that nobody listens
// on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

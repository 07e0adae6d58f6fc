// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Stefdemo shows what STEF does, with recorded telemetry of real programs.
//
//	stefdemo [-rounds n]
//	stefdemo -serve
//	stefdemo -files [-dir folder]
//
// Without flags it runs an agent Collector that receives OTLP and sends STEF,
// and a backend Collector that receives STEF, both in this process. It sends
// the recordings through them and prints the items that arrived, the bytes
// between the Collectors and the CPU time. It prints the same figures for OTLP
// with zstd. The figures are separate for the first half of each recording,
// which begins a stream, and the second half.
//
// With -rounds the second half is sent several times. Later rounds have new ids
// and times, but the same values and texts, which compress better than new
// telemetry does.
//
// With -serve it leaves both Collectors running for your own OTLP client until it is interrupted.
// With -files it writes the recordings to STEF files, reads them back and compares.
//
// Exit codes: 0 done, 1 something did not arrive or failed, 2 the flags are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// output remembers the first error of a writer, so that its callers need not check each line that
// they print.
type output struct {
	to  io.Writer
	err error
}

// Write writes p, unless an earlier write failed.
func (o *output) Write(p []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.to.Write(p)
	}
	return n, o.err
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("stefdemo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 1, "without -serve and -files: how many times the second half of the recordings is sent; later rounds have new ids and times")
	serve := flags.Bool("serve", false, "leave agent and backend running for your own OTLP client")
	otlp := flags.String("otlp", "localhost:4317", "with -serve: where the agent receives OTLP/gRPC")
	stef := flags.String("stef", "localhost:4320", "with -serve: where the backend receives STEF")
	toFiles := flags.Bool("files", false, "write the recordings to STEF files, read them back and compare")
	dir := flags.String("dir", "", "with -files: the folder in which the files are kept")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || *rounds < 1 || unused(flags, *serve, *toFiles) {
		flags.Usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := &output{to: stdout}
	var err error
	switch {
	case *serve:
		err = serveUntil(ctx, out, *otlp, *stef)
	case *toFiles:
		err = files(out, *dir)
	default:
		err = compare(ctx, out, *rounds)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("standard output: %w", out.err)
	}
	if err != nil {
		fmt.Fprintln(stderr, "stefdemo:", err)
		return 1
	}
	return 0
}

// unused reports whether a flag is set that has no effect together with the other flags.
func unused(flags *flag.FlagSet, serve, files bool) (found bool) {
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "otlp", "stef":
			found = found || !serve
		case "dir":
			found = found || !files
		case "rounds":
			found = found || serve || files
		}
	})
	return found || serve && files
}

func compare(ctx context.Context, out io.Writer, rounds int) error {
	var recordings [len(signals)]*recording
	for s := range signals {
		var err error
		if recordings[s], err = load(kind(s), kind(s).long()); err != nil {
			return err
		}
	}
	fmt.Fprint(out, "OTLP client -> agent Collector -> backend Collector, 12 minutes of recorded telemetry of Go services\n\n")
	fmt.Fprintf(out, "A request of the client has %s on average.\n\n", averages(&recordings))
	stef, err := measure(ctx, "stef", &recordings, rounds)
	if err != nil {
		return err
	}
	otlp, err := measure(ctx, "otlp", &recordings, rounds)
	if err != nil {
		return err
	}
	return report(out, stef, otlp)
}

// serveUntil runs an agent and a backend and prints what arrives, until ctx ends.
func serveUntil(ctx context.Context, out io.Writer, otlp, stef string) error {
	p, err := startPair("auto", otlp, stef)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The agent receives OTLP/gRPC at %s and sends STEF to the backend at %s.\n", otlp, stef)
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Stef converts telemetry between OTLP, STEF, Parquet and Arrow, and inspects STEF streams.
//
//	stef convert metrics.otlp.zst metrics.stef
//	stef cat metrics.stef
//	stef stat metrics.stef
//	stef inspect metrics.stef
//
// Stef help lists the commands, stef help COMMAND explains one. README.md has
// the full documentation.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/cmd/stef/internal/file"
)

func main() {
	temps := new(file.Temps)
	interrupt := new(cli.Interrupt)
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		// If Deliver returns false, the command cannot end gracefully, for example because it
		// is blocked in a read, or this is the second signal.
		for <-stop; interrupt.Deliver(); <-stop {
		}
		cli.PrintInterrupted(os.Stderr, os.Args[1:], temps.Abort())
		os.Exit(cli.ExitInterrupted)
	}()
	os.Exit(cli.Run(os.Args[1:], cli.Env{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		Temps:     temps,
		Interrupt: interrupt,
		Terminal:  terminal(os.Stderr),
		Screen:    terminal(os.Stdout),
	}))
}

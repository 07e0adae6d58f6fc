// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of stef: its commands, their flags and texts,
// and what they print. What the commands do is in the packages beside it.
//
// Run is the whole program but for the process around it, so tests run it:
//
//	code := cli.Run([]string{"cat", "-"}, cli.Env{Stdin: r, Stdout: w, Stderr: e})
//
// A new command is an entry of the list in commands.go.
package cli

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of stef: its commands, their flags and texts,
// and their output. The packages beside it do the work of the commands.
//
// Run runs the whole program in the calling process. Tests call it directly:
//
//	code := cli.Run([]string{"cat", "-"}, cli.Env{Stdin: r, Stdout: w, Stderr: e})
//
// To add a command, add an entry to the list in commands.go.
package cli

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package benchdata makes test programs print, as their first line of output, which data
// their benchmarks use.
package benchdata

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Name prints the data of the benchmarks of a package if the program runs benchmarks.
// Initialise a variable of the test package with it: variables are initialised before
// anything else is printed.
func Name(what string) bool { return name(os.Stdout, os.Args, what) }

func name(w io.Writer, args []string, what string) bool {
	for i, arg := range args {
		value, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "test.bench=")
		if arg == "-test.bench" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok && value != "" {
			fmt.Fprintln(w, "data: "+what)
			return true
		}
	}
	return false
}

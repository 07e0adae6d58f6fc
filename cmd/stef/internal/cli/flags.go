// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
)

// signalFlag declares --signal, which sets root.
func signalFlag(flags *flag.FlagSet, usage string, root **stream.Root) {
	flags.Func("signal", "`metrics|traces|logs` "+usage, func(name string) error {
		r, err := stream.ParseRoot(name)
		if err != nil {
			return errors.New("must be one of metrics, traces, logs")
		}
		*root = r
		return nil
	})
}

// contradict returns the error for a command line in which --root and --signal name different records.
func contradict(root, signal *stream.Root) error {
	return usagef("--root %s and --signal %s contradict each other: leave one out", root.Name, signal.Signal)
}

// rootFlag declares --root, which sets root.
func rootFlag(flags *flag.FlagSet, root **stream.Root) {
	flags.Func("root", "`metrics|spans|logs` the kind of records in a stream\n"+
		"(default: detected from the schema that the stream announces, else from its\n"+
		"user data, else by decoding its first frame)", func(name string) (err error) {
		*root, err = stream.ParseRoot(name)
		return err
	})
}

// choice declares a flag with a few values.
func choice[T any](flags *flag.FlagSet, name, usage string, to *T, names []string, values []T) {
	flags.Func(name, "`"+strings.Join(names, "|")+"` "+usage, func(s string) error {
		for i, n := range names {
			if s == n {
				*to = values[i]
				return nil
			}
		}
		return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	})
}

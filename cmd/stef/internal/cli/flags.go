// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"fmt"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/stream"
)

// rootFlag declares --root, which sets root.
func rootFlag(flags *flag.FlagSet, root **stream.Root) {
	flags.Func("root", "`metrics|spans|logs` what the records of a stream are\n"+
		"(default: found out by the schema the stream announces, by its user data\n"+
		"or by which of them its first frame decodes as)", func(name string) (err error) {
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"flag"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stat"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
)

var statCommand = &command{
	name:    "stat",
	usage:   "stat [FLAG]... FILE",
	summary: "tell where the bytes of a stream go",
	help: `Tells where the bytes of a STEF stream go: headers, frames, columns, dictionaries.

Plain is before compression. It is exact: every column has bytes of its own. Under
zstd there are no bytes of a column, since zstd sees all columns as one text. The
column "zstd alone" is what the bytes of a column, taken from all frames, come to
when they are compressed by themselves in pieces of up to 1 MiB. Their sum is not
the size of the file: columns may repeat each other, which they cannot use alone,
and in the file each frame has costs of its own.

Of a dictionary it tells how many entries were sent, how many it had at most, the
bytes of their texts, and how often an entry was sent by its number. A record
that repeats the value of the one before it needs no reference, and counts none.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		var root *stream.Root
		var o stat.Options
		rootFlag(flags, &root)
		flags.BoolVar(&o.All, "all", false, "list columns without bytes, too")
		flags.BoolVar(&o.Frames, "frames", false, "list the frames")
		return func(env *Env, args []string) error {
			if err := files(args, "FILE"); err != nil {
				return err
			}
			in, root, src, err := openStream(env, args[0], root)
			if err != nil {
				return err
			}
			defer in.Close()
			stop := env.progress(in)
			report, err := stat.Measure(src, root)
			stop()
			if err != nil {
				return in.Blame(err)
			}
			out := bufio.NewWriter(file.Standard(env.Stdout))
			if err := report.Print(out, o); err != nil {
				return err
			}
			return out.Flush()
		}
	},
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stat"
	stef "github.com/otelstef/stef/stef-go"
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

Columns that only streams in the compact form have are explained behind their
type. The columns of the fields that they replace are empty.

Of a file of OTLP, Parquet or Arrow it reports on the stream that stef convert makes
of it. Of a stream that is cut or damaged it reports on the whole frames before that,
says how much is lost and exits with 1; stef repair writes these frames to a file.

Of a dictionary it tells how many entries were sent, how many it had at most, the
bytes of their texts, and how often an entry was sent by its number. A record
that repeats the value of the one before it needs no reference, and counts none.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		in := &opener{otlp: true}
		in.define(flags)
		var o stat.Options
		flags.BoolVar(&o.JSON, "json", false, "print the report as JSON")
		flags.BoolVar(&o.All, "all", false, "list columns without bytes, too")
		flags.BoolVar(&o.Frames, "frames", false, "list the frames")
		return func(env *Env, args []string) error {
			if err := files(args, "FILE"); err != nil {
				return err
			}
			if err := in.prepare(); err != nil {
				return err
			}
			return report(env, in, args[0], o)
		}
	},
}

// report prints the report of a file. For a damaged stream it reports the
// frames before the damage.
func report(env *Env, o *opener, name string, options stat.Options) error {
	in, err := o.open(env, name, convert.Options{Compression: stef.Zstd})
	if err != nil {
		return err
	}
	defer in.Close()
	stop := env.progress(in.Input)
	rep, err := stat.Measure(in.src, in.root)
	stop()
	if err != nil {
		return in.blame(err)
	}
	if rep.Whole.Damage != nil {
		err = in.blame(rep.Whole.Damage)
		var failed *file.Error
		if in.converted != nil || errors.As(err, &failed) {
			return err
		}
		err = fmt.Errorf("%w\n%s", err, lossOf(in.Name, &rep.Whole))
	} else if res := in.summary(); res != nil {
		rep.Source = res.From.String()
		skippedSignals(env.Stderr, res)
	}
	out := bufio.NewWriter(file.Standard(env.Stdout))
	if err := rep.Print(out, options); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return err
}

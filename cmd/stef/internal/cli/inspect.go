// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"flag"
	"io"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/annotate"
)

var inspectCommand = &command{
	name:    "inspect",
	usage:   "inspect [FLAG]... FILE",
	summary: "print the bytes of a stream with their meaning",
	help: `Prints every element of a STEF stream as

  OFFSET: BYTES # MEANING

from the headers to the last code of the last column: some 10 to 100 times the
size of the stream. Offsets count from the start of the stream; with a dot the
number of the bit in its byte follows, with a plus sign they count in the content
of a compressed frame. r1 is the first record. Of a damaged stream it prints what
comes before the damage. A stream in the compact form is shown as it is sent: a
line below the heading of a column says what its codes stand for. Of a file of messages,
as the Collector's file exporter writes them with encoding: stef_encoding, it prints
each as a stream of its own.

With --plain the records of each frame follow its columns as JSON, one a line, with
their numbers. Those of a stream in the compact form are the records that result,
with times, values and ids in full; those of other streams are as they are sent.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		o := &opener{onlySTEF: "inspect prints STEF: convert it first, with stef convert"}
		o.define(flags)
		plain := flags.Bool("plain", false, "print the records below the columns of their frame")
		return func(env *Env, args []string) error {
			if err := files(args, "FILE"); err != nil {
				return err
			}
			if err := o.prepare(); err != nil {
				return err
			}
			in, err := o.open(env, args[0], convert.Options{})
			if err != nil {
				return err
			}
			defer in.Close()
			out := bufio.NewWriterSize(file.Standard(env.Stdout), 64<<10)
			if in.framed {
				err = in.inspectMessages(out, *plain)
				if e := out.Flush(); e != nil {
					return e
				}
				return in.blame(err)
			}
			err = inspect(out, in.src, in.root, *plain)
			if e := out.Flush(); e != nil {
				return e
			}
			return in.blame(err)
		}
	},
}

// inspect prints a stream of a root.
func inspect(out io.Writer, src io.Reader, root *stream.Root, plain bool) error {
	options := []annotate.Option{annotate.WithReaderOptions(root.ReaderOptions()...), annotate.WithColumnNotes(root.Meaning)}
	if plain {
		options = append(options, annotate.WithRecords())
	}
	return annotate.Stream(out, src, root.Wire, options...)
}

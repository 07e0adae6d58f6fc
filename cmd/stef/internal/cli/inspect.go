// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"flag"
	"io"
	"math"

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

from the headers to the last code of the last column. An offset counts from the start
of the stream. A number after a dot is the bit in that byte. An offset with a plus sign
counts from the start of a frame's decompressed content. r1 is the first record. Of a
damaged stream inspect prints the part before the damage. A stream in the compact form
is shown as it is sent: a line below the heading of a column explains its codes. In a
file of messages, as the Collector's file exporter writes them with encoding:
stef_encoding, each message is printed as a stream of its own.

The output is 10 to 100 times as large as the stream before compression, or larger if
most records take few bits. --frames 1 prints only the headers and the first frame. If
that frame has many records, add | head -1000, which ends the program early.

With --plain the records of each frame follow its columns as JSON, one record a line,
with its number. Records of a stream in the compact form are printed after decoding,
with times, values and ids in full. Records of other streams are printed as sent.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		o := &opener{onlySTEF: "inspect prints STEF: convert it first, with stef convert"}
		o.define(flags)
		var show shown
		flags.BoolVar(&show.plain, "plain", false, "print the records below the columns of their frame")
		flags.UintVar(&show.frames, "frames", 0, "`N` print only the first N frames, or, of a file of messages, the first N messages\n"+
			"(default: all)")
		return func(env *Env, args []string) error {
			if err := o.oneFile("inspect", args); err != nil {
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
				err = in.inspectMessages(out, show)
			} else {
				err = inspect(out, in.src, in.root, show)
			}
			if e := out.Flush(); e != nil {
				return e
			}
			return in.explainError(err)
		}
	},
}

// shown says how much of a stream inspect prints.
type shown struct {
	plain  bool // print the records, too
	frames uint // number of frames, or of messages; 0 is all
}

// inspect prints a stream of a root.
func inspect(out io.Writer, src io.Reader, root *stream.Root, show shown) error {
	options := []annotate.Option{annotate.WithReaderOptions(root.ReaderOptions()...), annotate.WithColumnNotes(root.Meaning)}
	if show.frames > 0 {
		options = append(options, annotate.WithMaxFrames(int(min(show.frames, math.MaxInt32))))
	}
	if show.plain {
		options = append(options, annotate.WithRecords())
	}
	return annotate.Stream(out, src, root.Wire, options...)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

var convertCommand = &command{
	name:    "convert",
	usage:   "convert [FLAG]... IN OUT",
	summary: "turn OTLP into STEF, STEF into OTLP, and each into itself",
	help: `Converts a file of telemetry. The formats are

  stef        a STEF stream
  otlp-parts  parts of a 4 byte big-endian length and an OTLP protobuf message
  otlp        one OTLP protobuf message
  otlp-json   OTLP in JSON, a message a line as the Collector's file exporter
              writes it; line breaks inside of messages are fine in input

What is not said is guessed: the format of IN by its content, that of OUT by the
end of its name (.stef, .parts, .pb, .json, .jsonl), otherwise stef; the signal by
content and name of IN.

A part in becomes a frame of the stream, or several where it is very large, and a
frame becomes a part out. From stef to stef records keep their order, frames and
user data; this changes the compression or the schema.

The reference schema, that of the reference implementation of STEF, lacks entity
references, point flags but "no recorded value", and counts of dropped events and
links. What it cannot keep is counted and printed.

A summary goes to standard error: items, bytes, ratio and time.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		c := &conversion{options: convert.Options{Compression: stef.Zstd}}
		c.define(flags)
		return func(env *Env, args []string) error {
			if err := files(args, "IN", "OUT"); err != nil {
				return err
			}
			flags.Visit(c.given)
			return c.run(env, args[0], args[1])
		}
	},
}

// conversion is the command with its flags.
type conversion struct {
	options convert.Options
	signal  *stream.Root
	root    *stream.Root
	quiet   bool
}

func (c *conversion) define(flags *flag.FlagSet) {
	format := func(name, usage string, to *convert.Format) {
		flags.Func(name, "`stef|otlp-parts|otlp|otlp-json` format of "+usage, func(s string) (err error) {
			*to, err = convert.ParseFormat(s)
			return err
		})
	}
	o := &c.options
	format("from", "IN", &o.From)
	format("to", "OUT", &o.To)
	flags.Func("signal", "`metrics|traces|logs` what IN holds (default: found out)", func(name string) error {
		s, err := otlpfile.ParseSignal(name)
		c.signal = stream.RootOf(s)
		return err
	})
	rootFlag(flags, &c.root)
	flags.Func("mode", "`ordered|sorted` order of items in OUT, if it is stef; sorted puts items\n"+
		"and attributes in an order that makes the stream small\n"+
		"(default: sorted for metrics and traces, ordered for logs)", func(name string) (err error) {
		o.Mode, err = convert.ParseMode(name)
		return err
	})
	choice(flags, "compression", "compression inside of OUT, if it is stef (default: zstd)", &o.Compression,
		[]string{"none", "zstd"}, []stef.Compression{stef.None, stef.Zstd})
	choice(flags, "level", "level of zstd (default: default)", &o.Level,
		[]string{"fastest", "default", "better", "best"},
		[]stef.Level{stef.LevelFastest, stef.LevelDefault, stef.LevelBetter, stef.LevelBest})
	choice(flags, "schema", "schema of OUT, if it is stef (default: full)", &o.Reference,
		[]string{"full", "reference"}, []bool{false, true})
	flags.BoolVar(&o.Skip, "skip", false, "leave out items that cannot be converted, and say so, instead of failing")
	flags.BoolVar(&c.quiet, "quiet", false, "print no summary and no progress, only what was lost or left out")
}

// given notes flags that mean something for streams only.
func (c *conversion) given(f *flag.Flag) {
	switch f.Name {
	case "mode", "compression", "level", "schema":
		c.options.StreamFlags = append(c.options.StreamFlags, "--"+f.Name)
	}
}

func (c *conversion) run(env *Env, inName, outName string) error {
	o := c.options
	o.OutName = outName
	o.Root = c.root
	if c.signal != nil {
		if o.Root != nil && o.Root != c.signal {
			return usagef("--signal %s and --root %s do not go together", c.signal.Signal, o.Root.Name)
		}
		o.Root = c.signal
	}
	if o.Level != 0 && o.Compression == stef.None {
		return usagef("--level is for --compression zstd")
	}
	begin := time.Now()
	in, err := file.Open(inName, env.Stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := env.Temps.Create(outName, env.Stdout)
	if err != nil {
		return err
	}
	defer out.Discard()
	stop := func() {}
	if !c.quiet {
		stop = env.progress(in)
	}
	res, err := convert.Run(in, out, o)
	if err == nil {
		err = out.Commit()
	}
	stop()
	if err != nil {
		return err
	}
	if !c.quiet {
		summarise(env.Stderr, in, out, res, time.Since(begin))
	}
	warn(env.Stderr, res)
	return nil
}

// summarise prints what was converted. That it cannot be printed is no failure
// of the conversion.
func summarise(w io.Writer, in *file.Input, out *file.Output, res *convert.Result, took time.Duration) {
	packed := ""
	if in.Packed != "" {
		packed = fmt.Sprintf(" (%s under %s)", figure.Grouped(in.Taken()), in.Packed)
	}
	fmt.Fprintf(w, "%s: %s, %s, %s bytes%s\n", in.Name, res.From, parts(res.From, res.PartsIn), figure.Grouped(in.Content()), packed)
	ratio := ""
	if out.Written() > 0 {
		ratio = fmt.Sprintf(", ratio %.3g", float64(in.Content())/float64(out.Written()))
	}
	fmt.Fprintf(w, "%s: %s, %s, %s bytes%s\n", out.Name, res.To, parts(res.To, res.PartsOut), figure.Grouped(out.Written()), ratio)
	fmt.Fprintf(w, "%s %s in %s\n", figure.Grouped(res.Items), convert.ItemsOf(res.Root.Signal), figure.Seconds(took))
}

// warn prints what is not in the output.
func warn(w io.Writer, res *convert.Result) {
	for _, loss := range res.Losses {
		fmt.Fprintf(w, "not kept: %s\n", loss)
	}
	if res.Skipped > 0 {
		fmt.Fprintf(w, "left out: %s %s\n", figure.Grouped(res.Skipped), convert.ItemsOf(res.Root.Signal))
	}
	for _, reason := range res.Reasons {
		fmt.Fprintf(w, "  %s\n", message(reason))
	}
}

// parts counts the parts of a file.
func parts(f convert.Format, n int) string {
	noun := map[convert.Format]string{convert.STEF: "frame", convert.OTLPParts: "part", convert.OTLP: "piece", convert.OTLPJSON: "message"}[f]
	if n != 1 {
		noun += "s"
	}
	return figure.Grouped(n) + " " + noun
}

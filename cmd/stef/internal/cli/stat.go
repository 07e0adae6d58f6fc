// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stat"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

var statCommand = &command{
	name:    "stat",
	usage:   "stat [FLAG]... FILE",
	summary: "tell where the bytes of a stream go",
	help: `Shows where the bytes of a STEF stream go: headers, frames, columns, dictionaries.

The line "as OTLP" is the size of the same items as OTLP on the wire: a request for
each message of an OTLP file or for each frame of a stream. Its bytes are the sums over
all requests, before compression and with zstd for each request alone. The last figure
is the size of the stream relative to the second sum. It depends on the level of zstd:
the line "zstd level" names that of the exporter and, unless the input is a stream, that
of the stream which stat makes of it. Streams do not contain their level.

The line "checksums" says how many frames with records end with a checksum. A changed
byte in such a frame is an error; elsewhere it may be read as another value. If there is
no whole frame with records, the line says "unknown" (null with --json).

"plain" is the exact size of a column before compression. After compression a column has
no size of its own, because zstd compresses all columns of a frame together. "zstd alone"
is an estimate: the bytes of one column from all frames, compressed separately in pieces
of up to 1 MiB. The sum is not the size of the file: a column alone cannot use
repetitions between columns, and in the file each frame has its own costs.

If only streams in the compact form have a column, an explanation follows its type. The
columns of the fields that it replaces are empty.

For a file of OTLP, Parquet or Arrow stat reports on the stream that stef convert makes
of it. For a stream that is cut or damaged it reports on the whole frames before the
damage, says how much is lost and exits with 1; stef repair copies these frames. Of a
cut file of STEF messages (stef-parts) it reports on the whole messages in the same
way. Of a cut file of OTLP or Arrow it prints only the error: stef convert --skip
converts what is whole.

A dictionary has the number of entries sent, the most it held at a time, the bytes of
their texts, and how often an entry was referred to. A record that repeats the value of
the previous one needs no reference and counts none.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		in := &opener{otlp: true}
		in.define(flags)
		var o stat.Options
		flags.BoolVar(&o.JSON, "json", false, "print the figures of the report as JSON")
		flags.BoolVar(&o.All, "all", false, "list columns without bytes, too")
		flags.BoolVar(&o.Frames, "frames", false, "list the frames")
		return func(env *Env, args []string) error {
			if err := in.oneFile("stat", args); err != nil {
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
	in, err := o.open(env, name, convert.Options{Compression: stef.Zstd, Requests: true, WholeMessages: true})
	if err != nil {
		return err
	}
	defer in.Close()
	stop := env.progress(in.Input)
	src, requests := in.requests()
	rep, err := stat.Measure(src, in.root)
	stop()
	asOTLP := requests()
	if err != nil {
		return in.explainError(err)
	}
	if rep.Whole.Damage != nil {
		err = in.explainError(rep.Whole.Damage)
		var failed *file.Error
		if in.converted != nil || errors.As(err, &failed) {
			return err
		}
		rep.DamageText = message(err)
		loss := lossOf(in.Input, &rep.Whole)
		if rep.Whole.Concatenated { // lossOf has the words of repair, but stat copies nothing
			loss = strings.Replace(loss, "; not copied: ", "; not reported: ", 1)
		}
		err = fmt.Errorf("%w\n%s", err, loss)
	} else if res := in.summary(); res != nil {
		rep.Source = res.From.String()
		asOTLP = res.Requests
		notesOf(env.Stderr, res)
		for _, err = range res.Files { // a file of messages that is cut
			rep.Whole.Damage, rep.Whole.Cut, rep.DamageText = err, true, message(err)
			if bad := (*file.ContentError)(nil); errors.As(err, &bad) {
				rep.Whole.Lost = bad.Read - in.Content()
			}
		}
	}
	if asOTLP != nil && asOTLP.Items == rep.Records { // both figures are about the same items
		rep.Requests, rep.OTLP, rep.OTLPZstd = asOTLP.N, asOTLP.Plain, asOTLP.Zstd
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

// requests returns the source of a stream of telemetry, and a function to call after the
// source is read. The function returns the sizes of the frames as OTLP requests, or nil if
// they cannot be computed from the stream alone.
func (s *opened) requests() (io.Reader, func() *convert.Requests) {
	if s.converted != nil || s.root.Signal == otlpfile.SignalUnknown {
		return s.src, func() *convert.Requests { return nil }
	}
	r, w := io.Pipe()
	done := make(chan *convert.Requests)
	go func() {
		sum, err := convert.RequestsOf(r, s.root)
		if err != nil && !errors.Is(err, stef.ErrCorrupt) {
			sum = nil
		}
		_, _ = io.Copy(io.Discard, r) // read the bytes after damage, so that the TeeReader does not block
		done <- sum
	}()
	return io.TeeReader(s.src, w), func() *convert.Requests {
		w.Close()
		return <-done
	}
}

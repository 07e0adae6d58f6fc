// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/same"
	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

var demoCommand = &command{
	name:    "demo",
	usage:   "demo [FLAG]...",
	summary: "convert bundled recordings there and back",
	help: `Converts recordings of real telemetry, which are part of the program, from OTLP to
STEF and back, in both orders, with and without compression, and compares what
came back with what went in, item by item. It fails if anything differs.

Sizes are of files. OTLP is shown with each batch compressed by itself, as
exporters of OTLP send them, and with all batches in one zstd stream, of which
only the whole is of use; the level is that of STEF. Times are of whole
conversions on this machine, with protobuf and files.
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		dir := flags.String("dir", "", "`FOLDER` make the files there, and keep them")
		return func(env *Env, args []string) error {
			if err := files(args); err != nil {
				return err
			}
			d := &demo{env: env, dir: *dir, w: file.Standard(env.Stdout)}
			if err := d.run(recordings); err != nil {
				return err
			}
			return d.conclude()
		}
	},
}

// recording is a file of OTLP.
type recording struct {
	signal otlpfile.Signal
	name   string
	data   func() []byte
}

// recordings are the fixtures.
var recordings = []recording{
	{otlpfile.Metrics, fixtures.MetricsName, fixtures.Metrics},
	{otlpfile.Traces, fixtures.TracesName, fixtures.Traces},
	{otlpfile.Logs, fixtures.LogsName, fixtures.Logs},
}

// demo is one run. What it prints goes to w, whose first error it keeps.
type demo struct {
	env       *Env
	dir       string
	w         io.Writer
	err       error
	shown     string // a stream to look at
	different int
}

func (d *demo) print(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format, args...)
	}
}

// run runs the main job on recordings.
func (d *demo) run(recordings []recording) error {
	dir, err := d.folder()
	if err != nil {
		return err
	}
	d.print("OTLP to STEF and back, with recordings of a small shop: seven services, 45 seconds.\n")
	for _, r := range recordings {
		if err := d.recording(filepath.Join(dir, r.name), r.signal, r.data()); err != nil {
			return err
		}
	}
	return d.err
}

// conclude says how it went and what else there is to see.
func (d *demo) conclude() error {
	if d.different > 0 {
		return fmt.Errorf("%d conversions lost or changed something", d.different)
	}
	d.print("\nEvery item came back as it was.\n\nWhere to look next:\n")
	if d.dir == "" {
		d.print("  stef demo --dir FOLDER   keeps the files, for the commands below\n")
	}
	shown := filepath.Join("FOLDER", filepath.Base(d.shown))
	if d.dir != "" {
		shown = d.shown
	}
	d.print("  stef stat %s   where the bytes go\n", shown)
	d.print("  stef cat -n 3 %s   the records\n", shown)
	d.print("  stef inspect %s   every bit, with its meaning\n", shown)
	d.print("\"go run ./cmd/stef\" is stef; README.md says what is where.\n")
	return d.err
}

func (d *demo) folder() (string, error) {
	if d.dir == "" {
		return d.env.Temps.Folder()
	}
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return "", &file.Error{Name: d.dir, Err: err}
	}
	return d.dir, nil
}

// recording runs the main job on a recording.
func (d *demo) recording(name string, signal otlpfile.Signal, data []byte) error {
	if err := os.WriteFile(name, data, 0o666); err != nil {
		return &file.Error{Name: name, Err: err}
	}
	o, err := measure(name)
	if err != nil {
		return err
	}
	d.print("\n%s: %s %s in %s batches\n", signal, figure.Grouped(o.ordered.Len()), convert.ItemsOf(signal), figure.Grouped(o.batches))
	d.print("  %-24s %12s %8s %10s %10s\n", "", "bytes", "ratio", "to STEF", "to OTLP")
	row := func(name string, size int64, more string) {
		d.print("  %-24s %12s %8.2f%s\n", name, figure.Grouped(size), float64(o.size)/float64(size), more)
	}
	row("OTLP", o.size, "")
	row("OTLP, zstd, each batch", o.each, "")
	row("OTLP, zstd, all in one", o.whole, "")
	for _, mode := range []convert.Mode{convert.Ordered, convert.Sorted} {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			t, err := d.trip(name, signal, o, mode, compression)
			if err != nil {
				return err
			}
			row(fmt.Sprintf("STEF, %s, %s", mode, compression), t.size,
				fmt.Sprintf(" %10s %10s  %s", figure.Seconds(t.there), figure.Seconds(t.back), t.verdict))
		}
	}
	return nil
}

// trip is one way there and back.
type trip struct {
	size        int64
	there, back time.Duration
	verdict     string
}

// trip converts a recording to STEF and back and compares.
func (d *demo) trip(name string, signal otlpfile.Signal, o *original, mode convert.Mode, compression stef.Compression) (t trip, err error) {
	base := filepath.Join(filepath.Dir(name), fmt.Sprintf("%s.%s.%s", signal, mode, compression))
	stream, again := base+".stef", base+".otlp-parts"
	if t.size, t.there, err = d.convert(name, stream, convert.Options{Mode: mode, Compression: compression}); err != nil {
		return t, err
	}
	if _, t.back, err = d.convert(stream, again, convert.Options{}); err != nil {
		return t, err
	}
	want := &o.ordered
	if mode == convert.Sorted {
		want = &o.sorted
	}
	got := &same.Set{SortAttributes: want.SortAttributes}
	if err := batches(again, got.Add); err != nil {
		return t, err
	}
	t.verdict = verdict(want, got, mode == convert.Ordered)
	if t.verdict != unchanged {
		d.different++
		return t, nil
	}
	d.shown = stream
	return t, nil
}

const unchanged = "same"

// verdict says in words what a conversion did to items.
func verdict(want, got *same.Set, ordered bool) string {
	missing, extra := same.Items(want, got)
	switch {
	case missing > 0 || extra > 0:
		return fmt.Sprintf("DIFFERENT: %d items are missing, %d are new", missing, extra)
	case ordered && !same.Order(want, got):
		return "DIFFERENT: the order changed"
	}
	return unchanged
}

// convert converts a file and returns the size of the new one.
func (d *demo) convert(from, to string, o convert.Options) (int64, time.Duration, error) {
	begin := time.Now()
	in, err := file.Open(from, nil)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	out, err := d.env.Temps.Create(to, nil)
	if err != nil {
		return 0, 0, err
	}
	defer out.Discard()
	o.OutName = to
	if _, err := convert.Run(in, out, o); err != nil {
		return 0, 0, err
	}
	return out.Written(), time.Since(begin), out.Commit()
}

// original is what is in a recording. Sizes are those of all messages, of each
// compressed by itself, and of all compressed as one.
type original struct {
	ordered, sorted   same.Set
	batches           int
	size, each, whole int64
}

func measure(name string) (*original, error) {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	o := &original{sorted: same.Set{SortAttributes: true}}
	err = batches(name, func(b otlpfile.Batch) error {
		o.batches++
		o.size += int64(len(b.OTLP))
		o.each += int64(len(z.EncodeAll(b.OTLP, nil)))
		_, err := z.Write(b.OTLP)
		return errors.Join(err, o.ordered.Add(b), o.sorted.Add(b))
	})
	if err == nil {
		err = z.Close()
	}
	o.whole = int64(packed.Len())
	return o, err
}

// batches reads a file of OTLP.
func batches(name string, each func(otlpfile.Batch) error) error {
	in, err := file.Open(name, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := otlpfile.Open(in, otlpfile.FormatUnknown, otlpfile.SignalUnknown, otlpfile.WithName(in.ContentName()))
	if err != nil {
		return in.Blame(err)
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(b)
		}
		if err != nil {
			return in.Blame(err)
		}
	}
}

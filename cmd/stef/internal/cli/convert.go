// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

var convertCommand = &command{
	name:    "convert",
	usage:   "convert [FLAG]... IN... OUT",
	summary: "convert between STEF, OTLP, Parquet and Arrow",
	help: `Converts a file of telemetry. The formats are

  stef        a STEF stream
  otlp-parts  parts of a 4 byte big-endian length and an OTLP protobuf message
  otlp        one OTLP protobuf message
  otlp-json   OTLP in JSON, a message a line as the Collector's file exporter
              writes it; line breaks inside of messages are fine in input
  stef-parts  STEF streams, each after its length in 4 bytes, as the Collector's
              file exporter writes them with encoding: stef_encoding; input only
  parquet     a table for DuckDB, pandas, polars and others, a row for each item
  arrow       the same table as an Arrow IPC stream

Without flags, the content of IN tells its format and signal, and the end of the
name of OUT tells the format of the output: .stef, .parquet, .arrow, .otlp, .pb,
.json, .jsonl. Other names need --to. On standard output (-) the format is stef; if IN
is stef, too, --to is needed. An existing OUT needs --force. Several INs of one signal
become one OUT; empty ones (no bytes, or only white space) are left out, which does not
change the exit code. With --signal, INs of other signals are skipped and counted. With
{signal} in the name of OUT, INs of several signals become one file per signal.

A file of several signals, as the file exporter writes it for several pipelines in
JSON, in parts or in stef-parts, needs --signal, which converts one signal and counts
what it skips, or {signal} in the name of OUT, which writes one file per signal. With
{signal}, INs are read several times, so they cannot be standard input or pipes:

  stef convert all.json out-{signal}.stef

A part of IN becomes a frame of the stream, or several if it is very large. A frame
of a stream becomes a part of OUT. From stef to stef, only the compression or the schema
changes: records keep their order and frames, and the stream keeps its user data. With
--mode or --frame-items the stream is written anew, without user data.

The compact schema, the default, sends times, values and ids as differences from
earlier records. The full schema has the same records for tools that do not know the
compact form. The reference schema, which the reference implementation of STEF reads,
lacks entity references, point flags other than "no recorded value", and counts of
dropped events and links. The tool counts and prints what it could not keep.

A summary goes to standard error: items, bytes, ratio and time. The ratio compares IN
before compression with OUT. For an IN in stef or parquet, which are compressed inside,
it uses the size of the file. If IN or OUT is OTLP and the other is a stream, the
summary also says how many bytes OTLP takes on the wire: there, each message is a
request, and each request is compressed separately with zstd. Compare the stream with
this number, not with a file that is compressed as a whole, because no OTLP connection
compresses that way. --quiet and --frame-items omit this line.
`,
	misnamed: map[string]string{
		"o": misnamedOut, "out": misnamedOut, "output": misnamedOut,
		"sort": ", did you mean --mode sorted?", "sorted": ", did you mean --mode sorted?",
	},
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		c := &conversion{options: convert.Options{Compression: stef.Zstd}}
		c.define(flags)
		return func(env *Env, args []string) error {
			flags.Visit(c.given)
			if len(args) > 2 {
				return c.run(env, args[:len(args)-1], args[len(args)-1])
			}
			if err := files(args, "IN", "OUT"); err != nil {
				return err
			}
			return c.run(env, args[:1], args[1])
		}
	},
}

const misnamedOut = ": the output is the last argument: stef convert IN x.stef"

// outFlags are the names that other programs give to a flag for the output.
var outFlags = map[string]bool{"o": true, "out": true, "output": true}

// conversion is the command convert with the values of its flags.
type conversion struct {
	options convert.Options
	signal  *stream.Root
	root    *stream.Root
	quiet   bool
	force   bool
	// perSignal is set if the name of OUT contains {signal}, the placeholder for the signal.
	perSignal bool
}

func (c *conversion) define(flags *flag.FlagSet) {
	format := func(name, usage string, to *convert.Format, output bool) {
		flags.Func(name, "`FORMAT` format of "+usage, func(s string) (err error) {
			*to, err = convert.ParseFormat(s, output)
			return err
		})
	}
	o := &c.options
	format("from", "IN", &o.From, false)
	format("to", "OUT", &o.To, true)
	signalFlag(flags, "signal of IN (default: detected from the content)", &c.signal)
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
	flags.BoolVar(&o.Checksums, "checksums", false, "end each frame of OUT with a checksum, if it is stef with zstd; a frame\n"+
		"with changed bytes is then an error")
	schemas := map[string]convert.Schema{"compact": convert.Compact, "full": convert.Full, "reference": convert.Reference}
	flags.Func("schema", "`compact|full|reference` schema of OUT, if it is stef (default: compact)", func(name string) error {
		s, ok := schemas[name]
		o.Schema = s
		switch {
		case ok:
			return nil
		case strings.HasSuffix(name, ".stef"):
			return fmt.Errorf("must be one of compact, full, reference; convert knows records of OpenTelemetry only: print records of your own with stef cat --schema %s", file.Quoted(name))
		}
		return errors.New("must be one of compact, full, reference")
	})
	flags.Func("columns", "`KEY,...` attributes that get columns of their own in a table:\n"+
		"http.request.method, resource:KEY for one of the resource, scope:KEY of the scope", func(keys string) error {
		for key := range strings.SplitSeq(keys, ",") {
			if key = strings.TrimSpace(key); key == "" {
				return errors.New("a name between the commas is empty")
			}
			o.Columns = append(o.Columns, key)
		}
		return nil
	})
	flags.Func("dictionary", "`FILE` a shared dictionary of the messages of IN: the file that the sender sets as\n"+
		"dictionary in its extension stef_encoding; up to 4 times", func(name string) error {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if n := len(content); n < minDictionary || n > stef.MaxZstdDictBytes {
			return fmt.Errorf("it is not a dictionary: it has %s bytes, a dictionary has at least %d and at most %s",
				figure.Grouped(n), minDictionary, figure.Grouped(stef.MaxZstdDictBytes))
		}
		d, err := stef.NewZstdDict(content)
		o.Dictionaries = append(o.Dictionaries, d)
		return err
	})
	flags.Func("frame-items", "`N` combine consecutive parts of IN into frames of up to N items, if OUT is stef;\n"+
		"a stream of few large frames (N from 1000) is smaller, and needs memory for a frame", func(s string) (err error) {
		if o.FrameItems, err = strconv.Atoi(s); err != nil {
			return fmt.Errorf("write a number from 1 to %d, in digits only", convert.MaxFrameItems)
		}
		if o.FrameItems < 1 || o.FrameItems > convert.MaxFrameItems {
			return fmt.Errorf("must be between 1 and %s", figure.Grouped(convert.MaxFrameItems))
		}
		return nil
	})
	flags.BoolVar(&o.Skip, "skip", false, "leave out items that cannot be converted, and the end of a file that is cut or whose\n"+
		"compression is damaged, and say so, instead of failing; the exit code is 4 if any\n"+
		"of these was left out")
	flags.BoolVar(&c.force, "force", false, "overwrite OUT if it exists")
	flags.BoolVar(&c.quiet, "q", false, "the same as --quiet")
	flags.BoolVar(&c.quiet, "quiet", false, "print no summary and no progress, only what was lost or left out")
}

// minDictionary is the minimum size of a shared dictionary.
const minDictionary = 8

// given records the flags that apply to streams only.
func (c *conversion) given(f *flag.Flag) {
	switch f.Name {
	case "mode", "compression", "level", "checksums", "schema", "frame-items":
		c.options.StreamFlags = append(c.options.StreamFlags, "--"+f.Name)
	}
}

func (c *conversion) run(env *Env, inNames []string, outName string) error {
	o := c.options
	o.OutName = outName
	o.Requests = !c.quiet && o.FrameItems == 0 // --frame-items combines requests, and no sender sends combined requests
	o.Root = c.root
	if c.signal != nil {
		if o.Root != nil && o.Root != c.signal {
			return contradict(o.Root, c.signal)
		}
		o.Root = c.signal
	} else {
		o.RootFlag = "--root"
	}
	if o.Level != 0 && o.Compression == stef.None {
		return usagef("--level is for --compression zstd")
	}
	if o.Checksums && o.Compression == stef.None {
		return usagef("--checksums is for --compression zstd, whose frames have a place for them")
	}
	if err := checkMarks(outName); err != nil {
		return err
	}
	if err := openable(o, inNames, outName); err != nil {
		return err
	}
	if o.To == convert.Unknown && !c.force && !convert.HasFormat(outName) && formatOf(outName) != convert.Unknown {
		return lastName(outName)
	}
	c.perSignal = strings.Contains(outName, convert.SignalMark)
	if len(inNames) > 1 {
		if name := sameAs(outName, inNames); name != "" {
			return usagef("%s is the output and also one of the %d inputs: name another output, or leave it out of the inputs", name, len(inNames))
		}
	}
	if c.perSignal {
		if err := severalTimes(convert.SignalMark, inNames); err != nil {
			return err
		}
		if o.Root != nil {
			return usagef("--signal and %s do not go together", convert.SignalMark)
		}
	}
	var err error
	switch {
	case c.perSignal && len(inNames) > 1:
		err = c.severalBySignal(env, o, inNames, outName)
	case len(inNames) > 1:
		err = c.several(env, o, inNames, outName)
	case c.perSignal:
		err = c.each(env, o, inNames[0], outName)
	default:
		_, err = c.one(env, o, inNames[0], outName, false)
	}
	if err == nil || errors.Is(err, errLost) {
		warnRepeated(env.Stderr, inNames)
	}
	return err
}

// done is a finished conversion to one file.
type done struct {
	in    *file.Input // nil if there are several
	out   *file.Output
	res   *convert.Result
	plain bool // whether the stream is not compressed
}

// one converts a file. With skipEmpty it neither commits the output nor prints the summary; the
// caller must do both if there are items.
func (c *conversion) one(env *Env, o convert.Options, inName, outName string, skipEmpty bool) (*done, error) {
	if env.Screen && outName == "-" && o.To != convert.OTLPJSON {
		return nil, usagef("%s is a binary format, and standard output is a terminal: name a file or redirect the output", cmp.Or(o.To, convert.STEF))
	}
	begin := time.Now()
	in, err := file.Open(inName, env.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	plain := notCompressed(in)
	refusal := c.overwrite([]string{inName}, outName)
	out, err := c.create(env, inName, outName)
	if err != nil && skipEmpty { // report the error only if there are items
		out, refusal, err = file.Standard(io.Discard), err, nil
	}
	if err != nil {
		return nil, err
	}
	finished := false
	defer func() {
		if !finished || !skipEmpty {
			out.Discard()
		}
	}()
	guarded := &guard{out, refusal}
	if skipEmpty {
		guarded.refusal = nil
	}
	stop := func() {}
	if !c.quiet {
		stop = env.progress(in)
	}
	res, err := convert.Run(in, guarded, o)
	if err != nil {
		err = guarded.cause(err)
	}
	if err == nil && !skipEmpty && res.Root == nil {
		err = noItems([]string{in.Name})
	}
	if err == nil && !(skipEmpty && res.Items+res.Skipped == 0) {
		err = refusal
	}
	if err == nil && !skipEmpty {
		err = out.Commit()
	}
	stop()
	if err != nil {
		return nil, err
	}
	if res.To == convert.STEF {
		plain = o.Compression == stef.None && otlpfile.CompressionOf(outName) == otlpfile.None
	}
	d := &done{in, out, res, plain}
	finished = true
	if skipEmpty {
		return d, nil
	}
	if !c.quiet {
		d.summarise(env.Stderr, time.Since(begin))
	}
	skippedSignals(env.Stderr, res)
	if res.Items+res.Skipped == 0 {
		fmt.Fprintf(env.Stderr, "warning: %s has no %s, so %s is empty\n", in.Name, convert.ItemsOf(res.Root.Signal), out.Name)
	}
	warn(env.Stderr, res)
	return d, lost(res)
}

// lost returns errLost if --skip left out a part of an input. warn has printed what is missing.
func lost(res *convert.Result) error {
	if res.Skipped > 0 || slices.ContainsFunc(res.Files, func(note error) bool { return !errors.Is(note, file.ErrEmpty) && !onlyEndMissing(note) }) {
		return errLost
	}
	return nil
}

// onlyEndMissing reports whether an input was converted completely and lacks only the end of its
// compression.
func onlyEndMissing(note error) bool {
	_, only := truncationText(note, plainText(note))
	return only
}

// skippedSignals prints what --signal excluded.
func skippedSignals(w io.Writer, res *convert.Result) {
	for _, other := range res.Others {
		fmt.Fprintf(w, "skipped: %s, which %s %s excludes\n", items(other.Items, other.Signal), cmp.Or(res.RootFlag, "--signal"), res.Root.Signal)
	}
}

// notesOf prints what a command that only reads, such as cat, has omitted.
func notesOf(w io.Writer, res *convert.Result) {
	skippedSignals(w, res)
	warn(w, &convert.Result{Ignored: res.Ignored, Edited: res.Edited, Retyped: res.Retyped})
}

// summarise prints what was converted. If printing fails, the conversion still
// succeeds.
func (d *done) summarise(w io.Writer, took time.Duration) {
	content := ", " + contentOf(d.in)
	if len(d.res.Others) > 0 {
		content = fmt.Sprintf(" with %s, in all %s", d.res.Root.Signal, contentOf(d.in))
	}
	fmt.Fprintf(w, "%s: %s, %s%s\n", d.in.Name, d.res.From, parts(d.res.From, d.res.PartsIn), content)
	compared := ""
	if sameItems(d.res) {
		compared = ratio(d.in.Content(), d.out.Written())
	}
	d.output(w, compared)
	closing(w, d.res, took)
}

// closing prints the number of items and the time.
func closing(w io.Writer, res *convert.Result, took time.Duration) {
	fmt.Fprintf(w, "%s in %s%s\n", items(res.Items, res.Root.Signal), figure.Seconds(took), ofColumn(res))
}

// ofColumn returns text about the column with the name otlp, which tables can have: how many items were read
// from this column of the input, and how many items were written to this column of the output.
func ofColumn(res *convert.Result) (note string) {
	if res.FromOTLP > 0 {
		note = fmt.Sprintf("; %s of them from the column otlp, which overrides edits of other columns", figure.Grouped(res.FromOTLP))
	}
	if res.InOTLP > 0 {
		note += fmt.Sprintf("; %s of them in the column otlp as well, since the other columns only approximate them", figure.Grouped(res.InOTLP))
	}
	return note
}

// output prints the size of the output. It also prints the size of the same items as OTLP requests.
func (d *done) output(w io.Writer, more string) {
	fmt.Fprintf(w, "%s: %s, %s, %s%s\n", d.out.Name, d.res.To, parts(d.res.To, d.res.PartsOut), sizeOf(d.out), more)
	notSplit(w, d.res.Large)
	name, size := d.out.Name, d.out.Written()
	if d.res.To != convert.STEF && d.in != nil {
		name, size = d.in.Name, d.in.Content() // the stream, if there is one
	}
	asRequests(w, name, size, d.res, d.plain)
}

// notSplit says that --frame-items had no effect on large parts of the input.
func notSplit(w io.Writer, large int) {
	if large > 0 {
		have := "have"
		if large == 1 {
			have = "has"
		}
		fmt.Fprintf(w, "not split: %s of the input %s more items than --frame-items, which only combines parts\n", figure.Count(large, "part"), have)
	}
}

// sizeOf returns the size of an output as text.
func sizeOf(out *file.Output) string {
	packed := map[otlpfile.Compression]string{otlpfile.Gzip: " (gzip)", otlpfile.Zstd: " (zstd)"}
	return figure.Grouped(out.Written()) + " bytes" + packed[otlpfile.CompressionOf(out.Name)]
}

// contentOf returns the size of an input as text.
func contentOf(in *file.Input) string {
	if in.Packed == "" {
		return figure.Grouped(in.Content()) + " bytes"
	}
	packed := "compressed as a whole with " + in.Packed
	if in.Each {
		packed = "each message compressed separately with " + in.Packed
	}
	return fmt.Sprintf("%s bytes (%s in the file, %s)", figure.Grouped(in.Content()), figure.Grouped(in.Taken()), packed)
}

// ratio returns the ratio of an input to its output as text, or "" if one of them is empty.
func ratio(content, written int64) string {
	switch {
	case content == 0 || written == 0:
		return ""
	case written > content:
		return fmt.Sprintf(", %s times the input", figure.Ratio(float64(written)/float64(content)))
	}
	return fmt.Sprintf(", ratio %s", figure.Ratio(float64(content)/float64(written)))
}

// sameItems reports whether the input and the output have the same items. If --signal or --skip omitted
// items, a ratio of the sizes would be meaningless.
func sameItems(res *convert.Result) bool { return len(res.Others) == 0 && res.Skipped == 0 }

// notCompressed reports whether an input is a stream without compression.
func notCompressed(in *file.Input) bool {
	head, _ := in.Peek(7)
	return len(head) == 7 && bytes.HasPrefix(head, []byte("STEF")) && head[6]&3 == 0
}

// items returns a number of items of a signal as text: 3 spans.
func items(n uint64, s otlpfile.Signal) string {
	return figure.Count(n, strings.TrimSuffix(convert.ItemsOf(s), "s"))
}

// asRequests prints the size of the same telemetry as OTLP requests on the wire, and the size of a
// stream relative to that size.
func asRequests(w io.Writer, name string, size int64, res *convert.Result, plain bool) {
	if r := res.Requests; r != nil && r.Zstd > 0 && res.Skipped == 0 {
		note := ""
		if plain {
			note = " and is not compressed"
		}
		fmt.Fprintf(w, "on the wire as OTLP, zstd for each request: %s of %s, %s bytes; %s is %s times that%s\n",
			figure.Count(r.N, "request"), itemsEach(r), figure.Grouped(r.Zstd), name, figure.Ratio(float64(size)/float64(r.Zstd)), note)
	}
}

// itemsEach returns the mean number of items of the requests as text. The saving depends on this
// number: larger requests compress better.
func itemsEach(r *convert.Requests) string {
	mean := float64(r.Items) / float64(r.N)
	text := figure.Count(uint64(math.Round(mean)), "item")
	if mean < 10 && mean != math.Trunc(mean) {
		text = fmt.Sprintf("%.1f items", mean)
	}
	if r.N > 1 {
		text += " on average"
	}
	return text
}

// warn prints what is missing in the only output.
func warn(w io.Writer, res *convert.Result) { warnOf(w, "", res) }

// warnOf prints what is missing in the output with the given name.
func warnOf(w io.Writer, name string, res *convert.Result) {
	where := ""
	if name != "" {
		where = " in " + name
	}
	for _, line := range ignoredLines(res.Ignored) {
		fmt.Fprintln(w, line)
	}
	for _, note := range res.Files {
		what := "not complete"
		switch {
		case errors.Is(note, file.ErrEmpty):
			what = "left out"
		case onlyEndMissing(note):
			what = "warning"
		}
		fmt.Fprintf(w, "%s: %s\n", what, message(note))
	}
	for _, c := range res.EmptyColumns {
		fmt.Fprintf(w, "empty column%s: %s%s\n", where, nobodyHas(c.Key), elsewhere(c))
	}
	for _, loss := range res.Losses {
		fmt.Fprintf(w, "not kept%s: %s\n", where, loss)
	}
	if res.Edited > 0 {
		fmt.Fprintf(w, "ignored%s: edits of %s, because the column otlp overrides the other columns: set otlp to null in edited rows\n", where, figure.Count(res.Edited, "row"))
	}
	if res.Retyped > 0 {
		fmt.Fprintf(w, "as text%s: %s of the table, because the text does not match its type letter\n", where, figure.Count(res.Retyped, "value"))
	}
	if res.Skipped > 0 {
		fmt.Fprintf(w, "left out: %s\n", items(res.Skipped, res.Root.Signal))
	}
	for _, reason := range res.Reasons {
		fmt.Fprintf(w, "  %s\n", message(reason))
	}
}

// ignoredLines says which fields of JSON were ignored because OTLP does not have them.
func ignoredLines(found []otlpfile.UnknownField) (lines []string) {
	for _, f := range found {
		if f.Message == otlpfile.ProfilesData && f.Name == "" {
			lines = append(lines, fmt.Sprintf("skipped: the profiles of %s, which STEF does not support", figure.Count(f.Objects, "message")))
			continue
		}
		if f.Name == "" && f.Message == "" {
			lines = append(lines, fmt.Sprintf("ignored: other unknown fields, %s times", figure.Grouped(f.Objects)))
			continue
		}
		name := f.Name
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == utf8.RuneError }) {
			name = strconv.Quote(name)
		}
		lines = append(lines, fmt.Sprintf("ignored: unknown field %s in %s of %s", name, figure.Count(f.Objects, "object"), f.Message))
	}
	return lines
}

// nobodyHas returns the text that says that no item, resource or scope has the attribute of a column.
func nobodyHas(column string) string {
	for _, who := range []string{"resource", "scope"} {
		if key, ok := strings.CutPrefix(column, who+":"); ok {
			return fmt.Sprintf("no %s has the attribute %s", who, key)
		}
	}
	return "no item has the attribute " + column
}

// elsewhere returns advice for an empty column: where its attribute is, or to check the spelling.
func elsewhere(c convert.EmptyColumn) string {
	has := "an item"
	switch {
	case c.Meant == "":
		return "; check the spelling"
	case c.Key == strings.Replace(c.Meant, ":", ".", 1): // the user wrote a dot in place of the colon
		return "; write " + c.Meant
	case strings.HasPrefix(c.Meant, "resource:"):
		has = "the resource"
	case strings.HasPrefix(c.Meant, "scope:"):
		has = "the scope"
	}
	return fmt.Sprintf(", but %s has it: write %s", has, c.Meant)
}

// parts returns a number of parts of a file as text, with the word of the format: 3
// frames.
func parts(f convert.Format, n int) string {
	if f == convert.OTLP { // one message, although the tool reads and writes it in pieces
		return "1 message"
	}
	noun := map[convert.Format]string{convert.STEF: "frame", convert.OTLPParts: "part", convert.OTLPJSON: "message",
		convert.STEFParts: "batch", convert.Parquet: "row group", convert.Arrow: "batch"}[f]
	return figure.Count(n, noun)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// The operations of the tables of speed.
const (
	SerializeNative    = "SerializeNative"
	DeserializeNative  = "DeserializeNative"
	SerializeFromPdata = "SerializeFromPdata"
	DeserializeToPdata = "DeserializeToPdata"
)

// Operations are all operations.
var Operations = []string{SerializeNative, DeserializeNative, SerializeFromPdata, DeserializeToPdata}

// SpeedNotes say what the operations are.
var SpeedNotes = []string{
	"SerializeNative: what programs that work with the format hold, to bytes (OTLP: pdata; STEF: prepared records; Parquet: rows; Arrow: a record batch). " +
		"DeserializeNative: bytes to that; STEF gives record after record and keeps none, the others build all of them, so this row flatters STEF. " +
		"SerializeFromPdata and DeserializeToPdata: with the conversion from and to the Collector's pdata, which is what an exporter and a receiver do.",
	"Otel Arrow and the reference implementation of STEF have no native form here, and the reference implementation converts no logs, and no spans to pdata.",
	"One run is all batches. Formats with a stream begin a new one in each run; what is stateless (OTLP, Parquet writers, compressors of messages) is used again, as pools do.",
}

// Bench is a format with batches to time.
type Bench struct {
	f        format.Format
	c        format.Compression
	signal   otlpfile.Signal
	batches  []otlpfile.Batch
	natives  []format.Native
	messages [][]byte
	items    int
	reused   *format.Stream
	prepare  *format.Stream
}

// NewBench prepares the inputs of the operations.
func NewBench(f format.Format, c format.Compression, all []otlpfile.Batch) (*Bench, error) {
	b := &Bench{f: f, c: c, signal: all[0].Signal, batches: all}
	var err error
	if b.prepare, err = format.NewStream(f, c, b.signal); err != nil {
		return nil, err
	}
	if b.reused, err = format.NewStream(f, c, b.signal); err != nil {
		return nil, err
	}
	for _, batch := range all {
		b.items += batch.Items()
		n, err := b.prepare.Enc.Prepare(batch)
		if err != nil {
			return nil, err
		}
		b.natives = append(b.natives, n)
		message, err := b.prepare.Send(batch)
		if err != nil {
			return nil, err
		}
		b.messages = append(b.messages, append([]byte(nil), message...))
	}
	return b, nil
}

// Close releases the resources of the operations.
func (b *Bench) Close() {
	b.reused.Close()
	b.prepare.Close()
}

// Items returns the number of items in one run.
func (b *Bench) Items() int { return b.items }

// stream returns the stream for a run, and a function to call at the end of the run.
func (b *Bench) stream() (*format.Stream, func(), error) {
	if !b.f.Stateful() {
		return b.reused, func() {}, nil
	}
	enc, err := b.f.NewEncoder(b.signal, b.c == format.Own)
	if err != nil {
		return nil, nil, err
	}
	dec, err := b.f.NewDecoder(b.signal, b.c == format.Own)
	if err != nil {
		return nil, nil, err
	}
	s := &format.Stream{Enc: enc, Dec: dec, Pack: b.reused.Pack, Unpack: b.reused.Unpack}
	return s, s.Close, nil
}

// Run does an operation on all batches.
func (b *Bench) Run(op string) error {
	s, done, err := b.stream()
	if err != nil {
		return err
	}
	defer done()
	switch op {
	case SerializeNative:
		for _, n := range b.natives {
			if _, err := s.SendNative(n); err != nil {
				return err
			}
		}
	case SerializeFromPdata:
		for _, batch := range b.batches {
			if _, err := s.Send(batch); err != nil {
				return err
			}
		}
	case DeserializeNative, DeserializeToPdata:
		for _, packed := range b.messages {
			message, err := s.Unpack.Decompress(packed)
			if err != nil {
				return err
			}
			if op == DeserializeNative {
				_, err = s.Dec.DecodeNative(message)
			} else {
				_, err = s.Dec.Decode(message)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func speed(c *Context) (*Outcome, error) {
	t := c.table("speed", "Time and allocations per item", append(slices.Clone(SpeedNotes), c.extent(),
		"ns/item: median of the turns; ratio: to OTLP in the same round, median, below 1 is faster; spread: half the distance of the quartiles; "+
			"allocs and bytes: allocated per item. GOMAXPROCS=1, so the garbage collector is part of the time. zstd: the own compression where there is one, but for Arrow, whose messages are smaller compressed as a whole.")...)
	t.Columns = append(report.Text("set", "batches", "compression", "operation", "format"), report.Column{Name: "ns/item", Format: report.Significant(3)},
		report.Column{Name: "ratio", Format: report.Fixed(3)}, report.Column{Name: "spread", Format: report.Percent},
		report.Column{Name: "allocs", Format: report.Fixed(2)}, report.Column{Name: "bytes", Format: report.Whole})
	o := &Outcome{}
	for _, ref := range c.speedRefs() {
		set := c.timed(c.begin(ref))
		for _, b := range c.speedBatches(set) {
			for _, zstd := range []bool{false, true} {
				if err := speedOf(c, t, b, zstd); err != nil {
					return nil, err
				}
			}
		}
	}
	o.add(t)
	block := c.Figures.speedBlock() + paragraph(c.extent())
	for _, chart := range c.Figures.speedCharts() {
		o.add(chart)
		block += picture(chart)
	}
	o.Blocks = map[string]string{"speed": block}
	return o, nil
}

// speedBatches returns the batches for which the formats are timed. In a full report, these are the
// natural batches of the set, which are the requests that the program sent, and one batch of the
// whole set. In a quick report, published sets of metrics have only the one batch, as in the STEF
// proposal. All other sets have only the natural batches.
func (c *Context) speedBatches(set *dataset.Set) []*batches {
	switch {
	case len(set.Parts) == 1:
		return []*batches{one(set)}
	case c.Full || c.Tiny:
		return []*batches{one(set), natural(set)}
	case set.Signal == otlpfile.Metrics && !set.Own():
		return []*batches{one(set)}
	}
	return []*batches{natural(set)}
}

// speedRefs returns the sets that are timed. A full report times all sets. A quick report
// times all sets of metrics, because the sets of the proposal are metrics, and the first
// set of each other signal.
func (c *Context) speedRefs() []dataset.Ref {
	first := c.refs()
	return slices.DeleteFunc(slices.Clone(c.Refs), func(r dataset.Ref) bool {
		return r.Signal != otlpfile.Metrics && !slices.ContainsFunc(first, func(f dataset.Ref) bool { return f.Title() == r.Title() })
	})
}

// extent says how much of the sets is timed.
func (c *Context) extent() string {
	if c.Full {
		return "All of each set is timed."
	}
	return "A quick report: of each set, the first " + report.Whole(quickUnits) + " metrics, spans or log records are timed, and fewer formats, Parquet with one set a signal. make report-full times all."
}

// quick omits some formats, mostly slow ones, from a quick report. Parquet ordered is timed only
// for the first set of each signal.
func (c *Context) quick(all []format.Format, set *dataset.Set) []format.Format {
	if c.Full || c.Tiny {
		return all
	}
	first := slices.ContainsFunc(c.refs(), func(r dataset.Ref) bool { return r.Title() == set.Title() })
	return slices.DeleteFunc(slices.Clone(all), func(f format.Format) bool {
		return f.Name() == "OTLP/JSON" || f.Name() == "Parquet sorted" || f.Name() == "STEF reference sorted" || !first && f.Name() == "Parquet ordered"
	})
}

type timed struct{ format, op string }

// speedOf adds the rows of all formats with or without zstd.
func speedOf(c *Context, t *report.Table, b *batches, zstd bool) error {
	var ops []measure.Op
	var rows []timed
	for _, f := range c.quick(format.For(b.set.Signal), b.set) {
		p := format.None
		if zstd {
			p = format.BestZstd(f)
		}
		bench, err := c.speedBench(f, p, b)
		switch {
		case errors.Is(err, format.ErrTooLarge):
			continue
		case err != nil:
			return err
		}
		defer bench.Close()
		for _, op := range timedOperations(f, b.set.Signal) {
			ops = append(ops, measure.Op{Name: op, Items: bench.Items(), Run: func() error { return bench.Run(op) }})
			rows = append(rows, timed{f.Name(), op})
		}
	}
	results, err := measure.Interleave(c.timing(), ops)
	if err != nil {
		return err
	}
	compression := "none"
	if zstd {
		compression = "zstd"
	}
	for _, op := range Operations {
		otlp := results[slices.Index(rows, timed{format.OTLP().Name(), op})]
		for i, r := range results {
			if rows[i].op != op {
				continue
			}
			name := rows[i].format
			allocs, bytes := r.Allocs()
			t.Add(b.set.Title(), b.name, compression, op, name, r.PerItem(), r.Ratio(otlp), r.Spread(), allocs, bytes)
			t.Bench = append(t.Bench, benchLines(fmt.Sprintf("Speed/set=%s/signal=%s/batches=%s/compression=%s/op=%s/format=%s",
				b.set.Name, b.set.Signal, b.name, compression, op, benchName(name)), r)...)
			c.Figures.time(b.set.Ref, b.name, compression, op, name, r.PerItem(), r.Ratio(otlp))
		}
	}
	return nil
}

// speedBench checks the output of a format for the batches and prepares its operations.
func (c *Context) speedBench(f format.Format, p format.Compression, b *batches) (*Bench, error) {
	if err := c.check(f, p, b); err != nil {
		return nil, err
	}
	if !isAlternative(f) {
		if err := format.CheckNative(f, p, b.all); err != nil {
			return nil, err
		}
	}
	return NewBench(f, p, b.all)
}

// isAlternative reports whether a format is Otel Arrow or the reference implementation of STEF.
func isAlternative(f format.Format) bool {
	_, ok := f.(interface{ Counted() })
	return ok
}

// timedOperations returns the operations of a format that are timed. Otel Arrow and the
// reference implementation have no native form of their own. Only our reader can convert
// the spans of the reference implementation to pdata.
func timedOperations(f format.Format, signal otlpfile.Signal) []string {
	switch {
	case !isAlternative(f):
		return Operations
	case signal == otlpfile.Traces && strings.HasPrefix(f.Name(), "STEF reference"):
		return []string{SerializeFromPdata}
	}
	return []string{SerializeFromPdata, DeserializeToPdata}
}

func benchLines(name string, r measure.Result) []string {
	var lines []string
	for _, t := range r.Turns {
		lines = append(lines, fmt.Sprintf("Benchmark%s %d %.0f ns/op %.4g ns/item %.0f B/op %.0f allocs/op", name, t.Runs, t.Nanos, t.Nanos/float64(r.Items), t.Bytes, t.Allocs))
	}
	return lines
}

// benchName makes a name fit the format of Go benchmarks.
func benchName(name string) string {
	return strings.NewReplacer(" ", "_", "/", "_").Replace(name)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// An Age is the state of a stream before the timed batches.
type Age string

// The ages of a stream. In First, batches from the whole set are each the first
// batch of a separate stream. In Steady, the first half of the set warms up the
// stream, and the second half is timed. In Repeated, the stream has already
// seen the timed batches: real senders do not repeat themselves, so the speed is
// an upper bound.
const (
	First    Age = "first batch"
	Steady   Age = "steady"
	Repeated Age = "repeated (bound)"
)

// Ages lists all ages.
var Ages = []Age{First, Steady, Repeated}

// Aged is a format at an age of its stream.
type Aged struct {
	f             format.Format
	c             format.Compression
	age           Age
	signal        otlpfile.Signal
	warm, fresh   []otlpfile.Batch
	warmed, timed [][]byte // messages that warm the stream up, and messages that are timed
	s, once       *format.Stream
}

// firstBatches is the number of streams in a run of First.
const firstBatches = 8

// NewAged selects the batches of a set for the age, and encodes them.
func NewAged(f format.Format, c format.Compression, age Age, set *dataset.Set) (*Aged, error) {
	parts := set.Parts
	if len(parts) < 2 {
		parts = set.ItemBatches(max(1, set.Items/16))
	}
	a := &Aged{f: f, c: c, age: age, signal: set.Signal}
	switch middle := len(parts) / 2; age {
	case First:
		n := min(firstBatches, len(parts))
		for i := range n {
			a.fresh = append(a.fresh, parts[i*len(parts)/n])
		}
	case Steady:
		a.warm, a.fresh = parts[:middle], parts[middle:]
	case Repeated:
		a.warm, a.fresh = parts[middle:], parts[middle:]
	}
	var err error
	if a.once, err = format.NewStream(f, c, a.signal); err != nil {
		return nil, err
	}
	if err := a.open(bothEnds); err != nil {
		return nil, err
	}
	if a.warmed, err = a.messages(a.warm); err != nil {
		return nil, err
	}
	a.timed, err = a.messages(a.fresh)
	return a, err
}

func (a *Aged) messages(batches []otlpfile.Batch) ([][]byte, error) {
	var all [][]byte
	for _, b := range batches {
		if a.age == First {
			if err := a.open(bothEnds); err != nil {
				return nil, err
			}
		}
		message, err := a.s.Send(b)
		if err != nil {
			return nil, err
		}
		all = append(all, append([]byte(nil), message...))
	}
	return all, nil
}

// bothEnds is the argument with which open sets up both ends of a stream.
const bothEnds = ""

// open begins a stream. It sets up only the end that the operation needs. Stateless
// objects are reused, as in pools.
func (a *Aged) open(operation string) error {
	if a.s != nil && a.s != a.once {
		a.s.Close()
	}
	a.s = a.once
	if !a.f.Stateful() {
		return nil
	}
	s := &format.Stream{Pack: a.once.Pack, Unpack: a.once.Unpack}
	var err error
	if operation != DeserializeToPdata {
		if s.Enc, err = a.f.NewEncoder(a.signal, a.c == format.Own); err != nil {
			return err
		}
	}
	if operation != SerializeFromPdata {
		if s.Dec, err = a.f.NewDecoder(a.signal, a.c == format.Own); err != nil {
			return err
		}
	}
	a.s = s
	return nil
}

// Close releases the resources of the operations.
func (a *Aged) Close() {
	if a.s != a.once {
		a.s.Close()
	}
	a.once.Close()
}

// Items returns the number of timed items.
func (a *Aged) Items() int {
	n := 0
	for _, b := range a.fresh {
		n += b.Items()
	}
	return n
}

// Bytes returns the bytes of the timed messages.
func (a *Aged) Bytes() int {
	n := 0
	for _, m := range a.timed {
		n += len(m)
	}
	return n
}

// Op returns SerializeFromPdata or DeserializeToPdata, to be measured.
func (a *Aged) Op(name string) measure.Op {
	step := func(i int, batches []otlpfile.Batch, messages [][]byte) error {
		if name == SerializeFromPdata {
			_, err := a.s.Send(batches[i])
			return err
		}
		message, err := a.s.Unpack.Decompress(messages[i])
		if err != nil {
			return err
		}
		_, err = a.s.Dec.Decode(message)
		return err
	}
	op := measure.Op{Name: fmt.Sprintf("%s, %s, %s, %s", name, a.f.Name(), a.c, a.age), Items: a.Items()}
	op.Run = func() error {
		for i := range a.fresh {
			if a.age == First {
				if err := a.open(name); err != nil {
					return err
				}
			}
			if err := step(i, a.fresh, a.timed); err != nil {
				return err
			}
		}
		return nil
	}
	if a.age != First {
		op.Before = func() error {
			if err := a.open(name); err != nil {
				return err
			}
			for i := range a.warm {
				if err := step(i, a.warm, a.warmed); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return op
}

// agedItems is the number of items of a set that a quick report measures at each age of a stream.
const agedItems = 4096

// agedExtent says how much of the sets a study of ages measures.
func (c *Context) agedExtent() string {
	if c.Full {
		return "All of each set is measured."
	}
	return fmt.Sprintf("A quick report: the first %s items of each set. make report-full measures all.", report.Whole(agedItems))
}

func (c *Context) aged(ref dataset.Ref) *dataset.Set {
	set := c.begin(ref)
	if c.Full {
		return set
	}
	return set.HeadItems(agedItems)
}

func ages(c *Context) (*Outcome, error) {
	t := c.table("ages", "Converters by the age of the stream",
		"OTLP: ns per item. STEF: relative to OTLP with the same compression in the same round, median, below 1 is faster. GOMAXPROCS=1. "+
			"STEF has the settings of an exporter without options: the compact form, its levels of zstd, templates auto. A Go program that sets no options writes "+
			"the full schema at the level default: see STEF full on this page. "+
			"first batch: eight batches from all over the set, each in a stream of its own, the setting up included. steady: the first half of the set warms the stream up, "+
			"the second half, which it has not seen, is timed. repeated: the stream has seen what is timed, an upper bound. "+
			c.agedExtent()+" (R): for reporting only.")
	t.Columns = append(report.Text("set", "age", "operation"),
		report.Column{Name: "OTLP none", Format: report.Significant(3)}, report.Column{Name: "ordered", Format: report.Fixed(2)}, report.Column{Name: "sorted", Format: report.Fixed(2)},
		report.Column{Name: "OTLP zstd", Format: report.Significant(3)}, report.Column{Name: "ordered ", Format: report.Fixed(2)}, report.Column{Name: "sorted ", Format: report.Fixed(2)})
	for _, ref := range c.Refs {
		set := c.aged(ref)
		for _, age := range Ages {
			if err := agesOf(c, t, set, age); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", ref.Title(), age, err)
			}
		}
	}
	summary := c.Figures.agesSummary()
	summary.Notes = append(summary.Notes, c.agedExtent())
	summary.Command = c.Command()
	return &Outcome{Parts: []report.Part{summary, t}, Blocks: map[string]string{"ages": markdown(summary) + paragraph(c.agedExtent()) + c.Figures.unsteadyAges() + paragraph(c.Figures.senderRule())}}, nil
}

func agesOf(c *Context, t *report.Table, set *dataset.Set, age Age) error {
	var ops []measure.Op
	formats := []format.Format{format.OTLP(), format.STEF(format.Ordered), format.STEF(format.Sorted)}
	operations := []string{SerializeFromPdata, DeserializeToPdata}
	for _, f := range formats {
		for _, p := range []format.Compression{format.None, format.BestZstd(f)} {
			a, err := NewAged(f, p, age, set)
			if err != nil {
				return err
			}
			defer a.Close()
			for _, op := range operations {
				ops = append(ops, a.Op(op))
			}
		}
	}
	results, err := measure.Interleave(c.timing(), ops)
	if err != nil {
		return err
	}
	at := func(f, p, op int) measure.Result { return results[(f*2+p)*2+op] }
	for op, name := range operations {
		row := []any{set.Label(), string(age), name}
		for p := range 2 {
			otlp := at(0, p, op)
			row = append(row, otlp.PerItem(), at(1, p, op).Ratio(otlp), at(2, p, op).Ratio(otlp))
			for f := range formats {
				t.Bench = append(t.Bench, benchLines(fmt.Sprintf("Ages/set=%s/signal=%s/age=%s/compression=%s/op=%s/format=%s",
					set.Name, set.Signal, benchName(string(age)), []string{"none", "zstd"}[p], name, benchName(formats[f].Name())), at(f, p, op))...)
			}
			// best is the index of the format STEF in the default order of the exporter: sorted, or
			// ordered for logs.
			best := 2
			if set.Signal == otlpfile.Logs {
				best = 1
			}
			c.Figures.Ages = append(c.Figures.Ages, AgeFigure{set.Ref, age, name, []string{"none", "zstd"}[p], at(best, p, op).Ratio(otlp),
				max(at(best, p, op).Spread(), otlp.Spread())})
		}
		t.Add(row...)
	}
	return nil
}

// AgeFigure is the time of an operation in STEF's default order relative to OTLP.
type AgeFigure struct {
	Ref                    dataset.Ref
	Age                    Age
	Operation, Compression string
	Ratio                  float64
	Spread                 float64 // the larger one of the spreads of OTLP and STEF
}

// agesSummary returns a table with a row for each signal, age and operation.
func (f *Figures) agesSummary() *report.Table {
	t := &report.Table{Name: "ages-summary", Title: "Converters by the age of the stream: median and worst of the sets", Notes: []string{
		"STEF in its default order (metrics and traces sorted, logs ordered), relative to OTLP with the same compression; below 1 is faster. (R): the sets for reporting only."}}
	t.Columns = report.Text("signal", "age", "operation")
	for _, name := range []string{"none", "none, worst", "none, worst (R)", "zstd", "zstd, worst", "zstd, worst (R)"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Format: report.Fixed(2)})
	}
	for _, signal := range otlpfile.Signals() {
		for _, age := range Ages {
			for _, op := range []string{SerializeFromPdata, DeserializeToPdata} {
				row := []any{signal.String(), string(age), op}
				for _, p := range []string{"none", "zstd"} {
					pick := func(reporting bool) []float64 {
						return each(f.Ages, func(a AgeFigure) (float64, bool) {
							return a.Ratio, a.Ref.Signal == signal && a.Age == age && a.Operation == op && a.Compression == p && (!reporting || a.Ref.Reporting())
						})
					}
					row = append(row, measure.Median(pick(false)), most(pick(false)), most(pick(true)))
				}
				t.Add(row...)
			}
		}
	}
	return t
}

// unsteadyAges returns a paragraph that names the figures whose rounds differ much, or "".
// First batches are short: on a busy machine, their ratio can be twice the ratio in another
// run.
func (f *Figures) unsteadyAges() string {
	const much = 0.25
	var names []string
	for _, a := range f.Ages {
		if a.Spread > much {
			names = append(names, fmt.Sprintf("%s, %s, %s, %s %.0f %%", a.Ref.Title(), a.Age, a.Operation, a.Compression, 100*a.Spread))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return paragraph(fmt.Sprintf("The spread of %d of %d figures is above %.0f %%, so repeat these before you rely on them: %s.",
		len(names), len(f.Ages), 100*much, strings.Join(names, "; ")))
}

// senderRule says for each signal what the sender's conversion costs in a steady stream
// with zstd. It names the sets on which this costs more than OTLP: a median hides these sets.
func (f *Figures) senderRule() string {
	var parts []string
	for _, signal := range otlpfile.Signals() {
		var costs []AgeFigure
		for _, a := range f.Ages {
			if a.Ref.Signal == signal && a.Age == Steady && a.Operation == SerializeFromPdata && a.Compression == "zstd" {
				costs = append(costs, a)
			}
		}
		if len(costs) == 0 {
			continue
		}
		slices.SortStableFunc(costs, func(a, b AgeFigure) int { return cmp.Compare(b.Ratio, a.Ratio) })
		var more []string
		for _, a := range costs {
			if a.Ratio > 1 {
				more = append(more, fmt.Sprintf("%s %.2f", a.Ref.Name, a.Ratio))
			}
		}
		part := signal.String() + ": " + span(each(costs, func(a AgeFigure) (float64, bool) { return a.Ratio, true }), func(v float64) string { return fmt.Sprintf("%.2f", v) })
		if len(more) > 0 {
			part += ", above 1 on " + strings.Join(more, ", ")
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "The sender in a steady stream with zstd, relative to OTLP with zstd: " + strings.Join(parts, "; ") + "."
}

func most(values []float64) float64 {
	m := math.NaN()
	for _, v := range values {
		if !(v <= m) {
			m = v
		}
	}
	return m
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// published are tables of other publications, as printed there.
//
//go:embed published/*.csv
var published embed.FS

// publishedRows returns the rows of a published table below its head.
func publishedRows(name string) ([][]string, error) {
	text, err := published.ReadFile("published/" + name + ".csv")
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows[1:], nil
}

// figure returns a published number, or NaN if the text is not a number.
func figure(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

const (
	quotedProposal  = "the proposal's columns are its own, of the project's prototype and of Otel Arrow on another machine."
	quotedReference = "the reference's columns are those of splunk/stef after v0.1.2 with pdata v1.60, measured earlier on a 2-core x86-64 machine with the same data."
)

// proposal makes the tables of the STEF proposal again, with the published figures next to ours.
func proposal(c *Context) (*Outcome, error) {
	o := &Outcome{}
	o.add(report.Prose("The proposal measured a prototype for metrics on five sets, of which two are here: hipstershop and hostandcollector. " +
		"Equal: the two sets byte by byte (OTLP sizes agree to the byte), what is counted (payload bytes, no transport), batches of so many metrics, one stream for STEF, zstd, " +
		"the names of operations. Different: our machine, Go and library versions; our STEF is another implementation, in two orders and for three signals; zstd of OTLP is klauspost/compress v1.20 here; " +
		"our Arrow is plain Arrow IPC, Otel Arrow is quoted; our Parquet carries all types of points, with dictionaries, and is not the schema of the proposal; " +
		"the proposal says that its tables of sizes and steps were run with the option of the highest compression and slowest speed, ours are at the default level; " +
		"its second set for these tables, multivariate-metrics, is not here; " +
		"our converter has no form between pdata and bytes, so that its conversion step is a difference. Ratios to OTLP of the same run can be compared, times cannot."))
	if len(c.Refs) == 0 || c.Refs[0].Bundled {
		o.add(report.Prose("The sets of the proposal are not on this machine, so there is nothing of ours to put beside its tables."))
		return o, nil
	}
	for _, make := range []func(*Context) (*report.Table, error){proposalSweep, proposalBig, proposalSmall, proposalSpeed, proposalSteps} {
		t, err := make(c)
		if err != nil {
			return nil, err
		}
		o.add(t)
	}
	return o, nil
}

// load returns the set of metrics with a name, or nil if the report does not have this set.
func (c *Context) load(name string) *dataset.Set {
	for _, ref := range c.Refs {
		if ref.Name == name && ref.Signal == otlpfile.Metrics {
			return ref.Load(c.TB)
		}
	}
	return nil
}

func whole(name string) report.Column { return report.Column{Name: name, Format: report.Whole} }
func times(name string) report.Column { return report.Column{Name: name, Format: report.Times} }

func proposalSweep(c *Context) (*report.Table, error) {
	t := c.table("proposal-sweep", "Wire size by batch size, zstd, hipstershop: mean bytes of a message",
		"Quoted: "+quotedProposal+" ratio: bytes of OTLP by bytes of the format, of the same source.")
	t.Columns = append(report.Text("batch"), whole("OTLP, proposal"), whole("OTLP, here"), whole("STEF, proposal"), times("ratio"), whole("STEF sorted, here"), times("ratio"),
		whole("STEF ordered, here"), times("ratio"), whole("Otel Arrow, proposal"), times("ratio"), whole("Arrow IPC, here"), times("ratio"))
	set := c.load("hipstershop")
	rows, err := publishedRows("proposal-sweep")
	if err != nil || set == nil {
		return t, err
	}
	for _, row := range rows {
		n, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, err
		}
		b := sized(set, n)
		var mean []float64
		for _, f := range []format.Format{format.OTLP(), format.STEF(format.Sorted), format.STEF(format.Ordered), format.Arrow()} {
			s, err := SizesOf(f, b.all)
			if err != nil {
				return nil, err
			}
			mean = append(mean, float64(s.best())/float64(len(b.all)))
		}
		otlp := figure(row[1])
		t.Add(row[0], otlp, mean[0], figure(row[2]), otlp/figure(row[2]), mean[1], mean[0]/mean[1], mean[2], mean[0]/mean[2],
			figure(row[3]), otlp/figure(row[3]), mean[3], mean[0]/mean[3])
	}
	return t, nil
}

// sizesBeside shows our sizes next to published sizes.
func (c *Context) sizesBeside(t *report.Table, study, set, source, name string, none, zstd float64) {
	t.Add(set, name, source, none, zstd)
	ours := map[string][]string{"OTLP": {"OTLP"}, "STEF": {"STEF sorted"}, "STEF unsorted": {"STEF ordered"}, "Otel ARROW": {"Arrow IPC"}, "Parquet": {"Parquet sorted", "Parquet ordered"}}
	for _, format := range ours[name] {
		for _, s := range c.Figures.Sizes {
			if s.Study == study && s.Ref.Name == set && s.Ref.Signal == otlpfile.Metrics && s.Format == format {
				t.Add(set, format, "here", s.of("none"), float64(s.best()))
			}
		}
	}
}

func proposalBig(c *Context) (*report.Table, error) {
	t := c.table("proposal-big", "Big batch sizes", "Quoted: "+quotedProposal+" Also quoted: "+quotedReference+" Our figures need the study size-big in the same run.")
	t.Columns = append(report.Text("set", "format", "source"), whole("none"), whole("zstd"))
	rows, err := publishedRows("proposal-big")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c.sizesBeside(t, "size-big", row[0], "proposal", row[1], figure(row[2]), figure(row[3]))
	}
	rows, err = publishedRows("reference-sizes")
	for _, row := range rows {
		if row[1] == "one" {
			t.Add(row[0], row[2], "reference", figure(row[3]), figure(row[4]))
		}
	}
	return t, err
}

func proposalSmall(c *Context) (*report.Table, error) {
	t := c.table("proposal-small", "Small batch sizes", "Quoted: "+quotedProposal+" Also quoted: "+quotedReference+" Our figures need the study size-parts in the same run.")
	t.Columns = append(report.Text("set", "format", "source"), whole("none"), whole("zstd"))
	rows, err := publishedRows("proposal-small")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row[2] != "none" {
			continue
		}
		zstd := math.NaN()
		for _, other := range rows {
			if other[0] == row[0] && other[1] == row[1] && other[2] == "zstd" {
				zstd = figure(other[3])
			}
		}
		c.sizesBeside(t, "size-parts", row[0], "proposal", row[1], figure(row[3]), zstd)
	}
	rows, err = publishedRows("reference-sizes")
	for _, row := range rows {
		if row[1] == "natural" {
			t.Add(row[0], row[2], "reference", figure(row[3]), figure(row[4]))
		}
	}
	return t, err
}

func proposalSpeed(c *Context) (*report.Table, error) {
	t := c.table("proposal-speed", "Time relative to OTLP of the same run, one big batch of hipstershop and hostandcollector",
		"Below 1 is faster than OTLP. Quoted: "+quotedProposal+" Its figures are at GOMAXPROCS=10, of hipstershop without compression; those of the reference and ours at GOMAXPROCS=1. Also quoted: "+
			quotedReference+" Our figures need the study speed in the same run; what was not measured is a dash. "+c.extent())
	ratio := func(name string) report.Column { return report.Column{Name: name, Format: report.Fixed(3)} }
	t.Columns = append(report.Text("set", "compression", "operation"), ratio("STEF, proposal"), ratio("STEF, reference"), ratio("STEF sorted, here"),
		ratio("STEF unsorted, reference"), ratio("STEF ordered, here"), ratio("Otel Arrow, proposal"), ratio("Arrow IPC, here"), ratio("Parquet, proposal"), ratio("Parquet ordered, here"))
	nanos := map[string]float64{}
	rows, err := publishedRows("proposal-speed")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		nanos[row[0]+row[1]] = figure(row[2])
	}
	rows, err = publishedRows("reference-speed")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		set, compression, op := row[0], row[1], row[2]
		quoted := func(format string) float64 {
			v, ok := nanos[op+format]
			if set != "hipstershop" || compression != "none" || !ok {
				return math.NaN()
			}
			return v / nanos[op+"OTLP"]
		}
		here := func(format string) float64 {
			return c.Figures.ratio(set+" metrics", "one", compression, op, format)
		}
		t.Add(set, compression, op, quoted("STEF"), figure(row[3]), here("STEF sorted"), figure(row[4]), here("STEF ordered"),
			quoted("Arrow"), here("Arrow IPC"), quoted("Parquet"), here("Parquet ordered"))
	}
	return t, nil
}

// proposalStep maps the names of steps in the proposal to our names.
var proposalStep = map[string]string{
	"Exporter: OTLP -> OTel Arrow conv.": stepConvert,
	"Exporter: Protobuf serialization":   stepSerialize,
	"Exporter: Compression":              stepCompress,
	"Exporter: Sub total":                stepExporter,
	"Receiver: Decompression":            stepDecompress,
	"Receiver: Protobuf deserialization": stepDeserialize,
	"Receiver: OTel Arrow -> OTLP conv.": stepConvertBack,
	"Receiver: Sub total":                stepReceiver,
	"End-to-end: Total":                  stepAll,
}

func proposalSteps(c *Context) (*report.Table, error) {
	t := c.table("proposal-steps", "Steps of an exporter and a receiver, hipstershop: milliseconds a message",
		"Quoted: "+quotedProposal+" faster: time of OTLP by time of STEF of the same source. The proposal prints no time for STEF's conversion back, "+
			"so it is not clear whether its receiver delivers pdata; ours does. Our figures need the study steps in the same run. "+c.extent())
	ms := func(name string) report.Column { return report.Column{Name: name, Format: report.Fixed(3)} }
	t.Columns = append(report.Text("step", "batch"), ms("OTLP, proposal"), ms("STEF, proposal"), times("faster"), ms("OTLP, here"), ms("STEF sorted, here"), times("faster"),
		ms("STEF ordered, here"), times("faster"), ms("Otel Arrow, proposal"), ms("Arrow IPC, here"))
	rows, err := publishedRows("proposal-steps")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		step := proposalStep[row[0]]
		here := func(format string) float64 {
			for _, s := range c.Figures.Steps {
				if s.Ref.Title() == "hipstershop metrics" && fmt.Sprint(s.Batch) == row[1] && s.Step == step && s.Format == format {
					return s.Millis
				}
			}
			return math.NaN()
		}
		t.Add(step, row[1], figure(row[2]), figure(row[3]), faster(figure(row[2]), figure(row[3])), here("OTLP"), here("STEF sorted"), faster(here("OTLP"), here("STEF sorted")),
			here("STEF ordered"), faster(here("OTLP"), here("STEF ordered")), figure(row[4]), here("Arrow IPC"))
	}
	return t, nil
}

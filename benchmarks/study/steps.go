// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
)

// The steps of an exporter and a receiver, as the STEF proposal names them.
const (
	stepConvert     = "Exporter: conversion"
	stepSerialize   = "Exporter: serialization"
	stepCompress    = "Exporter: compression"
	stepExporter    = "Exporter: all"
	stepDecompress  = "Receiver: decompression"
	stepDeserialize = "Receiver: deserialization"
	stepConvertBack = "Receiver: conversion"
	stepReceiver    = "Receiver: all"
	stepAll         = "End to end"
)

var stepNames = []string{stepConvert, stepSerialize, stepCompress, stepExporter, stepDecompress, stepDeserialize, stepConvertBack, stepReceiver, stepAll}

// StepFigure is the time of a step for a message.
type StepFigure struct {
	Ref    dataset.Ref
	Batch  int
	Step   string
	Format string
	Millis float64
}

var stepNotes = []string{
	"Milliseconds a message with zstd; faster: time of OTLP by time of the format, where OTLP has the step. All batches of the set are one stream.",
	"Measured: the whole exporter and the whole receiver, serialization of the prepared native form, compression and decompression of the messages, " +
		"deserialization to the native form, and conversion to pdata together with deserialization. Our STEF converter writes from pdata without a form in between, " +
		"so its conversions are differences of two measurements (whole without compression, less native) and can come out a little below zero. " +
		"STEF compresses inside its frames; its compression step is that of the same messages by a zstd stream from outside.",
}

func steps(c *Context) (*Outcome, error) {
	o := &Outcome{}
	refs := c.refs()
	if !c.Full {
		refs = refs[:1]
	}
	for _, ref := range refs {
		set := c.timed(c.begin(ref))
		t := c.table("steps-"+ref.Name+"-"+ref.Signal.String(), "Steps of an exporter and a receiver: "+ref.Title(), append(slices.Clone(stepNotes), c.extent())...)
		formats := []format.Format{format.OTLP(), format.STEF(format.Ordered), format.STEF(format.Sorted), format.Arrow()}
		t.Columns = report.Text("step", "batch")
		for _, f := range formats {
			t.Columns = append(t.Columns, report.Column{Name: f.Name() + ", ms", Format: report.Fixed(3)})
			if f.Name() != "OTLP" {
				t.Columns = append(t.Columns, report.Column{Name: "faster", Format: report.Times})
			}
		}
		found := map[string][]map[string]float64{}
		var spreads []float64
		sizes := c.sweep()
		for _, n := range sizes {
			times, spread, err := stepsOf(c, sized(set, n), formats)
			if err != nil {
				return nil, err
			}
			spreads = append(spreads, spread...)
			for i, f := range formats {
				for _, step := range stepNames {
					c.Figures.Steps = append(c.Figures.Steps, StepFigure{ref, n, step, f.Name(), times[i][step]})
				}
			}
			found[fmt.Sprint(n)] = times
		}
		t.Notes = append(t.Notes, fmt.Sprintf("Spread of what was measured (half the distance of the quartiles): %.1f %% in the median, %.1f %% at most.",
			100*measure.Median(spreads), 100*slices.Max(spreads)))
		for _, step := range stepNames {
			for _, n := range sizes {
				row := []any{step, fmt.Sprint(n)}
				for i, times := range found[fmt.Sprint(n)] {
					row = append(row, times[step])
					if i > 0 {
						row = append(row, faster(found[fmt.Sprint(n)][0][step], times[step]))
					}
				}
				t.Add(row...)
			}
		}
		o.add(t)
	}
	return o, nil
}

// faster returns the time of OTLP divided by the time of another format. It returns NaN if a time
// is not above zero: OTLP has nothing to do in some steps, and some times are differences of two
// measurements.
func faster(otlp, other float64) float64 {
	if otlp <= 0 || other <= 0 {
		return math.NaN()
	}
	return otlp / other
}

// stepsOf returns the times of the steps of each format, in milliseconds per message.
// spreads has the spread of each measurement.
func stepsOf(c *Context, b *batches, formats []format.Format) (all []map[string]float64, spreads []float64, err error) {
	var ops []measure.Op
	const perFormat = 8
	for _, f := range formats {
		if err := c.check(f, format.None, b); err != nil {
			return nil, nil, err
		}
		plain, err := NewBench(f, format.None, b.all)
		if err != nil {
			return nil, nil, err
		}
		defer plain.Close()
		packed, err := NewBench(f, format.BestZstd(f), b.all)
		if err != nil {
			return nil, nil, err
		}
		defer packed.Close()
		compress, decompress, err := outside(f, plain.messages)
		if err != nil {
			return nil, nil, err
		}
		add := func(name string, run func() error) {
			ops = append(ops, measure.Op{Name: f.Name() + " " + name, Items: len(b.all), Run: run})
		}
		add("native", func() error { return plain.Run(SerializeNative) })
		add("plain", func() error { return plain.Run(SerializeFromPdata) })
		add("compress", compress)
		add("exporter", func() error { return packed.Run(SerializeFromPdata) })
		add("decompress", decompress)
		add("native back", func() error { return plain.Run(DeserializeNative) })
		add("plain back", func() error { return plain.Run(DeserializeToPdata) })
		add("receiver", func() error { return packed.Run(DeserializeToPdata) })
	}
	results, err := measure.Interleave(c.timing(), ops)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range results {
		spreads = append(spreads, r.Spread())
	}
	for i := 0; i < len(results); i += perFormat {
		ms := func(k int) float64 { return results[i+k].PerItem() / 1e6 }
		times := map[string]float64{
			stepConvert: ms(1) - ms(0), stepSerialize: ms(0), stepCompress: ms(2), stepExporter: ms(3),
			stepDecompress: ms(4), stepDeserialize: ms(5), stepConvertBack: ms(6) - ms(5), stepReceiver: ms(7),
			stepAll: ms(3) + ms(7),
		}
		if i == 0 {
			// OTLP's native form is pdata: there is nothing to convert.
			times[stepConvert], times[stepConvertBack] = 0, 0
		}
		all = append(all, times)
	}
	return all, spreads, nil
}

// outside returns functions that only compress or decompress messages.
func outside(f format.Format, messages [][]byte) (compress, decompress func() error, err error) {
	p := format.Zstd
	if f.Stateful() {
		p = format.ZstdStream
	}
	pack, err := p.NewCompressor()
	if err != nil {
		return nil, nil, err
	}
	var packed [][]byte
	for _, m := range messages {
		out, err := pack.Compress(m)
		if err != nil {
			return nil, nil, err
		}
		packed = append(packed, append([]byte(nil), out...))
	}
	// A compressor finds data that it has compressed before in its stream, so each run begins a new
	// stream.
	compress = func() error {
		pack.Begin()
		for _, m := range messages {
			if _, err := pack.Compress(m); err != nil {
				return err
			}
		}
		return nil
	}
	reused, err := p.NewDecompressor()
	if err != nil {
		return nil, nil, err
	}
	decompress = func() error {
		unpack := reused
		if p == format.ZstdStream {
			var err error
			if unpack, err = p.NewDecompressor(); err != nil {
				return err
			}
		}
		for _, m := range packed {
			if _, err := unpack.Decompress(m); err != nil {
				return err
			}
		}
		return nil
	}
	return compress, decompress, nil
}

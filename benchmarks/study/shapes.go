// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

// shapeBatches is the number of batches of a shape. The first half warms the stream up,
// the second half is measured.
const shapeBatches = 8

// shapes measures synthetic telemetry that varies in one dimension at a time.
func shapes(c *Context) (*Outcome, error) {
	t := c.table("shapes", "Made-up telemetry, one dimension at a time",
		"Where STEF gains and where it does not, by what the telemetry looks like. The other dimensions are "+dataset.DefaultShape.String()+" (a series has "+
			"the same attributes in all its points). STEF in its default order relative to OTLP, both with zstd, steady state: bytes, pdata to bytes, bytes to pdata; below 1 is better. The row of the defaults is measured once and shown in each dimension.")
	t.Columns = append(report.Text("signal", "dimension"), report.Column{Name: "value", Format: report.Significant(3)},
		report.Column{Name: "OTLP B/item", Format: report.Fixed(1)}, report.Column{Name: "bytes", Format: report.Fixed(2)},
		report.Column{Name: "to STEF", Format: report.Fixed(2)}, report.Column{Name: "to pdata", Format: report.Fixed(2)})
	for _, signal := range otlpfile.Signals() {
		rows := map[dataset.Shape][]any{} // measured once per shape, because every dimension contains the default shape
		for _, sweep := range dataset.ShapeSweeps(signal) {
			for _, shape := range sweep.Shapes {
				if c.Tiny && shape.Items > 100 {
					continue
				}
				if rows[shape] == nil {
					row, err := shapeRow(c, signal, shape)
					if err != nil {
						return nil, fmt.Errorf("%s, %s: %w", signal, shape, err)
					}
					rows[shape] = row
				}
				t.Add(append([]any{signal.String(), sweep.Name, sweep.Value(shape)}, rows[shape]...)...)
			}
		}
	}
	return &Outcome{Parts: []report.Part{t}}, nil
}

func shapeRow(c *Context, signal otlpfile.Signal, shape dataset.Shape) ([]any, error) {
	set := &dataset.Set{Ref: dataset.Ref{Name: "made up", Signal: signal}, Parts: shape.Batches(signal, shapeBatches)}
	order := format.Sorted
	if signal == otlpfile.Logs {
		order = format.Ordered
	}
	var sides []*Aged
	var ops []measure.Op
	for _, f := range []format.Format{format.OTLP(), format.STEF(order)} {
		a, err := NewAged(f, format.BestZstd(f), Steady, set)
		if err != nil {
			return nil, err
		}
		defer a.Close()
		sides = append(sides, a)
		ops = append(ops, a.Op(SerializeFromPdata), a.Op(DeserializeToPdata))
	}
	results, err := measure.Interleave(c.timing(), ops)
	if err != nil {
		return nil, err
	}
	otlp, stef := sides[0], sides[1]
	return []any{float64(otlp.Bytes()) / float64(otlp.Items()), float64(stef.Bytes()) / float64(otlp.Bytes()), results[2].Ratio(results[0]), results[3].Ratio(results[1])}, nil
}

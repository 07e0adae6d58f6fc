// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"cmp"

	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
)

func formats(c *Context) (*Outcome, error) {
	t := c.table("formats", "The formats and how they are set up")
	t.Columns = report.Text("format", "set up", "own compression", "does not carry")
	for _, f := range sizeFormats(otlpfile.Metrics) {
		t.Add(f.Name(), f.Setup(), cmp.Or(f.Own(), "none"), cmp.Or(f.Drops(otlpfile.SignalUnknown), "carries everything"))
	}
	sets := c.table("sets", "The telemetry")
	sets.Columns = append(report.Text("set"), report.Column{Name: "batches", Format: report.Whole}, report.Column{Name: "items", Format: report.Whole},
		report.Column{Name: "OTLP bytes as recorded", Format: report.Whole}, report.Column{Name: "B/item", Format: report.Fixed(1)})
	for _, ref := range c.Refs {
		set := ref.Load(c.TB)
		sets.Add(ref.Label(), len(set.Parts), set.Items, set.Bytes, float64(set.Bytes)/float64(set.Items))
	}
	o := &Outcome{}
	o.add(report.Heading("What is compared"), report.Prose("Items are data points of metrics, spans and log records. (R) marks the sets for reporting only: "+
		"a hash of the name picks them, and nobody tunes the product with them. Arrow IPC is a columnar schema of our own; Otel Arrow is the protocol of that name."), t, sets)
	return o, nil
}

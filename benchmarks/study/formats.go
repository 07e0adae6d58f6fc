// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
)

// formats says what is compared and on what.
func formats(c *Context) (*Outcome, error) {
	t := c.table("formats", "The formats and how they are set up")
	t.Columns = report.Text("format", "set up", "own compression", "does not carry")
	for _, f := range sizeFormats() {
		own, drops := f.Own(), f.Drops()
		if own == "" {
			own = "none"
		}
		if drops == "" {
			drops = "carries everything"
		}
		t.Add(f.Name(), f.Setup(), own, drops)
	}
	sets := c.table("sets", "The telemetry")
	sets.Columns = append(report.Text("set"), report.Column{Name: "batches", Format: report.Whole}, report.Column{Name: "items", Format: report.Whole},
		report.Column{Name: "OTLP bytes", Format: report.Whole}, report.Column{Name: "B/item", Format: report.Fixed(1)})
	for _, ref := range c.Refs {
		set := ref.Load(c.TB)
		sets.Add(ref.Title(), len(set.Parts), set.Items, set.Bytes, float64(set.Bytes)/float64(set.Items))
	}
	o := &Outcome{}
	o.add(report.Heading("What is compared"), report.Prose("Items are data points of metrics, spans and log records. Otel Arrow could not be built here; "+
		"its figures are on the page of the STEF proposal, quoted and marked. Arrow IPC in our tables is a columnar schema of our own."), t, sets)
	return o, nil
}

// DataLine says in a line which telemetry is there.
func DataLine(refs []dataset.Ref) string {
	if len(refs) > 0 && refs[0].Bundled {
		return "the recordings bundled with the repository, which are small: large sets were not found (see STEF_DATA in benchmarks/README.md)"
	}
	return "the large real sets, see the table of sets"
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package study holds the measurements: each Study produces a part of a page of
// the report. The benchmarks of the module run the same operations one by one.
//
//	for _, s := range study.All() {
//		outcome, err := s.Run(context)
//	}
//
// Sizes are counted once, because they do not vary. Times are measured in turns
// (package measure), after a check that the output carries the data.
package study

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// Study produces a part of a page.
type Study struct {
	Name string
	// Page is the name of the page that the study belongs to.
	Page string
	Run  func(c *Context) (*Outcome, error)
}

// Page is a page of the report.
type Page struct {
	Name, Title string
	// Data names the measured telemetry if it is not the sets of the report.
	Data string
	// Copied is the command that reproduces the page, if the page is a copy of a
	// page in docs/studies.
	Copied string
}

// Values of Page.Data for pages that measure generated telemetry.
const (
	madeUpSpans = "generated batches of spans: 500 with 10 attributes, or 100 with 4"
	madeUpLogs  = "generated log records of 1,137 bytes on average"
)

// Pages are the pages of the report, in order.
var Pages = []Page{
	{Name: "index", Title: "Otel/STEF beside other formats"},
	{Name: "data", Title: "The formats and the data"},
	{Name: "size", Title: "Size"},
	{Name: "speed", Title: "Speed"},
	{Name: "transport", Title: "Transport", Data: madeUpSpans},
	{Name: "proposal", Title: "The tables of the STEF proposal"},
	{Name: "otep-0035", Title: "The tables of OTEP 0035, appendix B", Data: madeUpSpans},
	{Name: "workers", Title: "The worker sweep of the transport tuning study", Data: madeUpLogs},
	{Name: "sdk", Title: "What telemetry costs a Go application", Data: "generated spans and metrics", Copied: "make study-sdk"},
	{Name: "sampling", Title: "Processors that hold traces", Data: "generated traces of 20 spans", Copied: "make study-sampling"},
}

// All returns the studies. Later studies can use the results of earlier studies.
func All() []Study {
	return []Study{
		{"frontier", "index", frontier},
		{"formats", "data", formats},
		{"size-big", "size", sizeBig},
		{"size-parts", "size", sizeParts},
		{"size-sweep", "size", sizeSweep},
		{"columns", "size", columns},
		{"speed", "speed", speed},
		{"ages", "speed", ages},
		{"shapes", "speed", shapes},
		{"steps", "speed", steps},
		{"proposal", "proposal", proposal},
		{"latency", "otep-0035", latency},
		{"concurrency", "transport", concurrency},
		{"heap", "transport", heap},
		{"workers", "workers", workers},
		{"sdk", "sdk", document("sdk", nil)},
		{"sampling", "sampling", document("sampling", samplingCharts)},
		{"guide", "index", guide},
	}
}

// Outcome is the result of a study.
type Outcome struct {
	Parts []report.Part
	// Blocks are texts for the pages, by name.
	Blocks map[string]string
}

func (o *Outcome) add(parts ...report.Part) { o.Parts = append(o.Parts, parts...) }

// Context is the state that studies share.
type Context struct {
	TB testing.TB
	// Full measures more sets, batch sizes and rounds than a quick report.
	Full bool
	// Tiny measures as little as possible, to test that everything works.
	Tiny bool
	Refs []dataset.Ref
	// Sets is the pattern that selects the sets in Refs, as Command prints it. It is "" if Refs
	// has all sets.
	Sets string

	// Figures are the results that studies store for the guide, which states rules of thumb.
	Figures Figures

	name    string
	mu      sync.Mutex
	checked map[string]bool
	wanted  *canon.Items // the content of the set being checked
	of      *dataset.Set
}

// Start prepares the context for a study.
func (c *Context) Start(s Study) { c.name = s.Name }

// Command is the command that reproduces the tables of the present study.
func (c *Context) Command() string { return c.CommandOf(c.name) }

// CommandOf returns the command that runs some studies. The command keeps the published
// report: it writes into another folder, and prints the name of that folder.
func (c *Context) CommandOf(names ...string) string {
	choice := strings.Join(names, "|")
	if len(names) != 1 {
		choice = "(" + choice + ")"
	}
	data := ""
	if os.Getenv("STEF_DATA") != "" && c.Sets != "" {
		data = "STEF_DATA=FOLDER " // for the user's own sets; pages do not name folders of the machine
	}
	command := fmt.Sprintf("cd benchmarks && %sgo test -count=1 -timeout 2h -v -run '^TestReport$/^%s$' . -report again", data, choice)
	if c.Full {
		command += " -full"
	}
	if c.Sets != "" {
		command += fmt.Sprintf(" -set '%s'", c.Sets)
	}
	return command
}

func (c *Context) table(name, title string, notes ...string) *report.Table {
	return &report.Table{Name: name, Title: title, Notes: notes, Command: c.Command()}
}

// begin reads the set that the present study measures next, and logs this, because a large set
// takes minutes.
func (c *Context) begin(ref dataset.Ref) *dataset.Set {
	c.TB.Helper()
	set := ref.Load(c.TB)
	if !c.Tiny {
		c.TB.Logf("%s: measuring %s, %d items", c.name, ref.Title(), set.Items)
	}
	return set
}

// refs returns the sets for slow studies: all sets in a full report, and the first
// set of each signal in a quick report.
func (c *Context) refs() []dataset.Ref {
	if c.Full {
		return c.Refs
	}
	return dataset.FirstOf(c.Refs)
}

func (c *Context) timing() measure.Config {
	switch {
	case c.Tiny:
		return measure.Config{Rounds: 1, Procs: 1}
	case c.Full:
		return measure.Config{Rounds: 5, Turn: 50 * time.Millisecond, Procs: 1}
	default:
		return measure.Config{Rounds: 3, Turn: 10 * time.Millisecond, Procs: 1}
	}
}

// timed returns the timed part of a set: the whole set in a full report, and the
// beginning of the set in a quick report.
func (c *Context) timed(set *dataset.Set) *dataset.Set {
	if c.Full {
		return set
	}
	return set.Head(quickUnits)
}

// quickUnits is the number of metrics, spans or log records that a quick report
// times.
const quickUnits = 16384

// batches is a measured set, divided into batches.
type batches struct {
	set  *dataset.Set
	name string // one, natural, or the size
	all  []otlpfile.Batch
}

// check verifies once that a format carries the data of batches.
func (c *Context) check(f format.Format, p format.Compression, b *batches) error {
	key := fmt.Sprintf("%s/%s/%s", f.Name(), p, b.name)
	wanted, done := c.toCheck(b.set, key)
	if done {
		return nil
	}
	if err := format.Check(f, p, b.all, wanted); err != nil {
		return fmt.Errorf("%s, %s: %w", b.set.Title(), b.name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked[key] = true
	return nil
}

// toCheck returns the content of the set, and whether the check is already
// done.
func (c *Context) toCheck(set *dataset.Set, key string) (wanted *canon.Items, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != set {
		c.of, c.wanted, c.checked = set, dataset.Items(set.Signal, set.Parts), map[string]bool{}
	}
	return c.wanted, c.checked[key]
}

// checks checks a format before its sizes are measured. A format that has a compression of its own is checked
// with it. Formats without one, and in a full report all formats, are checked without compression. The tests
// of package format check external compression.
func (c *Context) checks(f format.Format, b *batches) error {
	if f.Own() != "" {
		if err := c.check(f, format.Own, b); err != nil || !c.Full {
			return err
		}
	}
	return c.check(f, format.None, b)
}

func one(set *dataset.Set) *batches {
	return &batches{set, "one", []otlpfile.Batch{set.Whole()}}
}

func natural(set *dataset.Set) *batches { return &batches{set, "natural", set.Parts} }

func sized(set *dataset.Set, n int) *batches {
	return &batches{set, fmt.Sprint(n), set.Batches(n)}
}

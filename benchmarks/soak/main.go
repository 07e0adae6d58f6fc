// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak converts the output of make soak and make chaos to one page, with a text
// file and pictures.
//
//	go run ./soak -in folder -out folder -command "make chaos SOAK_TIME=1h"
package main

import (
	"cmp"
	"flag"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelstef/stef/benchmarks/report"
)

func main() {
	log.SetFlags(0)
	in := flag.String("in", ".", "folder with samples.csv, faults.csv and summary.txt")
	out := flag.String("out", ".", "folder for the page")
	command := flag.String("command", "", "command that made the files")
	flag.Parse()
	if err := run(*in, *out, *command); err != nil {
		log.Fatal(err)
	}
}

func run(in, out, command string) error {
	samples, err := report.ReadTable(in, "samples")
	if err != nil {
		return err
	}
	faults, err := report.ReadTable(in, "faults")
	if err != nil {
		return err
	}
	summary, err := os.ReadFile(filepath.Join(in, "summary.txt"))
	if err != nil {
		return err
	}
	goMod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	name := filepath.Base(in)
	page := &report.Page{Name: name, Title: "A pair of Collectors under load and faults: " + name}
	page.Add(report.Prose("An agent with a queue on disk sends numbered log records to a backend over TLS, and a fault begins every few seconds."),
		figures(name, command, string(summary)), recoveries(name, command, faults))
	for _, c := range charts(name, samples) {
		page.Add(c)
	}
	r := &report.Report{Dir: out, Env: report.NewEnv(goMod, command, "numbered log records, 100 a request"), Pages: []*report.Page{page}}
	return r.Write()
}

// row is a line of a CSV file by column.
type row = map[string]string

func number(r row, column string) float64 {
	v, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		log.Fatalf("soak: column %s: %v", column, err)
	}
	return v
}

func figures(name, command, summary string) *report.Table {
	t := &report.Table{Name: name + "-figures", Title: "Figures", Command: command, Columns: report.Text("what", "figure")}
	for line := range strings.Lines(summary) {
		what, figure, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok {
			t.Add(what, figure)
		}
	}
	return t
}

// recoveries returns a table with a row for each kind of fault: the time from the end of the fault
// until new records arrived.
func recoveries(name, command string, faults []row) *report.Table {
	seconds := report.Fixed(2)
	t := &report.Table{Name: name + "-faults", Title: "Seconds from the end of a fault until new records arrive", Command: command,
		Columns: []report.Column{{Name: "fault"}, {Name: "times", Format: report.Whole}, {Name: "median", Format: seconds}, {Name: "longest", Format: seconds}}}
	times := map[string][]float64{}
	for _, f := range faults {
		times[f["fault"]] = append(times[f["fault"]], number(f, "recovered"))
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		all := times[name]
		slices.Sort(all)
		t.Add(name, len(all), all[len(all)/2], all[len(all)-1])
	}
	return t
}

// maxPoints is the maximum number of points of a line of a chart.
const maxPoints = 600

func charts(name string, samples []row) []*report.Chart {
	chart := func(kind, title, column string, processes ...string) *report.Chart {
		c := &report.Chart{Name: name + "-" + kind, Title: title, X: "minutes", Y: title, Picture: true}
		for _, process := range processes {
			c.Series = append(c.Series, report.Series{Name: process, Points: points(samples, process, column)})
		}
		return c
	}
	return []*report.Chart{
		chart("memory", "MiB resident", "resident_mib", "agent", "backend"),
		chart("goroutines", "goroutines", "goroutines", "agent", "backend"),
		chart("files", "open file descriptors", "files", "agent", "backend"),
		chart("queue", "MiB of the files of the queue", "queue_mib", "agent"),
		chart("backlog", "acknowledged records that did not arrive yet", "backlog", "agent"),
	}
}

// points returns the values of a column over time. If there are more than maxPoints samples, it
// merges neighbouring samples and keeps their largest value.
func points(samples []row, process, column string) (all []report.Point) {
	var own []row
	for _, s := range samples {
		if s["process"] == process {
			own = append(own, s)
		}
	}
	step := (len(own) + maxPoints - 1) / maxPoints
	for ; len(own) > 0; own = own[min(step, len(own)):] {
		largest := slices.MaxFunc(own[:min(step, len(own))], func(a, b row) int {
			return cmp.Compare(number(a, column), number(b, column))
		})
		all = append(all, report.Point{X: number(largest, "seconds") / 60, Y: number(largest, column)})
	}
	return all
}

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
	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// choice is a format with its settings. It is a point of the frontier charts, which show bytes
// against CPU time.
type choice struct {
	family, name string
	f            format.Format
	c            format.Compression
}

func (x choice) ours() bool {
	return strings.HasPrefix(x.family, "STEF") && !strings.Contains(x.family, "reference")
}

// choices returns the points of a signal. The figures are relative to those of the first point.
func choices(signal otlpfile.Signal) (all []choice, err error) {
	for _, c := range []format.Compression{format.Zstd, format.None, format.Snappy, format.Gzip, format.ZstdFastest, format.ZstdBetter, format.ZstdBest} {
		all = append(all, choice{"OTLP", "OTLP " + string(c), format.OTLP(), c})
	}
	for _, c := range []format.Compression{format.None, format.Zstd, format.Own} {
		all = append(all, choice{"Otel Arrow", "Otel Arrow " + string(c), format.OtelArrow(), c})
	}
	if signal == otlpfile.Metrics { // the reference implementation cannot convert spans to pdata
		for _, c := range []format.Compression{format.None, format.Own} {
			all = append(all, choice{"STEF reference ordered", "STEF reference ordered " + string(c), format.Reference(format.Ordered), c})
		}
	}
	templates := []stefpdata.Templates{stefpdata.TemplatesOff}
	if signal == otlpfile.Logs {
		templates = append(templates, stefpdata.TemplatesOn)
	}
	for _, order := range []format.Order{format.Ordered, format.Sorted} {
		for _, t := range templates {
			family := "STEF " + order.String()
			if t == stefpdata.TemplatesOn {
				family += ", templates"
			}
			all = append(all, choice{family, family + " none", format.STEFAt(order, stef.LevelDefault, t), format.None})
			for level := stef.LevelFastest; level <= stef.LevelBest; level++ {
				all = append(all, choice{family, family + " zstd " + level.String(), format.STEFAt(order, level, t), format.Own})
			}
		}
	}
	for _, order := range []format.Order{format.Ordered, format.Sorted} {
		f := format.STEFFull(order)
		all = append(all, choice{f.Name(), f.Name() + " none", f, format.None}, choice{f.Name(), f.Name() + " zstd", f, format.Own})
	}
	for _, o := range Optimizations {
		f, err := format.STEFOptimized(signal, o)
		if err != nil {
			return nil, err
		}
		all = append(all, choice{"STEF optimize_for", "STEF optimize_for " + string(o), f, format.Own})
	}
	return all, nil
}

// Optimizations are the choices of the setting optimize_for of the exporter.
var Optimizations = []stefexporter.Optimization{stefexporter.OptimizeCPU, stefexporter.OptimizeBalanced, stefexporter.OptimizeBytes}

// FrontierPoint has the bytes, and the CPU time of both ends, for a format with its settings. Both
// figures are relative to OTLP with zstd, and are geometric means over the sets of a signal.
type FrontierPoint struct {
	Signal       otlpfile.Signal
	Family, Name string
	Ours         bool
	Bytes, CPU   float64
}

// frontier measures every choice in the steady state. It uses the sets for which
// Reporting is true, or the sets that the user selected.
func frontier(c *Context) (*Outcome, error) {
	o := &Outcome{Blocks: map[string]string{}}
	var block strings.Builder
	for _, signal := range otlpfile.Signals() {
		points, sets, err := frontierOf(c, signal)
		if err != nil {
			return nil, err
		}
		if len(sets) == 0 {
			continue
		}
		t, chart := frontierTable(c, signal, points, sets), frontierChart(signal, points)
		c.Figures.Frontier = append(c.Figures.Frontier, points...)
		o.add(chart, t)
		block.WriteString(picture(chart))
	}
	o.Blocks["frontier"] = block.String() + paragraph(frontierRule(c.Figures.Frontier)) + paragraph(c.agedExtent())
	return o, nil
}

func frontierOf(c *Context, signal otlpfile.Signal) (points []FrontierPoint, sets []string, err error) {
	all, err := choices(signal)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range all {
		points = append(points, FrontierPoint{signal, x.family, x.name, x.ours(), 1, 1})
	}
	for _, ref := range c.Refs {
		if ref.Signal != signal || !ref.Reporting() && !c.Tiny && c.Sets == "" {
			continue
		}
		set := c.aged(ref)
		sets = append(sets, ref.Label())
		bytes, cpu, err := frontierPoints(c, all, set)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", ref.Title(), err)
		}
		for i := range points {
			points[i].Bytes *= bytes[i]
			points[i].CPU *= cpu[i]
		}
	}
	for i := range points {
		points[i].Bytes = math.Pow(points[i].Bytes, 1/float64(len(sets)))
		points[i].CPU = math.Pow(points[i].CPU, 1/float64(len(sets)))
	}
	return points, sets, nil
}

// frontierPoints returns bytes and CPU time of a set relative to the first choice.
func frontierPoints(c *Context, all []choice, set *dataset.Set) (bytes, cpu []float64, err error) {
	var ops []measure.Op
	for _, x := range all {
		a, err := NewAged(x.f, x.c, Steady, set)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", x.name, err)
		}
		defer a.Close()
		bytes = append(bytes, float64(a.Bytes()))
		ops = append(ops, a.Op(SerializeFromPdata), a.Op(DeserializeToPdata))
	}
	config := c.timing()
	config.Turn, config.Rounds = 0, min(config.Rounds, 2) // there are many choices, and some are slow
	results, err := measure.Interleave(config, ops)
	if err != nil {
		return nil, nil, err
	}
	base := bytes[0]
	both := func(i int) float64 { return results[2*i].Median() + results[2*i+1].Median() }
	for i := range all {
		bytes[i] /= base
		cpu = append(cpu, both(i)/both(0))
	}
	return bytes, cpu, nil
}

func frontierTable(c *Context, signal otlpfile.Signal, points []FrontierPoint, sets []string) *report.Table {
	t := c.table("frontier-"+signal.String(), "Bytes and CPU of both ends: "+signal.String(),
		"Relative to OTLP with zstd per message at its default level; geometric means over "+strings.Join(sets, ", ")+". CPU: pdata to bytes and bytes to pdata, compression included, GOMAXPROCS=1, steady state. "+
			"The reference implementation of STEF is among the metrics only: it has no logs, and does not convert spans to pdata. "+
			"better STEF: a setting of STEF that is both smaller and faster. "+c.agedExtent())
	t.Columns = append(report.Text("choice"), report.Column{Name: "bytes", Format: report.Fixed(3)}, report.Column{Name: "CPU", Format: report.Fixed(2)}, report.Column{Name: "better STEF"})
	for _, p := range points {
		t.Add(p.Name, p.Bytes, p.CPU, p.beatenBy(points))
	}
	return t
}

// beatenBy names the best choice of STEF that is neither larger nor slower than the point, or
// returns "none". For choices of STEF it returns "".
func (p FrontierPoint) beatenBy(points []FrontierPoint) string {
	if p.Ours {
		return ""
	}
	best := slices.Clone(points)
	best = slices.DeleteFunc(best, func(q FrontierPoint) bool {
		return !q.Ours || q.Signal != p.Signal || q.Bytes > p.Bytes || q.CPU > p.CPU
	})
	if len(best) == 0 {
		return "none"
	}
	return slices.MinFunc(best, func(a, b FrontierPoint) int { return cmp.Compare(a.Bytes*a.CPU, b.Bytes*b.CPU) }).Name
}

// frontierChart has a line for each family, from its fastest to its slowest point.
func frontierChart(signal otlpfile.Signal, points []FrontierPoint) *report.Chart {
	chart := &report.Chart{Name: "frontier-" + signal.String(), Title: "Converters alone, steady streams, natural batches: bytes against CPU, " + signal.String() + ", relative to OTLP with zstd",
		X: "CPU time of both ends", Y: "bytes", LogX: true, LogY: true, Picture: true}
	for _, p := range points {
		chart.AddPoint(p.Family, report.Point{X: p.CPU, Y: p.Bytes, Label: pointName(p)})
	}
	for _, s := range chart.Series {
		slices.SortFunc(s.Points, func(a, b report.Point) int { return cmp.Compare(a.X, b.X) })
	}
	return chart
}

// pointName returns the name of a point without its family, which the colour shows. A level
// alone means zstd of this level: names of other compressions are written in full.
func pointName(p FrontierPoint) string {
	name := strings.TrimSpace(strings.TrimPrefix(p.Name, p.Family))
	if level, ok := strings.CutPrefix(name, "zstd "); ok {
		return level
	}
	return strings.TrimPrefix(name, "zstd-")
}

// frontierRule names the choices of other formats that no setting of STEF
// beats.
func frontierRule(points []FrontierPoint) string {
	var left []string
	for _, p := range points {
		if !p.Ours && p.beatenBy(points) == "none" {
			left = append(left, fmt.Sprintf("%s with %s, which has %.2f times the bytes and %.2f times the CPU of OTLP with zstd", p.Name, p.Signal, p.Bytes, p.CPU))
		}
	}
	rule := "For each choice of another format or implementation, a setting of STEF is both smaller and faster (sets for reporting; reference implementation of STEF: " + format.ReferenceVersion + ")"
	if len(left) == 0 {
		return rule + "."
	}
	return rule + ", except " + strings.Join(left, "; ") + "."
}

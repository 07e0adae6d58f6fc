// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
)

// Figures are results of studies, for the guide and the pages.
type Figures struct {
	Sizes  []SizeFigure
	Times  []TimeFigure
	Sweeps []SweepFigure
	Steps  []StepFigure
	Runs   []RunFigure
	Ages   []AgeFigure
	// Frontier are the points of all signals.
	Frontier []FrontierPoint
	// Rules are sentences that studies of other pages derived from their figures.
	Rules []string
}

// SizeFigure is the size of a set in a format.
type SizeFigure struct {
	Study  string
	Ref    dataset.Ref
	Format string
	Sizes
	// Ratio is the number of bytes divided by that of OTLP, both with zstd. PerItem is the bytes
	// of an item with zstd.
	Ratio, PerItem float64
}

func (f *Figures) size(study string, ref dataset.Ref, name string, s, otlp Sizes, perItem float64) {
	f.Sizes = append(f.Sizes, SizeFigure{study, ref, name, s, float64(s.best()) / float64(otlp.best()), perItem})
}

// SweepFigure is the size of a set in batches of a size.
type SweepFigure struct {
	Ref    dataset.Ref
	Batch  int
	Format string
	Sizes
}

// TimeFigure is the time of an operation.
type TimeFigure struct {
	Ref                             dataset.Ref
	Batches, Compression, Operation string
	Format                          string
	PerItem, Ratio                  float64
}

func (f *Figures) time(ref dataset.Ref, batches, compression, operation, format string, perItem, ratio float64) {
	f.Times = append(f.Times, TimeFigure{ref, batches, compression, operation, format, perItem, ratio})
}

// ratio returns the time of an operation relative to OTLP, or NaN if it was not measured.
func (f *Figures) ratio(set string, batches, compression, operation, format string) float64 {
	for _, t := range f.Times {
		if t.Ref.Title() == set && t.Batches == batches && t.Compression == compression && t.Operation == operation && t.Format == format {
			return t.Ratio
		}
	}
	return math.NaN()
}

// each calls pick for each figure and returns the values that pick accepts, except NaN.
func each[F any](figures []F, pick func(F) (float64, bool)) []float64 {
	var values []float64
	for _, f := range figures {
		if v, ok := pick(f); ok && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// span describes values by their minimum, median and maximum.
func span(values []float64, format func(float64) string) string {
	if len(values) == 0 {
		return "not measured"
	}
	if len(values) == 1 {
		return format(values[0])
	}
	return fmt.Sprintf("median %s (from %s to %s over %d sets)", format(measure.Median(values)), format(slices.Min(values)), format(slices.Max(values)), len(values))
}

// picture returns the Markdown that shows a chart in a page. The page is in the folder that contains the folder results.
func picture(chart *report.Chart) string {
	return fmt.Sprintf("\n![%s](results/%s.png)\n", chart.Title, chart.Name)
}

// shownFormats are the formats in charts and in the tables of the pages.
var shownFormats = []string{"STEF sorted", "STEF ordered", "STEF full sorted", "STEF reference ordered", "STEF reference sorted", "Otel Arrow", "Arrow IPC", "Parquet sorted"}

// inCharts returns the position of a format in charts. A format has the same position in all
// charts. Parquet ordered and Parquet sorted have the same position.
func inCharts(name string) int {
	for i, shown := range shownFormats {
		if name == shown || strings.HasPrefix(name, "Parquet") && strings.HasPrefix(shown, "Parquet") {
			return i
		}
	}
	return len(shownFormats)
}

func markdown(t *report.Table) string {
	var b strings.Builder
	_ = t.WriteMarkdown(&b) // a strings.Builder never returns an error
	return b.String()
}

func paragraph(note string) string {
	return "\n" + strings.ReplaceAll(note, "make report-full", "`make report-full`") + "\n"
}

// sizeRow is a set with its sizes: the bytes of an item of OTLP with zstd, and the ratios
// of shownFormats. The ratio of a format that cannot encode the set is NaN.
type sizeRow struct {
	title   string
	perItem float64
	ratios  []float64
}

func (f *Figures) sizeRows(study string) []*sizeRow {
	var rows []*sizeRow
	for _, s := range f.Sizes {
		if s.Study != study {
			continue
		}
		title := s.Ref.Title()
		at := slices.IndexFunc(rows, func(r *sizeRow) bool { return r.title == title })
		if at < 0 {
			at = len(rows)
			rows = append(rows, &sizeRow{title, math.NaN(), slices.Repeat([]float64{math.NaN()}, len(shownFormats))})
		}
		if s.Format == "OTLP" {
			rows[at].perItem = s.PerItem
		}
		if i := slices.Index(shownFormats, s.Format); i >= 0 {
			rows[at].ratios[i] = s.Ratio
		}
	}
	return rows
}

// sizeBlock is the table of sizes for formats.md.
func (f *Figures) sizeBlock(study string) string {
	t := &report.Table{Columns: append(report.Text("set"), report.Column{Name: "OTLP, B/item", Format: report.Fixed(1)})}
	for _, name := range shownFormats {
		t.Columns = append(t.Columns, report.Column{Name: name, Format: report.Fixed(3)})
	}
	for _, row := range f.sizeRows(study) {
		values := []any{row.title, row.perItem}
		for _, v := range row.ratios {
			values = append(values, v)
		}
		t.Add(values...)
	}
	return markdown(t) + paragraph(`"-": the format cannot carry the set, or its batches are too large for it.`)
}

// sizeChart has bars of the sizes of shownFormats.
func (f *Figures) sizeChart(study, title string) *report.Chart {
	chart := &report.Chart{Name: study, Title: title + ", zstd, relative to OTLP", Y: "bytes / bytes of OTLP", Base: "OTLP", Clip: maxRatio, Picture: true}
	rows := f.sizeRows(study)
	for _, row := range rows {
		chart.Labels = append(chart.Labels, row.title)
	}
	for i, name := range shownFormats {
		var values []float64
		measured := false
		for _, row := range rows {
			values = append(values, row.ratios[i])
			measured = measured || !math.IsNaN(row.ratios[i])
		}
		if measured {
			chart.Series = append(chart.Series, report.Bars(name, values...))
		}
	}
	return chart
}

// speedBlock returns the table of times for formats.md. It has the operations of a Collector, with zstd.
func (f *Figures) speedBlock() string {
	shown := []string{"STEF ordered", "STEF sorted", "STEF reference ordered", "Otel Arrow", "Arrow IPC", "Parquet ordered"}
	t := &report.Table{Columns: append(report.Text("set", "batches", "operation"), report.Column{Name: "OTLP, ns/item", Format: report.Significant(3)})}
	for _, name := range shown {
		t.Columns = append(t.Columns, report.Column{Name: name, Format: report.Fixed(2)})
	}
	rows := map[string][]any{}
	var order []string
	for _, x := range f.Times {
		if x.Compression != "zstd" || x.Operation != SerializeFromPdata && x.Operation != DeserializeToPdata {
			continue
		}
		key := x.Ref.Title() + x.Batches + x.Operation
		if rows[key] == nil {
			rows[key] = []any{x.Ref.Title(), x.Batches, x.Operation, math.NaN()}
			for range shown {
				rows[key] = append(rows[key], math.NaN())
			}
			order = append(order, key)
		}
		if x.Format == "OTLP" {
			rows[key][3] = x.PerItem
		} else if at := slices.Index(shown, x.Format); at >= 0 {
			rows[key][4+at] = x.Ratio
		}
	}
	for _, key := range order {
		t.Add(rows[key]...)
	}
	return markdown(t)
}

// speedCharts are bars of times relative to OTLP for what exporters and receivers do.
func (f *Figures) speedCharts() []*report.Chart {
	var charts []*report.Chart
	for _, operation := range []string{SerializeFromPdata, DeserializeToPdata} {
		chart := &report.Chart{Name: "speed-" + strings.ToLower(operation), Title: operation + ", zstd, relative to OTLP",
			Y: "time / time of OTLP", Base: "OTLP", Clip: maxRatio, Picture: true}
		var names []string
		bars := map[string][]float64{}
		for _, x := range f.Times {
			if x.Compression != "zstd" || x.Operation != operation {
				continue
			}
			if x.Format == "OTLP" {
				chart.Labels = append(chart.Labels, x.Ref.Title()+", "+x.Batches)
				continue
			}
			if bars[x.Format] == nil {
				names = append(names, x.Format)
			}
			for len(bars[x.Format]) < len(chart.Labels)-1 { // earlier sets do not have this format
				bars[x.Format] = append(bars[x.Format], math.NaN())
			}
			bars[x.Format] = append(bars[x.Format], x.Ratio)
		}
		slices.SortStableFunc(names, func(a, b string) int { return inCharts(a) - inCharts(b) })
		for _, name := range names {
			chart.Series = append(chart.Series, report.Bars(name, bars[name]...))
		}
		charts = append(charts, chart)
	}
	return charts
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Redrawn are the tables and charts of sizes and the chart of latencies, made from the CSV files of
// a report that was measured before. So the pages can show other formats without a new
// measurement.
type Redrawn struct {
	// Blocks are the blocks of the pages, without the line about the measurement.
	Blocks map[string]string
	// Charts are the charts of sizes, by name.
	Charts map[string]*report.Chart
	// Latency is the chart of the table named latency.
	Latency *report.Chart
}

// Redraw reads the CSV files of sizes and latencies in a folder.
func Redraw(folder string) (*Redrawn, error) {
	var f Figures
	r := &Redrawn{Blocks: map[string]string{}, Charts: map[string]*report.Chart{}}
	for name, title := range sizeTitles {
		rows, err := report.ReadTable(folder, name)
		if err != nil {
			return nil, err
		}
		if err := f.readSizes(name, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Charts[name] = f.sizeChart(name, title)
		r.Blocks[name] = f.sizeBlock(name) + picture(r.Charts[name])
	}
	rows, err := report.ReadTable(folder, "latency")
	if err != nil {
		return nil, err
	}
	if err := f.readLatencies(rows); err != nil {
		return nil, fmt.Errorf("latency: %w", err)
	}
	r.Latency = f.latencyChart()
	return r, nil
}

// readLatencies adds the runs of the chart of latencies. It reads only the values that the
// chart shows.
func (f *Figures) readLatencies(rows []map[string]string) error {
	for _, row := range rows {
		trip, err := time.ParseDuration(strings.ReplaceAll(row["round trip"], " ", ""))
		if err != nil {
			return err
		}
		r := RunFigure{Study: "latency", Config: transport.Config{RoundTrip: trip, Compression: transport.Compression(row["compression"])}}
		if _, err := fmt.Sscan(row["load"], &r.Items); err != nil {
			return fmt.Errorf("load %q: %w", row["load"], err)
		}
		if r.PerSecond, err = strconv.ParseFloat(row["batches/wall s"], 64); err != nil {
			return err
		}
		if r.Spread, err = strconv.ParseFloat(row["spread"], 64); err != nil {
			return err
		}
		at := slices.IndexFunc(latencyWays, func(c transport.Config) bool { return way(c) == row["way"] })
		if at < 0 {
			return fmt.Errorf("unknown way %q", row["way"])
		}
		r.Protocol, r.Clients = latencyWays[at].Protocol, latencyWays[at].Clients
		f.Runs = append(f.Runs, r)
	}
	return nil
}

// readSizes adds the rows of a table of sizes. The first row of a set is OTLP.
func (f *Figures) readSizes(study string, rows []map[string]string) error {
	var otlp Sizes
	for _, row := range rows {
		ref, err := refOf(row["set"])
		if err != nil {
			return err
		}
		s := Sizes{}
		for _, c := range []format.Compression{format.None, format.Gzip, format.Zstd, format.ZstdStream, format.Own} {
			if cell := row[string(c)]; cell != "" {
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					return err
				}
				s[c] = int64(v)
			}
		}
		perItem, err := strconv.ParseFloat(row["zstd B/item"], 64)
		if err != nil {
			return err
		}
		if row["format"] == "OTLP" {
			otlp = s
		}
		f.size(study, ref, row["format"], s, otlp, perItem)
	}
	return nil
}

func refOf(title string) (dataset.Ref, error) {
	signals := otlpfile.Signals()
	at := slices.IndexFunc(signals, func(s otlpfile.Signal) bool { return strings.HasSuffix(title, " "+s.String()) })
	if at < 0 {
		return dataset.Ref{}, fmt.Errorf("the set %q has no signal", title)
	}
	return dataset.Ref{Name: strings.TrimSuffix(title, " "+signals[at].String()), Signal: signals[at]}, nil
}

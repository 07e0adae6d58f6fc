// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/study"
)

var redraw = flag.Bool("redraw", false, "draw the published tables and charts of sizes and latencies again from their CSV files, without measuring")

// TestSizesMatchCSV checks that the tables and charts of sizes show the figures of the CSV files in
// the folder results. With -redraw it writes the tables and charts.
func TestSizesMatchCSV(t *testing.T) {
	drawn, err := study.Redraw(published)
	require.NoError(t, err)
	pages, wanted := texts(t), texts(t)
	blocks := map[string]string{}
	for name, text := range drawn.Blocks {
		page, err := report.PageOf(pages, name)
		require.NoError(t, err)
		blocks[name] = strings.TrimRight(text, "\n") + "\n\n" + lastLine(t, pages[page], name)
	}
	require.NoError(t, report.Fill(wanted, blocks))
	for name, text := range pages {
		match(t, name, []byte(text), []byte(wanted[name]))
	}

	page := filepath.Join(published, "size.html")
	old, err := os.ReadFile(page)
	require.NoError(t, err)
	html := slices.Clone(old)
	for name, chart := range drawn.Charts {
		svg, err := chart.SVG()
		require.NoError(t, err)
		html = replaceFigure(t, html, name, svg)
		png, err := chart.PNG()
		require.NoError(t, err)
		file := filepath.Join(published, name+".png")
		old, err := os.ReadFile(file)
		require.NoError(t, err)
		match(t, file, old, png)
	}
	match(t, page, old, html)
}

// TestLatenciesMatchCSV checks that the chart of latencies shows the figures of its CSV file. The
// title, which names unsteady points, is also in transport.md and in the text of the page.
func TestLatenciesMatchCSV(t *testing.T) {
	drawn, err := study.Redraw(published)
	require.NoError(t, err)
	svg, err := drawn.Latency.SVG()
	require.NoError(t, err)
	page := filepath.Join(published, "otep-0035.html")
	old, err := os.ReadFile(page)
	require.NoError(t, err)
	match(t, page, old, replaceFigure(t, old, "latency", svg))
	png, err := drawn.Latency.PNG()
	require.NoError(t, err)
	file := filepath.Join(published, "latency.png")
	old, err = os.ReadFile(file)
	require.NoError(t, err)
	match(t, file, old, png)
	for file, text := range map[string]string{"transport.md": "![" + drawn.Latency.Title + "](results/latency.png)",
		filepath.Join(published, "otep-0035.txt"): "[chart: " + drawn.Latency.Title + "]"} {
		is, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(is), text, file)
	}
}

// match fails if the content of a file is not wanted. With -redraw it writes wanted to the file
// instead.
func match(t *testing.T, file string, is, wanted []byte) {
	t.Helper()
	if *redraw {
		require.NoError(t, os.WriteFile(file, wanted, 0o666))
		return
	}
	require.True(t, bytes.Equal(is, wanted), "%s differs from the CSV files: go test -run MatchCSV . -redraw", file)
}

// lastLine returns the last line of a block, which says where and when it was measured.
func lastLine(t *testing.T, page, block string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "<!-- begin "+block+" (written by make report) -->\n")
	require.True(t, ok, block)
	text, _, ok := strings.Cut(rest, "\n<!-- end "+block+" -->")
	require.True(t, ok, block)
	return text[strings.LastIndex(text, "\n")+1:]
}

// replaceFigure replaces the first chart after a table of a page.
func replaceFigure(t *testing.T, page []byte, table string, svg []byte) []byte {
	t.Helper()
	const begin, end = "<figure>", "</figure>"
	from := bytes.Index(page, []byte(`<h3 id="`+table+`">`))
	require.GreaterOrEqual(t, from, 0, table)
	at := bytes.Index(page[from:], []byte(begin))
	require.GreaterOrEqual(t, at, 0, table)
	from += at + len(begin)
	at = bytes.Index(page[from:], []byte(end))
	require.GreaterOrEqual(t, at, 0, table)
	return slices.Concat(page[:from], svg, page[from+at:])
}

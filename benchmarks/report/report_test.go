// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

func sample() *Table {
	t := &Table{Name: "sizes", Title: "Sizes", Command: "go test -run x",
		Columns: []Column{{Name: "format"}, {Name: "bytes", Format: Whole}, {Name: "ratio", Format: Times}}}
	t.Add("OTLP", 21148675, 1.0)
	t.Add("a|b", int64(89543), 236.1823)
	t.Add("none", math.NaN(), math.NaN())
	return t
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteText(&b))
	require.Equal(t, `format       bytes     ratio
OTLP    21,148,675    x 1.00
a|b         89,543  x 236.18
none             -         -
`, b.String())
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteMarkdown(&b))
	require.Equal(t, `| format | bytes | ratio |
|---|--:|--:|
| OTLP | 21,148,675 | x 1.00 |
| a\|b | 89,543 | x 236.18 |
| none | - | - |
`, b.String())
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().WriteCSV(&b))
	require.Equal(t, "format,bytes,ratio\nOTLP,2.1148675e+07,1\na|b,89543,236.1823\nnone,,\n", b.String())
}

func TestFormats(t *testing.T) {
	f := func(want string, format func(float64) string, v float64) {
		t.Helper()
		require.Equal(t, want, format(v))
	}
	f("0", Whole, 0)
	f("-1,234", Whole, -1234)
	f("999", Whole, 999.4)
	f("1.50", Fixed(2), 1.5)
	f("0.0123", Significant(3), 0.01234)
	f("12.3", Significant(3), 12.34)
	f("1,234", Significant(3), 1234)
	f("0", Significant(3), 0)
	f("12.3 %", Percent, 0.123)
}

func TestAddPanics(t *testing.T) {
	require.Panics(t, func() { sample().Add("too", "few") })
}

func charts() []*Chart {
	return []*Chart{
		{Name: "bars", Title: "Bars", Labels: []string{"a", "b"}, Series: []Series{Bars("x", 1, 2), Bars("y", 3, math.NaN())}, Picture: true},
		{Name: "lines", Title: "Lines", LogX: true, LogY: true, Series: []Series{{"x", []Point{{X: 1, Y: 10, Label: "ten"}, {X: 10, Y: 1, Label: "one"}, {}}}, {"nothing", nil}}},
	}
}

func TestCharts(t *testing.T) {
	for _, c := range charts() {
		svg, err := c.SVG()
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(svg, []byte("<svg")))
		require.Positive(t, bytes.Count(svg, []byte("<text ")))
		require.Equal(t, bytes.Count(svg, []byte("<text ")), bytes.Count(svg, []byte(" lengthAdjust=")), "text of a width of its own")
		picture, err := c.PNG()
		require.NoError(t, err)
		decoded, err := png.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
		require.Greater(t, decoded.Bounds().Dx(), 400)
		require.LessOrEqual(t, decoded.Bounds().Dx(), 1300)
	}
	for _, c := range []*Chart{{Series: []Series{{Name: "x"}}}, {Labels: []string{"a"}, Series: []Series{Bars("x", math.NaN())}}} {
		_, err := c.SVG()
		require.ErrorIs(t, err, errEmptyChart)
	}
}

// TestCutBars checks that a bar that is cut shows its value.
func TestCutBars(t *testing.T) {
	c := &Chart{Labels: []string{"a", "b"}, Series: []Series{Bars("OTLP", 0.5, 5.9), Bars("Parquet sorted", 1, 12.34)}, Base: "OTLP", Clip: 1.6}
	svg, err := c.SVG()
	require.NoError(t, err)
	for _, text := range []string{">5.9<", ">12<"} {
		require.Contains(t, string(svg), text)
	}
	require.NotContains(t, string(svg), ">0.50<")
	require.Contains(t, string(svg), "(bars are cut at 1.6)")
	require.NotContains(t, string(svg), ">n/a<")

	c.Series = []Series{Bars("OTLP", 0.5, 1.45), Bars("Parquet sorted", 1, math.NaN())}
	svg, err = c.SVG()
	require.NoError(t, err)
	require.NotContains(t, string(svg), "cut at", "no bar is cut")
	require.Equal(t, 1, strings.Count(string(svg), ">n/a<"))
	require.Contains(t, string(svg), ">1.6<", "a tick above the tallest bar")
}

// TestNextTick checks that the tallest bar does not touch the frame.
func TestNextTick(t *testing.T) {
	for _, v := range []float64{0.004, 0.9, 1, 1.2, 1.33, 1.45, 1.6, 3, 97, 1234} {
		require.Greater(t, nextTick(v), v)
		require.Less(t, nextTick(v), 2*v)
	}
	require.Zero(t, nextTick(0))
}

// TestColours checks that a format has one colour in all charts.
func TestColours(t *testing.T) {
	one := stylesOf([]Series{{Name: "OTLP"}, {Name: "STEF sorted"}, {Name: "agent"}})
	other := stylesOf([]Series{{Name: "STEF reference ordered"}, {Name: "STEF sorted"}, {Name: "STEF sorted, templates"}, {Name: "OTLP unary, 20 concurrent"}})
	require.Equal(t, one[0].line, other[3].line)
	require.Equal(t, one[1], other[1])
	require.Equal(t, other[1].line, other[2].line)
	require.NotEqual(t, other[1].dashes, other[2].dashes)
	require.NotEqual(t, other[1].bar, other[2].bar)
	seen := map[any]string{}
	for _, f := range families {
		require.Empty(t, seen[f.colour], f.name)
		seen[f.colour] = f.name
	}
}

// TestPlace checks that the names of crowded points cover neither each other nor points.
func TestPlace(t *testing.T) {
	within := vg.Rectangle{Max: vg.Point{X: 500, Y: 300}}
	var taken []vg.Rectangle
	for i := range 12 {
		taken = append(taken, boxAt(vg.Point{X: vg.Length(240 + 2*i), Y: 150}, vg.Point{X: 6, Y: 6}))
	}
	line := []vg.Rectangle{{Min: vg.Point{Y: 155}, Max: vg.Point{X: 500, Y: 160}}}
	for i := range 12 {
		box := place(vg.Point{X: vg.Length(240 + 2*i), Y: 150}, vg.Point{X: 50, Y: 9}, within, taken, line)
		require.True(t, free(box, taken) && free(box, line), "name %d", i)
		taken = append(taken, box)
	}
	all := []vg.Rectangle{within}
	require.Equal(t, boxAt(vg.Point{X: 39, Y: 10}, vg.Point{X: 50, Y: 9}), place(vg.Point{X: 10, Y: 10}, vg.Point{X: 50, Y: 9}, within, all, nil))
}

// TestLogTicks checks which ticks of a logarithmic axis are labelled.
func TestLogTicks(t *testing.T) {
	f := func(least, most float64, want ...string) {
		t.Helper()
		var labels []string
		for _, tick := range (logTicks{}).Ticks(least, most) {
			if tick.Label != "" && tick.Value >= least*0.999 && tick.Value <= most*1.001 {
				labels = append(labels, tick.Label)
			}
		}
		require.Equal(t, want, labels)
	}
	f(0.02, 200, "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100", "200")
	f(5, 60, "5", "10", "20", "50")
	f(1, 1e6, "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000")
}

// TestTicks checks that an axis has enough labels to read values.
func TestTicks(t *testing.T) {
	f := func(least, most float64, want ...string) {
		t.Helper()
		var labels []string
		for _, tick := range (ticks{}).Ticks(least, most) {
			if tick.Label != "" && tick.Value >= least && tick.Value <= most {
				labels = append(labels, tick.Label)
			}
		}
		require.Equal(t, want, labels)
	}
	f(0, 1.8, "0", "0.4", "0.8", "1.2", "1.6")
	f(0, 26000, "0", "5,000", "10,000", "15,000", "20,000", "25,000")
	f(0, 3.7, "0", "1", "2", "3")
	f(0, 2.6, "0", "0.5", "1", "1.5", "2", "2.5")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	table := sample()
	table.Bench = []string{"BenchmarkX 1 2 ns/op"}
	quoted := &Table{Name: "published", Title: "Published", Quoted: "the study.", Columns: Text("a")}
	quoted.Add(strings.Repeat("long ", 20))
	page := &Page{Name: "one", Title: "One & only"}
	page.Add(Heading("Head"), Prose("Some <b>text</b>."), table, quoted)
	for _, c := range charts() {
		page.Add(c)
	}
	env := NewEnv([]byte("require google.golang.org/grpc v1.2.3\n\tgolang.org/x/sys v0.1.0\n"), "make report", "none")
	r := &Report{Dir: dir, Env: env, Pages: []*Page{page, {Name: "two", Title: "Two"}}}
	require.NoError(t, r.Write())
	require.Equal(t, []string{"one.txt", "one.html", "sizes.csv", "sizes.bench.txt", "published.csv", "bars.png", "two.txt", "two.html"}, r.Written)
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(content)
	}
	html := read("one.html")
	for _, text := range []string{"One &amp; only", "&lt;b&gt;", "21,148,675", `href="two.html"`, "go test -run x", "google.golang.org/grpc v1.2.3", "Not measured here: the study."} {
		require.Contains(t, html, text)
	}
	require.Equal(t, 2, strings.Count(html, "<svg"))
	require.Equal(t, 1, strings.Count(html, `<td class="long">`))
	require.Empty(t, Foreign(html))
	for _, name := range []string{"one.html", "one.txt", "two.html", "two.txt", "sizes.bench.txt"} {
		for _, line := range env.Lines() {
			require.Contains(t, strings.ReplaceAll(read(name), "&#43;", "+"), line)
		}
	}
	require.Contains(t, read("sizes.bench.txt"), "\nBenchmarkX 1 2 ns/op\n")
	require.Contains(t, read("one.txt"), "$ go test -run x\n")
	read("sizes.csv")
	read("bars.png")
	require.NoFileExists(t, filepath.Join(dir, "lines.png"))
}

// TestOwnEnv checks that a page can name other data than the report, and that a page with
// an earlier measurement has the date and the command of that measurement.
func TestOwnEnv(t *testing.T) {
	dir := t.TempDir()
	table := sample()
	table.Bench = []string{"BenchmarkX 1 2 ns/op"}
	copied := Env{Machine: "2 cores", Go: "go1", Date: "2026-11-23", Data: "spans", Command: "make study"}
	r := &Report{Dir: dir, Env: NewEnv(nil, "make report", "recordings"), Pages: []*Page{
		{Name: "one", Data: "generated spans", Parts: []Part{table}}, {Name: "two", Env: &copied}}}
	require.NoError(t, r.Write())
	for name, lines := range map[string][]string{
		"one.txt":         {"\ndata:     generated spans\n", "\ncommand:  make report\n"},
		"one.html":        {"\ndata:     generated spans\n"},
		"sizes.bench.txt": {"\ndata:     generated spans\n"},
		"two.txt":         {"machine:  2 cores\ngo:       go1\ndate:     2026-11-23\ndata:     spans\ncommand:  make study\n"},
	} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, line := range lines {
			require.Contains(t, string(content), line, name)
		}
	}
}

func TestEnvIsNobodys(t *testing.T) {
	text := strings.Join(NewEnv(nil, "make report", "").Lines(), "\n")
	if host, err := os.Hostname(); err == nil {
		require.NotRegexp(t, `\b`+regexp.QuoteMeta(host)+`\b`, text)
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.NotContains(t, text, dir)
}

func TestForeign(t *testing.T) {
	f := func(want int, html string) {
		t.Helper()
		require.Len(t, Foreign(html), want, html)
	}
	f(0, `<a href="other.html">x</a> <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"></svg>`)
	f(1, `<script src="https://cdn.example/x.js"></script>`)
	f(1, `<link rel=stylesheet href=//x.example/y.css>`)
	f(1, `<style>body { background: url(http://x.example/z.png) }</style>`)
	f(1, `<style>@import "x.css";</style>`)
	f(1, `<img src="x.png">`)
	f(1, `<script>fetch("x")</script>`)
}

func TestFill(t *testing.T) {
	const block = "<!-- begin x (written by make report) -->\nold\n<!-- end x -->\n"
	pages := map[string]string{"a.md": "a\n" + block + "b\n", "b.md": "c\n"}
	require.NoError(t, Fill(pages, map[string]string{"x": "new\n"}))
	require.Equal(t, map[string]string{"a.md": "a\n<!-- begin x (written by make report) -->\nnew\n<!-- end x -->\nb\n", "b.md": "c\n"}, pages)
	page, err := PageOf(pages, "x")
	require.NoError(t, err)
	require.Equal(t, "a.md", page)
	require.ErrorContains(t, Fill(pages, map[string]string{"y": ""}), "no page has")
	require.ErrorContains(t, Fill(map[string]string{"a.md": block, "b.md": block}, map[string]string{"x": ""}), ".md and in ")
	require.ErrorContains(t, Fill(map[string]string{"a.md": "<!-- begin x (written by make report) -->"}, map[string]string{"x": ""}), `"<!-- end x -->" is not in a.md`)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/teltest"
)

// The studies of processes are not measured by make report: they have their own programs, which
// can run for hours. Their pages in docs/studies become pages of the report, and their figures
// over time become charts.

func (c *Context) studyFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(teltest.Root(c.TB), "docs", "studies", name))
}

// Env describes the measurement of a page that is copied from docs/studies, or returns nil
// for other pages. The text of the page names the machine.
func (c *Context) Env(p Page) (*report.Env, error) {
	if p.Copied == "" {
		return nil, nil
	}
	text, err := c.studyFile(p.Name + ".md")
	if err != nil {
		return nil, err
	}
	where := "see the text; copied from docs/studies/" + p.Name + ".md"
	return &report.Env{Machine: where, Go: where, Date: dates.FindString(string(text)), Data: p.Data, Command: p.Copied}, nil
}

// dates matches dates. The first date of a page is that of its measurement.
var dates = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)

// document returns the study that shows a page of docs/studies.
func document(name string, charts func(*Context) ([]report.Part, error)) func(*Context) (*Outcome, error) {
	return func(c *Context) (*Outcome, error) {
		text, err := c.studyFile(name + ".md")
		if err != nil {
			return nil, err
		}
		o := &Outcome{}
		for _, p := range Pages {
			if p.Name == name {
				o.add(parseDocument(name, p.Copied, string(text))...)
			}
		}
		if charts == nil {
			return o, nil
		}
		more, err := charts(c)
		o.add(more...)
		return o, err
	}
}

// parser turns the Markdown of our own pages into parts of a page.
type parser struct {
	name, command string
	parts         []report.Part
	paragraph     []string
	rows          [][]string
	heading       string
	tables        int
	code          bool
}

func parseDocument(name, command, text string) []report.Part {
	p := &parser{name: name, command: command}
	for _, line := range strings.Split(text, "\n") {
		p.line(line)
	}
	p.end()
	return p.parts
}

func (p *parser) line(line string) {
	if strings.HasPrefix(line, "```") {
		p.end()
		p.code = !p.code
		return
	}
	switch {
	case p.code:
		p.parts = append(p.parts, report.Prose("$ "+line))
	case strings.HasPrefix(line, "|"):
		if p.rows == nil {
			p.flush()
		}
		p.rows = append(p.rows, strings.Split(strings.Trim(line, "| "), "|"))
	case strings.HasPrefix(line, "## "):
		p.end()
		p.heading = line[3:]
		p.parts = append(p.parts, report.Heading(p.heading))
	case line == "" || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "!["):
		p.end()
	case strings.HasPrefix(line, "- "):
		p.end()
		p.paragraph = []string{"• " + line[2:]}
	default:
		p.paragraph = append(p.paragraph, line)
	}
}

func (p *parser) end() {
	p.flush()
	if p.rows != nil {
		p.parts = append(p.parts, p.table())
		p.rows = nil
	}
}

func (p *parser) flush() {
	if len(p.paragraph) > 0 {
		p.parts = append(p.parts, report.Prose(plain(strings.Join(p.paragraph, " "))))
		p.paragraph = nil
	}
}

// table converts the rows: the head, the alignment and the body. A paragraph before the
// table that ends with a colon is the title of the table.
func (p *parser) table() *report.Table {
	p.tables++
	t := &report.Table{Name: fmt.Sprintf("%s-%d", p.name, p.tables), Title: p.heading, Command: p.command}
	if n := len(p.parts) - 1; n >= 0 {
		if title, ok := p.parts[n].(report.Prose); ok && strings.HasSuffix(string(title), ":") {
			t.Title, p.parts = strings.TrimSuffix(string(title), ":"), p.parts[:n]
		}
	}
	for i, name := range p.rows[0] {
		column := report.Column{Name: plain(name)}
		if strings.HasSuffix(strings.TrimSpace(p.rows[1][i]), ":") {
			column.Format = report.Whole // aligns the column like numbers, although its cells are text
		}
		t.Columns = append(t.Columns, column)
	}
	for _, row := range p.rows[2:] {
		cells := make([]any, len(t.Columns))
		for i := range cells {
			cells[i] = ""
			if i < len(row) {
				cells[i] = plain(row[i])
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

var (
	links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	marks = strings.NewReplacer("`", "", "**", "")
)

func plain(text string) string {
	return strings.TrimSpace(marks.Replace(links.ReplaceAllString(text, "$1")))
}

// timeline is the figures of a run over time, by column.
type timeline struct {
	name    string
	columns map[string][]float64
}

// timelines reads a CSV file whose first two columns name the run.
func (c *Context) timelines(file string) ([]*timeline, error) {
	text, err := c.studyFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var list []*timeline
	for _, row := range rows[1:] {
		name := strings.ReplaceAll(row[0], "+", " + ") + ", " + strings.ToUpper(row[1])
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, &timeline{name, map[string][]float64{}})
		}
		t := list[len(list)-1]
		for i, cell := range row[2:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			t.columns[rows[0][i+2]] = append(t.columns[rows[0][i+2]], v)
		}
	}
	return list, nil
}

func (t *timeline) over(value func(t *timeline, i int) float64) report.Series {
	s := report.Series{Name: t.name}
	for i, second := range t.columns["second"] {
		if v := value(t, i); v == v { // not NaN: a rate has no first value
			s.Points = append(s.Points, report.Point{X: second, Y: v})
		}
	}
	return s
}

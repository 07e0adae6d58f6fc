// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Page is the content of one text file and one HTML file.
type Page struct {
	Name, Title string
	Parts       []Part
	// Data names the telemetry of the page if it differs from that of the report.
	Data string
	// Env is set if the figures of the page are from an earlier measurement. It describes
	// that measurement.
	Env *Env
}

func (r *Report) env(p *Page) Env {
	env := r.Env
	if p.Env != nil {
		env = *p.Env
	}
	if p.Data != "" {
		env.Data = p.Data
	}
	return env
}

// Part is a Prose, a Heading, a *Table or a *Chart.
type Part interface{ part() }

// Prose is a paragraph.
type Prose string

// Heading begins a section.
type Heading string

func (Prose) part()   {}
func (Heading) part() {}
func (*Table) part()  {}
func (*Chart) part()  {}

// Add appends parts.
func (p *Page) Add(parts ...Part) { p.Parts = append(p.Parts, parts...) }

// Report writes pages into a folder.
type Report struct {
	Dir string
	Env Env
	// Pages are the pages to write. Each page lists them at the top.
	Pages []*Page
	// Written are the names of the files that Write wrote.
	Written []string
}

//go:embed page.html.tmpl
var pageTemplate string

var pages = template.Must(template.New("page").Parse(pageTemplate))

// Write writes all pages together, because each page links to the other pages.
func (r *Report) Write() error {
	if err := os.MkdirAll(r.Dir, 0o777); err != nil {
		return err
	}
	for _, p := range r.Pages {
		text, err := r.text(p)
		if err != nil {
			return err
		}
		html, err := r.html(p)
		if err != nil {
			return err
		}
		if err := r.file(p.Name+".txt", text); err != nil {
			return err
		}
		if err := r.file(p.Name+".html", html); err != nil {
			return err
		}
		for _, part := range p.Parts {
			if err := r.extras(p, part); err != nil {
				return fmt.Errorf("page %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

func (r *Report) file(name string, content []byte) error {
	r.Written = append(r.Written, name)
	return os.WriteFile(filepath.Join(r.Dir, name), content, 0o666)
}

// extras writes the separate files of a table or a chart.
func (r *Report) extras(p *Page, part Part) error {
	switch part := part.(type) {
	case *Table:
		var b bytes.Buffer
		if err := part.WriteCSV(&b); err != nil {
			return err
		}
		if err := r.file(part.Name+".csv", b.Bytes()); err != nil {
			return err
		}
		if len(part.Bench) == 0 {
			return nil
		}
		return r.file(part.Name+".bench.txt", []byte(r.benchHead(p)+strings.Join(part.Bench, "\n")+"\n"))
	case *Chart:
		if !part.Picture {
			return nil
		}
		png, err := part.PNG()
		if err != nil {
			return fmt.Errorf("chart %s: %w", part.Name, err)
		}
		return r.file(part.Name+".png", png)
	}
	return nil
}

// benchHead returns the environment as header lines. benchstat groups results by some of these
// lines and ignores the other lines.
func (r *Report) benchHead(p *Page) string {
	var b strings.Builder
	for _, line := range r.env(p).Lines() {
		b.WriteString(line + "\n")
	}
	return b.String() + "\n"
}

func (r *Report) text(p *Page) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n\n%s\n", p.Title, strings.Repeat("=", len(p.Title)), strings.Join(r.env(p).Lines(), "\n"))
	for _, part := range p.Parts {
		b.WriteByte('\n')
		switch part := part.(type) {
		case Prose:
			b.WriteString(wrap(string(part), 100))
		case Heading:
			fmt.Fprintf(&b, "%s\n%s\n", part, strings.Repeat("-", len(part)))
		case *Table:
			fmt.Fprintf(&b, "%s\n", part.Title)
			for _, note := range part.origin() {
				b.WriteString(wrap(note, 100))
			}
			if err := part.WriteText(&b); err != nil {
				return nil, err
			}
		case *Chart:
			fmt.Fprintf(&b, "[chart: %s]\n", part.Title)
		}
	}
	return b.Bytes(), nil
}

func (t *Table) origin() []string {
	notes := append([]string(nil), t.Notes...)
	if t.Quoted != "" {
		return append(notes, "Not measured here: "+t.Quoted)
	}
	return append(notes, "$ "+t.Command)
}

func wrap(text string, width int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		if used > 0 && used+1+len(word) > width {
			b.WriteByte('\n')
			used = 0
		}
		if used > 0 {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	return b.String() + "\n"
}

// view is a part of a page in the form that the HTML template reads. One field is set.
type view struct {
	Prose, Heading string
	Table          *tableView
	Chart          *chartView
}

type tableView struct {
	Title, Name string
	Notes       []string
	Command     string
	Head        []cellView
	Rows        [][]cellView
}

type cellView struct {
	Text    string
	Numeric bool
	// Long text is broken into lines.
	Long bool
}

// longText is the maximum length of cells that are not broken into lines, in characters.
const longText = 32

type chartView struct {
	Title string
	SVG   template.HTML
}

func (r *Report) html(p *Page) ([]byte, error) {
	var views []view
	for _, part := range p.Parts {
		switch part := part.(type) {
		case Prose:
			views = append(views, view{Prose: string(part)})
		case Heading:
			views = append(views, view{Heading: string(part)})
		case *Table:
			views = append(views, view{Table: part.view()})
		case *Chart:
			svg, err := part.SVG()
			if err != nil {
				return nil, fmt.Errorf("chart %s: %w", part.Name, err)
			}
			views = append(views, view{Chart: &chartView{part.Title, template.HTML(svg)}})
		}
	}
	var b bytes.Buffer
	err := pages.Execute(&b, map[string]any{"Page": p, "Pages": r.Pages, "Env": r.env(p).Lines(), "Parts": views})
	return b.Bytes(), err
}

// Width estimates the width of the table on a page, in pixels. The estimate is rather too large
// than too small. A window of 1,300 pixels has space for a table of 1,268 pixels.
func (t *Table) Width() int {
	const character, padding, narrow = 9, 14, 128 // page.html.tmpl has the font and the paddings
	width := 0
	v := t.view()
	for i := range t.Columns {
		column := 0
		for _, word := range strings.Fields(v.Head[i].Text) { // headings are broken at spaces
			column = max(column, utf8.RuneCountInString(word)*character)
		}
		for _, row := range v.Rows {
			if n := utf8.RuneCountInString(row[i].Text) * character; row[i].Long && !row[i].Numeric {
				column = max(column, narrow)
			} else {
				column = max(column, n)
			}
		}
		width += column + padding
	}
	return width
}

func (t *Table) view() *tableView {
	v := &tableView{Title: t.Title, Name: t.Name, Notes: t.Notes, Command: t.Command}
	if t.Quoted != "" {
		v.Command = ""
		v.Notes = append(append([]string(nil), t.Notes...), "Not measured here: "+t.Quoted)
	}
	for i, row := range t.cells() {
		var cells []cellView
		for j, text := range row {
			cells = append(cells, cellView{text, t.Columns[j].Format != nil, utf8.RuneCountInString(text) > longText})
		}
		if i == 0 {
			v.Head = cells
		} else {
			v.Rows = append(v.Rows, cells)
		}
	}
	return v
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is figures with the command that reproduces them.
type Table struct {
	// Name is short and unique; it is used for file names.
	Name  string
	Title string
	// Notes are sentences: what was measured, and how.
	Notes []string
	// Command reproduces the table.
	Command string
	Columns []Column
	Rows    [][]any
	// Bench are lines in the format of Go benchmarks, one per turn, for
	// benchstat.
	Bench []string
	// Quoted names the source if the figures are from another publication.
	Quoted string
}

// Column is a column of a table. Format converts its values to text; nil means
// that they are text.
type Column struct {
	Name   string
	Format func(v float64) string
}

// Add appends a row. The values are strings, int, int64 or float64; NaN means a
// missing figure.
func (t *Table) Add(values ...any) {
	if len(values) != len(t.Columns) {
		panic(fmt.Sprintf("table %s: %d values in %d columns", t.Name, len(values), len(t.Columns)))
	}
	t.Rows = append(t.Rows, values)
}

// Text makes columns of text.
func Text(names ...string) []Column {
	var columns []Column
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

// Whole formats whole numbers, in groups of three digits.
func Whole(v float64) string {
	s := strconv.FormatInt(int64(math.Round(v)), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Fixed formats with a fixed number of decimals.
func Fixed(decimals int) func(float64) string {
	return func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
}

// Significant returns a function that formats a value with at least the given number of
// significant digits. It rounds no digits before the decimal point and never uses an exponent.
func Significant(digits int) func(float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
		if decimals <= 0 {
			return Whole(v)
		}
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
}

// Times formats a ratio, such as x 4.83.
func Times(v float64) string { return "x " + strconv.FormatFloat(v, 'f', 2, 64) }

// Percent formats a share, such as 25.0 % for 0.25.
func Percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func (c Column) cell(v any) string {
	n, ok := number(v)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case math.IsNaN(n) || math.IsInf(n, 0):
		return "-"
	case c.Format == nil:
		return Significant(4)(n)
	}
	return c.Format(n)
}

// cells returns the table as text, column names first.
func (t *Table) cells() [][]string {
	var head []string
	for _, c := range t.Columns {
		head = append(head, c.Name)
	}
	rows := [][]string{head}
	for _, row := range t.Rows {
		var cells []string
		for i, v := range row {
			cells = append(cells, t.Columns[i].cell(v))
		}
		rows = append(rows, cells)
	}
	return rows
}

// WriteText writes the table in aligned columns, with numbers right-aligned.
func (t *Table) WriteText(w io.Writer) error {
	rows := t.cells()
	width := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.Columns[i].Format != nil {
				cell = pad + cell
			} else {
				cell += pad
			}
			line.WriteString(cell + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the table for a Markdown page.
func (t *Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, row := range t.cells() {
		for j, cell := range row {
			row[j] = strings.ReplaceAll(cell, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i > 0 {
			continue
		}
		for _, c := range t.Columns {
			if c.Format != nil {
				b.WriteString("|--:")
			} else {
				b.WriteString("|---")
			}
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the table with unrounded numbers.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range t.Columns {
		head = append(head, c.Name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range t.Rows {
		var cells []string
		for _, v := range row {
			n, ok := number(v)
			switch {
			case !ok:
				cells = append(cells, fmt.Sprint(v))
			case math.IsNaN(n) || math.IsInf(n, 0):
				cells = append(cells, "")
			default:
				cells = append(cells, strconv.FormatFloat(n, 'g', -1, 64))
			}
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// ReadTable reads the CSV file of a table. Each row maps the names of columns to values.
func ReadTable(folder, name string) ([]map[string]string, error) {
	file, err := os.Open(filepath.Join(folder, name+".csv"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("%s has no rows", file.Name())
	}
	var rows []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case *arrow.MapType:
		return "map of text to text"
	case *arrow.ListType:
		if _, ok := t.Elem().(*arrow.StructType); ok {
			return "list of structs"
		}
		return "list of " + typeName(t.Elem())
	case *arrow.TimestampType:
		return "timestamp"
	case *arrow.FixedSizeBinaryType:
		return map[int]string{16: "fixed binary, 16 bytes", 8: "fixed binary, 8 bytes"}[t.ByteWidth]
	case *arrow.StringType:
		return "text"
	case *arrow.Float64Type:
		return "double"
	}
	return t.Name()
}

// TestPage checks docs/data-lake.md. The page must list exactly the columns of each table with
// their types, and contain queries.sql, csv.sql, part.py and lines of check.py.
func TestPage(t *testing.T) {
	content, err := os.ReadFile("../docs/data-lake.md")
	require.NoError(t, err)
	page := string(content)
	queries, err := os.ReadFile("engines/queries.sql")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(queries), "\n\n")
	require.Contains(t, page, "```sql\n"+text+"```\n")
	part, err := os.ReadFile("engines/part.py")
	require.NoError(t, err)
	_, text, _ = strings.Cut(string(part), "\n\n")
	require.Contains(t, page, "```python\n"+text+"```\n")

	exports, err := os.ReadFile("engines/csv.sql")
	require.NoError(t, err)
	_, text, _ = strings.Cut(string(exports), "\n\n")
	require.Contains(t, page, "```sql\n"+text+"```\n")
	check, err := os.ReadFile("engines/check.py")
	require.NoError(t, err)
	for _, line := range []string{"slowest = ", "trace = "} { // check.py runs these lines of the page
		_, rest, found := strings.Cut(page, "\n"+line)
		require.True(t, found)
		rest, _, _ = strings.Cut(rest, "\n")
		require.Contains(t, string(check), "\n    "+line+rest+"\n")
	}

	_, tables, _ := strings.Cut(page, "Columns of all tables:")
	tables, _, _ = strings.Cut(tables, "\nTimestamps have")
	sections := regexp.MustCompile(`\n(?:Traces|Logs|Metrics[^\n]*):\n`).Split(tables, -1)
	require.Len(t, sections, 4)
	said := func(section string) map[string]string {
		columns := map[string]string{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) \\|(.*)\\|$").FindAllStringSubmatch(section, -1) {
			for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
				columns[name[1]] = row[2]
				if row[2] == "list of structs" {
					columns[name[1]] += ":" + row[3]
				}
			}
		}
		return columns
	}
	shared := said(sections[0])
	for i, s := range []Signal{Traces, Logs, Metrics} {
		columns := said(sections[i+1])
		for name, typ := range shared {
			columns[name] = typ
		}
		want := map[string]string{}
		for _, f := range schemaOf(s, Arrow, nil).Fields() {
			typ := typeName(f.Type)
			if typ == "list of structs" {
				var names []string
				for _, inner := range f.Type.(*arrow.ListType).Elem().(*arrow.StructType).Fields() {
					names = append(names, "`"+inner.Name+"`")
				}
				typ += ": " + strings.Join(names, ", ") + " "
			}
			want[f.Name] = typ
		}
		require.Equal(t, want, columns, s.String())
	}
}

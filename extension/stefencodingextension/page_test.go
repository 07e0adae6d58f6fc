// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTablesOfSizes checks that README.md contains the sizes that the benchmarks measure with
// the recordings.
func TestTablesOfSizes(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, row := range append(append(sizeRows(t), batchRows(t)...), dictionaryRows(t)...) {
		// Sizes with gzip depend on the version of Go. Sizes with snappy depend on the processor.
		pattern := strings.ReplaceAll(regexp.QuoteMeta(row), anyFigure, `[0-9.]+`)
		if !regexp.MustCompile(`(?m)^` + pattern + `$`).Match(page) {
			t.Errorf("README.md has other figures; the row is now (%s: not compared): %s", anyFigure, row)
		}
	}
}

// anyFigure stands for a figure that is not compared.
const anyFigure = "~"

func sizeRows(tb testing.TB) (rows []string) {
	forms := forms(tb)
	for _, s := range recordings(tb) {
		for _, n := range messageItems {
			messages := s.cut(tb, s.parts, n)
			if messages[0].items < n {
				continue
			}
			row := fmt.Sprintf("| %s, %d |", s.name, n)
			for _, f := range forms {
				figure := anyFigure
				if f.name != "otlp-gzip" && f.name != "otlp-snappy" {
					figure = threeDigits(f.perItem(tb, messages))
				}
				row += " " + figure + " |"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// batchRows returns one text for each recording, with all its rows. A single row would not
// identify its recording, because some rows of different recordings begin with the same words.
func batchRows(tb testing.TB) (texts []string) {
	const items = 100
	alone, plain := newEncoding(tb, "{}"), newEncoding(tb, "{compression: none}")
	for i, s := range recordings(tb) {
		messages := s.all(tb, s.parts, items)
		var rows []string
		for j, as := range batchForms {
			row := "| " + []string{
				fmt.Sprintf("%s, %d a message: STEF", []string{"spans", "points", "log records"}[i], items),
				"STEF, `compression: none`, producer's zstd",
				"`otlp_proto`, producer's zstd",
			}[j] + " |"
			for _, k := range batchMessages {
				batches := pick(recordBatches(messages, k), maxBatches)
				row += " " + threeDigits(batchesPerItem(tb, batches, as, alone, plain)) + " |"
			}
			rows = append(rows, row)
		}
		texts = append(texts, strings.Join(rows, "\n"))
	}
	return texts
}

func dictionaryRows(tb testing.TB) (rows []string) {
	forms := dictionaryForms(tb)
	for i, s := range recordings(tb) {
		row := "| " + []string{"span", "point", "log record"}[i] + " |"
		for _, n := range messageItems[:3] {
			messages := s.cut(tb, s.parts[1:], n)
			row += fmt.Sprintf(" %s, %s |", threeDigits(forms[0].perItem(tb, messages)), threeDigits(forms[1].perItem(tb, messages)))
		}
		rows = append(rows, row)
	}
	return rows
}

func threeDigits(v float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(v)))), v)
}

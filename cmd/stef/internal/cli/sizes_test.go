// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/internal/fixtures"
)

// TestSizes checks that the table of the README has the sizes that result from its flags. For
// the row of xz, which is another program, it compares the sizes of the streams before xz.
func TestSizes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "\n| flags | traces | metrics | logs |\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	out, compared := filepath.Join(t.TempDir(), "out.stef"), 0
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		require.Len(t, cells, 4, row)
		want := cells
		if strings.Contains(row, "`xz ") {
			// xz 5.4.1 compresses the streams of these sizes to 160,612, 102,336 and 81,580 bytes.
			// If the sizes change, run xz again.
			want = []string{cells[0], " 302,265 ", " 222,241 ", " 242,647 "}
			require.Equal(t, []string{" 160,612 ", " 102,336 ", " 81,580 "}, cells[1:])
		}
		args := []string{"convert", "--quiet", "--force"}
		if flags := regexp.MustCompile("`([^`]*)`").FindStringSubmatch(cells[0]); flags != nil {
			args = append(args, strings.Fields(flags[1])...)
		}
		got := []string{cells[0]}
		for _, content := range [][]byte{fixtures.Traces(), fixtures.Metrics(), fixtures.Logs()} {
			mustRun(t, content, append(args, "-", out)...)
			info, err := os.Stat(out)
			require.NoError(t, err)
			got = append(got, " "+figure.Grouped(info.Size())+" ")
		}
		require.Equal(t, want, got)
		compared++
	}
	require.Equal(t, 9, compared)
}

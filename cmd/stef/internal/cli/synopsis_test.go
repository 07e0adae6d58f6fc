// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSynopsis compares the synopsis at the top of the README with the help of the commands.
func TestSynopsis(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(page), "```text\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	shown := map[string]string{}
	for line := range strings.Lines(text) {
		usage, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		shown[strings.Fields(usage)[1]] = usage
	}
	help, _ := mustRun(t, nil, "help")
	names := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(help, -1)
	require.Len(t, shown, len(names))
	for _, m := range names {
		if m[1] == "help" {
			require.Contains(t, shown, "help")
			continue
		}
		out, _ := mustRun(t, nil, "help", m[1])
		first, _, _ := strings.Cut(out, "\n")
		require.Equal(t, first, "usage: "+shown[m[1]])
	}
}

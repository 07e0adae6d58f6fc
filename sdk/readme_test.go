// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var program = regexp.MustCompile("(?s)```go\n(.*?)```")

// The program in the README compiles.
func TestReadmeProgram(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := program.FindAllSubmatch(page, -1)
	require.Len(t, blocks, 1)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, blocks[0][1], 0o600))
	out, err := exec.Command("go", "vet", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The README names every option and every variable.
func TestReadmeIsComplete(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	f := func(pattern string, files ...string) {
		t.Helper()
		found := 0
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(source, -1) {
				found++
				require.True(t, strings.Contains(string(page), "`"+string(match[1])) || strings.Contains(string(page), "."+string(match[1])), "%s", match[1])
			}
		}
		require.Greater(t, found, 1)
	}
	f(`(?m)^func (With\w+)\(`, "options.go", "file_options.go", "stefmetric/selectors.go")
	f(`"((?:FILE_)?[A-Z]+(?:_[A-Z]+)*)"`, "internal/settings/env.go", "internal/settings/file.go")
}

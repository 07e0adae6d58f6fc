// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// The example of the README. TestReadme compares the two.
func Example() {
	file := new(bytes.Buffer)
	start := uint64(1_700_000_000_000_000_000)

	w, err := otelstef.NewMetricsWriter(file, stef.WithCompression(stef.Zstd))
	rec := w.Record() // keeps its content from one Write to the next
	rec.EditMetric().SetName("http.requests")
	rec.EditMetric().SetType(otelstef.MetricTypeSum)
	for i := range 3 {
		rec.Point().SetTimestamp(start + uint64(i)*1e9)
		rec.Point().Value().SetInt64(int64(i))
		err = errors.Join(err, w.Write())
	}
	err = errors.Join(err, w.Close())
	fmt.Println(err)

	r, err := otelstef.NewMetricsReader(file)
	for r.Next() { // r.Record() is valid until the next Next
		fmt.Println(r.Record().Metric().Name(), r.Record().Point().Value().Int64())
	}
	err = errors.Join(err, r.Err()) // nil at a clean end
	fmt.Println(err)
	// Output:
	// <nil>
	// http.requests 0
	// http.requests 1
	// http.requests 2
	// <nil>
}

func TestReadme(t *testing.T) {
	root := teltest.Root(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(readme), "```go\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")
	have := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		have[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(block) {
		require.True(t, have[strings.TrimSpace(line)], "%q is not in the example", line)
	}
	require.LessOrEqual(t, strings.Count(string(readme), "\n"), 120)
	// The folders of the table are there.
	for _, name := range regexp.MustCompile("(?m)^\\| `([a-z/-]+)`").FindAllStringSubmatch(string(readme), -1) {
		require.DirExists(t, filepath.Join(root, name[1]))
	}
}

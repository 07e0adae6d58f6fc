// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/teltest"
)

// TestExampleComponents compares the table of examples with the components that each example
// configures.
func TestExampleComponents(t *testing.T) {
	root, folder := teltest.Root(t), "cmd/otelcol-stef/examples"
	table := read(t, root, filepath.Join(folder, "README.md"))
	files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		row := regexp.MustCompile(`(?m)^\| \[` + regexp.QuoteMeta(name) + `\]\(` + regexp.QuoteMeta(name) + `\) \|[^|]*\|(.*)\|$`).FindStringSubmatch(table)
		require.NotNil(t, row, "%s has no row", name)
		var listed []string
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, m[1])
		}

		retrieved, err := confmap.NewRetrievedFromYAML([]byte(read(t, root, filepath.Join(folder, name))))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		used := map[string]bool{}
		for _, kind := range []string{"extensions", "receivers", "processors", "exporters", "connectors"} {
			components, _ := conf.Get(kind).(map[string]any)
			for id := range components {
				typ, _, _ := strings.Cut(id, "/")
				used[typ] = true
			}
		}
		delete(used, "stef")
		require.ElementsMatch(t, slices.Collect(maps.Keys(used)), listed, name)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/receiver/steffilereceiver"
	"github.com/otelstef/stef/receiver/stefreceiver"
	stef "github.com/otelstef/stef/stef-go"
)

const threatModel = "docs/threat-model.md"

// limitName matches the configuration keys and options that are limits.
var limitName = regexp.MustCompile(`max_|limit|timeout|per_stream`)

// notALimit names keys that limitName matches but that do not bound a resource
// that a peer can exhaust.
var notALimit = map[string]bool{
	"shutdown_timeout":                       true, // time of our own
	"stef::shutdown_drain_timeout":           true,
	"stef::max_stream_lifetime":              true, // moves load
	"stef::idle_timeout":                     true, // saves memory
	"stef::max_frame_size_kib":               true, // what we write
	"otlp_fallback::max_concurrent_requests": true,
	"otlp_fallback::max_request_size_mib":    true,
	"metadata_cardinality_limit":             true, // of the clients in front of the exporter, see its README
}

// keysOf lists the keys of one of our configurations, without those of the
// Collector's own sections.
func keysOf(t reflect.Type, prefix string) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		if !f.IsExported() || strings.Contains(options, "squash") || key == "" {
			continue
		}
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() {
			keys = append(keys, keysOf(f.Type, prefix+key+"::")...)
			continue
		}
		keys = append(keys, prefix+key)
	}
	return keys
}

// limits lists every limit of the repository by its name on the page.
func limits(t *testing.T, root string) (names []string) {
	t.Helper()
	for i := range reflect.TypeFor[stef.Limits]().NumField() {
		names = append(names, "Limits."+reflect.TypeFor[stef.Limits]().Field(i).Name)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(Max[A-Za-z]+) += `).FindAllStringSubmatch(read(t, root, "stef-go/limits.go"), -1) {
		names = append(names, m[1])
	}
	require.Greater(t, len(names), 10)
	files, err := filepath.Glob(filepath.Join(root, "stef-gogrpc", "*option*.go"))
	require.NoError(t, err)
	option := regexp.MustCompile(`(?m)^func (With[A-Za-z]*(?:Max|Timeout|Bytes)[A-Za-z]*)\(`)
	found := 0
	for _, file := range files {
		rel, err := filepath.Rel(root, file)
		require.NoError(t, err)
		for _, m := range option.FindAllStringSubmatch(read(t, root, rel), -1) {
			names = append(names, m[1])
			found++
		}
	}
	require.Greater(t, found, 8)
	keys := keysOf(reflect.TypeFor[stefreceiver.Config](), "")
	keys = append(keys, keysOf(reflect.TypeFor[stefexporter.Config](), "")...)
	keys = append(keys, keysOf(reflect.TypeFor[steffilereceiver.Config](), "")...)
	for _, m := range regexp.MustCompile("mapstructure:\"([a-z_]+)\"").FindAllStringSubmatch(read(t, root, "extension/stefencodingextension/config.go"), -1) {
		keys = append(keys, m[1])
	}
	_, lake, ok := strings.Cut(read(t, root, "lake/reader.go"), "type Limits struct {")
	require.True(t, ok)
	lake, _, _ = strings.Cut(lake, "\n}")
	for _, m := range regexp.MustCompile(`(?m)^\t([A-Z][A-Za-z]+) `).FindAllStringSubmatch(lake, -1) {
		names = append(names, "lake.Limits."+m[1])
	}
	require.Contains(t, names, "lake.Limits.MemoryBytes")
	for _, key := range keys {
		if limitName.MatchString(key) && !notALimit[key] && key != "limits" {
			names = append(names, key)
		}
	}
	return names
}

// missing lists limits without a row, and rows without a test.
func missing(text string, names []string, tests map[string]bool) (problems []string) {
	first, ofLimits := map[string]bool{}, false
	for line := range strings.Lines(text) {
		row := strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(row, "|"), "|")
		switch resource := strings.TrimSpace(cells[0]); {
		case !strings.HasPrefix(row, "| ") || resource == "Resource":
			ofLimits = resource == "Resource" || ofLimits && strings.HasPrefix(row, "|")
			continue
		case !ofLimits || len(cells) < 6:
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			first[m[1]] = true
		}
		named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(cells[5], -1)
		if len(named) == 0 {
			problems = append(problems, fmt.Sprintf("%s names no test", cells[0]))
		}
		for _, m := range named {
			if !tests[m[1]] {
				problems = append(problems, fmt.Sprintf("%s: there is no test %s", cells[0], m[1]))
			}
		}
	}
	for _, name := range names {
		if !first[name] {
			problems = append(problems, fmt.Sprintf("the limit %s has no row in %s", name, threatModel))
		}
	}
	return problems
}

// TestThreatModel compares the threat model page with the limits in the code.
func TestThreatModel(t *testing.T) {
	root := teltest.Root(t)
	names := limits(t, root)
	require.Empty(t, strings.Join(missing(read(t, root, threatModel), names, learn(t, root).tests), "\n"))
	t.Logf("%d limits have a row: %s", len(names), strings.Join(names, " "))
}

func TestThreatModelBites(t *testing.T) {
	tests := map[string]bool{"TestA": true}
	const head = "| Resource | Limit | Default | Error | Metric | Test |\n|---|---|---|---|---|---|\n"
	require.Empty(t, missing(head+"| a | `x` | 1 | e | m | `TestA` |\n", []string{"x"}, tests))
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | `TestA` |\n", []string{"x", "y"}, tests), 1)
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | none |\n", []string{"x"}, tests), 1)
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | `TestB` |\n", []string{"x"}, tests), 1)
}

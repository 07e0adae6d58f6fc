// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/receiver/steffilereceiver"
	"github.com/otelstef/stef/receiver/stefreceiver"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const threatModel = "docs/threat-model.md"

// limitName matches the configuration keys and options that are limits.
var limitName = regexp.MustCompile(`max_|limit|timeout|per_stream`)

// notALimit names keys that limitName matches but that do not bound a resource
// that a peer can exhaust.
var notALimit = map[string]bool{
	"shutdown_timeout":                       true, // bounds the time of our own shutdown
	"stef::shutdown_drain_timeout":           true,
	"stef::max_stream_lifetime":              true, // moves load to other receivers
	"stef::idle_timeout":                     true, // closes idle streams to save memory
	"stef::max_frame_size_kib":               true, // bounds the frames that we write
	"otlp_fallback::max_concurrent_requests": true,
	"otlp_fallback::max_request_size_mib":    true,
	"metadata_cardinality_limit":             true, // bounds combinations of the metadata of the exporter's clients, see its README
}

// keysOf lists the keys of one of our configurations, without the keys of the
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

// missing lists limits that have no row on the page, and rows of the page that name no test or a test
// that does not exist.
func missing(text string, names []string, tests map[string]bool) (problems []string) {
	first := map[string]bool{}
	for _, cells := range rowsOfLimits(text) {
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
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

// rowsOfLimits returns the cells of the tables of limits.
func rowsOfLimits(text string) (rows [][]string) {
	ofLimits := false
	for line := range strings.Lines(text) {
		row := strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(row, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(row, "| ") || cells[0] == "Resource":
			ofLimits = cells[0] == "Resource" || ofLimits && strings.HasPrefix(row, "|")
		case ofLimits && len(cells) >= 6:
			rows = append(rows, cells)
		}
	}
	return rows
}

var quoted = regexp.MustCompile("`([^`]+)`")

// wrongMetrics lists rows whose metric is not in the metadata of a component, and rows without
// a metric that do not say why.
func wrongMetrics(text string, metrics map[string]bool) (problems []string) {
	for _, cells := range rowsOfLimits(text) {
		if why, none := strings.CutPrefix(cells[4], "none: "); none {
			if len(strings.Fields(why)) < 4 {
				problems = append(problems, cells[0]+": why is there no metric?")
			}
			continue
		}
		names := quoted.FindAllStringSubmatch(cells[4], -1)
		if len(names) == 0 {
			problems = append(problems, cells[0]+" has neither a metric nor a reason for none")
		}
		for _, m := range names {
			if !metrics[m[1]] {
				problems = append(problems, fmt.Sprintf("%s: there is no metric %s", cells[0], m[1]))
			}
		}
	}
	return problems
}

// wrongDefaults reports each default of a limit if no row has both the name of the limit and
// this default.
func wrongDefaults(text string, defaults map[string][]string) (problems []string) {
	rows := rowsOfLimits(text)
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		for _, value := range defaults[name] {
			if !slices.ContainsFunc(rows, func(cells []string) bool {
				return strings.Contains(cells[1], "`"+name+"`") && states(cells[2], value)
			}) {
				problems = append(problems, fmt.Sprintf("no row with %s has its default, %s", name, value))
			}
		}
	}
	return problems
}

// states reports whether a cell contains a value that is not part of a longer number. In a
// list, the unit may occur only at the end: 8, 32, 16 MiB.
func states(cell, value string) bool {
	number, unit, _ := strings.Cut(value, " ")
	pattern := `(^|[^\d,.])` + regexp.QuoteMeta(number) + `($|[^\d,.]|[,.] )`
	return regexp.MustCompile(pattern).MatchString(cell) && strings.Contains(cell, unit)
}

// shown returns a default in the format of the page.
func shown(name string, value int64, isTime bool) string {
	switch {
	case value == 0:
		return "no bound"
	case isTime && value%int64(time.Minute) == 0:
		return fmt.Sprintf("%d min", value/int64(time.Minute))
	case isTime:
		return fmt.Sprintf("%d s", value/int64(time.Second))
	}
	switch {
	case strings.HasSuffix(name, "_kib"):
		value <<= 10
	case strings.Contains(name, "_mib"):
		value <<= 20
	}
	if mib := float64(value) / (1 << 20); mib >= 1 && mib == float64(int64(mib)) {
		if mib >= 1024 {
			return fmt.Sprintf("%d GiB", int64(mib)>>10)
		}
		return fmt.Sprintf("%d MiB", int64(mib))
	}
	if value >= 1000 {
		return fmt.Sprintf("%d,%03d", value/1000, value%1000)
	}
	return strconv.FormatInt(value, 10)
}

// defaultsOf adds the defaults of a configuration, by key.
func defaultsOf(defaults map[string][]string, config reflect.Value, prefix string) {
	for i := range config.NumField() {
		f := config.Type().Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		if !f.IsExported() || strings.Contains(options, "squash") || key == "" {
			continue
		}
		name, value := prefix+key, config.Field(i)
		switch {
		case f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == config.Type().PkgPath():
			defaultsOf(defaults, value, name+"::")
		case value.CanInt() && limitName.MatchString(name) && !notALimit[name]:
			defaults[name] = append(defaults[name], shown(name, value.Int(), f.Type == reflect.TypeFor[time.Duration]()))
		}
	}
}

// defaultsOfCode returns the defaults of all limits.
func defaultsOfCode(t *testing.T, root string) map[string][]string {
	defaults := map[string][]string{
		"MaxPairs": {shown("", stef.MaxPairs, false)}, "MaxFrameBytes": {shown("", stef.MaxFrameBytes, false)},
		"MaxHeaderBytes": {shown("", stef.MaxHeaderBytes, false)}, "MaxUserDataPairs": {shown("", stef.MaxUserDataPairs, false)},
		"MaxUserDataBytes": {shown("", stef.MaxUserDataBytes, false)}, "lake.Limits.MemoryBytes": {"1 GiB"},
		"WithMaxChunkBytes": {shown("", stefgrpc.DefaultMaxChunkBytes, false)}, "WithMaxBufferedBytes": {shown("", stefgrpc.DefaultMaxBufferedBytes, false)},
		"WithMaxDictBytes": {shown("", stefgrpc.DefaultMaxDictBytes, false)}, "WithWindowMemoryBytes": {shown("", stefgrpc.DefaultWindowMemoryBytes, false)},
		"WithMaxStreams": {"no bound"}, "WithMaxStreamLifetime": {"no bound"}, "WithMaxUnackedRecords": {"no bound"},
		"WithMaxMessageBytes": {shown("", stefgrpc.DefaultMaxMessageBytes, false)}, "WithMaxUnackedBytes": {shown("", stefgrpc.DefaultMaxUnackedBytes, false)},
		"WithDictBytes":           {shown("", stef.DefaultDictBytes, false)},
		"WithHandshakeTimeout":    {shown("", int64(stefgrpc.DefaultHandshakeTimeout), true)},
		"WithFirstMessageTimeout": {shown("", int64(stefgrpc.DefaultFirstMessageTimeout), true)},
		"WithHeaderTimeout":       {shown("", int64(stefgrpc.DefaultHeaderTimeout), true)}, "WithChunkTimeout": {shown("", int64(stefgrpc.DefaultChunkTimeout), true)},
		"WithIdleTimeout": {shown("", int64(stefgrpc.DefaultIdleTimeout), true)},
	}
	require.Contains(t, read(t, root, "lake/reader.go"), "1 << 30")
	ofReaders := reflect.ValueOf(stef.DefaultLimits())
	for i := range ofReaders.NumField() {
		defaults["Limits."+ofReaders.Type().Field(i).Name] = []string{shown("", ofReaders.Field(i).Int(), false)}
	}
	for _, config := range []any{stefreceiver.NewFactory().CreateDefaultConfig(), stefexporter.NewFactory().CreateDefaultConfig(), steffilereceiver.NewFactory().CreateDefaultConfig()} {
		defaultsOf(defaults, reflect.ValueOf(config).Elem(), "")
	}
	// The extension has a module of its own, so read its defaults from its source.
	code := read(t, root, "extension/stefencodingextension/config.go")
	for _, m := range regexp.MustCompile("(?m)^\t(Max[A-Za-z]+MiB) int `mapstructure:\"([a-z_]+)\"`").FindAllStringSubmatch(code, -1) {
		value := regexp.MustCompile(m[1] + `: +(\d+),`).FindStringSubmatch(code)
		require.NotNil(t, value, m[1])
		n, err := strconv.ParseInt(value[1], 10, 64)
		require.NoError(t, err)
		defaults[m[2]] = append(defaults[m[2]], shown(m[2], n, false))
	}
	return defaults
}

// metricsOf returns the short names of the metrics of all components.
func metricsOf(t *testing.T, root string) map[string]bool {
	metrics := map[string]bool{}
	for file, prefix := range map[string]string{
		"receiver/stefreceiver/metadata.yaml":           "receiver_stef_",
		"exporter/stefexporter/metadata.yaml":           "exporter_stef_",
		"receiver/steffilereceiver/metadata.yaml":       "receiver_steffile_",
		"extension/stefencodingextension/metadata.yaml": "extension_stef_encoding_",
	} {
		found := regexp.MustCompile(`(?m)^    `+prefix+`([a-z_]+):$`).FindAllStringSubmatch(read(t, root, file), -1)
		require.NotEmpty(t, found, file)
		for _, m := range found {
			metrics[m[1]] = true
		}
	}
	return metrics
}

// TestThreatModel compares the threat model page with the limits in the code, their defaults
// and the metrics of the components.
func TestThreatModel(t *testing.T) {
	root := teltest.Root(t)
	names, page, defaults := limits(t, root), read(t, root, threatModel), defaultsOfCode(t, root)
	problems := missing(page, names, learn(t, root).tests)
	problems = append(problems, wrongMetrics(page, metricsOf(t, root))...)
	problems = append(problems, wrongDefaults(page, defaults)...)
	for _, name := range names {
		if defaults[name] == nil {
			problems = append(problems, "the default of "+name+" is not compared")
		}
	}
	require.Empty(t, strings.Join(problems, "\n"))
	t.Logf("%d limits have a row: %s", len(names), strings.Join(names, " "))
}

func TestThreatModelBites(t *testing.T) {
	tests := map[string]bool{"TestA": true}
	const head = "| Resource | Limit | Default | Error | Metric | Test |\n|---|---|---|---|---|---|\n"
	require.Empty(t, missing(head+"| a | `x` | 1 | e | m | `TestA` |\n", []string{"x"}, tests))
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | `TestA` |\n", []string{"x", "y"}, tests), 1)
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | none |\n", []string{"x"}, tests), 1)
	require.Len(t, missing(head+"| a | `x` | 1 | e | m | `TestB` |\n", []string{"x"}, tests), 1)

	metrics := map[string]bool{"m": true}
	require.Empty(t, wrongMetrics(head+"| a | `x` | 1 | e | `m` | `TestA` |\n", metrics))
	require.Empty(t, wrongMetrics(head+"| a | `x` | 1 | e | none: the caller gets the error | `TestA` |\n", metrics))
	require.Len(t, wrongMetrics(head+"| a | `x` | 1 | e | | `TestA` |\n| a | `x` | 1 | e | `n` | `TestA` |\n| a | `x` | 1 | e | none: | `TestA` |\n", metrics), 3)
	f := func(cell string, want int, values ...string) {
		t.Helper()
		require.Len(t, wrongDefaults(head+"| a | `x` | "+cell+" | e | `m` | `TestA` |\n", map[string][]string{"x": values}), want)
	}
	f("64 MiB; receiver 32 MiB", 0, "64 MiB", "32 MiB")
	f("64 MiB; receiver 32 MiB", 2, "16 MiB", "6 MiB")
	f("8, 32, 16 MiB", 0, "8 MiB", "16 MiB")
	f("1,024 pairs", 1, "24")
	f("no bound", 0, "no bound")
	f("64 KiB", 1, "64 MiB")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// options calls each for every option that this exporter defines itself, with the path of its section,
// its key and its default.
func options(section reflect.Value, path string, each func(path, key string, value any)) {
	for i := range section.NumField() {
		field := section.Type().Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if key == "" {
			continue
		}
		if field.Type.Kind() == reflect.Struct && (field.Type.PkgPath() == section.Type().PkgPath() || field.Type == reflect.TypeFor[ModeConfig]()) {
			options(section.Field(i), dotted(path, key), each)
			continue
		}
		each(path, key, section.Field(i).Interface())
	}
}

func dotted(path, key string) string { return strings.TrimPrefix(path+"::"+key, "::") }

// TestOptionsAreDocumented compares the README and the schema with the defaults.
func TestOptionsAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	schema, err := confmaptest.LoadConf("config.schema.yaml")
	require.NoError(t, err)
	documented := func(path, key string, value any) {
		section := "properties"
		if path != "" {
			names := strings.Split(path, "::")
			section = "$defs::" + names[len(names)-1] + "_config::properties"
		}
		require.True(t, schema.IsSet(section+"::"+key), dotted(path, key))
		inReadme := fmt.Sprint(value)
		if d, ok := value.(time.Duration); ok {
			require.Equal(t, d.String(), schema.Get(section+"::"+key+"::default"), key)
			inReadme = strings.TrimSuffix(d.String(), "0s")
			if d < time.Minute {
				inReadme = d.String()
			}
		} else if schema.IsSet(section + "::" + key + "::default") {
			require.Equal(t, fmt.Sprint(value), fmt.Sprint(schema.Get(section+"::"+key+"::default")), key)
		}
		switch dotted(path, key) {
		case "retry_on_failure", "sending_queue", "metadata_keys", "otlp_fallback::endpoint", "routing_key", "endpoints":
			require.Contains(t, string(readme), "| `"+dotted(path, key)+"` |")
		default:
			require.Contains(t, string(readme), "| `"+dotted(path, key)+"` | `"+inReadme+"` |")
		}
	}
	n := 0
	options(reflect.ValueOf(createDefaultConfig()).Elem(), "", func(path, key string, value any) {
		n++
		documented(path, key, value)
	})
	require.Equal(t, 36, n)
}

func TestExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	require.Len(t, blocks, 6)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		exporters, err := conf.Sub("exporters")
		require.NoError(t, err)
		for name := range exporters.ToStringMap() {
			own, err := exporters.Sub(name)
			require.NoError(t, err)
			c := createDefaultConfig().(*Config)
			require.NoError(t, own.Unmarshal(c), text)
			require.NoError(t, confmap.Validate(c), text)
		}
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	metadata, err := confmaptest.LoadConf("metadata.yaml")
	require.NoError(t, err)
	metrics, err := metadata.Sub("telemetry::metrics")
	require.NoError(t, err)
	require.NotEmpty(t, metrics.ToStringMap())
	for name := range metrics.ToStringMap() {
		require.Contains(t, string(readme), "`"+name+"`")
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// keys calls each for every option that this package defines, with the path of the option and its
// struct field. It skips the options that the configuration embeds from other packages, such as those
// of gRPC servers.
func keys(t reflect.Type, prefix string, each func(path string, field reflect.StructField)) {
	for i := range t.NumField() {
		field := t.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if key == "" {
			continue
		}
		if field.Type.Kind() == reflect.Struct && field.Type.PkgPath() == t.PkgPath() {
			keys(field.Type, prefix+key+"::", each)
			continue
		}
		each(prefix+key, field)
	}
}

func TestDocumentation(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	schema, err := confmaptest.LoadConf("config.schema.yaml")
	require.NoError(t, err)
	n := 0
	keys(reflect.TypeFor[Config](), "", func(path string, _ reflect.StructField) {
		n++
		section, key, inSection := strings.Cut(path, "::")
		if inSection {
			require.True(t, schema.IsSet("properties::"+section), path)
			require.True(t, schema.IsSet("$defs::"+section+"_config::properties::"+key), path)
		} else {
			require.True(t, schema.IsSet("properties::"+path), path)
		}
		if path == "otlp" {
			path = "otlp::enabled"
		}
		require.Contains(t, string(readme), "| `"+path+"` |")
	})
	require.Equal(t, 22, n)
}

// The README examples are configurations that load.
func TestExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		file := filepath.Join(t.TempDir(), "config.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		all, err := confmaptest.LoadConf(file)
		require.NoError(t, err, text)
		conf, err := all.Sub("receivers::stef")
		require.NoError(t, err)
		_, err = load(conf)
		require.NoError(t, err, text)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// load makes a configuration as the Collector does.
func load(conf *confmap.Conf) (*Config, error) {
	config := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(config); err != nil {
		return nil, err
	}
	return config, confmap.Validate(config)
}

func loadYAML(t *testing.T, text, path string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	all, err := confmaptest.LoadConf(file)
	require.NoError(t, err, text)
	conf, err := all.Sub(path)
	require.NoError(t, err)
	return load(conf)
}

func TestConfigAll(t *testing.T) {
	all, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	conf, err := all.Sub("steffile/all")
	require.NoError(t, err)
	c, err := load(conf)
	require.NoError(t, err)
	require.Equal(t, []string{"telemetry/*.stef*"}, c.Include)
	require.Equal(t, []string{"telemetry/x*"}, c.Exclude)
	require.Equal(t, 100*time.Millisecond, c.PollInterval)
	require.Equal(t, 20*time.Second, c.SettleTime)
	require.Equal(t, Move, c.OnFinished)
	require.Equal(t, "done", c.MoveTo)
	require.Equal(t, "traces", c.AssumeSignal)
	require.Equal(t, []string{"dictionary.stef"}, c.ReadDictionaries)
	require.Equal(t, "file_storage/places", c.StorageID.String())
	require.Equal(t, 1000, c.MaxBatchItems)
	require.Equal(t, 4, c.MaxBatchMiB)
	require.Equal(t, 2*time.Second, c.RetryConfig.InitialInterval)
	require.Equal(t, time.Hour, c.RetryConfig.MaxElapsedTime)
	require.Equal(t, 3*time.Second, c.ShutdownTimeout)
	require.Equal(t, LimitsConfig{MaxFrameMiB: 16, MaxRecordAllocMiB: 8, MaxDictMiB: 32, MaxOpenFiles: 5}, c.Limits)
	require.NoError(t, componenttest.CheckConfigStruct(c))
}

// TestConfigMistakes checks that every error names the key, what is wrong, and what to do.
func TestConfigMistakes(t *testing.T) {
	f := func(text string, wants ...string) {
		t.Helper()
		if !strings.Contains(text, "include") {
			text += "\n  include: [a]"
		}
		_, err := loadYAML(t, "x:\n  "+text, "x")
		for _, want := range wants {
			require.ErrorContains(t, err, want)
		}
	}
	f("include: []", "include is missing", "such as [/var/telemetry/*.stef*]")
	f("include: ['[a']", `include has the pattern "[a"`)
	f("include: ['/x/**/*.stef']", `include has the pattern "/x/**/*.stef", but ** is not supported: name each depth, such as /x/*.stef and /x/*/*.stef`)
	f("include: ['/x/**']", "such as /x/* and /x/*/*")
	f("include: ['**/a.stef']", "such as a.stef and */a.stef")
	f("include: ['/x/logs**/a.stef']", "such as /x/logs*/a.stef and /x/logs*/*/a.stef")
	f("exclude: ['/x/**/*.stef']", `exclude has the pattern "/x/**/*.stef", but ** is not supported`)
	f("exclude: ['']", `exclude has the pattern ""`)
	f("poll_interval: 0s", "poll_interval is 0s", "200ms")
	f("poll_interval: 30", "poll_interval is 30 without a unit: write 30s or 30ms")
	f("poll_interval: 9ms", "poll_interval is 9ms: set it to 10ms or more")
	f("settle_time: -1s", "settle_time is -1s: set it to 1s or more")
	f("settle_time: 30", "settle_time is 30 without a unit: write 30s or 30ms")
	f("settle_time: 999ms", "settle_time is 999ms: set it to 1s or more", "still being written")
	f("shutdown_timeout: 30", "shutdown_timeout is 30 without a unit: write 30s or 30ms")
	f("retry_on_failure: {initial_interval: 5}", "retry_on_failure::initial_interval is 5 without a unit: write 5s")
	f("retry_on_failure: {max_interval: 5}", "retry_on_failure::max_interval is 5 without a unit: write 5s")
	f("retry_on_failure: {max_elapsed_time: 5}", "retry_on_failure::max_elapsed_time is 5 without a unit: write 5s")
	f("shutdown_timeout: 0s", "shutdown_timeout is 0s")
	f("on_finished: remove", "set it to keep, delete or move")
	f("on_finished: true", "on_finished is true: set it to keep, delete or move")
	f("limits.max_frame_mib: 3", `unknown key "limits.max_frame_mib": write it as "limits::max_frame_mib"`)
	f("on_finished: move", "set move_to to a folder")
	f("move_to: x", "set move_to to a folder if, and only if, on_finished is move")
	f("{include: ['/var/t*/*.stef*'], on_finished: move, move_to: /var/telemetry/}", `move_to is "/var/telemetry/"`, `pattern "/var/t*/*.stef*"`, "use another folder")
	f("assume_signal: profiles", "set it to traces, metrics or logs")
	f("max_batch_items: 0", "max_batch_items is 0")
	f("max_batch_mib: 0", "max_batch_mib is 0")
	f("limits: {max_frame_mib: 65}", "the format allows no frame above 64")
	f("limits: {max_record_alloc_mib: 0}", "max_record_alloc_mib is 0")
	f("read_dictionaries: [a, b, c, d, e]", "read_dictionaries has 5 files, at most 4 are allowed")
	f("dictionary: a", `"dictionary"`, "set read_dictionaries to a list")
	f("limits: {max_dict_mib: 0}", "max_dict_mib is 0")
	f("limits: {max_open_files: 0}", "max_open_files is 0")
	f("start_at: end", "always reads files from their beginning")
	f("includes: [a]", `did you mean "include"?`)
	f("retry_on_failure: {multiplier: -1}", "multiplier")
}

// TestDocumentation checks that the README and the schema have every option, and that the
// examples of the README load.
func TestDocumentation(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	schema, err := confmaptest.LoadConf("config.schema.yaml")
	require.NoError(t, err)
	n := 0
	var keys func(of reflect.Type, prefix string)
	keys = func(of reflect.Type, prefix string) {
		for i := range of.NumField() {
			field := of.Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
			if key == "" {
				continue
			}
			if field.Type.Kind() == reflect.Struct && field.Type.PkgPath() == of.PkgPath() {
				keys(field.Type, key+"::")
				continue
			}
			n++
			require.Contains(t, string(readme), "| `"+prefix+key+"` |")
			path := "properties::" + key
			if prefix != "" {
				path = "$defs::" + strings.TrimSuffix(prefix, "::") + "_config::properties::" + key
			}
			require.True(t, schema.IsSet(path), path)
		}
	}
	keys(reflect.TypeFor[Config](), "")
	require.Equal(t, 17, n)
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		_, err := loadYAML(t, text, "receivers::steffile")
		require.NoError(t, err, text)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/injecting"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	"github.com/otelstef/stef/stef-go/rotate"
)

// If one component receives three signals, it warns only once about a file that is not STEF, and once
// about a pattern that matches no file.
func TestWarnsOnceForAllSignals(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(folder, 0o777))
	for name, content := range map[string]string{"json.stef": `{"resourceLogs":[]}`, "gzip.stef": "\x1f\x8b\x08rest", "zstd.stef": "\x28\xb5\x2f\xfdrest", "text.stef": "some text"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	core, logs := observer.New(zap.WarnLevel)
	of := func(signal string) receiver.Settings {
		settings := receivertest.NewNopSettings(metadata.Type)
		settings.TelemetrySettings = injecting.Settings(settings.TelemetrySettings, core, signal)
		return settings
	}
	config := testConfig(dir, func(c *Config) {
		c.Include = append(c.Include, filepath.Join(dir, "none-*.stef"), filepath.Join(dir, "nodir", "*.stef"), folder)
	})
	sink := consumertest.NewNop()
	factory := NewFactory()
	tr, err := factory.CreateTraces(context.Background(), of("traces"), config, sink)
	require.NoError(t, err)
	me, err := factory.CreateMetrics(context.Background(), of("metrics"), config, sink)
	require.NoError(t, err)
	lo, err := factory.CreateLogs(context.Background(), of("logs"), config, sink)
	require.NoError(t, err)
	for _, part := range []component.Component{tr, me, lo} {
		require.NoError(t, part.Start(context.Background(), componenttest.NewNopHost()))
		defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
	}
	for _, part := range []component.Component{tr, me, lo} {
		f := part.(interface{ count() uint64 })
		require.Eventually(t, func() bool { return f.count() > 3 }, time.Minute, time.Millisecond)
	}
	got := map[string]int{}
	for _, entry := range logs.All() {
		fields := entry.ContextMap()
		text := entry.Message
		require.NotContains(t, fields, "otelcol.signal", text)
		for _, key := range []string{"file", "pattern", "write", "folder", "error"} {
			if v, ok := fields[key].(string); ok {
				if rel, err := filepath.Rel(dir, v); err == nil && filepath.IsAbs(v) {
					v = rel
				}
				text += ", " + v
			}
		}
		got[text]++
	}
	for _, want := range []string{
		"No file matches a pattern of include yet, none-*.stef",
		"No file matches a pattern of include yet: its folder does not exist, " + filepath.Join("nodir", "*.stef") + ", nodir",
		"A pattern of include names a folder, folder, " + filepath.Join("folder", "*.stef*"),
		"Cannot open a file, json.stef, the file is not STEF but JSON: if it holds OTLP, convert it to STEF with stef convert",
		"Cannot open a file, gzip.stef, the file is not STEF but compressed with gzip as a whole: decompress it; if it holds OTLP, use stef convert",
		"Cannot open a file, zstd.stef, the file is not STEF but compressed with zstd as a whole: decompress it; if it holds OTLP, use stef convert",
	} {
		require.Equal(t, 1, got[want], "%v", got)
	}
	require.Len(t, got, 7) // one for text.stef
	require.Len(t, logs.All(), 7)
}

// If a folder has files of a signal without a pipeline, there is one warning about this signal, and none
// about the other signals.
func TestWarnsOfSignalWithoutPipeline(t *testing.T) {
	dir := t.TempDir()
	for _, number := range []uint64{1, 2} {
		w := newWriter(t, signal.Logs, rotate.Options{Dir: dir, Prefix: fmt.Sprint("p", number)})
		require.NoError(t, w.put(numbered(number, number)))
		require.NoError(t, w.Close())
	}
	f := func(want int, make ...func(receiver.Factory, receiver.Settings, *Config) (component.Component, error)) {
		t.Helper()
		core, logs := observer.New(zap.WarnLevel)
		settings := receivertest.NewNopSettings(metadata.Type)
		settings.TelemetrySettings = injecting.Settings(settings.TelemetrySettings, core, "traces")
		config, factory := testConfig(dir, func(*Config) {}), NewFactory()
		var parts []component.Component
		for _, m := range make {
			part, err := m(factory, settings, config)
			require.NoError(t, err)
			parts = append(parts, part)
		}
		for _, part := range parts {
			require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
			defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
		}
		for _, part := range parts {
			f := part.(interface{ count() uint64 })
			require.Eventually(t, func() bool { return f.count() > 3 }, time.Minute, time.Millisecond)
		}
		require.Len(t, logs.All(), want)
		for _, entry := range logs.All() {
			require.Contains(t, entry.Message, "its signal has no pipeline with this receiver: add a pipeline, or exclude such files")
			require.Equal(t, "logs", entry.ContextMap()["signal"])
			require.NotContains(t, entry.ContextMap(), "otelcol.signal")
		}
	}
	traces := func(factory receiver.Factory, s receiver.Settings, c *Config) (component.Component, error) {
		return factory.CreateTraces(t.Context(), s, c, consumertest.NewNop())
	}
	metrics := func(factory receiver.Factory, s receiver.Settings, c *Config) (component.Component, error) {
		return factory.CreateMetrics(t.Context(), s, c, consumertest.NewNop())
	}
	logs := func(factory receiver.Factory, s receiver.Settings, c *Config) (component.Component, error) {
		return factory.CreateLogs(t.Context(), s, c, consumertest.NewNop())
	}
	f(1, traces)
	f(1, traces, metrics)
	f(0, traces, logs)
}

// A file that is not STEF counts as one error, not as one error in each pass over the folder. If the
// file changes, it counts again.
func TestCountsFilesThatAreNotSTEFOnce(t *testing.T) {
	dir := t.TempDir()
	text, json := filepath.Join(dir, "text.stef"), filepath.Join(dir, "json.stef")
	require.NoError(t, os.WriteFile(text, []byte("some text"), 0o600))
	require.NoError(t, os.WriteFile(json, []byte(`{"resourceLogs":[]}`), 0o600))
	r := start(t, testConfig(dir), consumertest.NewNop(), nil)
	r.idle()
	require.EqualValues(t, 2, r.errors("open"))
	require.NoError(t, os.WriteFile(text, []byte("some other text"), 0o600))
	r.idle()
	require.EqualValues(t, 3, r.errors("open"))
}

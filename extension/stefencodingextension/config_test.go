// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/messages"
)

func TestConfig(t *testing.T) {
	c, err := load(t, "{}")
	require.NoError(t, err)
	require.Equal(t, createDefaultConfig(), c)
	require.Equal(t, messages.MaxBytes, c.Limits.MaxMessageMiB*mib, "readers of files accept all messages within the default limit")

	c, err = load(t, "{mode: ordered}")
	require.NoError(t, err)
	require.Equal(t, ModeConfig{Traces: ModeOrdered, Metrics: ModeOrdered, Logs: ModeOrdered}, c.Mode)

	wrong := func(text, want string) {
		t.Helper()
		_, err := load(t, text)
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), want), "reported once: %v", err)
	}
	wrong("{schema: old}", `schema is "old": set it to compact, full or reference`)
	wrong("{compression: gzip}", `compression is "gzip": set it to zstd or none`)
	wrong("{compression_level: hard}", `compression_level is "hard": set it to fastest, default, better or best`)
	wrong("{mode: {logs: random}}", `mode of logs is "random": set it to sorted or ordered`)
	wrong("{templates: maybe}", `templates is "maybe": set it to auto, on or off`)
	wrong("{limits: {max_frame_mib: 65}}", "max_frame_mib is 65: set it to a number from 1 to 64")
	wrong("{limits: {max_decoded_mib: 0}}", "max_decoded_mib is 0")
	wrong("{limits.max_frame_mib: 3}", `unknown key "limits.max_frame_mib": write it as "limits::max_frame_mib"`)
	wrong("{max_frame_mib: 3}", `unknown key "max_frame_mib": write it as "limits::max_frame_mib"`)
	wrong("{compresion: none}", `unknown key "compresion": did you mean "compression"?`)
	wrong("{limits: {wings: 2}}", `unknown key "limits::wings": remove it, or write one of the keys in limits: max_decoded_mib`)
	wrong("{compression_level: 3}", "compression_level is 3: set it to fastest, default, better or best")
}

func TestReadmeConfigurations(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, "gomod:") {
			continue // a manifest, which internal/docs checks
		}
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
		require.NoError(t, err)
		all, err := retrieved.AsConf()
		require.NoError(t, err)
		own, err := all.Sub("extensions::stef_encoding")
		require.NoError(t, err)
		require.NoError(t, own.Unmarshal(createDefaultConfig()), text)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mistakeConfig has a pipeline from a receiver to an exporter of STEF.
const mistakeConfig = "receivers: {stef: {RECEIVER}}\n" +
	"exporters: {stef: {EXPORTER}}\n" +
	"service: {pipelines: {SIGNAL: {receivers: [stef], exporters: [stef]}}}\n"

func runMistake(t *testing.T, receiver, exporter, signal string, args ...string) (output string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := strings.NewReplacer("RECEIVER", receiver, "EXPORTER", exporter, "SIGNAL", signal).Replace(mistakeConfig)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.CommandContext(t.Context(), binary(t), append(args, "--config", file)...).CombinedOutput()
	return string(out), err
}

// TestMistakes starts the distribution with wrong configurations, and checks its error
// messages.
func TestMistakes(t *testing.T) {
	const good = "endpoint: 'localhost:4320', tls: {insecure: true}"
	f := func(receiver, exporter, want string) {
		t.Helper()
		if receiver == "" {
			receiver = "endpoint: 'localhost:4320'"
		}
		out, err := runMistake(t, receiver, exporter, "traces", "validate")
		require.Error(t, err)
		require.Contains(t, out, want)
	}
	f("", good+", timeout: 15", "timeout is 15 without a unit: write 15s or 15ms")
	f("", "endpoint: 'localhost:99999'", `endpoint is "localhost:99999": set the port to a number from 1 to 65535`)
	f("", "endpoint: 'localhost:4320', protocols: {grpc: {}}", `unknown key "protocols": an exporter has one address`)
	f("", good+", wings: 2", `unknown key "wings": remove it, or write one of the keys at the top level:`)
	f("protocols: {grpc: {endpoint: 'localhost:4320'}}", good, `unknown key "protocols": this receiver serves STEF and OTLP over gRPC on one address: write the keys of protocols::grpc`)
	f("wings: 2", good, `unknown key "wings": remove it, or write one of the keys at the top level:`)
	f("endpoint: 'localhost:99999'", good, "set the port to a number up to 65535")
	f("timeouts: {idle: 15}", good, "timeouts::idle is 15 without a unit: write 15s or 15ms")

	out, err := runMistake(t, "endpoint: 'localhost:4320'", good, "profiles", "--feature-gates", "service.profilesSupport")
	require.Error(t, err)
	require.Contains(t, out, "STEF has no profiles yet: send them with the otlp_grpc exporter")
}

func TestPrintConfig(t *testing.T) {
	out, err := runMistake(t, "endpoint: 'localhost:4320'", "endpoint: 'localhost:4321'", "traces", "print-config")
	require.NoError(t, err, out)
	for _, line := range []string{"compression: zstd", "compression_level: auto", "schema: compact", "protocol: auto", "enabled: true", "flush_interval: 50ms"} {
		require.Regexp(t, "(?m)^ +"+line+"$", out)
	}
	require.NotContains(t, out, `compression: ""`)
}

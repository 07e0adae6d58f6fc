// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
)

// Fields of JSON that OTLP does not have, such as fields of versions before 1.0, are
// ignored, and every command says so.
func TestIgnoredFields(t *testing.T) {
	m := newMistakes(t)
	old := m.file("old.json", []byte(`{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{"name":"a"}]}]},{"scopeSpans":[]}]}`))
	out := m.path("out.stef")
	const ignored = "ignored: unknown field instrumentationLibrarySpans in 1 object of ResourceSpans\n"
	warning := "warning: " + old + " has no spans, so " + out + " is empty\n"
	_, stderr := mustRun(t, nil, "convert", "--quiet", old, out)
	require.True(t, strings.HasPrefix(stderr, warning+ignored), stderr)
	for _, args := range [][]string{{"--mode", "ordered", out}, {m.path("out.parquet")}, {m.path("out.pb")}, {old, m.path("two.stef")}} {
		_, stderr = mustRun(t, nil, append([]string{"convert", "--force", old}, args...)...)
		require.Contains(t, stderr, strings.Replace(ignored, "1 object", map[bool]string{false: "1 object", true: "2 objects"}[len(args) == 2 && args[0] == old], 1))
		require.Contains(t, stderr, "warning: ")
	}
	for _, command := range []string{"cat", "stat"} {
		_, stderr = mustRun(t, nil, command, old)
		require.Equal(t, ignored, stderr)
	}

	// For a file of several signals, each line is printed once, and only for its signal.
	both := m.file("mixed.json", []byte(`{"x y":1,"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","b":1}]}]}],"resourceLogs":[{"scopeLogs":[{"logs":[]}]}]}`))
	code, _, stderr := run(nil, "convert", "--quiet", both, m.path("x-{signal}.stef"))
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Equal(t, 1, strings.Count(stderr, "ignored: unknown field b in 1 object of Span\n"), stderr)
	require.Equal(t, 1, strings.Count(stderr, "ignored: unknown field logs in 1 object of ScopeLogs\n"), stderr)
	_, stderr = mustRun(t, nil, "cat", "--signal", "traces", both)
	require.Equal(t, "ignored: unknown field \"x y\" in 1 object of TracesData\nignored: unknown field b in 1 object of Span\n", stderr)

	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `{"resourceLogs":[{"n%d":1}]}`+"\n", i)
	}
	_, stderr = mustRun(t, nil, "convert", "--quiet", m.file("many.json", []byte(many.String())), m.path("many.stef"))
	require.Contains(t, stderr, "ignored: other unknown fields, 10 times\n")
}

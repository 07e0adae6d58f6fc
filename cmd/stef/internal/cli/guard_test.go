// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
)

// If the user forgets OUT, convert takes the last input for OUT, but does not replace it. The error
// that this file exists is reported before most errors of inputs. The errors of an input that does not
// exist, is empty or has no known format are reported first.
func TestForgottenOut(t *testing.T) {
	m := newMistakes(t)
	before, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	second := m.path("second.stef")
	mustRun(t, fixtures.Metrics(), "convert", "-", second)
	const last = " is the output, and this file exists: if it is an input, add a name for the output; to overwrite it, use --force"
	m.fails(cli.ExitUsage, "metrics.stef exists; --force overwrites it", "convert", m.tape, m.metrics)
	m.fails(cli.ExitUsage, "the last name, metrics.stef,"+last, "convert", second, m.metrics)
	m.fails(cli.ExitUsage, "the last name, metrics.stef,"+last, "convert", second, second, m.metrics)
	m.fails(cli.ExitUsage, "the last name, traces.tape,"+last, "convert", m.metrics, m.file("traces.tape", fixtures.Traces()))
	m.fails(cli.ExitUsage, "traces.otlp exists; --force overwrites it", "convert", m.metrics, m.tape)
	m.fails(cli.ExitIO, "out.stef: there is no such file, and second.stef exists: are IN and OUT reversed?", "convert", m.path("out.stef"), second)
	for _, out := range []string{"-", second, m.path("new.stef")} { // the exit code does not depend on OUT
		m.fails(cli.ExitIO, "none.stef: open: no such file or directory", "repair", m.path("none.stef"), out)
		code, _, stderr := run(nil, "convert", m.path("none.stef"), out)
		require.Equal(t, cli.ExitIO, code, stderr)
	}
	m.fails(cli.ExitUsage, "metrics.stef exists; --force overwrites it", "repair", second, m.metrics)

	m.fails(cli.ExitData, "empty.stef: the file is empty", "convert", m.file("empty.stef", nil), m.metrics)
	m.fails(cli.ExitIO, "dir: is a folder; name its files: dir"+string(filepath.Separator)+"*", "convert", m.folder("dir"), m.metrics)
	for _, command := range [][]string{{"convert", m.path("*.none"), m.metrics}, {"cat", m.path("*.none")}, {"replay", m.path("*.none")}, {"convert", second, m.path("*.none"), m.path("x.stef")}} {
		m.fails(cli.ExitIO, "*.none: no file matches this pattern: check it, and remove quotes around it, because only the shell expands patterns", command...)
	}
	m.fails(cli.ExitIO, "none.stef: open: no such file or directory", "convert", second, m.path("none.stef"), m.metrics)
	m.fails(cli.ExitUsage, "--columns works only for an output of format parquet or arrow, and this is stef", "convert", "--columns", "a", second, m.metrics)
	m.fails(cli.ExitUsage, "there is no reference schema of logs: use --schema full", "convert", "--schema", "reference", m.json, m.metrics)
	text := m.file("x.txt", []byte("no telemetry"))
	m.fails(cli.ExitData, "x.txt: the content has none of the formats stef, otlp-parts, otlp, otlp-json, stef-parts, parquet or arrow; it begins with \"no telemetry\" and looks like text",
		"convert", text, m.metrics)
	m.fails(cli.ExitUsage, "metrics.stef exists; --force overwrites it", "convert", "--signal", "logs", m.tape, m.metrics)
	m.fails(cli.ExitUsage, "metrics.stef exists; --force overwrites it", "convert", m.file("cut.json", []byte(`{"resourceLogs":[{"scopeLogs":`)), m.metrics)
	after, err := os.ReadFile(m.metrics)
	require.NoError(t, err)
	require.True(t, string(before) == string(after))

	// An input without messages does not replace an existing output either.
	old := m.file("old.json", []byte("old"))
	m.fails(cli.ExitUsage, "old.json exists; --force overwrites it", "convert", m.file("none.json", []byte(`{"resourceLogs":[]}`)), old)

	m.fails(cli.ExitIO, "dir: is a folder; name a file in it: dir"+string(filepath.Separator)+"second.stef", "convert", second, m.path("dir"))
	m.fails(cli.ExitIO, "no/out.stef: the folder no does not exist", "convert", second, m.path(filepath.Join("no", "out.stef")))
	m.fails(cli.ExitUsage, "{sig} in the name of OUT is no placeholder: the only one is {signal}", "convert", m.both, m.path("x-{sig}.stef"))
	for _, args := range [][]string{{"convert", "s3://bucket/a.stef", m.path("out.stef")}, {"convert", second, "s3://bucket/a.stef"}, {"cat", "s3://bucket/a.stef"}} {
		m.fails(cli.ExitIO, "s3://bucket/a.stef: stef reads and writes local files only", args...)
	}
}

// With --frame-items the parts of an input become fewer frames, with the same items.
func TestFrameItems(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{fixtures.Metrics(), fixtures.Traces(), fixtures.Logs()} {
		for _, mode := range []string{"ordered", "sorted"} {
			many, _ := mustRun(t, data, "convert", "--quiet", "--mode", mode, "-", "-")
			one, stderr := mustRun(t, data, "convert", "--mode", mode, "--frame-items", "1000000", "-", "-")
			require.Contains(t, stderr, "standard output: stef, 1 frame, ")
			require.Less(t, len(one), len(many)*19/20)
			some, stderr := mustRun(t, data, "convert", "--mode", mode, "--frame-items", "1000", "-", "-")
			require.NotContains(t, stderr, " 1 frame, ")
			require.Greater(t, len(some), len(one))
			require.Less(t, len(some), len(many))
			// The frames of an input stream are combined, too.
			again, _ := mustRun(t, []byte(many), "convert", "--to", "stef", "--mode", mode, "--frame-items", "1000000", "-", "-")
			require.Less(t, len(again), len(many)*19/20)
			want, _ := mustRun(t, []byte(many), "cat", "-")
			for _, s := range []string{one, some, again} {
				got, _ := mustRun(t, []byte(s), "cat", "-")
				require.Equal(t, strings.Count(want, "\n"), strings.Count(got, "\n"))
				if mode == "ordered" {
					require.True(t, got == want, "other records")
				}
			}
		}
	}
	m := newMistakes(t)
	_, stderr := mustRun(t, nil, "convert", "--frame-items", "100", m.parquet, m.metrics+"2.stef")
	require.Contains(t, stderr, "5,181 data points")
	const one = "\nnot split: 1 part of the input has more items than --frame-items, which only combines parts\n"
	mustRun(t, nil, "convert", "--frame-items", "6000", m.metrics, m.path("large.stef"))
	mustRun(t, nil, "convert", "--quiet", m.path("large.stef"), m.path("large.pb"))
	for _, more := range [][]string{{m.path("large.stef")}, {"--mode", "ordered", m.path("large.stef")}, {"--mode", "ordered", m.path("large.pb")}} {
		_, stderr = mustRun(t, nil, append(append([]string{"convert", "--force", "--frame-items", "5180"}, more...), m.path("again.stef"))...)
		require.Contains(t, stderr, one)
		_, stderr = mustRun(t, nil, append(append([]string{"convert", "--force", "--frame-items", "5181"}, more...), m.path("again.stef"))...)
		require.NotContains(t, stderr, "not split")
	}
	_, stderr = mustRun(t, nil, "convert", "--frame-items", "1", m.path("large.stef"), m.path("large.pb"), m.path("both.stef"))
	require.Contains(t, stderr, "\nnot split: 2 parts of the input have more items than --frame-items")
	m.fails(cli.ExitUsage, `invalid value "0" for --frame-items: must be between 1 and 1,048,576`, "convert", "--frame-items", "0", m.metrics, m.path("out.stef"))
	for _, n := range []string{"1,000,000", "1e6"} {
		m.fails(cli.ExitUsage, `invalid value "`+n+`" for --frame-items: write a number from 1 to 1048576, in digits only`, "convert", "--frame-items", n, m.metrics, m.path("out.stef"))
	}
	m.fails(cli.ExitUsage, "--frame-items works only for an output of format stef, and this is otlp-json", "convert", "--frame-items", "9", m.metrics, m.path("out.json"))

	// Only the item that cannot be converted is omitted from its frame.
	_, stderr = mustRun(t, nil, "convert", "--mode", "sorted", m.spans, m.path("sorted.stef"))
	require.Contains(t, stderr, "stef, 1 frame")
}

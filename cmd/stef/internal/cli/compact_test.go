// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// pairsOfForms returns three texts for each name: a stream in the compact form, a stream with the
// same records in the full schema, and the beginning of the explanation of a column or "".
func pairsOfForms(t *testing.T) map[string][3]string {
	t.Helper()
	pairsOnce.Do(func() { pairsMade = makePairsOfForms(t) })
	require.NotEmpty(t, pairsMade)
	return pairsMade
}

// The pairs are made once for all tests, because this takes a second.
var (
	pairsOnce sync.Once
	pairsMade map[string][3]string
)

func makePairsOfForms(t *testing.T) map[string][3]string {
	t.Helper()
	pairs := map[string][3]string{}
	for name, f := range map[string]struct {
		write  func(*testing.T, ...stef.WriterOption) []byte
		option stef.WriterOption
		column string
	}{
		"metrics": {metrics, otelstef.CompactMetrics(), "Metrics.Compact.Words[]: Words are the differences of the integers of a histogram or summary"},
		"spans":   {spans, otelstef.CompactSpans(), "Spans.Span.Links"},
		"logs":    {logs, otelstef.CompactLogs(), "Logs.Record.CompactTime: CompactTime is the code of the difference"},
	} {
		compact := f.write(t, f.option)
		full, _ := mustRun(t, compact, "convert", "--to", "stef", "--schema", "full", "--compression", "none", "--quiet", "-", "-")
		pairs[name] = [3]string{string(compact), full, f.column}
	}
	dir := t.TempDir()
	for name, recording := range map[string][]byte{"recorded metrics": fixtures.Metrics(), "recorded spans": fixtures.Traces(), "recorded logs": fixtures.Logs()} {
		in := filepath.Join(dir, "in.otlp.zst")
		require.NoError(t, os.WriteFile(in, recording, 0o666))
		compact, _ := mustRun(t, nil, "convert", "--quiet", in, "-")
		full, _ := mustRun(t, nil, "convert", "--quiet", "--schema", "full", in, "-")
		pairs[name] = [3]string{compact, full, ""}
	}
	return pairs
}

// The commands print the same records for a stream in the compact form and in the full schema.
func TestFormsPrintTheSame(t *testing.T) {
	t.Parallel()
	for name, pair := range pairsOfForms(t) {
		compact, full := []byte(pair[0]), []byte(pair[1])
		require.NotEqual(t, compact, full)
		for _, args := range []string{"cat -", "cat --canonical -", "cat -n 1 -", "convert --quiet --to otlp-json - -",
			"convert --quiet --to stef --schema full --compression none - -", "convert --quiet --to stef --schema reference --compression none - -"} {
			if strings.HasSuffix(name, "logs") && !strings.Contains(args, "otlp-json") {
				if strings.Contains(args, "reference") {
					continue // logs have no reference schema
				}
				// The compact form returns observed times, never their deltas.
				text, _ := mustRun(t, compact, "convert", "--quiet", "--to", "stef", "--schema", "full", "-", "-")
				full = []byte(text)
			}
			wantCode, want, wantErr := run(full, strings.Fields(args)...)
			code, got, gotErr := run(compact, strings.Fields(args)...)
			require.Equal(t, wantCode, code, "%s: %s", name, args)
			require.Equal(t, wantErr, gotErr, "%s: %s", name, args)
			require.True(t, want == got, "%s: %s", name, args)
			require.True(t, code == 0 || name == "metrics" && strings.Contains(args, "otlp"), "%s: %s: %s", name, args, gotErr)
		}
		again, _ := mustRun(t, compact, "convert", "--quiet", "--to", "stef", "--compression", "none", "-", "-")
		twice, _ := mustRun(t, []byte(again), "convert", "--quiet", "--to", "stef", "--compression", "none", "-", "-")
		require.True(t, again == twice, "%s: converted to the compact form from itself", name)
	}
}

// inspect --frames prints the beginning of the output of inspect.
func TestInspectFrames(t *testing.T) {
	stream, _ := mustRun(t, fixtures.Metrics(), "convert", "--quiet", "-", "-")
	for _, plain := range [][]string{nil, {"--plain"}} {
		all, _ := mustRun(t, []byte(stream), append([]string{"inspect", "-"}, plain...)...)
		begin, _ := mustRun(t, []byte(stream), append([]string{"inspect", "--frames", "2", "-"}, plain...)...)
		require.True(t, strings.HasPrefix(all, begin+"\n# frame 3\n"))
	}
}

// inspect --plain prints the records that cat prints, below the columns of their frame.
func TestInspectPlain(t *testing.T) {
	t.Parallel()
	record := regexp.MustCompile(`^# r\d+: `)
	for name, pair := range pairsOfForms(t) {
		for i, heading := range []string{"# plain records\n", "# records\n"} {
			stream := []byte(pair[i])
			want, _ := mustRun(t, stream, "cat", "-")
			bare, _ := mustRun(t, stream, "inspect", "-")
			inspected, _ := mustRun(t, stream, "inspect", "--plain", "-")
			var got, others strings.Builder
			frames := 0
			for line := range strings.Lines(inspected) {
				switch prefix := record.FindString(line); {
				case prefix != "":
					got.WriteString(line[len(prefix):])
				case line == heading:
					frames++
				default:
					others.WriteString(line)
				}
			}
			if !strings.HasSuffix(name, "logs") { // cat prints texts where the stream has templates
				require.True(t, want == got.String(), name)
			}
			require.NotEmpty(t, want)
			require.Equal(t, strings.Count(want, "\n"), strings.Count(got.String(), "\n"), name)
			require.True(t, bare == others.String(), name)
			require.Equal(t, strings.Count(bare, "\n# frame "), frames, name)
		}
	}
}

// cat also reads streams in the first version of the compact form, which has fewer fields than the
// current version.
func TestCatFirstForm(t *testing.T) {
	for name, f := range map[string]struct {
		write func(*testing.T, ...stef.WriterOption) []byte
		first schema.WireSchema
		now   stef.WriterOption
	}{
		"metrics": {metrics, schema.WireSchema{8, 1, 8, 7, 4, 4, 5, 5, 5, 5, 9, 2, 3, 2, 5, 2, 6}, otelstef.CompactMetrics()},
		"logs":    {logs, schema.WireSchema{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 2}, otelstef.CompactLogs()},
	} {
		want, _ := mustRun(t, f.write(t, f.now), "cat", "--canonical", "-")
		got, _ := mustRun(t, f.write(t, stef.WithSchema(f.first), stef.WithSchemaHeader()), "cat", "--canonical", "-")
		require.Equal(t, want, got, name)
	}
}

// stat and inspect show the columns as they are sent, and explain the columns that only the
// compact form has.
func TestFormsAreExplained(t *testing.T) {
	t.Parallel()
	pairs := pairsOfForms(t)
	for name, pair := range pairs {
		compact, full := []byte(pair[0]), []byte(pair[1])
		out, _ := mustRun(t, compact, "stat", "-")
		require.Contains(t, out, "compact schema, announced: 8,1,", name)
		plain, _ := mustRun(t, full, "stat", "-")
		require.Contains(t, plain, "full schema, announced: ", name)
		require.NotContains(t, plain, " is the code of", name)
		inspected, _ := mustRun(t, compact, "inspect", "-")
		plain, _ = mustRun(t, full, "inspect", "-")
		require.NotContains(t, plain, "Compact", name)
		path, meaning, explained := strings.Cut(pair[2], ": ")
		if !explained {
			continue
		}
		require.Regexp(t, `(?m)^`+strings.NewReplacer("[", `\[`, "]", `\]`).Replace(path)+` .*: `+meaning, out, name)
		require.Regexp(t, `(?m)^# `+strings.NewReplacer("[", `\[`, "]", `\]`).Replace(path)+`: .*\n# `+meaning, inspected, name)
		var report struct {
			Columns []struct{ Path, Meaning string }
		}
		text, _ := mustRun(t, compact, "stat", "--json", "--all", "-")
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		for _, c := range report.Columns {
			fromForm := strings.Contains(c.Path, ".Compact") && !strings.HasSuffix(c.Path, ".Compact") ||
				c.Path == "Metrics.Number" || c.Path == "Metrics.Compact" || c.Path == "Logs.Compact" || c.Path == "Logs.Trace" || c.Path == "Logs.Known" || c.Path == "Logs.ID"
			require.Equal(t, fromForm, c.Meaning != "", "%s: %s", c.Path, c.Meaning)
		}
	}
}

// TestFormsDamaged reads a stream in the compact form with bytes of another frame after its end,
// and sources that fail.
func TestFormsDamaged(t *testing.T) {
	compact := metrics(t, otelstef.CompactMetrics())
	whole, _ := mustRun(t, compact, "cat", "-")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.stef"), filepath.Join(dir, "out.stef")
	more := append(bytes.Clone(compact), compact[len(compact)-20:]...)
	code, stdout, stderr := run(more, "cat", "-")
	require.Equal(t, cli.ExitData, code)
	require.Equal(t, whole, stdout)
	require.Regexp(t, fmt.Sprintf(`^stef cat: standard input: frame \d+ at offset %d: `, len(compact)), stderr)
	require.NoError(t, os.WriteFile(in, more, 0o666))
	mustRepair(t, nil, in, out)
	kept, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, compact, kept)

	failure := errors.New("the disk is gone")
	for _, n := range []int{0, 5, len(compact) - 1, len(compact)} {
		var out, errs bytes.Buffer
		src := io.MultiReader(bytes.NewReader(compact[:n]), iotest.ErrReader(failure))
		code := cli.Run([]string{"cat", "-"}, cli.Env{Stdin: src, Stdout: &out, Stderr: &errs})
		require.Equal(t, cli.ExitIO, code, "%d bytes", n)
		require.Equal(t, "stef cat: standard input: the disk is gone\n", errs.String())
	}
}

// cat prints the same records for a stream in the reference schema and for a stream in the
// full schema. Their canonical lines differ in the ids of spans.
func TestReferencePrintsTheSame(t *testing.T) {
	for name, recording := range map[string][]byte{"metrics": fixtures.Metrics(), "traces": fixtures.Traces()} {
		full, _ := mustRun(t, recording, "convert", "--quiet", "--signal", name, "--schema", "full", "-", "-")
		reference, _ := mustRun(t, []byte(full), "convert", "--quiet", "--to", "stef", "--schema", "reference", "-", "-")
		for _, flags := range [][]string{{}, {"--canonical"}} {
			args := append(append([]string{"cat"}, flags...), "-")
			want, _ := mustRun(t, []byte(full), args...)
			got, _ := mustRun(t, []byte(reference), args...)
			require.Equal(t, name == "metrics" || len(flags) == 0, want == got, "%s %v", name, flags)
		}
	}
}

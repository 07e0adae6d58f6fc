// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/streamconf"
)

// TestParseSettings checks which values of -compare are accepted and which are refused.
func TestParseSettings(t *testing.T) {
	list, err := parseSettings("mode=ordered,schema=full+level=default+templates=on,optimize_for=cpu")
	require.NoError(t, err)
	require.Equal(t, []settings{{mode: streamconf.Ordered}, {schema: streamconf.Full, level: "default", templates: streamconf.TemplatesOn}, {optimize: "cpu"}}, list)
	require.Equal(t, "schema=full+level=default+templates=on", list[1].String())
	list, err = parseSettings("")
	require.NoError(t, err)
	require.Empty(t, list)

	f := func(want, text string) {
		t.Helper()
		_, err := parseSettings(text)
		require.ErrorContains(t, err, want)
	}
	f(`-compare: "cpu" is no setting`, "mode=ordered,cpu")
	f(`-compare: "level=" is no setting`, "level=")
	f(`-compare: "" is no setting`, "mode=ordered,")
	f("-compare: -mode: ", "mode=sort")
	f("-compare: -level: ", "level=huge")
	f("-compare: mode=ordered is there twice", "mode=ordered,mode=ordered")
}

// TestIdle checks which flags change nothing for a signal, according to idle.
func TestIdle(t *testing.T) {
	defer func(s settings) { base = s }(base)
	f := func(s settings, kind otlpfile.Signal, want ...string) {
		t.Helper()
		base = s
		require.Equal(t, want, idle(kind))
	}
	f(settings{}, otlpfile.Logs)
	f(settings{mode: streamconf.Ordered}, otlpfile.Logs, "mode=ordered")
	f(settings{mode: streamconf.Ordered}, otlpfile.Traces)
	f(settings{mode: streamconf.Sorted}, otlpfile.Logs)
	f(settings{mode: streamconf.Sorted, templates: streamconf.TemplatesOn}, otlpfile.Metrics, "mode=sorted", "templates=on")
	f(settings{templates: streamconf.TemplatesOn}, otlpfile.Logs)
	f(settings{optimize: "cpu"}, otlpfile.Traces, "optimize_for=cpu")
	f(settings{optimize: "cpu"}, otlpfile.Metrics) // large frames
	f(settings{optimize: "cpu"}, otlpfile.Logs)
	f(settings{optimize: "cpu", level: "best"}, otlpfile.Metrics, "optimize_for=cpu")
	f(settings{level: "fastest"}, otlpfile.Logs, "level=fastest")
	f(settings{schema: streamconf.Full}, otlpfile.Logs)
	f(settings{schema: streamconf.Full, level: "default"}, otlpfile.Logs, "level=default")
}

// TestComparisons checks which of the settings of -compare are measured.
func TestComparisons(t *testing.T) {
	defer func(s settings, c []settings) { base, compared = s, c }(base, compared)
	f := func(kind otlpfile.Signal, measured []string, same []string) {
		t.Helper()
		variants, others := comparisons(kind)
		var names []string
		for _, v := range variants {
			names = append(names, v.settings.String())
		}
		require.Equal(t, measured, names)
		require.Equal(t, same, others)
	}
	var err error
	compared, err = parseSettings("mode=ordered,mode=sorted,optimize_for=cpu,templates=off,templates=off+level=fastest")
	require.NoError(t, err)
	base = settings{}
	f(otlpfile.Logs, []string{"mode=sorted", "optimize_for=cpu"}, []string{"mode=ordered is the same as the defaults for logs",
		"templates=off is the same as optimize_for=cpu for logs", "level=fastest+templates=off is the same as optimize_for=cpu for logs"})
	f(otlpfile.Traces, []string{"mode=ordered"}, []string{"mode=sorted is the same as the defaults for traces", "optimize_for=cpu is the same as the defaults for traces",
		"templates=off is the same as the defaults for traces", "level=fastest+templates=off is the same as the defaults for traces"})
	base = settings{mode: streamconf.Sorted}
	compared = compared[:2]
	f(otlpfile.Logs, []string{"mode=ordered"}, []string{"mode=sorted is the same as mode=sorted for logs"})
	variants, _ := comparisons(otlpfile.Logs)
	require.Equal(t, streamconf.Ordered, variants[0].exporterConfig("").Stef.Mode.Logs, "it replaces the flag")
	require.Equal(t, streamconf.Sorted, STEF.exporterConfig("").Stef.Mode.Logs)
}

// TestComparison checks the ratios of compared settings, and the warning about rounds that differ.
func TestComparison(t *testing.T) {
	var rs Results
	r := rs.Of(dataset.Ref{Name: "mine", Signal: otlpfile.Logs}, Steady)
	require.Empty(t, rs.Comparison().Rows)
	other := STEF
	other.settings = settings{level: "best"}
	r.With([]Variant{other}, []string{"mode=ordered is the same as the defaults for logs"})
	for _, round := range [][3]time.Duration{{10, 20, 40}, {10, 40, 40}, {10, 30, 40}} {
		for i, v := range []Variant{STEF, other, OTLP} {
			r.Rounds[v] = append(r.Rounds[v], Cost{Items: 1, CPU: round[i], Sent: []int64{10, 8, 20}[i]})
		}
	}
	rows := rs.Comparison().Rows
	require.Len(t, rows, 2)
	require.Equal(t, "the defaults", rows[0][2])
	require.Equal(t, []any{10.0, 1.0, 1.0}, rows[0][3:6])
	require.Equal(t, []any{"-", 0.5, 4.0}, rows[0][7:])
	require.Equal(t, "level=best", rows[1][2])
	require.InDeltaSlice(t, []any{8.0, 0.8, 1.0 / 3, 0.375}, rows[1][3:7], 1e-9)
	require.Equal(t, "yes", rows[1][7])
	require.InDeltaSlice(t, []any{0.4, 4.0 / 3}, rows[1][8:], 1e-9)
	require.Equal(t, []string{"Settings that were not measured again: mode=ordered is the same as the defaults for logs.",
		"The ratios of speed of the rounds differ by more than 25 % (column spread): the machine is busy, or the set is small. Repeat with more rounds, -benchtime 10x: mine logs steady."}, rs.Warnings())
}

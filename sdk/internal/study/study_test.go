// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/benchdata"
)

// The first line of the output of benchmarks names their data.
var _ = benchdata.Name("synthetic: what the SDK records of the test")

// role is an environment variable. It makes the test binary run as a receiver, or as a process that
// is measured.
const role = "STEF_STUDY_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "receiver":
		err = receiver()
	case "spans":
		err = child(Run)
	case "metrics":
		err = child(RunMetrics)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// receiver receives until its input ends.
func receiver() error {
	to, err := Receive()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(to); err != nil {
		return err
	}
	bufio.NewScanner(os.Stdin).Scan()
	return nil
}

func child[C, R any](run func(C) (R, error)) error {
	var c C
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	r, err := run(c)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func startReceiver(tb testing.TB) Addresses {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=receiver")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	var to Addresses
	require.NoError(tb, json.NewDecoder(out).Decode(&to))
	return to
}

// measure runs a configuration in a process of its own.
func measure[C, R any](tb testing.TB, what string, c C) (r R) {
	tb.Helper()
	config, err := json.Marshal(c)
	require.NoError(tb, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+what, "STEF_STUDY_DIR="+tb.TempDir())
	cmd.Stdin = strings.NewReader(string(config))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(tb, err, "%s", config)
	require.NoError(tb, json.Unmarshal(out, &r))
	return r
}

// BenchmarkSpans has a benchmark for each scenario and exporter, all in this process. It
// reports the CPU time of this process. The receivers are in another process.
func BenchmarkSpans(b *testing.B) {
	to := startReceiver(b)
	for _, batch := range []bool{false, true} {
		for _, scenario := range Scenarios {
			for _, exporter := range []string{None, NoOp, Nothing, Stdout, OTLP, OTLPHTTP, STEF, File, FileDelayed, OTLPDelayed, STEFDelayed} {
				name := fmt.Sprintf("batch=%v/scenario=%s/exporter=%s", batch, scenario, exporter)
				b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
					b.Setenv("STEF_STUDY_DIR", b.TempDir())
					r, err := Run(Config{Exporter: exporter, Scenario: scenario, Batch: batch, Runs: b.N, To: to})
					require.NoError(b, err)
					b.ReportMetric(r.Mean, "ns/run")
					b.ReportMetric(r.Median, "median-ns")
					b.ReportMetric(r.P99, "p99-ns")
					b.ReportMetric(r.User+r.System, "cpu-ns/run")
					b.ReportMetric(r.Bytes, "B/run")
					b.ReportMetric(float64(r.Lost)/float64(r.Spans), "lost/span")
				})
			}
		}
	}
}

var (
	report = flag.String("report", "", "file for the tables of TestStudy, in Markdown")
	rounds = flag.Int("rounds", 0, "rounds of each configuration of TestStudy, if not those of its plan")
	parts  = flag.String("parts", strings.Join(Parts, ","), "the parts of TestStudy")
)

// TestStudy measures everything and writes the tables. It needs -report, because it
// takes minutes and asserts only that nothing fails.
func TestStudy(t *testing.T) {
	if *report == "" {
		t.Skip("run make study-sdk")
	}
	s := Study{
		Plan: Short, To: startReceiver(t), Log: t.Logf, Dir: t.TempDir(),
		Spans:   func(c Config) Result { return measure[Config, Result](t, "spans", c) },
		Metrics: func(c MetricConfig) MetricResult { return measure[MetricConfig, MetricResult](t, "metrics", c) },
	}
	if os.Getenv("STEF_LONG") == "1" {
		s.Plan = Long
	}
	if *rounds > 0 {
		s.Rounds = *rounds
	}
	page := fmt.Sprintf("# Tables of the study\n\n%s, %d processors, %s/%s.\n%s", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, s.Run(strings.Split(*parts, ",")))
	require.NoError(t, os.WriteFile(*report, []byte(page), 0o600))
	t.Log(page)
}

// Each exporter delivers all spans of a short run. The exporter to files works in each scenario.
func TestConfigurations(t *testing.T) {
	to := startReceiver(t)
	for _, batch := range []bool{false, true} {
		for _, exporter := range []string{None, NoOp, Nothing, Stdout, OTLP, OTLPDelayed, OTLPHTTP, STEF, STEFDelayed, File, FileDelayed} {
			c := Config{Exporter: exporter, Scenario: Scenarios[5], Batch: batch, Runs: 20, To: to}
			r := measure[Config, Result](t, "spans", c)
			require.Zero(t, r.Lost, "%+v", c)
			require.Positive(t, r.Mean)
			require.Equal(t, r.Bytes > 0, exporter != None && exporter != NoOp && exporter != Nothing, "%+v", r)
		}
	}
	for _, scenario := range Scenarios {
		r := measure[Config, Result](t, "spans", Config{Exporter: File, Scenario: scenario, Runs: 20, To: to})
		require.EqualValues(t, 20*spansPer(scenario), r.Spans)
		require.Zero(t, r.Lost)
	}
	_, err := Run(Config{Scenario: "none"})
	require.Error(t, err)
	_, err = Run(Config{Scenario: Scenarios[0], Exporter: "none"})
	require.Error(t, err)
	for _, exporter := range []string{None, Stdout, OTLP, OTLPHTTP, OTLPDelayed, STEF, STEFDelayed, File} {
		r := measure[MetricConfig, MetricResult](t, "metrics", MetricConfig{Exporter: exporter, Interval: 1e7, Work: 1_000_000, To: to})
		require.Equal(t, exporter != None, r.Bytes > 0)
	}
}

// The study measures all scenarios, with all statistics, and each exporter of metrics at
// both intervals.
func TestTables(t *testing.T) {
	var spans []Config
	var metrics []MetricConfig
	s := &Study{
		Plan: Short, Log: t.Logf, Dir: t.TempDir(),
		Spans: func(c Config) Result {
			spans = append(spans, c)
			return Result{Config: c, Min: 1, Mean: 2, Median: 3, P99: 4, Max: 5, Std: 6, User: 7, System: 8, Bytes: 9, Spans: 20, Lost: 10, Real: 1}
		},
		Metrics: func(c MetricConfig) MetricResult {
			metrics = append(metrics, c)
			return MetricResult{MetricConfig: c, Real: 1, CPU: 1.5, Own: 1, Bytes: 300}
		},
	}
	text := s.Run(Parts)
	for _, scenario := range Scenarios {
		for _, x := range []string{None, NoOp, Nothing, Stdout, OTLP, OTLPHTTP, STEF, File} {
			require.True(t, slices.ContainsFunc(spans, func(c Config) bool {
				return c.Scenario == scenario && c.Exporter == x && c.Batch && c.Rate == Short.Rate && c.Runs > 0
			}), "%s, %s", scenario, x)
		}
	}
	for _, c := range spans {
		count := 0
		for _, other := range spans {
			if other == c {
				count++
			}
		}
		if c.Rate > 0 {
			require.Equal(t, Short.Rounds, count, "%+v", c)
		}
	}
	// Two scenarios have tables of both processors. Each other scenario has a table of the
	// batch processor, and one table of the simple processor covers all these other scenarios.
	require.Contains(t, text, "\n| exporter | 2 mean | 2 CPU | 3 mean | 3 CPU | 4 mean | 4 CPU | 5 mean | 5 CPU | 6 mean | 6 CPU |\n")
	require.Contains(t, text, "\n| STEF file | 2 | 15 | 2 | 15 | 2 | 15 | 2 | 15 | 2 | 15 |\n")
	require.Equal(t, 4+5, strings.Count(text, header))
	require.Equal(t, 4+5, strings.Count(text, "\n| STEF file | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 0 | 9.0 | 10 |\n"))
	require.Contains(t, text, "\nScenario 6 nested span:\n\n| exporter |")
	require.Contains(t, text, "\n| STEF file | 20 | 50.0 % | 10 |\n", "overload")
	for _, x := range []string{Stdout, OTLP, OTLPHTTP, OTLPDelayed, STEF, STEFDelayed, File} {
		for _, interval := range []time.Duration{500 * time.Millisecond, time.Second} {
			require.True(t, slices.ContainsFunc(metrics, func(c MetricConfig) bool { return c.Exporter == x && c.Interval == interval }), "%s, %s", x, interval)
			require.Contains(t, text, fmt.Sprintf("\n| %s | %s | 1.000 | 0.5000 | 50.00 %% |", x, interval))
		}
	}
}

// A round that lost spans, and so saved CPU time, is not the best round.
func TestBestRound(t *testing.T) {
	f := func(want float64, list ...Result) {
		t.Helper()
		s := &Study{Plan: Plan{Rounds: len(list)}, Log: t.Logf}
		s.Spans = func(Config) Result {
			r := list[0]
			list = list[1:]
			return r
		}
		require.InDelta(t, want, s.best(Config{}).User, 0)
	}
	f(4, Result{User: 5}, Result{User: 4}, Result{User: 3, Lost: 1})
	f(4, Result{User: 3, Lost: 1}, Result{User: 4}, Result{User: 5})
	f(3, Result{User: 1, Lost: 2}, Result{User: 3, Lost: 1}, Result{User: 2, System: 2, Lost: 1})
}

// Each configuration of LTTng is measured while its session runs.
func TestLTTng(t *testing.T) {
	if err := HasLTTng(); err != nil {
		t.Skipf("SKIPPED: no log lines of LTTng: %v", err)
	}
	for _, line := range lines {
		stop, err := StartSession(line, t.TempDir())
		require.NoError(t, err, line)
		r := measure[Config, Result](t, "spans", Config{Exporter: line, Scenario: Scenarios[0], Runs: 30_000})
		lost, err := stop()
		require.NoError(t, err)
		require.Zero(t, lost)
		t.Logf("%s: min %.0f, mean %.0f, median %.0f, p99 %.0f, max %.0f, std %.0f, user %.0f, system %.0f ns", line, r.Min, r.Mean, r.Median, r.P99, r.Max, r.Std, r.User, r.System)
		require.Positive(t, r.Median)
	}
}

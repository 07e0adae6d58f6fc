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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// role makes the test binary a receiver, or a process that is measured.
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

// startReceiver starts the receivers in a separate process.
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

// BenchmarkSpans has a benchmark for each scenario and exporter, all in this process.
// The CPU time is that of this process, and the receivers are in another one.
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
	page := fmt.Sprintf("# Tables of the study\n\n%s, %d processors, %s/%s.\n%s", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, s.Run(strings.Split(*parts, ",")))
	require.NoError(t, os.WriteFile(*report, []byte(page), 0o600))
	t.Log(page)
}

// Each exporter works in each scenario, and delivers all spans at a low rate.
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
	for _, exporter := range []string{None, OTLP, STEF, File} {
		r := measure[MetricConfig, MetricResult](t, "metrics", MetricConfig{Exporter: exporter, Interval: 1e7, Work: 1_000_000, To: to})
		require.Equal(t, exporter != None, r.Bytes > 0)
	}
}

// Each log line of LTTng is measured, with its session.
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/fixtures"
)

// asProgram is an environment variable. If its value is 1, the test binary runs main
// instead of the tests. Any other value is the path that it passes to crashWriter.
const asProgram = "STEF_TEST_MAIN"

// peakFile names the file into which a program writes its maximum memory.
const peakFile = "STEF_TEST_PEAK"

// mainWithPeak is main for TestMemoryOfConvert. On Linux, it writes its own peak memory,
// because the value that the parent process receives (Maxrss) includes memory of the parent.
func mainWithPeak(path string) {
	code := cli.Run(os.Args[1:], cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(path, regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1], 0o600)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(code)
}

func TestMain(m *testing.M) {
	switch as := os.Getenv(asProgram); as {
	case "":
	case "1":
		if path := os.Getenv(peakFile); path != "" {
			mainWithPeak(path)
		}
		main()
	default:
		crashWriter(as)
	}
	goleak.VerifyTestMain(m) // every goroutine that a test started must have ended
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func TestExitCode(t *testing.T) {
	f := func(want int, args ...string) {
		t.Helper()
		err := program(t, args...).Run()
		if want == 0 {
			require.NoError(t, err)
			return
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, want, exit.ExitCode())
	}
	f(0, "version")
	f(1, "cat", os.Args[0])
	f(2)
	f(3, "cat", filepath.Join(t.TempDir(), "none"))
}

// TestFullDevice checks that a full device is an output that cannot be written, not a terminal.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	in := filepath.Join(t.TempDir(), fixtures.TracesName)
	require.NoError(t, os.WriteFile(in, fixtures.Traces(), 0o666))
	cmd := program(t, "convert", "--quiet", in, "-")
	cmd.Stdout = full
	require.Error(t, cmd.Run())
	require.Equal(t, cli.ExitIO, cmd.ProcessState.ExitCode())
}

// TestInterrupt checks that a signal ends the program while it waits for input, and that no files
// remain.
func TestInterrupt(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		cmd := program(t, "convert", "-", filepath.Join(dir, "out.stef"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		half := fixtures.Metrics()
		_, err = in.Write(half[:len(half)/2])
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(list(t, dir)) == 1 }, time.Minute, 5*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(sig))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, 130, exit.ExitCode())
		require.Empty(t, list(t, dir))
		require.Equal(t, "stef convert: interrupted; nothing was written to "+filepath.Join(dir, "out.stef")+"\n", stderr.String())
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A pipe works on both sides: one program writes and the other reads.
func TestPipe(t *testing.T) {
	first := program(t, "convert", "--quiet", "-", "-")
	second := program(t, "convert", "--quiet", "--to", "otlp", "-", "-")
	third := program(t, "convert", "--quiet", "-", "-")
	last := program(t, "stat", "-")
	in, err := first.StdinPipe()
	require.NoError(t, err)
	chain := []*exec.Cmd{first, second, third, last}
	for i, cmd := range chain[:3] {
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		chain[i+1].Stdin = out
	}
	for _, cmd := range chain[:3] {
		require.NoError(t, cmd.Start())
	}
	go func() {
		_, _ = in.Write(fixtures.Logs())
		_ = in.Close()
	}()
	out, err := last.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "records      2,446\n")
	for _, cmd := range chain[:3] {
		require.NoError(t, cmd.Wait())
	}
}

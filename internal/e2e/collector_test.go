// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/freeport"
)

// binaryEnv names the program of the distribution.
const binaryEnv = "STEF_OTELCOL"

// binary returns the program under test, or skips the test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryEnv)
	if path == "" {
		t.Skip("SKIPPED: STEF_OTELCOL names no Collector; make test-collector builds one and runs this")
	}
	return path
}

func long() bool { return os.Getenv("STEF_LONG") != "" }

// freePort returns an unused port of the loopback interface, a new one each time.
func freePort(t *testing.T) int {
	t.Helper()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

func address(t *testing.T) string {
	t.Helper()
	return freeport.Address(t)
}

// collector is a process that runs the program of the distribution.
type collector struct {
	name    string
	command *exec.Cmd
	metrics string // URL of its own metrics
	output  lockedBuffer
	exited  chan struct{}
}

// lockedBuffer stores the output of a process while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// telemetry is the part of a configuration that makes a Collector expose its own metrics. It is a
// format for three values: the level, the port and the pipelines.
const telemetry = `
service:
  telemetry:
    logs:
      level: info
      disable_stacktrace: true
    metrics:
      level: %s
      readers:
        - pull:
            exporter:
              prometheus:
                host: 127.0.0.1
                port: %d
  pipelines:
%s`

func pipelines(receivers, exporters string) string {
	var b strings.Builder
	for _, signal := range []string{"traces", "metrics", "logs"} {
		fmt.Fprintf(&b, "    %s:\n      receivers: [%s]\n      exporters: [%s]\n", signal, receivers, exporters)
	}
	return b.String()
}

// start runs a Collector with a configuration without its service section, waits until it is ready,
// and kills it at the end of the test.
func start(t *testing.T, name, components, pipelines string) *collector {
	t.Helper()
	return startProgram(t, binary(t), "detailed", name, components, pipelines)
}

// startProgram is like start, with a given program and a given level of its metrics.
func startProgram(t *testing.T, program, level, name, components, pipelines string) *collector {
	t.Helper()
	port := freePort(t)
	path := filepath.Join(t.TempDir(), name+".yaml")
	require.NoError(t, os.WriteFile(path, []byte(components+fmt.Sprintf(telemetry, level, port, pipelines)), 0o600))
	return runProgram(t, program, name, path, port)
}

// run runs a Collector with a configuration file. The Collector exposes its own
// metrics on port.
func run(t *testing.T, name, path string, port int, env ...string) *collector {
	t.Helper()
	return runProgram(t, binary(t), name, path, port, env...)
}

func runProgram(t *testing.T, program, name, path string, port int, env ...string) *collector {
	t.Helper()
	c := &collector{name: name, metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", port), exited: make(chan struct{})}
	c.command = exec.Command(program, "--config", path)
	c.command.Env = append(os.Environ(), env...)
	c.command.Stdout, c.command.Stderr = &c.output, &c.output
	require.NoError(t, c.command.Start())
	go func() {
		_ = c.command.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(c.output.String(), 40))
		}
	})
	deadline := time.Now().Add(2 * time.Minute)
	for !strings.Contains(c.output.String(), "Everything is ready") {
		select {
		case <-c.exited:
			require.FailNow(t, name+" ended at start-up", tail(c.output.String(), 40))
		case <-time.After(20 * time.Millisecond):
		}
		require.True(t, time.Now().Before(deadline), "%s is not ready: %s", name, tail(c.output.String(), 40))
	}
	return c
}

func tail(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// kill ends the process immediately, like the kernel when memory runs out.
func (c *collector) kill() {
	_ = c.command.Process.Kill()
	<-c.exited
}

func (c *collector) stop(t *testing.T, within time.Duration) {
	t.Helper()
	require.NoError(t, c.command.Process.Signal(syscall.SIGTERM))
	select {
	case <-c.exited:
	case <-time.After(within):
		require.FailNow(t, c.name+" does not end", tail(c.output.String(), 40))
	}
}

// sum adds up a metric of the Collector over its series that contain all of the
// given texts, and reports whether there is any such series.
func (c *collector) sum(t *testing.T, metric string, parts ...string) (total float64, found bool) {
	t.Helper()
	response, err := http.Get(c.metrics)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		// Some configurations append _total to the names of counters.
		if name != metric && name != metric+"_total" {
			continue
		}
		labels, value, ok := strings.Cut(rest, "} ")
		fits := ok
		for _, part := range parts {
			fits = fits && strings.Contains(labels, part)
		}
		if !fits {
			continue
		}
		v, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
		require.NoError(t, err)
		total, found = total+v, true
	}
	return total, found
}

// memory returns the peak memory of the process in MiB, or 0 if the system does
// not report it.
func (c *collector) memory() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib / 1024
		}
	}
	return 0
}

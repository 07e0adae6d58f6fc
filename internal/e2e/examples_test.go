// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// examples is the directory with the configurations of the distribution.
const examples = "../../cmd/otelcol-stef/examples"

// printed matches what the debug exporter prints about a batch of logs.
var printed = regexp.MustCompile(`"log records": ([1-9][0-9]*)`)

// sumPrinted returns how many log records a Collector printed, and in how many lines.
func sumPrinted(t *testing.T, c *collector) (records, lines int) {
	t.Helper()
	for _, m := range printed.FindAllStringSubmatch(c.output.String(), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		records, lines = records+n, lines+1
	}
	return records, lines
}

// TestExamples starts the distribution with each of its examples, changing only
// the ports, and sends data through them: from edge and agent to the gateway, and
// from the gateway to the sink.
func TestExamples(t *testing.T) {
	binary(t)
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 6, "each example is to be started here; TestFilesKilled starts files.yaml")
	for _, file := range files {
		out, err := exec.Command(binary(t), "validate", "--config", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", file, out)
	}
	s, gateway := newSink(t), address(t)
	begin := func(name string, env ...string) *collector {
		port := freePort(t)
		return run(t, name, filepath.Join(examples, name+".yaml"), port, append(env, fmt.Sprint("METRICS_PORT=", port))...)
	}
	begin("gateway", "GATEWAY="+gateway, "BACKEND="+s.address)
	for _, name := range []string{"agent", "edge"} {
		t.Run(name, func(t *testing.T) {
			entry := address(t)
			c := begin(name, "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+gateway, "GATEWAYS="+gateway, "STORAGE="+t.TempDir())
			before, _, _ := s.counts()
			l := startLoad(t, entry, 20, 2)
			time.Sleep(time.Second)
			l.stop()
			_, accepted, _ := l.results()
			require.NotEmpty(t, accepted)
			require.Eventually(t, func() bool {
				logs, _, _ := s.counts()
				return logs-before >= len(accepted)
			}, 20*time.Second, 50*time.Millisecond)
			c.stop(t, 20*time.Second)
		})
	}
	t.Run("compare", func(t *testing.T) {
		entry := address(t)
		c := begin("compare", "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+gateway, "DISCARD="+address(t))
		before, _, _ := s.counts()
		l := startLoad(t, entry, 20, 2)
		time.Sleep(time.Second)
		l.stop()
		_, accepted, _ := l.results()
		require.NotEmpty(t, accepted)
		of := func(exporter, metric string) float64 {
			total, _ := c.sum(t, metric, `exporter="`+exporter+`"`, `signal="logs"`)
			return total
		}
		for _, exporter := range []string{"stef", "stef/otlp"} {
			require.Eventually(t, func() bool {
				return of(exporter, "otelcol_exporter_stef_items_delivered") == float64(len(accepted))
			}, 20*time.Second, 50*time.Millisecond, exporter)
		}
		logs, _, _ := s.counts()
		require.Equal(t, len(accepted), logs-before, "only those of the exporter stef reach the backend")
		// The example names a ratio of two metrics. Each exporter must count only its own.
		require.NotZero(t, of("stef", "otelcol_exporter_stef_bytes_compressed"))
		require.Zero(t, of("stef", "otelcol_exporter_stef_otlp_bytes_compressed"))
		require.NotZero(t, of("stef/otlp", "otelcol_exporter_stef_otlp_bytes_compressed"))
		require.Zero(t, of("stef/otlp", "otelcol_exporter_stef_bytes_compressed"))
		c.stop(t, 20*time.Second)
	})
	t.Run("backend", func(t *testing.T) {
		entry, exit := address(t), address(t)
		backend := begin("backend", "GATEWAY="+exit)
		begin("agent", "OTLP_GRPC="+entry, "OTLP_HTTP="+address(t), "GATEWAY="+exit)
		l := startLoad(t, entry, 20, 2)
		// By default the Collector drops equal lines after the first ten, so more lines must
		// arrive.
		require.Eventually(t, func() bool {
			_, lines := sumPrinted(t, backend)
			return lines > 12
		}, 20*time.Second, 50*time.Millisecond)
		l.stop()
		_, accepted, _ := l.results()
		// The agent may join requests, so only the sum of the lines is known.
		require.Eventually(t, func() bool {
			records, _ := sumPrinted(t, backend)
			return records == len(accepted)
		}, 20*time.Second, 50*time.Millisecond)
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/diskfault"
)

// TestDiskFullRestart restarts an agent after the disk of its queue was full. If the disk has no
// free byte, each consumer of the queue of the Collector can lose one acknowledged batch. The
// reason is that the queue must append the batches in flight again after the restart. Nothing is
// lost if the disk has free space, or if the queue reaches its own limit before the disk is full.
func TestDiskFullRestart(t *testing.T) {
	binary(t)
	f := func(name string, stop func(*testing.T, *collector), limit int, free bool, most int) {
		t.Run(name, func(t *testing.T) {
			storage := diskfault.Small(t, 1<<20)
			reserve := filepath.Join(storage, "reserve")
			if free {
				require.NoError(t, os.WriteFile(reserve, make([]byte, 256<<10), 0o600))
			}
			s, entry, exit := newSink(t), address(t), address(t)
			config := fmt.Sprintf(`
extensions:
  file_storage: {directory: %s}
receivers:
  otlp: {protocols: {grpc: {endpoint: %s}}}
exporters:
  stef:
    endpoint: %s
    tls: {insecure: true}
    timeout: 1s
    sending_queue: {storage: file_storage, sizer: items, queue_size: %d, block_on_overflow: false}
    retry_on_failure: {initial_interval: 200ms, max_interval: 1s, max_elapsed_time: 0s}
`, storage, entry, exit, limit)
			lines := fmt.Sprintf(soakPipelines, "otlp", "stef", "file_storage")
			agent := start(t, "agent", config, lines)
			l := startLoad(t, entry, 40, 2)
			require.Eventually(t, func() bool {
				_, _, refused := l.results()
				return refused >= 3
			}, 90*time.Second, 50*time.Millisecond, "the agent accepts requests although its queue is full")
			l.stop()
			size, _ := agent.sum(t, "otelcol_exporter_queue_size")
			stop(t, agent)
			if free {
				require.NoError(t, os.Remove(reserve))
			}
			start(t, "backend", fmt.Sprintf(`
receivers:
  stef: {endpoint: %s}
exporters:
  otlp:
    endpoint: %s
    tls: {insecure: true}
    sending_queue: {enabled: false}
`, exit, s.address), pipelines("stef", "otlp"))
			start(t, "agent", config, lines)
			offered, accepted, _ := l.results()
			last, since := -1, time.Now()
			require.Eventually(t, func() bool { // wait until nothing has arrived for 5 seconds
				if once, _, _ := s.numbered(); once != last {
					last, since = once, time.Now()
				}
				return time.Since(since) > 5*time.Second
			}, 2*time.Minute, 100*time.Millisecond)
			missing, twice := s.missing(accepted)
			t.Logf("%d records were acknowledged, and the metric of the queue had %.0f; %d are lost, %d arrived twice", len(accepted), size, missing, twice)
			require.LessOrEqual(t, missing, most)
			require.Less(t, missing, len(accepted))
			require.Zero(t, s.invented(offered))
		})
	}
	kill := func(_ *testing.T, c *collector) { c.kill() }
	end := func(t *testing.T, c *collector) { c.stop(t, time.Minute) }
	const unlimited, inFlight = 10_000_000, consumers * batchSize
	f("full and killed", kill, unlimited, false, inFlight)
	f("full and ended", end, unlimited, false, inFlight)
	f("free space before the restart", kill, unlimited, true, 0)
	f("queue_size that fits", kill, 3000, false, 0)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/netfault"
)

// pair is an agent and a backend with a network between them and a sink behind
// them. The backend has no queue: it acknowledges data after the sink has accepted it.
type pair struct {
	sink           *sink
	network        *netfault.Proxy
	agent, backend *collector
	entry          string // address at which the agent receives OTLP
	exit           string // address at which the backend receives STEF
	protocol       string // configuration keys of the receiver of the backend
}

// backendConfig configures the backend: it receives STEF and sends OTLP to the sink. It has no
// queue and does not retry.
const backendConfig = `
receivers:
  stef:
    endpoint: %s%s
exporters:
  otlp:
    endpoint: %s
    timeout: 5s
    tls: {insecure: true}
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
`

// agentConfig configures the agent: it receives OTLP and sends STEF. It has a queue and retries
// without end.
const agentConfig = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
exporters:
  stef:
    endpoint: %s
%s
    timeout: 5s
    retry_on_failure:
      initial_interval: 200ms
      max_interval: 2s
      max_elapsed_time: 0s
`

const insecureTLS = "    tls: {insecure: true}"

func newPair(t *testing.T) *pair { return newPairWith(t, "", insecureTLS) }

// newPairWith starts a pair. It adds the given configuration keys to the receiver of the backend
// and to the exporter of the agent.
func newPairWith(t *testing.T, receiver, exporter string) *pair {
	t.Helper()
	binary(t)
	p := &pair{sink: newSink(t), entry: address(t), exit: address(t), protocol: receiver}
	var err error
	p.network, err = netfault.NewProxy(netfault.Link{}, p.exit)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.network.Close() })
	p.startBackend(t)
	p.agent = start(t, "agent", fmt.Sprintf(agentConfig, p.entry, p.network.Addr(), exporter), pipelines("otlp", "stef"))
	return p
}

func (p *pair) startBackend(t *testing.T) {
	t.Helper()
	p.backend = start(t, "backend", fmt.Sprintf(backendConfig, p.exit, p.protocol, p.sink.address), pipelines("stef", "otlp"))
}

// maxMemory is the maximum memory of a Collector in any test, in MiB. An idle Collector uses
// about 100 MiB.
const maxMemory = 700

// phase is how long a phase of a test takes: before, during and after a fault.
func phase() time.Duration {
	if long() {
		return 15 * time.Second
	}
	return 2 * time.Second
}

// settle stops the load. It checks that all acknowledged records arrive, that no record arrives
// that was not sent, and that the memory of both Collectors stayed below maxMemory.
func (p *pair) settle(t *testing.T, l *load) {
	t.Helper()
	l.stop()
	offered, accepted, refused := l.results()
	require.NotEmpty(t, accepted)
	require.Eventually(t, func() bool {
		missing, _ := p.sink.missing(accepted)
		return missing == 0
	}, 60*time.Second, 50*time.Millisecond, "records that the agent acknowledged do not arrive")
	_, twice := p.sink.missing(accepted)
	require.Zero(t, p.sink.invented(offered))
	for _, c := range []*collector{p.agent, p.backend} {
		require.Less(t, c.memory(), maxMemory, "MiB of %s", c.name)
	}
	failed, _ := p.agent.sum(t, "otelcol_exporter_stef_failed_attempts")
	t.Logf("%d records offered, %d acknowledged, %d requests refused, %d records came twice, %d failed attempts, agent %d MiB, backend %d MiB",
		offered, len(accepted), refused, twice, int(failed), p.agent.memory(), p.backend.memory())
}

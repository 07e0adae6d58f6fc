// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/netfault"
)

// The load of the fault tests: 50 requests per second, each of 100 records.
const (
	perSecond = 50
	clients   = 5
)

// underFault runs the load before, during and after a fault.
func underFault(t *testing.T, fault, heal func(t *testing.T, p *pair)) {
	t.Helper()
	t.Parallel()
	p := newPair(t)
	l := startLoad(t, p.entry, perSecond, clients)
	time.Sleep(phase())
	fault(t, p)
	time.Sleep(phase())
	heal(t, p)
	time.Sleep(phase())
	p.settle(t, l)
}

func TestBackendKilled(t *testing.T) {
	underFault(t,
		func(t *testing.T, p *pair) { p.backend.kill() },
		func(t *testing.T, p *pair) { p.startBackend(t) })
}

func TestNetworkCut(t *testing.T) {
	underFault(t,
		func(t *testing.T, p *pair) {
			p.network.Refuse(true)
			require.NotZero(t, p.network.Cut())
		},
		func(t *testing.T, p *pair) { p.network.Refuse(false) })
}

func TestNetworkStalled(t *testing.T) {
	underFault(t,
		func(t *testing.T, p *pair) { p.network.Stall(netfault.Both) },
		func(t *testing.T, p *pair) { p.network.Resume(netfault.Both) })
}

// TestBackendSlow: the network to the backend carries a tenth of the load. The
// remaining data waits in the queue of the agent.
func TestBackendSlow(t *testing.T) {
	underFault(t,
		func(t *testing.T, p *pair) {
			before := p.network.Bytes(netfault.Up)
			time.Sleep(time.Second)
			rate := p.network.Bytes(netfault.Up) - before
			require.Positive(t, rate)
			p.network.Rate(netfault.Up, max(rate/10, 1))
		},
		func(t *testing.T, p *pair) { p.network.Rate(netfault.Up, 0) })
}

func TestBackendRefuses(t *testing.T) {
	f := func(name string, code codes.Code, retry time.Duration) {
		t.Run(name, func(t *testing.T) {
			st := status.New(code, "the sink is under pressure")
			if retry > 0 {
				var err error
				st, err = st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retry)})
				require.NoError(t, err)
			}
			underFault(t,
				func(t *testing.T, p *pair) { p.sink.setRefuse(st.Err) },
				func(t *testing.T, p *pair) {
					logs, _, _ := p.sink.counts()
					require.NotZero(t, p.sink.refusals())
					require.NotZero(t, logs)
					p.sink.setRefuse(nil)
				})
		})
	}
	f("unavailable", codes.Unavailable, 0)
	f("unavailable with RetryInfo", codes.Unavailable, 300*time.Millisecond)
	f("resource exhausted with RetryInfo", codes.ResourceExhausted, 300*time.Millisecond)
}

// TestBackendRefusesForGood: after RESOURCE_EXHAUSTED without RetryInfo, the agent
// must not retry. It drops the data and counts it.
func TestBackendRefusesForGood(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	l := startLoad(t, p.entry, perSecond, clients)
	time.Sleep(phase())
	p.sink.setRefuse(status.New(codes.ResourceExhausted, "too much").Err)
	time.Sleep(phase())
	p.sink.setRefuse(nil)
	time.Sleep(phase())
	l.stop()
	_, accepted, _ := l.results()
	var missing int
	var dropped float64
	require.Eventually(t, func() bool {
		missing, _ = p.sink.missing(accepted)
		dropped, _ = p.agent.sum(t, "otelcol_exporter_stef_items_dropped")
		return float64(missing) == dropped
	}, time.Minute, 100*time.Millisecond)
	require.NotZero(t, missing, "the test must cause drops")
	t.Logf("%d of %d records dropped and counted", missing, len(accepted))
}

// TestAgentShutdown: an agent that shuts down under load delivers the data that it
// had acknowledged.
func TestAgentShutdown(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	l := startLoad(t, p.entry, perSecond, clients)
	time.Sleep(phase())
	p.agent.stop(t, time.Minute)
	l.stop()
	offered, accepted, _ := l.results()
	require.NotEmpty(t, accepted)
	require.Eventually(t, func() bool {
		missing, _ := p.sink.missing(accepted)
		return missing == 0
	}, time.Minute, 50*time.Millisecond)
	require.Zero(t, p.sink.invented(offered))
}

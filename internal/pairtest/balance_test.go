// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// backends are receivers behind one name.
type backends struct {
	name  string
	names *manual.Resolver
	addrs []string
	sinks []*sink[ptrace.Traces]
	ends  []*receiverEnd
}

func startBackends(t *testing.T, n int) *backends {
	t.Helper()
	b := &backends{names: manual.NewBuilderWithScheme("stefpair")}
	for range n {
		addr := freeport.Address(t)
		s := newSink(&traceKind)
		b.addrs = append(b.addrs, addr)
		b.sinks = append(b.sinks, s)
		b.ends = append(b.ends, startReceiver(t, &traceKind, receiverConfig(t, addr, ""), s))
	}
	b.names.InitialState(b.state(b.addrs))
	resolver.Register(b.names)
	b.name = b.names.Scheme() + ":///backends:4320"
	return b
}

func (b *backends) state(addrs []string) resolver.State {
	var state resolver.State
	for _, addr := range addrs {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	return state
}

// TestBalance uses three backends behind one name and a sender with three streams. After
// ten lifetimes of a stream, the share of each backend differs from a third by at most 20 %. Then one
// backend shuts down gracefully under load, and no data is lost or sent twice.
func TestBalance(t *testing.T) {
	const (
		lifetime  = 300 * time.Millisecond
		lifetimes = 10
		workers   = 6
	)
	b := startBackends(t, 3)
	x := startExporter(t, &traceKind, exporterConfig(b.name, func(c *stefexporter.Config) {
		c.Protocol = stefexporter.ProtocolSTEF
		c.Stef.NumStreams = 3
		c.Stef.MaxStreamLifetime = lifetime
	}))
	opened := func() int64 { return value(t, x.telemetry, "otelcol_exporter_stef_streams_opened") }
	require.Eventually(t, func() bool { return opened() >= 3 }, time.Minute, time.Millisecond)

	var sent, failed atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := x.send(fmt.Sprintf("%d-%d", w, n)); err != nil {
					t.Error(err)
					failed.Add(1)
				}
				sent.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	time.Sleep(lifetimes * lifetime)
	require.Eventually(t, func() bool { return opened() >= 3*lifetimes }, time.Minute, time.Millisecond)
	var shares []int
	// Wait until each backend has received about a third of all records. On a busy machine, streams send
	// more records in some lifetimes than in others, so this can take more than ten lifetimes. If the
	// exporter preferred one backend, this would never happen.
	require.Eventually(t, func() bool {
		total := 0
		shares = nil
		for _, s := range b.sinks {
			items, _ := s.count()
			shares = append(shares, items)
			total += items
		}
		third := float64(total) / float64(len(shares))
		return !slices.ContainsFunc(shares, func(share int) bool { return math.Abs(float64(share)-third) > 0.2*third })
	}, time.Minute, lifetime/10, "%d", &shares)
	t.Logf("records of each backend: %d", shares)

	b.names.UpdateState(b.state(b.addrs[1:]))
	b.ends[0].stop()
	atDrain, _ := b.sinks[0].count()
	time.Sleep(3 * lifetime)
	cancel()
	group.Wait()

	require.Zero(t, failed.Load(), "a graceful shutdown of a backend must not make a push fail")
	afterDrain, _ := b.sinks[0].count()
	require.Equal(t, atDrain, afterDrain)
	var all, different int
	for _, s := range b.sinks {
		items, ids := s.count()
		all += items
		different += ids
	}
	require.Equal(t, int(sent.Load()), different, "nothing is lost")
	require.Equal(t, different, all, "and nothing is there twice")
	require.Zero(t, value(t, x.telemetry, "otelcol_exporter_stef_items_dropped"))
}

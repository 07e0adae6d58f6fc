// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

// gateTo forwards connections to a receiver. The method cut ends them, like a failure of the
// receiver's machine.
type gateTo struct {
	t      *testing.T
	target string
	addr   string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	running  sync.WaitGroup
}

func startGate(t *testing.T, target string) *gateTo {
	g := &gateTo{t: t, target: target, addr: freeport.Address(t), conns: map[net.Conn]bool{}}
	g.open()
	t.Cleanup(g.cut)
	return g
}

func (g *gateTo) open() {
	listener, err := net.Listen("tcp", g.addr)
	require.NoError(g.t, err)
	g.mu.Lock()
	g.listener = listener
	g.mu.Unlock()
	g.running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			g.running.Go(func() { g.pass(c) })
		}
	})
}

func (g *gateTo) pass(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer to.Close()
	g.mu.Lock()
	g.conns[c], g.conns[to] = true, true
	g.mu.Unlock()
	g.running.Go(func() { _, _ = io.Copy(to, c); to.Close() })
	_, _ = io.Copy(c, to)
}

func (g *gateTo) cut() {
	g.mu.Lock()
	_ = g.listener.Close()
	for c := range g.conns {
		_ = c.Close()
	}
	g.conns = map[net.Conn]bool{}
	g.mu.Unlock()
	g.running.Wait()
}

// spansPerTrace is how many spans each trace has. Most spans of a trace are sent in different
// batches.
const spansPerTrace = 6

// phase sends traces, numbered from first on. Their spans are distributed over many batches in
// random order. It returns the ids of acknowledged spans and the number of failed batches.
func phase(x *exporterEnd[ptrace.Traces], first, traces int, during func()) (acked []string, failed int) {
	type span struct{ trace, n int }
	var list []span
	for i := range traces {
		for n := range spansPerTrace {
			list = append(list, span{first + i, n})
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var mu sync.Mutex
	var group sync.WaitGroup
	work := make(chan []span)
	for range 8 {
		group.Go(func() {
			for part := range work {
				td := ptrace.NewTraces()
				var ids []string
				for _, s := range part {
					id := fmt.Sprintf("%d.%d", s.trace, s.n)
					rs := td.ResourceSpans().AppendEmpty()
					rs.Resource().Attributes().PutStr("service.name", service(id))
					one := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
					one.SetTraceID(traceID(s.trace))
					var spanID pcommon.SpanID
					binary.BigEndian.PutUint64(spanID[:], uint64(s.trace*spansPerTrace+s.n+1))
					one.SetSpanID(spanID)
					one.Attributes().PutStr(idKey, id)
					ids = append(ids, id)
				}
				err := x.push(context.Background(), td)
				mu.Lock()
				if err == nil {
					acked = append(acked, ids...)
				} else {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	for i := 0; len(list) > 0; i++ {
		n := min(len(list), 40)
		work <- list[:n]
		list = list[n:]
		if i == 10 && during != nil {
			during()
		}
	}
	close(work)
	group.Wait()
	return acked, failed
}

func traceID(n int) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n)+1)
	return id
}

// places returns the set of backends at which the spans of each trace arrived, and met, the
// number of traces with only one backend. It considers the given number of traces from first
// on.
func places(sinks []*sink[ptrace.Traces], first, traces int) (at map[int]int, met int) {
	at = map[int]int{}
	for i, s := range sinks {
		s.mu.Lock()
		for id := range s.seen {
			var trace, n int
			_, _ = fmt.Sscanf(id, "%d.%d", &trace, &n)
			if trace >= first && trace < first+traces {
				at[trace] |= 1 << i
			}
		}
		s.mu.Unlock()
	}
	for _, set := range at {
		if set&(set-1) == 0 {
			met++
		}
	}
	return at, met
}

// TestRoutingByTrace sends the spans of traces in random order to three receivers. One receiver is
// cut off and later reachable again. All spans of a trace arrive at one receiver, unless the set of
// receivers changes while they are sent. Only traces of the lost receiver move, and they move back
// when this receiver is reachable again. No acknowledged span is lost.
func TestRoutingByTrace(t *testing.T) {
	t.Parallel()
	traces := 1500
	if testing.Short() {
		traces = 300
	}
	var sinks []*sink[ptrace.Traces]
	var gates []*gateTo
	var endpoints []string
	for range 3 {
		addr := freeport.Address(t)
		s := newSink(&traceKind)
		startReceiver(t, &traceKind, receiverConfig(t, addr, ""), s)
		gate := startGate(t, addr)
		sinks, gates, endpoints = append(sinks, s), append(gates, gate), append(endpoints, gate.addr)
	}
	x := startExporter(t, &traceKind, exporterConfig("", func(c *stefexporter.Config) {
		c.RoutingKey, c.Endpoints, c.Protocol = stefexporter.RoutingTraceID, endpoints, stefexporter.ProtocolSTEF
	}))
	up := func(n int64) {
		t.Helper()
		require.Eventually(t, func() bool { return value(t, x.telemetry, "otelcol_exporter_stef_backend_up") == n }, time.Minute, 5*time.Millisecond)
	}
	up(3)
	var acked []string
	failures := 0
	run := func(name string, first int, during func()) (map[int]int, int) {
		a, f := phase(x, first, traces, during)
		acked, failures = append(acked, a...), failures+f
		at, met := places(sinks, first, traces)
		t.Logf("%s: the spans of %d of %d traces met, %d requests failed", name, met, len(at), f)
		return at, met
	}
	_, met := run("three backends", 0, nil)
	require.Equal(t, traces, met)
	for _, s := range sinks { // each sink has about a third of the spans
		_, different := s.count()
		require.InDelta(t, float64(traces*spansPerTrace)/3, different, float64(traces*spansPerTrace)/8)
	}
	_, met = run("while one is cut off", traces, gates[1].cut)
	require.Greater(t, met, traces/2)
	up(2)
	_, met = run("two backends", 2*traces, nil)
	require.Equal(t, traces, met)
	_, met = run("while it returns", 3*traces, gates[1].open)
	require.Greater(t, met, traces/2)
	up(3)
	_, met = run("three backends again", 4*traces, nil)
	require.Equal(t, traces, met)

	// Send the traces of the first phase again: they arrive at the same receivers as before.
	before, _ := places(sinks, 0, traces)
	_, _ = run("the first traces again", 0, nil)
	after, _ := places(sinks, 0, traces)
	require.Equal(t, before, after)

	require.Zero(t, failures)
	lost := 0
	for _, id := range acked {
		if !sinks[0].has(id) && !sinks[1].has(id) && !sinks[2].has(id) {
			lost++
		}
	}
	require.Zero(t, lost, "of %d acknowledged spans", len(acked))
	require.Positive(t, value(t, x.telemetry, "otelcol_exporter_stef_backend_rerouted_items"))
	require.GreaterOrEqual(t, value(t, x.telemetry, "otelcol_exporter_stef_backend_items"), int64(len(acked)))
}

// TestRoutingByName routes by service to the addresses of a host name. Under load, the exporter
// resolves the host name several times. Every push succeeds, and every item arrives.
func TestRoutingByName(t *testing.T) {
	s := newSink(&traceKind)
	port := strings.TrimPrefix(freeport.Address(t), "127.0.0.1:")
	startReceiver(t, &traceKind, receiverConfig(t, "127.0.0.1:"+port, ""), s)
	x := startExporter(t, &traceKind, exporterConfig("localhost:"+port, func(c *stefexporter.Config) {
		c.RoutingKey, c.Protocol, c.ResolveInterval = stefexporter.RoutingService, stefexporter.ProtocolSTEF, 200*time.Millisecond
	}))
	acked, failed := phase(x, 0, 200, func() { time.Sleep(500 * time.Millisecond) })
	require.Zero(t, failed)
	_, different := s.count()
	require.Equal(t, len(acked), different)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	bin "encoding/binary" // named bin, because the function binary returns the Collector
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	backends      = 3
	spansPerTrace = 6
)

// routingConfig configures the agent: it receives OTLP, and sends each trace as STEF to one of
// three backends.
const routingConfig = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
exporters:
  stef:
    routing_key: traceID
    endpoints: [%s, %s, %s]
    protocol: stef
    tls: {insecure: true}
    timeout: 5s
    retry_on_failure:
      initial_interval: 200ms
      max_interval: 1s
      max_elapsed_time: 0s
`

// places stores at which backends each span arrived. Each backend has a bit.
type places struct {
	mu    sync.Mutex
	spans map[uint64]uint8 // key: span id
}

type placeSink struct {
	ptraceotlp.UnimplementedGRPCServer
	*places
	bit uint8
}

func (s *placeSink) Export(_ context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range request.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				id := span.SpanID()
				s.spans[bin.BigEndian.Uint64(id[:])] |= s.bit
			}
		}
	}
	return ptraceotlp.NewExportResponse(), nil
}

func (p *places) serve(t *testing.T, backend int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, &placeSink{places: p, bit: 1 << backend})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return l.Addr().String()
}

func (p *places) arrived(ids []uint64) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if p.spans[id] != 0 {
			n++
		}
	}
	return n
}

// complete examines the given number of traces from first on. whole is the number of traces with all
// spans at one backend, and shares is the number of these traces at each backend. together is a mean over
// the traces: the number of spans at the backend that received the most spans of the trace. A span counts
// at each backend where it arrived.
func (p *places) complete(first, traces int) (whole int, shares [backends]int, together float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for trace := first; trace < first+traces; trace++ {
		at := uint8(0)
		var spans [backends]int
		for n := range spansPerTrace {
			where := p.spans[spanNumber(trace, n)]
			at |= where
			for b := range spans {
				spans[b] += int(where >> b & 1)
			}
		}
		together += float64(slices.Max(spans[:])) / float64(traces)
		if bits.OnesCount8(at) == 1 {
			whole++
			shares[bits.TrailingZeros8(at)]++
		}
	}
	return whole, shares, together
}

func spanNumber(trace, n int) uint64 { return uint64(trace*spansPerTrace+n) + 1 }

// sendTraces sends the spans of traces in random order, 40 spans per request. When half of the spans
// are sent, it calls halfway, unless this is nil. It returns the ids of the acknowledged spans.
func sendTraces(t *testing.T, entry string, first, traces int, halfway func()) (acknowledged []uint64) {
	t.Helper()
	conn, err := grpc.NewClient(entry, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := ptraceotlp.NewGRPCClient(conn)
	list := rand.Perm(traces * spansPerTrace)
	var mu sync.Mutex
	var group sync.WaitGroup
	work := make(chan []int)
	for range 4 {
		group.Go(func() {
			for part := range work {
				td := ptrace.NewTraces()
				spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
				var ids []uint64
				for _, i := range part {
					trace, id := first+i/spansPerTrace, spanNumber(first+i/spansPerTrace, i%spansPerTrace)
					span := spans.AppendEmpty()
					var traceID pcommon.TraceID
					bin.BigEndian.PutUint64(traceID[8:], uint64(trace)+1)
					var spanID pcommon.SpanID
					bin.BigEndian.PutUint64(spanID[:], id)
					span.SetTraceID(traceID)
					span.SetSpanID(spanID)
					ids = append(ids, id)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				_, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
				cancel()
				if err == nil {
					mu.Lock()
					acknowledged = append(acknowledged, ids...)
					mu.Unlock()
				}
			}
		})
	}
	half := len(list) / 2
	for len(list) > 0 {
		if len(list) <= half && halfway != nil {
			halfway()
			halfway = nil
		}
		n := min(len(list), 40)
		work <- list[:n]
		list = list[n:]
		time.Sleep(5 * time.Millisecond) // so that sending lasts longer than the fault
	}
	close(work)
	group.Wait()
	return acknowledged
}

func tracesOf(receiver, exporter string) string {
	return fmt.Sprintf("    traces:\n      receivers: [%s]\n      exporters: [%s]\n", receiver, exporter)
}

// TestRoutingBackendKilled kills one of three backends with SIGKILL and starts it again,
// while an agent sends each trace to one of them.
func TestRoutingBackendKilled(t *testing.T) {
	t.Parallel()
	traces := 400
	if long() {
		traces = 4000
	}
	p := &places{spans: map[uint64]uint8{}}
	var sinks, exits [backends]string
	var processes [backends]*collector
	begin := func(i int) {
		processes[i] = start(t, fmt.Sprintf("backend %d", i), fmt.Sprintf(backendConfig, exits[i], "", sinks[i]), tracesOf("stef", "otlp"))
	}
	for i := range backends {
		sinks[i], exits[i] = p.serve(t, i), address(t)
		begin(i)
	}
	entry := address(t)
	agent := start(t, "agent", fmt.Sprintf(routingConfig, entry, exits[0], exits[1], exits[2]), tracesOf("otlp", "stef"))
	areUp := func(n float64) bool {
		sum, found := agent.sum(t, "otelcol_exporter_stef_backend_up")
		return found && sum == n
	}
	up := func(n float64) {
		t.Helper()
		require.Eventually(t, func() bool { return areUp(n) }, time.Minute, 20*time.Millisecond)
	}
	phases := 0
	run := func(name string, halfway func()) (whole int, shares [backends]int) {
		t.Helper()
		first := phases * traces
		phases++
		acknowledged := sendTraces(t, entry, first, traces, halfway)
		require.Len(t, acknowledged, traces*spansPerTrace, name)
		require.Eventually(t, func() bool { return p.arrived(acknowledged) == len(acknowledged) }, 60*time.Second, 20*time.Millisecond,
			"%s: spans that the agent acknowledged do not arrive", name)
		whole, shares, together := p.complete(first, traces)
		t.Logf("%s: %d of %d traces have all spans at one backend, by backend %d; %.2f of %d spans of a trace in one place", name, whole, traces, shares, together, spansPerTrace)
		require.GreaterOrEqual(t, together, float64(spansPerTrace*whole)/float64(traces)-1e-6)
		return whole, shares
	}

	run("first connections", nil)
	up(3)
	whole, before := run("three backends", nil)
	require.Equal(t, traces, whole)
	for _, share := range before {
		require.InDelta(t, float64(traces)/backends, share, float64(traces)/8)
	}
	whole, _ = run("while one is killed", func() { processes[1].kill() })
	require.Greater(t, whole, traces/3)
	up(2)
	whole, shares := run("two backends", nil)
	require.Equal(t, traces, whole)
	require.Zero(t, shares[1])
	begin(1)
	for deadline := time.Now().Add(30 * time.Second); !areUp(3); { // the exporter tries to connect every 5 s
		require.True(t, time.Now().Before(deadline))
		whole, _ = run("while it returns", nil)
		require.Greater(t, whole, traces/3)
	}
	whole, shares = run("three backends again", nil)
	require.Equal(t, traces, whole)
	require.Positive(t, shares[1])
}

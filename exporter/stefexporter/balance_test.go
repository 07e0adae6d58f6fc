// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestChoose checks that each backend gets about the same number of routing keys. When a backend is
// removed, only its keys move, and the other backends get about equal shares of them.
func TestChoose(t *testing.T) {
	const keys, n = 30_000, 5
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, seedOf(fmt.Sprintf("10.0.0.%d:4320", i)))
	}
	var share [n]int
	moved := map[int]int{}
	for i := range keys {
		var id [16]byte
		binary.BigEndian.PutUint64(id[8:], uint64(i)) // ids that differ little
		key := keyOfTrace(id)
		before := choose(seeds, key)
		share[before]++
		after := choose(seeds[:n-1], key)
		if before < n-1 {
			require.Equal(t, before, after)
		} else {
			moved[after]++
		}
	}
	for i := range n {
		require.InDelta(t, keys/n, share[i], keys/n*0.05, "backend %d", i)
	}
	for i := range n - 1 {
		require.InDelta(t, keys/n/(n-1), moved[i], keys/n/(n-1)*0.15, "to backend %d", i)
	}
	require.Equal(t, -1, choose(nil, 1))
	require.NotEqual(t, keyOfText("a"), keyOfText("b"))
}

// TestSplit checks that splitting a batch for the backends neither loses nor adds items, and keeps
// the items of a routing key together. If all items belong to one part, the batch is not copied.
func TestSplit(t *testing.T) {
	where := func(n int) func(uint64) int { return func(key uint64) int { return int(key % uint64(n)) } }
	td := ptrace.NewTraces()
	for r := range 4 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl("r")
		rs.Resource().Attributes().PutStr("service.name", fmt.Sprint("service", r))
		for range 3 {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.SetSchemaUrl("s")
			ss.Scope().SetName("scope")
			for i := range 20 {
				s := ss.Spans().AppendEmpty()
				s.SetTraceID([16]byte{byte(i % 7)})
				s.SetName(fmt.Sprint(r, i))
				s.Events().AppendEmpty().SetName("event")
			}
		}
	}
	for _, key := range []RoutingKey{RoutingTraceID, RoutingService} {
		s := tracesSplitter(key)
		parts := s.split(td, where(3))
		require.Greater(t, len(parts), 1)
		of, total := map[string]int{}, 0
		joined := ptrace.NewTraces()
		for i, part := range parts {
			total += part.SpanCount()
			for _, rs := range part.ResourceSpans().All() {
				require.Equal(t, "r", rs.SchemaUrl())
				name, _ := rs.Resource().Attributes().Get("service.name")
				for _, ss := range rs.ScopeSpans().All() {
					require.Equal(t, "s"+"scope", ss.SchemaUrl()+ss.Scope().Name())
					for _, span := range ss.Spans().All() {
						together := span.TraceID().String()
						if key == RoutingService {
							together = name.Str()
						}
						if have, ok := of[together]; ok {
							require.Equal(t, have, i)
						}
						of[together] = i
						require.Equal(t, 1, span.Events().Len())
					}
				}
			}
			signal.Traces.MoveTo(part, joined)
		}
		require.Equal(t, td.SpanCount(), total)
		require.Equal(t, td.SpanCount(), joined.SpanCount())
		single := s.split(td, func(uint64) int { return 2 })
		require.Equal(t, map[int]ptrace.Traces{2: td}, single)
		require.Empty(t, s.split(ptrace.NewTraces(), where(3)))
	}

	md, ld := pmetric.NewMetrics(), plog.NewLogs()
	for i := range 20 {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("service.name", fmt.Sprint(i%5))
		rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("service.name", fmt.Sprint(i%5))
		rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	}
	points, records := 0, 0
	for _, part := range metricsSplitter(RoutingTraceID).split(md, where(3)) {
		points += part.DataPointCount()
	}
	for _, part := range logsSplitter(RoutingTraceID).split(ld, where(3)) {
		records += part.LogRecordCount()
	}
	require.Equal(t, []int{20, 20}, []int{points, records})
}

func routed(t *testing.T, names func() ([]string, error)) *stefExporter[ptrace.Traces] {
	t.Helper()
	c := createDefaultConfig().(*Config)
	c.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]() // push does not retry
	c.ClientConfig.Endpoint, c.ClientConfig.TLS.Insecure = "backends.example:4320", true
	c.RoutingKey, c.ResolveInterval = RoutingTraceID, 100*time.Millisecond
	c.Protocol, c.Stef.FlushInterval, c.TimeoutConfig.Timeout = ProtocolSTEF, time.Millisecond, 2*time.Second
	x, err := newExporter(c, signal.Traces, tracesSplitter, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	x.lookup = func(_ context.Context, host string) ([]string, error) {
		require.Equal(t, "backends.example", host)
		return names()
	}
	require.NoError(t, x.start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, x.shutdown(context.Background())) })
	return x
}

// TestResolve: when the addresses of a name change, backends are added and removed. If the name cannot
// be resolved, the backends do not change.
func TestResolve(t *testing.T) {
	t.Parallel()
	p := listen(t, &peer{}, "", true, false)
	_, port, err := net.SplitHostPort(p.addr)
	require.NoError(t, err)
	var mu sync.Mutex
	addresses, failure := []string(nil), errors.New("no such host")
	set := func(err error, list ...string) {
		mu.Lock()
		defer mu.Unlock()
		addresses, failure = list, err
	}
	x := routed(t, func() ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		return addresses, failure
	})
	x.config.ClientConfig.Endpoint = "backends.example:" + port
	batch := func() ptrace.Traces {
		b := spans("a", "b", "c")
		b.MarkReadOnly() // as for an exporter that shares the batch with other exporters
		return b
	}
	err = x.push(context.Background(), batch())
	require.ErrorIs(t, err, errNoBackend)
	require.False(t, consumererror.IsPermanent(err))
	var rest consumererror.Traces
	require.ErrorAs(t, err, &rest)
	require.Equal(t, 3, rest.Data().SpanCount())

	count := func() int { return len(x.balancer.list()) }
	set(nil, "127.0.0.1")
	require.Eventually(t, func() bool { return count() == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, x.push(context.Background(), batch()))
	require.Len(t, p.bySTEF, 3)
	set(errors.New("server failure"))
	time.Sleep(300 * time.Millisecond)
	require.Equal(t, 1, count())
	require.NoError(t, x.push(context.Background(), batch()))

	// 127.0.0.2 refuses connections. The batches for it are sent to the other backend.
	set(nil, "127.0.0.1", "127.0.0.2")
	require.Eventually(t, func() bool { return count() == 2 }, time.Minute, 5*time.Millisecond)
	for range 10 {
		require.NoError(t, x.push(context.Background(), batch()))
	}
	require.Eventually(t, func() bool { return x.gauges().backends["127.0.0.2:"+port] == false }, time.Minute, 5*time.Millisecond)
	set(nil, "127.0.0.2")
	require.Eventually(t, func() bool { return count() == 1 }, time.Minute, 5*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err = x.push(ctx, batch()) // push waits for a stream, as with a single backend
	require.ErrorAs(t, err, &rest)
	require.Equal(t, 3, rest.Data().SpanCount())
}

// TestResolveServerName connects to a backend whose certificate has another name than the endpoint.
// tls::server_name_override is the name of the certificate.
func TestResolveServerName(t *testing.T) {
	web := httptest.NewTLSServer(nil) // its certificate is for example.com
	defer web.Close()
	p := listen(t, &peer{}, "", true, false, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	_, port, err := net.SplitHostPort(p.addr)
	require.NoError(t, err)
	c := testConfig("backends.example:" + port)
	c.RoutingKey = RoutingTraceID
	c.ClientConfig.TLS = configtls.ClientConfig{ServerName: "example.com"}
	c.ClientConfig.TLS.CAPem = configopaque.String(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	x, err := newExporter(c, signal.Traces, tracesSplitter, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	x.lookup = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	require.NoError(t, x.start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, x.shutdown(context.Background())) }()
	require.NoError(t, x.push(t.Context(), spans("a")))
}

// TestBackendDiesWhileSplitting: a backend goes down after it was chosen for a part of a batch.
func TestBackendDiesWhileSplitting(t *testing.T) {
	dies, stays := listen(t, &peer{}, "", true, false), listen(t, &peer{}, "", true, false)
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{dies.addr, stays.addr}
	var x *stefExporter[ptrace.Traces]
	s := tracesSplitter(RoutingTraceID)
	split, kill := s.split, sync.OnceFunc(func() {
		dies.stop(t)
		require.Eventually(t, func() bool { return !x.gauges().backends[dies.addr] }, time.Minute, time.Millisecond)
	})
	s.split = func(b ptrace.Traces, where func(uint64) int) map[int]ptrace.Traces {
		parts := split(b, where)
		kill()
		return parts
	}
	x, err := newExporter(c, signal.Traces, func(RoutingKey) splitter[ptrace.Traces] { return s }, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	require.NoError(t, x.start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, x.shutdown(context.Background())) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, x.push(ctx, spans("a", "b", "c", "d", "e", "f", "g", "h")))
	bySTEF, _ := stays.got()
	require.Equal(t, 8, bySTEF)
}

// TestRemovedBackendAtShutdown: a shutdown waits for a removed backend only until its own deadline.
func TestRemovedBackendAtShutdown(t *testing.T) {
	hangs := listen(t, &peer{onStream: func(s *stefgrpc.ServerStream) error {
		<-s.Context().Done()
		return nil
	}}, "", true, false)
	stays := listen(t, &peer{}, "", true, false)
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{hangs.addr, stays.addr}
	c.Stef.ShutdownDrainTimeout = time.Hour
	x, err := newExporter(c, signal.Traces, tracesSplitter, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	require.NoError(t, x.start(t.Context(), componenttest.NewNopHost()))
	require.Eventually(t, func() bool { return x.gauges().live == 2 }, time.Minute, time.Millisecond)
	require.NoError(t, x.balancer.set(t.Context(), []string{stays.addr}))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.NoError(t, x.shutdown(ctx))
	require.Less(t, time.Since(began), time.Minute)
}

// TestResourceWithoutItems: the exporter does not send a resource without items. So the batch does not
// fail if the backend for this resource is down.
func TestResourceWithoutItems(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	const down = "127.0.0.1:1"
	c := testConfig("")
	c.Protocol, c.RoutingKey, c.Endpoints = ProtocolOTLP, RoutingService, []string{down, p.addr}
	x := start(t, c)
	td, places := ptrace.NewTraces(), map[int]bool{}
	for i := 0; len(places) < 2; i++ {
		name := fmt.Sprint(i)
		place := choose([]uint64{seedOf(down), seedOf(p.addr)}, keyOfText(name))
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", name)
		if places[place] = true; place == 1 {
			rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetTraceID([16]byte{1})
		}
	}
	require.NoError(t, x.ConsumeTraces(t.Context(), td))
	_, byOTLP := p.got()
	require.Equal(t, td.SpanCount(), byOTLP)
	require.Empty(t, counted(t, x, "failed_attempts", "code"))
}

// TestPartDropped: if one backend refuses its part of a batch permanently, the log says why.
func TestPartDropped(t *testing.T) {
	refuse := func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		return ptraceotlp.ExportResponse{}, status.Error(codes.InvalidArgument, "bad data")
	}
	bad, good := listen(t, &peer{onRequest: refuse}, "", false, true), listen(t, &peer{}, "", false, true)
	core, logs := observer.New(zap.WarnLevel)
	c := testConfig("")
	c.Protocol, c.RoutingKey, c.Endpoints = ProtocolOTLP, RoutingTraceID, []string{bad.addr, good.addr}
	x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	var list []string
	for i := range 32 { // both backends get some of these traces
		list = append(list, fmt.Sprint(i))
	}
	require.NoError(t, x.send(list...))
	_, delivered := good.got()
	dropped(t, x, map[string]int64{dropPermanent: int64(32 - delivered)})
	lines := logs.FilterMessageSnippet("refuses its part of a batch").All()
	require.Len(t, lines, 1, "%v", logs.All())
	require.EqualValues(t, 32-delivered, lines[0].ContextMap()["items"])
	require.Contains(t, fmt.Sprint(lines[0].ContextMap()["error"]), "bad data")
	require.Contains(t, fmt.Sprint(lines[0].ContextMap()["error"]), bad.addr)
	require.NoError(t, x.send(list...))
	require.Len(t, logs.FilterMessageSnippet("refuses its part of a batch").All(), 1, "not each time")
}

// TestPartPartlyDropped: a backend accepts some items of its part of a batch and refuses the others
// permanently. The log line has the number of dropped items.
func TestPartPartlyDropped(t *testing.T) {
	accept := &peer{onStream: func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil || !r.Next() || !r.Next() {
			return errors.Join(err, r.Err())
		}
		s.AckUpTo(2)
		return status.Error(codes.InvalidArgument, "bad data")
	}}
	bad, good := listen(t, accept, "", true, false), listen(t, &peer{}, "", true, false)
	core, logs := observer.New(zap.WarnLevel)
	c := testConfig("")
	c.Protocol, c.RoutingKey, c.Endpoints = ProtocolSTEF, RoutingTraceID, []string{bad.addr, good.addr}
	x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	var list []string
	for i := range 32 {
		list = append(list, fmt.Sprint(i))
	}
	require.NoError(t, x.send(list...))
	delivered, _ := good.got()
	dropped(t, x, map[string]int64{dropPermanent: int64(32 - delivered - 2)})
	lines := logs.FilterMessageSnippet("refuses its part of a batch").All()
	require.Len(t, lines, 1, "%v", logs.All())
	require.EqualValues(t, 32-delivered-2, lines[0].ContextMap()["items"])
}

// TestBackendItems: the metric of the items of each backend does not count items that the backend
// rejects.
func TestBackendItems(t *testing.T) {
	reject := func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		response := ptraceotlp.NewExportResponse()
		response.PartialSuccess().SetRejectedSpans(3)
		return response, nil
	}
	p := listen(t, &peer{onRequest: reject}, "", false, true)
	c := testConfig("")
	c.Protocol, c.RoutingKey, c.Endpoints = ProtocolOTLP, RoutingTraceID, []string{p.addr}
	x := startOn(t, c, componenttest.NewNopHost(), zap.NewNop())
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	require.NoError(t, x.send("a", "b", "c", "d", "e"))
	require.Equal(t, map[string]int64{p.addr: 2}, counted(t, x, "backend_items", "endpoint"))
	require.Equal(t, map[string]int64{"otlp": 2}, counted(t, x, "items_delivered", "protocol"))
}

func TestRoutingMistakes(t *testing.T) {
	f := func(want string, change func(*Config)) {
		t.Helper()
		c := createDefaultConfig().(*Config)
		c.RoutingKey, c.Endpoints = RoutingTraceID, []string{"a:4320", "b:4320"}
		require.NoError(t, c.validateRouting())
		change(c)
		require.ErrorContains(t, c.Validate(), want)
	}
	f("endpoints is set without routing_key", func(c *Config) { c.RoutingKey = "" })
	f(`routing_key is "tenant": set it to traceID or service`, func(c *Config) { c.RoutingKey = "tenant" })
	f("endpoint and endpoints are both set", func(c *Config) { c.ClientConfig.Endpoint = "c:4320" })
	f("remove otlp_fallback::endpoint", func(c *Config) { c.Fallback.Endpoint = "c:4317" })
	f("resolve_interval is 1ms", func(c *Config) { c.ResolveInterval = time.Millisecond })
	f(`endpoints has "a:4320", which is empty or repeated`, func(c *Config) { c.Endpoints = []string{"a:4320", "a:4320"} })
	f("set the port to a number", func(c *Config) { c.Endpoints = []string{"a:99999"} })
	f("set it to host:port, because the backends are the addresses of host", func(c *Config) { c.Endpoints, c.ClientConfig.Endpoint = nil, "unix:///x" })
	f("endpoint is missing", func(c *Config) { c.Endpoints = nil })
}

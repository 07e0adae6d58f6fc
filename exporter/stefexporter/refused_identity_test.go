// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
)

// TestRefusedIdentityIsNoOutage: if backends refuse the streams of one tenant, they do not count as
// down, because they accept another tenant. This also holds if the streams of the other tenant have
// ended because they were idle.
func TestRefusedIdentityIsNoOutage(t *testing.T) {
	auth := grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if md, _ := grpcmetadata.FromIncomingContext(s.Context()); len(md.Get("tenant")) == 1 && md.Get("tenant")[0] == "bad" {
			return status.Error(codes.Unauthenticated, "unknown tenant")
		}
		return handle(srv, s)
	})
	one, two := listen(t, &peer{}, "", true, false, auth), listen(t, &peer{}, "", true, false, auth)
	f := func(idle bool) {
		t.Helper()
		core, logs := observer.New(zap.WarnLevel)
		c := testConfig("")
		c.RoutingKey, c.Endpoints = RoutingTraceID, []string{one.addr, two.addr}
		c.MetadataKeys = []string{"tenant"}
		if idle {
			c.Stef.IdleTimeout = 10 * time.Millisecond
		}
		x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
		defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
		send := func(tenant string) error {
			return x.ConsumeTraces(contextOf(map[string][]string{"tenant": {tenant}}), spans("a", "b", "c", "d", "e", "f", "g", "h"))
		}
		require.NoError(t, send("good"))
		if idle {
			time.Sleep(100 * time.Millisecond)
		}
		err := send("bad")
		require.True(t, consumererror.IsPermanent(err), "%v", err)
		require.NoError(t, send("good"))
		require.Zero(t, logs.FilterMessageSnippet("does not answer").Len(), "%v", logs.All())
		dropped(t, x, map[string]int64{dropPermanent: 8})
		got := counted(t, x, "backend_rerouted_items", "endpoint")
		require.Empty(t, got)
	}
	f(false)
	f(true)
}

// TestFirstIdentityRefused: if a backend refuses the credentials of its first client, the exporter regards the
// backend as down. Nevertheless, the telemetry of another client is sent to this backend, with its own credentials.
func TestFirstIdentityRefused(t *testing.T) {
	auth := grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if md, _ := grpcmetadata.FromIncomingContext(s.Context()); len(md.Get("tenant")) == 1 && md.Get("tenant")[0] == "bad" {
			return status.Error(codes.Unauthenticated, "unknown tenant")
		}
		return handle(srv, s)
	})
	peers := []*peer{listen(t, &peer{}, "", true, false, auth), listen(t, &peer{}, "", true, false, auth)}
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{peers[0].addr, peers[1].addr}
	c.MetadataKeys = []string{"tenant"}
	x := startOn(t, c, componenttest.NewNopHost(), zap.NewNop())
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	seeds := []uint64{seedOf(peers[0].addr), seedOf(peers[1].addr)}
	send := func(tenant string, to int) error {
		td := spans(tenant)
		id := [16]byte{1}
		for choose(seeds, keyOfTrace(id)) != to {
			id[0]++
		}
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetTraceID(id)
		return x.ConsumeTraces(contextOf(map[string][]string{"tenant": {tenant}}), td)
	}
	require.NoError(t, send("good", 1))
	err := send("bad", 0)
	require.True(t, consumererror.IsPermanent(err), "%v", err)
	require.NoError(t, send("good", 0))
	first, _ := peers[0].got()
	second, _ := peers[1].got()
	require.Equal(t, []int{1, 1}, []int{first, second})
}

// requireBusy sends batches until an error says that the peer refused the stream. Several batches may
// be necessary: on a busy machine, a batch can time out before the first attempt to open a stream has
// ended.
func requireBusy(t *testing.T, send func() error) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := send()
		require.Error(t, err)
		require.False(t, consumererror.IsPermanent(err), "%v", err)
		return strings.Contains(err.Error(), "maximum number of streams")
	}, time.Minute, time.Millisecond)
}

// TestBusyIdentityIsNoOutage: if a backend has too many streams, it may refuse the streams of one
// identity. The backend does not count as down while streams of other identities are open.
func TestBusyIdentityIsNoOutage(t *testing.T) {
	busy := grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if md, _ := grpcmetadata.FromIncomingContext(s.Context()); len(md.Get("tenant")) == 1 && md.Get("tenant")[0] == "late" {
			return status.Error(codes.Unavailable, "the server has reached its maximum number of streams")
		}
		return handle(srv, s)
	})
	one, two := listen(t, &peer{}, "", true, false, busy), listen(t, &peer{}, "", true, false)
	core, logs := observer.New(zap.WarnLevel)
	c := testConfig("")
	c.RoutingKey, c.Endpoints = RoutingTraceID, []string{one.addr, two.addr}
	c.MetadataKeys = []string{"tenant"}
	x := startOn(t, c, componenttest.NewNopHost(), zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	send := func(tenant string) error {
		ctx, cancel := context.WithTimeout(contextOf(map[string][]string{"tenant": {tenant}}), 500*time.Millisecond)
		defer cancel()
		var list []string
		for i := range 32 { // both backends get some of these traces
			list = append(list, fmt.Sprint(i))
		}
		return x.ConsumeTraces(ctx, spans(list...))
	}
	require.Eventually(t, func() bool { return send("good") == nil }, time.Minute, time.Millisecond)
	requireBusy(t, func() error { return send("late") })
	require.Eventually(t, func() bool { return send("good") == nil }, time.Minute, time.Millisecond)
	require.Zero(t, logs.FilterMessageSnippet("does not answer").Len(), "%v", logs.All())
	require.Empty(t, counted(t, x, "backend_rerouted_items", "endpoint"))
}

// TestBusyIdentitiesOfOneBackend: if the peer has too many streams, it may refuse the streams of
// some identities. The exporter reports no problem while the streams of another identity are open.
func TestBusyIdentitiesOfOneBackend(t *testing.T) {
	busy := grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if md, _ := grpcmetadata.FromIncomingContext(s.Context()); md.Get("tenant")[0] != "good" {
			return status.Error(codes.Unavailable, "the server has reached its maximum number of streams")
		}
		return handle(srv, s)
	})
	one := listen(t, &peer{}, "", true, false, busy)
	core, logs := observer.New(zap.WarnLevel)
	c := testConfig(one.addr)
	c.MetadataKeys = []string{"tenant"}
	host := &statusHost{Host: componenttest.NewNopHost()}
	x := startOn(t, c, host, zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	send := func(tenant string) error {
		ctx, cancel := context.WithTimeout(contextOf(map[string][]string{"tenant": {tenant}}), 500*time.Millisecond)
		defer cancel()
		return x.ConsumeTraces(ctx, spans("a"))
	}
	require.Eventually(t, func() bool { return send("good") == nil }, time.Minute, time.Millisecond)
	for i := range 3 { // each opens several streams in vain
		requireBusy(t, func() error { return send(fmt.Sprint("late", i)) })
	}
	require.Eventually(t, func() bool { return send("good") == nil }, time.Minute, time.Millisecond)
	require.Zero(t, logs.FilterMessageSnippet("No traces can be sent").Len(), "%v", logs.All())
	host.mu.Lock()
	defer host.mu.Unlock()
	for _, e := range host.events {
		require.Equal(t, componentstatus.StatusOK, e.Status())
	}
}

// TestRefusedIdentityByOTLP: the exporter reports no problem if the peer refuses the OTLP requests of
// one identity and accepts those of another.
func TestRefusedIdentityByOTLP(t *testing.T) {
	one := listen(t, &peer{onRequest: func(ctx context.Context, _ ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		if md, _ := grpcmetadata.FromIncomingContext(ctx); md.Get("tenant")[0] == "bad" {
			err = status.Error(codes.Unauthenticated, "unknown tenant")
		}
		return r, err
	}}, "", false, true)
	core, logs := observer.New(zap.WarnLevel)
	c := testConfig(one.addr)
	c.Protocol = ProtocolOTLP
	c.MetadataKeys = []string{"tenant"}
	host := &statusHost{Host: componenttest.NewNopHost()}
	x := startOn(t, c, host, zap.New(core))
	defer func() { require.NoError(t, x.Shutdown(t.Context())) }()
	send := func(tenant string) error {
		return x.ConsumeTraces(contextOf(map[string][]string{"tenant": {tenant}}), spans("a"))
	}
	for range 3 {
		require.NoError(t, send("good"))
		for range 2 * failuresUntilBad {
			require.True(t, consumererror.IsPermanent(send("bad")))
		}
	}
	require.Zero(t, logs.FilterMessageSnippet("No traces can be sent").Len(), "%v", logs.All())
	require.Len(t, host.events, 1)
	require.Equal(t, componentstatus.StatusOK, host.events[0].Status())
}

// TestRefusedByOTLPSinceLong: the peer accepted OTLP requests of one identity only long ago, for example
// with an old token. If it now refuses all requests, the exporter reports a problem.
func TestRefusedByOTLPSinceLong(t *testing.T) {
	one := listen(t, &peer{onRequest: func(ctx context.Context, _ ptrace.Traces) (r ptraceotlp.ExportResponse, err error) {
		if md, _ := grpcmetadata.FromIncomingContext(ctx); md.Get("token")[0] != "old" {
			err = status.Error(codes.Unauthenticated, "the account is closed")
		}
		return r, err
	}}, "", false, true)
	c := testConfig(one.addr)
	c.Protocol = ProtocolOTLP
	c.MetadataKeys = []string{"token"}
	host := &statusHost{Host: componenttest.NewNopHost()}
	x := startSignalOn(t, c, signal.Traces, host)
	send := func(token string) error {
		return x.push(contextOf(map[string][]string{"token": {token}}), spans("a"))
	}
	require.NoError(t, send("old"))
	for range failuresUntilBad {
		require.Error(t, send("new"))
	}
	require.Equal(t, componentstatus.StatusOK, host.last().Status())
	long := time.Now().Add(-repeatPeriod)
	for _, r := range x.only.routes.all() {
		if r.id.headers.Get("token")[0] == "old" {
			r.served.Store(&long)
			r.active.Store(int64(long.Sub(processStart)))
		}
	}
	for range failuresUntilBad {
		require.Error(t, send("new"))
	}
	require.Equal(t, componentstatus.StatusRecoverableError, host.last().Status())
}

// TestRefusedSinceLong: the peer accepted the streams of one identity only long ago, for example
// with an old token. These streams have ended, or are open and idle. If the peer now refuses all
// streams, the exporter reports a problem.
func TestRefusedSinceLong(t *testing.T) {
	auth := grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if md, _ := grpcmetadata.FromIncomingContext(s.Context()); md.Get("token")[0] != "old" {
			return status.Error(codes.Unauthenticated, "the account is closed")
		}
		return handle(srv, s)
	})
	for _, idle := range []time.Duration{10 * time.Millisecond, 0} {
		c := testConfig(listen(t, &peer{}, "", true, false, auth).addr)
		c.MetadataKeys = []string{"token"}
		c.Stef.IdleTimeout = idle
		host := &statusHost{Host: componenttest.NewNopHost()}
		x := startSignalOn(t, c, signal.Traces, host)
		send := func(token string) error {
			return x.push(contextOf(map[string][]string{"token": {token}}), spans("a"))
		}
		require.NoError(t, send("old"))
		require.Eventually(t, func() bool { return x.gauges().live == 0 || idle == 0 }, time.Minute, time.Millisecond)
		require.Error(t, send("new"))
		require.Equal(t, componentstatus.StatusOK, host.last().Status())
		for _, r := range x.only.routes.all() {
			if r.id.headers.Get("token")[0] == "old" {
				r.active.Store(int64(time.Since(processStart) - repeatPeriod))
			}
		}
		require.Error(t, send("newer"))
		require.Equal(t, componentstatus.StatusRecoverableError, host.last().Status())
		require.NoError(t, send("old"))
		require.Equal(t, componentstatus.StatusOK, host.last().Status())
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// retriedConfig returns a configuration with a queue and with unlimited retries after short pauses.
// refused is the value of retry_refused_credentials.
func retriedConfig(addr string, protocol Protocol, refused bool) *Config {
	c := queued(testConfig(addr))
	c.Protocol = protocol
	c.RetryConfig.InitialInterval, c.RetryConfig.MaxInterval, c.RetryConfig.MaxElapsedTime = 200*time.Millisecond, time.Second, 0
	c.Stef.RetryRefusedCredentials = refused
	return c
}

// TestRetryRefusedCredentials queues batches for a peer that refuses the credentials at first.
// With retry_refused_credentials, all batches arrive later. By default, they are dropped.
func TestRetryRefusedCredentials(t *testing.T) {
	t.Parallel()
	f := func(name string, code codes.Code, protocol Protocol, retried bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, code, "")
			began := time.Now()
			c := retriedConfig(g.addr, protocol, retried)
			c.Fallback.ProbeInterval = time.Minute
			x := start(t, c)
			const batches = 20 // more batches than consumers
			for range batches {
				require.NoError(t, x.send("a"))
			}
			outcome := func() (failed, dropped int64) {
				return counted(t, x, "failed_attempts", "code")[codeName(code)], counted(t, x, "items_dropped", "reason")[dropPermanent]
			}
			if !retried {
				require.Eventually(t, func() bool { _, dropped := outcome(); return dropped == batches }, time.Minute, 10*time.Millisecond)
				return
			}
			require.Eventually(t, func() bool { failed, _ := outcome(); return failed >= batches }, time.Minute, 10*time.Millisecond)
			require.LessOrEqual(t, g.attempts.Load(), int64(batches/2+time.Since(began)/maxRefusalPause), "retries of batches do not open streams")
			g.code.Store(uint32(codes.OK))
			require.Eventually(t, func() bool { bySTEF, _ := g.got(); return bySTEF == batches }, time.Minute, 10*time.Millisecond)
			_, dropped := outcome()
			require.Zero(t, dropped)
		})
	}
	f("unauthenticated", codes.Unauthenticated, ProtocolAuto, true)
	f("permission", codes.PermissionDenied, ProtocolSTEF, true)
	f("by default", codes.Unauthenticated, ProtocolAuto, false)
}

// TestRetryRefusedCredentialsOTLP uses a peer that refuses the credentials of the first three
// OTLP requests. retry_on_failure decides when the requests are sent again.
func TestRetryRefusedCredentialsOTLP(t *testing.T) {
	t.Parallel()
	f := func(name string, code codes.Code, protocol Protocol, retried bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
				if requests.Add(1) <= 3 {
					return ptraceotlp.ExportResponse{}, status.Error(code, "who are you")
				}
				return ptraceotlp.ExportResponse{}, nil
			}}, "", false, true)
			x := start(t, retriedConfig(p.addr, protocol, retried))
			began := time.Now()
			require.NoError(t, x.send("a"))
			if !retried {
				require.Eventually(t, func() bool { return counted(t, x, "items_dropped", "reason")[dropPermanent] == 1 }, time.Minute, 10*time.Millisecond)
				require.EqualValues(t, 1, requests.Load())
				return
			}
			require.Eventually(t, func() bool { _, byOTLP := p.got(); return byOTLP == 1 }, time.Minute, 10*time.Millisecond)
			require.EqualValues(t, 4, requests.Load())
			require.Greater(t, time.Since(began), 400*time.Millisecond, "the intervals are at least 100, 150 and 225 ms")
			require.EqualValues(t, 3, counted(t, x, "failed_attempts", "code")[codeName(code)])
			dropped(t, x, map[string]int64{})
		})
	}
	f("otlp", codes.Unauthenticated, ProtocolOTLP, true)
	f("fallback", codes.PermissionDenied, ProtocolAuto, true)
	f("by default", codes.PermissionDenied, ProtocolAuto, false)
}

// TestStreamEndsForCredentials uses a peer that reads data from a stream and then ends the
// stream because of the credentials, as when a token expires.
func TestStreamEndsForCredentials(t *testing.T) {
	f := func(retried bool) {
		t.Helper()
		var streams atomic.Int64
		p := &peer{}
		p.onStream = func(s *stefgrpc.ServerStream) error {
			if streams.Add(1) > 1 {
				return p.take(s)
			}
			r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
			if err != nil {
				return err
			}
			if _, err := stefpdata.NewTracesDecoder(r).Decode(); err != nil {
				return err
			}
			return &stefgrpc.Error{Kind: stefgrpc.KindAuth, Err: errors.New("expired")}
		}
		listen(t, p, "", true, false)
		x := start(t, retriedConfig(p.addr, ProtocolSTEF, retried))
		require.NoError(t, x.send("a"))
		require.Eventually(t, func() bool {
			bySTEF, _ := p.got()
			return bySTEF == 1 || counted(t, x, "items_dropped", "reason")[dropPermanent] == 1
		}, time.Minute, 10*time.Millisecond)
		bySTEF, _ := p.got()
		require.Equal(t, retried, bySTEF == 1)
	}
	f(true)
	f(false)
}

// TestRefusedCredentialsOfBackend routes to a backend that refuses the credentials of requests. The
// exporter sends one request. Then it returns the batch to retry_on_failure.
func TestRefusedCredentialsOfBackend(t *testing.T) {
	var requests atomic.Int64
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		requests.Add(1)
		return ptraceotlp.ExportResponse{}, status.Error(codes.Unauthenticated, "who are you")
	}}, "", false, true)
	c := testConfig("")
	c.Protocol, c.RoutingKey, c.Endpoints = ProtocolOTLP, RoutingTraceID, []string{p.addr}
	c.Stef.RetryRefusedCredentials = true
	x := start(t, c)
	err := x.send("a")
	require.ErrorContains(t, err, "who are you")
	require.False(t, consumererror.IsPermanent(err))
	require.EqualValues(t, 1, requests.Load())
}

// tokens is an authenticator that has no token at first.
type tokens struct {
	component.StartFunc
	component.ShutdownFunc
	ready atomic.Bool
}

func (a *tokens) PerRPCCredentials() (credentials.PerRPCCredentials, error) { return a, nil }
func (a *tokens) RequireTransportSecurity() bool                            { return false }
func (a *tokens) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if !a.ready.Load() {
		return nil, errors.New("the token cannot be read")
	}
	return nil, nil
}

type hostWith struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h.extensions }

// TestNoToken uses an authenticator extension that has no token at first. gRPC reports the missing
// token as UNAUTHENTICATED, as if the peer had refused the credentials.
func TestNoToken(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolSTEF, ProtocolOTLP} {
		id, own := component.MustNewID("tokens"), &tokens{}
		p := listen(t, &peer{}, "", true, true)
		c := testConfig(p.addr)
		c.Protocol = protocol
		c.ClientConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: id})
		c.Stef.RetryRefusedCredentials = true
		x := startSignalOn(t, c, signal.Traces, hostWith{componenttest.NewNopHost(), map[component.ID]component.Component{id: own}})
		err := x.push(t.Context(), spans("a"))
		require.ErrorContains(t, err, "the token cannot be read")
		require.False(t, consumererror.IsPermanent(err), "%v", err)
		own.ready.Store(true)
		require.Eventually(t, func() bool { return x.push(t.Context(), spans("a")) == nil }, time.Minute, 100*time.Millisecond)
	}
}

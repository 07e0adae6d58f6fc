// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

const (
	refusedHop    = `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:4327: connect: connection refused"`
	tlsHop        = `connection error: desc = "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"`
	resolverHop   = "name resolver error: produced zero addresses"
	lookupHop     = "dns: A record lookup error: lookup backend.invalid on 127.0.0.53:53: no such host"
	certificate   = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
	ownConnection = "answered: the error occurred there, not in this Collector; see the log of the endpoint"
)

// TestErrorsOfNextHop uses a receiver whose pipeline fails. The errors are those of a gateway that
// cannot reach its own next hop. The exporter must not give advice about its own endpoint: this
// endpoint is reachable.
func TestErrorsOfNextHop(t *testing.T) {
	var answer atomic.Pointer[error]
	s := newSink(&traceKind)
	s.decide = func(context.Context, []string) error { return *answer.Load() }
	addr := freeport.Address(t)
	startReceiver(t, &traceKind, receiverConfig(t, addr, ""), s)
	f := func(protocol stefexporter.Protocol, failure error, permanent bool, kept string) {
		t.Helper()
		answer.Store(&failure)
		x := startExporter(t, &traceKind, exporterConfig(addr, func(c *stefexporter.Config) { c.Protocol = protocol }))
		defer x.stop()
		err := x.send("a")
		require.Error(t, err)
		require.Equal(t, permanent, consumererror.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, kept)
		require.ErrorContains(t, err, fmt.Sprintf("(endpoint %s %s)", addr, ownConnection))
		for _, advice := range []string{"check", "set tls", "nothing listens", "resolved:", "otlp::enabled"} {
			require.NotContains(t, err.Error(), advice)
		}
	}
	for _, protocol := range []stefexporter.Protocol{stefexporter.ProtocolSTEF, stefexporter.ProtocolOTLP} {
		for text, kept := range map[string]string{
			refusedHop:  "dial tcp 127.0.0.1:4327: connect: connection refused",
			tlsHop:      "does not look like a TLS handshake",
			resolverHop: "the host cannot be resolved",
			lookupHop:   "lookup backend.invalid",
			certificate: "certificate signed by unknown authority",
		} {
			f(protocol, status.Error(codes.Unavailable, text), false, kept)
			f(protocol, errors.New(text), false, kept)
			if protocol == stefexporter.ProtocolOTLP { // a stream rejects records without an error text
				f(protocol, consumererror.NewPermanent(status.Error(codes.Internal, text)), true, kept)
			}
		}
		// The gateway can also use a STEF exporter. The error of that exporter then already
		// contains an explanation.
		f(protocol, errors.New("no STEF stream: dial tcp: lookup backend.invalid: no such host (endpoint backend.invalid:4320: the host is not known)"), false,
			"(endpoint backend.invalid:4320: the host is not known)")
	}
}

// TestOwnErrors checks that errors that occur while the exporter connects still contain
// advice.
func TestOwnErrors(t *testing.T) {
	t.Parallel()
	f := func(endpoint string, want string, change func(*stefexporter.Config)) {
		for _, protocol := range []stefexporter.Protocol{stefexporter.ProtocolSTEF, stefexporter.ProtocolOTLP} {
			t.Run(endpoint+" by "+string(protocol), func(t *testing.T) {
				t.Parallel() // each case waits for a timeout
				x := startExporter(t, &traceKind, exporterConfig(endpoint, func(c *stefexporter.Config) {
					c.Protocol = protocol
					c.TimeoutConfig.Timeout /= 10
					change(c)
				}))
				require.ErrorContains(t, x.send("a"), "(endpoint "+endpoint+": "+want)
			})
		}
	}
	nothing := func(*stefexporter.Config) {}
	f(freeport.Address(t), "nothing listens there", nothing)
	f("backend.invalid:4320", "", nothing)
	addr := freeport.Address(t)
	startReceiver(t, &traceKind, receiverConfig(t, addr, ""), newSink(&traceKind))
	f(addr, "the peer does not speak TLS", func(c *stefexporter.Config) { c.ClientConfig.TLS.Insecure = false })
}

// TestLimitsOfPeer checks that errors about limits of the peer still contain advice.
func TestLimitsOfPeer(t *testing.T) {
	large := make([]string, 40_000)
	for i := range large {
		large[i] = fmt.Sprintf("%x%x%x", rand.Uint64(), rand.Uint64(), rand.Uint64())
	}
	f := func(receiver, want string, change func(*stefexporter.Config)) {
		t.Helper()
		addr := freeport.Address(t)
		startReceiver(t, &traceKind, receiverConfig(t, addr, receiver), newSink(&traceKind))
		x := startExporter(t, &traceKind, exporterConfig(addr, func(c *stefexporter.Config) {
			c.Stef.MaxFrameSizeKiB, c.Stef.Compression, c.Fallback.Compression = 4096, "none", "none"
			change(c)
		}))
		err := x.push(context.Background(), oneResource(large))
		require.True(t, consumererror.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, "(endpoint "+addr+": "+want)
	}
	f("limits: {max_chunk_mib: 1}", "raise limits::max_chunk_mib of the receiver", func(*stefexporter.Config) {})
	f("max_recv_msg_size_mib: 1", "raise max_recv_msg_size_mib of the receiver, or lower stef::max_message_size_kib", func(*stefexporter.Config) {})
	f("max_recv_msg_size_mib: 1", "lower sending_queue::batch::max_size", func(c *stefexporter.Config) { c.Protocol = stefexporter.ProtocolOTLP })
}

// oneResource makes a batch whose spans share a resource, since resources are large in
// streams.
func oneResource(ids []string) ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, id := range ids {
		s := spans.AppendEmpty()
		s.SetName(strings.Repeat("x", 3))
		s.Attributes().PutStr(idKey, id)
	}
	return td
}

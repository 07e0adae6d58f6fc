// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

func TestExplain(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.ClientConfig.Endpoint = "backend:4320"
	f := func(text, want string) {
		t.Helper()
		err := errors.New(text)
		require.ErrorIs(t, c.explain(err), err)
		require.ErrorContains(t, c.explain(err), want)
		require.ErrorContains(t, c.explain(err), "endpoint backend:4320: ")
		require.Equal(t, c.explain(err), c.explain(c.explain(err)), "once")
	}
	f("tls: first record does not look like a TLS handshake", "check the port, turn TLS on at the peer, or set tls::insecure to true")
	f("x509: certificate signed by unknown authority", "tls::ca_file")
	f("certificate has expired or is not yet valid: current time is later", "renew the peer's certificate")
	f("the peer refuses the TLS handshake: unknown certificate authority", "the peer does not accept the client certificate: compare tls::cert_file with client_ca_file of the peer")
	f("the peer refuses the TLS handshake: expired certificate", "the peer says the certificate in tls::cert_file is expired: renew it")
	f("dial tcp 127.0.0.1:1: connect: connection refused", "nothing listens there")
	f("no children to pick from", "the host cannot be resolved, or has no address (endpoint backend:4320: check its name)")
	f("name resolver error: produced zero addresses", "the host cannot be resolved, or has no address (endpoint backend:4320: check its name)")
	require.NotContains(t, c.explain(errors.New("no children to pick from")).Error(), "children")
	f("error reading server preface: http2: frame too large, note that the frame header looked like an HTTP/1.1 header", "4318 is OTLP over HTTP")
	f("error reading server preface: EOF", "the peer may expect TLS")
	f("header list size to send violates the maximum size (16384 bytes) set by server", "shorten headers")
	f("grpc: the credentials require transport level security", "auth sends credentials only over TLS")
	f(`failed to resolve authenticator "a": authenticator not found`, "service::extensions")
	f("no STEF stream: write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "set tls::cert_file and tls::key_file")
	f("no STEF stream to backend:4320: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", "set tls::cert_file")
	f(otlpFailed+"write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "set tls::cert_file")
	c.ClientConfig.TLS.CertFile = "cert.pem"
	f("no STEF stream: write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "check that it trusts tls::cert_file")
	c.ClientConfig.TLS.CertFile = ""
	f("produced zero addresses", "the host cannot be resolved, or has no address (endpoint backend:4320: check its name)")
	require.Equal(t, "odd", c.explain(errors.New("odd")).Error())
	require.Equal(t, "write: broken pipe", c.explain(errors.New("write: broken pipe")).Error(), "a stream that was open")
	refused := status.Error(codes.Unauthenticated, "missing authorization header")
	require.ErrorContains(t, c.explain(refused), "endpoint backend:4320: the peer refuses the credentials: check auth and headers")
	const keeps = "; stef::retry_refused_credentials keeps telemetry while a token is wrong)"
	require.ErrorContains(t, c.explain(refused), keeps)
	c.Stef.RetryRefusedCredentials = true
	require.NotContains(t, c.explain(refused).Error(), keeps[:len(keeps)-1], "it is set already")

	c.Fallback.Endpoint = "backend:4317"
	require.ErrorContains(t, c.explain(errors.New(otlpFailed+"connection refused")), "endpoint backend:4317: ")

	unimplemented := status.Error(codes.Unimplemented, "unknown service")
	for protocol, want := range map[Protocol]string{
		ProtocolAuto: "neither STEF nor OTLP",
		ProtocolSTEF: "set protocol to auto",
		ProtocolOTLP: "the peer has no OTLP over gRPC",
	} {
		c.Protocol = protocol
		require.ErrorContains(t, c.explain(unimplemented), want)
	}
	c.Protocol = ProtocolAuto
	require.NotContains(t, c.explain(unimplemented).Error(), "set protocol", "it is set already")
}

// TestExplainAfter uses errors of endpoints that worked before. The configuration was right then, so
// the hints name other causes first.
func TestExplainAfter(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.ClientConfig.Endpoint, c.Fallback.Endpoint = "backend:4320", "backend:4317"
	worked := map[string]bool{"backend:4320": true}
	f := func(text, want string) {
		t.Helper()
		err := errors.New(text)
		require.ErrorContains(t, c.explainAfter(err, worked), want)
		require.NotContains(t, c.explain(err).Error(), "until now")
	}
	const again = "(endpoint backend:4320: it worked until now: the peer is probably down"
	f("dial tcp 127.0.0.1:1: connect: connection refused", again+" or restarting)")
	f("error reading server preface: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", again+" or restarting; if it runs, it may expect TLS now)")
	f("dial tcp: lookup backend: no such host", again+", or DNS no longer knows its name)")
	f("name resolver error: produced zero addresses", again+", or DNS no longer knows its name)")
	f("name resolver error: odd", again+", or DNS no longer knows its name)")
	closed := "no STEF stream to backend:4320: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"
	f(closed, again+" or restarting; if it runs, it may require a client certificate now)")
	c.ClientConfig.TLS.Insecure = true
	f(closed, again+" or restarting; if it runs, it may expect TLS now)")
	f("certificate has expired or is not yet valid", "renew the peer's certificate")
	f(otlpFailed+"dial tcp 127.0.0.1:1: connect: connection refused", "(endpoint backend:4317: nothing listens there")
	for text := range laterHints {
		require.NotNil(t, matchOf(text), "no hint begins with this text")
		require.Equal(t, text, matchOf(text).text)
	}
}

func TestExplainAnswers(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.ClientConfig.Endpoint = "backend:4320"
	f := func(prefix string, a *answer, want string) {
		t.Helper()
		err := fmt.Errorf(prefix+"%w", a)
		require.ErrorIs(t, c.explain(err), err)
		require.Equal(t, status.Code(a), status.Code(c.explain(err)))
		require.ErrorContains(t, c.explain(err), "(endpoint backend:4320"+want)
		require.Equal(t, c.explain(err), c.explain(c.explain(err)), "once")
	}
	const (
		own   = " answered: the error occurred there, not in this Collector; see the log of the endpoint)"
		plain = " answered this: its log may say more)"
		large = "grpc: received message larger than max (2251770 vs. 1048576)"
		chunk = "chunk of at least 1836500 bytes, the limit is 1048576 (WithMaxChunkBytes of the server)"
	)
	of := func(code codes.Code, text string, open bool) *answer { return &answer{status.Error(code, text), open} }
	for _, h := range hints {
		f("STEF stream: ", of(codes.Unavailable, "its exporter: "+h.text, true), own)
		f(otlpFailed, of(codes.Internal, "its exporter: "+h.text, false), own)
	}
	f("", of(codes.Unavailable, "busy", true), plain)
	f("no STEF stream: ", of(codes.Unavailable, "connection reset by peer", false), plain)

	f("", of(codes.ResourceExhausted, large, true), ": raise max_recv_msg_size_mib of the receiver, or lower stef::max_message_size_kib")
	f(otlpFailed, of(codes.ResourceExhausted, large, false), ": lower sending_queue::batch::max_size, or raise max_recv_msg_size_mib of the peer")
	f("", of(codes.ResourceExhausted, chunk, true), ": raise limits::max_chunk_mib of the receiver, or lower stef::max_frame_size_kib")
	f("", of(codes.ResourceExhausted, "rpc error: code = ResourceExhausted desc = "+large, true), plain)
	f("", of(codes.ResourceExhausted, "STEF stream: limit: stream of Logs to 10.0.0.1:4320, none of 1 sent record acknowledged: "+chunk, true), plain)

	f("", of(codes.Unauthenticated, "who?", false), ": the peer refuses the credentials")
	f("", of(codes.Unauthenticated, "who?", true), " answered: it may check credentials only after it has opened the stream, or its own destination refuses its credentials: check auth and headers, and see the log of the endpoint)")
	f("", of(codes.Unimplemented, "unknown service", false), ": the peer has neither STEF nor OTLP")
	f("", of(codes.Unimplemented, "unknown service", true), own)
	c.Protocol = ProtocolOTLP
	f(otlpFailed, of(codes.Unimplemented, "unknown service", false), ": the peer has no OTLP over gRPC for this signal")
	require.ErrorContains(t, c.explain(of(codes.Unimplemented, "unknown service", false)), "otlp::enabled")

	uncompressed := of(codes.Unimplemented, `grpc: Decompressor is not installed for grpc-encoding "snappy"`, false)
	c.Fallback.Compression = "snappy"
	f(otlpFailed, uncompressed, ": the peer does not have this compression: set otlp_fallback::compression to gzip or none")
	c.Fallback.Compression = "gzip"
	f(otlpFailed, uncompressed, ": the peer does not have this compression: set otlp_fallback::compression to none")

	here, there := errors.New("connection refused"), of(codes.Unavailable, "connection refused", true)
	require.NotEqual(t, causeOf(here), causeOf(there), "another machine has to be repaired")
	require.NotEqual(t, causeOf(of(codes.Unavailable, "busy", true)), causeOf(there))
}

func TestPlain(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		err := errors.New(text)
		require.EqualError(t, plain(err), want)
		require.ErrorIs(t, plain(err), err)
	}
	f("odd", "odd")
	f("stefgrpc: batch handed back (not sent): stefgrpc: auth: rpc error: code = Unauthenticated desc = who?", "auth: who?")
	f(`stefgrpc: unavailable: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`,
		"unavailable: dial tcp 127.0.0.1:1: connect: connection refused")
	f(`rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: tls: \"x\" is bad"; more`,
		`tls: "x" is bad; more`)
	f("unavailable: opening a stream of Spans: dial tcp: no", "no STEF stream: dial tcp: no")
	f("unavailable: opening a stream of Spans to dns:///a:4320: dial tcp: no", "no STEF stream: dial tcp: no")
	f("auth: opening a stream of Logs: who?", "no STEF stream: auth: who?")
	f(`tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of "x509: bad" while trying to verify candidate authority certificate "ours")`,
		"certificate signed by unknown authority")
	f("error reading server preface: remote error: tls: bad certificate", "the peer refuses the TLS handshake: bad certificate")
	require.EqualError(t, noStreamTo("a:1", errors.New("unavailable: opening a stream of Spans: no")), "no STEF stream to a:1: no")
	require.EqualError(t, noStreamTo("a:1", errors.New("stefgrpc: auth: opening a stream of Spans to a:1: who?")), "no STEF stream to a:1: auth: who?")
	refused := errors.New("stefgrpc: batch handed back (not sent): stefgrpc: auth: opening a stream of Logs to a:1: rpc error: code = Unauthenticated desc = who?")
	require.EqualError(t, streamError(refused), "no STEF stream: auth: who?")
	require.ErrorIs(t, streamError(refused), refused)
	require.EqualError(t, streamError(errors.New("stefgrpc: limit: too large")), "STEF stream: limit: too large")
}

// TestTLSFiles starts an exporter with TLS files that contain no certificates.
func TestTLSFiles(t *testing.T) {
	key := filepath.Join(t.TempDir(), "ca.key")
	require.NoError(t, os.WriteFile(key, []byte("-----BEGIN CERTIFICATE-----\ncut"), 0o600))
	f := func(change func(*configtls.ClientConfig), want string) {
		t.Helper()
		c := testConfig("127.0.0.1:1")
		c.ClientConfig.TLS.Insecure = false
		change(&c.ClientConfig.TLS)
		x, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), c)
		require.NoError(t, err)
		require.ErrorContains(t, x.Start(context.Background(), componenttest.NewNopHost()), want)
	}
	f(func(c *configtls.ClientConfig) { c.CAFile = key }, fmt.Sprintf("tls::ca_file is %q: set it to a whole file of certificates", key))
	f(func(c *configtls.ClientConfig) { c.CertFile, c.KeyFile = key, key }, fmt.Sprintf("tls::cert_file is %q and tls::key_file is %q", key, key))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestRetryable checks all 17 codes of the retry table of OTLP.
func TestRetryable(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.OK:                 false,
		codes.Canceled:           true,
		codes.Unknown:            false,
		codes.InvalidArgument:    false,
		codes.DeadlineExceeded:   true,
		codes.NotFound:           false,
		codes.AlreadyExists:      false,
		codes.PermissionDenied:   false,
		codes.ResourceExhausted:  false, // see below
		codes.FailedPrecondition: false,
		codes.Aborted:            true,
		codes.OutOfRange:         true,
		codes.Unimplemented:      false,
		codes.Internal:           false,
		codes.Unavailable:        true,
		codes.DataLoss:           true,
		codes.Unauthenticated:    false,
	} {
		retry := func(info, retryExhausted bool) bool {
			return judge(&stefgrpc.Error{Code: code, HasRetryInfo: info}, retryExhausted).retry
		}
		require.Equal(t, want, retry(false, false), code)
		exhausted := code == codes.ResourceExhausted
		require.Equal(t, want || exhausted, retry(true, false), code)
		require.Equal(t, want || exhausted, retry(false, true), code)
		require.NotContains(t, codeName(code), "CODE_")
	}
	require.Len(t, codeNames, 17)
	require.Equal(t, "CODE_99", codeName(99))
}

func withRetryInfo(code codes.Code, delay time.Duration) error {
	st, err := status.New(code, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

func TestJudge(t *testing.T) {
	f := func(err error, want verdict) {
		t.Helper()
		require.Equal(t, want, judge(err, false))
		require.Equal(t, want, judge(fmt.Errorf("wrapped: %w", err), false))
	}
	f(status.Error(codes.Unavailable, ""), verdict{retry: true, code: codes.Unavailable})
	f(withRetryInfo(codes.Unavailable, time.Second), verdict{retry: true, delay: time.Second, code: codes.Unavailable})
	f(withRetryInfo(codes.ResourceExhausted, 0), verdict{retry: true, code: codes.ResourceExhausted})
	f(status.Error(codes.ResourceExhausted, ""), verdict{code: codes.ResourceExhausted})
	f(withRetryInfo(codes.InvalidArgument, time.Second), verdict{delay: time.Second, code: codes.InvalidArgument})
	f(context.DeadlineExceeded, verdict{retry: true, code: codes.DeadlineExceeded})
	f(context.Canceled, verdict{retry: true, code: codes.Canceled})
	f(errors.New("no status"), verdict{code: codes.Unknown})

	require.True(t, judge(status.Error(codes.ResourceExhausted, ""), true).retry)
}

func TestJudgeStream(t *testing.T) {
	f := func(err error, retry bool) {
		t.Helper()
		require.Equal(t, retry, judgeStream(err, false).retry)
	}
	// A status from the peer has the same meaning as in an answer.
	f(status.Error(codes.Unavailable, ""), true)
	f(status.Error(codes.InvalidArgument, ""), false)
	f(status.Error(codes.Internal, "it broke"), false)
	f(status.Error(codes.ResourceExhausted, ""), false)
	// For a failure between the two ends, another stream can succeed.
	f(io.EOF, true)
	f(status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: PROTOCOL_ERROR"), true)
	f(&stefgrpc.Error{Kind: stefgrpc.KindProtocol, Code: codes.Internal}, true)
	f(&stefgrpc.UnsentError{Cause: &stefgrpc.Error{Kind: stefgrpc.KindClosed, Code: codes.Unavailable}}, true)
	f(&stefgrpc.UnsentError{Cause: &stefgrpc.Error{Kind: stefgrpc.KindAuth, Code: codes.Unauthenticated}}, false)
}

func TestFailureAsError(t *testing.T) {
	plain := errors.New("plain")
	require.True(t, consumererror.IsPermanent((&failure{err: plain}).asError(createDefaultConfig().(*Config))))
	retry := (&failure{verdict: verdict{retry: true}, err: plain}).asError(createDefaultConfig().(*Config))
	require.False(t, consumererror.IsPermanent(retry))
	require.Equal(t, plain, retry)
	throttle := (&failure{verdict: verdict{retry: true, delay: time.Minute}, err: plain}).asError(createDefaultConfig().(*Config))
	require.ErrorContains(t, throttle, "Throttle (1m0s)")
	require.ErrorIs(t, throttle, plain)
}

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
	f("tls: first record does not look like a TLS handshake", "set tls::insecure to true")
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
	f("grpc: the credentials require transport level security", "auth sends credentials only over TLS")
	f(`failed to resolve authenticator "a": authenticator not found`, "service::extensions")
	f("no STEF stream: write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "set tls::cert_file and tls::key_file")
	f("no STEF stream to backend:4320: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", "set tls::cert_file")
	f(otlpFailed+"write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "set tls::cert_file")
	f("records up to 0 acknowledged, 9 not: grpc: received message larger than max (2251770 vs. 1048576)", "raise max_recv_msg_size_mib of the receiver, or lower stef::max_message_size_kib")
	f(otlpFailed+"grpc: received message larger than max (2438814 vs. 1048576)", "lower sending_queue::batch::max_size, or raise max_recv_msg_size_mib of the peer")
	f("chunk of at least 1836500 bytes, the limit is 1048576", "raise limits::max_chunk_mib of the receiver, or lower stef::max_frame_size_kib")
	require.Equal(t, "odd", c.explain(errors.New("odd")).Error())
	require.Equal(t, "write: broken pipe", c.explain(errors.New("write: broken pipe")).Error(), "a stream that was open")
	refused := status.Error(codes.Unauthenticated, "missing authorization header")
	require.ErrorContains(t, c.explain(refused), "endpoint backend:4320: the peer refuses the credentials: check auth and headers")

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
	f("auth: opening a stream of Logs: who?", "auth: no STEF stream: who?")
	f(`tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of "x509: bad" while trying to verify candidate authority certificate "ours")`,
		"certificate signed by unknown authority")
	f("error reading server preface: remote error: tls: bad certificate", "the peer refuses the TLS handshake: bad certificate")
	require.EqualError(t, noStreamTo("a:1", errors.New("unavailable: opening a stream of Spans: no")), "no STEF stream to a:1: no")
}

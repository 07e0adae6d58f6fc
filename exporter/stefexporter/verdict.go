// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"google.golang.org/grpc/codes"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// verdict is the consequence of a failure for the batch.
type verdict struct {
	retry bool
	delay time.Duration // requested by the peer
	code  codes.Code
}

// judge returns the verdict on a failed request. retryExhausted is for peers that
// send a temporary RESOURCE_EXHAUSTED without RetryInfo.
func judge(err error, retryExhausted bool) verdict {
	e := stefgrpc.FromStatus(err)
	return verdict{
		retry: e.Retryable() || retryExhausted && e.Code == codes.ResourceExhausted,
		delay: e.RetryDelay,
		code:  e.Code,
	}
}

// judgeStream returns the verdict on the batches of a stream that ended. It retries them
// if the connection failed or an end closed the stream, because another stream can
// succeed.
func judgeStream(err error, retryExhausted bool) verdict {
	v := judge(err, retryExhausted)
	switch stefgrpc.FromStatus(err).Kind {
	case stefgrpc.KindUnavailable, stefgrpc.KindClosed, stefgrpc.KindCanceled, stefgrpc.KindProtocol:
		v.retry = true
	}
	return v
}

// failure describes a batch that was not delivered.
type failure struct {
	verdict
	// reason is why its items are dropped if they must not be sent again. It is ""
	// if they were already counted.
	reason string
	err    error
}

// asError converts the failure for exporterhelper.
func (f *failure) asError(c *Config) error {
	err := c.explain(f.err)
	switch {
	case !f.retry:
		return consumererror.NewPermanent(err)
	case f.delay > 0:
		return exporterhelper.NewThrottleRetry(err, f.delay)
	}
	return err
}

// codeName returns the name that OTLP and gRPC use for a code.
func codeName(code codes.Code) string {
	if int(code) < len(codeNames) {
		return codeNames[code]
	}
	return fmt.Sprintf("CODE_%d", uint32(code))
}

var codeNames = [...]string{
	codes.OK:                 "OK",
	codes.Canceled:           "CANCELLED",
	codes.Unknown:            "UNKNOWN",
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   "DEADLINE_EXCEEDED",
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted:            "ABORTED",
	codes.OutOfRange:         "OUT_OF_RANGE",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Internal:           "INTERNAL",
	codes.Unavailable:        "UNAVAILABLE",
	codes.DataLoss:           "DATA_LOSS",
	codes.Unauthenticated:    "UNAUTHENTICATED",
}

// hints say what to change for errors of TLS and gRPC whose text does not say it.
// The first match is used.
var hints = []struct{ text, hint string }{
	{"first record does not look like a TLS handshake", "the peer does not speak TLS: set tls::insecure to true, or turn TLS on at the peer"},
	{"certificate signed by unknown authority", "set tls::ca_file to the authority that signed the peer's certificate"},
	{"certificate has expired or is not yet valid", "renew the peer's certificate, or check the clocks of both machines"},
	{"certificate is valid for", "set tls::server_name_override to a name in the peer's certificate, or use that name in endpoint"},
	{"doesn't contain any IP SANs", "use the name in the peer's certificate in endpoint, or set tls::server_name_override"},
	{"certificate required", "the peer wants a client certificate: set tls::cert_file and tls::key_file"},
	{"expired certificate", "the peer says the certificate in tls::cert_file is expired: renew it"},
	{"unknown certificate authority", "the peer does not accept the client certificate: compare tls::cert_file with client_ca_file of the peer"},
	{"bad certificate", "the peer does not accept the client certificate: check tls::cert_file and tls::key_file"},
	{"looked like an HTTP/1.1 header", "the peer speaks HTTP/1.1, not gRPC: check the port, 4320 is usual for STEF and 4317 for OTLP; 4318 is OTLP over HTTP"},
	{"error reading server preface", "the peer may expect TLS: configure tls, or remove tls::insecure"},
	{"no such host", "the host is not known: check its name"},
	{"connection refused", "nothing listens there: check host and port, 4320 is usual for STEF and 4317 for OTLP"},
	{unresolved, "check its name"},
	{"name resolver error", "the host cannot be resolved: check its name"},
	{"credentials require transport level security", "auth sends credentials only over TLS: configure tls, or remove tls::insecure"},
	{tooLarge, "raise max_recv_msg_size_mib of the receiver, or lower stef::max_message_size_kib"},
	{"chunk of at least", "raise limits::max_chunk_mib of the receiver, or lower stef::max_frame_size_kib"},
	{"authenticator not found", "define this extension under extensions, and list it in service::extensions"},
}

// tooLarge is what gRPC of the peer says about a message, which can be one of a stream or
// an OTLP request.
const tooLarge = "received message larger than max"

// unresolved stands in errors for what gRPC says about a host without an address, which
// names its own parts.
const unresolved = "the host cannot be resolved, or has no address"

var ofResolver = regexp.MustCompile(`name resolver error: produced zero addresses|no children to pick from`)

// unresolvedError is an error of gRPC about a host without an address, in other words.
type unresolvedError struct {
	text  string
	cause error
}

func (e *unresolvedError) Error() string { return e.text }
func (e *unresolvedError) Unwrap() error { return e.cause }

// reworded returns the error without the words of gRPC that only its developers know.
func reworded(err error) error {
	text := err.Error()
	if plain := ofResolver.ReplaceAllLiteralString(text, unresolved); plain != text {
		return &unresolvedError{plain, err}
	}
	return err
}

// causeOf returns a text that is equal for errors of the same cause.
func causeOf(err error) string {
	err = reworded(err)
	for _, h := range hints {
		if strings.Contains(err.Error(), h.text) {
			return h.text
		}
	}
	e := stefgrpc.FromStatus(err)
	return e.Kind.String() + " " + codeName(e.Code)
}

// explain adds to an error the place where it happened and, if known, what to do
// about it.
func (c *Config) explain(err error) error {
	err = reworded(err)
	text := err.Error()
	endpoint := c.ClientConfig.Endpoint
	if c.Fallback.Endpoint != "" && strings.HasPrefix(text, otlpFailed) {
		endpoint = c.Fallback.Endpoint
	}
	add := func(hint string) error {
		if strings.Contains(text, hint) {
			return err
		}
		return fmt.Errorf("%w (endpoint %s: %s)", err, endpoint, hint)
	}
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			if h.text == tooLarge && strings.HasPrefix(text, otlpFailed) {
				return add("lower sending_queue::batch::max_size, or raise max_recv_msg_size_mib of the peer")
			}
			return add(h.hint)
		}
	}
	switch stefgrpc.FromStatus(err).Kind {
	case stefgrpc.KindAuth:
		return add("the peer refuses the credentials: check auth and headers; the peer's log may say more")
	case stefgrpc.KindUnimplemented:
	default:
		if hint := c.closedHint(text); hint != "" {
			return add(hint)
		}
		return err
	}
	switch c.Protocol {
	case ProtocolSTEF:
		return add("the peer has no STEF for this signal: check the endpoint, or set protocol to auto, which sends OTLP then")
	case ProtocolOTLP:
		return add("the peer has no OTLP over gRPC for this signal: check the endpoint, 4317 is usual for OTLP and 4318 is OTLP over HTTP")
	}
	return add("the peer has neither STEF nor OTLP over gRPC for this signal: check the endpoint, and that the peer has a pipeline for the signal")
}

// closedByPeer matches the errors of a peer that closes the connection without an
// answer. Peers that require a client certificate often do that: with TLS 1.3 they
// refuse it after the client has begun to send.
var closedByPeer = regexp.MustCompile(`^(.*no STEF stream|` + otlpFailed + `).*(connection reset by peer|broken pipe)`)

// closedHint returns what to do if the peer closed the connection without an answer, or
// "". OTLP requests have no opening: with a certificate, or without TLS, a closed
// connection says nothing about them.
func (c *Config) closedHint(text string) string {
	tls := &c.ClientConfig.TLS
	switch m := closedByPeer.FindStringSubmatch(text); {
	case m == nil:
	case !tls.Insecure && tls.CertFile == "" && tls.CertPem == "":
		return "the peer closed the connection: if it requires a client certificate, set tls::cert_file and tls::key_file"
	case tls.Insecure && m[1] != otlpFailed:
		return "the peer closed the connection: if it expects TLS, remove tls::insecure"
	}
	return ""
}

// otlpFailed is the prefix of errors of OTLP requests.
const otlpFailed = "OTLP request: "

// plainError is an error with a shorter text.
type plainError struct {
	text string
	err  error
}

// Error implements error.
func (e *plainError) Error() string { return e.text }

// Unwrap returns the error with its full text.
func (e *plainError) Unwrap() error { return e.err }

var (
	grpcPrefix      = regexp.MustCompile(`stefgrpc: |batch handed back \(not sent\): |rpc error: code = \w+ desc = |transport: Error while dialing: |transport: authentication handshake failed: |name resolver error: `)
	connectionError = regexp.MustCompile(`connection error: desc = "((?:[^"\\]|\\.)*)"`)
	// openingStream is what STEF says of a stream that cannot be opened.
	openingStream = regexp.MustCompile(`(?:unavailable: )?opening a stream of \w+(?: to \S+)?: `)
	// tlsChain is what crypto/tls and gRPC say before the cause, and tlsDoubt after it.
	tlsChain = regexp.MustCompile(`tls: failed to verify certificate: x509: `)
	tlsAlert = regexp.MustCompile(`(?:error reading server preface: )?remote error: tls: `)
	tlsDoubt = regexp.MustCompile(` \(possibly because of .* while trying to verify candidate authority certificate "[^"]*"\)`)
)

// noStream is the prefix of errors of streams that cannot be opened.
const noStream = "no STEF stream: "

// plain removes the text that gRPC and TLS add around the cause of an error.
func plain(err error) error {
	text := connectionError.ReplaceAllString(grpcPrefix.ReplaceAllString(err.Error(), ""), "$1")
	text = strings.ReplaceAll(text, `\"`, `"`)
	text = openingStream.ReplaceAllLiteralString(text, noStream)
	text = tlsChain.ReplaceAllLiteralString(text, "")
	text = tlsAlert.ReplaceAllLiteralString(text, "the peer refuses the TLS handshake: ")
	return &plainError{text: tlsDoubt.ReplaceAllLiteralString(text, ""), err: err}
}

// noStreamTo says that no stream to an endpoint could be opened.
func noStreamTo(endpoint string, err error) error {
	short := plain(err)
	return &plainError{text: "no STEF stream to " + endpoint + ": " + strings.TrimPrefix(short.Error(), noStream), err: short}
}

// withoutSTEF reports whether a failure means that the peer cannot accept streams
// of this signal: it does not have the service, does not know the root, or has a
// schema that is not compatible with ours.
func withoutSTEF(err error) bool {
	var e *stefgrpc.Error
	return errors.As(err, &e) && (e.Kind == stefgrpc.KindUnimplemented || e.Kind == stefgrpc.KindIncompatible)
}

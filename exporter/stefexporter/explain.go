// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/config/configcompression"
	"google.golang.org/grpc/status"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// textHint says what to do about errors that contain the text.
type textHint struct{ text, hint string }

// hints say what to change. They are for errors of TLS and gRPC that arise in this process. The
// texts of these errors only describe the problem. The first match is used.
var hints = []textHint{
	{"first record does not look like a TLS handshake", "the peer does not speak TLS: check the port, turn TLS on at the peer, or set tls::insecure to true without tls::ca_file"},
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
	{"connection refused", "nothing listens there: check host and port; STEF receivers usually listen on port 4320, also for OTLP, and other OTLP receivers on port 4317"},
	{unresolved, "check its name"},
	{"name resolver error", "the host cannot be resolved: check its name"},
	{"credentials require transport level security", "auth sends credentials only over TLS: configure tls, or remove tls::insecure"},
	{"header list size to send violates the maximum size", "the peer refuses larger headers: shorten headers, the token of auth, or the values of metadata_keys"},
	{"authenticator not found", "define this extension under extensions, and list it in service::extensions"},
}

// These hints are for an endpoint that worked before: its configuration was right, so something
// else has changed.
const (
	gone       = "it worked until now: the peer is probably down or restarting"
	goneOrTLS  = gone + "; if it runs, it may expect TLS now"
	goneOrCert = gone + "; if it runs, it may require a client certificate now"
	goneOrDNS  = "it worked until now: the peer is probably down, or DNS no longer knows its name"
)

// laterHints maps the text of an error to the hint for an endpoint that has worked before. It
// has precedence over hints.
var laterHints = map[string]string{
	"error reading server preface": goneOrTLS,
	"connection refused":           gone,
	"no such host":                 goneOrDNS,
	unresolved:                     goneOrDNS,
	"name resolver error":          goneOrDNS,
}

// tooLarge is the text with which the gRPC of the peer refuses a large message of a stream
// or a large OTLP request.
const tooLarge = "grpc: received message larger than max"

// unresolved replaces the text of gRPC about a host without an address. The text of gRPC names
// internal parts of gRPC, which users do not know.
const unresolved = "the host cannot be resolved, or has no address"

var ofResolver = regexp.MustCompile(`(?:name resolver error: )?produced zero addresses|no children to pick from`)

// reworded replaces texts of an error that only developers of gRPC understand.
func reworded(err error) error {
	text := err.Error()
	if plain := ofResolver.ReplaceAllLiteralString(text, unresolved); plain != text {
		return &plainError{plain, err}
	}
	return err
}

// causeOf returns a text that is equal for errors with the same cause.
func causeOf(err error) string {
	err = reworded(err)
	from := ""
	if answerOf(err) != nil {
		from = "answer: "
	}
	if h := matchOf(err.Error()); h != nil {
		return from + h.text
	}
	e := stefgrpc.FromStatus(err)
	return from + e.Kind.String() + " " + codeName(e.Code)
}

func matchOf(text string) *textHint {
	for i := range hints {
		if strings.Contains(text, hints[i].text) {
			return &hints[i]
		}
	}
	return nil
}

type explainedError struct{ plainError }

func (c *Config) otlpEndpoint() string {
	return cmp.Or(c.Fallback.Endpoint, c.ClientConfig.Endpoint)
}

// explain adds the endpoint and a hint to an error. It does not change an error that has no
// hint and does not concern the peer. It assumes that no endpoint has worked yet.
func (c *Config) explain(err error) error { return c.explainAfter(err, nil) }

// explainAfter is like explain, but worked contains the endpoints that have worked before.
func (c *Config) explainAfter(err error, worked map[string]bool) error {
	if known := (*explainedError)(nil); errors.As(err, &known) {
		return err
	}
	err = reworded(err)
	text := err.Error()
	endpoint := c.endpointOf(err)
	a := answerOf(err)
	hint := ""
	if a == nil {
		hint = c.ownHint(err, text, worked[endpoint])
	} else {
		hint = c.answerHint(a, text)
	}
	switch {
	case hint != "":
		hint = ": " + hint
	case a == nil && !strings.HasPrefix(text, noStream) && !strings.HasPrefix(text, onStream) && !strings.HasPrefix(text, otlpFailed):
		return err // the error does not concern the peer
	case a == nil:
	case a.open && stefgrpc.FromStatus(err).Kind == stefgrpc.KindAuth:
		hint = " answered: it may check credentials only after it has opened the stream, or its own destination refuses its credentials: check auth and headers, and see the log of the endpoint"
	case a.open && refusesAll(err) || matchOf(text) != nil:
		hint = " answered: the error occurred there, not in this Collector; see the log of the endpoint"
	default:
		hint = " answered this: its log may say more"
	}
	return &explainedError{plainError{text + " (endpoint " + endpoint + hint + ")", err}}
}

func (c *Config) endpointOf(err error) string {
	if strings.HasPrefix(err.Error(), otlpFailed) {
		return c.otlpEndpoint()
	}
	return c.ClientConfig.Endpoint
}

// ownHint returns what to do about an error that arose in this process, or "" if no hint fits.
// worked reports that the endpoint has worked before.
func (c *Config) ownHint(err error, text string, worked bool) string {
	if h := matchOf(text); h != nil {
		if later := laterHints[h.text]; worked && later != "" {
			return later
		}
		return h.hint
	}
	if refusesAll(err) { // proxies refuse with HTTP instead of gRPC
		return c.refusalHint(err, text)
	}
	if hint := c.fileHint(text); hint != "" {
		return hint
	}
	return c.closedHint(text, worked)
}

// fileHint returns which file the Collector could not use for TLS, or "" for other errors.
// The Collector's error does not name the file.
func (c *Config) fileHint(text string) string {
	tls := &c.ClientConfig.TLS
	switch {
	case strings.Contains(text, "failed to load CA CertPool") && tls.CAFile != "":
		return fmt.Sprintf("tls::ca_file is %q: set it to a whole file of certificates in PEM form", tls.CAFile)
	case strings.Contains(text, "failed to load TLS cert and key") && tls.CertFile != "":
		return fmt.Sprintf("tls::cert_file is %q and tls::key_file is %q: set them to a whole certificate in PEM form and to its key", tls.CertFile, tls.KeyFile)
	}
	return ""
}

// answerHint returns what to do here about a status of the peer, or "" if no hint fits.
func (c *Config) answerHint(a *answer, text string) string {
	message := status.Convert(a.error).Message()
	switch {
	case strings.Contains(message, "Decompressor is not installed") && strings.HasPrefix(text, otlpFailed):
		if c.Fallback.Compression == configcompression.TypeGzip {
			return "the peer does not have this compression: set otlp_fallback::compression to none"
		}
		return "the peer does not have this compression: set otlp_fallback::compression to gzip or none"
	case !a.open && refusesAll(a):
		return c.refusalHint(a, text)
	// The next cases match errors of the peer itself. They do not match errors that it forwards
	// from its next hop: the message of a forwarded error contains other words. TestLimitsOfPeer of
	// internal/pairtest fails if the texts of gRPC and package stefgrpc change.
	case strings.HasPrefix(message, tooLarge) && strings.HasPrefix(text, otlpFailed):
		return "lower sending_queue::batch::max_size, or raise max_recv_msg_size_mib of the peer"
	case strings.HasPrefix(message, tooLarge):
		return "raise max_recv_msg_size_mib of the receiver, or lower stef::max_message_size_kib"
	case strings.Contains(message, "chunk of at least") && !strings.Contains(message, "stream of "):
		return "raise limits::max_chunk_mib of the receiver, or lower stef::max_frame_size_kib"
	}
	return ""
}

// refusesAll reports whether a peer that answers with err refuses every stream or request.
func refusesAll(err error) bool {
	kind := stefgrpc.FromStatus(err).Kind
	return kind == stefgrpc.KindAuth || kind == stefgrpc.KindUnimplemented
}

// refusalHint returns what to do about an error for which refusesAll is true.
func (c *Config) refusalHint(err error, text string) string {
	again := ""
	if !strings.HasPrefix(text, otlpFailed) && c.Protocol != ProtocolOTLP {
		again = "; a stream is tried again within " + c.refusalPause().String()
	}
	if stefgrpc.FromStatus(err).Kind == stefgrpc.KindAuth {
		if !c.Stef.RetryRefusedCredentials {
			again += "; stef::retry_refused_credentials keeps telemetry while a token is wrong"
		}
		return "the peer refuses the credentials: check auth and headers; the peer's log may say more" + again
	}
	switch c.Protocol {
	case ProtocolSTEF:
		return "the peer has no STEF for this signal: check the endpoint, or set protocol to auto, which sends OTLP then" + again
	case ProtocolOTLP:
		return "the peer has no OTLP over gRPC for this signal: check the endpoint (4317 is usual for OTLP over gRPC, 4318 is OTLP over HTTP); if it is a STEF receiver, check its otlp::enabled"
	}
	return "the peer has neither STEF nor OTLP over gRPC for this signal: check the endpoint, and that the peer has a pipeline for the signal"
}

// closedByPeer matches the errors of a peer that closes the connection without an
// answer. Peers that require a client certificate often do that: with TLS 1.3 they
// refuse the client after it has begun to send.
var closedByPeer = regexp.MustCompile(`^(.*no STEF stream|` + otlpFailed + `).*(connection reset by peer|broken pipe)`)

// closedHint returns what to do if the peer closed the connection without an answer, or "" for
// other errors. An OTLP request can also fail like this on a connection that worked. So its only
// hint is about a missing client certificate.
func (c *Config) closedHint(text string, worked bool) string {
	tls := &c.ClientConfig.TLS
	switch m := closedByPeer.FindStringSubmatch(text); {
	case m == nil:
	case !tls.Insecure && tls.CertFile == "" && tls.CertPem == "":
		if worked {
			return goneOrCert
		}
		return "the peer closed the connection: if it requires a client certificate, set tls::cert_file and tls::key_file"
	case tls.Insecure && m[1] != otlpFailed:
		if worked {
			return goneOrTLS
		}
		return "the peer closed the connection: if it expects TLS, remove tls::insecure"
	case worked && m[1] != otlpFailed:
		return gone
	case !tls.Insecure && m[1] != otlpFailed:
		return "the peer closed the connection: if it requires a client certificate, check that it trusts tls::cert_file; the peer's log may say more"
	}
	return ""
}

const otlpFailed = "OTLP request: "

// plainError wraps an error. Its text replaces the text of the wrapped error.
type plainError struct {
	text string
	err  error
}

// Error implements error.
func (e *plainError) Error() string { return e.text }

// Unwrap returns the error with its own text.
func (e *plainError) Unwrap() error { return e.err }

var (
	grpcPrefix      = regexp.MustCompile(`stefgrpc: |batch handed back \(not sent\): |rpc error: code = \w+ desc = |transport: Error while dialing: |transport: authentication handshake failed: |name resolver error: `)
	connectionError = regexp.MustCompile(`connection error: desc = "((?:[^"\\]|\\.)*)"`)
	// openingStream matches the text that package stefgrpc adds if a stream cannot be opened.
	// Its group is the kind of the error, except unavailable.
	openingStream = regexp.MustCompile(`(?:unavailable: |(\w+: ))?opening a stream of \w+(?: to \S+)?: `)
	// tlsChain, tlsAlert and tlsDoubt match what gRPC and crypto/tls add before and after the
	// cause of a TLS error.
	tlsChain = regexp.MustCompile(`tls: failed to verify certificate: x509: `)
	tlsAlert = regexp.MustCompile(`(?:error reading server preface: )?remote error: tls: `)
	tlsDoubt = regexp.MustCompile(` \(possibly because of .* while trying to verify candidate authority certificate "[^"]*"\)`)
)

const (
	noStream = "no STEF stream: "
	onStream = "STEF stream: "
)

// plain removes the text that gRPC and TLS add around the cause of an error.
func plain(err error) error {
	text := connectionError.ReplaceAllString(grpcPrefix.ReplaceAllString(err.Error(), ""), "$1")
	text = strings.ReplaceAll(text, `\"`, `"`)
	text = openingStream.ReplaceAllString(text, noStream+"$1")
	text = tlsChain.ReplaceAllLiteralString(text, "")
	text = tlsAlert.ReplaceAllLiteralString(text, "the peer refuses the TLS handshake: ")
	return &plainError{text: tlsDoubt.ReplaceAllLiteralString(text, ""), err: err}
}

// streamError returns the error of a batch that was not delivered on a stream, because the stream
// ended or could not be opened.
func streamError(err error) error {
	short := plain(err)
	if strings.HasPrefix(short.Error(), noStream) {
		return short
	}
	return fmt.Errorf(onStream+"%w", short)
}

func noStreamTo(endpoint string, err error) error {
	short := plain(err)
	return &plainError{text: "no STEF stream to " + endpoint + ": " + strings.TrimPrefix(short.Error(), noStream), err: short}
}

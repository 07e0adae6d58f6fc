// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/http1"
)

// takeTLS returns the configuration of the server without its TLS settings, and credentials
// that implement these settings. The credentials log failed handshakes, because gRPC does
// not report them.
func (s *shared) takeTLS(ctx context.Context) (*configgrpc.ServerConfig, credentials.TransportCredentials, error) {
	config := s.config.ServerConfig
	if !config.TLS.HasValue() {
		return &config, &plaintextCredentials{insecure.NewCredentials(), s}, nil
	}
	tls, err := config.TLS.Get().LoadTLSConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	config.TLS = configoptional.None[configtls.ServerConfig]()
	return &config, &tlsCredentials{credentials.NewTLS(tls), s}, nil
}

type tlsCredentials struct {
	credentials.TransportCredentials
	s *shared
}

// ServerHandshake implements credentials.TransportCredentials.
func (l *tlsCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	safe, info, err := l.TransportCredentials.ServerHandshake(conn)
	if err != nil && !needsNoLog(err) {
		at := handshakeCause(err)
		if skipped, ok := l.s.handshakes[at].due(); ok {
			l.s.logger.Warn("A client could not connect: the TLS handshake failed."+handshakeHint(at),
				zap.Stringer("client", conn.RemoteAddr()), zap.Error(err), zap.Int64("not_logged", skipped))
		}
	}
	return safe, info, err
}

// Clone implements credentials.TransportCredentials.
func (l *tlsCredentials) Clone() credentials.TransportCredentials {
	return &tlsCredentials{l.TransportCredentials.Clone(), l.s}
}

// plaintextCredentials are the credentials of a receiver without TLS. They log clients that use TLS or HTTP/1.1:
// gRPC closes such connections without a log line.
type plaintextCredentials struct {
	credentials.TransportCredentials
	s *shared
}

// ServerHandshake implements credentials.TransportCredentials. It waits for the first bytes of the
// client. The wait is bounded, because gRPC has set a deadline for the handshake.
func (l *plaintextCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	first := make([]byte, http1.HeadSize)
	first = first[:peek(conn, first)]
	if bytes.HasPrefix(first, []byte{0x16, 0x03}) { // a handshake of TLS
		if skipped, ok := l.s.tlsClients.due(); ok {
			l.s.logger.Warn("A client could not connect: it uses TLS, and this receiver does not. "+
				"Configure tls at this receiver, or set tls::insecure: true at the client.",
				zap.Stringer("client", conn.RemoteAddr()), zap.Int64("not_logged", skipped))
		}
	}
	if http1.Is(first) {
		if skipped, ok := l.s.http1.due(); ok {
			l.s.logger.Warn("A client uses HTTP/1.1, and this receiver accepts only gRPC. "+
				"Send OTLP over gRPC, or add the otlp receiver for OTLP over HTTP.",
				zap.Stringer("client", conn.RemoteAddr()), zap.Int64("not_logged", skipped))
		}
		http1.Refuse(conn, conn, notHTTP1)
		return nil, nil, io.EOF // gRPC closes the connection and logs nothing
	}
	return conn, nil, nil
}

const notHTTP1 = "OTLP/HTTP is not accepted here, only OTLP/gRPC and STEF: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc in the sender, " +
	"use the exporter otlp_grpc or stef in a Collector, or send OTLP/HTTP to an otlp receiver (usually port 4318)"

// Clone implements credentials.TransportCredentials.
func (l *plaintextCredentials) Clone() credentials.TransportCredentials {
	return &plaintextCredentials{l.TransportCredentials.Clone(), l.s}
}

// needsNoLog reports whether a failed handshake needs no log line: health checks of load
// balancers open connections and close them, and a shutdown closes connections that are
// being opened.
func needsNoLog(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed)
}

// handshakeHints say what to change. The first match is used.
var handshakeHints = [...]struct{ text, hint string }{
	{"first record does not look like a TLS handshake", "The client does not use TLS: configure tls at the client, without insecure"},
	{"client didn't provide a certificate", "client_ca_file of this receiver requires a certificate: set tls::cert_file and tls::key_file at the client"},
	{"protocol version not supported", noVersion},
	{"unsupported versions", noVersion},
	{"no application protocol", notGRPC},
	{"ALPN", notGRPC},
	{"remote error", "The client does not accept the certificate of this receiver: set tls::ca_file at the client, and use a name of the certificate in its endpoint"},
	{" is before ", "The certificate of the client is not valid yet: check the clocks of both machines"},
	{"certificate has expired", "The certificate of the client has expired: renew it at the client"},
	{"failed to verify certificate", "The certificate of the client is not valid for client_ca_file of this receiver: use one that this authority signed at the client"},
}

const (
	noVersion = "Client and receiver have no version of TLS in common: check min_version and max_version"
	notGRPC   = "The client does not speak gRPC: OTLP over HTTP needs the otlp receiver"
)

// handshakeCause returns the cause of an error: the index of its hint, or len(handshakeHints)
// if it has none. Each cause has its own limit for log lines: one client that connects
// repeatedly must not suppress the log lines about other clients.
func handshakeCause(err error) int {
	for i, h := range handshakeHints {
		if strings.Contains(err.Error(), h.text) {
			return i
		}
	}
	return len(handshakeHints)
}

// handshakeHint returns the hint for a result of handshakeCause, as the end of a message, or
// "" if the cause has no hint.
func handshakeHint(cause int) string {
	if cause == len(handshakeHints) {
		return ""
	}
	return " " + handshakeHints[cause].hint + "."
}

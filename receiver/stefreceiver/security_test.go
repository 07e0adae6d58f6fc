// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"

	ownmetadata "github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// certificate returns a self-signed certificate for localhost.
func certificate(t *testing.T) (certPEM, keyPEM []byte) {
	t.Helper()
	return certificateOf(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

// certificateOf returns a certificate that is valid in the given period.
func certificateOf(t *testing.T, from, until time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: from, NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(func(c *Config) {
		server := c.ServerConfig.TLS.GetOrInsertDefault()
		server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
	}), to)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert))
	safe := r.dial(grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})))
	require.NoError(t, metricKind.mustOpen(t, safe).deliver(points(2)))
	require.NoError(t, export(safe, points(3)))
	require.Equal(t, 5, metrics.DataPointCount())

	_, err := metricKind.open(r.dial())
	require.Error(t, err, "a client without TLS")
	require.Equal(t, codes.Unavailable, status.Code(export(r.dial(), points(1))))
}

// If a TLS handshake fails, the log says which client failed, why, and what to do. Clients cannot fill
// the log by failing handshakes, and health checks are not logged.
func TestFailedHandshakes(t *testing.T) {
	cert, key := certificate(t)
	own, err := tls.X509KeyPair(certificate(t))
	require.NoError(t, err)
	expired, err := tls.X509KeyPair(certificateOf(t, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	require.NoError(t, err)
	future, err := tls.X509KeyPair(certificateOf(t, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert))
	for name, c := range map[string]struct {
		mutual bool
		newest string // tls::max_version of the receiver
		dial   func(address string) (net.Conn, error)
		want   string
	}{
		"no TLS": {false, "", func(address string) (net.Conn, error) {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			return conn, err
		}, "The client does not use TLS: "},
		"another authority": {false, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}})
		}, "The client does not accept the certificate of this receiver: "},
		"no certificate": {true, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
		}, "client_ca_file of this receiver requires a certificate: "},
		"certificate of another authority": {true, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{own}})
		}, "The certificate of the client is not valid for client_ca_file"},
		"expired certificate": {true, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{expired}})
		}, "The certificate of the client has expired: renew it at the client."},
		"certificate of the future": {true, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{future}})
		}, "The certificate of the client is not valid yet: check the clocks"},
		"old TLS": {false, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		}, "Client and receiver have no version of TLS in common: "},
		"new TLS": {false, "1.2", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13})
		}, "Client and receiver have no version of TLS in common: "},
		"HTTP/1.1": {false, "", func(address string) (net.Conn, error) {
			return tls.Dial("tcp", address, &tls.Config{RootCAs: pool})
		}, "The client does not speak gRPC: "},
		"a health check": {false, "", func(address string) (net.Conn, error) { return net.Dial("tcp", address) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zap.WarnLevel)
			config := testConfig(func(config *Config) {
				server := config.ServerConfig.TLS.GetOrInsertDefault()
				server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
				server.MaxVersion = c.newest
				if c.mutual {
					server.ClientCAFile = filepath.Join(t.TempDir(), "ca.crt")
					require.NoError(t, os.WriteFile(server.ClientCAFile, cert, 0o600))
				}
			})
			settings := receivertest.NewNopSettings(ownmetadata.Type)
			settings.Logger = zap.New(core)
			part, err := NewFactory().CreateMetrics(t.Context(), settings, config, consumertest.NewNop())
			require.NoError(t, err)
			require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
			defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
			for range 3 {
				if conn, err := c.dial(sharedOf(config).server.address.String()); err == nil {
					wait := time.Minute
					if c.want == "" { // the server waits for the client
						wait = 100 * time.Millisecond
					}
					_ = conn.SetReadDeadline(time.Now().Add(wait))
					_, _ = conn.Read(make([]byte, 1)) // the server ends its handshake
					_ = conn.Close()
				}
			}
			if c.want == "" {
				time.Sleep(50 * time.Millisecond)
				require.Empty(t, logs.All())
				return
			}
			require.Eventually(t, func() bool { return logs.Len() > 0 }, time.Minute, time.Millisecond)
			line := logs.All()[0]
			require.Contains(t, line.Message, "A client could not connect: the TLS handshake failed. "+c.want)
			require.NotEmpty(t, line.ContextMap()["error"])
			require.Contains(t, line.ContextMap()["client"], "127.0.0.1:")
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, 1, logs.Len(), "one line a minute")
		})
	}
}

// A client without TLS that connects repeatedly does not suppress the log line about another
// client.
func TestHandshakeCauses(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	cert, key := certificateOf(t, time.Now(), time.Now().Add(time.Hour))
	config := testConfig(func(config *Config) {
		server := config.ServerConfig.TLS.GetOrInsertDefault()
		server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
	})
	settings := receivertest.NewNopSettings(ownmetadata.Type)
	settings.Logger = zap.New(core)
	part, err := NewFactory().CreateMetrics(t.Context(), settings, config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
	address := sharedOf(config).server.address.String()
	noisy := func() {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		require.NoError(t, err)
		_, _ = conn.Read(make([]byte, 1)) // the server ends its handshake
		require.NoError(t, conn.Close())
	}
	noisy()
	noisy()
	_, err = tls.Dial("tcp", address, &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}})
	require.Error(t, err)
	require.Eventually(t, func() bool { return logs.Len() == 2 }, time.Minute, time.Millisecond)
	require.Contains(t, logs.All()[0].Message, "The client does not use TLS")
	require.Contains(t, logs.All()[1].Message, "The client does not accept the certificate of this receiver")
}

// If clients use TLS and the receiver does not, the receiver logs one of these clients each minute.
// It does not log clients that send other bytes.
func TestClientsWithTLS(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	config := testConfig()
	settings := receivertest.NewNopSettings(ownmetadata.Type)
	settings.Logger = zap.New(core)
	part, err := NewFactory().CreateMetrics(t.Context(), settings, config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
	address := sharedOf(config).server.address.String()

	plain := dial(t, address)
	require.NoError(t, metricKind.mustOpen(t, plain).deliver(points(2)))
	require.Empty(t, logs.All(), "a client without TLS")
	for range 3 {
		_, err := tls.Dial("tcp", address, &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}})
		require.Error(t, err)
	}
	require.Eventually(t, func() bool { return logs.Len() > 0 }, time.Minute, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, 1, logs.Len(), "one line a minute")
	line := logs.All()[0]
	require.Contains(t, line.Message, "it uses TLS, and this receiver does not. Configure tls at this receiver")
	require.Contains(t, line.ContextMap()["client"], "127.0.0.1:")
}

// A receiver without TLS answers clients of HTTP/1.1, also if their requests are large. It logs
// one such client each minute.
func TestClientsWithHTTP1(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	config := testConfig()
	settings := receivertest.NewNopSettings(ownmetadata.Type)
	settings.Logger = zap.New(core)
	part, err := NewFactory().CreateMetrics(t.Context(), settings, config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, part.Start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, part.Shutdown(context.Background())) }()
	address := sharedOf(config).server.address.String()

	for _, size := range []int{0, 10, 300_000} {
		answer, err := http.Post("http://"+address+"/v1/metrics", "application/x-protobuf", bytes.NewReader(make([]byte, size)))
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnsupportedMediaType, answer.StatusCode)
		require.Contains(t, string(text), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	}
	require.Equal(t, 1, logs.Len(), "one line a minute")
	line := logs.All()[0]
	require.Equal(t, "A client uses HTTP/1.1, and this receiver accepts only gRPC. Send OTLP over gRPC, or add the otlp receiver for OTLP over HTTP.", line.Message)
	require.Contains(t, line.ContextMap()["client"], "127.0.0.1:")
	require.NoError(t, metricKind.mustOpen(t, dial(t, address)).deliver(points(2)))
}

// authenticator accepts clients that have a token, and returns their identity.
type authenticator struct {
	component.StartFunc
	component.ShutdownFunc
}

type identity string

func (identity) GetAttribute(string) any     { return nil }
func (identity) GetAttributeNames() []string { return nil }

func (authenticator) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	token := metadata.MD(sources).Get("token")
	if len(token) != 1 || token[0] == "" {
		return ctx, errors.New("no token")
	}
	info := client.FromContext(ctx)
	info.Auth = identity(token[0])
	return client.NewContext(ctx, info), nil
}

type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

func TestAuthentication(t *testing.T) {
	ctx, id := context.Background(), component.MustNewID("test")
	identities := make(chan client.AuthData, 2)
	config := testConfig(func(c *Config) { c.ServerConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: id}) })
	part, err := NewFactory().CreateMetrics(ctx, receivertest.NewNopSettings(ownmetadata.Type), config,
		acting(t, func(ctx context.Context, _ pmetric.Metrics) error {
			identities <- client.FromContext(ctx).Auth
			return nil
		}))
	require.NoError(t, err)
	require.NoError(t, part.Start(ctx, hostWith{id: authenticator{}}))
	defer func() { require.NoError(t, part.Shutdown(ctx)) }()
	conn := dial(t, sharedOf(config).server.address.String())

	_, err = metricKind.open(conn)
	requireEnd(t, err, codes.Unauthenticated, "no token")
	require.Equal(t, codes.Unauthenticated, status.Code(export(conn, points(1))))

	withToken := metadata.AppendToOutgoingContext(timeout(t), "token", "blue")
	c, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	stream, err := c.Open(withToken, otelstef.MetricsRoot())
	require.NoError(t, err)
	defer stream.Close()
	s := &sender[pmetric.Metrics]{stream: stream}
	require.NoError(t, metricKind.make(s, stream.WriterOptions()...))
	require.NoError(t, s.deliver(points(1)))
	require.Equal(t, identity("blue"), <-identities)
}

// The receiver counts and logs clients whose credentials it refuses, with STEF and with OTLP. It does not
// count UNAUTHENTICATED from the pipeline as refused credentials.
func TestRefusedCredentials(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	ctx, id := context.Background(), component.MustNewID("test")
	config := testConfig(func(c *Config) { c.ServerConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: id}) })
	tel := componenttest.NewTelemetry()
	settings := receivertest.NewNopSettings(ownmetadata.Type)
	settings.TelemetrySettings = tel.NewTelemetrySettings()
	settings.Logger = zap.New(core)
	part, err := NewFactory().CreateMetrics(ctx, settings, config, acting(t, func(context.Context, pmetric.Metrics) error {
		return consumererror.NewPermanent(status.Error(codes.Unauthenticated, "the backend does not know this Collector"))
	}))
	require.NoError(t, err)
	require.NoError(t, part.Start(ctx, hostWith{id: authenticator{}}))
	defer func() { require.NoError(t, part.Shutdown(ctx)) }()
	conn := dial(t, sharedOf(config).server.address.String())
	withToken := metadata.AppendToOutgoingContext(timeout(t), "token", "blue")
	refused := func() (streams, requests int64) {
		return sumOf(t, tel, "otelcol_receiver_stef_streams_refused", "reason", refusedAuth),
			sumOf(t, tel, "otelcol_receiver_stef_requests_refused", "reason", refusedAuth)
	}

	require.Equal(t, codes.Unauthenticated, status.Code(exportWith(withToken, conn, points(1))), "an answer of the pipeline")
	streams, requests := refused()
	require.Zero(t, streams)
	require.Zero(t, requests)
	require.Empty(t, logs.All())

	require.Equal(t, codes.Unauthenticated, status.Code(export(conn, points(1))))
	streams, requests = refused()
	require.Zero(t, streams)
	require.EqualValues(t, 1, requests)
	require.Len(t, logs.All(), 1)
	line := logs.All()[0]
	require.Contains(t, line.Message, "does not accept its credentials")
	require.Equal(t, "otlp", line.ContextMap()["protocol"])
	require.Equal(t, "metrics", line.ContextMap()["signal"])
	require.Contains(t, line.ContextMap()["error"], "no token")
	require.Contains(t, line.ContextMap()["client"], "127.0.0.1:")

	sharedOf(config).denied.next.Store(0)
	for range 2 {
		_, err = metricKind.open(conn)
		requireEnd(t, err, codes.Unauthenticated, "no token")
	}
	require.Eventually(t, func() bool { streams, _ = refused(); return streams == 2 }, time.Minute, time.Millisecond)
	require.Len(t, logs.All(), 2, "one line a minute")
	require.Equal(t, "stef", logs.All()[1].ContextMap()["protocol"])
	require.NotContains(t, logs.All()[1].ContextMap(), "signal", "the stream has not named it")
}

// Refused credentials of OTLP requests are also counted and logged while OTLP is off.
func TestRefusedCredentialsWithoutOTLP(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	ctx, id := context.Background(), component.MustNewID("test")
	config := testConfig(func(c *Config) {
		c.ServerConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: id})
		c.OTLP.Enabled = false
	})
	tel := componenttest.NewTelemetry()
	settings := receivertest.NewNopSettings(ownmetadata.Type)
	settings.TelemetrySettings = tel.NewTelemetrySettings()
	settings.Logger = zap.New(core)
	part, err := NewFactory().CreateMetrics(ctx, settings, config, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, part.Start(ctx, hostWith{id: authenticator{}}))
	defer func() { require.NoError(t, part.Shutdown(ctx)) }()
	conn := dial(t, sharedOf(config).server.address.String())
	refused := func() int64 {
		return sumOf(t, tel, "otelcol_receiver_stef_requests_refused", "reason", refusedAuth)
	}
	require.Equal(t, codes.Unimplemented, status.Code(exportWith(metadata.AppendToOutgoingContext(timeout(t), "token", "blue"), conn, points(1))))
	require.Zero(t, refused())
	require.Equal(t, codes.Unauthenticated, status.Code(export(conn, points(1))))
	require.EqualValues(t, 1, refused())
	line := logs.All()[len(logs.All())-1]
	require.Contains(t, line.Message, "does not accept its credentials")
	require.Equal(t, "metrics", line.ContextMap()["signal"])
}

func TestUnknownAuthenticator(t *testing.T) {
	ctx := context.Background()
	config := testConfig(func(c *Config) {
		c.ServerConfig.Auth = configoptional.Some(configauth.Config{AuthenticatorID: component.MustNewID("nobody")})
	})
	part, err := NewFactory().CreateMetrics(ctx, receivertest.NewNopSettings(ownmetadata.Type), config, consumertest.NewNop())
	require.NoError(t, err)
	require.ErrorContains(t, part.Start(ctx, componenttest.NewNopHost()), `"nobody"`)
	require.NoError(t, part.Shutdown(ctx))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/teltest/rawgrpc"
)

// TestUnfinishedMessages: with the default configuration, messages that clients begin and do not finish
// use at most half of limits::memory_limit_mib. Above this bound, the receiver closes the connections
// with the most unfinished bytes. An honest client is still served.
func TestUnfinishedMessages(t *testing.T) {
	notShort(t)
	cert, key := certificate(t)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert))
	for _, path := range []string{"/STEFDestination/Stream", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"} {
		to, _, _, _ := everything()
		r := startRig(t, testConfig(func(c *Config) {
			server := c.ServerConfig.TLS.GetOrInsertDefault()
			server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
		}), to)
		const most = 256 * mib
		honest := metricKind.mustOpen(t, r.dial(grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))))
		require.NoError(t, honest.deliver(points(2)))
		largest := int64(0)
		heap := peakHeap(func() {
			for range 40 { // 600 MiB
				conn, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
				require.NoError(t, err)
				defer conn.Close()
				_ = rawgrpc.Begin(conn, path, 1, 15*mib) // the receiver may close the connection
				largest = max(largest, r.shared.receiving.Bytes())
			}
		})
		t.Logf("%s: at most %d MiB counted, heap %d MiB", path, largest/mib, heap/mib)
		require.Greater(t, largest, int64(most/4), "the messages were not counted")
		// The counted bytes can exceed the limit until a connection is closed.
		require.LessOrEqual(t, largest, int64(most+4*mib))
		require.Less(t, heap, int64(most+256*mib))
		require.Eventually(t, func() bool {
			return sumOf(t, r.telemetry, "otelcol_receiver_stef_connections_closed", "receiver", "stef") > 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, honest.deliver(points(3)))
		require.NoError(t, r.stop(t.Context()))
	}
}

// TestRequestsWithoutEnd: clients send the complete messages of requests, but do not end the
// requests. These messages use at most half of limits::memory_limit_mib, too. gRPC keeps such a
// message and waits for the end, so no handler gets it, and no admission counts it.
func TestRequestsWithoutEnd(t *testing.T) {
	notShort(t)
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	const most = 256 * mib
	honest := metricKind.mustOpen(t, r.dial())
	require.NoError(t, honest.deliver(points(2)))
	heap := peakHeap(func() {
		for range 10 { // 600 MiB
			conn, err := net.Dial("tcp", r.address)
			require.NoError(t, err)
			defer conn.Close()
			_ = rawgrpc.Begin(conn, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", 1, rawgrpc.WholeBytes)
		}
	})
	t.Logf("heap %d MiB", heap/mib)
	require.Less(t, heap, int64(most+200*mib))
	require.NoError(t, honest.deliver(points(3)))
	require.NoError(t, r.stop(t.Context()))
}

// TestGRPCCompressionOfStreams: a STEF stream whose messages gRPC compresses is refused
// before a message is decompressed, because few bytes could become large messages on many
// streams at once.
func TestGRPCCompressionOfStreams(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	_, err := metricKind.open(r.dial(grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name))))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "turn the compression of gRPC off")
}

// TestIdleConnections: a connection without a stream is ended, by default after five
// minutes.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	idle := func(c *Config) *time.Duration {
		return &c.ServerConfig.Keepalive.GetOrInsertDefault().ServerParameters.GetOrInsertDefault().MaxConnectionIdle
	}
	require.Equal(t, 5*time.Minute, *idle(createDefaultConfig().(*Config)))
	to, _, _, _ := everything()
	r := startRig(t, testConfig(func(c *Config) { *idle(c) = 50 * time.Millisecond }), to)
	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	require.NoError(t, http2.NewFramer(conn, conn).WriteSettings())
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Minute)))
	_, err = io.Copy(io.Discard, conn) // read until the receiver closes the connection
	require.NoError(t, err)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

// beginMessage opens a stream of STEF or OTLP, and sends the first bytes of a message of
// 60 MiB. It stops when the server closes the connection.
func beginMessage(t testing.TB, conn net.Conn, path string, size int) {
	var headers bytes.Buffer
	e := hpack.NewEncoder(&headers)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	_, _ = conn.Write([]byte(http2.ClientPreface))
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	go func() {
		for {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers.Bytes(), EndHeaders: true})
	data := append(binary.BigEndian.AppendUint32([]byte{0}, 60<<20), make([]byte, 16<<10-5)...)
	for sent := 0; sent < size && err == nil; sent += len(data) {
		err = framer.WriteData(1, false, data)
	}
}

// TestUnfinishedMessages: messages that clients begin and do not finish take at most half
// of limits::memory_limit_mib, with the default configuration: the connections that hold
// the most are closed. An honest client beside them is served.
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
				beginMessage(t, conn, path, 15*mib)
				largest = max(largest, r.shared.receiving.Bytes())
			}
		})
		t.Logf("%s: at most %d MiB counted, heap %d MiB", path, largest/mib, heap/mib)
		require.Greater(t, largest, int64(most/4), "the messages were not counted")
		require.LessOrEqual(t, largest, int64(most))
		require.Less(t, heap, int64(most+256*mib))
		require.NoError(t, honest.deliver(points(3)))
		require.NoError(t, r.stop(t.Context()))
	}
}

// TestGRPCCompressionOfStreams: a STEF stream whose messages gRPC compresses is refused
// before any of them is decompressed, since few bytes could become large messages on many
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
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err = io.Copy(io.Discard, conn) // what it sends until it closes
	require.NoError(t, err)
}

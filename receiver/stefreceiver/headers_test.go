// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// openWithHeaders opens streams that send only headers, on a new connection. It ignores errors,
// because the receiver may close the connection.
func openWithHeaders(t *testing.T, address, path string, streams int, extra []hpack.HeaderField) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	_, _ = conn.Write([]byte(http2.ClientPreface))
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	for i := range streams {
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "stef"},
			{"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			require.NoError(t, fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
		}
		for _, f := range extra {
			require.NoError(t, fields.WriteField(f))
		}
		const part = 16 << 10
		id := uint32(1 + 2*i)
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: block.Len() <= part, BlockFragment: block.Next(part)})
		for block.Len() > 0 {
			_ = framer.WriteContinuation(id, block.Len() <= part, block.Next(part))
		}
	}
	return conn
}

// TestHeadersOfHostileClients: headers of streams and requests need little memory. gRPC keeps them
// until the stream or request ends, and no other limit of the receiver counts them.
func TestHeadersOfHostileClients(t *testing.T) {
	notShort(t)
	long := make([]hpack.HeaderField, 15)
	for i := range long {
		long[i] = hpack.HeaderField{Name: "x", Value: strings.Repeat("~", mib), Sensitive: true}
	}
	many := make([]hpack.HeaderField, (maxHeaders-1024)/36) // each counts its bytes and 32 more
	for i := range many {
		many[i] = hpack.HeaderField{Name: fmt.Sprintf("y%03d", i)}
	}
	for _, path := range []string{"/STEFDestination/Stream", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"} {
		to, _, _, _ := everything()
		r := startRig(t, testConfig(func(c *Config) { c.ServerConfig.IncludeMetadata = true }), to)
		heap := peakHeap(func() {
			for range 20 {
				defer openWithHeaders(t, r.address, path, 1, long).Close()
			}
			time.Sleep(time.Second) // let the receiver read them
		})
		t.Logf("%s: 20 streams with 15 MiB of headers: heap %d MiB", path, heap/mib)
		require.Less(t, heap, int64(64*mib))
		const streams = 500
		heap = peakHeap(func() {
			defer openWithHeaders(t, r.address, path, streams, many).Close()
			time.Sleep(time.Second)
		})
		t.Logf("%s: %d headers on each of %d streams: heap %d KiB per stream", path, len(many), streams, heap/streams>>10)
		require.Less(t, heap, int64(streams*128<<10))
		require.NoError(t, r.stop(t.Context()))
	}
}

// TestHeadersOfHonestClients: large tokens fit, and a client whose headers do not fit learns why.
func TestHeadersOfHonestClients(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	send := func(bytes int) error {
		ctx := metadata.AppendToOutgoingContext(timeout(t), "authorization", strings.Repeat("x", bytes))
		_, err := pmetricotlp.NewGRPCClient(r.dial()).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(points(1)))
		return err
	}
	require.NoError(t, send(15<<10))
	err := send(17 << 10)
	require.Equal(t, codes.Internal, status.Code(err))
	require.ErrorContains(t, err, "maximum size (16384 bytes) set by server")
}

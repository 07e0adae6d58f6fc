// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// requestHeaders are the headers with which a client opens a STEF stream.
func requestHeaders(t testing.TB) []byte {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/STEFDestination/Stream"}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	return out.Bytes()
}

// beginMessages opens streams on one connection, and begins a message of 60 MiB on each,
// of which it sends some bytes. It stops if the server closes the connection.
func beginMessages(t testing.TB, address string, streams, bytesEach int) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	go func() { // answers nothing
		for {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	data := binary.BigEndian.AppendUint32([]byte{0}, 60<<20)
	data = append(data, make([]byte, 16<<10-len(data))...)
	for sent := 0; sent < bytesEach; sent += len(data) {
		for i := range streams {
			stream := uint32(2*i + 1)
			if sent == 0 {
				err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: requestHeaders(t), EndHeaders: true})
			}
			if err == nil {
				err = framer.WriteData(stream, false, data)
			}
			if err != nil {
				return conn
			}
		}
	}
	return conn
}

// TestReceiveLimit: clients that do not finish their messages hold no more than the limit:
// those that hold the most lose their connection. An honest client beside them is served.
func TestReceiveLimit(t *testing.T) {
	const most = 4 << 20
	var ended atomic.Int64
	limit := stefgrpc.NewReceiveLimit(most, func(_ net.Addr, bytes int64) {
		ended.Add(1)
		require.Greater(t, bytes, int64(most/8))
	})
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(echo)))
	g := grpc.NewServer(grpc.Creds(limit.Credentials(nil)), grpc.MaxRecvMsgSize(64<<20))
	server.Register(g)
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	defer func() {
		g.Stop()
		<-served
		require.Zero(t, limit.Bytes(), "after all connections")
	}()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	honest := call(t, conn)
	honest.say(firstMessage("Metrics"))
	_, err = honest.hear()
	require.NoError(t, err)

	for range 8 {
		beginMessages(t, listener.Addr().String(), 20, 48<<10) // 0.9 MiB
		require.Eventually(t, func() bool { return limit.Bytes() <= most }, 10*time.Second, time.Millisecond)
	}
	require.Eventually(t, func() bool { return ended.Load() >= 3 }, 10*time.Second, time.Millisecond)

	honest.say(chunkMessage(make([]byte, 100<<10), true))
	message, err := honest.hear()
	require.NoError(t, err)
	require.NotZero(t, acknowledged(t, message))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/teltest/rawgrpc"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestReceiveLimit: when the unfinished messages of all clients together exceed the limit,
// ReceiveLimit closes the connections with the most bytes. An honest client is still served.
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
		hostile, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer hostile.Close()
		_ = rawgrpc.Begin(hostile, "/STEFDestination/Stream", 20, 48<<10) // sends 0.9 MiB, unless the server closes the connection
		require.Eventually(t, func() bool { return limit.Bytes() <= most }, time.Minute, time.Millisecond)
	}
	require.Eventually(t, func() bool { return ended.Load() >= 3 }, time.Minute, time.Millisecond)

	honest.say(chunkMessage(make([]byte, 100<<10), true))
	message, err := honest.hear()
	require.NoError(t, err)
	require.NotZero(t, acknowledged(t, message))
}

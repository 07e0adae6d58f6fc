// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rawgrpc

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
)

// TestSend checks that each call reaches the server with its compression, even if all messages
// together exceed the window of the connection.
func TestSend(t *testing.T) {
	var calls atomic.Int64
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		calls.Add(1)
		s := grpc.ServerTransportStreamFromContext(stream.Context())
		require.Equal(t, gzip.Name, s.(interface{ RecvCompress() string }).RecvCompress())
		require.Equal(t, "/service/Method", s.Method())
		return nil
	}))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	require.Equal(t, 20, Send(conn, "/service/Method", gzip.Name, make([]byte, MaxBytes), 20, time.Minute))
	require.EqualValues(t, 20, calls.Load())
	require.NoError(t, conn.Close())
	require.Zero(t, Send(conn, "/service/Method", gzip.Name, nil, 1, time.Minute), "a connection that is closed")
	g.Stop()
	require.NoError(t, <-served)
}

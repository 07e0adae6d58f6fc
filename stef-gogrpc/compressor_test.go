// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestNoCompressor causes the two errors of gRPC about missing compressors that the package comment
// lists. It uses the name "lzma", because this test program has a compressor for gzip.
func TestNoCompressor(t *testing.T) {
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(func(*stefgrpc.ServerStream) error { return nil })))
	g := grpc.NewServer()
	server.Register(g)

	client, err := stefgrpc.NewClient(serveGRPC(t, g, grpc.WithDefaultCallOptions(grpc.UseCompressor("lzma"))))
	require.NoError(t, err)
	_, err = client.Open(t.Context(), otelstef.MetricsRoot())
	require.ErrorContains(t, err, `grpc: Compressor is not installed for requested grpc-encoding "lzma"`)

	// A gRPC client cannot send the name of a compressor that it does not have. So the test sends it
	// with plain HTTP/2.
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String()+"/STEFDestination/Stream", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	request.Header.Set("Grpc-Encoding", "lzma")
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, `grpc: Decompressor is not installed for grpc-encoding "lzma"`, response.Header.Get("Grpc-Message"))
	g.Stop()
	require.NoError(t, <-served)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
	"github.com/otelstef/stef/stef-gogrpc"
)

// TestExamplesAnswerGoodRecords sends a frame with two good records and a record that no reader
// accepts. The handlers of the examples must store and acknowledge the good records before they
// return the error: after this error, a Session drops the first batch without an answer. This must be
// the batch of the bad record.
func TestExamplesAnswerGoodRecords(t *testing.T) {
	stored := &storage{}
	rows := &database{}
	out, err := rotate.New(rotate.Options{Dir: t.TempDir(), Signal: "metrics"}, func(dst io.Writer) (*otelstef.MetricsWriter, error) {
		return otelstef.NewMetricsWriter(dst)
	})
	require.NoError(t, err)
	defer out.Close()
	for name, example := range map[string]struct {
		handler stefgrpc.HandlerFunc
		stored  func() int
	}{
		"one goroutine":      {stored.metrics, func() int { return len(stored.db.rows) }},
		"several goroutines": {rows.insertConcurrently, func() int { return len(rows.rows) }},
		"files":              {func(s *stefgrpc.ServerStream) error { return store(out, s) }, func() int { return int(out.Stats().Records) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := openExample(t, example.handler)
			w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
			require.NoError(t, err)
			for _, record := range []string{"a", "b", "deep"} {
				w.Record().EditMetric().SetName(record)
				if record == "deep" {
					value := w.Record().Attributes().Append("key")
					for range 2000 {
						list := value.SetArray()
						list.SetLen(1)
						value = list.At(0)
					}
				}
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Flush())
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.ErrorContains(t, s.AwaitAll(ctx), "limit")
			require.EqualValues(t, 2, s.Acked())
			require.Equal(t, 2, example.stored())
		})
	}
}

// openExample opens a stream to a server with a handler of an example.
func openExample(t *testing.T, handler stefgrpc.HandlerFunc) *stefgrpc.Stream {
	t.Helper()
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.MetricsCompactRoot(), handler))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	server.Register(g)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	s, err := client.Open(t.Context(), otelstef.MetricsCompactRoot())
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestExamplesAllowKeepalives connects like the exporter of a Collector with an idle stream. It sends a
// keepalive every 10 s, the shortest interval that gRPC clients in Go allow.
func TestExamplesAllowKeepalives(t *testing.T) {
	if !long() {
		t.Skip("takes 45 s: set STEF_LONG=1")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(fromCollectors())
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, PermitWithoutStream: true}))
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		require.True(t, conn.WaitForStateChange(ctx, state))
	}
	require.False(t, conn.WaitForStateChange(ctx, connectivity.Ready), "the connection was closed")
}

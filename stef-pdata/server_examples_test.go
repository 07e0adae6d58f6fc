// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// TestExampleAnswersGoodRecords sends a frame with two good records and a record that no reader
// accepts. The handler of the example must store and acknowledge the good records before it returns
// the error: after this error, a Session drops the first batch without an answer. This must be the
// batch of the bad record.
func TestExampleAnswersGoodRecords(t *testing.T) {
	stored := make(chan int, 10)
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.LogsCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		return receiveLogs(s, func(ld plog.Logs) error {
			stored <- ld.LogRecordCount()
			return nil
		})
	})))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	server.Register(g)
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	s, err := client.Open(t.Context(), otelstef.LogsCompactRoot())
	require.NoError(t, err)
	defer s.Close()

	w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
	require.NoError(t, err)
	for _, body := range []string{"a", "b", "deep"} {
		w.Record().Record().Body().SetString(body)
		if body == "deep" {
			value := w.Record().Record().Attributes().Append("key")
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
	require.Equal(t, 2, <-stored)
}

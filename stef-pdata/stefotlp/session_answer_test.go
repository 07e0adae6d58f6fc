// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc"
)

// TestAnswerIfBackendRefusesGateway: if the backend refuses the gateway itself, the messages of the
// gateway's clients are not bad. So the gateway answers that the clients must keep their data.
func TestAnswerIfBackendRefusesGateway(t *testing.T) {
	serving := func(root *schema.Struct) func(*testing.T, *grpc.Server) {
		return func(t *testing.T, g *grpc.Server) {
			server, err := stefgrpc.NewServer()
			require.NoError(t, err)
			require.NoError(t, server.Handle(root, stefgrpc.HandlerFunc(func(*stefgrpc.ServerStream) error {
				return &stefgrpc.Error{Kind: stefgrpc.KindRejected}
			})))
			server.Register(g)
		}
	}
	for _, test := range []struct {
		name    string
		kind    stefgrpc.Kind
		serve   func(*testing.T, *grpc.Server)
		options []grpc.ServerOption
	}{
		{name: "without STEF", kind: stefgrpc.KindUnimplemented, serve: func(*testing.T, *grpc.Server) {}},
		{name: "another root", kind: stefgrpc.KindUnimplemented, serve: serving(otelstef.LogsRoot())},
		{name: "permission", kind: stefgrpc.KindAuth, serve: serving(otelstef.SpansCompactRoot()), options: []grpc.ServerOption{
			grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
				return status.Error(codes.PermissionDenied, "no")
			}),
		}},
		{name: "refused streams", kind: stefgrpc.KindRejected, serve: serving(otelstef.SpansCompactRoot())},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := grpc.NewServer(test.options...)
			test.serve(t, g)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			go func() { _ = g.Serve(listener) }()
			defer g.Stop()
			conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			defer conn.Close()
			client, err := stefgrpc.NewClient(conn)
			require.NoError(t, err)
			session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
				return client.Open(ctx, otelstef.SpansCompactRoot())
			}, newMessageWriter, stefgrpc.SessionConfig{})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			defer session.Shutdown(ctx)

			err = session.Send(ctx, []byte{})
			var unsent *stefgrpc.UnsentError
			require.ErrorAs(t, err, &unsent)
			require.Equal(t, test.kind, unsent.Cause.Kind, "%v", err)
			require.False(t, unsent.Cause.Retryable())
			_, _, err = answer(err)
			require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// checkToken returns an interceptor that accepts only streams with this bearer token. For a refused
// stream, the client gets an *Error of KindAuth, which is not retryable.
func checkToken(token string) grpc.StreamServerInterceptor {
	want := []byte("Bearer " + token)
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		got := metadata.ValueFromIncomingContext(ss.Context(), "authorization")
		if len(got) != 1 || subtle.ConstantTimeCompare([]byte(got[0]), want) != 1 {
			return status.Error(codes.Unauthenticated, "the bearer token is missing or wrong")
		}
		return handler(srv, ss)
	}
}

// An interceptor of gRPC checks the credentials of each stream once. A stream that the interceptor
// refuses never reaches the Server, so Server.Stats does not count it.
func ExampleServer_token() {
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	b := &storage{}
	if err := server.Handle(otelstef.MetricsCompactRoot(), stefgrpc.HandlerFunc(b.metrics)); err != nil {
		log.Fatal(err)
	}
	// In production, add grpc.Creds: without TLS anybody on the network can read the token.
	g := grpc.NewServer(grpc.StreamInterceptor(checkToken("secret")), fromCollectors())
	server.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	open := func(ctx context.Context) {
		s, err := client.Open(ctx, otelstef.MetricsCompactRoot())
		if err != nil {
			var e *stefgrpc.Error
			fmt.Println("refused:", errors.As(err, &e) && e.Kind == stefgrpc.KindAuth, e.Retryable())
			return
		}
		fmt.Println("accepted")
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}
	open(context.Background())
	// ExampleWithCallOptions sends the token over TLS.
	open(metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer secret"))
	// Output:
	// refused: true false
	// accepted
}

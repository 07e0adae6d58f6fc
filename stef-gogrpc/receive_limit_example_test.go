// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// This server accepts unknown clients. A client could begin large messages and never finish them, so
// the server bounds the memory of unfinished messages.
func ExampleReceiveLimit() {
	limit := stefgrpc.NewReceiveLimit(256<<20, func(client net.Addr, bytes int64) {
		log.Printf("closed the connection of %v, which held %d bytes of unfinished messages", client, bytes)
	})
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	}))
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer(
		grpc.Creds(limit.Credentials(nil)), // with TLS: limit.Credentials(credentials.NewTLS(config))
		grpc.MaxRecvMsgSize(16<<20),        // the limit is 16 times the largest message
		fromCollectors(),
	)
	server.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := g.Serve(listener); err != nil {
			log.Print(err)
		}
	}()
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := client.Open(ctx, otelstef.MetricsRoot())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	// A frame of HTTP/2 counts until all of it has been read: now some bytes, never more than the limit.
	fmt.Println("streams:", server.Stats().Streams, "within the limit:", limit.Bytes() <= 256<<20)
	// Output: streams: 1 within the limit: true
}

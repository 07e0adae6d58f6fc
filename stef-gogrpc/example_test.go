// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
)

// A client sends three records to a server, which rejects one of them.
func Example() {
	address, stop := serveExample()
	defer stop()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	s, err := client.Open(ctx, otelstef.MetricsRoot())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	w, err := otelstef.NewMetricsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"requests", "", "errors"} {
		w.Record().EditMetric().SetName(name)
		w.Record().Point().Value().SetInt64(1)
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := s.AwaitAll(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged up to", s.Acked())
	fmt.Println("bad:", s.Rejected())
	fmt.Println("end:", s.Drain(ctx))
	// Output:
	// acknowledged up to 3
	// bad: [{2 2}]
	// end: <nil>
}

// serveExample starts a server that rejects metrics without a name.
func serveExample() (address string, stop func()) {
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
			id := r.Stats().Records
			if r.Record().Metric().Name() == "" {
				s.Reject(id, id)
			} else {
				s.AckUpTo(id)
			}
		}
		return r.Err()
	}))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	server.Register(g)
	go func() { _ = g.Serve(listener) }()
	return listener.Addr().String(), g.Stop
}

// Both ends present a certificate. The options of the connection and of the gRPC
// server configure this.
func Example_mutualTLS() {
	pool := x509.NewCertPool()
	authority, err := os.ReadFile("authority.pem")
	if err != nil || !pool.AppendCertsFromPEM(authority) {
		log.Fatal("no authority")
	}
	own, err := tls.LoadX509KeyPair("client.pem", "client-key.pem")
	if err != nil {
		log.Fatal(err)
	}
	conn, err := grpc.NewClient("collector.example.com:4320", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs:      pool,
		Certificates: []tls.Certificate{own},
	})))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	_ = client

	// The server asks for the certificates of clients.
	server, err := tls.LoadX509KeyPair("server.pem", "server-key.pem")
	if err != nil {
		log.Fatal(err)
	}
	_ = grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{server},
			ClientCAs:    pool,
			ClientAuth:   tls.RequireAndVerifyClientCert,
		})),
	)
}

// bearer adds a token to each stream when it is opened. gRPC calls GetRequestMetadata for each
// stream, so the token may change.
type bearer struct{ token func() string }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token()}, nil
}

// RequireTransportSecurity returns true: gRPC does not send the token on connections without TLS.
func (bearer) RequireTransportSecurity() bool { return true }

// Credentials belong to the calls of a client. A stream keeps the credentials with which it
// was opened, so a server checks the credentials once for each stream. A Session replaces a stream
// after SessionConfig.MaxLifetime.
func ExampleWithCallOptions() {
	conn, err := grpc.NewClient("collector.example.com:4320",
		grpc.WithTransportCredentials(credentials.NewTLS(nil)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	credentials := bearer{func() string { return os.Getenv("COLLECTOR_TOKEN") }}
	client, err := stefgrpc.NewClient(conn, stefgrpc.WithCallOptions(grpc.PerRPCCredentials(credentials)))
	if err != nil {
		log.Fatal(err)
	}
	s, err := client.Open(context.Background(), otelstef.MetricsRoot())
	if err != nil {
		var e *stefgrpc.Error
		if errors.As(err, &e) && e.Kind == stefgrpc.KindAuth {
			log.Fatal("the token is not accepted: ", err)
		}
		log.Fatal(err)
	}
	defer s.Close()
}

// A writer that must not wait forever for a slow server calls AwaitRoom before it encodes.
func ExampleStream_AwaitRoom() {
	send := func(ctx context.Context, s *stefgrpc.Stream, w *otelstef.MetricsWriter) error {
		if err := s.AwaitRoom(ctx); err != nil {
			return err // s and w can still be used, unless the stream has ended
		}
		w.Record().Point().Value().SetInt64(1)
		if err := w.Write(); err != nil {
			return err
		}
		return w.Flush()
	}
	_ = send
}

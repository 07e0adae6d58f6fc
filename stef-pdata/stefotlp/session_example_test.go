// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// messageWriter writes OTLP messages of traces into one stream of a session.
type messageWriter struct {
	*otelstef.SpansWriter // has Flush, BufferedBytes and Close
	encoder               *stefotlp.TracesEncoder
}

func newMessageWriter(s *stefgrpc.Stream) (stefgrpc.BatchWriter[[]byte], error) {
	w, err := otelstef.NewSpansWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	if err != nil {
		return nil, err
	}
	return messageWriter{w, stefotlp.NewTracesEncoder(w)}, nil
}

// WriteBatch returns ItemErrors and *WireError unchanged: they concern only this message.
func (m messageWriter) WriteBatch(message []byte) (last uint64, err error) {
	err = m.encoder.EncodeOTLP(message)
	return m.Stats().Records, err
}

// A gateway sends the OTLP messages of its clients to a backend. If a message is bad, its client
// receives the error. The stream to the backend stays open for the other clients.
func ExampleTracesEncoder_session() {
	address, stop := serveSpans() // a server in this process
	defer stop()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		log.Fatal(err)
	}
	session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.SpansCompactRoot())
	}, newMessageWriter, stefgrpc.SessionConfig{})
	if err != nil {
		log.Fatal(err)
	}

	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{2})
	span.SetName("GET /cart")
	message, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td) // in a program: the body of a request
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, message := range [][]byte{message, message[:10], []byte(`{"resourceSpans":[]}`), message} {
		rejected, why, err := answer(session.Send(ctx, message))
		fmt.Println("answer:", rejected, why, err)
	}
	fmt.Println("streams:", session.Stats().Opened)
	fmt.Println("shutdown:", session.Shutdown(ctx))
	// Output:
	// the server has "GET /cart"
	// answer: 0  <nil>
	// answer: 0  rpc error: code = InvalidArgument desc = stefotlp: at byte 0: damaged message: a field is cut off or has a wrong wire type
	// answer: 0  rpc error: code = InvalidArgument desc = stefotlp: at byte 0: damaged message: it looks like JSON, but only the protobuf encoding is read
	// the server has "GET /cart"
	// answer: 0  <nil>
	// streams: 1
	// shutdown: <nil>
}

// answer returns what a gateway answers to its OTLP client after Send: the error with a gRPC status,
// or a success. The results rejected and why of a success belong into partial_success. Over HTTP,
// answer InvalidArgument with 400, and the other codes with 503 and Retry-After.
func answer(err error) (rejected int, why string, _ error) {
	var bad *stefgrpc.RejectedError // records that the backend rejected
	if errors.As(err, &bad) {
		rejected, why = int(bad.Records), bad.Error()
	}
	var part *stefgrpc.BatchError
	var unsent *stefgrpc.UnsentError
	switch {
	case errors.As(err, &part) && part.Delivered:
		var left stefotlp.ItemErrors // items that the encoder left out
		if errors.As(part, &left) {
			rejected += left.Items()
		}
		return rejected, part.Err.Error(), nil
	case errors.As(err, &part):
		return 0, "", status.Error(codes.InvalidArgument, part.Err.Error())
	case errors.As(err, &unsent) && unsent.Cause.Retryable():
		return 0, "", unsent.Cause.GRPCStatus().Err() // with RetryInfo, if the backend named a delay
	case unsent != nil && refusesGateway(unsent):
		// The data may be good, so the client must keep it. The log of the gateway needs the cause.
		return 0, "", status.Error(codes.Unavailable, "the backend refuses the gateway")
	case unsent != nil:
		return 0, "", status.Error(codes.InvalidArgument, unsent.Error())
	}
	return rejected, why, nil
}

// refusesGateway reports whether the cause concerns the gateway and not the data of the batch: the
// backend accepts no stream, has no STEF or another schema, or refuses the credentials.
func refusesGateway(unsent *stefgrpc.UnsentError) bool {
	switch unsent.Cause.Kind {
	case stefgrpc.KindAuth, stefgrpc.KindUnimplemented, stefgrpc.KindIncompatible:
		return true
	}
	return !unsent.Refused.IsZero()
}

// serveSpans acknowledges spans and prints their names.
func serveSpans() (address string, stop func()) {
	server, err := stefgrpc.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	err = server.Handle(otelstef.SpansCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			fmt.Printf("the server has %q\n", r.Record().Span().Name())
			s.AckUpTo(r.Stats().Records)
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

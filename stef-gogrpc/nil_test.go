// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// If an argument is nil, the called function returns an error immediately. Otherwise, a goroutine
// would panic later.
func TestNilArguments(t *testing.T) {
	conn, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := NewClient(conn)
	require.NoError(t, err)
	server, err := NewServer()
	require.NoError(t, err)
	ctx, root := context.Background(), otelstef.MetricsRoot()
	handler := HandlerFunc(func(*ServerStream) error { return nil })
	open := func(context.Context) (*Stream, error) { return nil, errors.New("unused") }
	newWriter := func(*Stream) (BatchWriter[int], error) { return nil, errors.New("unused") }
	client1 := func(_ *Client, err error) error { return err }
	stream := func(_ *Stream, err error) error { return err }
	session := func(_ *Session[int], err error) error { return err }

	f := func(want string, err error) {
		t.Helper()
		require.EqualError(t, err, "stefgrpc: "+want)
	}
	f("NewClient: the connection is nil: create the connection with grpc.NewClient, and check the error of grpc.NewClient", client1(NewClient(nil)))
	f("NewClient: the connection is nil: create the connection with grpc.NewClient, and check the error of grpc.NewClient", client1(NewClient((*grpc.ClientConn)(nil))))
	f("NewClient: option 2 of 2 is nil: remove it", client1(NewClient(conn, WithMaxUnackedRecords(1), nil)))
	f("WithCallOptions: option 1 of 1 is nil: remove it", client1(NewClient(conn, WithCallOptions(nil))))
	f("Open: option 1 of 1 is nil: remove it", stream(client.Open(ctx, root, nil)))
	f("Open: the client has no connection: create the client with NewClient, and check the error of NewClient", stream(new(Client).Open(ctx, root)))
	f("Open: the client has no connection: create the client with NewClient, and check the error of NewClient", stream((*Client)(nil).Open(ctx, root)))
	for _, bad := range []*schema.Struct{nil, {}} {
		err := stream(client.Open(ctx, bad))
		f("Open: the root is nil or has no name: pass the root of the records, such as otelstef.MetricsRoot()", err)
		require.NotErrorAs(t, err, new(*Error), "no peer was involved")
	}
	_, err = NewServer(nil)
	f("NewServer: option 1 of 1 is nil: remove it", err)
	f("Handle needs a root with a name, and a handler that is not nil", server.Handle(nil, handler))
	f("Handle needs a root with a name, and a handler that is not nil", server.Handle(root, nil))
	f("Handle needs a root with a name, and a handler that is not nil", server.Handle(root, HandlerFunc(nil)))
	f("Handle: option 1 of 1 is nil: remove it", server.Handle(root, handler, nil))
	f("Handle: the server is a zero Server: create it with NewServer", new(Server).Handle(root, handler))
	f("NewSession: the function that opens streams is nil", session(NewSession[int](nil, newWriter, SessionConfig{})))
	f("NewSession: the function that creates batch writers is nil", session(NewSession[int](open, nil, SessionConfig{})))
	for _, g := range []grpc.ServiceRegistrar{nil, (*grpc.Server)(nil)} {
		require.PanicsWithValue(t, "stefgrpc: Register: the gRPC server is nil: create it with grpc.NewServer", func() { server.Register(g) })
	}
}

// The functions of NewSession open streams and create batch writers. If one of them returns neither a
// value nor an error, or passes a nil root to Open, no stream can be opened. Then Send returns an
// error immediately.
func TestNilFromFunctions(t *testing.T) {
	f := func(open func(context.Context) (*Stream, error), text string) {
		t.Helper()
		s, err := NewSession(open, func(*Stream) (BatchWriter[int], error) { return nil, nil }, SessionConfig{})
		require.NoError(t, err)
		for range 2 {
			err = s.Send(context.Background(), 1)
			require.ErrorContains(t, err, text)
			var unsent *UnsentError
			require.ErrorAs(t, err, &unsent)
			require.Equal(t, KindUnknown, unsent.Cause.Kind)
			require.False(t, unsent.Cause.Retryable())
			require.False(t, unsent.MaybeDelivered)
		}
		require.Equal(t, KindUnknown, s.Stats().Refused.Kind)
		require.NoError(t, s.Shutdown(context.Background()))
	}
	f(func(context.Context) (*Stream, error) { return nil, nil }, "the function that opens streams returned neither a stream nor an error")

	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		return gather(stream, func([]byte, int) error { return nil })
	})
	client, err := NewClient(conn)
	require.NoError(t, err)
	f(func(ctx context.Context) (*Stream, error) { return client.Open(ctx, otelstef.MetricsRoot()) },
		"batch writer: the function that creates batch writers returned neither a writer nor an error")
	f(func(ctx context.Context) (*Stream, error) { return client.Open(ctx, nil) }, "the root is nil or has no name")
}

// If a function of a session returns an error that is a nil *Error or a nil *BatchError, the session
// treats it as no error. FromStatus(nil) returns a nil *Error.
func TestNilErrorsFromFunctions(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///stef", grpc.WithContextDialer(nilErrorsServer(t)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := NewClient(conn)
	require.NoError(t, err)
	for _, none := range []error{FromStatus(nil), (*BatchError)(nil)} {
		s, err := NewSession(func(ctx context.Context) (*Stream, error) {
			stream, err := client.Open(ctx, otelstef.LogsRoot())
			require.NoError(t, err)
			return stream, none
		}, func(stream *Stream) (BatchWriter[int], error) {
			w, err := otelstef.NewLogsWriter(stream, stream.WriterOptions()...)
			require.NoError(t, err)
			return nilErrorsWriter{w, none}, none
		}, SessionConfig{})
		require.NoError(t, err)
		require.NoError(t, s.Send(t.Context(), 1))
		require.NoError(t, s.Shutdown(context.Background()))
	}
}

func nilErrorsServer(t *testing.T) func(context.Context, string) (net.Conn, error) {
	server, err := NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.LogsRoot(), HandlerFunc(func(s *ServerStream) error {
		r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
		for err == nil && r.Next() {
			s.Ack(r.Stats().Records, r.Stats().Records)
		}
		return err
	})))
	listener, g := bufconn.Listen(1<<20), grpc.NewServer()
	server.Register(g)
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	return func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
}

// nilErrorsWriter writes one record for each batch.
type nilErrorsWriter struct {
	*otelstef.LogsWriter
	none error
}

func (w nilErrorsWriter) WriteBatch(int) (uint64, error) {
	if err := w.Write(); err != nil {
		return 0, err
	}
	return w.Stats().Records, w.none
}

func (w nilErrorsWriter) Flush() error {
	if err := w.LogsWriter.Flush(); err != nil {
		return err
	}
	return w.none
}

// A program may create errors of this package itself, for example in its tests. Such errors
// have a text even if fields are missing.
func TestErrorsWithoutFields(t *testing.T) {
	require.EqualError(t, &Error{}, "stefgrpc: unknown: Unknown")
	require.EqualError(t, &BatchError{}, "stefgrpc: batch cannot be encoded: <nil>")
	require.EqualError(t, &RejectedError{Records: 3}, "stefgrpc: 3 records rejected by the destination")
	require.EqualError(t, &RejectedError{Records: 3, Ranges: []IDRange{{From: 1, To: 2}, {From: 4, To: 4}}},
		"stefgrpc: 3 records rejected by the destination: records 1 to 2 of the batch and 1 more range")
	unsent := &UnsentError{}
	require.EqualError(t, unsent, "stefgrpc: batch handed back (not sent): <nil>")
	require.NoError(t, errors.Unwrap(unsent))
}

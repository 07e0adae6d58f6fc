// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// plainServer is a server of the protocol that does not use this package: it registers
// the gRPC method itself, and uses the protobuf messages.
type plainServer struct {
	serve func(grpc.ServerStream) error
}

func (p plainServer) register(g *grpc.Server) {
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "STEFDestination",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return p.serve(stream) },
		}},
	}, p)
}

// clientEnds starts a server, and returns a connection to this server and the server itself. At the
// end of the test it closes both, and checks that all their goroutines have ended.
func clientEnds(t testing.TB, serve func(grpc.ServerStream) error, options ...grpc.ServerOption) (*grpc.ClientConn, *grpc.Server) {
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("testing.(*T).Run")) })
	listener := bufconn.Listen(1 << 20)
	g := grpc.NewServer(options...)
	if serve != nil {
		plainServer{serve}.register(g)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///stef",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		g.Stop()
		<-served
	})
	return conn, g
}

// welcome receives the first message of a client of root Metrics and sends the first message of the
// server.
func welcome(stream grpc.ServerStream) error {
	var m stefpb.STEFClientMessage
	if err := stream.RecvMsg(&m); err != nil {
		return err
	}
	if root := m.GetFirstMessage().GetRootStructName(); root != "Metrics" {
		return status.Errorf(codes.Unimplemented, "root %q", root)
	}
	wire, err := otelstef.MetricsSchema().AppendBinary(nil)
	if err != nil {
		return err
	}
	return stream.SendMsg(capable(0, wire))
}

// gather receives chunks until the client is done. It calls the function tell for each chunk.
func gather(stream grpc.ServerStream, tell func(chunk []byte, messages int) error) error {
	if err := welcome(stream); err != nil {
		return err
	}
	var chunk []byte
	for messages := 1; ; messages++ {
		var m stefpb.STEFClientMessage
		switch err := stream.RecvMsg(&m); {
		case errors.Is(err, io.EOF) && len(chunk) == 0:
			return nil
		case err != nil:
			return err
		case m.GetFirstMessage() != nil:
			return status.Error(codes.InvalidArgument, "two first messages")
		}
		chunk = append(chunk, m.GetStefBytes()...)
		if m.GetIsEndOfChunk() {
			if err := tell(chunk, messages); err != nil {
				return err
			}
			chunk, messages = nil, 0
		}
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func openMetrics(t testing.TB, conn grpc.ClientConnInterface, options ...ClientOption) *Stream {
	t.Helper()
	client, err := NewClient(conn, options...)
	require.NoError(t, err)
	s, err := client.Open(within(t), otelstef.MetricsRoot())
	require.NoError(t, err)
	t.Cleanup(func() {
		s.Close()
		<-s.Done()
	})
	return s
}

func TestRecordsToPlainServer(t *testing.T) {
	const batches, size = 20, 50
	f := func(name string, options []ClientOption, writer ...stef.WriterOption) {
		t.Run(name, func(t *testing.T) {
			var received bytes.Buffer
			chunks, messages := 0, 0
			conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
				return gather(stream, func(chunk []byte, parts int) error {
					received.Write(chunk)
					chunks++
					messages += parts
					if chunks <= 2 {
						return nil // the first two chunks are the headers
					}
					return stream.SendMsg(ackOf(uint64(chunks-2) * size))
				})
			})
			s := openMetrics(t, conn, options...)
			w, err := otelstef.NewMetricsWriter(s, append(s.WriterOptions(), writer...)...)
			require.NoError(t, err)
			for b := range batches {
				for i := range size {
					w.Record().Point().SetTimestamp(uint64(b*size + i))
					require.NoError(t, w.Write())
				}
				require.NoError(t, w.Flush())
				require.EqualValues(t, (b+1)*size, s.Sent())
			}
			require.NoError(t, s.AwaitAll(within(t)))
			require.NoError(t, w.Close())
			require.NoError(t, s.Drain(within(t)))
			require.NoError(t, s.Err())
			require.EqualValues(t, batches*size, s.Acked())
			require.Equal(t, batches+2, chunks)
			require.GreaterOrEqual(t, messages, chunks)

			r, err := otelstef.NewMetricsReader(&received)
			require.NoError(t, err)
			require.Equal(t, s.Schema(), r.Schema())
			for i := range uint64(batches * size) {
				require.True(t, r.Next())
				require.Equal(t, i, r.Record().Point().Timestamp())
			}
			require.False(t, r.Next())
			require.NoError(t, r.Err())
		})
	}
	f("plain", nil)
	f("zstd", nil, stef.WithCompression(stef.Zstd))
	f("split", []ClientOption{WithMaxMessageBytes(20)})
	f("gzip by gRPC", []ClientOption{WithCallOptions(grpc.UseCompressor(gzip.Name)), WithMaxMessageBytes(64)})
	f("one chunk at a time", []ClientOption{WithMaxUnackedBytes(1)})
	f("few records at a time", []ClientOption{WithMaxUnackedBytes(1 << 20), WithMaxUnackedRecords(60)})
}

func TestLargeChunk(t *testing.T) {
	want := make([]byte, 9<<20)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < len(want); i += 101 {
		want[i] = byte(rnd.Uint32())
	}
	var same atomic.Bool
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		return gather(stream, func(chunk []byte, messages int) error {
			same.Store(bytes.Equal(want, chunk) && messages == 10)
			return stream.SendMsg(ackOf(1000))
		})
	})
	s := openMetrics(t, conn)
	n, err := s.WriteRecords(want, 1000)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	require.NoError(t, s.AwaitAck(within(t), 1000))
	require.True(t, same.Load())
}

// TestChunkIsNotKept: a writer may reuse its buffer after a write.
func TestChunkIsNotKept(t *testing.T) {
	const chunks = 200
	bad := atomic.Int32{}
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		next := byte(0)
		return gather(stream, func(chunk []byte, _ int) error {
			if bytes.Count(chunk, []byte{next}) != len(chunk) {
				bad.Add(1)
			}
			next++
			return stream.SendMsg(ackOf(uint64(next)))
		})
	})
	s := openMetrics(t, conn)
	chunk := make([]byte, 5000)
	for i := range chunks {
		for j := range chunk {
			chunk[j] = byte(i)
		}
		_, err := s.WriteRecords(chunk, uint64(i+1))
		require.NoError(t, err)
	}
	require.NoError(t, s.AwaitAck(within(t), chunks))
	require.Zero(t, bad.Load())
}

func TestNoService(t *testing.T) {
	conn, _ := clientEnds(t, nil)
	client, err := NewClient(conn)
	require.NoError(t, err)
	_, err = client.Open(within(t), otelstef.MetricsRoot())
	require.Equal(t, KindUnimplemented, FromStatus(err).Kind)
	require.ErrorContains(t, err, "Metrics")
}

func TestNoSuchRoot(t *testing.T) {
	conn, _ := clientEnds(t, welcome)
	client, err := NewClient(conn)
	require.NoError(t, err)
	_, err = client.Open(within(t), otelstef.SpansRoot())
	require.Equal(t, KindUnimplemented, FromStatus(err).Kind)
}

func TestNoConnection(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///nobody",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("no way there") }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	f := func(code codes.Code, ctx context.Context, options ...ClientOption) {
		t.Helper()
		client, err := NewClient(conn, options...)
		require.NoError(t, err)
		_, err = client.Open(ctx, otelstef.MetricsRoot())
		e := FromStatus(err)
		require.Equal(t, code, e.Code)
		require.True(t, e.Retryable())
		require.ErrorContains(t, err, "no way there")
	}
	f(codes.Unavailable, within(t))
	// A caller that waits for a connection receives the reason why there is no connection.
	patient := WithCallOptions(grpc.WaitForReady(true))
	f(codes.Unavailable, within(t), patient, WithHandshakeTimeout(50*time.Millisecond))
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	f(codes.DeadlineExceeded, short, patient)
}

// TestOpenContext: when the context of Open ends after Open has returned, the stream stays open. The
// context of the stream has the values of the context of Open.
func TestOpenContext(t *testing.T) {
	seen := make(chan metadata.MD, 1)
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		seen <- md
		if _, ok := stream.Context().Deadline(); ok {
			return status.Error(codes.Internal, "the stream has a deadline")
		}
		return gather(stream, func([]byte, int) error { return stream.SendMsg(ackOf(1)) })
	})
	client, err := NewClient(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), "tenant", "a"), time.Minute)
	s, err := client.Open(ctx, otelstef.MetricsRoot())
	require.NoError(t, err)
	defer s.Close()
	cancel()
	require.Equal(t, []string{"a"}, (<-seen).Get("tenant"))
	_, err = s.WriteRecords([]byte("frame"), 1)
	require.NoError(t, err)
	require.NoError(t, s.AwaitAll(within(t)))
	require.NotNil(t, s.Peer())
	require.Equal(t, "Metrics", s.Root().Name)
	s.Close()
	<-s.Done()
	require.NoError(t, s.Err())
}

// TestConnectionLost: when the connection is lost, all waiting calls end.
func TestConnectionLost(t *testing.T) {
	conn, g := clientEnds(t, func(stream grpc.ServerStream) error {
		return gather(stream, func([]byte, int) error { return nil })
	})
	s := openMetrics(t, conn, WithMaxUnackedBytes(10))
	_, err := s.WriteRecords(make([]byte, 100), 10)
	require.NoError(t, err)
	errs := make(chan error, 3)
	go func() { _, err := s.WriteRecords(make([]byte, 100), 20); errs <- err }()
	go func() { errs <- s.AwaitAll(context.Background()) }()
	go func() { errs <- s.AwaitRoom(context.Background()) }()
	time.Sleep(20 * time.Millisecond)
	g.Stop()
	for range 3 {
		e := FromStatus(<-errs)
		require.Equal(t, KindUnavailable, e.Kind)
		require.True(t, e.Retryable())
	}
	<-s.Done()
	require.ErrorContains(t, s.Err(), "none of 10 sent records acknowledged")
	bytes, records := s.Unacked()
	require.EqualValues(t, 100, bytes)
	require.EqualValues(t, 10, records)
}

// TestGracefulStop: GracefulStop of gRPC sends GOAWAY, and a stream still continues until the client
// ends it.
func TestGracefulStop(t *testing.T) {
	conn, g := clientEnds(t, func(stream grpc.ServerStream) error {
		n := uint64(0)
		return gather(stream, func([]byte, int) error {
			n++
			return stream.SendMsg(ackOf(n))
		})
	})
	s := openMetrics(t, conn)
	stopped := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(stopped)
	}()
	for i := range uint64(20) {
		_, err := s.WriteRecords([]byte("frame"), i+1)
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, s.Drain(within(t)))
	<-stopped
}

// TestSlowServer: if the server does not read, flow control blocks the writer after little data.
func TestSlowServer(t *testing.T) {
	read := make(chan struct{})
	var chunks atomic.Uint64
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		if err := welcome(stream); err != nil {
			return err
		}
		<-read
		for {
			var m stefpb.STEFClientMessage
			if err := stream.RecvMsg(&m); err != nil {
				return err
			}
			if m.GetIsEndOfChunk() {
				if err := stream.SendMsg(ackOf(chunks.Add(1))); err != nil {
					return err
				}
			}
		}
	})
	s := openMetrics(t, conn)
	var written atomic.Uint64
	end := make(chan error, 1)
	go func() {
		chunk := make([]byte, 50_000)
		for i := range uint64(100) {
			if _, err := s.WriteRecords(chunk, i+1); err != nil {
				end <- err
				return
			}
			written.Add(1)
		}
		end <- nil
	}()
	time.Sleep(50 * time.Millisecond)
	require.Less(t, written.Load(), uint64(20), "5 MB went into nowhere")
	close(read)
	require.NoError(t, <-end)
	require.NoError(t, s.AwaitAll(within(t)))
}

func TestManyWaiters(t *testing.T) {
	const chunks = 300
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		n := uint64(0)
		return gather(stream, func([]byte, int) error {
			n++
			if n%3 > 0 && n < chunks {
				return nil
			}
			return stream.SendMsg(ackOf(n, IDRange{From: n, To: n}))
		})
	})
	client, err := NewClient(conn, WithMaxUnackedBytes(1000), WithMaxUnackedRecords(20))
	require.NoError(t, err)
	var told wire.Ranges
	s, err := client.Open(within(t), otelstef.MetricsRoot(), WithOnResponse(func(r Response) {
		for _, bad := range r.Rejected {
			told.Add(bad)
		}
	}))
	require.NoError(t, err)
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range uint64(chunks) {
		wg.Go(func() { assert.NoError(t, s.AwaitAck(ctx, (i*7)%chunks+1)) })
		wg.Go(func() {
			short, cancel := context.WithTimeout(ctx, time.Duration(i)*100*time.Microsecond)
			defer cancel()
			if err := s.AwaitAck(short, chunks); err != nil {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}
		})
		wg.Go(func() {
			bytes, records := s.Unacked()
			assert.LessOrEqual(t, bytes, int64(1100))
			assert.LessOrEqual(t, records, uint64(21))
			assert.LessOrEqual(t, s.Acked(), s.Sent())
			s.Rejected()
			assert.NoError(t, s.AwaitRoom(ctx))
		})
	}
	for i := range uint64(chunks) {
		_, err := s.WriteRecords(make([]byte, 100), i+1)
		require.NoError(t, err)
	}
	wg.Wait()
	require.NoError(t, s.Drain(ctx))
	require.Len(t, s.Rejected(), chunks/3)
	require.Equal(t, wire.Ranges(s.Rejected()), told)
	require.Empty(t, s.waiters)
}

// TestCloseAnyTime closes streams at random moments.
func TestCloseAnyTime(t *testing.T) {
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		n := uint64(0)
		return gather(stream, func([]byte, int) error {
			n++
			return stream.SendMsg(ackOf(n))
		})
	})
	for i := range 40 {
		s := openMetrics(t, conn, WithMaxUnackedBytes(5000))
		var wg sync.WaitGroup
		wg.Go(func() {
			for id := uint64(1); ; id++ {
				if _, err := s.WriteRecords(make([]byte, 1000), id); err != nil {
					return
				}
			}
		})
		wg.Go(func() { _ = s.AwaitAck(context.Background(), 1<<40) })
		time.Sleep(time.Duration(i) * 50 * time.Microsecond)
		switch i % 3 {
		case 0:
			s.Close()
		case 1:
			require.NoError(t, s.CloseSend())
		default:
			_ = s.Drain(within(t))
		}
		wg.Wait()
		<-s.Done()
	}
}

// hooked is a connection that calls the function hook after each message that it sends.
type hooked struct {
	grpc.ClientConnInterface
	hook *func()
}

func (c hooked) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, options...)
	return hookedStream{s, c.hook}, err
}

type hookedStream struct {
	grpc.ClientStream
	hook *func()
}

func (s hookedStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	(*s.hook)()
	return err
}

// TestWriteContext: when the context of a write ends, the stream stays usable if nothing of the chunk
// was sent. It ends if only a part of the chunk was sent.
func TestWriteContext(t *testing.T) {
	const messages = 109 // a chunk is sent in 109 messages, with 92 of its bytes each
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		return gather(stream, func([]byte, int) error { return nil })
	})
	var s *Stream
	var hook func()
	whole, half := 0, 0
	for i := range 400 {
		hook = func() {}
		if s == nil {
			s = openMetrics(t, hooked{conn, &hook}, WithMaxMessageBytes(100))
		}
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 { // at a random time
			time.AfterFunc(time.Duration(i%40)*5*time.Microsecond, cancel)
		} else { // after one of the messages, or when all messages are sent
			left := i * 7 % (messages + 10)
			hook = func() {
				if left--; left == 0 {
					cancel()
					time.Sleep(100 * time.Microsecond)
				}
			}
		}
		_, err := s.WriteContext(ctx, make([]byte, 10_000), s.Sent()+1)
		cancel()
		<-ctx.Done()
		time.Sleep(100 * time.Microsecond) // wait for the effects of the end of the context
		if _, again := s.WriteRecords([]byte("frame"), s.Sent()); again != nil {
			require.ErrorContains(t, again, "inside a chunk")
			require.Error(t, err)
			<-s.Done()
			s = nil
			half++
		} else if err == nil {
			whole++
		}
	}
	require.NotZero(t, whole)
	require.NotZero(t, half)
}

// A context that has ended before a write stops only that write. The stream can still be
// closed.
func TestEndedContext(t *testing.T) {
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		err := gather(stream, func([]byte, int) error { return nil })
		<-stream.Context().Done()
		return err
	})
	s := openMetrics(t, conn)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		_, err := s.WriteContext(ended, []byte("frame"), 1)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Zero(t, s.Sent())
	_, err := s.WriteRecords([]byte("frame"), 1)
	require.NoError(t, err)
	for range 50 {
		err = s.Drain(ended)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "waiting for the end of the stream of Metrics")
	}
	require.NoError(t, s.Close())
}

// TestOwnLimit: a program can limit its messages by a call option of gRPC. A message over this limit
// ends the stream with KindLimit.
func TestOwnLimit(t *testing.T) {
	conn, _ := clientEnds(t, func(stream grpc.ServerStream) error {
		return gather(stream, func([]byte, int) error { return nil })
	})
	s := openMetrics(t, conn, WithCallOptions(grpc.MaxCallSendMsgSize(1000)))
	_, err := s.WriteRecords(make([]byte, 2000), 1)
	require.Equal(t, KindLimit, FromStatus(err).Kind)
	<-s.Done()
	require.Equal(t, err, s.Err())
}

func TestOptions(t *testing.T) {
	conn := newServerPeer()
	f := func(option ClientOption) {
		t.Helper()
		_, err := NewClient(conn, option)
		require.Error(t, err)
	}
	f(WithMaxMessageBytes(15))
	f(WithMaxUnackedBytes(0))
	f(WithHandshakeTimeout(0))
	f(WithDictBytes(0))
	_, err := NewClient(nil)
	require.Error(t, err)

	client, err := NewClient(conn, WithMaxMessageBytes(16), WithMaxUnackedBytes(1))
	require.NoError(t, err)
	_, err = client.Open(within(t), otelstef.MetricsRoot(), func(*openConfig) error { return io.ErrShortWrite })
	require.ErrorIs(t, err, io.ErrShortWrite)
}

// An error of Open names the target of the connection.
func TestOpenNamesTarget(t *testing.T) {
	conn, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := NewClient(conn)
	require.NoError(t, err)
	_, err = client.Open(context.Background(), otelstef.MetricsRoot())
	require.ErrorContains(t, err, "stefgrpc: unavailable: opening a stream of Metrics to 127.0.0.1:1: ")
}

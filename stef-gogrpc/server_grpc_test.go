// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// ends is a server for root Metrics and a client connection to it, over a network in memory. In a
// synctest bubble, gRPC uses the fake clock, too.
type ends struct {
	server *stefgrpc.Server
	grpc   *grpc.Server
	net    *netfault.Memory
	conn   *grpc.ClientConn
	served chan error // the errors that handlers returned
}

type endsConfig struct {
	server []stefgrpc.ServerOption
	grpc   []grpc.ServerOption
	dial   []grpc.DialOption
}

func newEnds(t testing.TB, h stefgrpc.HandlerFunc, c endsConfig) *ends {
	t.Helper()
	e := &ends{served: make(chan error, 100)}
	var err error
	e.server, err = stefgrpc.NewServer(c.server...)
	require.NoError(t, err)
	require.NoError(t, e.server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		err := h(s)
		e.served <- err
		return err
	})))
	e.grpc = grpc.NewServer(append(c.grpc, grpc.WaitForHandlers(true))...)
	e.server.Register(e.grpc)
	e.net, err = netfault.NewMemory(netfault.Link{RoundTrip: 2 * time.Millisecond})
	require.NoError(t, err)
	listener, err := e.net.Listen()
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- e.grpc.Serve(listener) }()
	e.conn, err = grpc.NewClient("passthrough:///memory", append(c.dial,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(e.net.Dial))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = e.conn.Close() // fails if the test has already closed the connection
		e.grpc.Stop()
		if err := <-stopped; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
		require.NoError(t, e.net.Close())
		require.NoError(t, e.server.Shutdown(within(t, time.Second)))
		stats := e.server.Stats()
		require.Zero(t, stats.Streams)
		require.Zero(t, stats.BufferedBytes)
	})
	return e
}

func (e *ends) open(t testing.TB) *referenceClient {
	t.Helper()
	c := call(t, e.conn)
	c.say(firstMessage("Metrics"))
	_, err := c.hear()
	require.NoError(t, err)
	return c
}

func drain(s *stefgrpc.ServerStream) error {
	_, err := io.Copy(io.Discard, s)
	return err
}

// echo acknowledges one id per received byte.
func echo(s *stefgrpc.ServerStream) error {
	p := make([]byte, 1000)
	var total uint64
	for {
		n, err := s.Read(p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		total += uint64(n)
		s.AckUpTo(total)
	}
}

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestServerContext(t *testing.T) {
	type key struct{}
	inBubble(t, "stream", func(t *testing.T) {
		type facts struct {
			peer, value any
			metadata    []string
			left        time.Duration
		}
		saw := make(chan facts, 1)
		e := newEnds(t, func(s *stefgrpc.ServerStream) error {
			var f facts
			if p, ok := peer.FromContext(s.Context()); ok {
				f.peer = p.Addr.Network()
			}
			f.metadata = metadata.ValueFromIncomingContext(s.Context(), "tenant")
			deadline, _ := s.Context().Deadline()
			f.left = time.Until(deadline)
			f.value = s.Context().Value(key{})
			saw <- f
			<-s.Context().Done()
			return s.Context().Err()
		}, endsConfig{grpc: []grpc.ServerOption{grpc.StreamInterceptor(
			func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
				if info.FullMethod != stefgrpc.StreamMethod {
					return status.Error(codes.PermissionDenied, info.FullMethod)
				}
				return handler(srv, valueStream{ss, context.WithValue(ss.Context(), key{}, "from an interceptor")})
			})}})
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "tenant", "blue"), time.Minute)
		defer cancel()
		stream, err := e.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			stefgrpc.StreamMethod, grpc.ForceCodecV2(rawCodec()))
		require.NoError(t, err)
		c := &referenceClient{ClientStream: stream, t: t}
		c.say(firstMessage("Metrics"))
		got := <-saw
		require.NotNil(t, got.peer)
		require.Equal(t, "from an interceptor", got.value)
		require.Equal(t, []string{"blue"}, got.metadata)
		require.InDelta(t, time.Minute, got.left, float64(time.Second))

		_, err = c.hear()
		require.NoError(t, err)
		_, err = c.hear()
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
		require.Error(t, <-e.served)
	})
}

type valueStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s valueStream) Context() context.Context { return s.ctx }

// Clients can distinguish a server without STEF and a STEF server without a handler for the root. Both
// answer UNIMPLEMENTED, but only the STEF server sends a reason.
func TestServerUnknownRootOrNoService(t *testing.T) {
	inBubble(t, "root", func(t *testing.T) {
		e := newEnds(t, drain, endsConfig{})
		c := call(t, e.conn)
		c.say(firstMessage("Profiles"))
		_, err := c.hear()
		require.Equal(t, codes.Unimplemented, status.Code(err))
		require.Equal(t, stefgrpc.ReasonUnknownRoot, stefgrpc.Reason(err))
	})
	t.Run("service", func(t *testing.T) {
		c := call(t, serveGRPC(t, grpc.NewServer()))
		c.say(firstMessage("Metrics"))
		_, err := c.hear()
		require.Equal(t, codes.Unimplemented, status.Code(err))
		require.Empty(t, stefgrpc.Reason(err))
	})
}

// The server loses the client in several ways. Each time, the handler gets an error and all
// goroutines end.
func TestServerLosesClient(t *testing.T) {
	f := func(name string, lose func(e *ends, c *referenceClient)) {
		inBubble(t, name, func(t *testing.T) {
			e := newEnds(t, echo, endsConfig{})
			c := e.open(t)
			c.say(chunkMessage([]byte("abc"), true))
			message, err := c.hear()
			require.NoError(t, err)
			require.Equal(t, uint64(3), acknowledged(t, message))
			c.say(chunkMessage([]byte("half a chunk"), false))
			lose(e, c)
			require.Equal(t, codes.Canceled, status.Code(<-e.served))
			synctest.Wait()
			require.Zero(t, e.server.Stats().Streams)
		})
	}
	f("cancelled", func(_ *ends, c *referenceClient) { c.cancel() })
	f("connection cut", func(e *ends, _ *referenceClient) { e.net.Cut() })
	f("connection closed", func(e *ends, _ *referenceClient) { _ = e.conn.Close() })
	f("client silent, server closes", func(e *ends, _ *referenceClient) {
		e.net.HalfClose(netfault.Up)
	})
}

// A stalled network does not end the stream. Only keepalive of gRPC ends it.
func TestServerStalledNetwork(t *testing.T) {
	inBubble(t, "without keepalive", func(t *testing.T) {
		e := newEnds(t, echo, endsConfig{})
		c := e.open(t)
		e.net.Stall(netfault.Both)
		c.say(chunkMessage([]byte("abc"), true))
		time.Sleep(10 * time.Second)
		require.Empty(t, e.served)
		e.net.Resume(netfault.Both)
		message, err := c.hear()
		require.NoError(t, err)
		require.Equal(t, uint64(3), acknowledged(t, message))
	})
	inBubble(t, "with keepalive", func(t *testing.T) {
		e := newEnds(t, echo, endsConfig{grpc: []grpc.ServerOption{grpc.KeepaliveParams(
			keepalive.ServerParameters{Time: time.Second, Timeout: time.Second})}})
		e.open(t)
		e.net.Stall(netfault.Both)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, codes.Canceled, status.Code(<-e.served))
		require.Zero(t, e.server.Stats().Streams)
	})
}

// The server stops without a status, in each state of a stream.
func TestServerCrashes(t *testing.T) {
	f := func(name string, bring func(t *testing.T, e *ends) *referenceClient) {
		inBubble(t, name, func(t *testing.T) {
			e := newEnds(t, echo, endsConfig{})
			c := bring(t, e)
			synctest.Wait()
			e.grpc.Stop() // waits for the handlers
			for {
				if _, err := c.hear(); err != nil {
					require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
					break
				}
			}
			synctest.Wait()
			require.Zero(t, e.server.Stats().Streams)
		})
	}
	f("before the first message", func(t *testing.T, e *ends) *referenceClient { return call(t, e.conn) })
	f("before the capabilities are read", func(t *testing.T, e *ends) *referenceClient {
		c := call(t, e.conn)
		c.say(firstMessage("Metrics"))
		return c
	})
	f("idle", func(t *testing.T, e *ends) *referenceClient { return e.open(t) })
	f("within a chunk", func(t *testing.T, e *ends) *referenceClient {
		c := e.open(t)
		c.say(chunkMessage([]byte("abc"), false))
		return c
	})
	f("half-closed", func(t *testing.T, e *ends) *referenceClient {
		c := e.open(t)
		c.say(chunkMessage([]byte("abc"), false))
		// The handler has returned, but the client has not read the end of the stream.
		e.net.Stall(netfault.Down)
		require.NoError(t, c.CloseSend())
		synctest.Wait()
		e.net.Cut()
		return c
	})
}

// GOAWAY does not end streams. They continue until MaxConnectionAgeGrace is over.
func TestServerGoAway(t *testing.T) {
	inBubble(t, "age", func(t *testing.T) {
		e := newEnds(t, echo, endsConfig{grpc: []grpc.ServerOption{grpc.KeepaliveParams(
			keepalive.ServerParameters{MaxConnectionAge: time.Second, MaxConnectionAgeGrace: 10 * time.Second})}})
		c := e.open(t)
		time.Sleep(5 * time.Second)
		c.say(chunkMessage([]byte("abc"), true))
		message, err := c.hear()
		require.NoError(t, err)
		require.Equal(t, uint64(3), acknowledged(t, message))

		second := e.open(t) // on another connection
		require.Equal(t, 2, e.net.Opened())
		time.Sleep(7 * time.Second)
		_, err = c.hear()
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, codes.Canceled, status.Code(<-e.served))
		require.NoError(t, second.CloseSend())
		_, err = second.hear()
		require.Equal(t, io.EOF, err)
	})
}

// To stop a server gracefully, call Shutdown first and GracefulStop second. Each client receives all
// acknowledgements, and then a status that asks it to reconnect.
func TestServerShutdownOverGRPC(t *testing.T) {
	inBubble(t, "in order", func(t *testing.T) {
		e := newEnds(t, func(s *stefgrpc.ServerStream) error {
			err := drain(s)
			s.AckUpTo(7)
			return err
		}, endsConfig{})
		c := e.open(t)
		c.say(chunkMessage([]byte("abc"), true))
		synctest.Wait()
		start := time.Now()
		require.NoError(t, e.server.Shutdown(within(t, time.Minute)))
		message, err := c.hear()
		require.NoError(t, err)
		require.Equal(t, uint64(7), acknowledged(t, message))
		_, err = c.hear()
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.Equal(t, stefgrpc.ReasonReconnect, stefgrpc.Reason(err))

		late := call(t, e.conn)
		late.say(firstMessage("Metrics"))
		_, err = late.hear()
		require.Equal(t, stefgrpc.ReasonReconnect, stefgrpc.Reason(err))
		e.grpc.GracefulStop()
		require.Less(t, time.Since(start), time.Second)
	})
	inBubble(t, "a client that does not read", func(t *testing.T) {
		e := newEnds(t, func(s *stefgrpc.ServerStream) error {
			for id := uint64(2); ; id += 2 { // more responses than fit into the flow control window
				s.Reject(id, id)
				s.AckUpTo(id)
				if s.Context().Err() != nil || id > 100_000 {
					return drain(s)
				}
			}
		}, endsConfig{server: []stefgrpc.ServerOption{stefgrpc.WithAckInterval(0)}})
		c := e.open(t)
		synctest.Wait()
		start := time.Now()
		err := e.server.Shutdown(within(t, time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(start), 2*time.Second)
		c.cancel()
	})
}

func TestServerMessageBeyondGRPC(t *testing.T) {
	inBubble(t, "limit", func(t *testing.T) {
		e := newEnds(t, drain, endsConfig{grpc: []grpc.ServerOption{grpc.MaxRecvMsgSize(1000)}})
		c := e.open(t)
		c.say(chunkMessage(make([]byte, 1000), true))
		_, err := c.hear()
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
	})
}

func TestServerDamagedMessage(t *testing.T) {
	f := func(name, message string) {
		inBubble(t, name, func(t *testing.T) {
			e := newEnds(t, drain, endsConfig{})
			c := e.open(t)
			c.say(fromHex(t, message))
			_, err := c.hear()
			require.Equal(t, codes.Internal, status.Code(err))
			require.Error(t, <-e.served)
		})
	}
	f("cut", "1207 5354")
	f("length of 2^63", "12 ffffffffffffffff7f 00")
	f("end of no group", "1c")
}

// The server refuses streams whose messages gRPC compresses, before any message is decompressed. The
// option WithCompressedMessages allows them.
func TestServerRefusesGRPCCompression(t *testing.T) {
	inBubble(t, "gzip", func(t *testing.T) {
		e := newEnds(t, echo, endsConfig{dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))}})
		c := call(t, e.conn)
		c.say(firstMessage("Metrics"))
		_, err := c.hear()
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		// The client adds a prefix and the kind of the error to this text.
		require.Equal(t, "gRPC compresses the messages (gzip): turn the compression of gRPC off for STEF, whose frames are compressed themselves",
			status.Convert(err).Message())
		require.EqualValues(t, 1, e.server.Stats().Refused)
	})
	inBubble(t, "accepted", func(t *testing.T) {
		e := newEnds(t, echo, endsConfig{
			server: []stefgrpc.ServerOption{stefgrpc.WithCompressedMessages()},
			dial:   []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))},
		})
		c := e.open(t)
		c.say(chunkMessage([]byte(strings.Repeat("a", 900)), true))
		message, err := c.hear()
		require.NoError(t, err)
		require.Equal(t, uint64(900), acknowledged(t, message))
	})
}

// If the server ends an idle stream, the errors of the client say that it was idle. If the client has
// called CloseSend before, they do not, because the client itself ended the stream.
func TestClientOfIdleStream(t *testing.T) {
	f := func(name, want string, end func(s *stefgrpc.Stream)) {
		t.Helper()
		inBubble(t, name, func(t *testing.T) {
			e := newEnds(t, func(s *stefgrpc.ServerStream) error {
				_, err := io.Copy(io.Discard, s)
				return err
			}, endsConfig{server: []stefgrpc.ServerOption{stefgrpc.WithIdleTimeout(5 * time.Second)}})
			client, err := stefgrpc.NewClient(e.conn)
			require.NoError(t, err)
			s, err := client.Open(t.Context(), otelstef.MetricsRoot())
			require.NoError(t, err)
			w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
			require.NoError(t, err)
			end(s)
			<-s.Done()
			require.NoError(t, s.Err())
			require.NoError(t, w.Write())
			var ended *stefgrpc.Error
			require.ErrorAs(t, w.Flush(), &ended)
			require.Equal(t, stefgrpc.KindClosed, ended.Kind)
			require.ErrorContains(t, ended, want)
		})
	}
	f("idle", "closed: the server ended the stream of Metrics gracefully, perhaps because it was idle: open another stream or use a Session",
		func(*stefgrpc.Stream) {})
	f("CloseSend", "closed: the stream of Metrics has ended", func(s *stefgrpc.Stream) { require.NoError(t, s.CloseSend()) })
}

// This test runs the example in the documentation of Server, with a client that
// sends records.
func TestServerExample(t *testing.T) {
	inBubble(t, "metrics", func(t *testing.T) {
		e := newEnds(t, func(s *stefgrpc.ServerStream) error {
			r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
			if err != nil {
				return err
			}
			defer r.Close()
			for r.Next() {
				if r.BufferedRecords() == 0 {
					s.AckUpTo(r.Stats().Records)
				}
			}
			return r.Err()
		}, endsConfig{})
		c := e.open(t)
		var acked uint64
		for _, m := range wholeChunks(t, writeDynamic(t, otelstef.MetricsRoot(), 5)) {
			c.say(m)
		}
		for acked < 5 {
			message, err := c.hear()
			require.NoError(t, err)
			acked = acknowledged(t, message)
		}
		require.NoError(t, e.server.Shutdown(within(t, time.Minute)), "the reader ends behind a frame")
		require.NoError(t, <-e.served)
		_, err := c.hear()
		require.Equal(t, stefgrpc.ReasonReconnect, stefgrpc.Reason(err))
	})
}

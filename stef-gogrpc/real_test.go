// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// These tests cover connections that gRPC ends itself, because of their age or because the peer does
// not answer. They also cover peers that do not read.

// TestConnectionAgeOverTCP: no Send fails when servers close old connections. The test uses real
// sockets, because they can end in more ways than connections in memory. The session does not
// replace streams because of their age, so streams last until gRPC closes their connections. After
// the grace period, a gRPC server keeps a connection open for one more second, but sends no answers
// on it.
func TestConnectionAgeOverTCP(t *testing.T) {
	x := newSink()
	server, err := stefgrpc.NewServer(stefgrpc.WithAckInterval(time.Millisecond))
	require.NoError(t, err)
	late := func() temper { return temper{late: 5 * time.Millisecond} }
	require.NoError(t, server.Handle(otelstef.LogsRoot(), x.handler(1, late)))
	g := grpc.NewServer(grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionAge: 200 * time.Millisecond, MaxConnectionAgeGrace: 50 * time.Millisecond}))
	server.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)

	config := stefgrpc.SessionConfig{}
	config.Streams = 4 // a batch can move to another stream up to 4 times
	config.MaxLifetime = -1
	config.FlushInterval = time.Millisecond
	session, err := stefgrpc.NewSession(
		func(ctx context.Context) (*stefgrpc.Stream, error) { return client.Open(ctx, otelstef.LogsRoot()) },
		func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[numbers], error) {
			w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
			return &numberWriter{w: w, problem: x.problem}, err
		}, config)
	require.NoError(t, err)
	var senders sync.WaitGroup
	var next atomic.Uint64
	const batches, size = 320, 10
	for range 8 {
		senders.Go(func() {
			for n := next.Add(1); n <= batches; n = next.Add(1) {
				b := numbers{first: 1000 * n, last: 1000*n + size - 1, told: new(sync.Map)}
				var rejected *stefgrpc.RejectedError
				if err := session.Send(patience(time.Minute), b); err != nil && !errors.As(err, &rejected) {
					x.problem(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	senders.Wait()
	state := session.Stats()
	require.NoError(t, session.Shutdown(patience(time.Minute)))
	require.NoError(t, conn.Close())
	require.NoError(t, server.Shutdown(patience(time.Minute)))
	g.Stop()
	require.NoError(t, <-served)

	require.Empty(t, x.problems)
	require.Zero(t, state.HandedBack)
	require.Zero(t, state.Closed[stefgrpc.CloseLost], "%v", state.LastError)
	require.Greater(t, state.Closed[stefgrpc.CloseByServer], uint64(3), "the connections did not get old")
	good := 0
	for n := range uint64(batches) {
		for i := range uint64(size) {
			if number := 1000*(n+1) + i; !bad(number) {
				good++
				require.NotZero(t, x.delivered[number], "%d", number)
			}
		}
	}
	require.Len(t, x.delivered, good)
}

// TestKeepalive: when the network discards all data, keepalive of gRPC ends the stream at both ends
// before any other timeout expires.
func TestKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}
		e := newEnds(t, func(s *stefgrpc.ServerStream) error {
			_, err := io.Copy(io.Discard, s) // acknowledges nothing
			return err
		}, endsConfig{
			server: []stefgrpc.ServerOption{stefgrpc.WithIdleTimeout(0)},
			grpc:   []grpc.ServerOption{grpc.KeepaliveParams(alive), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second})},
			dial:   []grpc.DialOption{grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: alive.Time, Timeout: alive.Timeout})},
		})
		client, err := stefgrpc.NewClient(e.conn)
		require.NoError(t, err)
		config := stefgrpc.SessionConfig{}
		config.AckTimeout, config.MaxLifetime, config.IdleTimeout = time.Hour, -1, -1
		session, err := stefgrpc.NewSession(
			func(ctx context.Context) (*stefgrpc.Stream, error) { return client.Open(ctx, otelstef.MetricsRoot()) },
			func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[uint64], error) {
				w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
				return pointsWriter{w}, err
			}, config)
		require.NoError(t, err)
		sent := make(chan error, 1)
		go func() { sent <- session.Send(context.Background(), 3) }()
		time.Sleep(time.Minute)
		require.Empty(t, sent, "keepalive ended an idle connection")

		e.net.Stall(netfault.Both)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		var unsent *stefgrpc.UnsentError
		require.Len(t, sent, 1)
		require.ErrorAs(t, <-sent, &unsent)
		require.True(t, unsent.MaybeDelivered)
		require.Equal(t, stefgrpc.KindUnavailable, unsent.Cause.Kind)
		require.Equal(t, codes.Canceled, status.Code(<-e.served))
		synctest.Wait()
		require.Zero(t, e.server.Stats().Streams)

		e.net.Resume(netfault.Both)
		time.Sleep(time.Minute)
		require.Equal(t, 1, session.Stats().Live)
		require.NoError(t, session.Shutdown(within(t, time.Minute)))
	})
}

type pointsWriter struct{ *otelstef.MetricsWriter }

func (w pointsWriter) WriteBatch(points uint64) (uint64, error) {
	for range points {
		if err := w.Write(); err != nil {
			return w.Stats().Records, err
		}
	}
	return w.Stats().Records, nil
}

func (w pointsWriter) BufferedBytes() int {
	s := w.Stats()
	return int(s.Records - s.Flushed)
}

// TestNobodyReads: the client sends and does not read, and the server answers and
// does not read, so both ends block. When one end reads again or disappears, all
// calls return.
func TestNobodyReads(t *testing.T) {
	f := func(name string, end func(e *ends, c *referenceClient, read chan struct{})) {
		inBubble(t, name, func(t *testing.T) {
			read := make(chan struct{})
			e := newEnds(t, func(s *stefgrpc.ServerStream) error {
				var id uint64
				for s.Context().Err() == nil && id < 100_000 { // far more than the window of the client
					id += 2
					s.Reject(id-1, id-1)
					s.AckUpTo(id)
					if id%1000 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				select {
				case <-read:
				case <-s.Context().Done():
				}
				return drain(s)
			}, endsConfig{server: []stefgrpc.ServerOption{stefgrpc.WithAckInterval(0)}})
			c := e.open(t)
			written := make(chan struct{})
			go func() {
				defer close(written)
				for range 100 {
					c.say(chunkMessage(make([]byte, 1<<16), true))
				}
				_ = c.CloseSend()
			}()
			time.Sleep(5 * time.Second) // half of the time after which the server ends the stream
			synctest.Wait()
			select {
			case <-written:
				require.Fail(t, "the server reads")
			default:
			}
			require.LessOrEqual(t, e.server.Stats().BufferedBytes, int64(1<<18))
			end(e, c, read)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			<-written
			require.Zero(t, e.server.Stats().Streams)
			require.Zero(t, e.server.Stats().BufferedBytes)
		})
	}
	f("the client reads", func(_ *ends, c *referenceClient, read chan struct{}) {
		close(read)
		var acked uint64
		for {
			m, err := c.hear()
			if err == io.EOF {
				break
			}
			require.NoError(c.t, err)
			_ = m
			acked++
		}
		require.NotZero(c.t, acked)
	})
	f("the server reads", func(_ *ends, _ *referenceClient, read chan struct{}) { close(read) })
	f("the client goes away", func(_ *ends, c *referenceClient, _ chan struct{}) { c.cancel() })
	f("the server shuts down", func(e *ends, c *referenceClient, _ chan struct{}) {
		begin := time.Now()
		require.ErrorIs(c.t, e.server.Shutdown(within(c.t, time.Second)), context.DeadlineExceeded)
		require.LessOrEqual(c.t, time.Since(begin), 2*time.Second)
	})
	f("the server crashes", func(e *ends, _ *referenceClient, _ chan struct{}) { e.grpc.Stop() })
	f("the network is cut", func(e *ends, _ *referenceClient, _ chan struct{}) { e.net.Cut() })
}

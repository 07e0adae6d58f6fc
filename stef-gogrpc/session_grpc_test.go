// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"net"
	"strings"
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
	"google.golang.org/grpc/test/bufconn"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// These tests run sessions with the real client, server and gRPC, in memory and in
// fake time. A batch is a range of timestamps. No two log records have the same
// timestamp.

type times struct{ from, to uint64 }

// timesWriter is a batch writer. Its streams have no zstd: readers share zstd decoders in a pool, and
// a decoder from one synctest bubble cannot be used in another bubble.
type timesWriter struct{ *otelstef.LogsWriter }

func newTimesWriter(s *stefgrpc.Stream) (stefgrpc.BatchWriter[times], error) {
	w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
	return timesWriter{w}, err
}

func (w timesWriter) WriteBatch(b times) (uint64, error) {
	for n := b.from; n <= b.to; n++ {
		w.Record().Record().SetTime(n)
		if err := w.Write(); err != nil {
			return w.Stats().Records, err
		}
	}
	return w.Stats().Records, nil
}

func (w timesWriter) BufferedBytes() int {
	s := w.Stats()
	return int(s.Records-s.Flushed) * 8
}

// site is an address with a server. Another server can replace it at the same address.
type site struct {
	t        *testing.T
	mu       sync.Mutex
	listener *bufconn.Listener
	arrived  map[uint64]int // number of received records by their time
	streams  atomic.Int64   // number of streams opened so far
	servers  []*grpc.Server
}

func newSite(t *testing.T) *site {
	x := &site{t: t, arrived: map[uint64]int{}}
	t.Cleanup(func() {
		for _, g := range x.servers {
			g.Stop()
		}
	})
	return x
}

// serve starts a server at the site. It replaces the previous server for new
// connections.
func (x *site) serve(register func(*grpc.Server), options ...grpc.ServerOption) *grpc.Server {
	listener := bufconn.Listen(1 << 16)
	x.mu.Lock()
	x.listener = listener
	x.mu.Unlock()
	g := grpc.NewServer(options...)
	register(g)
	x.mu.Lock()
	x.servers = append(x.servers, g)
	x.mu.Unlock()
	go func() { _ = g.Serve(listener) }()
	return g
}

// stef creates a STEF server with a handler of log records. The returned function registers it with
// a gRPC server.
func (x *site) stef(h stefgrpc.HandlerFunc, options ...stefgrpc.ServerOption) (*stefgrpc.Server, func(*grpc.Server)) {
	server, err := stefgrpc.NewServer(options...)
	require.NoError(x.t, err)
	require.NoError(x.t, server.Handle(otelstef.LogsRoot(), h))
	return server, func(g *grpc.Server) { server.Register(g) }
}

// take is a handler that rejects the records whose time is divisible by 100, and accepts all others.
func (x *site) take(s *stefgrpc.ServerStream) error {
	return x.read(s, func(id, time uint64, _ bool) {
		if time%100 == 0 {
			s.Reject(id, id)
			return
		}
		s.AckUpTo(id)
	})
}

func (x *site) read(s *stefgrpc.ServerStream, each func(id, time uint64, whole bool)) error {
	x.streams.Add(1)
	r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	defer r.Close()
	for r.Next() {
		at := r.Record().Record().Time()
		x.mu.Lock()
		x.arrived[at]++
		x.mu.Unlock()
		each(r.Stats().Records, at, r.BufferedRecords() == 0)
	}
	return r.Err()
}

func (x *site) count(time uint64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.arrived[time]
}

func (x *site) dial() *grpc.ClientConn {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		x.mu.Lock()
		listener := x.listener
		x.mu.Unlock()
		return listener.DialContext(ctx)
	}
	conn, err := grpc.NewClient("passthrough:site", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(x.t, err)
	return conn
}

// session starts a session with the site. It returns the session and the function that
// ends the session.
func (x *site) session(config stefgrpc.SessionConfig, options ...stefgrpc.ClientOption) (*stefgrpc.Session[times], func()) {
	conn := x.dial()
	client, err := stefgrpc.NewClient(conn, options...)
	require.NoError(x.t, err)
	session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.LogsRoot())
	}, newTimesWriter, config)
	require.NoError(x.t, err)
	end := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_ = session.Shutdown(ctx)
		require.NoError(x.t, ctx.Err(), "Shutdown took %v", time.Since(began))
		require.NoError(x.t, conn.Close())
		state := session.Stats()
		require.Zero(x.t, state.Live+state.Draining+state.Waiting+state.UnackedBatches)
	})
	x.t.Cleanup(end)
	return session, end
}

func patience(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	time.AfterFunc(d, cancel)
	return ctx
}

// TestSessionReplacesStreamsUnderLoad: hundreds of callers send while streams are replaced. No Send
// fails.
func TestSessionReplacesStreamsUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		_, register := x.stef(x.take)
		x.serve(register)
		config := stefgrpc.SessionConfig{}
		config.Streams = 3
		config.MaxLifetime = 200 * time.Millisecond
		config.MaxUnackedBatches = 20
		config.FlushInterval = 10 * time.Millisecond
		session, end := x.session(config)

		const callers, batches, records = 200, 10, 10
		var rejected atomic.Int64
		var group sync.WaitGroup
		for c := range callers {
			group.Go(func() {
				for i := range batches {
					from := uint64(c*batches+i)*records + 1
					err := session.Send(patience(time.Minute), times{from, from + records - 1})
					var bad *stefgrpc.RejectedError
					switch {
					case from%100 != 91:
						require.NoError(t, err)
					case errors.As(err, &bad):
						require.Equal(t, []stefgrpc.IDRange{{From: records, To: records}}, bad.Ranges)
						rejected.Add(1)
					default:
						require.Fail(t, "not rejected", "%v", err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		group.Wait()
		require.EqualValues(t, callers*batches*records/100, rejected.Load())
		state := session.Stats()
		require.Zero(t, state.HandedBack+state.Redispatched)
		require.Greater(t, state.Closed[stefgrpc.CloseRotated], uint64(10))
		end()
		require.Len(t, x.arrived, callers*batches*records)
		for at, n := range x.arrived {
			require.Equal(t, 1, n, "record %d arrived more than once", at)
		}
	})
}

// TestSessionServerLeaves: no Send fails if servers end their streams gracefully, or ask clients to use
// another connection.
func TestSessionServerLeaves(t *testing.T) {
	f := func(name string, twice bool, leave func(x *site) (streams int64)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t)
				config := stefgrpc.SessionConfig{}
				config.Streams = 2
				config.MaxLifetime = -1
				var group sync.WaitGroup
				streams := leave(x)
				session, stop := x.session(config)
				for c := range uint64(20) {
					group.Go(func() {
						for i := range uint64(50) {
							from := 1e6*(c+1) + 10*i + 1
							require.NoError(t, session.Send(patience(time.Minute), times{from, from + 7}))
							time.Sleep(100 * time.Millisecond)
						}
					})
				}
				group.Wait()
				require.GreaterOrEqual(t, x.streams.Load(), streams)
				state := session.Stats()
				require.Zero(t, state.HandedBack)
				require.GreaterOrEqual(t, state.Closed[stefgrpc.CloseByServer], uint64(streams-2), "%v", state.Closed)
				require.Zero(t, state.Closed[stefgrpc.CloseLost], "%v", state.LastError)
				stop()
				require.Len(t, x.arrived, 20*50*8)
				most := 0
				for _, n := range x.arrived {
					most = max(most, n)
				}
				require.Equal(t, twice, most > 1, "%d", most)
			})
		})
	}
	f("streams have a lifetime", false, func(x *site) int64 {
		_, register := x.stef(x.take, stefgrpc.WithMaxStreamLifetime(time.Second))
		x.serve(register)
		return 8
	})
	f("shutdown of a server with a successor", false, func(x *site) int64 {
		server, register := x.stef(x.take)
		g := x.serve(register)
		time.AfterFunc(2*time.Second, func() {
			_, register := x.stef(x.take)
			x.serve(register)
			require.NoError(x.t, server.Shutdown(patience(time.Second)))
			g.GracefulStop()
		})
		return 4
	})
	f("connections have an age, answers come later", true, func(x *site) int64 {
		_, register := x.stef(x.late)
		x.serve(register, grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: 3 * time.Second, MaxConnectionAgeGrace: 500 * time.Millisecond,
		}))
		return 4
	})
}

// late is a handler that acknowledges each whole frame one second after it read the frame.
func (x *site) late(s *stefgrpc.ServerStream) error {
	var group sync.WaitGroup
	defer group.Wait()
	from := uint64(1)
	return x.read(s, func(id, _ uint64, whole bool) {
		if !whole {
			return
		}
		first := from
		from = id + 1
		group.Go(func() {
			select {
			case <-time.After(time.Second):
				s.Ack(first, id)
			case <-s.Context().Done():
			}
		})
	})
}

// TestSessionServerCrashes: when a server crashes, Send returns immediately for all its unanswered
// batches. The session connects to the next server.
func TestSessionServerCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		_, register := x.stef(x.late)
		g := x.serve(register)
		session, stop := x.session(stefgrpc.SessionConfig{})
		done := make(chan error)
		began := time.Now()
		go func() { done <- session.Send(patience(time.Minute), times{1, 9}) }()
		time.Sleep(500 * time.Millisecond)
		_, register = x.stef(x.take)
		x.serve(register)
		g.Stop()
		var unsent *stefgrpc.UnsentError
		require.ErrorAs(t, <-done, &unsent)
		require.Less(t, time.Since(began), 600*time.Millisecond)
		require.Equal(t, stefgrpc.KindUnavailable, unsent.Cause.Kind)
		require.True(t, unsent.MaybeDelivered)
		require.True(t, unsent.Cause.Retryable())
		require.Equal(t, codes.Unavailable, status.Code(unsent))
		require.NoError(t, session.Send(patience(time.Minute), times{1, 9}))
		require.Equal(t, 2, x.count(1), "at least once")
		stop()
	})
}

// TestSessionServerRefuses: the session detects immediately that a server does not support STEF
// or the root of the session.
func TestSessionServerRefuses(t *testing.T) {
	f := func(name string, register func(*grpc.Server)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t)
				old := x.serve(register)
				session, stop := x.session(stefgrpc.SessionConfig{})
				for range 2 {
					began := time.Now()
					err := session.Send(patience(time.Minute), times{1, 9})
					var unsent *stefgrpc.UnsentError
					require.ErrorAs(t, err, &unsent)
					require.Equal(t, stefgrpc.KindUnimplemented, unsent.Cause.Kind)
					require.Equal(t, codes.Unimplemented, status.Code(err))
					require.Less(t, time.Since(began), time.Second)
				}
				_, register := x.stef(x.take)
				x.serve(register)
				old.Stop()
				time.Sleep(2 * time.Minute) // the session probes the server once a minute
				require.NoError(t, session.Send(patience(time.Minute), times{1, 9}))
				stop()
			})
		})
	}
	f("no service", func(*grpc.Server) {})
	f("no root", func(g *grpc.Server) {
		server, err := stefgrpc.NewServer()
		require.NoError(t, err)
		require.NoError(t, server.Handle(otelstef.MetricsRoot(), stefgrpc.HandlerFunc(func(*stefgrpc.ServerStream) error { return nil })))
		server.Register(g)
	})
}

// TestSessionHeadersTooLarge: if the server allows no headers as large as those of the streams, Send fails
// immediately, and says so.
func TestSessionHeadersTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		_, register := x.stef(x.take)
		x.serve(register, grpc.MaxHeaderListSize(16<<10))
		session, stop := x.session(stefgrpc.SessionConfig{}, stefgrpc.WithCallOptions(grpc.PerRPCCredentials(longToken{})))
		began := time.Now()
		err := session.Send(patience(time.Minute), times{1, 9})
		var unsent *stefgrpc.UnsentError
		require.ErrorAs(t, err, &unsent)
		require.Equal(t, stefgrpc.KindLimit, unsent.Cause.Kind)
		require.False(t, unsent.Cause.Retryable())
		require.ErrorContains(t, err, "header list size to send violates the maximum size (16384 bytes) set by server")
		require.Less(t, time.Since(began), time.Second)
		stop()
	})
}

// longToken are credentials of 17 KiB.
type longToken struct{}

func (longToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": strings.Repeat("x", 17<<10)}, nil
}

func (longToken) RequireTransportSecurity() bool { return false }

// TestSessionServerDoesNotRead: if the server reads nothing, the session keeps its bound on
// unanswered batches, and can still be shut down.
func TestSessionServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		_, register := x.stef(func(s *stefgrpc.ServerStream) error {
			<-s.Context().Done()
			return s.Context().Err()
		}, stefgrpc.WithMaxChunkBytes(1<<20))
		x.serve(register)
		config := stefgrpc.SessionConfig{}
		config.MaxUnackedBatches = 10
		config.AckTimeout = time.Hour
		session, stop := x.session(config, stefgrpc.WithMaxUnackedBytes(10000))
		var group sync.WaitGroup
		var handedBack atomic.Int64
		for c := range uint64(50) {
			group.Go(func() {
				var unsent *stefgrpc.UnsentError
				require.ErrorAs(t, session.Send(context.Background(), times{c * 1e6, c*1e6 + 100000}), &unsent)
				handedBack.Add(1)
			})
		}
		time.Sleep(time.Minute)
		state := session.Stats()
		require.LessOrEqual(t, state.UnackedBatches, 10)
		require.GreaterOrEqual(t, state.Waiting, 40)
		stop()
		group.Wait()
		require.EqualValues(t, 50, handedBack.Load())
	})
}

// TestSendToNobody: if no stream is open when the context of Send ends, the error says why.
func TestSendToNobody(t *testing.T) {
	address := freeport.Address(t)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	failed := make(chan struct{}, 100)
	s, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.LogsRoot())
	}, newTimesWriter, stefgrpc.SessionConfig{Events: stefgrpc.SessionEvents{
		OpenFailed: func(int, *stefgrpc.Error, time.Duration) { failed <- struct{}{} },
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	<-failed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = s.Send(ctx, times{1, 1})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "stefgrpc: batch handed back (not sent): stefgrpc: canceled: context deadline exceeded while no stream was open: stefgrpc: unavailable: ")
	require.ErrorContains(t, err, address)
	var unsent *stefgrpc.UnsentError
	require.ErrorAs(t, err, &unsent)
	require.Equal(t, codes.DeadlineExceeded, unsent.Cause.Code)
	require.Equal(t, stefgrpc.KindCanceled, unsent.Cause.Kind)
	var why *stefgrpc.Error
	require.ErrorAs(t, unsent.Cause.Err, &why)
	require.Equal(t, stefgrpc.KindUnavailable, why.Kind)
}

// TestSessionRefusedBatch: if the server ends the stream because of a bad batch, the error of this
// batch is permanent. The other undelivered batches of the stream have retryable errors. They are
// sent again and arrive.
func TestSessionRefusedBatch(t *testing.T) {
	const callers, batches, bad = 20, 20, 7
	f := func(name string, refusal func() error) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t)
				_, register := x.stef(func(s *stefgrpc.ServerStream) error {
					x.streams.Add(1)
					r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
					if err != nil {
						return err
					}
					defer r.Close()
					for r.Next() {
						at := r.Record().Record().Time()
						if at%1000 == bad {
							return refusal()
						}
						x.mu.Lock()
						x.arrived[at]++
						x.mu.Unlock()
						s.AckUpTo(r.Stats().Records)
					}
					return r.Err()
				})
				x.serve(register)
				config := stefgrpc.SessionConfig{}
				config.FlushInterval = 10 * time.Millisecond
				session, end := x.session(config)
				var refused, again atomic.Int64
				var group sync.WaitGroup
				for c := range uint64(callers) {
					group.Go(func() {
						for i := range uint64(batches) {
							from := 1000*(1+c*batches+i) + 100
							if i == 10 && c%5 == 0 {
								from += 900 + bad - 2 // the third record is bad
							}
							for {
								err := session.Send(patience(time.Minute), times{from, from + 4})
								if err == nil {
									break
								}
								var unsent *stefgrpc.UnsentError
								require.ErrorAs(t, err, &unsent)
								if !unsent.Cause.Retryable() {
									require.Less(t, (from+4)%1000, uint64(100), "%v", err)
									require.Equal(t, uint64(2), unsent.Acknowledged)
									refused.Add(1)
									break
								}
								require.ErrorContains(t, err, "the server ended the stream, probably because of another batch: ")
								again.Add(1)
								time.Sleep(time.Second)
							}
						}
					})
				}
				group.Wait()
				end()
				require.EqualValues(t, 4, refused.Load())
				require.Positive(t, again.Load())
				require.Len(t, x.arrived, (callers*batches-4)*5+4*2)
				for at, n := range x.arrived {
					require.Equal(t, 1, n, "record %d arrived more than once", at)
				}
			})
		})
	}
	f("invalid", func() error { return &stefgrpc.Error{Kind: stefgrpc.KindInvalid, Err: errors.New("nested too deep")} })
	f("unimplemented", func() error { return status.Error(codes.Unimplemented, "this kind of record is not stored") })
	f("limit", func() error { return &stefgrpc.Error{Kind: stefgrpc.KindLimit, Err: errors.New("too large")} })
	f("panic", func() error { panic("bad record") })
}

// TestSessionRefusedStreams: if a handler refuses each stream before it reads a record, each
// Send fails with this reason, and the session does not open streams in a tight loop.
func TestSessionRefusedStreams(t *testing.T) {
	f := func(kind stefgrpc.Kind) {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t)
				_, register := x.stef(func(*stefgrpc.ServerStream) error {
					x.streams.Add(1)
					return &stefgrpc.Error{Kind: kind, Err: errors.New("not of this tenant")}
				})
				x.serve(register)
				session, stop := x.session(stefgrpc.SessionConfig{})
				defer stop()
				for range 3 {
					began := time.Now()
					err := session.Send(patience(5*time.Second), times{1, 5})
					var unsent *stefgrpc.UnsentError
					require.ErrorAs(t, err, &unsent)
					require.Equal(t, kind, unsent.Cause.Kind, "%v", err)
					require.False(t, unsent.Cause.Retryable())
					require.Less(t, time.Since(began), time.Second)
					require.ErrorContains(t, err, "not of this tenant")
					time.Sleep(time.Minute)
				}
				require.Less(t, x.streams.Load(), int64(40))
			})
		})
	}
	f(stefgrpc.KindInvalid)
	f(stefgrpc.KindRejected)
}

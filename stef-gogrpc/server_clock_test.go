// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// timed runs a scripted client against a server with short limits. It returns the
// status of the stream, the time from the end of the script to the end of the stream,
// and the counts of the server.
func timed(t *testing.T, h HandlerFunc, client func(t *testing.T, s *Server, p *scripted)) (st *status.Status, after time.Duration, stats ServerStats) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, h, WithFirstMessageTimeout(time.Second), WithHeaderTimeout(2*time.Second),
			WithChunkTimeout(3*time.Second), WithIdleTimeout(5*time.Second))
		p := play(t, s)
		client(t, s, p)
		began := time.Now()
		err := <-p.end
		after = time.Since(began)
		p.end <- err
		st = p.status(t)
		stats = s.Stats()
	})
	return st, after, stats
}

func TestServerTimeouts(t *testing.T) {
	f := func(name string, code codes.Code, text string, after time.Duration, wants ServerStats, client func(t *testing.T, s *Server, p *scripted)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			st, took, stats := timed(t, readAll, client)
			require.Equal(t, code, st.Code(), st.Message())
			require.Contains(t, st.Message(), text)
			require.Equal(t, after, took)
			stats.Opened, stats.Refused, stats.Failed, stats.Chunks, stats.ReceivedBytes = 0, 0, 0, 0, 0
			require.Equal(t, wants, stats)
		})
	}
	begin := func(p *scripted) { p.toward <- &wire.ClientMessage{First: true, Root: "Metrics"} }

	f("no first message", codes.DeadlineExceeded, "no first message within 1s", time.Second, ServerStats{FirstMessageTimeouts: 1},
		func(t *testing.T, s *Server, _ *scripted) {
			synctest.Wait()
			require.Equal(t, 1, s.Stats().Handshaking, "a stream without a first message is counted")
			require.Equal(t, 1, s.Stats().Streams)
		})
	f("no header", codes.DeadlineExceeded, "did not complete the STEF header within 2s", 2*time.Second, ServerStats{HeaderTimeouts: 1},
		func(t *testing.T, s *Server, p *scripted) {
			begin(p)
			synctest.Wait()
			require.Zero(t, s.Stats().Handshaking)
		})
	f("half a header, byte by byte", codes.DeadlineExceeded, "did not complete the STEF header within 2s", 500*time.Millisecond, ServerStats{HeaderTimeouts: 1},
		func(t *testing.T, _ *Server, p *scripted) {
			begin(p)
			for range 3 {
				time.Sleep(500 * time.Millisecond)
				p.data(false, "S")
			}
		})
	f("half a chunk", codes.DeadlineExceeded, "a chunk unfinished for 3s", 3*time.Second, ServerStats{ChunkTimeouts: 1},
		func(_ *testing.T, _ *Server, p *scripted) {
			begin(p)
			p.data(true, "header")
			p.data(false, "half")
		})
	f("a chunk byte by byte", codes.DeadlineExceeded, "a chunk unfinished for 3s", 300*time.Millisecond, ServerStats{ChunkTimeouts: 1},
		func(_ *testing.T, _ *Server, p *scripted) {
			begin(p)
			p.data(true, "header")
			for range 3 {
				p.data(false, "x")
				time.Sleep(900 * time.Millisecond)
			}
		})
	f("idle", codes.OK, "", 5*time.Second, ServerStats{IdleEnds: 1}, func(_ *testing.T, _ *Server, p *scripted) {
		begin(p)
		p.data(true, "header")
		time.Sleep(4 * time.Second)
		p.data(true, "a frame")
		time.Sleep(4 * time.Second)
		p.data(true, "another")
	})
	f("empty messages", codes.OK, "", time.Second, ServerStats{IdleEnds: 1}, func(_ *testing.T, _ *Server, p *scripted) {
		begin(p)
		p.data(true, "header")
		for range 2 {
			time.Sleep(2 * time.Second)
			p.data(true, "")
		}
	})
}

// TestServerTimeoutsAreTheClients: the timeouts of a server limit only how long it waits for the
// client. The time that its handler needs does not count.
func TestServerTimeoutsAreTheClients(t *testing.T) {
	slow := func(s *ServerStream) error {
		var b [1]byte
		for {
			if _, err := s.Read(b[:]); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			time.Sleep(time.Minute)
		}
	}
	st, took, _ := timed(t, slow, func(_ *testing.T, _ *Server, p *scripted) {
		p.toward <- &wire.ClientMessage{First: true, Root: "Metrics"}
		p.data(false, "he")
		p.data(true, "ader")
		for range 5 {
			p.data(false, "x")
		}
		p.data(true, "y")
		p.halfClose()
	})
	require.Equal(t, codes.OK, st.Code(), st.Message())
	require.Equal(t, 12*time.Minute, took)
}

// TestServerTimeoutOptions: 0 means no timeout.
func TestServerTimeoutOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithFirstMessageTimeout(0), WithHeaderTimeout(0), WithChunkTimeout(0), WithIdleTimeout(0))
		p := play(t, s)
		time.Sleep(time.Hour)
		p.toward <- &wire.ClientMessage{First: true, Root: "Metrics"}
		time.Sleep(time.Hour)
		p.data(true, "header")
		time.Sleep(time.Hour)
		p.data(false, "half")
		time.Sleep(time.Hour)
		p.data(true, "rest")
		p.halfClose()
		requireStatus(t, p.status(t), codes.OK, "")
	})
	for _, option := range []ServerOption{WithFirstMessageTimeout(-1), WithHeaderTimeout(-1), WithChunkTimeout(-1), WithIdleTimeout(-1)} {
		_, err := NewServer(option)
		require.ErrorContains(t, err, "must not be negative")
	}
}

// TestServerCountsUnfinishedChunks: a reader can hold the bytes of a chunk until it is complete. So the
// server counts the bytes of an unfinished chunk as buffered until the chunk ends.
func TestServerCountsUnfinishedChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithMaxBufferedBytes(100))
		p := open(t, s, "Metrics")
		buffered := func(n int64) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, n, s.Stats().BufferedBytes)
		}
		p.data(false, "0123456789")
		buffered(10)
		p.data(false, "0123456789", "01234")
		buffered(25)
		p.data(true, "x")
		buffered(0)
		p.data(false, "abc")
		buffered(3)
		p.data(true) // ends the chunk without further bytes
		buffered(0)
		p.data(false, "lost")
		buffered(4)
		p.cancel()
		buffered(0)
		<-p.end
	})
}

// TestServerEvictsUnfinishedChunks: if unfinished chunks fill the buffer of a server, other clients
// wait only for a short time. Then the server ends the streams with the most unfinished bytes.
func TestServerEvictsUnfinishedChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithMaxBufferedBytes(1000), WithMaxChunkBytes(900))
		var hostile []*scripted
		for i := range 9 {
			p := open(t, s, "Metrics")
			p.data(true, "header")
			p.data(false, strings.Repeat("x", 100+i))
			hostile = append(hostile, p)
		}
		synctest.Wait()
		require.EqualValues(t, 936, s.Stats().BufferedBytes)

		honest := open(t, s, "Metrics")
		began := time.Now()
		honest.data(true, "header")
		honest.data(true, strings.Repeat("y", 200))
		synctest.Wait()
		require.Equal(t, 1, s.Stats().Waiting)
		time.Sleep(3 * time.Second)
		require.Zero(t, s.Stats().Waiting, "the honest client was served after %v", time.Since(began))
		require.EqualValues(t, 2, s.Stats().Evicted)
		for _, p := range hostile[7:] { // the clients that hold the most bytes
			st := p.status(t)
			require.Equal(t, codes.ResourceExhausted, st.Code())
			require.True(t, FromStatus(st.Err()).Retryable())
		}
		honest.halfClose()
		requireStatus(t, honest.status(t), codes.OK, "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Shutdown(ctx)
	})
}

// TestServerEvictsEmptyMessages: if the unfinished chunk of a client blocks other clients, the
// server ends the stream of this client, even if the client sends messages without data.
func TestServerEvictsEmptyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithMaxBufferedBytes(1000))
		hostile := open(t, s, "Metrics")
		hostile.data(true, "header")
		hostile.data(false, strings.Repeat("x", 900))
		honest := open(t, s, "Metrics")
		honest.data(true, "header")
		honest.data(true, strings.Repeat("y", 200))
		for range 30 {
			time.Sleep(evictAfter / 10)
			hostile.data(false)
		}
		synctest.Wait()
		require.Zero(t, s.Stats().Waiting, "the honest client waits")
		require.EqualValues(t, 1, s.Stats().Evicted)
		require.Equal(t, codes.ResourceExhausted, hostile.status(t).Code())
		honest.halfClose()
		requireStatus(t, honest.status(t), codes.OK, "")
	})
}

// TestBudgetBoundsWaitingBytes: the bytes of waiting messages are bounded, too. Beyond the bound, a
// message is rejected with a retryable error.
func TestBudgetBoundsWaitingBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{max: 10}
		require.NoError(t, b.acquire(t.Context(), 10))
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() { _ = b.acquire(ctx, 6) }()
		}
		synctest.Wait()
		err := b.acquire(t.Context(), 1)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, KindLimit, e.Kind)
		require.True(t, e.Retryable())
		cancel()
		synctest.Wait()
		require.Zero(t, b.waiting)
	})
}

// TestServerTimeoutAfterTheEnd: after a stream has ended for another reason, no timeout is counted,
// even if its handler returns late.
func TestServerTimeoutAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		s := serving(t, HandlerFunc(func(s *ServerStream) error {
			_, err := io.CopyN(io.Discard, s, int64(len("headerhalf")))
			<-free
			return err
		}), WithChunkTimeout(3*time.Second))
		p := open(t, s, "Metrics")
		p.data(true, "header")
		p.data(false, "half")
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorContains(t, s.Shutdown(ctx), "the handlers of 1 streams have not returned")
		time.Sleep(5 * time.Second)
		close(free)
		require.Equal(t, codes.Unavailable, p.status(t).Code())
		require.Zero(t, s.Stats().ChunkTimeouts)
	})
}

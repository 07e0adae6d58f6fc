// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestSessionReturnsKnownAnswers: if Send fails before the stream of its batch ends, the error has the
// records that the server has acknowledged or rejected so far. Without this information, the caller
// would send rejected records again.
func TestSessionReturnsKnownAnswers(t *testing.T) {
	bubble(t, "the caller gives up", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a, b := r.send(load{}), r.send(load{})
		r.stream(0).respond(13, IDRange{From: 12, To: 12}, IDRange{From: 15, To: 16})
		a.ok()
		b.cancel()
		e := b.unsent(KindCanceled)
		require.True(t, e.MaybeDelivered)
		require.EqualValues(t, 3, e.Acknowledged)
		require.Equal(t, []IDRange{{From: 2, To: 2}, {From: 5, To: 6}}, e.Rejected)
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "the caller gives up when all is answered", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a, b := r.send(load{}), r.send(load{})
		r.stream(0).respond(5, IDRange{From: 11, To: 20}) // answers all of b, which follows a
		b.waits()
		b.cancel()
		var rejected *RejectedError
		require.True(t, b.returned())
		require.ErrorAs(t, b.err, &rejected)
		require.Equal(t, []IDRange{{From: 1, To: 10}}, rejected.Ranges)
		r.stream(0).respond(20)
		a.ok()
		state := r.session.Stats()
		require.EqualValues(t, 1, state.Acknowledged)
		require.EqualValues(t, 1, state.Rejected)
		require.Zero(t, state.HandedBack+uint64(state.UnackedBatches))
		r.stop()
	})
	bubble(t, "the caller has given up when the batch is encoded", func(t *testing.T, r *rig) {
		r.start()
		s := r.stream(0)
		s.tell(func(f frame) { s.respond(0, IDRange{From: f.last, To: f.last}) })
		a := r.send(load{cut: true, slow: time.Second})
		a.cancel()
		time.Sleep(time.Second)
		require.Equal(t, []IDRange{{From: 1, To: 1}}, a.unsent(KindCanceled).Rejected)
		r.stop()
	})
	bubble(t, "the writer fails within the batch", func(t *testing.T, r *rig) {
		for name, cause := range map[string]error{"by itself": errors.New("out of its mind"), "with the stream": unavailable()} {
			r := newRig(t)
			r.config.FlushInterval = -1
			r.start()
			s := r.stream(0)
			a := r.send(load{})
			s.tell(func(f frame) {
				s.respond(11, IDRange{From: 11, To: 11})
				s.writer.fails = cause
			})
			b := r.send(load{cut: true, slow: time.Second})
			b.cancel()
			time.Sleep(time.Second)
			a.ok()
			kind := KindUnknown
			if name == "with the stream" {
				kind = KindCanceled
			}
			e := b.unsent(kind)
			require.EqualValues(t, 1, e.Acknowledged, name)
			require.Equal(t, []IDRange{{From: 1, To: 1}}, e.Rejected, name)
			r.stop()
		}
	})
}

// TestSessionDraining: a draining stream gets no new batches, even if its load is the lowest. If it
// ends with a permanent error, its unacknowledged batches are not sent again.
func TestSessionDraining(t *testing.T) {
	bubble(t, "is given nothing", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		r.stream(0).deafen()
		time.Sleep(11 * time.Second)
		require.Equal(t, 1, r.session.Stats().Draining)
		var calls []*call
		for range 5 {
			calls = append(calls, r.send(load{}))
		}
		require.Empty(t, frames(r.stream(0)))
		require.Len(t, frames(r.stream(1)), 5)
		r.stream(1).ackAll()
		for _, c := range calls {
			c.ok()
		}
		r.stop()
	})
	bubble(t, "gives back what waited for it, before what came later", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.start()
		r.stream(0).block()
		r.send(load{id: 1, cut: true})
		time.Sleep(5 * time.Second)
		r.send(load{id: 2})
		r.send(load{id: 3})
		time.Sleep(5*time.Second + r.config.FlushInterval)
		synctest.Wait()
		require.Equal(t, []string{"to 20: 2 3"}, frames(r.stream(1)))
		r.stream(1).ackAll()
		r.stop()
	})
	bubble(t, "ends for good", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(9 * time.Second)
		a := r.send(load{})
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, r.stream(0).halfClosed())
		r.stream(0).end(errorf(KindInvalid, "nonsense in frame 3"))
		require.False(t, a.unsent(KindInvalid).Cause.Retryable())
		require.Zero(t, r.session.Stats().Redispatched)
		r.stop()
	})
}

// TestSessionAckTimeoutUnsent: if AckTimeout closes a stream before its batch is sent, the server owes
// no answer, so the stream ends without an error. It still counts as failed.
func TestSessionAckTimeoutUnsent(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		r.config.FlushInterval = 10 * time.Hour // a single batch waits for FlushInterval/250
		r.config.MaxLifetime = -1
		r.start()
		a := r.send(load{})
		time.Sleep(r.config.AckTimeout)
		synctest.Wait()
		require.NoError(t, r.stream(0).Err())
		state := r.session.Stats()
		require.EqualValues(t, 1, state.Closed[CloseAckTimeout])
		require.ErrorContains(t, state.LastError, "no acknowledgement")
		time.Sleep(r.config.AckTimeout + time.Second)
		require.False(t, a.unsent(KindUnavailable).MaybeDelivered)
		r.stop()
	})
}

// TestSessionRefusedWithDelay: if a server refuses a stream with a retry delay, the session does not
// open another one before the delay is over, even if the delay exceeds ProbeInterval.
func TestSessionRefusedWithDelay(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n == 0 {
				return &Error{Kind: KindAuth, Code: codes.Unauthenticated, HasRetryInfo: true, RetryDelay: 3 * r.config.ProbeInterval, Err: errors.New("no")}
			}
			return nil
		}
		r.start()
		time.Sleep(3*r.config.ProbeInterval - time.Nanosecond)
		require.Len(t, r.attemptList(), 1)
		r.send(load{}).unsent(KindAuth)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Len(t, r.attemptList(), 2)
		r.stop()
	})
}

// TestSessionGaveUpInDelay: if the context of Send ends while the session waits for the retry delay of a
// server, the error has the rest of the delay and says why no stream is open.
func TestSessionGaveUpInDelay(t *testing.T) {
	gaveUp := func(t *testing.T, r *rig) {
		a := r.send(load{})
		time.Sleep(time.Second)
		a.cancel()
		e := a.unsent(KindCanceled)
		require.False(t, e.MaybeDelivered)
		require.Equal(t, 2*time.Second, e.Cause.RetryDelay)
		require.True(t, e.Cause.HasRetryInfo)
		require.ErrorIs(t, e, context.Canceled)
		require.ErrorContains(t, e, "context canceled while no stream was open: ")
		require.ErrorContains(t, e, "the connection broke")
		var why *Error
		require.ErrorAs(t, e.Cause.Err, &why)
		require.Equal(t, KindUnavailable, why.Kind)
		r.stop()
	}
	bubble(t, "of an attempt", func(t *testing.T, r *rig) {
		r.onOpen = func(context.Context, int, *fakeStream) error { return retryAfter(3 * time.Second) }
		r.start()
		gaveUp(t, r)
	})
	bubble(t, "of a stream", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).end(retryAfter(3 * time.Second))
		gaveUp(t, r)
	})
	bubble(t, "and the session was shut down", func(t *testing.T, r *rig) {
		r.onOpen = func(context.Context, int, *fakeStream) error { return retryAfter(3 * time.Second) }
		r.start()
		a := r.send(load{})
		time.Sleep(time.Second)
		_, err := r.shutdown(time.Second)
		require.Error(t, err)
		for _, e := range []*UnsentError{a.unsent(KindClosed), r.send(load{}).unsent(KindClosed)} {
			require.ErrorIs(t, e, ErrSessionClosed)
			require.ErrorContains(t, e, "session is shut down while no stream was open: ")
			require.ErrorContains(t, e, "the connection broke")
			require.Equal(t, 2*time.Second, e.Cause.RetryDelay)
		}
	})
	bubble(t, "after a graceful end", func(t *testing.T, r *rig) {
		r.onOpen = func(ctx context.Context, n int, _ *fakeStream) error {
			if n > 0 {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		r.stream(0).ackAll()
		a.ok()
		r.stream(0).end(nil)
		b := r.send(load{})
		time.Sleep(time.Second)
		b.cancel()
		e := b.unsent(KindCanceled)
		require.ErrorContains(t, e, "while no stream was open: stefgrpc: closed: the server ended the stream gracefully")
		r.stop()
	})
	bubble(t, "while another stream is live", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.MaxUnackedBatches = 1
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(2 * openStagger)
		r.stream(0).end(retryAfter(3 * time.Second))
		r.send(load{})
		a := r.send(load{})
		a.waits()
		a.cancel()
		e := a.unsent(KindCanceled)
		require.Zero(t, e.Cause.RetryDelay)
		require.NotContains(t, e.Error(), "while no stream was open")
		r.stop()
	})
	bubble(t, "while an attempt to replace a live stream failed", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 1
		r.config.FlushInterval = -1
		r.config.MaxLifetime = time.Minute
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n == 0 {
				return nil
			}
			return retryAfter(time.Minute)
		}
		r.start()
		time.Sleep(time.Minute)
		r.send(load{})
		a := r.send(load{})
		a.waits()
		a.cancel()
		e := a.unsent(KindCanceled)
		require.Zero(t, e.Cause.RetryDelay)
		require.NotContains(t, e.Error(), "while no stream was open")
		r.stop()
	})
}

// uncountedWriter hides WriteRecords of its stream, so the stream does not get the ids of the records.
// A writer with a buffer between itself and the stream behaves in the same way.
type uncountedWriter struct {
	stream *Stream
	last   uint64
}

func (w *uncountedWriter) WriteBatch(records uint64) (uint64, error) {
	w.last += records
	_, err := w.stream.Write([]byte("records"))
	return w.last, err
}

func (w *uncountedWriter) Flush() error       { return nil }
func (w *uncountedWriter) BufferedBytes() int { return 0 }

// TestSessionUncounted: if the session does not know which records of a batch were sent, it assumes
// that all of them may have been sent.
func TestSessionUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := newServerPeer()
		wire, err := otelstef.LogsSchema().AppendBinary(nil)
		require.NoError(t, err)
		peer.say(capable(0, wire))
		client, err := NewClient(peer)
		require.NoError(t, err)
		session, err := NewSession(
			func(ctx context.Context) (*Stream, error) { return client.Open(ctx, otelstef.LogsRoot()) },
			func(s *Stream) (BatchWriter[uint64], error) { return &uncountedWriter{stream: s}, nil },
			SessionConfig{})
		require.NoError(t, err)
		result := make(chan error, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, records := range []uint64{10, 5} {
			go func() { result <- session.Send(ctx, records) }()
			synctest.Wait()
		}
		peer.say(ackOf(10))
		synctest.Wait()
		require.NoError(t, <-result)
		peer.say(status.Error(codes.Unavailable, "gone"))
		var unsent *UnsentError
		require.ErrorAs(t, <-result, &unsent)
		require.NoError(t, ctx.Err())
		require.True(t, unsent.MaybeDelivered)
		require.Zero(t, session.Stats().Redispatched)
		require.NoError(t, session.Shutdown(t.Context()))
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stef "github.com/otelstef/stef/stef-go"
)

// TestSessionStreamLost: when a stream breaks, Send returns immediately for each batch of the stream.
// The error of a batch has its acknowledged and its rejected records.
func TestSessionStreamLost(t *testing.T) {
	bubble(t, "everything it had was sent", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		began := time.Now()
		a, b, c, d := r.send(load{}), r.send(load{}), r.send(load{}), r.send(load{})
		// All of a and a part of b are acknowledged. b has bad records, and all records of c are bad.
		r.stream(0).respond(13, IDRange{From: 12, To: 12}, IDRange{From: 15, To: 16}, IDRange{From: 21, To: 30})
		r.stream(0).end(unavailable())
		a.ok()
		e := b.unsent(KindUnavailable)
		require.True(t, e.MaybeDelivered)
		require.True(t, e.Cause.Retryable())
		require.EqualValues(t, 3, e.Acknowledged)
		require.Equal(t, []IDRange{{From: 2, To: 2}, {From: 5, To: 6}}, e.Rejected)
		var rejected *RejectedError
		require.True(t, c.returned())
		require.ErrorAs(t, c.err, &rejected)
		require.Equal(t, []IDRange{{From: 1, To: 10}}, rejected.Ranges)
		e = d.unsent(KindUnavailable)
		require.Zero(t, e.Acknowledged)
		require.Empty(t, e.Rejected)
		require.Equal(t, codes.Unavailable, status.Code(e))
		for _, x := range []*call{b, c, d} {
			require.Equal(t, began, x.at)
		}
		r.stop()
		require.EqualValues(t, 1, r.session.Stats().Closed[CloseLost])
	})
	bubble(t, "a proxy reset it", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		r.stream(0).end(FromStatus(status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR")))
		require.True(t, a.unsent(KindUnavailable).Cause.Retryable())
		r.stop()
	})
	bubble(t, "some it had not sent", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).block()
		a := r.send(load{id: 1})
		time.Sleep(r.config.FlushInterval)
		synctest.Wait()
		b := r.send(load{id: 2}) // in the inbox: the network blocks the sender
		c := r.send(load{id: 3}) // in the queue
		r.stream(0).end(unavailable())
		for _, x := range []*call{a, b, c} {
			x.waits()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, frames(r.stream(0)))
		require.Equal(t, []string{"to 30: 1 2 3"}, frames(r.stream(1)), "in their order")
		r.stream(1).ackAll()
		for _, x := range []*call{a, b, c} {
			x.ok()
		}
		require.EqualValues(t, 1, r.session.Stats().Redispatched, "only one had been encoded")
		r.stop()
	})
	bubble(t, "in the middle of a batch", func(t *testing.T, r *rig) {
		r.start()
		s := r.stream(0)
		s.tell(func(frame) { s.block() })
		a := r.send(load{id: 1, cut: true})
		b := r.send(load{id: 2, cut: true}) // its first frame is blocked
		require.Len(t, frames(s), 1)
		s.end(unavailable())
		require.True(t, a.unsent(KindUnavailable).MaybeDelivered)
		b.waits()
		time.Sleep(time.Second)
		r.stream(1).ackAll()
		b.ok()
		r.stop()
	})
	bubble(t, "twice before sending", func(t *testing.T, r *rig) {
		r.config.FlushInterval = 10 * time.Minute // a single batch waits for FlushInterval/250
		r.start()
		a := r.send(load{})
		r.stream(0).end(unavailable())
		time.Sleep(time.Second)
		a.waits()
		r.stream(1).end(unavailable())
		require.False(t, a.unsent(KindUnavailable).MaybeDelivered, "moved once, not for ever")
		r.stop()
	})
	bubble(t, "the writer notices first", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		s := r.stream(0)
		s.writer.flushed = FromStatus(unavailable())
		b := r.send(load{})
		a.waits()
		require.Zero(t, r.session.Stats().Live)
		s.end(retryAfter(3 * time.Second))
		require.Equal(t, 3*time.Second, a.unsent(KindUnavailable).Cause.RetryDelay)
		b.waits() // was not sent
		time.Sleep(3 * time.Second)
		synctest.Wait()
		r.stream(1).ackAll()
		b.ok()
		r.stop()
	})
	bubble(t, "the writer notices, the caller has given up", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{slow: time.Second, err: unavailable()})
		a.cancel()
		time.Sleep(time.Second)
		require.False(t, a.unsent(KindCanceled).MaybeDelivered)
		r.stop()
	})
	bubble(t, "the writer notices, the end does not come", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		r.stream(0).writer.flushed = FromStatus(unavailable())
		r.send(load{}).cancel()
		a.waits()
		time.Sleep(r.config.DrainTimeout)
		a.unsent(KindUnavailable)
		r.stop()
	})
	bubble(t, "for good", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		r.stream(0).end(errorf(KindInvalid, "nonsense in frame 3"))
		require.False(t, a.unsent(KindInvalid).Cause.Retryable())
		r.stop()
	})
}

// TestSessionInOrderEnd: no Send fails if a server ends a stream gracefully, or announces that it will
// close the connection.
func TestSessionInOrderEnd(t *testing.T) {
	goaway := status.Error(codes.Unavailable,
		`closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "max_age"`)
	for name, end := range map[string]error{"ok": nil, "closed": errorf(KindClosed, "reopen"), "goaway": FromStatus(goaway), "reconnect": FromStatus(errReconnect)} {
		bubble(t, name, func(t *testing.T, r *rig) {
			r.config.FlushInterval = -1
			r.start()
			time.Sleep(time.Minute)
			a, b, c, d := r.send(load{id: 1}), r.send(load{id: 2}), r.send(load{id: 3}), r.send(load{id: 4})
			r.stream(0).respond(15, IDRange{From: 40, To: 40})
			r.stream(0).end(end)
			a.ok()
			require.EqualValues(t, 5, b.unsent(KindOf(end)).Acknowledged, "sent in part: for the caller to decide")
			require.Equal(t, []IDRange{{From: 10, To: 10}}, d.unsent(KindOf(end)).Rejected, "bad in part")
			c.waits()
			require.Equal(t, []string{"to 10: 3"}, frames(r.stream(1)), "opened at once")
			require.EqualValues(t, 1, r.session.Stats().Closed[CloseByServer])
			time.Sleep(10 * time.Second)
			r.stream(1).end(end)
			require.True(t, c.unsent(KindOf(end)).MaybeDelivered, "only once")
			require.Len(t, r.attemptList(), 3)
			r.stop()
		})
	}
	bubble(t, "noticed by a write first", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(time.Minute)
		s := r.stream(0)
		s.writer.flushed = errorf(KindClosed, "the stream has ended")
		r.send(load{id: 1, slow: time.Second})
		time.AfterFunc(time.Second+1, func() { s.end(nil) }) // 1 ns after the write
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(1)))
		require.Equal(t, []time.Duration{0, 61*time.Second + 1}, r.attemptList(), "at once")
		state := r.session.Stats()
		require.EqualValues(t, 1, state.Closed[CloseByServer])
		require.Nil(t, state.LastError)
		r.stop()
	})
	bubble(t, "the caller has given up by then", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(time.Minute)
		a := r.send(load{})
		a.cancel()
		a.unsent(KindCanceled)
		r.stream(0).end(nil)
		synctest.Wait()
		require.Empty(t, frames(r.stream(1)))
		r.stop()
	})
	bubble(t, "with a delay asked for", func(t *testing.T, r *rig) {
		r.start()
		time.Sleep(time.Minute)
		r.stream(0).end(&Error{Kind: KindClosed, Code: codes.Unavailable, HasRetryInfo: true, RetryDelay: time.Minute})
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		require.Len(t, r.attemptList(), 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Len(t, r.attemptList(), 2)
		r.stop()
	})
}

// KindOf returns the kind of the error of a batch whose stream ended with end.
func KindOf(end error) Kind {
	if end == nil {
		return KindClosed
	}
	return FromStatus(end).Kind
}

func TestSessionAckTimeout(t *testing.T) {
	bubble(t, "from the oldest, while there is one", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = -1
		r.start()
		time.Sleep(10 * r.config.AckTimeout)
		synctest.Wait()
		require.Len(t, r.streamList(), 1, "silence is no fault")
		a := r.send(load{})
		time.Sleep(10 * time.Second)
		b := r.send(load{})
		r.stream(0).respond(10)
		a.ok()
		time.Sleep(10 * time.Second)
		c := r.send(load{})
		b.waits()
		time.Sleep(5*time.Second - 1)
		b.waits()
		time.Sleep(time.Nanosecond)
		e := b.unsent(KindUnavailable)
		require.Equal(t, codes.DeadlineExceeded, e.Cause.Code)
		require.True(t, e.Cause.Retryable())
		require.True(t, c.unsent(KindUnavailable).MaybeDelivered)
		require.EqualValues(t, 1, r.session.Stats().Closed[CloseAckTimeout])
		time.Sleep(time.Second)
		d := r.send(load{})
		time.Sleep(time.Second)
		r.stream(1).ackAll()
		d.ok()
		r.stop()
	})
	// If a destination is slow but makes progress, AckTimeout does not close the stream. Another
	// stream would only repeat the work of the destination.
	bubble(t, "not of one that is slow", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = -1
		r.config.FlushInterval = -1
		r.start()
		var calls []*call
		for range 20 {
			calls = append(calls, r.send(load{}))
		}
		for i, c := range calls {
			time.Sleep(r.config.AckTimeout - time.Second)
			c.waits()
			r.stream(0).respond(uint64(10*i + 5)) // half a batch counts as progress
			time.Sleep(r.config.AckTimeout - time.Second)
			c.waits()
			r.stream(0).respond(uint64(10*i + 10))
			c.ok()
		}
		require.Len(t, r.streamList(), 1)
		a := r.send(load{})
		b := r.send(load{})
		r.stream(0).respond(215)
		a.ok()
		time.Sleep(r.config.AckTimeout - 1)
		b.waits()
		time.Sleep(time.Nanosecond)
		require.EqualValues(t, 5, b.unsent(KindUnavailable).Acknowledged)
		r.stop()
	})
	// If the caller of a batch has given up, the batch does not keep a stream open, even if other
	// batches make progress.
	bubble(t, "of a batch that the network does not accept", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a, b := r.send(load{}), r.send(load{})
		r.stream(0).block()
		c := r.send(load{cut: true})
		time.Sleep(10 * time.Second)
		r.stream(0).respond(10)
		a.ok()
		c.cancel()
		time.Sleep(4 * time.Second)
		r.stream(0).respond(15)
		c.waits()
		time.Sleep(time.Second - 1)
		c.waits()
		time.Sleep(time.Nanosecond)
		require.False(t, c.unsent(KindCanceled).MaybeDelivered)
		require.EqualValues(t, 5, b.unsent(KindUnavailable).Acknowledged)
		r.stop()
	})
	// The server acknowledges a frame after it has received only a part of it, so no batch waits for
	// an answer. But the network does not accept the rest of the frame, so the stream sends no further
	// batch. AckTimeout must close it.
	for _, idle := range []time.Duration{-1, 2 * time.Minute} {
		bubble(t, "of a frame that was acknowledged too early", func(t *testing.T, r *rig) {
			r.config.FlushInterval, r.config.MaxLifetime, r.config.IdleTimeout = -1, -1, idle
			r.onOpen = func(_ context.Context, n int, s *fakeStream) error {
				s.tell(func(f frame) {
					s.respond(f.last)
					if n == 0 {
						<-s.done
					}
				})
				return nil
			}
			r.start()
			r.send(load{id: 1}).ok()
			time.Sleep(time.Minute)
			b := r.send(load{id: 2})
			b.waits()
			time.Sleep(r.config.AckTimeout - 1)
			b.cancel() // the callers of the exporter and the SDK give up before AckTimeout
			c := r.send(load{id: 3})
			c.waits()
			time.Sleep(r.config.AckTimeout) // the goroutine watch checks once per AckTimeout
			c.ok()
			require.True(t, r.stream(0).over())
			require.EqualValues(t, 1, r.session.Stats().Closed[CloseAckTimeout])
			r.stop()
		})
	}
	bubble(t, "of a network that takes nothing", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).block()
		a := r.send(load{id: 1})
		b := r.send(load{id: 2, cut: true})
		c := r.send(load{id: 3})
		time.Sleep(r.config.AckTimeout - 1)
		a.waits()
		time.Sleep(2 * time.Second) // no batch was sent, so all batches move to the next stream
		synctest.Wait()
		r.stream(1).ackAll()
		a.ok()
		b.ok()
		c.ok()
		r.stop()
	})
}

func TestSessionBackoff(t *testing.T) {
	// Attempts fail with these errors in order, then succeed. The last arguments are the
	// expected times of the attempts.
	f := func(errs []error, wants ...time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
				if n < len(errs) {
					return errs[n]
				}
				return nil
			}
			r.start()
			a := r.send(load{})
			for r.session.Stats().Live == 0 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			require.Equal(t, wants, r.attemptList())
			require.Equal(t, len(errs), r.count(eventOpenFailed))
			time.Sleep(time.Second)
			r.stream(0).ackAll()
			a.ok() // waited all the time
			r.stop()
		})
	}
	const ms = time.Millisecond
	lost := unavailable()
	f(nil, 0)
	f([]error{lost}, 0, 100*ms)
	f([]error{lost, lost, lost}, 0, 100*ms, 260*ms, 516*ms)
	f([]error{retryAfter(7 * time.Second), lost}, 0, 7*time.Second, 7160*ms)
	f([]error{retryAfter(0)}, 0, 100*ms)
	f([]error{retryAfter(24 * time.Hour)}, 0, 5*time.Minute)
	f([]error{errors.New("no status")}, 0, 100*ms)
	f([]error{errorf(KindProtocol, "first message is no message")}, 0, 100*ms)

	bubble(t, "of streams that end at once", func(t *testing.T, r *rig) {
		r.onOpen = func(_ context.Context, _ int, s *fakeStream) error {
			time.AfterFunc(time.Millisecond, func() { s.end(nil) })
			return nil
		}
		r.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		n := len(r.attemptList())
		require.Greater(t, n, 60)
		require.Less(t, n, 75, "about one in ten seconds")
		r.stop()
	})
	bubble(t, "is forgotten after a good stream", func(t *testing.T, r *rig) {
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 0 && n < 10 {
				return lost
			}
			return nil
		}
		r.config.MaxLifetime = -1
		r.start()
		r.stream(0).end(lost)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, r.attemptList(), 11)
		r.stream(1).end(lost)
		time.Sleep(100 * ms)
		synctest.Wait()
		require.Len(t, r.attemptList(), 12)
		r.stop()
	})
	bubble(t, "does not grow over streams that carried something", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.onOpen = func(_ context.Context, _ int, s *fakeStream) error {
			s.tell(func(f frame) {
				s.respond(f.last)
				s.end(lost)
			})
			return nil
		}
		r.start()
		for range 20 {
			r.send(load{}).ok()
			time.Sleep(100 * ms)
			synctest.Wait()
		}
		require.Len(t, r.attemptList(), 21)
		r.stop()
	})
	bubble(t, "is forgotten after a replacement", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = time.Minute
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n < 5 || n == 7 {
				return lost
			}
			return nil
		}
		r.start()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		list := r.attemptList()
		require.Len(t, list, 9)
		require.Equal(t, 100*ms, list[8]-list[7])
		r.stop()
	})
	bubble(t, "is not cut short by a probe of before", func(t *testing.T, r *rig) {
		r.start()
		r.session.Probe()
		time.Sleep(time.Minute)
		r.stream(0).end(lost)
		time.Sleep(99 * ms)
		synctest.Wait()
		require.Len(t, r.attemptList(), 1)
		r.session.Probe()
		synctest.Wait()
		require.Len(t, r.attemptList(), 2)
		r.stop()
	})
	bubble(t, "has jitter", func(t *testing.T, r *rig) {
		r.config.Backoff.Jitter = 0.5
		random := 0.0
		r.config.Rand = func() float64 { return random }
		x := retries{config: &r.config}
		require.Equal(t, 50*ms, x.next(nil))
		random = 1
		x.failures = 0
		require.Equal(t, 150*ms, x.next(nil))
		require.Equal(t, 15*time.Second, x.next(FromStatus(retryAfter(10*time.Second))))
		x.failures = 100000
		require.Equal(t, r.config.Backoff.Max, x.next(nil))
	})
}

func TestSessionRefused(t *testing.T) {
	refuse := func(r *rig, err error, times int) {
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n < times {
				return err
			}
			return nil
		}
	}
	for _, kind := range []Kind{KindUnimplemented, KindIncompatible, KindAuth} {
		bubble(t, kind.String(), func(t *testing.T, r *rig) {
			refuse(r, errorf(kind, "no"), 3)
			r.onOpen = func(next func(context.Context, int, *fakeStream) error) func(context.Context, int, *fakeStream) error {
				return func(ctx context.Context, n int, s *fakeStream) error {
					time.Sleep(time.Second)
					return next(ctx, n, s)
				}
			}(r.onOpen)
			r.start()
			a := r.send(load{})
			a.waits()
			time.Sleep(time.Second)
			e := a.unsent(kind)
			require.False(t, e.MaybeDelivered)
			r.send(load{}).unsent(kind)
			require.Equal(t, kind, r.session.Stats().Refused.Kind)
			time.Sleep(r.config.ProbeInterval)
			r.send(load{}).unsent(kind)
			require.Len(t, r.attemptList(), 2)
			r.session.Probe()
			synctest.Wait()
			time.Sleep(r.config.ProbeInterval + 5*time.Second)
			synctest.Wait()
			require.Nil(t, r.session.Stats().Refused)
			b := r.send(load{})
			time.Sleep(time.Second)
			r.stream(0).ackAll()
			b.ok()
			r.stop()
		})
	}
	bubble(t, "and then not", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n == 1 {
				time.Sleep(900 * time.Millisecond)
			}
			if n < 2 {
				return errorf(KindUnimplemented, "no")
			}
			return nil
		}
		r.start()
		time.Sleep(r.config.ProbeInterval)
		synctest.Wait()
		require.Equal(t, 2, r.session.Stats().Live, "the success of one slot makes the other slot try again at once")
		r.stop()
	})
	bubble(t, "and never asked again by itself", func(t *testing.T, r *rig) {
		r.config.ProbeInterval = -1
		r.config.Streams = 2
		refuse(r, errorf(KindUnimplemented, "no"), 2)
		r.start()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Len(t, r.attemptList(), 2)
		r.session.Probe()
		synctest.Wait()
		require.Equal(t, 2, r.session.Stats().Live)
		r.stop()
	})
	bubble(t, "before another slot failed otherwise", func(t *testing.T, r *rig) {
		r.config.ProbeInterval = -1
		r.config.Streams = 2
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			switch n {
			case 0:
				return errorf(KindUnimplemented, "no")
			case 1:
				return unavailable()
			}
			return nil
		}
		r.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, r.session.Stats().Live, "the success of one slot makes the refused slot try again")
		r.stop()
	})
	bubble(t, "by one of two", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 0 {
				return errorf(KindUnimplemented, "no")
			}
			return nil
		}
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{})
		r.stream(0).ackAll()
		a.ok()
		time.Sleep(time.Hour) // the session keeps retrying
		b := r.send(load{})
		synctest.Wait()
		last := r.streamList()[len(r.streamList())-1]
		last.ackAll()
		b.ok()
		require.Greater(t, len(r.attemptList()), 100)
		last.end(unavailable())
		synctest.Wait()
		r.send(load{}).unsent(KindUnimplemented)
		r.stop()
	})
	bubble(t, "by the writer", func(t *testing.T, r *rig) {
		r.onWriter = func(int, *fakeStream) error { return stef.ErrSchema }
		r.start()
		r.send(load{}).unsent(KindIncompatible)
		require.True(t, r.stream(0).over())
		r.stop()
	})
	for _, kind := range []Kind{KindInvalid, KindRejected} {
		bubble(t, kind.String()+" at once", func(t *testing.T, r *rig) {
			r.config.Streams = 2
			var accepts atomic.Bool
			r.onOpen = func(_ context.Context, _ int, s *fakeStream) error {
				if !accepts.Load() {
					s.end(errorf(kind, "never"))
				}
				return nil
			}
			r.onWriter = func(n int, s *fakeStream) error {
				if n%2 == 1 && !accepts.Load() { // the session notices the end while it creates the writer, or later
					<-s.Done()
					return errorf(KindClosed, "the stream has ended")
				}
				return nil
			}
			r.start()
			began := time.Now()
			a := r.send(load{})
			time.Sleep(time.Second)
			e := a.unsent(kind)
			require.False(t, e.Cause.Retryable())
			require.False(t, e.MaybeDelivered)
			require.False(t, e.Refused.Before(began))
			require.Less(t, e.Refused.Sub(began), r.config.Backoff.Initial*2)
			time.Sleep(time.Minute)
			require.Equal(t, kind, r.session.Stats().Refused.Kind)
			r.send(load{}).unsent(kind)
			require.Less(t, len(r.attemptList()), 40, "attempts wait")
			accepts.Store(true)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			require.Nil(t, r.session.Stats().Refused)
			b := r.send(load{})
			time.Sleep(time.Second)
			for _, s := range r.streamList() {
				s.ackAll()
			}
			b.ok()
			r.stop()
		})
	}
	for _, kind := range []Kind{KindUnknown, KindLimit, KindAuth} {
		bubble(t, "not by "+kind.String()+" at once", func(t *testing.T, r *rig) {
			r.onOpen = func(_ context.Context, n int, s *fakeStream) error {
				if n < 5 {
					s.end(errorf(kind, "a failure of the server"))
				}
				return nil
			}
			r.start()
			a := r.send(load{})
			time.Sleep(10 * time.Second)
			r.stream(5).ackAll()
			a.ok()
			r.stop()
		})
	}
	bubble(t, "not by one bad server of many", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = time.Minute
		r.config.FlushInterval = 20 * time.Millisecond
		r.onOpen = func(_ context.Context, n int, s *fakeStream) error {
			if n%2 == 0 {
				s.end(errorf(KindInvalid, "wrongly configured"))
			}
			return nil
		}
		r.start()
		for range 50 {
			a := r.send(load{}) // may be encoded when its stream ends
			time.Sleep(10 * time.Second)
			for _, s := range r.streamList() {
				s.ackAll()
			}
			a.ok()
		}
		require.Greater(t, len(r.attemptList()), 10)
		require.Zero(t, r.session.Stats().HandedBack)
		r.stop()
	})
	bubble(t, "not by writers that fail otherwise", func(t *testing.T, r *rig) {
		r.onWriter = func(n int, s *fakeStream) error {
			switch n {
			case 0:
				return errors.New("no memory, no luck")
			case 1:
				s.end(unavailable())
				return errorf(KindClosed, "the stream has ended")
			case 2:
				return errorf(KindLimit, "a header of 2 GiB")
			case 3: // a header that the handler does not read
				<-s.Done()
				return errorf(KindClosed, "the stream has ended")
			}
			return nil
		}
		r.start()
		a := r.send(load{})
		time.Sleep(20 * time.Second)
		synctest.Wait()
		var kinds []Kind
		for _, e := range r.eventList() {
			if e.kind == eventOpenFailed {
				kinds = append(kinds, FromStatus(e.err).Kind)
			}
		}
		require.Equal(t, []Kind{KindUnknown, KindUnavailable, KindLimit, KindUnavailable}, kinds)
		require.ErrorContains(t, r.session.Stats().LastError, "did not read the headers of the stream within 15s")
		r.stream(4).ackAll()
		a.ok()
		r.stop()
	})
}

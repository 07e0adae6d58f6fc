// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// shutdown calls Shutdown with a deadline, checks that it meets the deadline, and
// returns its duration.
func (r *rig) shutdown(deadline time.Duration) (took time.Duration, err error) {
	r.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err = r.session.Shutdown(ctx)
	took = time.Since(began)
	require.LessOrEqual(r.t, took, deadline)
	require.NoError(r.t, ctx.Err())
	r.clean()
	return took, err
}

// TestSessionShutdown calls Shutdown in each state of a session. Shutdown returns when no sent batch
// waits for an answer, and at the latest at its deadline.
func TestSessionShutdown(t *testing.T) {
	bubble(t, "idle", func(t *testing.T, r *rig) {
		r.config.Streams = 3
		r.start()
		took, err := r.shutdown(time.Second)
		require.NoError(t, err)
		require.Zero(t, took)
		for _, s := range r.streamList() {
			require.NoError(t, s.Err(), "half-closed, not cut")
		}
		require.EqualValues(t, 3, r.session.Stats().Closed[CloseShutdown])
		e := r.send(load{}).unsent(KindClosed)
		require.ErrorIs(t, e, ErrSessionClosed)
		require.True(t, e.Cause.Retryable())
		took, err = r.shutdown(time.Second)
		require.NoError(t, err)
		require.Zero(t, took)
	})
	bubble(t, "before the first stream is open", func(t *testing.T, r *rig) {
		r.config.Streams = 3
		r.onOpen = func(ctx context.Context, _ int, _ *fakeStream) error { <-ctx.Done(); return ctx.Err() }
		r.start()
		a := r.send(load{})
		took, err := r.shutdown(time.Second)
		require.ErrorContains(t, err, "handed back 1 batches")
		require.Zero(t, took)
		require.False(t, a.unsent(KindClosed).MaybeDelivered)
	})
	bubble(t, "while a writer is made", func(t *testing.T, r *rig) {
		r.onWriter = func(_ int, s *fakeStream) error { <-s.Done(); return s.Err() }
		r.start()
		took, err := r.shutdown(time.Second)
		require.NoError(t, err)
		require.Zero(t, took)
	})
	bubble(t, "between attempts", func(t *testing.T, r *rig) {
		r.onOpen = func(context.Context, int, *fakeStream) error { return retryAfter(time.Minute) }
		r.start()
		a := r.send(load{})
		took, err := r.shutdown(time.Second)
		require.Error(t, err)
		require.Zero(t, took)
		a.unsent(KindClosed)
	})
	bubble(t, "refused", func(t *testing.T, r *rig) {
		r.onOpen = func(context.Context, int, *fakeStream) error { return errorf(KindAuth, "no") }
		r.config.ProbeInterval = -1
		r.start()
		took, err := r.shutdown(time.Second)
		require.NoError(t, err)
		require.Zero(t, took)
	})
	bubble(t, "with batches on their way", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 2
		r.start()
		a, b, c := r.send(load{id: 1}), r.send(load{id: 2}), r.send(load{id: 3})
		go func() {
			time.Sleep(300 * time.Millisecond)
			r.stream(0).respond(20)
			time.Sleep(300 * time.Millisecond)
			r.stream(0).respond(30)
		}()
		took, err := r.shutdown(time.Minute)
		require.NoError(t, err)
		require.Equal(t, 600*time.Millisecond, took)
		a.ok()
		b.ok()
		c.ok()
		require.Equal(t, []string{"to 20: 1 2", "to 30: 3"}, frames(r.stream(0)))
	})
	bubble(t, "without an answer", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{id: 1})
		took, err := r.shutdown(time.Second)
		require.Equal(t, 900*time.Millisecond, took)
		require.Error(t, err)
		e := a.unsent(KindClosed)
		require.True(t, e.MaybeDelivered)
		require.ErrorIs(t, e, ErrSessionClosed)
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(0)))
		require.True(t, r.stream(0).closed)
	})
	bubble(t, "without an answer and without a deadline", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{})
		began := time.Now()
		require.Error(t, r.session.Shutdown(context.Background()))
		require.Equal(t, r.config.DrainTimeout, time.Since(began))
		a.unsent(KindClosed)
		r.clean()
	})
	bubble(t, "without patience", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		require.Error(t, r.session.Shutdown(ctx))
		require.Zero(t, time.Since(began))
		a.unsent(KindClosed)
		r.clean()
	})
	bubble(t, "of a network that takes nothing", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).block()
		a := r.send(load{id: 1})
		b := r.send(load{id: 2, cut: true})
		c := r.send(load{id: 3})
		d := r.send(load{id: 4})
		took, err := r.shutdown(2 * time.Second)
		require.Equal(t, 1900*time.Millisecond, took)
		require.Error(t, err)
		for _, x := range []*call{a, b, c, d} {
			require.False(t, x.unsent(KindClosed).MaybeDelivered)
		}
		require.Zero(t, r.session.Stats().Redispatched)
	})
	bubble(t, "while a stream is replaced", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(9 * time.Second)
		a := r.send(load{})
		time.Sleep(2 * time.Second)
		b := r.send(load{})
		require.Equal(t, 1, r.session.Stats().Draining)
		time.AfterFunc(time.Second, func() { r.stream(1).ackAll() })
		took, err := r.shutdown(3 * time.Second)
		require.Equal(t, 2900*time.Millisecond, took)
		require.Error(t, err)
		b.ok()
		require.True(t, a.unsent(KindClosed).MaybeDelivered)
	})
	bubble(t, "while streams die", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.MaxUnackedBatches = 1
		r.config.FlushInterval = -1
		r.config.MaxLifetime = -1
		r.start()
		a, b, c := r.send(load{id: 1}), r.send(load{id: 2}), r.send(load{id: 3})
		time.AfterFunc(100*time.Millisecond, func() { r.stream(0).end(unavailable()) })
		time.AfterFunc(200*time.Millisecond, func() { r.stream(1).ackAll() })
		time.AfterFunc(300*time.Millisecond, func() { r.stream(1).ackAll() })
		took, err := r.shutdown(time.Minute)
		require.Error(t, err)
		require.Equal(t, 300*time.Millisecond, took)
		a.unsent(KindUnavailable)
		b.ok()
		c.ok()
		require.Len(t, r.attemptList(), 2, "none is opened any more")
	})
	bubble(t, "of a server that does not end streams", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).deafen()
		took, err := r.shutdown(time.Minute)
		require.NoError(t, err)
		require.Equal(t, r.config.DrainTimeout, took)
	})
	bubble(t, "twice at a time", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{})
		var patient error
		done := make(chan struct{})
		go func() {
			patient = r.session.Shutdown(t.Context())
			close(done)
		}()
		synctest.Wait()
		_, err := r.shutdown(time.Second)
		require.Error(t, err)
		<-done
		require.Error(t, patient)
		a.unsent(KindClosed)
	})
	bubble(t, "with callers that give up meanwhile", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 1
		r.start()
		a, b := r.send(load{}), r.send(load{})
		time.AfterFunc(100*time.Millisecond, b.cancel)
		time.AfterFunc(200*time.Millisecond, func() { r.stream(0).ackAll() })
		took, err := r.shutdown(time.Minute)
		require.Equal(t, 200*time.Millisecond, took)
		require.Error(t, err)
		a.ok()
		b.unsent(KindCanceled)
	})
	bubble(t, "of a writer that does not return", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{slow: time.Minute})
		for _, patience := range []time.Duration{10 * time.Second, time.Second, 200 * time.Millisecond, time.Millisecond} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			began := time.Now()
			require.ErrorIs(t, r.session.Shutdown(ctx), context.DeadlineExceeded)
			require.Equal(t, patience, time.Since(began))
		}
		a.waits() // the writer still reads the batch
		time.Sleep(time.Minute)
		a.unsent(KindClosed)
		r.clean()
	})
	bubble(t, "as a stream opens", func(t *testing.T, r *rig) {
		r.onOpen = func(context.Context, int, *fakeStream) error {
			time.Sleep(time.Second) // this function ignores its context
			return nil
		}
		r.start()
		time.Sleep(500 * time.Millisecond)
		took, err := r.shutdown(time.Minute)
		require.NoError(t, err)
		require.Equal(t, 500*time.Millisecond, took)
		require.Zero(t, r.session.Stats().Opened)
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSessionRotation: after MaxLifetime a session replaces a stream. It opens the new stream before it
// half-closes the old one. The old stream still receives its acknowledgements.
func TestSessionRotation(t *testing.T) {
	bubble(t, "make before break", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = time.Minute
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			time.Sleep(2 * time.Second) // the old stream is used until then
			return nil
		}
		r.start()
		time.Sleep(2*time.Second + time.Minute)
		synctest.Wait()
		require.Len(t, r.attemptList(), 2)
		a := r.send(load{id: 1})
		time.Sleep(r.config.FlushInterval)
		b := r.send(load{id: 2})
		require.False(t, r.stream(0).halfClosed())
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(0)))
		time.Sleep(2*time.Second - r.config.FlushInterval)
		synctest.Wait()
		require.True(t, r.stream(0).halfClosed())
		require.Equal(t, []string{"to 10: 1", "to 20: 2"}, frames(r.stream(0)), "flushed before it is half-closed")
		c := r.send(load{id: 3})
		state := r.session.Stats()
		require.Equal(t, [3]int{1, 1, 0}, [3]int{state.Live, state.Draining, state.Connecting})
		require.Equal(t, 3, state.UnackedBatches)
		time.Sleep(10 * time.Second) // longer than DrainTimeout: acknowledgements are missing
		require.False(t, r.stream(0).over())
		r.stream(0).respond(20)
		a.ok()
		b.ok()
		synctest.Wait()
		require.True(t, r.stream(0).over())
		require.NoError(t, r.stream(0).Err())
		require.Equal(t, []string{"to 10: 3"}, frames(r.stream(1)))
		r.stream(1).ackAll()
		c.ok()
		r.stop()
		require.EqualValues(t, 1, r.session.Stats().Closed[CloseRotated])
		require.Zero(t, r.session.Stats().Redispatched)
	})
	bubble(t, "really happens", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = time.Minute
		r.start()
		time.Sleep(time.Hour - 1)
		synctest.Wait()
		require.Len(t, r.attemptList(), 60)
		r.stop()
		require.EqualValues(t, 59, r.session.Stats().Closed[CloseRotated])
	})
	bubble(t, "off", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = -1
		r.start()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Len(t, r.attemptList(), 1)
		r.stop()
	})
	bubble(t, "to a server that cannot be had", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = time.Minute
		r.config.FlushInterval = -1
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 0 && n < 4 {
				return unavailable()
			}
			return nil
		}
		r.start()
		time.Sleep(time.Minute + 300*time.Millisecond)
		a := r.send(load{})
		require.Equal(t, 1, r.session.Stats().Live)
		require.Len(t, r.attemptList(), 4)
		r.stream(0).ackAll()
		a.ok()
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, r.stream(0).over())
		require.Equal(t, 1, r.session.Stats().Live)
		r.stop()
	})
	bubble(t, "of a stream that dies while it drains", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(9 * time.Second)
		a := r.send(load{id: 1})
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, r.stream(0).halfClosed())
		r.stream(0).end(unavailable())
		a.waits()
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(1)))
		r.stream(1).ackAll()
		a.ok()
		require.EqualValues(t, 1, r.session.Stats().Redispatched)
		r.stop()
	})
	bubble(t, "of a stream that does not end", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.start()
		r.stream(0).deafen()
		time.Sleep(10*time.Second + r.config.DrainTimeout - 1)
		synctest.Wait()
		require.False(t, r.stream(0).over())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, r.stream(0).over())
		r.stop()
	})
	bubble(t, "of a stream that does not end after its last answer", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(9 * time.Second)
		a := r.send(load{})
		r.stream(0).deafen()
		time.Sleep(5 * time.Second)
		r.stream(0).ackAll()
		a.ok()
		time.Sleep(r.config.DrainTimeout)
		synctest.Wait()
		require.True(t, r.stream(0).over())
		r.stop()
	})
	bubble(t, "moves what waits for a stuck stream", func(t *testing.T, r *rig) {
		r.config.MaxLifetime = 10 * time.Second
		r.config.FlushInterval = -1
		r.start()
		time.Sleep(5 * time.Second)
		r.stream(0).block()
		a := r.send(load{id: 1})
		b := r.send(load{id: 2})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"to 10: 2"}, frames(r.stream(1)))
		r.stream(1).ackAll()
		b.ok()
		r.stream(0).unblock()
		synctest.Wait()
		require.True(t, r.stream(0).halfClosed())
		r.stream(0).ackAll()
		a.ok()
		r.stop()
	})
}

// TestSessionStagger: streams that were opened at the same time are replaced at different times. This
// holds for the first streams of a session. It also holds for the streams that the session opens
// after it has lost all its streams.
func TestSessionStagger(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		r.config.Streams = 4
		r.config.MaxLifetime = time.Minute
		r.start()
		times := func(from int) (list []time.Duration) {
			for _, at := range r.attemptList()[from:] {
				list = append(list, at.Round(time.Second))
			}
			return list
		}
		const s = time.Second
		time.Sleep(2*time.Minute + s)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 0, 0, 0, 15 * s, 30 * s, 45 * s, 60 * s, 75 * s, 90 * s, 105 * s, 120 * s}, times(0))
		for _, x := range r.streamList() {
			x.end(unavailable())
		}
		time.Sleep(time.Minute + s)
		synctest.Wait()
		require.Equal(t, []time.Duration{121 * s, 121 * s, 121 * s, 121 * s, 136 * s, 151 * s, 166 * s, 181 * s}, times(12))
		r.stop()
	})
	bubble(t, "opened one after another", func(t *testing.T, r *rig) {
		r.config.Streams = 4
		r.onOpen = func(ctx context.Context, n int, _ *fakeStream) error {
			if n == 2 {
				<-ctx.Done() // a blocked attempt delays the other attempts only for a short time
			} else {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		r.start()
		time.Sleep(5 * time.Second)
		const ms = time.Millisecond
		require.Equal(t, []time.Duration{0, 10 * ms, 20 * ms, 3000 * ms}, r.attemptList())
		r.stop()
	})
	bubble(t, "jitter", func(t *testing.T, r *rig) {
		c := &r.config
		c.Streams, c.MaxLifetime, c.LifetimeJitter = 2, 100*time.Second, 0.1
		random := 0.0
		c.Rand = func() float64 { return random }
		require.Equal(t, 100*time.Second, c.lifetime(0, true))
		require.Equal(t, 50*time.Second, c.lifetime(0, false))
		require.Equal(t, 100*time.Second, c.lifetime(1, false))
		random = 0.5
		require.Equal(t, 95*time.Second, c.lifetime(0, true))
	})
	bubble(t, "longest", func(t *testing.T, r *rig) {
		c := &r.config
		c.Streams, c.MaxLifetime, c.LifetimeJitter = 1, math.MaxInt64, -1
		c.Backoff = Backoff{Initial: math.MaxInt64, Max: math.MaxInt64, Jitter: -1}
		require.Equal(t, time.Duration(math.MaxInt64), c.lifetime(0, true))
		require.Equal(t, time.Duration(math.MaxInt64), (&retries{config: c}).next(nil))
		r.start()
		time.Sleep(time.Second)
		require.EqualValues(t, 1, r.session.Stats().Opened)
		r.stop()
	})
}

func TestSessionDispatch(t *testing.T) {
	start := func(r *rig, n int) {
		r.config.Streams = n
		r.config.MaxLifetime = -1
		r.config.FlushInterval = -1
		r.start()
		require.Equal(r.t, n, r.session.Stats().Live)
	}
	bubble(t, "least loaded", func(t *testing.T, r *rig) {
		start(r, 3)
		r.send(load{id: 1, bytes: 1000})
		r.send(load{id: 2, bytes: 50})
		r.send(load{id: 3, bytes: 500})
		r.send(load{id: 4, bytes: 100}) // goes to stream 1
		r.send(load{id: 5, bytes: 100}) // goes to stream 1 again, which has the lower load of 150
		r.send(load{id: 6, bytes: 400})
		r.send(load{id: 7}) // the loads before are 1000, 650 and 500
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(0)))
		require.Equal(t, []string{"to 10: 2", "to 20: 4", "to 30: 5", "to 40: 6"}, frames(r.stream(1)))
		require.Equal(t, []string{"to 10: 3", "to 20: 7"}, frames(r.stream(2)))
		r.stream(0).ackAll()
		r.send(load{id: 8})
		require.Equal(t, []string{"to 10: 1", "to 20: 8"}, frames(r.stream(0)))
		for n := range 3 {
			r.stream(n).ackAll()
		}
		r.stop()
		require.EqualValues(t, 8, r.session.Stats().Acknowledged)
	})
	bubble(t, "fewest batches of as many bytes", func(t *testing.T, r *rig) {
		start(r, 2)
		r.send(load{id: 1, bytes: 100})
		r.send(load{id: 2, bytes: 50})
		r.send(load{id: 3, bytes: 50})
		r.stream(0).ackAll()
		r.send(load{id: 4, bytes: 100})
		r.send(load{id: 5})
		require.Equal(t, []string{"to 10: 1", "to 20: 4", "to 30: 5"}, frames(r.stream(0)))
		r.stop()
	})
	bubble(t, "in turns while idle", func(t *testing.T, r *rig) {
		start(r, 3)
		for id := range 9 {
			c := r.send(load{id: id})
			for n := range 3 {
				r.stream(n).ackAll()
			}
			c.ok()
		}
		for n := range 3 {
			require.Len(t, frames(r.stream(n)), 3)
		}
		r.stop()
	})
	// A slot whose stream was lost has the lowest load, but must not be chosen for a batch.
	bubble(t, "live ones only", func(t *testing.T, r *rig) {
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 1 {
				return unavailable()
			}
			return nil
		}
		start(r, 2)
		r.stream(0).end(unavailable())
		synctest.Wait()
		for id := range 20 {
			c := r.send(load{id: id})
			r.stream(1).ackAll()
			c.ok()
		}
		require.Len(t, frames(r.stream(1)), 20)
		require.Equal(t, 1, r.session.Stats().Connecting)
		r.stop()
	})
	// A stream with a blocked network delays only the batch that it sends and the batch
	// in its inbox. Other streams continue.
	bubble(t, "around a stuck one", func(t *testing.T, r *rig) {
		start(r, 2)
		r.stream(0).block()
		stuck := r.send(load{id: -5, records: 1})
		other := r.send(load{id: 1})
		inbox := r.send(load{id: -6, records: 1, bytes: 1})
		for id := range 20 {
			r.send(load{id: id})
		}
		r.stream(1).ackAll()
		require.Equal(t, 21, r.session.Stats().UnackedBatches+int(r.session.Stats().Acknowledged)-2)
		other.ok()
		stuck.waits()
		inbox.waits()
		r.stream(0).unblock()
		synctest.Wait()
		r.stream(0).ackAll()
		r.stream(1).ackAll()
		synctest.Wait()
		r.stream(0).ackAll()
		stuck.ok()
		inbox.ok()
		r.stop()
	})
}

func TestSessionEvents(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var lines []string
		r.config.Events = record(func(e event) {
			r.session.Stats() // callbacks may call Stats: no lock is held
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf("%d %v %v records=%d bytes=%d %v err=%v", e.stream, e.kind, e.reason, e.records, e.bytes, e.duration, e.err != nil))
		})
		opened := make(chan struct{})
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			<-opened
			time.Sleep(20 * time.Millisecond)
			if n == 0 {
				return unavailable()
			}
			return nil
		}
		r.config.MaxLifetime = time.Minute
		r.start()
		close(opened)
		time.Sleep(140 * time.Millisecond)
		r.send(load{})
		r.send(load{})
		time.Sleep(time.Second)
		r.stream(0).respond(20, IDRange{From: 11, To: 12})
		r.send(load{err: &BatchError{Err: context.Canceled}})
		r.send(load{})
		r.stream(0).end(unavailable())
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		r.stream(1).ackAll()
		require.NoError(t, r.session.Shutdown(t.Context()))
		// The last two events can have any order: the goroutine of Shutdown reports one of them, and the
		// goroutine of the stream the other.
		require.GreaterOrEqual(t, len(lines), 2)
		slices.SortFunc(lines[len(lines)-2:], func(a, b string) int { return -strings.Compare(a, b) })
		require.Equal(t, []string{
			"0 open failed close reason 0 records=0 bytes=0 100ms err=true",
			"0 opened close reason 0 records=0 bytes=0 20ms err=false",
			"0 acknowledged close reason 0 records=10 bytes=100 1s err=false",
			"0 rejected close reason 0 records=2 bytes=100 1s err=true",
			"0 batch error close reason 0 records=0 bytes=0 0s err=true",
			"0 redispatched close reason 0 records=0 bytes=100 0s err=false",
			"0 closed lost records=0 bytes=0 1s err=true",
			"0 opened close reason 0 records=0 bytes=0 20ms err=false",
			"0 acknowledged close reason 0 records=10 bytes=100 880ms err=false",
			"0 draining shutdown records=0 bytes=0 0s err=false",
			"0 closed shutdown records=0 bytes=0 880ms err=false",
		}, lines)
	})
}

// TestSessionIdle: after IdleTimeout without data a session ends its stream gracefully. The next batch
// opens a new stream.
func TestSessionIdle(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.FlushInterval = -1
		r.config.IdleTimeout = 30 * time.Second
		r.start()
		time.Sleep(5 * time.Second)
		first := r.send(load{})
		r.stream(0).ackAll()
		first.ok()
		time.Sleep(29 * time.Second)
		require.Equal(t, 1, r.session.Stats().Idle, "the stream that was never used")
		time.Sleep(2 * time.Second)
		state := r.session.Stats()
		require.Equal(t, 2, state.Idle)
		require.Zero(t, state.Connecting+state.Live+state.Draining)
		require.EqualValues(t, 2, state.Closed[CloseIdle])
		require.Nil(t, state.LastError)
		require.Len(t, r.streamList(), 2)

		time.Sleep(time.Hour)
		require.Len(t, r.streamList(), 2, "nothing is opened without need")
		second := r.send(load{})
		require.Len(t, r.streamList(), 4)
		require.Zero(t, r.session.Stats().Idle)
		for _, s := range r.streamList()[2:] {
			s.ackAll()
		}
		second.ok()
		time.Sleep(time.Minute)
		require.Equal(t, 2, r.session.Stats().Idle)
		r.stop()
	})
	// A server can end idle streams, too. Then it sends the status OK. When it shuts down, it sends
	// UNAVAILABLE.
	var reconnect error = FromStatus(errReconnect)
	for name, test := range map[string]struct {
		limit, idle time.Duration
		end         error
		reason      CloseReason
	}{
		"no limit":                     {-1, 30 * time.Second, nil, CloseByServer},
		"half of the limit":            {time.Minute, 30 * time.Second, nil, CloseIdle},
		"a small part of the limit":    {time.Hour, 5 * time.Second, nil, CloseIdle},
		"a busy stream":                {time.Minute, 4 * time.Second, nil, CloseByServer},
		"limit below that of servers":  {4 * time.Second, 2 * time.Second, nil, CloseIdle},
		"reconnect":                    {61 * time.Second, 30 * time.Second, reconnect, CloseByServer},
		"reconnect, half of the limit": {time.Minute, 30 * time.Second, reconnect, CloseIdle},
	} {
		bubble(t, "the server ends an idle stream, "+name, func(t *testing.T, r *rig) {
			r.config.FlushInterval = -1
			r.config.IdleTimeout = test.limit
			r.start()
			c := r.send(load{})
			r.stream(0).ackAll()
			c.ok()
			time.Sleep(test.idle)
			r.stream(0).end(test.end)
			time.Sleep(time.Second)
			require.EqualValues(t, 1, r.session.Stats().Closed[test.reason])
			if test.reason == CloseIdle {
				require.Len(t, r.streamList(), 1)
			} else {
				require.Len(t, r.streamList(), 2, "a stream is opened without data")
			}
			r.stop()
		})
	}
	// The server ends each stream that has no data for 200 ms.
	bubble(t, "the server ends streams that were never used", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.FlushInterval = -1
		r.config.IdleTimeout = time.Minute
		r.start()
		c := r.send(load{})
		r.stream(0).ackAll()
		c.ok()
		for ended := 0; ended < len(r.streamList()) && ended < 10; ended++ {
			time.Sleep(200 * time.Millisecond)
			r.stream(ended).end(nil)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		require.Equal(t, 2, r.session.Stats().Idle)
		require.Len(t, r.streamList(), 3, "only the stream with data is replaced")
		c = r.send(load{})
		for _, s := range r.streamList()[3:] {
			s.ackAll()
		}
		c.ok()
		r.stop()
	})
	// The stream ends soon after it was opened, so it counts as a failure, and a backoff begins. The
	// session is idle, and opens the next stream when a batch arrives, after the backoff.
	bubble(t, "the server ends an unused stream within the backoff", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.config.IdleTimeout = time.Minute
		r.config.Backoff.Initial = 10 * time.Second
		r.start()
		synctest.Wait()
		r.stream(0).end(nil)
		time.Sleep(7 * time.Second)
		c := r.send(load{})
		require.Len(t, r.streamList(), 1, "the rest of the backoff")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		r.stream(1).ackAll()
		c.ok()
		time.Sleep(5 * time.Second)
		r.stream(1).end(nil)
		time.Sleep(time.Hour)
		require.Len(t, r.streamList(), 2)
		c = r.send(load{})
		r.stream(2).ackAll()
		c.ok()
		r.stop()
	})
	// One of two streams was closed because it was idle, and the server refuses the other one. A
	// batch opens the first stream again.
	bubble(t, "while another stream is refused", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.FlushInterval = -1
		r.config.IdleTimeout = 30 * time.Second
		refuses := true
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 0 && refuses {
				return errorf(KindUnimplemented, "no")
			}
			return nil
		}
		r.start()
		time.Sleep(time.Minute)
		require.Equal(t, 1, r.session.Stats().Idle)
		require.Nil(t, r.session.Stats().Refused)
		refuses = false
		c := r.send(load{})
		c.waits()
		r.stream(1).ackAll()
		c.ok()
		require.Zero(t, r.session.Stats().Idle)
		r.stop()
	})
	// Probe opens the idle stream again. The server refuses it, so all streams of the session are
	// refused.
	bubble(t, "then refused", func(t *testing.T, r *rig) {
		r.config.IdleTimeout = 30 * time.Second
		r.onOpen = func(_ context.Context, n int, _ *fakeStream) error {
			if n > 0 {
				return errorf(KindUnimplemented, "no")
			}
			return nil
		}
		r.start()
		time.Sleep(time.Minute)
		require.Equal(t, 1, r.session.Stats().Idle)
		r.session.Probe()
		synctest.Wait()
		require.NotNil(t, r.session.Stats().Refused)
		r.send(load{}).unsent(KindUnimplemented)
		r.stop()
	})
	bubble(t, "a slow destination is not idle", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.config.IdleTimeout = time.Second
		r.start()
		c := r.send(load{})
		time.Sleep(10 * time.Second)
		c.waits()
		r.stream(0).ackAll()
		c.ok()
		require.Zero(t, r.session.Stats().Idle)
		time.Sleep(2 * time.Second)
		require.Equal(t, 1, r.session.Stats().Idle, "the stream ends IdleTimeout after its last acknowledgement")
		r.stop()
	})
}

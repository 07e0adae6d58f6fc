// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSessionFlush(t *testing.T) {
	bubble(t, "by time", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 1000
		r.start()
		const gap = 180 * time.Microsecond
		for id := range 275 { // within 49.5 ms
			r.send(load{id: id})
			time.Sleep(gap)
		}
		synctest.Wait()
		require.Empty(t, frames(r.stream(0)))
		time.Sleep(r.config.FlushInterval - 275*gap)
		synctest.Wait()
		require.Len(t, frames(r.stream(0)), 1)
		require.EqualValues(t, 2750, r.stream(0).Sent())
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "at the end of a burst", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{id: 1})
		time.Sleep(180 * time.Microsecond)
		b := r.send(load{id: 2})
		time.Sleep(1700 * time.Microsecond)
		synctest.Wait()
		require.Empty(t, frames(r.stream(0)))
		time.Sleep(100 * time.Microsecond)
		synctest.Wait()
		require.Equal(t, []string{"to 20: 1 2"}, frames(r.stream(0)))
		a.waits()
		r.stream(0).respond(10)
		a.ok()
		b.waits()
		r.stream(0).respond(20)
		b.ok()
		r.stop()
	})
	bubble(t, "early after a pause", func(t *testing.T, r *rig) {
		r.config.EarlyFrames = 0 // the default
		r.start()
		for id := range 4 {
			r.send(load{id: id})
			require.Len(t, frames(r.stream(0)), id+1)
			r.stream(0).ackAll()
		}
		r.send(load{id: 4})
		require.Len(t, frames(r.stream(0)), 4)
		time.Sleep(time.Second)
		r.stream(0).ackAll()
		r.send(load{id: 5})
		require.Len(t, frames(r.stream(0)), 6)
		r.send(load{id: 6})
		r.send(load{id: 7})
		time.Sleep(r.config.FlushInterval)
		synctest.Wait()
		require.Equal(t, []string{"to 60: 5", "to 80: 6 7"}, frames(r.stream(0))[5:])
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "by size", func(t *testing.T, r *rig) {
		r.config.FlushBytes = 250
		r.start()
		for id := range 7 {
			r.send(load{id: id + 1})
		}
		require.Equal(t, []string{"to 30: 1 2 3", "to 60: 4 5 6"}, frames(r.stream(0)))
		time.Sleep(r.config.FlushInterval)
		synctest.Wait()
		require.Len(t, frames(r.stream(0)), 3)
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "at once", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		r.send(load{id: 1, slow: time.Second}) // the other batches are queued during that time
		for id := range 4 {
			r.send(load{id: id + 2})
		}
		require.Empty(t, frames(r.stream(0)))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"to 50: 1 2 3 4 5"}, frames(r.stream(0)))
		r.send(load{id: 6})
		require.Len(t, frames(r.stream(0)), 2)
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "no room for more", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 2
		r.config.FlushInterval = time.Hour
		r.start()
		r.send(load{id: 1})
		require.Empty(t, frames(r.stream(0)))
		r.send(load{id: 2})
		require.Len(t, frames(r.stream(0)), 1, "nothing could join the frame")
		r.stream(0).ackAll()
		r.send(load{id: 3, slow: time.Second})
		r.send(load{id: 4})
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"to 20: 1 2", "to 40: 3 4"}, frames(r.stream(0)))
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "nobody left to join", func(t *testing.T, r *rig) {
		r.config.Senders = 3
		r.config.FlushInterval = time.Hour
		r.start()
		r.send(load{id: 1})
		given := r.send(load{id: 2})
		given.cancel()
		given.unsent(KindCanceled)
		r.send(load{id: 3})
		require.Empty(t, frames(r.stream(0)), "one of them does not wait any more")
		r.send(load{id: 4})
		require.Equal(t, []string{"to 40: 1 2 3 4"}, frames(r.stream(0)))
		r.stream(0).respond(20)
		r.send(load{id: 5})
		require.Len(t, frames(r.stream(0)), 1, "3 and 4 wait for another frame, and may be back soon")
		r.stream(0).respond(40)
		r.send(load{id: 6})
		r.send(load{id: 7, cut: true})
		r.send(load{id: 8})
		require.Equal(t, []string{"to 40: 1 2 3 4", "to 60: 5 6", "to 61: 7"}, frames(r.stream(0)),
			"5 and 6 wait for frames that have ended")
		r.send(load{id: 9})
		require.Equal(t, "to 90: 7 8 9", frames(r.stream(0))[3])
		r.stream(0).ackAll()
		r.stop()
	})
	bubble(t, "nobody left to join either of two", func(t *testing.T, r *rig) {
		r.config.Streams = 2
		r.config.Senders = 3
		r.config.FlushInterval = time.Hour
		r.start()
		time.Sleep(openStagger)
		r.send(load{id: 1})
		r.send(load{id: 2})
		r.send(load{id: 3, slow: time.Second})
		require.Empty(t, append(frames(r.stream(0)), frames(r.stream(1))...))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"to 20: 1 3"}, frames(r.stream(0)))
		require.Equal(t, []string{"to 10: 2"}, frames(r.stream(1)))
		r.stream(0).ackAll()
		r.stream(1).ackAll()
		r.stop()
	})
}

func TestSessionAcks(t *testing.T) {
	bubble(t, "coalesced, doubled, backwards", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a, b, c := r.send(load{}), r.send(load{}), r.send(load{})
		s := r.stream(0)
		s.respond(9)
		a.waits()
		s.respond(20)
		a.ok()
		b.ok()
		s.respond(3)
		s.respond(20)
		c.waits()
		s.respond(30)
		c.ok()
		require.EqualValues(t, 3, r.session.Stats().Acknowledged)
		r.stop()
	})
	bubble(t, "inside of a batch that is being encoded", func(t *testing.T, r *rig) {
		r.start()
		r.onOpenLast(func(s *fakeStream, f frame) { s.respond(f.last) })
		a := r.send(load{cut: true})
		a.waits()
		time.Sleep(r.config.FlushInterval)
		a.ok()
		r.stop()
	})
	bubble(t, "of all that a batch is, before it is encoded", func(t *testing.T, r *rig) {
		r.start()
		r.onOpenLast(func(s *fakeStream, f frame) { s.respond(f.last) })
		r.send(load{records: 1, cut: true}).ok()
		r.stop()
	})
	bubble(t, "of batches without records", func(t *testing.T, r *rig) {
		r.start()
		a := r.send(load{})
		r.send(load{id: -1}).ok()
		a.waits()
		r.stop()
		a.unsent(KindClosed)
	})
}

// onOpenLast sets the function that is called for each frame of the stream that was opened last.
func (r *rig) onOpenLast(f func(s *fakeStream, f frame)) {
	list := r.streamList()
	s := list[len(list)-1]
	s.tell(func(x frame) { f(s, x) })
}

func TestSessionRejections(t *testing.T) {
	// The arguments of f are the responses of the server, and the bad records that the session reports
	// for each batch of 10 records.
	type told struct {
		ranges  []IDRange
		records uint64
	}
	f := func(responses []Response, wants ...told) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.config.FlushInterval = -1
			r.start()
			var calls []*call
			for range wants {
				calls = append(calls, r.send(load{}))
			}
			for _, x := range responses {
				r.stream(0).respond(x.Acked, x.Rejected...)
			}
			var sum uint64
			for i, want := range wants {
				sum += want.records
				if want.records == 0 {
					calls[i].ok()
					continue
				}
				require.True(t, calls[i].returned())
				var e *RejectedError
				require.ErrorAs(t, calls[i].err, &e, "batch %d", i)
				require.Equal(t, want.ranges, e.Ranges)
				require.Equal(t, want.records, e.Records)
				require.Contains(t, e.Error(), "rejected")
			}
			require.Equal(t, sum, r.session.Stats().RejectedRecords)
			r.stop()
		})
	}
	ids := func(list ...uint64) (ranges []IDRange) {
		for i := 0; i < len(list); i += 2 {
			ranges = append(ranges, IDRange{From: list[i], To: list[i+1]})
		}
		return ranges
	}
	none := told{}

	f([]Response{{Acked: 20, Rejected: ids(11, 13)}}, none, told{ids(1, 3), 3})
	f([]Response{{Acked: 20, Rejected: ids(8, 12)}}, told{ids(8, 10), 3}, told{ids(1, 2), 2})
	f([]Response{{Acked: 30, Rejected: ids(29, 30, 2, 2, 4, 5, 5, 7)}}, told{ids(2, 2, 4, 7), 5}, none, told{ids(9, 10), 2})
	f([]Response{{Acked: 0, Rejected: ids(5, 6)}, {Acked: 0, Rejected: ids(12, 12)}, {Acked: 20, Rejected: nil}}, told{ids(5, 6), 2}, told{ids(2, 2), 1})
	f([]Response{{Acked: 10, Rejected: nil}, {Acked: 20, Rejected: ids(10, 12)}}, none, told{ids(1, 2), 2}) // like some servers, rejects an acknowledged id
	f([]Response{{Acked: 0, Rejected: ids(1, 10)}, {Acked: 20, Rejected: nil}}, told{ids(1, 10), 10}, none)
	f([]Response{{Acked: 4, Rejected: ids(5, 20)}}, told{ids(5, 10), 6}, told{ids(1, 10), 10}) // both batches are answered in full
	f([]Response{{Acked: 10, Rejected: ids(7, 3, 0, 0)}}, none)
	f([]Response{{Acked: 10, Rejected: ids(0, 1)}}, told{ids(1, 1), 1})
}

func TestSessionBounds(t *testing.T) {
	bubble(t, "batches", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBatches = 3
		r.start()
		var calls []*call
		for id := range 5 {
			calls = append(calls, r.send(load{id: id}))
		}
		state := r.session.Stats()
		require.Equal(t, 3, state.UnackedBatches)
		require.Equal(t, 2, state.Waiting)
		r.stream(0).respond(10)
		state = r.session.Stats()
		require.Equal(t, 3, state.UnackedBatches)
		require.Equal(t, 1, state.Waiting)
		time.Sleep(r.config.FlushInterval)
		r.stream(0).respond(40)
		time.Sleep(r.config.FlushInterval)
		synctest.Wait()
		r.stream(0).ackAll()
		for _, c := range calls {
			c.ok()
		}
		r.stop()
	})
	bubble(t, "bytes", func(t *testing.T, r *rig) {
		r.config.MaxUnackedBytes = 250
		r.start()
		a := r.send(load{bytes: 249})
		b := r.send(load{bytes: 1000}) // one batch may exceed the bound
		c := r.send(load{bytes: 1})
		require.Equal(t, 1, r.session.Stats().Waiting)
		require.EqualValues(t, 1249, r.session.Stats().UnackedBytes)
		r.stream(0).respond(10)
		require.Equal(t, 1, r.session.Stats().Waiting)
		r.stream(0).respond(20)
		require.Zero(t, r.session.Stats().Waiting)
		time.Sleep(r.config.FlushInterval)
		synctest.Wait()
		r.stream(0).ackAll()
		a.ok()
		b.ok()
		c.ok()
		r.stop()
	})
}

func TestSessionBatchError(t *testing.T) {
	bubble(t, "leaves the stream usable", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		poison := errors.New("poison")
		a := r.send(load{})
		b := r.send(load{err: &BatchError{Err: poison}})
		require.True(t, b.returned())
		var e *BatchError
		require.ErrorAs(t, b.err, &e)
		require.ErrorIs(t, b.err, poison)
		// Records that were written before the error also have ids.
		c := r.send(load{err: &BatchError{Err: poison}, written: 4})
		require.True(t, c.returned())
		d := r.send(load{})
		r.stream(0).respond(24, IDRange{From: 15, To: 15})
		a.ok()
		var rejected *RejectedError
		require.True(t, d.returned())
		require.ErrorAs(t, d.err, &rejected)
		require.Equal(t, []IDRange{{From: 1, To: 1}}, rejected.Ranges)
		require.EqualValues(t, 2, r.session.Stats().BatchErrors)
		require.EqualValues(t, 1, r.session.Stats().Opened)
		r.stop()
	})
}

// itemErrors is the error of a batch writer that omitted items of a batch and wrote all other items,
// such as stefpdata.ItemErrors. Its value is the number of omitted items.
type itemErrors int

func (e itemErrors) Error() string { return fmt.Sprint(int(e), " items were not written") }

func (e itemErrors) Items() int { return int(e) }

// itemList is a list of errors, like stefpdata.ItemErrors.
type itemList []error

func (e itemList) Error() string { return fmt.Sprint(len(e), " items were not written") }

func (e itemList) Items() int { return len(e) }

func TestSessionItemsLeftOut(t *testing.T) {
	bubble(t, "the others are delivered", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		left := fmt.Errorf("encoding: %w", itemErrors(3))
		a := r.send(load{err: left, written: 4})
		b := r.send(load{err: left, written: 2})
		none := r.send(load{err: left})
		require.True(t, none.returned(), "nothing to wait for")
		var e *BatchError
		require.ErrorAs(t, none.err, &e)
		require.False(t, e.Delivered)
		require.ErrorIs(t, none.err, itemErrors(3))
		require.False(t, a.returned())
		r.stream(0).respond(6, IDRange{From: 5, To: 5})
		require.True(t, a.returned())
		require.ErrorIs(t, a.err, itemErrors(3))
		require.ErrorAs(t, a.err, &e)
		require.True(t, e.Delivered)
		require.True(t, b.returned())
		require.ErrorIs(t, b.err, itemErrors(3))
		var rejected *RejectedError
		require.ErrorAs(t, b.err, &rejected)
		require.Equal(t, []IDRange{{From: 1, To: 1}}, rejected.Ranges)
		r.send(load{err: errors.Join(left, &BatchError{Err: io.EOF}), written: 1})
		stats := r.session.Stats()
		require.EqualValues(t, 2, stats.BatchErrors)
		require.EqualValues(t, 1, stats.Acknowledged)
		require.EqualValues(t, 1, stats.Rejected)
		require.EqualValues(t, 1, stats.Opened, "the stream remains usable")
		r.stop()
	})
	bubble(t, "an empty list of errors is no error", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a, empty := r.send(load{err: itemList(nil), written: 4}), r.send(load{err: itemList(nil)})
		require.False(t, a.returned())
		r.stream(0).respond(4)
		a.ok()
		empty.ok()
		require.Zero(t, r.session.Stats().BatchErrors)

		damaged := r.send(load{err: itemErrors(0)}) // the items could not be counted
		require.True(t, damaged.returned())
		require.ErrorIs(t, damaged.err, itemErrors(0))
		r.stop()
	})
	bubble(t, "the others are handed back", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{err: itemErrors(1), written: 4})
		require.False(t, a.returned())
		r.stop()
		require.True(t, a.returned())
		var unsent *UnsentError
		require.ErrorAs(t, a.err, &unsent)
		require.Equal(t, itemErrors(1), unsent.LeftOut, "positions do not count it")
	})
}

// A batch writer may return a BatchError with Delivered set. This says only that it wrote the items
// that the error does not name. Send still waits until these items are acknowledged.
func TestSessionWriterClaimsDelivery(t *testing.T) {
	bubble(t, "the stream is lost", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{err: &BatchError{Err: itemErrors(1), Delivered: true}, written: 4})
		require.False(t, a.returned(), "nothing is acknowledged")
		r.stream(0).end(unavailable())
		e := a.unsent(KindUnavailable)
		require.Equal(t, itemErrors(1), e.LeftOut)
		require.Zero(t, r.session.Stats().BatchErrors)
		r.stop()
	})
	bubble(t, "the others are answered", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{err: &BatchError{Err: itemErrors(1), Delivered: true}, written: 4})
		b := r.send(load{err: fmt.Errorf("encoding: %w", &BatchError{Delivered: true}), written: 1})
		none := r.send(load{err: &BatchError{Err: itemErrors(1), Delivered: true}})
		var e *BatchError
		require.True(t, none.returned())
		require.ErrorAs(t, none.err, &e)
		require.False(t, e.Delivered, "no item was written")
		r.stream(0).respond(5, IDRange{From: 2, To: 2})
		require.True(t, a.returned())
		require.ErrorAs(t, a.err, &e)
		require.True(t, e.Delivered)
		var rejected *RejectedError
		require.ErrorAs(t, a.err, &rejected)
		require.Equal(t, []IDRange{{From: 2, To: 2}}, rejected.Ranges)
		require.True(t, b.returned())
		require.ErrorAs(t, b.err, &e)
		require.True(t, e.Delivered)
		r.stop()
	})
	bubble(t, "the write failed", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		lost := errorf(KindUnavailable, "the connection was lost")
		a := r.send(load{err: &BatchError{Err: lost, Delivered: true}, written: 4})
		r.stream(0).end(lost)
		time.Sleep(time.Second)
		require.False(t, a.returned(), "it was not sent, so the next stream has it")
		require.EqualValues(t, 1, r.session.Stats().Redispatched)
		r.stop()
		require.True(t, a.returned())
	})
}

func TestSessionEncoderFails(t *testing.T) {
	bubble(t, "in a batch", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{id: 1})
		r.config.FlushInterval = -1
		b := r.send(load{id: 2, err: errors.New("out of its mind")})
		e := b.unsent(KindUnknown)
		require.False(t, e.Cause.Retryable())
		require.False(t, e.MaybeDelivered)
		a.waits() // the batch can still be acknowledged
		require.True(t, r.stream(0).halfClosed())
		time.Sleep(time.Second)
		require.Len(t, r.streamList(), 2)
		r.stream(0).ackAll()
		a.ok()
		c := r.send(load{id: 3})
		r.stream(1).ackAll()
		c.ok()
		r.stop()
		require.EqualValues(t, 1, r.session.Stats().Closed[CloseEncoder])
	})
	bubble(t, "at a flush", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).writer.flushed = errors.New("out of its mind")
		a := r.send(load{id: 1})
		time.Sleep(time.Second)
		a.waits() // the batch was never sent, so it moves to the next stream
		require.Equal(t, []string{"to 10: 1"}, frames(r.stream(1)))
		r.stream(1).ackAll()
		a.ok()
		require.EqualValues(t, 1, r.session.Stats().Redispatched)
		r.stop()
	})
	bubble(t, "to count", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{id: 1})
		b := r.send(load{id: 2, last: 3, cut: true})
		e := b.unsent(KindUnknown)
		require.True(t, e.MaybeDelivered, "its first frame was sent")
		require.ErrorContains(t, e, "decreased from 10 to 3")
		r.stream(0).ackAll()
		a.ok()
		r.stop()
	})
	bubble(t, "to count over the stream", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{id: 1})
		b := r.send(load{id: 2, records: 3, last: 10})
		require.ErrorContains(t, b.unsent(KindUnknown), "WriteBatch wrote records but returned 10, the id of the last record before them")
		r.stream(0).ackAll()
		a.ok()
		r.stop()
	})
}

// If WriteBatch returns the id of a record that it did not write, Send returns an error and does not
// wait for an acknowledgement.
func TestSessionIDTooGreat(t *testing.T) {
	for _, acked := range []uint64{0, 3} {
		bubble(t, fmt.Sprint(acked, " acknowledged"), func(t *testing.T, r *rig) {
			r.config.FlushInterval = -1
			r.start()
			a := r.send(load{id: 1, records: 3, last: 8})
			r.stream(0).respond(acked)
			if acked < 3 {
				r.stream(0).end(errorf(KindCanceled, "closed"))
			}
			e := a.unsent(KindUnknown)
			require.ErrorContains(t, e, "WriteBatch returned 8, but Flush sent only the records up to 3")
			require.Equal(t, acked, e.Acknowledged)
			require.True(t, e.MaybeDelivered)
			time.Sleep(time.Second) // until the next stream is open
			b := r.send(load{id: 2})
			r.stream(1).ackAll()
			b.ok()
			r.stop()
		})
	}
}

func TestSessionCallerGivesUp(t *testing.T) {
	canceled := func(t *testing.T, c *call, maybe bool) {
		t.Helper()
		c.cancel()
		e := c.unsent(KindCanceled)
		require.ErrorIs(t, e, context.Canceled)
		require.Equal(t, maybe, e.MaybeDelivered)
	}
	bubble(t, "before", func(t *testing.T, r *rig) {
		r.start()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.session.Send(ctx, load{}), context.Canceled)
		require.EqualValues(t, 1, r.session.Stats().HandedBack)
		r.stop()
	})
	bubble(t, "in the queue", func(t *testing.T, r *rig) {
		r.onOpen = func(ctx context.Context, _ int, _ *fakeStream) error { <-ctx.Done(); return ctx.Err() }
		r.start()
		a, b, c := r.send(load{}), r.send(load{}), r.send(load{})
		canceled(t, b, false)
		require.Equal(t, 2, r.session.Stats().Waiting)
		r.stop()
		a.unsent(KindClosed)
		c.unsent(KindClosed)
	})
	bubble(t, "in the inbox and in the encoder", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{id: 1, slow: time.Second})
		b := r.send(load{id: 2})
		c := r.send(load{id: 3})
		canceled(t, b, false)
		a.cancel()
		a.waits() // the writer still reads the batch
		time.Sleep(time.Second)
		canceled(t, a, true)
		require.Equal(t, []string{"to 20: 1 3"}, frames(r.stream(0)))
		r.stream(0).ackAll()
		c.ok()
		state := r.session.Stats()
		require.EqualValues(t, 2, state.HandedBack)
		require.EqualValues(t, 1, state.Acknowledged)
		require.Zero(t, state.UnackedBatches)
		r.stop()
	})
	// Regression test: acknowledged batches whose callers had given up blocked the results of
	// batches whose callers still waited.
	bubble(t, "encoded, many of them", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		for range 10 {
			canceled(t, r.send(load{}), true)
		}
		a := r.send(load{})
		require.Equal(t, 11, r.session.Stats().UnackedBatches)
		r.stream(0).ackAll()
		a.ok()
		require.Zero(t, r.session.Stats().UnackedBatches)
		require.EqualValues(t, 10, r.session.Stats().HandedBack)
		r.stop()
	})
	bubble(t, "while the network does not take its batch", func(t *testing.T, r *rig) {
		r.start()
		r.stream(0).block()
		a := r.send(load{cut: true})
		a.cancel()
		a.waits()
		time.Sleep(r.config.AckTimeout)
		e := a.unsent(KindCanceled)
		require.ErrorIs(t, e, context.Canceled)
		r.stop()
	})
	bubble(t, "by its deadline", func(t *testing.T, r *rig) {
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := r.session.Send(ctx, load{records: 1, bytes: 1})
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var e *UnsentError
		require.ErrorAs(t, err, &e)
		require.True(t, e.Cause.Retryable())
		require.Contains(t, e.Error(), "sent, none of 1 record acknowledged")
		r.stop()
	})
	bubble(t, "acknowledged in part", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		a := r.send(load{records: 5})
		r.stream(0).respond(2)
		a.cancel()
		e := a.unsent(KindCanceled)
		require.EqualValues(t, 2, e.Acknowledged)
		require.EqualError(t, e, "stefgrpc: batch handed back (sent, 2 of 5 records acknowledged): stefgrpc: canceled: context canceled")
		r.stop()
	})
	bubble(t, "after another stream may have sent it", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.onOpen = func(ctx context.Context, n int, _ *fakeStream) error {
			if n > 0 {
				return unavailable()
			}
			return nil
		}
		r.start()
		a := r.send(load{})
		r.stream(0).end(errorf(KindClosed, "the server restarts"))
		time.Sleep(time.Second)
		a.waits()
		a.cancel()
		e := a.unsent(KindCanceled)
		require.True(t, e.MaybeDelivered)
		require.Contains(t, e.Error(), "(sent, not acknowledged)", "the count is not known any more")
		r.stop()
	})
}

// TestSessionLateRejection: if a destination acknowledges records and rejects them
// later, after Send has returned nil, these records are lost. The session counts
// each of these records once.
func TestSessionLateRejection(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *rig) {
		r.config.FlushInterval = -1
		r.start()
		first, second := r.send(load{}), r.send(load{}) // records 1 to 10 and 11 to 20
		r.stream(0).respond(15)
		first.ok()
		r.stream(0).respond(15, IDRange{From: 3, To: 5})   // first has returned nil
		r.stream(0).respond(15, IDRange{From: 12, To: 13}) // second still waits and receives them
		r.stream(0).respond(20, IDRange{From: 10, To: 10}, IDRange{From: 18, To: 18})
		require.True(t, second.returned())
		var bad *RejectedError
		require.ErrorAs(t, second.err, &bad)
		require.Equal(t, []IDRange{{From: 2, To: 3}, {From: 8, To: 8}}, bad.Ranges)
		state := r.session.Stats()
		require.EqualValues(t, 4, state.LateRejectedRecords)
		require.EqualValues(t, 3, state.RejectedRecords)
		var late []uint64
		for _, e := range r.eventList() {
			if e.kind == eventLateRejection {
				late = append(late, e.records)
			}
		}
		require.Equal(t, []uint64{3, 1}, late)
		r.stop()
	})
}

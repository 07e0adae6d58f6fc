// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"slices"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// This file is the session as seen with its lock held: which stream gets which
// batch, and how batches end. Nothing here blocks.

// settlement is a result to be told, or an event, once the lock is released.
type settlement[B any] struct {
	job   *job[B] // nil: an event only
	err   error
	event event
}

// outbox collects what has happened while the lock is held. The room in it
// keeps the usual case off the heap.
type outbox[B any] struct {
	room [2]settlement[B]
	used int
	more []settlement[B]
}

func (o *outbox[B]) add(x settlement[B]) {
	if o.used < len(o.room) {
		o.room[o.used] = x
		o.used++
		return
	}
	o.more = append(o.more, x)
}

// note adds an event.
func (o *outbox[B]) note(s *Session[B], slot int, e event) {
	e.stream = slot
	o.add(settlement[B]{event: e})
}

// deliver tells it all, events first: who has a result finds them counted.
func (o *outbox[B]) deliver(s *Session[B]) {
	for i := range o.used {
		o.room[i].tell(s)
	}
	for i := range o.more {
		o.more[i].tell(s)
	}
}

func (x *settlement[B]) tell(s *Session[B]) {
	s.config.Events.call(&x.event)
	if x.job != nil {
		x.job.result <- x.err
	}
}

// fill gives waiting batches to streams. It is called after every change.
func (s *Session[B]) fill(out *outbox[B]) {
	for s.queue.len > 0 {
		l := s.best()
		if l == nil {
			break
		}
		j := s.queue.head
		s.queue.remove(j)
		s.turn++
		l.inbox, l.turn = j, s.turn
		j.lane, j.place = l, inInbox
		signal(l.wake)
	}
	if cause := s.hopeless(); cause != nil {
		for s.queue.len > 0 {
			j := s.queue.head
			s.queue.remove(j)
			s.handBack(j, nil, &UnsentError{Cause: cause, MaybeDelivered: j.sent}, out)
		}
	}
	if s.closing && s.queue.len == 0 {
		for _, l := range s.lanes {
			if l.inbox == nil { // else its owner comes by here soon
				l.retire(CloseShutdown, out)
			}
		}
	}
}

// best returns the stream to give the next batch to: of those that are ready
// the one with the fewest unacknowledged bytes, then batches, then the one that
// was given its last batch the longest ago. nil is none.
func (s *Session[B]) best() *lane[B] {
	var best *lane[B]
	for _, l := range s.lanes {
		if !l.ready() {
			continue
		}
		switch {
		case best == nil, l.bytes < best.bytes:
		case l.bytes > best.bytes:
			continue
		case l.pending.len > best.pending.len:
			continue
		case l.pending.len == best.pending.len && l.turn >= best.turn:
			continue
		}
		best = l
	}
	return best
}

// hopeless returns why batches are not to wait for a stream, nil if they are.
func (s *Session[B]) hopeless() *Error {
	switch {
	case s.closing && s.live == 0:
		return shutDown()
	case s.live == 0:
		return s.refused
	}
	return nil
}

// settle decides how a batch ends.
func (s *Session[B]) settle(j *job[B], l *lane[B], err error, e event, out *outbox[B]) {
	j.settled = true
	var none B
	j.batch = none
	if e.stream = -1; l != nil {
		e.stream = l.slot
	}
	switch e.kind {
	case eventAcknowledged:
		s.counters.Acknowledged++
	case eventRejected:
		s.counters.Rejected++
		s.counters.RejectedRecords += e.records
	case eventBatchError:
		s.counters.BatchErrors++
	case eventHandedBack:
		s.counters.HandedBack++
	}
	out.add(settlement[B]{job: j, err: err, event: e})
}

func (s *Session[B]) handBack(j *job[B], l *lane[B], err *UnsentError, out *outbox[B]) {
	s.settle(j, l, err, event{kind: eventHandedBack, err: err}, out)
}

// takeBack hands back a batch that a stream has or had, with what is known of
// its records: the caller must not send again what was reported bad.
func (s *Session[B]) takeBack(j *job[B], l *lane[B], cause *Error, maybe bool, out *outbox[B]) {
	a := l.stream.answer(j.first, j.last)
	if a.Whole {
		s.acknowledge(j, l, a, out)
		return
	}
	s.handBack(j, l, &UnsentError{
		Cause:          cause,
		MaybeDelivered: maybe,
		Acknowledged:   a.Acknowledged,
		Rejected:       a.Rejected,
	}, out)
}

// acknowledge settles a batch of which every record is answered.
func (s *Session[B]) acknowledge(j *job[B], l *lane[B], a ledger.Answer, out *outbox[B]) {
	e := event{kind: eventAcknowledged, bytes: j.bytes, duration: time.Since(j.since)}
	if j.last != 0 {
		e.records = j.last - j.first + 1
	}
	if a.Bad == 0 {
		s.settle(j, l, nil, e, out)
		return
	}
	err := &RejectedError{Ranges: a.Rejected, Records: a.Bad}
	e.kind, e.records, e.err = eventRejected, a.Bad, err
	s.settle(j, l, err, e, out)
}

// requeue puts a batch that was taken from a stream before all others.
func (s *Session[B]) requeue(j *job[B]) {
	j.place, j.lane = inQueue, nil
	j.first, j.last, j.bytes = 0, 0, 0
	s.queue.pushFront(j)
}

// orphan decides about a batch that its stream, which has ended, still owes.
func (s *Session[B]) orphan(l *lane[B], j *job[B], out *outbox[B]) {
	if j.settled {
		return
	}
	a := l.stream.answer(j.first, j.last)
	sent := j.first <= l.endSent
	again := (l.inOrder || !sent) && a.Acknowledged == 0 && a.Bad == 0 && j.moves < s.config.Streams
	if again && j.ctx.Err() == nil && s.hopeless() == nil {
		j.moves++
		j.sent = j.sent || sent
		s.counters.Redispatched++
		out.note(s, l.slot, event{kind: eventRedispatched, bytes: j.bytes})
		s.requeue(j)
		return
	}
	cause := l.endCause
	if err := j.ctx.Err(); err != nil {
		cause = gaveUp(j.ctx)
	}
	s.takeBack(j, l, cause, sent || j.sent, out)
}

// ended settles what a stream still owes.
func (s *Session[B]) ended(l *lane[B], cause *Error, sent uint64, out *outbox[B]) {
	drained := l.state == laneDraining && !l.failed
	if l.state == laneLive {
		s.live--
	}
	l.state, l.endSent = laneEnded, sent
	s.lanes = slices.DeleteFunc(s.lanes, func(x *lane[B]) bool { return x == l })

	l.inOrder = endedInOrder(cause)
	found := l.failed && cause == nil && endedInOrder(l.fault) // by a write, and it was no fault
	if !found && l.fault != nil && (cause == nil || cause.Kind == KindCanceled) {
		// The end was this end's doing, for a reason of its own.
		cause, l.inOrder = l.fault, false
	}
	if cause == nil {
		cause = errorf(KindClosed, "the stream has ended without acknowledging all it was sent")
	}
	if l.reason == 0 {
		if l.reason = CloseLost; l.inOrder {
			l.reason = CloseByServer
		}
	}
	l.endCause = cause
	if drained && (cause.Kind == KindUnavailable || cause.Kind == KindCanceled) {
		l.inOrder = true
	}
	s.settleOwed(l, out)

	s.counters.Closed[l.reason]++
	e := event{kind: eventClosed, reason: l.reason, duration: time.Since(l.opened)}
	if !l.inOrder {
		e.err, s.lastErr = cause, cause
	}
	out.note(s, l.slot, e)
	l.letGo()
	signal(l.wake)
}

// settleOwed goes from the youngest batch to the oldest, so that those that go
// back to the queue stay in order.
func (s *Session[B]) settleOwed(l *lane[B], out *outbox[B]) {
	if j := l.inbox; j != nil {
		l.inbox = nil
		s.requeue(j)
	}
	for j := l.pending.tail; j != nil; {
		prev := j.prev
		if j.place != inEncoder {
			l.pending.remove(j)
			s.orphan(l, j, out)
		}
		j = prev
	}
	l.bytes = 0
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Answered processes the server's report about the records of a stream.
func (m *Machine) Answered(s *Stream, news ledger.News, now time.Time, out *Decisions) {
	if s.state == Ended {
		return
	}
	if news.Progress {
		s.answered = now
	}
	if news.Late > 0 {
		m.counts.LateRecords += news.Late
		out.add(Decision{Kind: Late, Stream: s, Records: news.Late})
	}
	m.resolve(s, now, out)
	m.fill(now, out)
}

// resolve settles the batches that are answered, in order.
func (m *Machine) resolve(s *Stream, now time.Time, out *Decisions) {
	before, through := s.settled, s.answers.AnsweredUpTo()
	for b := s.pending.head; b != nil && b.last != 0 && b.last <= through; b = s.pending.head {
		s.drop(b)
		s.settled = b.last
		// Settle counts the rejections and settles in one call. If these were two calls, the
		// receiving goroutine could record a rejection between them, and nobody would count it.
		if a := s.answers.Settle(b.first, b.last); !b.settled {
			m.deliver(b, s, a, now, out)
		}
		s.idleFrom = now
	}
	if s.settled > before {
		m.notRefused()
	}
	if s.pending.len > 0 {
		return
	}
	// Wake the watcher: it saw an unanswered batch, so it may sleep for AckTimeout, which is longer
	// than IdleTimeout.
	endsIdle := s.state == Live && s.settled > before && m.config.IdleTimeout >= 0 && m.config.IdleTimeout < m.config.AckTimeout
	if s.state == IsDraining || endsIdle {
		out.add(Decision{Kind: WakeWatcher, Stream: s})
	}
}

// Overdue returns how long the watcher of a stream may sleep. If the result is 0
// or less, the stream must be closed.
func (m *Machine) Overdue(s *Stream, now time.Time, out *Decisions) time.Duration {
	c := &m.config
	// The sender has taken no batch since s.asked. If nothing is pending, everything that was
	// sent is answered, so the sender itself is blocked. The batch in the inbox does not matter:
	// its caller may have given up.
	waits := s.asked
	if s.pending.head != nil {
		waits = s.pending.head.since
	}
	switch {
	case !waits.IsZero() && !s.failed:
		if s.answered.After(waits) {
			waits = s.answered // the stream is slow, but makes progress
		}
		if last := s.pending.tail; last != nil && last.gaveUp && last.place == inEncoder && last.since.Before(waits) {
			waits = last.since // the encoder is blocked: the end of the stream unblocks it
		}
		wait := c.AckTimeout - now.Sub(waits)
		if wait <= 0 && s.fault == nil {
			s.reason = CloseAckTimeout
			s.fault = &Fault{Class: AckTimeout}
		}
		return wait
	case s.state == IsDraining:
		return c.DrainTimeout - now.Sub(s.idleFrom)
	case s.state == Live && c.IdleTimeout >= 0:
		return min(c.AckTimeout, m.idleFor(s, now, out))
	}
	return c.AckTimeout
}

// idleFor retires a stream that was idle for IdleTimeout. It returns the time until the
// stream must be checked again: the rest of IdleTimeout, or DrainTimeout if the stream
// was retired.
func (m *Machine) idleFor(s *Stream, now time.Time, out *Decisions) time.Duration {
	if wait := m.config.IdleTimeout - s.idleTime(now); wait > 0 {
		return wait
	}
	m.retire(s, CloseIdle, now, out)
	return m.config.DrainTimeout
}

// idleTime returns how long a stream without unanswered batches has been unused.
func (s *Stream) idleTime(now time.Time) time.Duration {
	if s.idleFrom.After(s.opened) {
		return now.Sub(s.idleFrom)
	}
	return now.Sub(s.opened)
}

// serverIdle is a time. If a stream that was idle for this time ends gracefully with OK, the
// machine assumes that idleness was the reason. Servers also end streams with OK at their maximum
// age.
const serverIdle = 5 * time.Second

// wasIdle reports whether idleness is the likely reason why the server ended a stream
// gracefully: the idle timeout of the server can be shorter than the IdleTimeout of the session.
// ok reports that the status was OK, which a server that shuts down does not send. If ok is true
// and the stream never had a batch, the stream counts as idle after any time. Otherwise, the
// session would open streams without data again and again.
func (m *Machine) wasIdle(s *Stream, ok bool, now time.Time) bool {
	enough := m.config.IdleTimeout / 2
	switch {
	case ok && s.turn == 0:
		enough = 0
	case ok:
		enough = min(enough, serverIdle)
	}
	return m.config.IdleTimeout >= 0 && s.inbox == nil && s.pending.head == nil && s.idleTime(now) >= enough
}

// Over describes the end of a stream, as the caller of the Machine observed it.
type Over struct {
	Cause  *Fault // nil: the stream ended gracefully, and all records are acknowledged
	SentTo uint64 // the id of the last record that may have been sent
	// TooLarge has the records of a chunk if the stream ended because a message of this chunk is too
	// large for gRPC of either end. Otherwise it is zero.
	TooLarge wire.IDRange
}

// Ended processes the end of a stream: it settles or requeues the unanswered batches.
func (m *Machine) Ended(s *Stream, end Over, now time.Time, out *Decisions) {
	cause := end.Cause
	drained := s.state == IsDraining && !s.failed
	if s.state == Live {
		m.live--
	}
	s.state, s.sentTo = Ended, end.SentTo
	m.streams = slices.DeleteFunc(m.streams, func(x *Stream) bool { return x == s })

	s.inOrder = orderly(cause)
	found := cause == nil && orderly(s.fault) // a write found the end, and the end is not a fault
	if !found && s.fault != nil && (cause == nil || cause.Class == Canceled) {
		// This side ended the stream, and s.fault is the reason.
		cause, s.inOrder = s.fault, false
	}
	switch {
	case cause != nil:
	case s.broken != nil:
		cause = &Fault{Class: EncoderFailed, Err: s.broken.Err}
	default:
		cause = &Fault{Class: Unanswered}
	}
	if s.reason == 0 {
		if s.reason = CloseLost; s.inOrder {
			s.reason = CloseByServer
		}
		if s.inOrder && m.wasIdle(s, end.Cause == nil && s.fault == nil, now) {
			s.reason = CloseIdle // the server noticed first that the stream was idle
		}
	}
	s.empty = cause.Class == Refused && end.SentTo == 0 && s.reason == CloseLost // CloseLost: this side did not end the stream
	switch deliberate := cause.Class == Refused && cause.Deliberate; {
	case !deliberate:
		m.notRefused()
	case s.empty:
		m.refusedEmpty(cause, now)
	}
	s.end = cause
	switch h, next := s.pending.head, s.answers.AnsweredUpTo()+1; {
	case cause.Class != Refused || h == nil:
	case end.TooLarge != wire.IDRange{}:
		// gRPC refuses a message that is too large before the server has answered earlier batches.
		// The machine blames the largest batch of the chunk, or the batch whose encoding sent the
		// chunk (last is 0).
		for b := h; b != nil && b.first <= end.TooLarge.To; b = b.next {
			if b.last == 0 || b.last >= end.TooLarge.From && (s.blamed == nil || b.bytes > s.blamed.bytes) {
				s.blamed = b
			}
		}
	case h.first <= next && next <= end.SentTo:
		// Servers read batches in order and acknowledge the accepted batches. So the machine
		// assumes that the server refused the first unanswered batch. If a server refuses a
		// whole frame or message, a later batch may be the bad batch. The callers send the later
		// batches again, until the bad batch is the first unanswered batch of its stream. No batch
		// is blamed in two cases: the first unanswered record was not sent (other records of its
		// batch may have been sent), or this record belongs to a batch that could not be encoded.
		s.blamed = h
	}
	if drained && s.reason != CloseAckTimeout && (cause.Class == Unavailable || cause.Class == AckTimeout || cause.Class == Canceled) {
		s.inOrder = true
	}
	m.settleOwed(s, now, out)

	m.counts.Closed[s.reason]++
	d := Decision{Kind: Closed, Stream: s, Reason: s.reason, Latency: now.Sub(s.opened)}
	d.Fault = s.broken
	if !s.inOrder {
		d.Fault = cause
	}
	out.add(d)
	m.replace(s, out)
	out.add(Decision{Kind: WakeSender, Stream: s})
	m.fill(now, out)
}

func orderly(f *Fault) bool { return f == nil || f.Class == Orderly }

// settleOwed settles or requeues the batches of an ended stream. It processes the newest
// batch first, so that requeued batches keep their order.
func (m *Machine) settleOwed(s *Stream, now time.Time, out *Decisions) {
	if b := s.inbox; b != nil {
		s.inbox = nil
		m.requeue(b)
	}
	for b := s.pending.tail; b != nil; {
		prev := b.prev
		if b.place != inEncoder {
			s.pending.remove(b)
			m.reassign(s, b, now, out)
		}
		b = prev
	}
	s.bytes = 0
}

// Outcome describes how a stream ended, for the code that opens the next stream.
type Outcome struct {
	Cause   *Fault
	InOrder bool
	Worked  bool // some batches of the stream were settled
	Idle    bool // the stream was closed because nothing was sent
}

// Outcome returns how a stream ended.
func (s *Stream) Outcome() Outcome {
	return Outcome{Cause: s.end, InOrder: s.inOrder, Worked: s.settled > 0, Idle: s.reason == CloseIdle}
}

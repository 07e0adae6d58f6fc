// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// fill assigns waiting batches to streams. It is called after every change.
func (m *Machine) fill(now time.Time, out *Decisions) {
	for m.queue.len > 0 {
		s := m.best()
		if s == nil {
			break
		}
		b := m.queue.head
		m.queue.remove(b)
		m.turn++
		s.inbox, s.turn = b, m.turn
		b.stream, b.place = s, inInbox
		if s.asked.IsZero() {
			s.asked = now
		}
		out.add(Decision{Kind: WakeSender, Stream: s})
	}
	if m.queue.len > 0 && m.dormant && !m.closing {
		m.dormant, m.refused = false, nil // the server may accept a stream now, so batches wait for the attempt
		out.add(Decision{Kind: Open})
	}
	if cause := m.refusal(); cause != nil {
		for m.queue.len > 0 {
			b := m.queue.head
			m.queue.remove(b)
			m.handBack(b, cause, out)
		}
	}
	if m.closing && m.queue.len == 0 {
		for _, s := range m.streams {
			if s.inbox == nil { // if it is not nil, Take will empty the inbox and call fill
				m.retire(s, CloseShutdown, now, out)
			}
		}
	}
}

// best returns the stream for the next batch. Among the ready streams, it prefers
// the fewest unacknowledged bytes, then the fewest batches, then the stream whose
// last batch was assigned the longest ago. It returns nil if no stream is ready.
func (m *Machine) best() *Stream {
	var best *Stream
	for _, s := range m.streams {
		if !m.ready(s) {
			continue
		}
		switch {
		case best == nil, s.bytes < best.bytes:
		case s.bytes > best.bytes:
			continue
		case s.pending.len > best.pending.len:
			continue
		case s.pending.len == best.pending.len && s.turn >= best.turn:
			continue
		}
		best = s
	}
	return best
}

// ready reports whether a stream can accept a batch: it is live, below its bounds,
// and no batch waits in its inbox. If the sender of a stream waits for the
// network, its inbox stays full and it receives no further batches.
func (m *Machine) ready(s *Stream) bool {
	return s.state == Live && s.inbox == nil && m.hasRoom(s)
}

func (m *Machine) hasRoom(s *Stream) bool {
	c := &m.config
	return s.batches() < c.MaxUnackedBatches && (c.MaxUnackedBytes < 0 || s.bytes < c.MaxUnackedBytes)
}

// refusal returns why batches must not wait for a stream, or nil if they may wait.
func (m *Machine) refusal() *Fault {
	switch {
	case m.closing && m.live == 0:
		return &Fault{Class: ShutDown}
	case m.live == 0 && !m.dormant:
		return m.refused
	}
	return nil
}

func (m *Machine) end(b *Batch, d Decision, out *Decisions) {
	b.settled = true
	d.Batch = b
	switch {
	case d.Kind == Delivered && d.Answer.Bad == 0:
		m.counts.Acknowledged++
	case d.Kind == Delivered:
		m.counts.Rejected++
		m.counts.RejectedRecords += d.Answer.Bad
	case d.Kind == Unencodable:
		m.counts.Unencodable++
	case d.Kind == HandedBack:
		m.counts.HandedBack++
	}
	out.add(d)
}

func (m *Machine) handBack(b *Batch, cause *Fault, out *Decisions) {
	m.end(b, Decision{Kind: HandedBack, Fault: cause, Maybe: b.sent}, out)
}

// returnBatch returns a batch to its caller, with the answers about its records, because the
// caller must not send bad records again. s is the current or the last stream of the batch.
func (m *Machine) returnBatch(b *Batch, s *Stream, cause *Fault, maybe bool, now time.Time, out *Decisions) {
	a := s.answers.Answer(b.first, b.last)
	if a.Complete {
		m.deliver(b, s, a, now, out)
		return
	}
	m.end(b, Decision{Kind: HandedBack, Stream: s, Fault: cause, Maybe: maybe, Answer: a, Records: b.records()}, out)
}

// deliver settles a batch whose records are all answered.
func (m *Machine) deliver(b *Batch, s *Stream, a ledger.Answer, now time.Time, out *Decisions) {
	m.arrivals.answer(now)
	d := Decision{Kind: Delivered, Stream: s, Answer: a, Records: b.records(), Bytes: b.bytes, Latency: now.Sub(b.since)}
	m.end(b, d, out)
}

// requeue puts a batch that was taken from a stream at the front of the queue.
func (m *Machine) requeue(b *Batch) {
	b.place, b.stream = inQueue, nil
	b.first, b.last, b.bytes = 0, 0, 0
	m.queue.pushFront(b)
}

// reassign decides about an unanswered batch of a stream that has ended.
func (m *Machine) reassign(s *Stream, b *Batch, now time.Time, out *Decisions) {
	if b.settled {
		return
	}
	a := s.answers.Answer(b.first, b.last)
	sent := b.first <= s.sentTo
	again := (s.inOrder || !sent) && a.Acknowledged == 0 && a.Bad == 0 && b.moves < m.config.Streams && m.refusal() == nil
	if s.empty {
		again = true // the peer has received no batch; fill returns b if the peer refuses all streams
	}
	if again && !b.gaveUp {
		out.add(Decision{Kind: Redispatched, Stream: s, Bytes: b.bytes})
		b.moves++
		b.sent = b.sent || sent
		m.counts.Redispatched++
		m.requeue(b)
		return
	}
	cause := s.end
	switch {
	case b.gaveUp:
		cause = &Fault{Class: GaveUp}
	case cause.Class == Refused && s.blamed != b:
		cause = &Fault{Class: Bystander, Err: cause.Err, Blamed: s.blamed != nil}
	}
	m.returnBatch(b, s, cause, sent || b.sent, now, out)
}

// retire makes a live stream accept no more batches, and wait for outstanding
// answers.
func (m *Machine) retire(s *Stream, reason CloseReason, now time.Time, out *Decisions) {
	if s.state == Live {
		m.withdraw(s, now, out)
		s.reason = reason
		out.add(Decision{Kind: Draining, Stream: s, Reason: reason})
	}
}

func (m *Machine) withdraw(s *Stream, now time.Time, out *Decisions) {
	s.state, s.idleFrom, s.asked = IsDraining, now, time.Time{}
	m.live--
	if b := s.inbox; b != nil {
		s.inbox = nil
		m.requeue(b)
	}
	out.add(Decision{Kind: WakeSender, Stream: s})
	out.add(Decision{Kind: WakeWatcher, Stream: s})
}

// replaceStuck replaces the stream of a batch whose caller has given up, if AckTimeout will soon
// end this stream. Otherwise, later batches would be sent on this stream and, after its end, sent
// again.
func (m *Machine) replaceStuck(b *Batch, now time.Time, out *Decisions) {
	s := b.stream
	if s.state == Live && !s.answered.After(b.since) && now.Sub(b.since) >= m.config.AckTimeout*3/4 {
		m.retire(s, CloseAckTimeout, now, out)
		m.replace(s, out)
	}
}

// replace requests a new stream in place of s. It does this only once for each stream.
func (m *Machine) replace(s *Stream, out *Decisions) {
	if !s.replaced {
		s.replaced = true
		out.add(Decision{Kind: Replace, Stream: s})
	}
}

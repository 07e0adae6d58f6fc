// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// Take passes the batch in the inbox of a stream to the sender of the stream, which
// encodes it and calls Encoded. Take returns nil if the inbox is empty.
func (m *Machine) Take(s *Stream, now time.Time, out *Decisions) (*Batch, State) {
	b := s.inbox
	s.asked = time.Time{}
	if b != nil {
		s.inbox = nil
		b.place = inEncoder
		b.since = now
		b.first, b.last = s.last+1, 0
		s.pending.pushBack(b)
		m.fill(now, out)
	}
	return b, s.state
}

// Encoding is the result of encoding a batch, or of ending a frame.
type Encoding struct {
	// Last is the id of the last record of the batch. Bytes is the encoded size of the batch.
	Last  uint64
	Bytes int64
	// SentTo is the id of the last record that may have been sent.
	SentTo uint64
	// Buffered is how many bytes wait for the end of the frame.
	Buffered int
	// Unencodable is the error if the batch is the only cause.
	Unencodable error
	// Lost is the error of the write if the stream has ended. The end of the stream,
	// which is reported later, has the exact reason.
	Lost *Fault
	// Broken is the error after which the encoder cannot be used any more.
	Broken *Fault
	// Miscounted reports that the encoder counted records that a flush did not send.
	// Then the stream does not know which batches are answered.
	Miscounted bool
}

// Encoded notes that a batch was encoded, or could not be encoded.
func (m *Machine) Encoded(s *Stream, b *Batch, e Encoding, now time.Time, out *Decisions) {
	sent := e.SentTo > s.last
	s.flushedTo = e.SentTo
	if s.frameStart.IsZero() && e.Buffered > 0 {
		s.frameStart = now
	} else if e.Buffered == 0 {
		s.frameStart = time.Time{}
	}
	switch {
	case e.Unencodable != nil:
		s.drop(b)
		s.last = max(s.last, e.Last)
		m.end(b, Decision{Kind: Unencodable, Stream: s, Fault: &Fault{Err: e.Unencodable}}, out)
	case e.Lost != nil:
		// A part of the batch may have been sent: treat the batch as if it was sent.
		m.streamLost(s, b, e.Lost, sent, now, out)
	case e.Broken != nil:
		s.drop(b)
		m.returnBatch(b, s, e.Broken, sent || b.sent, now, out)
		m.encoderFailed(s, e.Broken, now, out)
	case e.Last == s.last:
		s.drop(b)
		m.deliver(b, s, ledger.Answer{}, now, out)
	default:
		s.last = e.Last
		b.last, b.bytes, b.place = e.Last, e.Bytes, inPending
		s.bytes += e.Bytes
		m.afterEncoding(s, b, now, out)
	}
	s.full = s.inbox == nil && !m.hasRoom(s)
	m.fill(now, out)
}

// afterEncoding handles the events that happened to a batch while it was being encoded.
func (m *Machine) afterEncoding(s *Stream, b *Batch, now time.Time, out *Decisions) {
	if s.state == Ended {
		s.pending.remove(b)
		m.reassign(s, b, now, out)
		return
	}
	m.resolve(s, now, out) // the server may have answered the batch already
	if b.gaveUp && !b.settled {
		m.returnBatch(b, s, &Fault{Class: GaveUp}, true, now, out)
	}
}

// streamLost handles a write that failed because the stream has ended. b is the batch that
// was being encoded, or nil if no batch was being encoded.
func (m *Machine) streamLost(s *Stream, b *Batch, why *Fault, sent bool, now time.Time, out *Decisions) {
	switch {
	case b == nil:
	case s.state == Ended:
		s.pending.remove(b)
		m.reassign(s, b, now, out)
	default:
		b.place = inPending
		if b.gaveUp {
			m.returnBatch(b, s, &Fault{Class: GaveUp}, sent || b.sent, now, out)
		}
	}
	if s.state == Live {
		m.withdraw(s, now, out)
		s.failed = true
	}
	if s.state == IsDraining && s.fault == nil {
		s.fault = why
	}
}

// encoderFailed retires a stream whose encoder cannot be used any more.
func (m *Machine) encoderFailed(s *Stream, why *Fault, now time.Time, out *Decisions) {
	s.broken = why
	m.retire(s, CloseEncoder, now, out)
	m.replace(s, out)
}

// FlushIn reports whether the frame of a stream must end now (due). If not, wait is
// how long its sender may sleep. idle reports that the sender has no batch to
// encode; buffered is the number of bytes in the frame.
func (m *Machine) FlushIn(s *Stream, idle bool, buffered int, now time.Time, out *Decisions) (wait time.Duration, due bool) {
	c := &m.config
	if s.frameStart.IsZero() {
		return math.MaxInt64, false
	}
	if s.full || c.FlushBytes > 0 && buffered >= c.FlushBytes {
		return 0, true
	}
	if c.FlushInterval < 0 {
		return math.MaxInt64, idle
	}
	if idle && (m.allWait(s, now, out) || m.pause.endsEarly(s)) {
		return 0, true
	}
	wait = c.FlushInterval - now.Sub(s.frameStart)
	if !idle {
		return wait, wait <= 0
	}
	quiet := m.arrivals.quiet(c.FlushInterval)
	if m.callers.due(now) {
		quiet = c.FlushInterval
	}
	silent := now.Sub(m.arrivals.submitted)
	if wait = min(wait, quiet-silent); wait > 0 {
		return wait, false
	}
	if !m.callers.measured.After(m.arrivals.submitted) { // no frame of another stream has measured these callers
		n := m.waitingCallers()
		inVain := silent >= min(quiet, c.FlushInterval/2)
		evidence := inVain && !m.inFlight() && m.arrivals.released(n, c.FlushInterval)
		m.callers.measure(n, evidence, c.FlushInterval, now)
	}
	return wait, true
}

// allWait reports whether no further batch can join the frame, because all callers
// of Send wait for this frame or for the frames of the other streams. In this case,
// allWait also ends the waiting of those other frames.
func (m *Machine) allWait(s *Stream, now time.Time, out *Decisions) bool {
	if s.flushNow {
		return true
	}
	known := m.config.Senders
	if all := m.callers.all(now); all > 0 && (known == 0 || all < known) {
		known = all
	}
	if known == 0 || m.waitingCallers() < known {
		return false
	}
	for _, o := range m.streams {
		if o.flushNow = o.waitingCallers() > 0; o != s {
			out.add(Decision{Kind: WakeSender, Stream: o})
		}
	}
	return true
}

func (m *Machine) waitingCallers() (n int) {
	for _, s := range m.streams {
		n += s.waitingCallers()
	}
	return n
}

// Flushed notes that the frame of a stream has ended, or could not be ended.
func (m *Machine) Flushed(s *Stream, e Encoding, now time.Time, out *Decisions) {
	s.frameStart, s.full = time.Time{}, false
	switch {
	case e.Lost != nil:
		m.streamLost(s, nil, e.Lost, false, now, out)
	case e.Broken != nil:
		if e.Miscounted && s.fault == nil {
			s.fault = e.Broken // the batches of the stream will get no answers
		}
		m.encoderFailed(s, e.Broken, now, out)
	default:
		m.pause.frame(s.waitingCallers())
		s.flushedTo, s.flushNow = s.last, false
		return
	}
	m.fill(now, out)
}

// Dirty reports whether there is something to flush. Only the encoding goroutine
// may call it.
func (s *Stream) Dirty() bool { return !s.frameStart.IsZero() }

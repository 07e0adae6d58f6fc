// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// Config configures a machine; see stefgrpc.SessionConfig. A negative value disables
// a duration or bound.
type Config struct {
	Streams           int
	Senders           int
	MaxUnackedBatches int
	MaxUnackedBytes   int64
	FlushInterval     time.Duration
	FlushBytes        int
	EarlyFrames       int
	AckTimeout        time.Duration
	DrainTimeout      time.Duration
	IdleTimeout       time.Duration
}

// Machine is the state machine of a session. Only one goroutine at a time may call its
// methods. The caller must carry out the resulting decisions afterwards, in order.
type Machine struct {
	config        Config
	queue         list
	streams       []*Stream // all streams that have not ended
	live          int
	turn          uint64
	closing       bool
	forced        bool
	sleepingSlots int    // slots (see Stream.Slot) that wait for a batch before they open a stream again
	dormant       bool   // at least one of these slots was not yet told to open a stream
	refused       *Fault // why batches do not wait while no stream is live; nil: they wait
	empty         int    // consecutive streams that the peer refused before they had records
	arrivals      arrivals
	callers       callers
	pause         pause
	counts        Counts
}

// New returns a machine without streams.
func New(config Config) *Machine { return &Machine{config: config} }

// Counts are counters of the events in a session.
type Counts struct {
	Opened       uint64
	Closed       [CloseIdle + 1]uint64
	Acknowledged uint64 // batches
	Rejected     uint64 // batches
	Unencodable  uint64 // batches
	HandedBack   uint64 // batches
	Redispatched uint64

	RejectedRecords, LateRecords uint64
}

// Status is the state of a session at one moment.
type Status struct {
	Live, Draining, Waiting, UnackedBatches int
	UnackedBytes                            int64
	Closing                                 bool
	Refused                                 *Fault // set while batches do not wait for a stream
	Counts
}

// Status returns the state of the session.
func (m *Machine) Status() Status {
	st := Status{Live: m.live, Waiting: m.queue.len, Closing: m.closing, Counts: m.counts}
	if m.live == 0 && !m.dormant {
		st.Refused = m.refused
	}
	for _, s := range m.streams {
		if s.state == IsDraining {
			st.Draining++
		}
		st.UnackedBatches += s.batches()
		st.UnackedBytes += s.bytes
	}
	return st
}

// Submit accepts a batch to be sent, unless its caller has already given up.
func (m *Machine) Submit(b *Batch, gaveUp bool, now time.Time, out *Decisions) {
	switch {
	case m.closing:
		m.handBack(b, &Fault{Class: ShutDown}, out)
		return
	case gaveUp:
		m.handBack(b, &Fault{Class: GaveUp}, out)
		return
	}
	m.pause.submit(&m.config, now.Sub(m.arrivals.submitted))
	m.arrivals.submit(m.config.FlushInterval, m.inFlight(), now)
	m.queue.pushBack(b)
	m.fill(now, out)
}

// GiveUp returns a batch to its caller, which has given up. If the batch is being
// encoded, it is returned after the encoding. Encoded data of the batch stays in the
// stream.
func (m *Machine) GiveUp(b *Batch, now time.Time, out *Decisions) {
	gaveUp := &Fault{Class: GaveUp}
	switch {
	case b.settled:
	case b.place == inQueue:
		m.queue.remove(b)
		m.handBack(b, gaveUp, out)
	case b.place == inInbox:
		b.stream.inbox = nil
		m.handBack(b, gaveUp, out)
	case b.place == inPending:
		m.returnBatch(b, b.stream, gaveUp, true, now, out)
		m.replaceStuck(b, now, out)
	default:
		b.gaveUp = true
		out.add(Decision{Kind: WakeWatcher, Stream: b.stream})
	}
	m.fill(now, out)
}

// Opened makes the stream s live. It retires the stream previous, which s replaces, unless
// previous is nil. regular reports whether previous was live until now. forced reports whether
// s must be closed immediately.
func (m *Machine) Opened(s, previous *Stream, now time.Time, out *Decisions) (regular, forced bool) {
	s.opened, s.state = now, Live
	m.streams = append(m.streams, s)
	m.live++
	m.counts.Opened++
	if previous != nil {
		regular = previous.state == Live
		m.retire(previous, CloseRotated, now, out)
	}
	m.refused = nil
	m.fill(now, out)
	return regular, m.forced
}

// OpenFailed notes a failed attempt to open a stream, and returns the number of live streams.
// refusal is nil if waiting may help. If refusal is set, batches do not wait while there is no live
// stream (see also refusedEmpty).
func (m *Machine) OpenFailed(refusal *Fault, now time.Time, out *Decisions) (live int) {
	m.refused = nil
	switch {
	case refusal != nil && refusal.Class == Refused:
		m.refusedEmpty(refusal, now)
	case refusal != nil:
		refusal.At, m.refused = now, refusal
		fallthrough
	default:
		m.empty = 0
	}
	m.fill(now, out)
	return m.live
}

// refusedEmpty notes that the peer refused a stream without records: the reason concerns all
// batches. If batches are returned for this reason, callers drop them. Therefore the first such
// stream is only replaced: perhaps only one of several servers behind a load balancer is bad.
func (m *Machine) refusedEmpty(f *Fault, now time.Time) {
	if m.empty++; m.empty > 1 {
		f.At, m.refused = now, f
	}
}

// notRefused notes that the peer answered batches, or ended a stream for a reason that does not
// concern the data: batches wait for a stream again.
func (m *Machine) notRefused() {
	m.empty = 0
	if m.refused != nil && m.refused.Class == Refused {
		m.refused = nil
	}
}

// Shutdown makes the session accept no more batches, send all batches that it has, and
// retire its streams.
func (m *Machine) Shutdown(now time.Time, out *Decisions) {
	m.closing = true
	m.fill(now, out)
}

// Force ends all waits of the session. It returns the streams to close.
func (m *Machine) Force(now time.Time, out *Decisions) []*Stream {
	m.forced = true
	streams := append([]*Stream(nil), m.streams...)
	for _, s := range streams {
		m.retire(s, CloseShutdown, now, out)
		if s.fault == nil {
			s.fault = &Fault{Class: ShutDown}
		}
	}
	m.fill(now, out)
	return streams
}

// Sleep is for a slot (see Stream.Slot) whose stream has ended. It returns true if no batch waits.
// Then the slot opens its next stream only after the machine returns a Decision of the kind Open.
func (m *Machine) Sleep() bool {
	if m.queue.len > 0 {
		return false
	}
	m.sleepingSlots++
	m.dormant = true
	return true
}

// Wake notes that a slot for which Sleep returned true does not wait any more: for example,
// because of a Decision of the kind Open.
func (m *Machine) Wake() {
	m.sleepingSlots--
	m.dormant = m.dormant && m.sleepingSlots > 0
}

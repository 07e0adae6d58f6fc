// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

type laneState uint8

const (
	laneOpening  laneState = iota // has no writer yet
	laneLive                      // takes batches
	laneDraining                  // waits for what it is owed
	laneEnded
)

// lane is the life of one stream in a session. Its owner is the goroutine that
// alone uses the writer and writes to the stream; its watcher is the one that
// waits for the end and for what is overdue; responses come on the stream's own
// goroutine and settle batches there.
type lane[B any] struct {
	session *Session[B]
	slot    int
	stream  sessionStream
	writer  BatchWriter[B]
	began   time.Time     // when opening began
	opened  time.Time     // when it became live
	wake    chan struct{} // the owner: there is something to do
	poke    chan struct{} // the watcher: what it waits for has changed
	gone    chan struct{} // closed when the slot should open another one

	// Guarded by the session's lock.
	state    laneState
	reason   CloseReason // why it leaves or left; 0 while nobody knows
	fault    *Error      // the reason of this end, if it is one
	failed   bool        // a write has found the stream ended
	leaving  bool        // gone is closed
	inbox    *job[B]
	pending  jobList[B] // in the order of their ids; only the last may be incomplete
	bytes    int64      // of pending
	done     uint64     // ids up to here belong to batches that are settled
	left     uint64     // ids up to here are in frames that have ended
	rush     bool       // nobody is left to join the frame
	answered time.Time  // when an acknowledgement last went further
	turn     uint64     // when it was last given a batch, in batches of the session
	quiet    time.Time  // when it began to drain, or was last answered since
	endCause *Error     // once ended
	inOrder  bool       // once ended: what is unacknowledged may be sent again
	endSent  uint64     // once ended: ids up to here were sent, at least in part

	// The owner's.
	last  uint64 // id of the last record encoded
	dirty bool   // there is something to flush,
	since time.Time
	full  bool // and no room for more
}

func (l *lane[B]) batches() int {
	if l.inbox != nil {
		return l.pending.len + 1
	}
	return l.pending.len
}

// ready says whether the lane can be given a batch: it is live, below its
// bounds, and has not one waiting already. A lane whose owner waits for the
// network fills its inbox and is then left alone.
func (l *lane[B]) ready() bool {
	return l.state == laneLive && l.inbox == nil && l.roomy()
}

func (l *lane[B]) roomy() bool {
	c := &l.session.config
	return l.batches() < c.MaxUnackedBatches && (c.MaxUnackedBytes < 0 || l.bytes < c.MaxUnackedBytes)
}

// respond takes what the server says.
func (l *lane[B]) respond(news ledger.News) {
	s := l.session
	var out outbox[B]
	s.mu.Lock()
	if l.state != laneEnded {
		if news.Progress {
			l.answered = time.Now()
		}
		if news.Late > 0 {
			s.counters.LateRejectedRecords += news.Late
			out.note(s, l.slot, event{kind: eventLateRejection, records: news.Late})
		}
		l.resolve(&out)
		s.fill(&out)
	}
	s.mu.Unlock()
	out.deliver(s)
}

// resolve settles the batches that are answered, in order.
func (l *lane[B]) resolve(out *outbox[B]) {
	s, before := l.session, l.done
	through := l.stream.through()
	for j := l.pending.head; j != nil && j.last != 0 && j.last <= through; j = l.pending.head {
		l.drop(j)
		l.done = j.last
		if !j.settled {
			s.acknowledge(j, l, l.stream.answer(j.first, j.last), out)
		}
		l.quiet = time.Now()
	}
	if l.done > before {
		l.stream.settle(l.done)
	}
	if l.state == laneDraining && l.pending.len == 0 {
		signal(l.poke)
	}
}

// retire makes a live lane take no more batches, and wait for what it is owed.
func (l *lane[B]) retire(reason CloseReason, out *outbox[B]) {
	if l.state == laneLive {
		l.withdraw()
		l.reason = reason
		out.note(l.session, l.slot, event{kind: eventDraining, reason: reason})
	}
}

// fail does the same to a lane whose stream has ended, for a reason that its
// watcher is about to learn.
func (l *lane[B]) fail(err *Error) {
	if l.state == laneLive {
		l.withdraw()
		l.failed = true
	}
	if l.state == laneDraining && l.fault == nil {
		l.fault = err
	}
}

func (l *lane[B]) withdraw() {
	l.state, l.quiet = laneDraining, time.Now()
	l.session.live--
	if j := l.inbox; j != nil {
		l.inbox = nil
		l.session.requeue(j)
	}
	signal(l.wake)
	signal(l.poke)
}

func (l *lane[B]) letGo() {
	if !l.leaving {
		l.leaving = true
		close(l.gone)
	}
}

// signal wakes a goroutine, now or when it next looks.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// Kind says what a Decision is about.
type Kind uint8

// The decisions. The first four are for the goroutines of the driver, the next
// three end a batch, the others are to be reported.
const (
	// WakeSender: the stream has a batch, or has to end or flush.
	WakeSender Kind = iota + 1
	// WakeWatcher: ask Overdue again.
	WakeWatcher
	// Replace: open another stream in place of this one.
	Replace
	// Open: open streams in the places that sleep.
	Open

	// Delivered is a batch that was acknowledged; if Answer.Bad is not 0, except
	// some records.
	Delivered
	// Unencodable is a batch that cannot be encoded, for Fault.Err.
	Unencodable
	// HandedBack is a batch that its caller has again, because of Fault.
	HandedBack

	// Draining is a stream that takes no more batches, for Reason.
	Draining
	// Closed is a stream that has ended, for Reason; with Fault unless in order.
	Closed
	// Redispatched is an encoded batch that another stream has to send.
	Redispatched
	// Late is records that were rejected after their batch was settled.
	Late
)

// Decision is something to do or to report.
type Decision struct {
	Kind   Kind
	Stream *Stream // nil: no stream had the batch
	Batch  *Batch  // of the kinds that end one

	Fault   *Fault
	Reason  CloseReason
	Answer  ledger.Answer
	Maybe   bool // records of the batch may have been delivered
	Records uint64
	Bytes   int64
	// Latency is the time since the batch was encoded; of Closed, the age of the
	// stream.
	Latency time.Duration
}

// Decisions collects what is to be done once the lock of the machine is
// released. The room in it keeps the usual case off the heap.
type Decisions struct {
	room [4]Decision
	used int
	more []Decision
}

func (o *Decisions) add(d Decision) {
	if o.used < len(o.room) {
		o.room[o.used] = d
		o.used++
		return
	}
	o.more = append(o.more, d)
}

// Len returns the number of decisions.
func (o *Decisions) Len() int { return o.used + len(o.more) }

// At returns a decision, by its number from 0.
func (o *Decisions) At(i int) *Decision {
	if i < o.used {
		return &o.room[i]
	}
	return &o.more[i-o.used]
}

// Class says what a Fault means.
type Class uint8

// The classes. The last four are the machine's own, and have no Err.
const (
	// Other is any failure that is none of the others.
	Other Class = iota
	// Orderly is an end in order, at the wish of the peer.
	Orderly
	// Canceled is an end at the wish of this end.
	Canceled
	// Unavailable is a connection or stream that was lost.
	Unavailable

	// AckTimeout: nothing was acknowledged for too long.
	AckTimeout
	// ShutDown: the session was shut down.
	ShutDown
	// GaveUp: the caller gave up.
	GaveUp
	// Unanswered: the stream has ended without acknowledging all it was sent.
	Unanswered
)

// Fault is why something ended.
type Fault struct {
	Class Class
	Err   error
}

// CloseReason says why a stream was closed.
type CloseReason uint8

// The reasons, see stefgrpc.CloseReason.
const (
	CloseRotated CloseReason = iota + 1
	CloseByServer
	CloseLost
	CloseAckTimeout
	CloseEncoder
	CloseShutdown
	CloseIdle
)

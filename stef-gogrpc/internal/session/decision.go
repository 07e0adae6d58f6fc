// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// Kind is the kind of a Decision.
type Kind uint8

// The decisions. The first four are for the goroutines of the driver, the next
// three end a batch, the others are only reported.
const (
	// WakeSender: the stream has a batch, or must end or flush.
	WakeSender Kind = iota + 1
	// WakeWatcher: call Overdue again.
	WakeWatcher
	// Replace: open a new stream that replaces Stream.
	Replace
	// Open: open streams in the slots that wait for a batch, see Machine.Sleep.
	Open

	// Delivered is a batch that was acknowledged, except the bad records if
	// Answer.Bad is not 0.
	Delivered
	// Unencodable is a batch that cannot be encoded. Fault.Err is the reason.
	Unencodable
	// HandedBack is a batch that was returned to its caller. Fault says why.
	HandedBack

	// Draining is a stream that accepts no more batches. Reason says why.
	Draining
	// Closed is a stream that has ended. Reason says why. Fault is set unless the stream ended
	// gracefully.
	Closed
	// Redispatched is an encoded batch that another stream must send.
	Redispatched
	// Late reports records that were rejected after their batch was settled.
	Late
)

// Decision is an action that the driver must carry out, or an event that it must report.
type Decision struct {
	Kind   Kind
	Stream *Stream // nil: no stream had the batch
	Batch  *Batch  // set for the kinds that end a batch

	Fault   *Fault
	Reason  CloseReason
	Answer  ledger.Answer
	Maybe   bool   // records of the batch may have been delivered
	Records uint64 // 0 if not all records of the batch are encoded
	Bytes   int64
	// Latency is the time since the encoding of the batch began. For Closed, it is the age of the
	// stream.
	Latency time.Duration
}

// Decisions collects the decisions to carry out after the lock of the machine is
// released. Its inline array avoids heap allocations in the usual case.
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

// At returns decision i. The first decision has number 0.
func (o *Decisions) At(i int) *Decision {
	if i < o.used {
		return &o.room[i]
	}
	return &o.more[i-o.used]
}

// Class classifies a Fault.
type Class uint8

// The classes of a Fault. The session machine itself creates faults of the last six classes; of
// these, only Bystander and EncoderFailed faults have an Err.
const (
	// Other is a failure that no other class describes.
	Other Class = iota
	// Orderly is a graceful end that the peer requested.
	Orderly
	// Canceled is an end that this side requested.
	Canceled
	// Unavailable is a connection or stream that was lost.
	Unavailable
	// Refused: the peer ended the stream for a permanent reason. It does not accept the first
	// unanswered batch.
	Refused

	// AckTimeout: nothing was acknowledged for too long.
	AckTimeout
	// ShutDown: the session was shut down.
	ShutDown
	// GaveUp: the caller gave up.
	GaveUp
	// Unanswered: the peer ended the stream gracefully. A batch with this fault was not received.
	Unanswered
	// Bystander: the peer ended the stream for a permanent reason, but did not refuse this batch. Err
	// says why.
	Bystander
	// EncoderFailed: the stream ended because its encoder failed, but not while it encoded this
	// batch. Err says why.
	EncoderFailed
)

// Fault is the reason why something ended.
type Fault struct {
	Class Class
	Err   error
	At    time.Time // when the refusal was received, if this is a refusal
	// Deliberate is set for Refused if the peer refuses the data itself, and did not just fail
	// or reach a limit.
	Deliberate bool
	Blamed     bool // for Bystander: the peer refused another batch
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

var closeReasons = [...]string{
	CloseRotated:    "rotated",
	CloseByServer:   "server",
	CloseLost:       "lost",
	CloseAckTimeout: "ack timeout",
	CloseEncoder:    "encoder",
	CloseShutdown:   "shutdown",
	CloseIdle:       "idle",
}

// String returns the name of r in lower case.
func (r CloseReason) String() string {
	if int(r) < len(closeReasons) && r > 0 {
		return closeReasons[r]
	}
	return fmt.Sprintf("close reason %d", uint8(r))
}

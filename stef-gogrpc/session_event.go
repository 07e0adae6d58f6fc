// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"time"
)

// EventType says what happened in a session.
type EventType uint8

// The events, with the fields that are set beside Stream.
const (
	// EventOpened is a stream that is live. Duration: opening took so long.
	EventOpened EventType = iota + 1
	// EventOpenFailed is an attempt that failed. Err; Duration: the next one
	// comes after so long, 0 if not by itself.
	EventOpenFailed
	// EventDraining is a stream that takes no more batches and waits for what
	// it owes. Reason.
	EventDraining
	// EventClosed is a stream that has ended. Reason; Err, if there was one;
	// Duration: its age.
	EventClosed
	// EventAcknowledged is a batch that arrived whole. Records, Bytes;
	// Duration: it was encoded so long ago.
	EventAcknowledged
	// EventRejected is a batch that arrived but for some bad records. Records:
	// how many are bad; Bytes and Duration as above; Err is a *RejectedError.
	EventRejected
	// EventBatchError is a batch that could not be encoded. Err.
	EventBatchError
	// EventRedispatched is an encoded batch that its stream, which has ended,
	// was not answered, and that another stream is to send. Bytes.
	EventRedispatched
	// EventHandedBack is a batch that its caller has again. Err is an
	// *UnsentError; Stream is -1 if no stream had it.
	EventHandedBack
)

var eventTypes = [...]string{
	EventOpened:       "opened",
	EventOpenFailed:   "open failed",
	EventDraining:     "draining",
	EventClosed:       "closed",
	EventAcknowledged: "acknowledged",
	EventRejected:     "rejected",
	EventBatchError:   "batch error",
	EventRedispatched: "redispatched",
	EventHandedBack:   "handed back",
}

// String returns the name of t in lower case.
func (t EventType) String() string {
	if int(t) < len(eventTypes) && t > 0 {
		return eventTypes[t]
	}
	return fmt.Sprintf("event %d", uint8(t))
}

// CloseReason says why a stream was closed.
type CloseReason uint8

// The reasons.
const (
	// CloseRotated: it was as old as MaxLifetime allows.
	CloseRotated CloseReason = iota + 1
	// CloseByServer: the server ended it in order, or its connection was told
	// to go away.
	CloseByServer
	// CloseLost: the connection or the stream failed.
	CloseLost
	// CloseAckTimeout: the server did not answer within AckTimeout.
	CloseAckTimeout
	// CloseEncoder: the batch writer failed with something else than a
	// *BatchError.
	CloseEncoder
	// CloseShutdown: the session was shut down.
	CloseShutdown
)

var closeReasons = [...]string{
	CloseRotated:    "rotated",
	CloseByServer:   "server",
	CloseLost:       "lost",
	CloseAckTimeout: "ack timeout",
	CloseEncoder:    "encoder",
	CloseShutdown:   "shutdown",
}

// String returns the name of r in lower case.
func (r CloseReason) String() string {
	if int(r) < len(closeReasons) && r > 0 {
		return closeReasons[r]
	}
	return fmt.Sprintf("close reason %d", uint8(r))
}

// Event is something that happened in a session, for logs and metrics.
type Event struct {
	Type     EventType
	Stream   int // the number of the slot, from 0
	Reason   CloseReason
	Err      error
	Duration time.Duration
	Records  uint64
	Bytes    int64
}

// SessionState is what a session is at one moment, and what it has come to.
type SessionState struct {
	// Connecting, Live and Draining are streams that are being opened or waited
	// for, that take batches, and that wait for what they are owed.
	Connecting, Live, Draining int
	// Waiting is how many batches no stream has taken yet.
	Waiting int
	// UnackedBatches and UnackedBytes is what streams have taken and the
	// destination has not answered.
	UnackedBatches int
	UnackedBytes   int64
	// Refused is set while Send fails at once.
	Refused *Error
	// LastError is the last failure of a stream or of an attempt to open one.
	LastError *Error

	// Opened and Closed count streams, Closed by its reasons.
	Opened uint64
	Closed [CloseShutdown + 1]uint64
	// Batches by how they ended, each counted once.
	Acknowledged, Rejected, BatchErrors, HandedBack uint64
	// Redispatched counts how often a batch was moved to another stream.
	Redispatched uint64
	// RejectedRecords counts the records that were reported bad.
	RejectedRecords uint64
}

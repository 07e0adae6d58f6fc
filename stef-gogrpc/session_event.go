// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"
	"fmt"
	"time"
)

// SessionEvents are functions that a session calls with what happens in it, for
// logs and metrics. A nil function is skipped. They are called from several
// goroutines at a time, never with a lock held, and before the Send that the
// event is about returns. They must be quick: streams wait for them.
//
// stream is the number of the place of a stream in the session, from 0.
type SessionEvents struct {
	// StreamOpened reports a stream that takes batches now. Opening it took so
	// long.
	StreamOpened func(stream int, took time.Duration)
	// OpenFailed reports a failed attempt to open a stream, and the time until
	// the next one. 0 means that there is none before Probe is called.
	OpenFailed func(stream int, err *Error, retryIn time.Duration)
	// StreamDraining reports a stream that takes no more batches and waits for
	// the acknowledgements of those it took.
	StreamDraining func(stream int, reason CloseReason)
	// StreamClosed reports a stream that has ended at the given age. err is nil
	// after an end in order.
	StreamClosed func(stream int, reason CloseReason, age time.Duration, err *Error)
	// BatchAcknowledged reports a batch that was delivered.
	BatchAcknowledged func(stream int, batch BatchInfo)
	// BatchRejected reports a batch that was delivered except the records in
	// err.
	BatchRejected func(stream int, batch BatchInfo, err *RejectedError)
	// BatchUnencodable reports a batch that could not be encoded.
	BatchUnencodable func(stream int, err *BatchError)
	// BatchRedispatched reports an encoded batch of so many bytes that another
	// stream has to send, because its own ended without answering it.
	BatchRedispatched func(stream int, bytes int64)
	// BatchHandedBack reports a batch that was returned to its caller. stream is
	// -1 if no stream had it.
	BatchHandedBack func(stream int, err *UnsentError)
	// LateRejection reports records that the destination had acknowledged and
	// reported bad afterwards. The Send of their batch may have returned nil, so
	// this is all that is ever known of them: they are lost.
	LateRejection func(stream int, records uint64)
}

// BatchInfo describes a batch that was answered.
type BatchInfo struct {
	Records uint64
	Bytes   int64         // encoded, estimated
	Latency time.Duration // since it was encoded
}

// call calls the function for an event.
func (f *SessionEvents) call(e *event) {
	info := BatchInfo{Records: e.records, Bytes: e.bytes, Latency: e.duration}
	switch {
	case e.kind == eventOpened && f.StreamOpened != nil:
		f.StreamOpened(e.stream, e.duration)
	case e.kind == eventOpenFailed && f.OpenFailed != nil:
		f.OpenFailed(e.stream, FromStatus(e.err), e.duration)
	case e.kind == eventDraining && f.StreamDraining != nil:
		f.StreamDraining(e.stream, e.reason)
	case e.kind == eventClosed && f.StreamClosed != nil:
		f.StreamClosed(e.stream, e.reason, e.duration, FromStatus(e.err))
	case e.kind == eventAcknowledged && f.BatchAcknowledged != nil:
		f.BatchAcknowledged(e.stream, info)
	case e.kind == eventRejected && f.BatchRejected != nil:
		f.BatchRejected(e.stream, info, e.err.(*RejectedError))
	case e.kind == eventBatchError && f.BatchUnencodable != nil:
		var bad *BatchError
		errors.As(e.err, &bad)
		f.BatchUnencodable(e.stream, bad)
	case e.kind == eventRedispatched && f.BatchRedispatched != nil:
		f.BatchRedispatched(e.stream, e.bytes)
	case e.kind == eventHandedBack && f.BatchHandedBack != nil:
		f.BatchHandedBack(e.stream, e.err.(*UnsentError))
	case e.kind == eventLateRejection && f.LateRejection != nil:
		f.LateRejection(e.stream, e.records)
	}
}

// eventKind says what happened in a session.
type eventKind uint8

const (
	eventOpened eventKind = iota + 1
	eventOpenFailed
	eventDraining
	eventClosed
	eventAcknowledged
	eventRejected
	eventBatchError
	eventRedispatched
	eventHandedBack
	eventLateRejection
)

// event is a call of a function of SessionEvents that waits for the lock to be
// released.
type event struct {
	kind     eventKind
	stream   int
	reason   CloseReason
	err      error
	duration time.Duration
	records  uint64
	bytes    int64
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
	// CloseIdle: nothing was sent for IdleTimeout.
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

// SessionState is what a session is at one moment, and what it has come to.
type SessionState struct {
	// Connecting, Live and Draining are streams that are being opened or waited
	// for, that take batches, and that wait for their acknowledgements. Idle is how
	// many were closed because nothing was sent; the next batch opens them.
	Connecting, Live, Draining, Idle int
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
	Closed [CloseIdle + 1]uint64
	// Batches by how they ended, each counted once.
	Acknowledged, Rejected, BatchErrors, HandedBack uint64
	// Redispatched counts how often a batch was moved to another stream.
	Redispatched uint64
	// RejectedRecords counts the records that were reported bad before they were
	// acknowledged, LateRejectedRecords those after, see
	// SessionEvents.LateRejection.
	RejectedRecords, LateRejectedRecords uint64
}

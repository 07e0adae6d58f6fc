// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// SessionEvents are functions that a session calls when something happens, for
// logs and metrics. A nil function is skipped. Calls are concurrent, and no lock is held
// during a call. An event of a batch is reported before its Send returns. The functions
// must be quick: streams wait for them.
//
// stream is the index of the stream in the session, from 0 to SessionConfig.Streams - 1. A new
// stream has the index of the stream that it replaces.
type SessionEvents struct {
	// StreamOpened reports a stream that accepts batches now. took is the time to
	// open it.
	StreamOpened func(stream int, took time.Duration)
	// OpenFailed reports a failed attempt to open a stream, and the time until the
	// next attempt. The time is 0 if there is no attempt until Probe is called.
	OpenFailed func(stream int, err *Error, retryIn time.Duration)
	// StreamDraining reports a stream that accepts no more batches and waits for
	// the acknowledgements of earlier batches.
	StreamDraining func(stream int, reason CloseReason)
	// StreamClosed reports a stream that has ended at the given age. err is nil if the stream
	// ended gracefully.
	StreamClosed func(stream int, reason CloseReason, age time.Duration, err *Error)
	// BatchAcknowledged reports a batch that was delivered.
	BatchAcknowledged func(stream int, batch BatchInfo)
	// BatchRejected reports a batch that was delivered, except the records in err.
	BatchRejected func(stream int, batch BatchInfo, err *RejectedError)
	// BatchUnencodable reports a batch that could not be encoded, or whose items were all left out.
	BatchUnencodable func(stream int, err *BatchError)
	// BatchRedispatched reports an encoded batch of the given size that another stream must send,
	// because the stream of the batch ended before the batch was answered.
	BatchRedispatched func(stream int, bytes int64)
	// BatchHandedBack reports a batch that was returned to its caller. stream is -1 if no
	// stream accepted the batch.
	BatchHandedBack func(stream int, err *UnsentError)
	// LateRejection reports records that the destination acknowledged first and
	// reported as bad later. These records are lost. The Send of their batch may have
	// returned nil, so nothing else reports them.
	LateRejection func(stream int, records uint64)
}

// BatchInfo describes a batch that was answered.
type BatchInfo struct {
	Records uint64
	Bytes   int64         // estimated size of the encoded batch
	Latency time.Duration // time since the batch was encoded
}

// CloseReason says why a stream was closed.
type CloseReason = session.CloseReason

// The values of CloseReason.
const (
	// CloseRotated: the stream reached MaxLifetime.
	CloseRotated = session.CloseRotated
	// CloseByServer: the server ended the stream gracefully, or the connection received GOAWAY.
	CloseByServer = session.CloseByServer
	// CloseLost: the connection or the stream failed.
	CloseLost = session.CloseLost
	// CloseAckTimeout: the server did not answer within AckTimeout.
	CloseAckTimeout = session.CloseAckTimeout
	// CloseEncoder: the batch writer failed with an error other than a
	// *BatchError.
	CloseEncoder = session.CloseEncoder
	// CloseShutdown: the session was shut down.
	CloseShutdown = session.CloseShutdown
	// CloseIdle: nothing was sent for IdleTimeout, or the server ended the idle stream.
	CloseIdle = session.CloseIdle
)

// CloseCounts has the number of closed streams by CloseReason.
type CloseCounts [CloseIdle + 1]uint64

// String returns the reasons whose count is not 0, such as "[lost 1, idle 2]".
func (c CloseCounts) String() string {
	var list []string
	for reason, n := range c {
		if n > 0 {
			list = append(list, fmt.Sprintf("%v %d", CloseReason(reason), n))
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// SessionStats are the current state of a session, and its counts so far.
type SessionStats struct {
	// Connecting counts streams that are being opened or wait to be opened. Live counts
	// streams that accept batches. Draining counts streams that wait for acknowledgements.
	// Idle counts streams that were closed because nothing was sent; the next batch opens
	// them again.
	Connecting, Live, Draining, Idle int
	// Waiting is the number of batches that no stream has accepted yet.
	Waiting int
	// UnackedBatches and UnackedBytes count the batches that streams have accepted
	// and the destination has not answered.
	UnackedBatches int
	UnackedBytes   int64
	// Refused is set while Send fails immediately.
	Refused *Error
	// LastError is the last failure of a stream or of an attempt to open a stream.
	LastError *Error

	// Opened and Closed count streams; Closed counts them by reason. If the server ends a stream
	// before its writer is created, the stream is not counted: opening it has failed.
	Opened uint64
	Closed CloseCounts
	// These fields count batches by result, each batch once. A batch that was delivered without some
	// of its items (Send returns a *BatchError with Delivered) counts as Acknowledged or as Rejected.
	// A batch whose items were all left out counts as BatchErrors.
	Acknowledged, Rejected, BatchErrors, HandedBack uint64
	// Redispatched counts how often a batch was moved to another stream.
	Redispatched uint64
	// RejectedRecords counts the records of delivered batches that were reported as
	// bad before they were acknowledged. LateRejectedRecords counts the records that
	// were reported as bad later, see SessionEvents.LateRejection. RejectedRecords does not count
	// batches that were not delivered: UnsentError.Rejected has the bad records of such a batch.
	RejectedRecords, LateRejectedRecords uint64
}

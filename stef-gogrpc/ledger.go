// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

// IDRange is a range of record ids, both ends included.
type IDRange struct{ From, To uint64 }

// Response is what a server says about the records it was sent.
//
// spec: #record-ids
type Response struct {
	// Acked is the id up to which all records are accepted or rejected.
	Acked uint64
	// Rejected are the ids of records that can never be accepted.
	Rejected []IDRange
}

// recvLedger is the account of a receiver: which records are finished, and what
// of that the sender has not been told. It is plain state: no locks, no clock.
type recvLedger struct{}

// finish notes that the records of a range are accepted.
func (l *recvLedger) finish(r IDRange) {}

// reject notes that the records of a range are bad, and so finished.
func (l *recvLedger) reject(r IDRange) {}

// ack notes that all records up to id are finished.
func (l *recvLedger) ack(id uint64) {}

// acked returns the id up to which all records are finished.
func (l *recvLedger) acked() uint64 { return 0 }

// pending says whether take has something to tell.
func (l *recvLedger) pending() bool { return false }

// take returns the next response to send. There may be more after it.
func (l *recvLedger) take() (r Response, ok bool) { return Response{}, false }

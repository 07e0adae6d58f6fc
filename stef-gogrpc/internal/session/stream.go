// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// State is the state of a stream.
type State uint8

// The states.
const (
	Opening    State = iota // has no writer yet
	Live                    // accepts batches
	IsDraining              // waits for outstanding answers
	Ended
)

// Answers is the ledger of a stream: it knows which records the peer has acknowledged or rejected.
type Answers interface {
	AnsweredUpTo() uint64
	Answer(first, last uint64) ledger.Answer
	Settle(first, last uint64) ledger.Answer
}

// Stream is a stream of the session. All fields except Owner belong to the
// machine.
type Stream struct {
	// Owner is the driver's reference for the stream.
	Owner any

	answers Answers
	slot    int
	opened  time.Time

	state    State
	reason   CloseReason // why the stream closes or closed; 0 if not known yet
	fault    *Fault      // why this side closes the stream; nil if the reason is not a fault
	broken   *Fault      // the error after which the encoder cannot be used
	failed   bool        // a write failed because the stream has ended
	replaced bool

	inbox    *Batch
	pending  list      // batches in the order of their ids; only the last batch may be incomplete
	bytes    int64     // encoded size of pending
	settled  uint64    // ids up to this id belong to settled batches
	answered time.Time // when the acknowledged id last increased
	asked    time.Time // when the sender was asked to take a batch; zero after it has looked for one
	turn     uint64    // number, within the session, of the last batch assigned to the stream
	idleFrom time.Time // when the last batch was answered or draining began, whichever is later

	last       uint64    // id of the last record encoded
	flushedTo  uint64    // ids up to this id are in frames that have ended
	frameStart time.Time // when the frame started; zero: there is nothing to flush
	full       bool      // the stream is at its bounds, so the frame must end
	flushNow   bool      // no further batch can join the frame

	end     *Fault // once ended: why the stream ended
	blamed  *Batch // once ended: the batch that the peer refused, or nil
	inOrder bool   // once ended: unacknowledged batches may be sent again
	empty   bool   // once ended: the peer refused the stream, which had sent no records
	sentTo  uint64 // once ended: the last id of which at least a part may have been sent
}

// NewStream returns a stream that will be opened in a slot (see Slot).
func NewStream(owner any, slot int, answers Answers) *Stream {
	return &Stream{Owner: owner, slot: slot, answers: answers}
}

// Slot returns the number of the slot of the stream, from 0. A session has as many slots as
// Config.Streams. A slot keeps one stream open, and replaces the stream when it ends.
func (s *Stream) Slot() int { return s.slot }

// Last returns the id of the last record encoded. Only the encoding goroutine may
// call it.
func (s *Stream) Last() uint64 { return s.last }

// Age returns how long the stream has been open.
func (s *Stream) Age(now time.Time) time.Duration { return now.Sub(s.opened) }

func (s *Stream) batches() int {
	if s.inbox != nil {
		return s.pending.len + 1
	}
	return s.pending.len
}

// drop removes a batch that needs no answer.
func (s *Stream) drop(b *Batch) {
	s.pending.remove(b)
	s.bytes -= b.bytes
}

// waitingCallers returns the number of callers that wait for unfinished frames of the
// stream.
func (s *Stream) waitingCallers() (n int) {
	for b := s.pending.tail; b != nil && (b.last == 0 || b.last > s.flushedTo); b = b.prev {
		if !b.settled {
			n++
		}
	}
	return n
}

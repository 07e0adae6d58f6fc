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
	Live                    // takes batches
	IsDraining              // waits for the answers it is owed
	Ended
)

// Answers is the ledger of a stream.
type Answers interface {
	Through() uint64
	Answer(first, last uint64) ledger.Answer
	Settle(id uint64)
}

// Stream is a stream of the session. All fields but Owner are the machine's.
type Stream struct {
	// Owner is what the driver knows the stream by.
	Owner any

	answers Answers
	slot    int
	opened  time.Time

	state    State
	reason   CloseReason // why it leaves or left; 0 while nobody knows
	fault    *Fault      // the reason of this end, if it is one
	failed   bool        // a write has found the stream ended
	replaced bool        // Replace was decided

	inbox    *Batch
	pending  list      // in the order of their ids; only the last may be incomplete
	bytes    int64     // of pending
	settled  uint64    // ids up to here belong to batches that are settled
	answered time.Time // when an acknowledgement last went further
	turn     uint64    // when it was last given a batch, in batches of the session
	quiet    time.Time // when it began to drain, or was last answered since
	idle     time.Time // when it had nothing to do for the last time

	last      uint64    // id of the last record encoded
	flushedTo uint64    // ids up to here are in frames that have ended
	dirty     time.Time // when the frame began; zero: there is nothing to flush
	full      bool      // no room for more
	rush      bool      // no further batch can join the frame

	end     *Fault // once ended
	inOrder bool   // once ended: what is unacknowledged may be sent again
	sentTo  uint64 // once ended: ids up to here were sent, at least in part
}

// NewStream returns a stream that is about to be opened in a slot.
func NewStream(owner any, slot int, answers Answers) *Stream {
	return &Stream{Owner: owner, slot: slot, answers: answers}
}

// Slot returns the number of the place of the stream, from 0.
func (s *Stream) Slot() int { return s.slot }

// Last returns the id of the last record encoded. It is for the goroutine that
// encodes.
func (s *Stream) Last() uint64 { return s.last }

// Age returns how long the stream has been open.
func (s *Stream) Age(now time.Time) time.Duration { return now.Sub(s.opened) }

func (s *Stream) batches() int {
	if s.inbox != nil {
		return s.pending.len + 1
	}
	return s.pending.len
}

// drop forgets a batch of which nothing is to be answered.
func (s *Stream) drop(b *Batch) {
	s.pending.remove(b)
	s.bytes -= b.bytes
}

// joined counts the callers that wait for frames of the stream that have not
// ended.
func (s *Stream) joined() (n int) {
	for b := s.pending.tail; b != nil && (b.last == 0 || b.last > s.flushedTo); b = b.prev {
		if !b.settled {
			n++
		}
	}
	return n
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"sync"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// responder sends the acknowledgements and rejections of a handler. It merges them: it
// sends at most one response at a time, and ledger.Pace decides when the next response is
// due. After close, responses are sent without a pause. While there is nothing to send, a
// responder has no goroutine and no running timer. Callers wait for the client only while the
// ledger is backlogged: too many ranges wait to be sent.
type responder struct {
	send func(Response) error // never called concurrently
	// hold is called before a sending goroutine starts. done is called when it ends.
	hold, done func()
	// fail ends the stream. over is closed when the stream has ended, which ends all waits.
	fail func(*Error)
	over <-chan struct{}

	mu     sync.Mutex
	ledger ledger.Receiver
	pace   ledger.Pace
	timer  *time.Timer // created on first use
	state  responderState
	closed bool
	full   bool          // the ledger reached its bound, so it does not change any more
	room   chan struct{} // created by a call that waits; closed when the call must check again
	ended  chan struct{} // created by close; closed when no response remains to be sent
	err    error         // first error of send; nothing is sent after it
}

type responderState uint8

const (
	respondIdle    responderState = iota
	respondWaiting                // waits for the timer
	respondSending                // a goroutine sends
)

// note changes the ledger and ensures that the change is sent. Then it waits until the ledger
// is not backlogged. It does nothing after close or if full is set.
func (r *responder) note(change func(*ledger.Receiver)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.full {
		return
	}
	change(&r.ledger)
	r.schedule()
	r.awaitRoom()
	if r.ledger.Ranges() > maxRanges {
		// Store nothing more: a later AckUpTo would accept records whose rejection is not stored.
		r.full = true
		r.fail(memoryError(fmt.Sprintf("the handler finished more than %d separate ranges of records, but not the records before them: call AckUpTo more often", maxRanges)))
	}
}

// maxRanges bounds the ranges that a responder stores. Above the bound, the stream fails. A call
// must not wait for room instead: most ranges can be sent only after earlier records are
// finished, and the waiting handler could be the one that must finish them.
const maxRanges = 1 << 20

// unreadTimeout is the maximum time that a call waits for the next response to be sent.
const unreadTimeout = finalResponses

// awaitRoom waits until the ledger is not backlogged. It ends the stream if the client reads no
// responses for unreadTimeout. The caller must hold mu, which is unlocked during the wait.
func (r *responder) awaitRoom() {
	if !r.ledger.Backlogged() {
		return
	}
	timeout := time.NewTimer(unreadTimeout)
	defer timeout.Stop()
	for r.ledger.Backlogged() && r.err == nil && !r.closed {
		if r.room == nil {
			r.room = make(chan struct{})
		}
		room, waits := r.room, true
		r.mu.Unlock()
		select {
		case <-room:
			timeout.Reset(unreadTimeout)
		case <-timeout.C:
			r.fail(errorf(KindUnavailable, "the client read no acknowledgements for %v", unreadTimeout))
			waits = false
		case <-r.over:
			waits = false
		}
		r.mu.Lock()
		if !waits {
			return
		}
	}
}

// wake makes all calls that wait in awaitRoom check the ledger again.
func (r *responder) wake() {
	if r.room != nil {
		close(r.room)
		r.room = nil
	}
}

func (r *responder) decoded(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pace.Decoded(id)
}

// waits notes whether the handler has read everything that arrived and waits for the
// client.
func (r *responder) waits(waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pace.WaitsForSender(waits)
	if waits && !r.closed {
		r.schedule()
	}
}

// acked returns the id up to which everything is finished.
func (r *responder) acked() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Acked()
}

// told reports whether all acknowledgements and rejections have been sent. It returns false if
// note has dropped some of them because the ledger was full.
func (r *responder) told() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == respondIdle && r.err == nil && !r.full && !r.ledger.Pending()
}

// schedule ensures that a response is sent when it is due.
func (r *responder) schedule() {
	if r.state == respondSending || r.err != nil || !r.ledger.Pending() {
		return
	}
	var wait time.Duration
	if !r.closed {
		wait = r.pace.Due(&r.ledger, time.Now())
	}
	if wait <= 0 {
		if r.state == respondWaiting {
			r.timer.Stop() // if it fires nevertheless, fire finds nothing to do
		}
		r.state = respondSending
		r.hold()
		go r.run()
		return
	}
	r.state = respondWaiting
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, r.fire)
	} else {
		r.timer.Reset(wait)
	}
}

// fire is called by the timer. If more records have become outstanding since the timer
// was set, the response is not due yet.
func (r *responder) fire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == respondWaiting {
		r.schedule()
	}
}

func (r *responder) run() {
	defer r.done()
	r.mu.Lock()
	defer r.mu.Unlock()
	if response, ok := r.ledger.Take(); ok {
		r.mu.Unlock()
		err := r.send(response)
		r.mu.Lock()
		r.pace.Sent(time.Now())
		r.err = err
		r.wake()
	}
	r.state = respondIdle
	r.settle()
}

func (r *responder) settle() {
	r.schedule()
	if r.closed && r.state == respondIdle {
		close(r.ended)
	}
}

// close sends everything that remains, immediately. The channel is closed when
// everything is sent or sending has failed.
func (r *responder) close() (ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.ended
	}
	r.closed, r.ended = true, make(chan struct{})
	r.wake()
	if r.state == respondWaiting {
		r.timer.Stop()
		r.state = respondIdle
	}
	if r.state == respondIdle {
		r.settle()
	}
	return r.ended
}

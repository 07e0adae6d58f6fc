// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"sync"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// responder sends the acknowledgements and rejections of a handler. It coalesces
// them: it sends at most one response at a time, and ledger.Pace decides when the next
// one is due. After close, responses are sent without a pause. While there is nothing
// to send, a responder has no goroutine and no running timer. Callers never wait for
// the client.
type responder struct {
	send func(Response) error // never called concurrently
	// hold is called before a sending goroutine starts, done when it ends.
	hold, done func()

	mu     sync.Mutex
	ledger ledger.Receiver
	pace   ledger.Pace
	timer  *time.Timer // created on first use
	state  responderState
	closed bool
	ended  chan struct{} // created by close; closed when nothing remains to be sent
	err    error         // first error of send; nothing is sent after it
}

// responderState is the state of a responder.
type responderState uint8

const (
	respondIdle    responderState = iota
	respondWaiting                // waits for the timer
	respondSending                // a goroutine sends
)

// note changes the ledger and ensures that the change is sent. After close it does
// nothing.
func (r *responder) note(change func(*ledger.Receiver)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	change(&r.ledger)
	r.schedule()
}

// decoded notes that the records up to id were decoded.
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

// told reports whether all acknowledgements and rejections have been sent.
func (r *responder) told() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == respondIdle && r.err == nil && !r.ledger.Pending()
}

// maxUntold bounds the ranges that a responder stores for a client that does not read
// responses.
const maxUntold = 1 << 16

// overfull reports whether the stored ranges exceed the limit.
func (r *responder) overfull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Ranges() > maxUntold
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

// fire is called by the timer. If more has become outstanding since the timer was
// set, the response is not due yet.
func (r *responder) fire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == respondWaiting {
		r.schedule()
	}
}

// run sends one response.
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
	}
	r.state = respondIdle
	r.settle()
}

// settle decides what to do after a change of state.
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
	if r.state == respondWaiting {
		r.timer.Stop()
		r.state = respondIdle
	}
	if r.state == respondIdle {
		r.settle()
	}
	return r.ended
}

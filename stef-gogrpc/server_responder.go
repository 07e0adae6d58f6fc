// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"sync"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// responder sends what a handler says about records. It coalesces: there is at
// most one response on its way, and at most one in an interval until the end.
// It has no goroutine and no running timer while there is nothing to say, and
// whoever says something never waits for the client.
type responder struct {
	send     func(Response) error // one at a time
	interval time.Duration
	// hold is called before a goroutine begins that sends, done when it ends.
	hold, done func()

	mu     sync.Mutex
	ledger ledger.Receiver
	last   time.Time   // when the last response went out
	timer  *time.Timer // nil until it was needed
	state  responderState
	closed bool
	ended  chan struct{} // made by close, closed with nothing left to send
	err    error         // of send; nothing is sent after it
}

// responderState is what a responder is about to do.
type responderState uint8

const (
	respondIdle    responderState = iota
	respondWaiting                // for the timer
	respondSending                // on a goroutine of its own
)

// note changes the ledger and sees to it that the change is sent. After close
// it does nothing.
func (r *responder) note(change func(*ledger.Receiver)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	change(&r.ledger)
	r.schedule()
}

// acked returns the id up to which everything is finished.
func (r *responder) acked() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Acked()
}

// told says whether everything has been sent.
func (r *responder) told() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == respondIdle && r.err == nil && !r.ledger.Pending()
}

// maxUntold bounds what a responder remembers for a client that does not read
// what it is told.
const maxUntold = 1 << 16

// overfull says whether there is too much to remember.
func (r *responder) overfull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Ranges() > maxUntold
}

func (r *responder) schedule() {
	if r.state != respondIdle || r.err != nil || !r.ledger.Pending() {
		return
	}
	var wait time.Duration
	if !r.closed {
		wait = r.interval - time.Since(r.last)
	}
	if wait <= 0 {
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

// fire is called by the timer.
func (r *responder) fire() {
	r.mu.Lock()
	ours := r.state == respondWaiting
	if ours {
		r.state = respondSending
		r.hold()
	}
	r.mu.Unlock()
	if ours {
		r.run()
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
		r.last, r.err = time.Now(), err
	}
	r.state = respondIdle
	r.settle()
}

// settle looks for what is to be done after a change of state.
func (r *responder) settle() {
	r.schedule()
	if r.closed && r.state == respondIdle {
		close(r.ended)
	}
}

// close has everything sent that is left, at once. The channel is closed when
// that is done, or cannot be done.
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// slot keeps one stream of a session open. It opens a stream, and opens the next
// stream when this stream is too old or has ended. Each slot has one goroutine, which executes
// run.
type slot[B any] struct {
	session  *Session[B]
	number   int
	retries  retries
	probe    chan struct{} // a call of Probe: try to open a stream now
	demand   chan struct{} // a batch waits for a stream
	sleeping atomic.Bool   // the slot waits for demand
	refused  atomic.Bool   // the server refused to open a stream at the last attempt
	once     sync.Once
	tried    chan struct{} // closed after the first attempt
}

// openStagger limits a wait at the start of a session. Slot n opens its stream after the first
// attempt of the previous slot, but waits at most n*openStagger. Load balancers distribute
// streams better if they are not opened at the same time.
const openStagger = time.Second

func newSlot[B any](s *Session[B], number int) *slot[B] {
	return &slot[B]{
		session: s,
		number:  number,
		retries: retries{config: &s.config},
		probe:   make(chan struct{}, 1),
		demand:  make(chan struct{}, 1),
		tried:   make(chan struct{}),
	}
}

func (t *slot[B]) run() {
	defer t.session.group.Done()
	defer t.markTried()
	if !t.begin() {
		return
	}
	var current *sender[B]
	for {
		next, refused, err := t.connect()
		if t.session.opening.Err() != nil && next == nil {
			return
		}
		if err != nil {
			wait := t.failed(err, refused)
			t.markTried()
			if !t.pause(wait) {
				return
			}
			continue
		}
		regular := t.install(next, current)
		t.markTried()
		current = next
		expired, ok := t.waitForEnd(current, regular)
		if !ok {
			return
		}
		if expired {
			continue
		}
		wait, idle := t.afterEnd(current)
		current = nil // an idle slot keeps no reference to its last stream
		ended := time.Now()
		if idle && !t.sleep() {
			return
		}
		if wait -= time.Since(ended); wait > 0 && !t.pause(wait) { // the time of the sleep counts as wait
			return
		}
	}
}

// markTried lets the next slot start.
func (t *slot[B]) markTried() { t.once.Do(func() { close(t.tried) }) }

// begin waits until the slot may start. It returns false if the session ends first.
func (t *slot[B]) begin() bool {
	if t.number == 0 {
		return true
	}
	timer := time.NewTimer(time.Duration(t.number) * openStagger)
	defer timer.Stop()
	select {
	case <-t.session.slots[t.number-1].tried:
	case <-timer.C:
	case <-t.session.opening.Done():
		return false
	}
	return true
}

// connect opens a stream and creates its writer. If this fails, failed is the error. refused is
// set, too, if an early retry is useless or the server refused the stream.
func (t *slot[B]) connect() (l *sender[B], refused *session.Fault, failed *Error) {
	s := t.session
	t.drainProbe() // this attempt satisfies the probe
	t.refused.Store(false)
	began := time.Now()
	stream, err := s.open(s.opening)
	if err != nil {
		failed = FromStatus(err)
		return nil, refusal(failed), failed
	}
	l = newSender(s, t.number, stream, began)
	stream.adopt(l.answered)
	// Creating the writer sends headers, and the server may not read them.
	guard := time.AfterFunc(s.config.AckTimeout, func() { _ = stream.Close() })
	unhook := context.AfterFunc(s.opening, func() { _ = stream.Close() })
	l.writer, err = s.newWriter(stream)
	unhook()
	inTime := guard.Stop()
	if err == nil && inTime && s.opening.Err() == nil {
		return l, nil, nil
	}
	_ = stream.Close() // the stream has failed or is not needed any more
	<-stream.Done()
	if err == nil {
		l.release()
	}
	switch {
	case !inTime:
		return nil, nil, &Error{Kind: KindUnavailable, Code: codes.DeadlineExceeded,
			Err: fmt.Errorf("the server did not read the headers of the stream within %v", s.config.AckTimeout)}
	case err == nil:
		return nil, nil, errorf(KindUnavailable, "the stream ended while its writer was created")
	}
	end := FromStatus(stream.Err())
	failed = writerError(err, end)
	if f := endOf(end, false); failed == end && f.Deliberate {
		return nil, f, failed
	}
	return nil, refusal(failed), failed
}

func writerError(err error, end *Error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known) && end != nil && end.Kind != KindCanceled:
		return end // the stream broke while its writer was created; end says why
	case known != nil:
		return known
	case errors.Is(err, stef.ErrSchema):
		return errorf(KindIncompatible, "batch writer: %w", err)
	}
	return &Error{Kind: KindUnknown, Code: codes.Internal, Err: fmt.Errorf("batch writer: %w", err)}
}

// install makes the stream next live and retires the stream current. It reports whether
// current was live until now.
func (t *slot[B]) install(next, current *sender[B]) (regular bool) {
	s := t.session
	now := time.Now()
	var previous *session.Stream
	if current != nil {
		previous = current.state
	}
	var out session.Decisions
	s.mu.Lock()
	s.unopened.Store(nil)
	regular, forced := s.machine.Opened(next.state, previous, now, &out)
	s.mu.Unlock()
	if f := s.config.Events.StreamOpened; f != nil {
		f(t.number, now.Sub(next.began))
	}
	for _, other := range s.slots {
		if other.refused.Load() { // the other slot may wait without limit
			signal(other.probe)
		}
	}
	s.carryOut(&out)
	s.group.Add(2)
	go next.send()
	go next.watch()
	if forced {
		_ = next.stream.Close()
	}
	return regular
}

// waitForEnd waits until a stream reaches its maximum age (expired) or must be replaced
// for another reason. ok is false at the end of the session.
func (t *slot[B]) waitForEnd(l *sender[B], regular bool) (expired, ok bool) {
	var expiry <-chan time.Time
	if life := t.session.config.lifetime(t.number, regular); life > 0 {
		timer := time.NewTimer(life)
		defer timer.Stop()
		expiry = timer.C
	}
	select {
	case <-l.replace:
		return false, true
	case <-expiry:
		t.retries.lived(l.state.Age(time.Now()))
		return true, true
	case <-t.session.opening.Done():
		return false, false
	}
}

// failed records a failed attempt and returns the time until the next attempt. The time is 0 if
// the next attempt needs a call of Probe. The usual backoff applies, not ProbeInterval, if the
// server accepted the stream and then refused it, or if another stream is live.
func (t *slot[B]) failed(err *Error, refused *session.Fault) time.Duration {
	s := t.session
	wait := t.retries.next(err)
	s.lastErr.Store(err)
	var out session.Decisions
	s.mu.Lock()
	live := s.machine.OpenFailed(refused, time.Now(), &out)
	// Store this before the lock is released: a slot that opens a stream later must see it. If
	// the server accepts streams and then refuses them, store false: an open stream is no sign
	// that the server accepts data now.
	t.refused.Store(refused != nil && refused.Class != session.Refused)
	if live == 0 {
		s.unopened.Store(&openFailure{err, time.Now()})
	}
	s.mu.Unlock()
	switch {
	case !t.refused.Load() || live > 0:
	case s.config.ProbeInterval < 0:
		wait = 0
	default:
		wait = max(wait, s.config.ProbeInterval)
	}
	if f := s.config.Events.OpenFailed; f != nil {
		f(t.number, err, wait)
	}
	s.carryOut(&out)
	return wait
}

// afterEnd is called after the end of a stream. It returns how long to wait before the next stream
// is opened, and whether to wait for a batch first. The wait is 0 if the stream lived longer than
// the backoff, the server ended the stream gracefully, and the server did not ask for a delay.
func (t *slot[B]) afterEnd(l *sender[B]) (wait time.Duration, idle bool) {
	s := t.session
	t.drainProbe() // ignore calls of Probe while the stream was live
	s.mu.Lock()
	end := l.state.Outcome()
	age := l.state.Age(time.Now())
	var cause *Error
	if end.Cause != nil {
		cause = s.cause(end.Cause, nil)
		if !end.Idle && s.machine.Status().Live == 0 {
			s.unopened.Store(&openFailure{cause, time.Now()})
		}
	}
	s.mu.Unlock()
	if end.Worked || cause != nil && cause.HasRetryInfo {
		// Do not count this as a failure. A server may end a stream because of a single
		// batch. If the server asks for a delay, the client need not wait longer.
		t.retries.failures = 0
	}
	if t.retries.lived(age) && end.InOrder && (cause == nil || cause.RetryDelay == 0) {
		return 0, end.Idle
	}
	return t.retries.next(cause), end.Idle
}

// sleep waits until there is a batch to send, and reports whether the session
// continues.
func (t *slot[B]) sleep() bool {
	s := t.session
	t.sleeping.Store(true)
	defer t.sleeping.Store(false)
	select {
	case <-t.demand: // an old wakeup: another stream has accepted the batch
	default:
	}
	s.mu.Lock()
	may := s.machine.Sleep()
	s.mu.Unlock()
	if !may {
		return true
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.machine.Wake()
	}()
	select {
	case <-t.demand:
	case <-t.probe:
	case <-s.opening.Done():
		return false
	}
	return true
}

func (t *slot[B]) drainProbe() {
	select {
	case <-t.probe:
	default:
	}
}

// pause waits for the given time, or without limit if wait is 0, and reports
// whether the session continues.
func (t *slot[B]) pause(wait time.Duration) bool {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-t.probe:
	case <-t.session.opening.Done():
		return false
	}
	return true
}

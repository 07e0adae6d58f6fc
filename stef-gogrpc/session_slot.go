// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
)

// slot keeps one live stream: it opens one, and the next one when that is old
// or gone. It is one goroutine.
type slot[B any] struct {
	session *Session[B]
	number  int
	retries retries
	kick    chan struct{} // try now
	once    sync.Once
	tried   chan struct{} // closed after the first attempt
}

// openStagger is how long a slot waits, at first, for the attempt of the one
// before it. Load balancers spread streams that are opened one after another.
const openStagger = time.Second

func newSlot[B any](s *Session[B], number int) *slot[B] {
	return &slot[B]{
		session: s,
		number:  number,
		retries: retries{config: &s.config},
		kick:    make(chan struct{}, 1),
		tried:   make(chan struct{}),
	}
}

func (t *slot[B]) run() {
	defer t.session.group.Done()
	defer t.first()
	if !t.begin() {
		return
	}
	var current *lane[B]
	for {
		next, err := t.connect()
		if t.session.opening.Err() != nil && next == nil {
			return
		}
		if err != nil {
			wait := t.failed(err)
			t.first()
			if !t.pause(wait) {
				return
			}
			continue
		}
		regular := t.install(next, current)
		t.first()
		current = next
		expired, ok := t.hold(current, regular)
		if !ok {
			return
		}
		if expired {
			continue
		}
		if wait := t.afterEnd(current); wait > 0 && !t.pause(wait) {
			return
		}
	}
}

// first tells the next slot that it is its turn.
func (t *slot[B]) first() { t.once.Do(func() { close(t.tried) }) }

// begin waits for the turn of the slot and reports whether it comes.
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

// connect opens a stream and makes its writer.
func (t *slot[B]) connect() (*lane[B], *Error) {
	s := t.session
	t.forgetKick() // what it asks for is done now
	began := time.Now()
	stream, err := s.open(s.opening)
	if err != nil {
		return nil, FromStatus(err)
	}
	l := &lane[B]{
		session: s,
		slot:    t.number,
		stream:  stream,
		began:   began,
		wake:    make(chan struct{}, 1),
		poke:    make(chan struct{}, 1),
		gone:    make(chan struct{}),
	}
	stream.adopt(l.respond)
	// Headers are written in here, to a server that may not read.
	guard := time.AfterFunc(s.config.AckTimeout, func() { _ = stream.Close() })
	unhook := context.AfterFunc(s.opening, func() { _ = stream.Close() })
	l.writer, err = s.newWriter(stream)
	unhook()
	inTime := guard.Stop()
	if err == nil && inTime && s.opening.Err() == nil {
		return l, nil
	}
	_ = stream.Close() // it has failed already, or is not wanted any more
	<-stream.Done()
	switch {
	case !inTime:
		return nil, &Error{Kind: KindUnavailable, Code: codes.DeadlineExceeded,
			Err: fmt.Errorf("the server did not take the headers within %v", s.config.AckTimeout)}
	case err == nil:
		return nil, errorf(KindUnavailable, "the stream ended while its writer was made")
	}
	return nil, writerError(err, FromStatus(stream.Err()))
}

// writerError is why a writer could not be made.
func writerError(err error, end *Error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known) && end != nil && end.Kind != KindCanceled:
		return end // the stream broke under it, and knows why
	case known != nil:
		return known
	case errors.Is(err, stef.ErrSchema):
		return errorf(KindIncompatible, "batch writer: %w", err)
	}
	return &Error{Kind: KindUnknown, Code: codes.Internal, Err: fmt.Errorf("batch writer: %w", err)}
}

// install makes a stream live and lets go of the one before. It reports whether
// that was live until now.
func (t *slot[B]) install(next, current *lane[B]) (regular bool) {
	s := t.session
	var out outbox[B]
	s.mu.Lock()
	next.opened = time.Now()
	next.state = laneLive
	s.lanes = append(s.lanes, next)
	s.live++
	s.counters.Opened++
	out.note(s, t.number, event{kind: eventOpened, duration: next.opened.Sub(next.began)})
	if current != nil {
		regular = current.state == laneLive
		current.retire(CloseRotated, &out)
	}
	if s.refused != nil {
		s.refused = nil
		for _, other := range s.slots {
			signal(other.kick)
		}
	}
	s.fill(&out)
	forced := s.forced
	s.mu.Unlock()
	out.deliver(s)
	s.group.Add(2)
	go next.own()
	go next.watch()
	if forced {
		_ = next.stream.Close()
	}
	return regular
}

// hold waits until a stream is as old as it may get (expired) or has to be
// replaced for another reason. ok is false at the end of the session.
func (t *slot[B]) hold(l *lane[B], regular bool) (expired, ok bool) {
	var expiry <-chan time.Time
	if life := t.session.config.lifetime(t.number, regular); life > 0 {
		timer := time.NewTimer(life)
		defer timer.Stop()
		expiry = timer.C
	}
	select {
	case <-l.gone:
		return false, true
	case <-expiry:
		t.retries.lived(time.Since(l.opened))
		return true, true
	case <-t.session.opening.Done():
		return false, false
	}
}

// failed notes a failed attempt and returns the time until the next, 0 if it
// has to be asked for.
func (t *slot[B]) failed(err *Error) time.Duration {
	s := t.session
	wait := t.retries.next(err)
	var out outbox[B]
	s.mu.Lock()
	s.lastErr, s.refused = err, nil
	if refusal(err) {
		s.refused = err
		if s.live == 0 && s.config.Probe < 0 {
			wait = 0
		} else if s.live == 0 {
			wait = max(wait, s.config.Probe)
		}
	}
	out.note(s, t.number, event{kind: eventOpenFailed, err: err, duration: wait})
	s.fill(&out)
	s.mu.Unlock()
	out.deliver(s)
	return wait
}

// afterEnd returns how long to wait after the end of a stream before the next
// is opened. Streams that a server ends in order are replaced at once.
func (t *slot[B]) afterEnd(l *lane[B]) time.Duration {
	s := t.session
	t.forgetKick() // the stream was live then
	s.mu.Lock()
	cause, inOrder, worked := l.endCause, l.inOrder, l.done > 0
	age := time.Since(l.opened)
	s.mu.Unlock()
	if worked || cause != nil && cause.HasRetryInfo {
		// Servers end streams over single batches, too, and who names a delay
		// wants no other.
		t.retries.failures = 0
	}
	if t.retries.lived(age) && inOrder && (cause == nil || cause.RetryDelay == 0) {
		return 0
	}
	return t.retries.next(cause)
}

func (t *slot[B]) forgetKick() {
	select {
	case <-t.kick:
	default:
	}
}

// pause waits, for as long as it takes if wait is 0, and reports whether the
// session goes on.
func (t *slot[B]) pause(wait time.Duration) bool {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-t.kick:
	case <-t.session.opening.Done():
		return false
	}
	return true
}

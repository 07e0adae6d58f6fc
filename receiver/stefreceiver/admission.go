// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errNoRoom is the refusal of what would have to wait where too much waits.
var errNoRoom = errors.New("too much data waits to be processed")

// admission bounds the bytes that are being worked on. Who does not fit waits;
// who would make too many bytes wait is refused. The last to come is the first
// to be admitted: under lasting pressure those that come late still have time to
// be served, while the oldest are about to be given up by their clients anyway.
//
// What is admitted is given back with add, which cannot fail.
type admission struct {
	limit        int64 // 0: everything is admitted
	waitingLimit int64

	mu       sync.Mutex
	inFlight int64
	waiting  int64
	room     []*waiter // the last to come is at the end
}

// waiter is one that waits for admission.
type waiter struct {
	bytes    int64
	admitted chan struct{}
}

// weight is what n bytes count. What is larger than all that can be admitted is
// admitted alone, rather than never.
func (a *admission) weight(n int64) int64 {
	if a.limit > 0 {
		n = min(n, a.limit)
	}
	return n
}

// acquire admits n bytes, a weight. It waits if it must, and returns errNoRoom
// or the error of the context if nothing was admitted.
func (a *admission) acquire(ctx context.Context, n int64) error {
	w := a.enter(n)
	switch {
	case w == nil:
		return nil
	case w.admitted == nil:
		return errNoRoom
	}
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
		a.leave(w)
		return ctx.Err()
	}
}

// enter admits n bytes and returns nil, or returns a waiter, which cannot wait
// if there is no room.
func (a *admission) enter(n int64) *waiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fits(n) {
		a.inFlight += n
		return nil
	}
	w := &waiter{bytes: n}
	if a.waiting+n <= a.waitingLimit {
		w.admitted = make(chan struct{})
		a.waiting += n
		a.room = append(a.room, w)
	}
	return w
}

// leave ends a wait that is not over, or gives back what was admitted in the
// meantime.
func (a *admission) leave(w *waiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.room, w); i >= 0 {
		a.room = slices.Delete(a.room, i, i+1)
		a.waiting -= w.bytes
	} else {
		a.inFlight -= w.bytes
	}
	a.admit()
}

// add changes what is admitted by n bytes, whether they fit or not.
func (a *admission) add(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight += n
	if n < 0 {
		a.admit()
	}
}

// admit ends the waits that can be ended.
func (a *admission) admit() {
	for last := len(a.room) - 1; last >= 0 && a.fits(a.room[last].bytes); last-- {
		w := a.room[last]
		a.room[last] = nil
		a.room = a.room[:last]
		a.waiting -= w.bytes
		a.inFlight += w.bytes
		close(w.admitted)
	}
}

func (a *admission) fits(n int64) bool { return a.limit == 0 || a.inFlight+n <= a.limit }

// state returns the bytes admitted and those that wait.
func (a *admission) state() (inFlight, waiting int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inFlight, a.waiting
}

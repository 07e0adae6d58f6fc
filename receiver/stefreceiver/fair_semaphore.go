// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errQueueFull refuses a request that would have to wait while too much data already waits.
var errQueueFull = errors.New("too much data waits to be processed, more than admission::waiting_limit_mib of the receiver")

// fairSemaphore is a weighted semaphore that shares a resource fairly between clients, such as the
// bytes of decoded telemetry or the number of concurrent decoders. A request for an amount that is
// not available waits. If too much data already waits, the request is refused.
//
// Waiting requests are admitted by start-time fair queueing: each client has a
// virtual time that advances by the admitted amount, and the request with the
// earliest start is next. Among requests with the same start, the request that arrived last
// is next: under constant overload, recent requests can still be served in time, while the
// clients of the oldest requests are about to give up.
//
// A client that already uses the resource may use at most three quarters of it, so that there
// is always a part for another client. While other clients are active, the limit is one quarter:
// otherwise a few small batches among many large batches would get too little CPU time.
type fairSemaphore struct {
	limit        int64 // 0: everything is admitted
	waitingLimit int64

	mu             sync.Mutex
	inUse          int64
	waiting        int64
	virtualTime    int64        // the latest virtual start of an admitted request
	arrived        uint64       // number of requests that had to wait so far
	waitingClients []*usage     // clients with waiting requests
	recent         [2]recentUse // of different clients, the most recent first
}

// recentUse is the most recent request of a client.
type recentUse struct {
	usage *usage
	at    time.Time
}

// activePeriod is how long a client counts as active after a request.
const activePeriod = time.Second

// usage is the state of one client in a fairSemaphore.
type usage struct {
	inUse, waiting int64
	finish         int64 // virtual time after all requests of the client
	// waiters contains the waiting requests of the client, the earliest virtual start first. Only the
	// first request can be next, so a search for the next request reads one request per client,
	// even if a client has thousands of streams.
	waiters []*waiter
}

// maxKeptWaiters is the largest capacity of usage.waiters that stays allocated when no request waits.
const maxKeptWaiters = 64

type waiter struct {
	usage    *usage
	n, start int64
	arrival  uint64
	admitted chan struct{}
}

func newFairSemaphore(limit, waitingLimit int64) fairSemaphore {
	return fairSemaphore{limit: limit, waitingLimit: waitingLimit}
}

// weight returns n, but at most the limit. So a request that is larger than the limit is
// admitted when nothing else is in use. With its real size, it would never be admitted.
func (s *fairSemaphore) weight(n int64) int64 {
	if s.limit > 0 {
		n = min(n, s.limit)
	}
	return n
}

// acquire admits n, and waits if necessary. Callers limit n with weight. If nothing was
// admitted, acquire returns errQueueFull or the error of the context.
func (s *fairSemaphore) acquire(ctx context.Context, a *usage, n int64) error {
	return s.wait(ctx, s.acquireOrEnqueue(a, n))
}

// accepted reports whether a request was admitted (w is nil) or waits. It returns false if the
// request was refused.
func (w *waiter) accepted() bool { return w == nil || w.admitted != nil }

// wait waits until w, the result of acquireOrEnqueue, is admitted. It returns the same errors as acquire.
func (s *fairSemaphore) wait(ctx context.Context, w *waiter) error {
	switch {
	case w == nil:
		return nil
	case w.admitted == nil:
		return errQueueFull
	}
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
		s.cancel(w)
		return ctx.Err()
	}
}

// acquireOrEnqueue admits n and returns nil, or returns a waiter. If the channel admitted of the
// waiter is nil, the request is refused. Otherwise the request waits, and the channel is closed
// when the request is admitted.
func (s *fairSemaphore) acquireOrEnqueue(a *usage, n int64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordUse(a)
	start := max(a.finish, s.virtualTime)
	if s.fits(n) && s.withinShare(a, n) && !s.earlierWaiter(start) {
		s.grant(a, start, n)
		return nil
	}
	w := &waiter{usage: a, n: n, start: start}
	if s.waiting+n > s.waitingLimit || a.waiting > 0 && a.waiting+n > s.waitingLimit-s.waitingLimit/4 {
		return w
	}
	w.admitted = make(chan struct{})
	a.finish = start + n
	a.waiting += n
	s.waiting += n
	s.arrived++
	w.arrival = s.arrived
	if a.waiters = append(a.waiters, w); len(a.waiters) == 1 {
		s.waitingClients = append(s.waitingClients, a)
	}
	return w
}

// earlierWaiter reports whether a waiting request has an earlier virtual start time and is within
// the share of its client.
func (s *fairSemaphore) earlierWaiter(start int64) bool {
	w := s.next()
	return w != nil && w.start < start
}

// cancel ends the wait of a request whose context has ended. If the request was admitted in the
// meantime, cancel releases the admitted amount.
func (s *fairSemaphore) cancel(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(w.usage.waiters, w); i >= 0 {
		s.remove(w.usage, i)
	} else {
		s.inUse -= w.n
		w.usage.inUse -= w.n
	}
	s.admit()
}

// adjust changes the admitted amount of a client by n, even if the amount then exceeds the limit.
func (s *fairSemaphore) adjust(a *usage, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.finish += n
	s.add(a, n)
}

// reacquire admits n immediately, even if it does not fit. Use it for an n that was admitted and
// released before.
func (s *fairSemaphore) reacquire(a *usage, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(a, n)
}

func (s *fairSemaphore) release(a *usage, n int64) { s.reacquire(a, -n) }

func (s *fairSemaphore) add(a *usage, n int64) {
	s.inUse += n
	a.inUse += n
	if n < 0 {
		s.admit()
	}
}

// admit admits waiting requests in their order, until one does not fit.
func (s *fairSemaphore) admit() {
	for {
		w := s.next()
		if w == nil || !s.fits(w.n) {
			return
		}
		s.remove(w.usage, 0)
		s.grant(w.usage, w.start, w.n)
		close(w.admitted)
	}
}

// next returns the waiter to admit next, or nil if admitting any waiter would exceed the share of
// its client.
func (s *fairSemaphore) next() *waiter {
	var best *waiter
	for _, a := range s.waitingClients {
		w := a.waiters[0]
		if s.withinShare(a, w.n) && (best == nil || w.start < best.start || w.start == best.start && w.arrival > best.arrival) {
			best = w
		}
	}
	return best
}

func (s *fairSemaphore) remove(a *usage, i int) {
	n := a.waiters[i].n
	if a.waiters = slices.Delete(a.waiters, i, i+1); len(a.waiters) == 0 {
		if cap(a.waiters) > maxKeptWaiters {
			a.waiters = nil
		}
		at := slices.Index(s.waitingClients, a)
		s.waitingClients = slices.Delete(s.waitingClients, at, at+1)
	}
	s.waiting -= n
	a.waiting -= n
}

func (s *fairSemaphore) grant(a *usage, start, n int64) {
	s.virtualTime = max(s.virtualTime, start)
	a.finish = max(a.finish, start+n)
	a.inUse += n
	s.inUse += n
}

func (s *fairSemaphore) fits(n int64) bool { return s.limit == 0 || s.inUse+n <= s.limit }

func (s *fairSemaphore) withinShare(a *usage, n int64) bool {
	if s.limit == 0 || a.inUse <= 0 {
		return true
	}
	share := s.limit - s.limit/4
	if s.contended(a) {
		share = max(s.limit/4, 1)
	}
	return a.inUse+n <= share
}

func (s *fairSemaphore) recordUse(a *usage) {
	if s.recent[0].usage != a {
		s.recent[1] = s.recent[0]
	}
	s.recent[0] = recentUse{a, time.Now()}
}

// contended reports whether clients other than a are active.
func (s *fairSemaphore) contended(a *usage) bool {
	other := &s.recent[0]
	if other.usage == a {
		other = &s.recent[1]
	}
	return other.usage != nil && time.Since(other.at) < activePeriod
}

func (s *fairSemaphore) state() (inUse, waiting int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse, s.waiting
}

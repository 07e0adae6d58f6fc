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

// errNoRoom refuses a request that would have to wait while too much data already waits.
var errNoRoom = errors.New("too much data waits to be processed, more than admission::waiting_limit_mib of the receiver")

// gate shares a resource fairly between clients, such as the bytes of decoded telemetry or
// the number of concurrent decoders. A request that does not fit waits. If too much data
// already waits, the request is refused.
//
// Waiting requests are admitted by start-time fair queueing: each client has a
// virtual time that advances by the admitted amount, and the request with the
// earliest start is next. Among requests with the same start, the request that arrived last
// is next: under constant overload, recent requests can still be served in time, while the
// clients of the oldest requests are about to give up.
//
// A client that already uses the resource may use at most three quarters of it, so that there
// is always room for another client. While other clients are present, the limit is one quarter:
// otherwise a few small batches among many large batches would get too little CPU time.
type gate struct {
	limit        int64 // 0: everything is admitted
	waitingLimit int64

	mu      sync.Mutex
	inUse   int64
	waiting int64
	now     int64      // virtual time
	arrived uint64     // number of requests that had to wait so far
	room    []*account // clients with waiting requests
	recent  [2]visit   // visits of different clients, the most recent first
}

// visit is the most recent request of a client.
type visit struct {
	account *account
	at      time.Time
}

// presence is how long a client counts as present after a request.
const presence = time.Second

// account is the state of one client in a gate.
type account struct {
	inUse, waiting int64
	finish         int64 // virtual time after all requests of the client
	// room contains the waiting requests of the client, the earliest virtual start first. Only the
	// first request can be next, so a search for the next request reads one request per client,
	// even if a client has thousands of streams.
	room []*waiter
}

// keptRoom is the largest capacity of account.room that stays allocated when no request waits.
const keptRoom = 64

type waiter struct {
	account  *account
	n, start int64
	arrival  uint64
	admitted chan struct{}
}

func newGate(limit, waitingLimit int64) gate {
	return gate{limit: limit, waitingLimit: waitingLimit}
}

// weight returns n, but at most the limit. So a request that is larger than the limit is
// admitted when nothing else is in use. With its real size, it would never be admitted.
func (g *gate) weight(n int64) int64 {
	if g.limit > 0 {
		n = min(n, g.limit)
	}
	return n
}

// acquire admits n, and waits if necessary. Callers limit n with weight. If nothing was
// admitted, acquire returns errNoRoom or the error of the context.
func (g *gate) acquire(ctx context.Context, a *account, n int64) error {
	return g.wait(ctx, g.enter(a, n))
}

// mayWait reports whether the request of a waiter was admitted (w is nil) or waits. It returns
// false if the request was refused.
func (w *waiter) mayWait() bool { return w == nil || w.admitted != nil }

// wait waits until w, the result of enter, is admitted. It returns the same errors as acquire.
func (g *gate) wait(ctx context.Context, w *waiter) error {
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
		g.leave(w)
		return ctx.Err()
	}
}

// enter admits n and returns nil, or returns a waiter. If the channel admitted of the waiter is
// nil, the request is refused. Otherwise it waits, and the channel is closed when it is admitted.
func (g *gate) enter(a *account, n int64) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noteUse(a)
	start := max(a.finish, g.now)
	if g.fits(n) && g.withinShare(a, n) && !g.earlierWaiter(start) {
		g.grant(a, start, n)
		return nil
	}
	w := &waiter{account: a, n: n, start: start}
	if g.waiting+n > g.waitingLimit || a.waiting > 0 && a.waiting+n > g.waitingLimit-g.waitingLimit/4 {
		return w
	}
	w.admitted = make(chan struct{})
	a.finish = start + n
	a.waiting += n
	g.waiting += n
	g.arrived++
	w.arrival = g.arrived
	if a.room = append(a.room, w); len(a.room) == 1 {
		g.room = append(g.room, a)
	}
	return w
}

// earlierWaiter reports whether a waiting request has an earlier virtual start time and is within
// the share of its client.
func (g *gate) earlierWaiter(start int64) bool {
	w := g.next()
	return w != nil && w.start < start
}

// leave ends the wait of a request whose context has ended. If the request was admitted in the
// meantime, leave releases the admitted amount.
func (g *gate) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(w.account.room, w); i >= 0 {
		g.remove(w.account, i)
	} else {
		g.inUse -= w.n
		w.account.inUse -= w.n
	}
	g.admit()
}

// adjust changes the admitted amount of a client by n, even if the amount then exceeds the limit.
func (g *gate) adjust(a *account, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.finish += n
	g.add(a, n)
}

// reacquire admits n immediately, even if it does not fit. Use it for an n that was admitted and
// released before.
func (g *gate) reacquire(a *account, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(a, n)
}

func (g *gate) release(a *account, n int64) { g.reacquire(a, -n) }

func (g *gate) add(a *account, n int64) {
	g.inUse += n
	a.inUse += n
	if n < 0 {
		g.admit()
	}
}

// admit admits waiting requests in their order, until one does not fit.
func (g *gate) admit() {
	for {
		w := g.next()
		if w == nil || !g.fits(w.n) {
			return
		}
		g.remove(w.account, 0)
		g.grant(w.account, w.start, w.n)
		close(w.admitted)
	}
}

// next returns the waiter to admit next, or nil if admitting any waiter would exceed the share of
// its client.
func (g *gate) next() *waiter {
	var best *waiter
	for _, a := range g.room {
		w := a.room[0]
		if g.withinShare(a, w.n) && (best == nil || w.start < best.start || w.start == best.start && w.arrival > best.arrival) {
			best = w
		}
	}
	return best
}

func (g *gate) remove(a *account, i int) {
	n := a.room[i].n
	if a.room = slices.Delete(a.room, i, i+1); len(a.room) == 0 {
		if cap(a.room) > keptRoom {
			a.room = nil
		}
		at := slices.Index(g.room, a)
		g.room = slices.Delete(g.room, at, at+1)
	}
	g.waiting -= n
	a.waiting -= n
}

func (g *gate) grant(a *account, start, n int64) {
	g.now = max(g.now, start)
	a.finish = max(a.finish, start+n)
	a.inUse += n
	g.inUse += n
}

func (g *gate) fits(n int64) bool { return g.limit == 0 || g.inUse+n <= g.limit }

func (g *gate) withinShare(a *account, n int64) bool {
	if g.limit == 0 || a.inUse <= 0 {
		return true
	}
	share := g.limit - g.limit/4
	if g.contended(a) {
		share = max(g.limit/4, 1)
	}
	return a.inUse+n <= share
}

func (g *gate) noteUse(a *account) {
	if g.recent[0].account != a {
		g.recent[1] = g.recent[0]
	}
	g.recent[0] = visit{a, time.Now()}
}

// contended reports whether clients other than a are present.
func (g *gate) contended(a *account) bool {
	other := &g.recent[0]
	if other.account == a {
		other = &g.recent[1]
	}
	return other.account != nil && time.Since(other.at) < presence
}

func (g *gate) state() (inUse, waiting int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inUse, g.waiting
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// budget counts, over all streams of a server, the bytes that were received and
// not yet read, and the bytes of unfinished chunks that were read. A stream reserves
// memory before it receives bytes. A reservation that exceeds the bound waits.
//
// Bytes that a handler can still read are released when it reads them. Bytes of an unfinished chunk
// are held until the client finishes the chunk, so too many of these bytes would block the server.
// If these bytes fill the budget, evict ends the stream that holds most of them.
type budget struct {
	max   int64
	evict func() // nil: no stream is ended

	mu      sync.Mutex
	used    int64
	held    int64          // part of used: bytes of unfinished chunks that were read
	queue   []*reservation // in order of arrival, so that large reservations do not starve
	waiting int64          // sum of the bytes of the reservations in queue
}

type reservation struct {
	bytes   int64
	granted chan struct{}
}

// evictAfter is how long a reservation waits before the server ends a stream to make room for the reservation.
// Only a stream that has waited for the same time is ended, see evict.
const evictAfter = time.Second

// acquire reserves n bytes, which must fit in the whole budget, as soon as there is room for
// them. It returns the error of the context, or an error of KindLimit if the bytes that wait
// already exceed the whole budget.
func (b *budget) acquire(ctx context.Context, n int64) error {
	b.mu.Lock()
	if len(b.queue) == 0 && b.used+n <= b.max {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	if b.waiting > b.max {
		b.mu.Unlock()
		return memoryError("the server has no memory left for received data")
	}
	c := &reservation{bytes: n, granted: make(chan struct{})}
	b.queue = append(b.queue, c)
	b.waiting += n
	b.mu.Unlock()

	ticker := time.NewTicker(evictAfter)
	defer ticker.Stop()
	for {
		select {
		case <-c.granted:
			return nil
		case <-ctx.Done():
			b.cancel(c)
			return ctx.Err()
		case <-ticker.C:
			if b.evict != nil && b.blockedBy(c) {
				b.evict()
			}
		}
	}
}

// blockedBy reports whether c is the next reservation and waits because of unfinished chunks.
func (b *budget) blockedBy(c *reservation) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && b.queue[0] == c && (b.held > b.max/2 || b.held == b.used)
}

// hold notes that n of the reserved bytes were read and belong to an unfinished chunk.
func (b *budget) hold(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
}

func (b *budget) releaseHeld(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	b.used -= n
	b.grant()
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.grant()
}

// cancel ends the wait of a reservation. If the reservation is already granted, its bytes are released.
func (b *budget) cancel(c *reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, c); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.waiting -= c.bytes
	} else {
		b.used -= c.bytes
	}
	b.grant()
}

func (b *budget) grant() {
	for len(b.queue) > 0 && b.used+b.queue[0].bytes <= b.max {
		b.used += b.queue[0].bytes
		b.waiting -= b.queue[0].bytes
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}

func (b *budget) state() (used int64, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, len(b.queue)
}

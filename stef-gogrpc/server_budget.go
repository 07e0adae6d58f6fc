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
// not yet read, and the bytes of unfinished chunks that were read. A claim that
// exceeds the bound waits.
//
// Bytes that a handler can still read are released when it reads them. Bytes of an
// unfinished chunk are held until the client finishes the chunk, so enough of such
// bytes would block the server. If such bytes fill the budget, relieve ends the stream that
// holds most of them.
type budget struct {
	max     int64
	relieve func() // nil: no stream is ended

	mu      sync.Mutex
	used    int64
	held    int64    // part of used: bytes of unfinished chunks that were read
	queue   []*claim // in order of arrival, so that large claims do not starve
	waiting int64    // sum of the bytes of the claims in queue
}

type claim struct {
	bytes   int64
	granted chan struct{}
}

// pressure is how long a claim waits before the server ends a stream to make room for the claim.
// Only a stream that has waited for the same time is ended, see evict.
const pressure = time.Second

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
		return crowded("the server has no memory left for received data")
	}
	c := &claim{bytes: n, granted: make(chan struct{})}
	b.queue = append(b.queue, c)
	b.waiting += n
	b.mu.Unlock()

	patience := time.NewTicker(pressure)
	defer patience.Stop()
	for {
		select {
		case <-c.granted:
			return nil
		case <-ctx.Done():
			b.withdraw(c)
			return ctx.Err()
		case <-patience.C:
			if b.relieve != nil && b.blockedBy(c) {
				b.relieve()
			}
		}
	}
}

// blockedBy reports whether c is the next claim and waits because of unfinished chunks.
func (b *budget) blockedBy(c *claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && b.queue[0] == c && (b.held > b.max/2 || b.held == b.used)
}

// hold notes that n of the bytes were read and belong to an unfinished chunk.
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

// withdraw cancels a claim. If the claim is already granted, its bytes are released.
func (b *budget) withdraw(c *claim) {
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

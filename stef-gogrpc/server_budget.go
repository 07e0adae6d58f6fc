// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"slices"
	"sync"
)

// budget counts the bytes that were received and not yet read, over all streams
// of a server, and makes those wait that would exceed the bound. Whoever waits
// holds nothing that others wait for: what a stream has taken is given back when
// its handler reads on, which needs nothing more to be taken.
type budget struct {
	max int64

	mu    sync.Mutex
	used  int64
	queue []*claim // in the order of arrival, so that large ones get their turn
}

// claim is one that waits.
type claim struct {
	bytes   int64
	granted chan struct{}
}

// take counts n bytes, as soon as there is room for them. The error is that of
// the context, or of KindLimit where there can never be room.
func (b *budget) take(ctx context.Context, n int64) error {
	if n > b.max {
		return errorf(KindLimit, "message with %d bytes of data, at most %d fit the server", n, b.max)
	}
	b.mu.Lock()
	if len(b.queue) == 0 && b.used+n <= b.max {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	c := &claim{bytes: n, granted: make(chan struct{})}
	b.queue = append(b.queue, c)
	b.mu.Unlock()

	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
		b.withdraw(c)
		return ctx.Err()
	}
}

// give gives n bytes back.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.grant()
}

// withdraw takes a claim back, granted or not.
func (b *budget) withdraw(c *claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, c); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	} else {
		b.used -= c.bytes
	}
	b.grant()
}

func (b *budget) grant() {
	for len(b.queue) > 0 && b.used+b.queue[0].bytes <= b.max {
		b.used += b.queue[0].bytes
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}

// state returns the bytes counted and the number of those that wait.
func (b *budget) state() (used int64, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, len(b.queue)
}

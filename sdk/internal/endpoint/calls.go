// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"maps"
	"slices"
	"sync"
)

type calls struct {
	mu      sync.Mutex
	running map[chan struct{}]struct{}
	closed  bool
}

// enter begins a call, unless close was called.
func (c *calls) enter() (done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	if c.running == nil {
		c.running = map[chan struct{}]struct{}{}
	}
	call := make(chan struct{})
	c.running[call] = struct{}{}
	return func() {
		c.mu.Lock()
		delete(c.running, call)
		c.mu.Unlock()
		close(call)
	}, true
}

// close makes enter refuse further calls. It returns false if close was called before.
func (c *calls) close() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.closed
	c.closed = true
	return first
}

// wait waits until the calls that have begun so far have ended.
func (c *calls) wait(ctx context.Context) error {
	c.mu.Lock()
	list := slices.Collect(maps.Keys(c.running))
	c.mu.Unlock()
	for _, call := range list {
		select {
		case <-call:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

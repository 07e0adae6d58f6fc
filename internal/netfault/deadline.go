// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"sync"
	"time"
)

// deadline is a point in time that may change while goroutines wait for it.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	moved chan struct{} // closed when the deadline has passed or was changed
}

func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = at
	d.release()
	if at.IsZero() {
		return
	}
	if wait := time.Until(at); wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.release()
		})
	}
}

// release wakes the waiters, so that they check the deadline again. The caller holds the mutex.
func (d *deadline) release() {
	if d.moved != nil {
		close(d.moved)
		d.moved = nil
	}
}

// wait returns a channel that is closed when the waiter must check the deadline again.
func (d *deadline) wait() <-chan struct{} {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.moved == nil {
		d.moved = make(chan struct{})
		if !d.at.IsZero() && !time.Now().Before(d.at) {
			close(d.moved)
			moved := d.moved
			d.moved = nil
			return moved
		}
	}
	return d.moved
}

func (d *deadline) passed() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

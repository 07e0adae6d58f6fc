// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"sync"
	"time"
)

// idle knows when the next batch of each source is due. While one source waits, another may
// send, so only the earliest batch of all sources ends the wait of the player.
type idle struct {
	mu sync.Mutex
	// due has the sources that have not ended. The time of a source is zero while it reads or sends.
	due map[int]time.Time
}

func newIdle(sources int) *idle {
	i := &idle{due: map[int]time.Time{}}
	for source := range sources {
		i.due[source] = time.Time{}
	}
	return i
}

// sends records that a source does not wait.
func (i *idle) sends(source int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.due[source] = time.Time{}
}

// waits records when the next batch of a source is due. It returns the time until the earliest
// batch of all sources, or 0 if a source does not wait.
func (i *idle) waits(source int, due time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.due[source] = due
	return i.left()
}

// ends records that a source has no more batches. It returns the same time as the method waits.
func (i *idle) ends(source int) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.due, source)
	return i.left()
}

func (i *idle) left() time.Duration {
	var first time.Time
	for _, due := range i.due {
		if due.IsZero() {
			return 0
		}
		if first.IsZero() || due.Before(first) {
			first = due
		}
	}
	if first.IsZero() { // all sources have ended
		return 0
	}
	return time.Until(first)
}

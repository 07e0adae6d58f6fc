// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"time"
)

// pauseIntervals is the minimum length of a pause, in multiples of FlushInterval. A pause
// is a time without batches.
const pauseIntervals = 4

// pause detects when batches are rare. Waiting for FlushInterval is useful if other batches
// probably join the frame. After a pause, the wait only delays the batch. It also costs CPU
// time, because at the end of the interval the caches of the CPU hold other data.
type pause struct {
	early int // number of next frames that need not wait
}

// submit processes a batch that was submitted after a gap.
func (p *pause) submit(c *Config, gap time.Duration) {
	if gap >= pauseIntervals*c.FlushInterval {
		p.early = c.EarlyFrames
	}
}

// frame processes the end of a frame for which n callers waited. If n is greater than 1,
// batches are not rare any more.
func (p *pause) frame(n int) {
	if n > 1 {
		p.early = 0
	}
}

// endsEarly reports whether a frame ends without waiting, and counts such frames. If earlier
// batches of the stream are unanswered, the frame waits, so that it contains the further
// batches of a burst.
func (p *pause) endsEarly(s *Stream) bool {
	if p.early <= 0 || s.unanswered() {
		return false
	}
	p.early--
	return true
}

// unanswered reports whether the stream has batches in frames that have ended.
func (s *Stream) unanswered() bool {
	b := s.pending.head
	return b != nil && b.last > 0 && b.last <= s.flushedTo
}

func (m *Machine) inFlight() bool { return slices.ContainsFunc(m.streams, (*Stream).unanswered) }

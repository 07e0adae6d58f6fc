// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"time"
)

// pauseIntervals is how many times FlushInterval passes without a batch before that
// counts as a pause.
const pauseIntervals = 4

// pause notices when batches are rare. Waiting for FlushInterval makes sense where other
// batches are likely to join the frame. After a pause it only delays the batch and costs
// CPU time, because by the end of the interval the caches of the CPU hold other data.
type pause struct {
	early int // frames that need not wait
}

// submit processes a batch that was submitted after a gap.
func (p *pause) submit(c *Config, gap time.Duration) {
	if gap >= pauseIntervals*c.FlushInterval {
		p.early = c.EarlyFrames
	}
}

// frame processes the end of a frame for which n callers waited. If several did, batches
// are not rare any more.
func (p *pause) frame(n int) {
	if n > 1 {
		p.early = 0
	}
}

// endsEarly reports whether a frame ends without waiting, and counts it. If earlier
// batches of its stream are unanswered, the frame waits, so that the further batches of a
// burst share it.
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

// inFlight reports whether any stream has batches in frames that have ended.
func (m *Machine) inFlight() bool { return slices.ContainsFunc(m.streams, (*Stream).unanswered) }

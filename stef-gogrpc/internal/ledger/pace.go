// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// Spacing is the minimum time between two responses if no records are outstanding.
const Spacing = time.Millisecond

// Pace decides when a receiver sends its next response. While records are
// outstanding, responses wait for the interval, so that one response acknowledges
// many batches. When no records are outstanding, only Spacing applies: no other
// acknowledgements can be merged into the response, and the sender may be waiting for it.
type Pace struct {
	Interval time.Duration

	last    time.Time // when the last response was sent
	decoded uint64    // the last id that was decoded
	waiting bool      // the receiver has read everything, and waits for more data
}

// Decoded notes that all records up to id were decoded. They are outstanding until
// they are finished.
func (p *Pace) Decoded(id uint64) { p.decoded = max(p.decoded, id) }

// WaitsForSender notes whether the receiver has read everything, and waits for more data of
// the sender.
func (p *Pace) WaitsForSender(waits bool) { p.waiting = waits }

// Sent notes that a response was sent.
func (p *Pace) Sent(now time.Time) { p.last = now }

// Due returns the time until the next response of l is due. The time is not positive if the
// response is due now. A response with the maximum number of ranges is due now, because
// no more ranges can be merged into it.
func (p *Pace) Due(l *Receiver, now time.Time) time.Duration {
	if l.canSend(maxResponseRanges) {
		return 0
	}
	interval := p.Interval
	if p.waiting && l.mark >= p.decoded && !l.ahead() {
		interval = min(interval, Spacing)
	}
	return interval - now.Sub(p.last)
}

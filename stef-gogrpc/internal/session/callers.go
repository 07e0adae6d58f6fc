// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// callers estimates how many callers of Send send their next batch only when the last
// one is answered. Once all of them wait for the same frame, no further batch can join it.
//
// The evidence is a frame that waited for further batches in vain, if its batches were
// submitted soon after an answer, and no others are in flight: the callers that wait then
// are those that the answers released. Callers that do not wait for answers rarely leave
// this evidence several times in a row, each time with the same number of batches.
type callers struct {
	waited   int // callers that waited for the last frame that is evidence
	frames   int // consecutive frames with that number
	estimate int // 0: none
	measured time.Time
}

const (
	// framesOfEvidence is the number of consecutive frames that the first estimate needs.
	framesOfEvidence = 3
	// measureEvery is the number of intervals after which a frame waits for a whole
	// interval, to measure the number of callers again. It costs 1 % of the time.
	measureEvery = 100
)

// measure processes a frame that waited, and ended while n callers waited for it and for
// the frames of other streams.
func (c *callers) measure(n int, evidence bool, now time.Time) {
	c.measured = now
	switch {
	case n == 0 || !evidence:
		c.waited, c.frames, c.estimate = 0, 0, 0
		return
	case n != c.waited:
		c.waited, c.frames = n, 0
	}
	c.frames++
	if c.frames >= framesOfEvidence || c.estimate > 0 {
		c.estimate = n
	}
}

// due reports whether a frame must wait for a whole interval, to measure again.
func (c *callers) due(interval time.Duration, now time.Time) bool {
	return c.estimate > 0 && now.Sub(c.measured) >= measureEvery*interval
}

// all returns the number of callers that wait when no further batch can join a frame,
// or 0 if that is not known.
func (c *callers) all(interval time.Duration, now time.Time) int {
	if c.due(interval, now) {
		return 0
	}
	return c.estimate
}

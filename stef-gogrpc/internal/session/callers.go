// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// callers estimates how many callers of Send send their next batch only when the last
// one is answered. Once all of them wait for the same frame, waiting for FlushInterval
// only delays them.
//
// The evidence is a frame that ended because FlushInterval was over, if its batches were
// submitted soon after an answer, and none in the second half of the interval: the
// callers that wait then are those that the answers released. Callers that do not wait
// for answers rarely leave this evidence several times in a row.
type callers struct {
	answered  time.Time // when a batch was last answered
	submitted time.Time // when a batch was last submitted
	released  bool      // a batch was answered since then
	prompt    bool      // the first batch after the last answer was submitted soon after it

	frames   int // consecutive frames that are evidence
	fewest   int // fewest callers that waited for one of them
	estimate int // 0: none
	measured time.Time
}

const (
	// framesOfEvidence is the number of consecutive frames that the first estimate needs.
	framesOfEvidence = 3
	// promptly is the fraction of the interval within which a caller that was released
	// by an answer submits its next batch.
	promptly = 10
	// measureEvery is the number of intervals after which a frame waits for a whole
	// interval, to measure the number of callers again. It costs 1 % of the time.
	measureEvery = 100
)

func (c *callers) answer(now time.Time) { c.answered, c.released = now, true }

func (c *callers) submit(interval time.Duration, now time.Time) {
	c.submitted = now
	if c.released {
		c.prompt, c.released = now.Sub(c.answered) <= interval/promptly, false
	}
}

// measure processes a frame that ended because the interval was over while n callers
// waited.
func (c *callers) measure(n int, interval time.Duration, now time.Time) {
	c.measured = now
	if n == 0 || !c.prompt || now.Sub(c.submitted) < interval/2 {
		c.frames, c.estimate = 0, 0
		return
	}
	if c.frames++; c.frames == 1 || c.estimate > 0 {
		c.fewest = n
	}
	c.fewest = min(c.fewest, n)
	if c.frames >= framesOfEvidence {
		c.estimate = c.fewest
	}
}

// all returns the number of callers that wait when no further batch can join a frame,
// or 0 if that is not known.
func (c *callers) all(interval time.Duration, now time.Time) int {
	if now.Sub(c.measured) >= measureEvery*interval {
		return 0
	}
	return c.estimate
}

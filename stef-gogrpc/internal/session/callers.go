// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// callers estimates how many callers of Send wait for an answer before they send their next
// batch. Once all of them wait for the same frame, no further batch can join this frame.
//
// A frame is evidence of the number of callers if all of this is true: the frame waited, but no
// further batch joined it; no other batches were in flight; its batches were submitted soon after
// an answer. Such batches most likely come from all callers that wait for answers: the last answers
// released these callers, and each has submitted its next batch. Callers that do not wait for
// answers rarely cause such frames several times in a row with the same number of batches.
type callers struct {
	waited   int // callers that waited for the last frame that is evidence
	frames   int // consecutive frames that are evidence with the same number of callers
	estimate int // 0: none
	measured time.Time
	valid    time.Duration // after this time, a frame waits for a whole interval to measure again
}

const (
	// framesOfEvidence is the number of consecutive frames of evidence (see callers) that the first
	// estimate needs.
	framesOfEvidence = 3
	// An estimate is valid for minValid times FlushInterval. Then a frame waits for the whole
	// FlushInterval to measure again. Whenever such a measurement succeeds, the time of validity
	// doubles, up to maxValid times FlushInterval. In the long run, these waits use 1 % of the
	// time.
	minValid, maxValid = 8, 100
)

// measure processes a frame that waited. At the end of the frame, n callers waited for this frame
// or for the frames of other streams.
func (c *callers) measure(n int, evidence bool, interval time.Duration, now time.Time) {
	due := c.due(now)
	c.measured = now
	switch {
	case n == 0 || !evidence:
		c.waited, c.frames, c.estimate = 0, 0, 0
		return
	case n != c.waited:
		c.waited, c.frames = n, 0
	}
	c.frames++
	switch {
	case due:
		c.valid = min(2*c.valid, maxValid*interval)
	case c.estimate == 0:
		c.valid = minValid * interval
	}
	if c.frames >= framesOfEvidence || c.estimate > 0 {
		c.estimate = n
	}
}

// due reports whether a frame must wait for a whole interval, to measure again.
func (c *callers) due(now time.Time) bool { return c.estimate > 0 && now.Sub(c.measured) >= c.valid }

// all returns the estimated number of callers. Once so many callers wait for a frame, no further
// batch can join the frame. all returns 0 if the number is not known.
func (c *callers) all(now time.Time) int {
	if c.due(now) {
		return 0
	}
	return c.estimate
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// arrivals measures how batches are submitted, to notice the end of a burst. When no batch
// was submitted for much longer than the usual gap, the batches that wait are probably all,
// and the rest of FlushInterval only delays them.
type arrivals struct {
	submitted time.Time     // when a batch was last submitted; zero: never
	answered  time.Time     // when a batch was last answered
	gap       time.Duration // mean time between batches
	gaps      int           // over so many gaps, at most gapWeight; 0: not known
	late      bool          // the last frame that did not wait for the interval ended too early
	reply     time.Duration // from the last answer to the first batch after it
	prompt    bool          // that is a small part of the gap
}

const (
	// quietGaps is the number of mean gaps without a batch after which a burst is over.
	// Batches that are submitted at random times leave such a gap once in some ten thousand
	// batches.
	quietGaps = 10
	// minQuiet is the smallest part of FlushInterval after which a burst is over: one in 250,
	// which is 0.2 ms by default. A timer may take a millisecond, but often a stream needs
	// that long to encode a burst, and then its frame ends without a timer.
	minQuiet = 250
	// maxQuiet is the largest part, one in four. If more would be necessary, the frame waits
	// for the whole interval: the batches of the next burst are then likely to join it.
	maxQuiet = 4
	// gapWeight is the number of gaps over which the mean is taken, about.
	gapWeight = 16
	// A caller that an answer released submits its next batch within the gap divided by
	// promptGap and within FlushInterval divided by promptInterval.
	promptGap, promptInterval = 8, 10
)

func (a *arrivals) answer(now time.Time) { a.answered = now }

// submit processes a batch. inFlight reports whether others were sent and are not answered.
func (a *arrivals) submit(interval time.Duration, inFlight bool, now time.Time) {
	gap := now.Sub(a.submitted)
	first := a.answered.After(a.submitted)
	a.submitted = now
	if first {
		a.reply = now.Sub(a.answered)
		a.prompt = a.reply <= min(gap/promptGap, interval/promptInterval)
	}
	late := a.late
	a.late = false
	switch {
	case gap >= pauseIntervals*interval:
		a.gap, a.gaps = 0, 0
	case gap >= interval:
		// No batch could have joined a frame in that time.
	case first && a.prompt && !inFlight:
		// All callers waited for the answer: the gap is the time to the answer.
	case a.gaps == 0 || late && gap > a.quiet(interval):
		a.gap, a.gaps = gap, 1
	case gap > a.quiet(interval):
		a.late = true // a single long gap does not count
	default:
		a.gaps = min(a.gaps+1, gapWeight)
		a.gap += (gap - a.gap) / time.Duration(a.gaps)
		a.late = late
	}
}

// quiet returns how long no batch is submitted when a burst counts as over.
func (a *arrivals) quiet(interval time.Duration) time.Duration {
	quiet := max(interval/minQuiet, quietGaps*a.gap)
	if quiet > interval/maxQuiet {
		return interval
	}
	return quiet
}

// released reports whether the last n batches were submitted because answers released
// their callers. A single batch can follow an answer by chance, so it must do so faster.
func (a *arrivals) released(n int, interval time.Duration) bool {
	return a.prompt || n > 1 && a.reply <= interval/promptInterval
}

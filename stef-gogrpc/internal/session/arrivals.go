// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// arrivals measures the gaps between submitted batches, to detect the end of a burst. When
// no batch was submitted for much longer than the usual gap, probably no more batches
// follow. Then waiting for the rest of FlushInterval only delays the waiting batches.
type arrivals struct {
	submitted time.Time     // when a batch was last submitted; zero: never
	answered  time.Time     // when a batch was last answered
	gap       time.Duration // mean time between batches
	gaps      int           // number of gaps in the mean, at most gapWeight; 0: the mean is unknown
	late      bool          // a gap was longer than quiet, so a frame may have ended too early
	reply     time.Duration // time from the last answer to the first batch after it
	prompt    bool          // reply is a small part of the gap
}

const (
	// quietGaps is the number of mean gaps without a batch after which a burst is over.
	// Batches that are submitted at random times leave such a gap once in some ten thousand
	// batches.
	quietGaps = 10
	// A burst counts as over after FlushInterval/minQuiet at the earliest, which is 0.2 ms by
	// default. A timer may fire a millisecond late. But encoding a burst often takes longer than
	// 0.2 ms, and in this case the frame ends without a timer.
	minQuiet = 250
	// If the product of quietGaps and the mean gap is longer than FlushInterval/maxQuiet, the end of a
	// burst is not detected. The frame waits for the whole interval, because the batches of the next burst
	// probably join it.
	maxQuiet = 4
	// gapWeight is the approximate number of gaps over which the mean is taken.
	gapWeight = 16
	// A batch counts as prompt if it follows an answer within the mean gap divided by promptGap
	// and within FlushInterval divided by promptInterval. The caller of a prompt batch probably
	// waited for this answer.
	promptGap, promptInterval = 8, 10
)

func (a *arrivals) answer(now time.Time) { a.answered = now }

// submit processes a batch. inFlight reports whether other batches were sent and are unanswered.
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
		// A gap of a whole interval: no frame waits that long, so the gap does not count.
	case first && a.prompt && !inFlight:
		// All earlier batches were answered, and the new batch followed the last answer promptly. So
		// the callers probably waited for this answer. The gap depends on the time of the peer to
		// answer, and not on the pace of the callers, so it does not count.
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

// quiet returns the time without a new batch after which a burst counts as over.
func (a *arrivals) quiet(interval time.Duration) time.Duration {
	quiet := max(interval/minQuiet, quietGaps*a.gap)
	if quiet > interval/maxQuiet {
		return interval
	}
	return quiet
}

// released reports whether the last n batches were submitted because answers released
// their callers. A single batch can follow an answer by chance, so it must be prompt.
func (a *arrivals) released(n int, interval time.Duration) bool {
	return a.prompt || n > 1 && a.reply <= interval/promptInterval
}

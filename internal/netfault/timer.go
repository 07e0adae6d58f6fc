// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"runtime"
	"time"
)

// spinBelow bounds busy-waiting. For a shorter wait, a loop that yields the processor costs less CPU than
// a timer, which needs about 9 µs of CPU for sleep and wakeup (measured).
const spinBelow = 12 * time.Microsecond

// timer wakes one waiter at a time.
type timer interface {
	set(d time.Duration)
	fired() <-chan time.Time // may also deliver a time that an earlier call of set requested
	stop()
}

// newTimer returns the most precise timer for the clock in use.
func newTimer() timer {
	if fakeClock() {
		return newRuntimeTimer()
	}
	return newPreciseTimer()
}

// fakeClock reports whether the program runs on the fake clock of a testing/synctest bubble.
// That clock begins at midnight UTC 2000-01-01, and timers of the kernel do not use it.
func fakeClock() bool {
	return time.Now().Year() < 2020
}

// spin busy-waits for a time that is too short for a timer.
func spin(until time.Time) {
	for time.Until(until) > 0 {
		runtime.Gosched()
	}
}

// runtimeTimer is a timer on the clock of the Go runtime.
type runtimeTimer struct{ timer *time.Timer }

func newRuntimeTimer() timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return runtimeTimer{t}
}

func (a runtimeTimer) set(d time.Duration)     { a.timer.Reset(d) }
func (a runtimeTimer) fired() <-chan time.Time { return a.timer.C }
func (a runtimeTimer) stop()                   { a.timer.Stop() }

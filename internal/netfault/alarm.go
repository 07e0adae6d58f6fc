// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"runtime"
	"time"
)

// spinBelow bounds busy-waiting: for a shorter wait, a loop that yields the processor costs less CPU
// than a timer, which needs about 9 µs of CPU for sleep and wakeup (measured).
const spinBelow = 12 * time.Microsecond

// alarm wakes one waiter at a time.
type alarm interface {
	set(d time.Duration)
	fired() <-chan time.Time // may also deliver a time that an earlier call of set requested
	stop()
}

// newAlarm returns the most precise alarm for the clock in use.
func newAlarm() alarm {
	if fakeClock() {
		return newTimerAlarm()
	}
	return newPreciseAlarm()
}

// fakeClock reports whether the program runs on the fake clock of a testing/synctest bubble.
// That clock begins at midnight UTC 2000-01-01, and timers of the kernel do not use it.
func fakeClock() bool {
	return time.Now().Year() < 2020
}

// spin busy-waits for a time too short for an alarm.
func spin(until time.Time) {
	for time.Until(until) > 0 {
		runtime.Gosched()
	}
}

// timerAlarm is an alarm on the runtime's clock.
type timerAlarm struct{ timer *time.Timer }

func newTimerAlarm() alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return timerAlarm{t}
}

func (a timerAlarm) set(d time.Duration)     { a.timer.Reset(d) }
func (a timerAlarm) fired() <-chan time.Time { return a.timer.C }
func (a timerAlarm) stop()                   { a.timer.Stop() }

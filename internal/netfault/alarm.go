// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"runtime"
	"time"
)

// spinBelow is where yielding in a loop costs no more than arming a timer, being
// put to sleep and being woken (measured: about 9 µs of CPU for the timer).
const spinBelow = 12 * time.Microsecond

// alarm wakes one waiter at a time.
type alarm interface {
	set(d time.Duration)
	fired() <-chan time.Time // may also deliver for a time set before
	stop()
}

// newAlarm returns the most precise alarm of the clock in use.
func newAlarm() alarm {
	if fakeClock() {
		return newTimerAlarm()
	}
	return newPreciseAlarm()
}

// fakeClock says whether the clock is that of a testing/synctest bubble, which
// begins at midnight UTC 2000-01-01 and is not known to the kernel.
func fakeClock() bool {
	return time.Now().Year() < 2020
}

// spin busy-waits for a time that is too short for an alarm.
func spin(until time.Time) {
	for time.Until(until) > 0 {
		runtime.Gosched()
	}
}

// timerAlarm is an alarm on the clock of the runtime.
type timerAlarm struct{ timer *time.Timer }

func newTimerAlarm() alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return timerAlarm{t}
}

func (a timerAlarm) set(d time.Duration)     { a.timer.Reset(d) }
func (a timerAlarm) fired() <-chan time.Time { return a.timer.C }
func (a timerAlarm) stop()                   { a.timer.Stop() }
